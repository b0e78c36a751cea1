"""Results of another program, imported under two names, are compared by these names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.errors import UsageError

FOREIGN = Path(__file__).parents[1] / "importing/files"


@pytest.fixture
def said(tmp_path):
    def call(*words: str) -> str:
        done = CliRunner().invoke(cli, [*words, "--db", str(tmp_path / "records.db")], standalone_mode=False, obj={})
        assert done.exception is None, done.exception
        return done.stdout

    return call


def test_two_imports_of_one_configuration_each_compare_by_their_names(said):
    for name, setting in (("before", "none"), ("after", "bfq")):
        files = [str(FOREIGN / f"fio-{setting}.{number}.json") for number in (1, 2)]
        said("import", "--name", name, *files)
    found = json.loads(said("compare", "before", "after", "--json"))
    assert found["changes"]
    assert json.loads(said("results", "after", "--json"))["records"][0]["setting"] == "fio-bfq"


def test_imports_of_one_job_at_two_depths_are_told_to_be_imported_together(said, tmp_path):
    depths = FOREIGN.parent / "cases/27-nothing-in-common"
    for depth in (1, 8):
        assert said("import", "--name", f"depth-{depth}", str(depths / f"depth{depth}.json")).startswith("1 record in")
    words = ["compare", "depth-1", "depth-8", "--db", str(tmp_path / "records.db")]
    refused = CliRunner().invoke(cli, words, obj={}).exception
    assert isinstance(refused, UsageError) and "seekwise import FILE FILE" in str(refused.hint)
    together = said("import", str(depths / "depth1.json"), str(depths / "depth8.json"))
    assert together.startswith("2 records in") and "One repeat of each gives no answer: 3 of" in together
    notes = json.loads(said("results", "last", "--json"))["notes"]
    few, last = (
        next(n for n, each in enumerate(notes) if part in each) for part in ("fewer than 3", "order of trials")
    )
    assert few < last
