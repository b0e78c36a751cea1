"""This test will make reports again from records, with pictures, and refuse what is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise.cli import design, report, run
from seekwise.errors import SeekwiseError, UsageError

STUDY = """
name = "elevator"
backend = "simulated"
[[system]]
name = "disk"
drive = "wd2500ys"
kernel = "2.6.24"
[settings]
scheduler = ["noop", "deadline"]
[[workload]]
operations = ["rand_read"]
threads = [4]
block_bytes = "4k"
size = "1g"
runtime = "1s"
[design]
blocks = 3
"""


@pytest.fixture
def db(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    return tmp_path / "records.db"


def call(command, *words: str, db: Path):
    return CliRunner().invoke(command, [*words, "--db", str(db)], catch_exceptions=False)


def test_a_run_is_shown_again_with_its_charts_as_pictures(db):
    assert call(run.command, "study.toml", db=db).exit_code == 0
    call(report.command, "last", "--pictures", "pictures", db=db)
    drawn = list(Path("pictures").glob("*.svg"))
    assert drawn and all(each.read_text().startswith("<svg") for each in drawn)
    document = json.loads(call(report.command, "last", "--json", db=db).stdout)
    assert document["schema"] == "seekwise.report/1"


def test_an_unknown_run_is_named(db):
    call(run.command, "study.toml", db=db)
    with pytest.raises(SeekwiseError, match="run `nosuch` is unknown"):
        call(report.command, "nosuch", db=db)


def test_a_name_of_another_kind_of_file_is_no_folder(db):
    call(run.command, "study.toml", db=db)
    for name in ("x.pdf", "x.svg"):
        with pytest.raises(UsageError, match=name.rpartition(".")[2]):
            call(report.command, "last", "--output", name, db=db)
        assert not Path(name).exists()
    for name in ("v1.2", "page.HTML"):
        assert call(report.command, "last", "--output", name, db=db).exit_code == 0
    assert Path("v1.2").is_dir() and Path("page.HTML").is_file()


def test_a_page_in_markdown_says_what_why_risk_and_undo(db, tmp_path):
    call(run.command, "study.toml", db=db)
    call(report.command, "last", "--output", "change.md", db=db)
    text = (tmp_path / "change.md").read_text()
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == ["# Change of storage settings", "## What", "## Why", "## Risk", "## Undo"]
    assert "simulated" in text.lower() and "seekwise status" in text


def test_a_page_about_a_new_array_says_that_making_it_loses_data(db, tmp_path):
    asked = ("samsung_pm9a3", "--drives", "2", "--level", "raid1", "--for", "queries-and-log")
    call(design.command, *asked, db=db)
    call(report.command, "last", "--output", "change.md", db=db)
    text = (tmp_path / "change.md").read_text()
    assert "mdadm --create" in text and "what its drives hold is lost" in text and "No data is moved" not in text


def test_a_page_in_markdown_is_of_one_run(db):
    for name in ("one", "two"):
        call(run.command, "study.toml", "--name", name, db=db)
    with pytest.raises(UsageError, match=r"a report of several runs is an HTML page, not \.md"):
        call(report.command, "one", "two", "--output", "two.md", db=db)
