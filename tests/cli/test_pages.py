"""These tests will write pages of live runs, and comparisons from the command line, and type the commands wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from report.pages import SCHEDULERS
from report.sample_live import live_outcome
from seekwise.cli.main import cli
from seekwise.errors import NotMetError, SeekwiseError, UsageError
from seekwise.store.database import Store


@pytest.fixture
def db(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return str(tmp_path / "records.db")


def call(db: str, *words: str) -> str:
    result = CliRunner().invoke(cli, [*words, "--db", db], catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def live_run(db: str, name: str = "before", *, again: str = "", **how) -> str:
    found = live_outcome(3, name=name, **how)
    run_id = f"{found.run.run_id}-{name}{again}"
    with Store.open(Path(db)) as store:
        from dataclasses import replace

        store.add_run(replace(found.run, run_id=run_id, outcome=None, ended_at=None))
        for record in found.records:
            store.add(replace(record, run_id=run_id))
        store.end_run(run_id, "complete")
    return run_id


def study_run(db: str, *more: str) -> str:
    Path("study.toml").write_text(SCHEDULERS)
    return json.loads(call(db, "run", "study.toml", "--json", *more))["run_id"]


def test_report_of_a_live_run_is_its_page_in_a_folder_that_is_made(db):
    live_run(db)
    path = Path(call(db, "report", "before", "--output", "new/folder").splitlines()[-1])
    assert path.parent.name == "folder" and path.is_file()
    text = path.read_text()
    assert "Distance to the best" in text and "&lt;data&gt;" in text and "<data>" not in text
    assert "25276510208" not in text, "sizes are in words"
    named = Path(call(db, "report", "before", "--output", "deep/er.html").strip())
    assert named == Path("deep/er.html").absolute()


def test_report_of_a_live_run_as_json_and_pictures(db):
    live_run(db)
    document = json.loads(call(db, "report", "before", "--json", "--pictures", "pictures"))
    assert Path(document["report"]).is_file() and len(document["pictures"]) >= 6
    assert {Path(each).suffix for each in document["pictures"]} == {".svg"}


def test_two_live_runs_are_compared_differences_first(db):
    live_run(db)
    live_run(db, "after", slower=1.25, seed=9)
    path = Path(call(db, "report", "before", "after").strip())
    text = path.read_text()
    assert text.index("after against before: not confirmed; one pair") < text.index("What differs")
    # The values of both runs stand with each difference; a part without rows has no heading.
    assert re.search(r"[\d.]+ (ms|MB/s|s)? ?→ [\d.]+", text) and "Nothing was shown to be equal" not in text
    assert "The runs were not interleaved" in text
    assert [
        name.rpartition("-")[2] for name in json.loads(call(db, "report", "before", "after", "--json"))["runs"]
    ] == ["before", "after"]


def test_a_difference_is_believed_when_a_second_pair_of_runs_shows_it(db):
    live_run(db)
    live_run(db, "after", slower=1.25, seed=9)
    once = call(db, "compare", "before", "after")
    assert "not confirmed; one pair of runs shows" in once and "worse in" not in once
    assert json.loads(call(db, "compare", "before", "after", "--json", "--fail-if", "worse"))["counts"]["unconfirmed"]
    live_run(db, "before", again="-2", seed=11)
    live_run(db, "after", again="-2", slower=1.25, seed=12)
    twice = call(db, "compare", "before", "after")
    assert twice.startswith("after against before: worse in") and "shown by 2 pairs of runs" in " ".join(twice.split())
    with pytest.raises(NotMetError):
        call(db, "compare", "before", "after", "--fail-if", "worse")


def test_two_runs_of_a_study_are_compared_and_merged_on_request(db):
    first, second = study_run(db), study_run(db, "--seed", "5")
    compared = Path(call(db, "report", first, second).strip()).read_text()
    assert "comparison of two runs" in compared and "are the same within the threshold" in compared
    merged = Path(call(db, "report", first, second, "--merge").strip()).read_text()
    assert "Merged from 2 runs" in merged


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (["before", "before"], UsageError, "named twice"),
        (["before", "after", "--merge"], UsageError, "cannot be merged"),
        (["before", "after", "--pictures", "x"], UsageError, "no pictures"),
        (["nosuch"], SeekwiseError, "unknown"),
        (["before", "--output", "/proc/nothing"], SeekwiseError, "cannot create folder"),
    ],
)
def test_what_cannot_be_is_one_error(words, error, said, db):
    live_run(db)
    live_run(db, "after", seed=5)
    with pytest.raises(error, match=said):
        call(db, "report", *words)


def test_a_live_run_and_a_study_do_not_compare(db):
    live_run(db)
    study = study_run(db)
    with pytest.raises(UsageError, match="only one of them was switched live"):
        call(db, "report", "before", study)
