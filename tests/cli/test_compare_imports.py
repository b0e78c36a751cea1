"""Results of another program, imported under two names, are compared by these names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli

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
