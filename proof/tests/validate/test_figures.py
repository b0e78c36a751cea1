"""Figures of README and pages: what the checks print now, made with the present model, and marked with what they are worth."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import tomllib
from pathlib import Path

import pytest

from seekwise import _core
from seekwise.document import printed
from seekwise.errors import UsageError
from seekwise_proof.validate import _basis as basis
from seekwise_proof.validate import _kinds, drives, mapping, rates
from seekwise_proof.validate._basis import Basis, Count
from seekwise_proof.validate.frame import FileReport, text

ROOT = Path(__file__).parents[3]
claims = _kinds.load("claims")


def module():
    specification = importlib.util.spec_from_file_location("figures", ROOT / "tools/figures.py")
    found = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(found)
    return found


figures = module()


@pytest.mark.parametrize("name", figures.NAMES)
def test_a_figure_is_of_the_present_model(name):
    assert figures.load()[name]["model_version"] == _core.model_version(), f"`python tools/figures.py {name}`"


@pytest.mark.parametrize("path", figures.pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_has_the_stored_figures(path):
    page = path.read_text()
    assert page == figures.rendered(page, figures.load()), "`python tools/figures.py --pages`"


def test_the_picture_of_the_first_page_shows_the_values_of_the_measured_run():
    drawn = figures.PICTURE.read_text(encoding="utf-8")
    assert drawn == figures.picture(), "`python tools/figures.py --pages`"
    values = re.findall(r">([\d,]+) (?:ms|MB/s|per second)<", drawn)
    assert len(values) == 2 * len(figures.PAIRS) and "![" in figures.ROOT.joinpath("README.md").read_text()


@pytest.mark.parametrize("path", figures.pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_says_of_no_figure_that_an_unknown_model_made_it(path):
    assert not re.search(r"`model_version` \d+ or (before|earlier)", path.read_text())


def test_every_block_stands_on_a_page():
    found = {match["name"] for path in figures.pages() for match in figures.BLOCK.finditer(path.read_text())}
    assert found == set(figures.BLOCKS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in figures.FAST else pytest.mark.slow) for name in figures.NAMES]
)
@pytest.mark.timeout(900)
def test_a_score_is_what_its_page_says(name):
    """Lower or higher: the page is made again, with the reason in proof/docs."""
    assert figures.measure(name) == figures.load()[name], f"`python tools/figures.py {name}`"


# --- the marking ------------------------------------------------------------------------------------------------------


def shipped_rows():
    """(file, row) of everything that the checks count."""
    for kind in (_kinds.load("claims"), _kinds.load("verdicts")):
        yield from ((kind.shipped, row) for row in kind.names())
    yield from ((drives.DEFAULT, row) for row in drives.names(drives.DEFAULT))
    for path in (ROOT / "tests/vectors").rglob("*.csv"):
        yield path, ""
    for line in (ROOT / "tests/seeds/ssd_raid10_chunk.csv").read_text().splitlines()[1:]:
        pattern, array, chunk, size, _, tool = line.split(",")
        yield ROOT / "tests/seeds/ssd_raid10_chunk.csv", ", ".join((pattern, array, chunk, size, tool))


def test_every_shipped_row_is_marked_with_a_reason():
    for path, row in shipped_rows():
        rule = basis.marking(path).rule(row)
        assert rule is not None and rule.reason.strip(), (path, row)


def test_every_rule_marks_something():
    used = {(rule.file, rule.rows) for path, row in shipped_rows() if (rule := basis.marking(path).rule(row))}
    machine = ROOT / "tests/vectors/machine/legacy.csv"
    for line in machine.read_text().splitlines()[1:]:
        kernel, target, array, depth, drive, phase, scheduler, processes, *_ = line.split(",")
        name = f"{kernel}, {target}, {array}, depth {depth}, {drive}, {phase}, {scheduler}, {processes} processes"
        rule = basis.marking(machine).rule(name)
        used.add((rule.file, rule.rows))
    cores = ROOT / "tests/vectors/nvme-many-cores/given.csv"
    with cores.open(newline="") as table:
        for number, row in enumerate(csv.DictReader(table), start=2):
            # As the check names its rows; of the load only what rules ask for.
            tuned = " (read_lat_nsec=0)" if "target" in row["tunables"] else ""
            name = f"line {number}: {row['cores']} cores, {row['devices']} drives, {row['processes']} x load, {row['scheduler']}{tuned}"
            rule = basis.marking(cores).rule(name)
            used.add((rule.file, rule.rows))
    for path in (ROOT / "tests/reference").glob("*/given*.csv"):
        with path.open(newline="") as table:
            rules = [basis.marking(path).rule(row["id"]) for row in csv.DictReader(table)]
        used |= {(rule.file, rule.rows) for rule in rules if rule is not None}
    for folder in ("seeds", "reference", "vectors"):
        for each in tomllib.loads((ROOT / "tests" / folder / "basis.toml").read_text())["rule"]:
            assert (each["file"], tuple(each.get("rows", ["*"]))) in used, each


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("hw1-a-sw-range", Basis.FITTED),
        ("hw5-d-drop-80", Basis.FITTED),
        ("hw1-sr-upper-rises", Basis.FITTED),
        ("sw1-hw1-cpueff-40", Basis.CHOSEN),
        ("a-claim-that-is-not-here", Basis.FORETOLD),
    ],
)
def test_a_copy_elsewhere_keeps_its_marking_and_a_new_row_is_foretold(tmp_path, row, expected):
    found = basis.marking(tmp_path / "claims.toml", claims.shipped, claims.names())
    assert found.basis(row) == expected


def test_the_rows_of_the_drive_that_was_solved_from_them_are_fitted():
    marked = basis.marking(ROOT / "tests/seeds/ssd_raid10_chunk.csv")
    rows = [row for path, row in shipped_rows() if path.name == "ssd_raid10_chunk.csv"]
    fitted = [row for row in rows if marked.basis(row) == Basis.FITTED]
    assert len(fitted) == 30 and all(", SSD, " in row for row in fitted)


def test_a_figure_that_a_parameter_was_solved_from_is_fitted_wherever_it_stands():
    rows = drives.rows_of(drives.DEFAULT)
    assert {row.basis for row in rows} <= {"input", *Basis}
    for row in rows:
        if row.model is None or row.basis == "input":
            continue
        parameters = json.loads(_core.drive_model(row.model))["parameters"].values()
        key = row.figure.split(" ")[0]
        assert (row.basis == Basis.FITTED) == any(key in each.get("fits", ()) for each in parameters), row


def test_nobody_marks_data_as_unread(tmp_path):
    (tmp_path / "basis.toml").write_text('[[rule]]\nfile = "*"\nbasis = "unread"\nreason = "none"\n')
    with pytest.raises(UsageError, match="marks no data"):
        basis.marking(tmp_path / "claims.toml")


def test_what_cannot_be_read_is_counted_apart(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n")
    report = rates.verify([tmp_path / "x.csv"], {})
    assert (report.basis.unread, report.basis.foretold, report.met) == (Count(0, 2), Count(), False)
    assert "unread 0 of 2" in text(report)
    recording = mapping.verify([tmp_path / "x.csv"], {})
    assert recording.files[0].broken and recording.basis.unread.total == recording.total == 1


def test_the_shares_add_up_and_are_printed_with_the_bar():
    shares = {Basis.FITTED: Count(2, 2), Basis.CHOSEN: Count(1, 2)}
    file = FileReport(file="a", passed=3, total=4, misses=["x: no"], shares=shares)
    report = claims.report(files=[file], required="80 % of the claims", met=False, modelled=4)
    document = printed(report)
    assert sum(each["total"] for each in document["basis"].values()) == report.total
    assert document["basis"]["foretold"] == {"passed": 0, "total": 0}
    assert document["model_version"] == _core.model_version() and document["required"] == "80 % of the claims"
    said = text(report)
    assert "fitted 2 of 2 (50 % of all)" in said and "chosen 1 of 2" in said
    assert f"required: 80 % of the claims: not met; model_version {_core.model_version()}" in said
