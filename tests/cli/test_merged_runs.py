"""One system of a study at a time, and the runs merged into one study again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.installed import needs_papers

from seekwise.cli.main import cli
from seekwise.cli.run import one_system
from seekwise.errors import SeekwiseError, UsageError
from seekwise.workload.study import parse, starters

STUDY = """
name = "two"
backend = "simulated"
[[system]]
name = "first"
drive = "st3250620ns"
kernel = "4.4"
[[system]]
name = "second"
drive = "wd2500ys"
kernel = "4.4"
[settings]
scheduler = ["noop", "cfq"]
[[workload]]
operations = ["rand_read"]
threads = [1, 4]
runtime = "0.3s"
[design]
blocks = 3
control = false
sentinel = false
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """(arguments for the database, ids of a run of each system)"""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "two.toml"
    path.write_text(STUDY)
    db = ["--db", str(tmp_path / "records.sqlite")]
    for system in ("first", "second"):
        result = CliRunner().invoke(cli, ["run", str(path), "--system", system, *db], catch_exceptions=False)
        assert result.exit_code == 0, result.output
    listed = json.loads(CliRunner().invoke(cli, ["results", "--json", *db]).output)
    return db, [each["run_id"] for each in listed["runs"]]


def test_runs_of_single_systems_are_merged_into_one_study(runs):
    db, names = runs
    merged = CliRunner().invoke(cli, ["results", *names, "--all", *db], catch_exceptions=False)
    assert "drive st3250620ns against wd2500ys (first against second)" in merged.output
    assert f"Merged from 2 runs ({', '.join(names)})" in merged.output.replace("\n", " ")
    document = json.loads(CliRunner().invoke(cli, ["results", *names, "--json", *db]).output)
    assert {record["factors"]["system"] for record in document["records"]} == {"first", "second"}
    assert len(document["records"]) == 24
    page = CliRunner().invoke(cli, ["report", *names, "--output", "made/here", *db], catch_exceptions=False)
    assert page.exit_code == 0
    text = Path(page.output.splitlines()[-1]).read_text()
    assert "first: st3250620ns" in text and "second: wd2500ys" in text


def test_the_same_system_again_adds_repetitions(runs):
    db, (first, _) = runs
    path = "two.toml"
    CliRunner().invoke(cli, ["run", path, "--system", "first", "--seed", "7", *db], catch_exceptions=False)
    again = json.loads(CliRunner().invoke(cli, ["results", "--json", *db]).output)["runs"][-1]["run_id"]
    document = json.loads(CliRunner().invoke(cli, ["results", first, again, "--json", *db]).output)
    assert {record["repetition"] for record in document["records"]} == {1, 2, 3, 4, 5, 6}


def test_runs_of_other_studies_and_a_run_twice_are_refused(runs, tmp_path):
    db, (first, _) = runs
    other = tmp_path / "other.toml"
    other.write_text(STUDY.replace('name = "two"', 'name = "other"'))
    CliRunner().invoke(cli, ["run", str(other), "--system", "first", *db], catch_exceptions=False)
    stranger = json.loads(CliRunner().invoke(cli, ["results", "--json", *db]).output)["runs"][-1]["run_id"]
    with pytest.raises(SeekwiseError, match="cannot be merged"):
        CliRunner().invoke(cli, ["results", first, stranger, *db], catch_exceptions=False, standalone_mode=False)
    with pytest.raises(UsageError, match="named twice"):
        CliRunner().invoke(cli, ["results", first, first, *db], catch_exceptions=False, standalone_mode=False)


@needs_papers
def test_on_a_real_machine_one_system_compares_what_its_kernel_offers():
    article = starters.open_study("article-2008")[0].model_copy(update={"backend": "kernel"})
    chosen = one_system(article, "S5")
    assert [system.name for system in chosen.system] == ["S5"]
    assert chosen.settings["scheduler"] == ["offered"]
    assert chosen.workload == article.workload and chosen.design == article.design
    with pytest.raises(UsageError, match="no system `S9`"):
        one_system(article, "S9")


def test_an_unknown_system_is_a_usage_error_with_the_known_ones():
    small = parse.loads(STUDY, "two.toml")
    with pytest.raises(UsageError) as raised:
        one_system(small, "middle")
    assert "first, second" in str(raised.value.hint)
