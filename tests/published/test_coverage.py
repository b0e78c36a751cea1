"""Each row of the publications' checklist is shown by a test or by evidence that exists; what is missing is told to readers."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import click
import pytest

from published import coverage
from seekwise import _core
from seekwise.cli.main import cli
from seekwise.report import evidence
from seekwise.report.explain import explain
from seekwise.workload.study import starters

ROOT = Path(__file__).parents[2]
CLAIMS = {claim["id"] for claim in tomllib.loads((ROOT / "tests/seeds/claims.toml").read_text())["claim"]}
ROWS = coverage.rows()
NAMED = sorted({token for row in ROWS for token in row.shown})


def test_every_row_of_the_checklist_is_there():
    assert [row.number for row in ROWS] == list(range(1, 206))


def test_every_row_is_shown_by_a_test_or_by_evidence():
    assert [row.number for row in ROWS if not (row.shown or row.tests)] == []


def test_what_works_in_part_is_told_where_the_published_studies_are():
    page = (ROOT / "docs/published/README.md").read_text()
    assert [row.number for row in ROWS if row.missing and f"- {row.missing}" not in page] == []


def test_every_row_test_names_rows_of_the_checklist():
    for name in coverage.row_tests():
        assert coverage.numbers_of(name), name
        assert set(coverage.numbers_of(name)) <= set(coverage.checklist()), name


@pytest.mark.parametrize("token", NAMED)
def test_what_is_named_exists(token):
    kind, _, name = token.partition(":")
    match kind:
        case "command":
            group: click.Command | None = cli
            for word in name.split():
                assert isinstance(group, click.Group)
                group = group.get_command(click.Context(group), word)
                assert group is not None, f"there is no command {name}"
        case "study":
            assert (ROOT / "studies" / f"{name}.toml").is_file()
        case "model":
            assert name in _core.drive_models()
        case "explain":
            assert explain(name).text
        case "chart":
            assert name in {view.name for view in evidence.VIEWS.values()}
        case "controller":
            assert json.loads(_core.controller_model(name))["parameters"]
        case "figure" | "table" | "grid":
            study, _, number = name.partition("/")
            shown = getattr(starters.open_study(study)[0], kind)
            assert int(number) in {each.number for each in shown}
        case "finding":
            text = "".join(path.read_text() for path in (ROOT / "python/seekwise/report/insights").glob("*.py"))
            assert f'"{name}"' in text
        case "claim":
            assert name in CLAIMS
        case "test":
            file, _, function = name.partition("::")
            assert re.search(rf"\b(def|fn) {function}\(", (ROOT / file).read_text()), f"{file} has no {function}"
        case _:
            pytest.fail(f"unknown kind {kind}")
