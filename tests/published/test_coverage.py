"""`docs/coverage.md`: every row of the checklist is there, and everything it names exists."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import click
import pytest

from seekwise import _core
from seekwise.cli.main import cli
from seekwise.explain import explain
from seekwise.report.charts import registry
from seekwise.study import starters

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\d+) \| (.*) \| (.*) \|$", re.MULTILINE)


def rows() -> list[tuple[int, str, str]]:
    return [(int(no), item, shown) for no, item, shown in ROW.findall((ROOT / "docs/coverage.md").read_text())]


CLAIMS = {claim["id"] for claim in tomllib.loads((ROOT / "tests/seeds/claims.toml").read_text())["claim"]}
NAMED = sorted({token for _, _, shown in rows() for token in re.findall(r"`([^`]+)`", shown)})


def test_every_row_of_the_checklist_is_there_with_its_item():
    checklist = re.findall(
        r"^\| (\d+) \| (.*?) \| [0-9, to]+ \|", (ROOT / "tests/seeds/README.md").read_text(), re.MULTILINE
    )
    assert [(no, item) for no, item, _ in rows()] == [(int(no), item) for no, item in checklist]
    assert len(checklist) == 205


def test_a_row_names_something_or_says_open():
    for number, _, shown in rows():
        assert shown == "open" or re.fullmatch(r"`[^`]+`(, `[^`]+`)*", shown), f"row {number}: {shown}"


def test_the_counts_on_top_are_those_of_the_table():
    text = (ROOT / "docs/coverage.md").read_text()
    still_open = sum(shown == "open" for _, _, shown in rows())
    verb = "is" if still_open == 1 else "are"
    assert f"{205 - still_open} of 205 rows have something that shows them; {still_open} {verb} open." in text


def test_open_is_only_what_other_programs_print():
    assert {number for number, _, shown in rows() if shown == "open"} <= {83, 85, 199}


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
            assert name in {chart.name for chart in registry.CHARTS}
        case "controller":
            assert json.loads(_core.controller_model(name))["parameters"]
        case "figure" | "table" | "grid":
            study, _, number = name.partition("/")
            shown = getattr(starters.open_study(study)[0], kind)
            assert int(number) in {each.number for each in shown}
        case "finding":
            text = "".join(path.read_text() for path in (ROOT / "python/seekwise/insights").glob("*.py"))
            assert f'Finding("{name}"' in text
        case "claim":
            assert name in CLAIMS
        case "test":
            file, _, function = name.partition("::")
            assert re.search(rf"\b(def|fn) {function}\(", (ROOT / file).read_text()), f"{file} has no {function}"
        case _:
            pytest.fail(f"unknown kind {kind}")
