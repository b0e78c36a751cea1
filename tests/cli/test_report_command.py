"""This test will make reports again from records, with pictures and the head's way, and refuse what is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise.cli import report, run
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


def test_a_traced_run_shows_where_the_head_went_per_setting(db):
    assert call(run.command, "study.toml", "--trace", db=db).exit_code == 0
    written = call(report.command, "last", "--pictures", "pictures", db=db)
    page = Path(written.stdout.splitlines()[-1])
    assert "Head position over time" in page.read_text()
    assert Path("pictures/head-position.svg").read_text().startswith("<svg")
    document = json.loads(call(report.command, "last", "--json", db=db).stdout)
    assert document["schema"] == "seekwise.report/1"


def test_a_run_without_trace_has_no_such_picture(db):
    call(run.command, "study.toml", db=db)
    page = Path(call(report.command, "last", db=db).stdout.splitlines()[-1])
    assert "Head position over time" not in page.read_text()


def test_trace_is_refused_where_nobody_keeps_one(db):
    with pytest.raises(UsageError, match="`--trace` is kept by the simulated backend"):
        call(run.command, "study.toml", "--trace", "--backend", "kernel", db=db)


def test_an_unknown_run_is_named(db):
    call(run.command, "study.toml", db=db)
    with pytest.raises(SeekwiseError, match="run `nosuch` is unknown"):
        call(report.command, "nosuch", db=db)
