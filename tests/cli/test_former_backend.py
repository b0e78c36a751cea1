"""Runs, studies and journal entries of `--backend virtual`, which earlier releases had: opened as before, or named in one sentence."""

from __future__ import annotations

import json
import sqlite3

import pytest
from click.testing import CliRunner
from tests import simulated_study

from seekwise.cli.main import cli
from seekwise.control import recovery
from seekwise.control.journal import Journal
from seekwise.control.process import ProcessIdentity
from seekwise.errors import UsageError
from seekwise.workload.study import parse


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """(arguments for the database, id) of a run as an earlier release has stored it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(simulated_study.text(ios=20))
    file = tmp_path / "records.sqlite"
    db = ["--db", str(file)]
    made = CliRunner().invoke(cli, ["run", "small.toml", *db], catch_exceptions=False)
    assert made.exit_code == 0, made.output
    with sqlite3.connect(file) as base:
        base.execute("UPDATE run SET backend = 'virtual', outcome = NULL, ended_at = NULL")
        base.execute("UPDATE run SET plan = replace(plan, '\"simulated\"', '\"virtual\"')")
        base.execute("UPDATE run SET study = replace(study, '\"simulated\"', '\"virtual\"')")
        base.execute("UPDATE trial SET badge = 'virtual', record = replace(record, '\"simulated\"', '\"virtual\"')")
    listed = json.loads(CliRunner().invoke(cli, ["results", "--json", *db]).output)
    assert listed["runs"][0]["backend"] == "virtual"
    return db, listed["runs"][0]["run_id"]


def test_an_old_run_is_shown_and_reported(stored):
    db, run = stored
    for words in (["results", run], ["report", run], ["export", run]):
        done = CliRunner().invoke(cli, [*words, *db], catch_exceptions=False)
        assert done.exit_code == 0, done.output


def test_an_old_run_that_was_stopped_is_not_resumed(stored):
    db, run = stored
    with pytest.raises(UsageError, match="this release has no `virtual` backend") as refused:
        CliRunner().invoke(cli, ["run", "--resume", run, *db], catch_exceptions=False, standalone_mode=False)
    assert "--backend lab" in refused.value.hint


def test_an_old_study_is_told_what_to_use_instead():
    text = simulated_study.text().replace('"simulated"', '"virtual"')
    with pytest.raises(UsageError, match="`backend` is 'virtual', but must be one of") as refused:
        parse.loads(text, "old.toml")
    assert "--backend lab" in refused.value.hint


@pytest.mark.parametrize("rebooted", [False, True])
def test_what_a_killed_run_built_is_named_and_its_entry_closed(tmp_path, monkeypatch, rebooted):
    journal = Journal(tmp_path / "state")
    item = {
        "folder": "/tmp/seekwise-virtual-abc", "mount": "/tmp/seekwise-virtual-abc/mount", "array": "md99",
        "members": ["nbd0", "nbd1"], "old": {"nbd0": {"queue/scheduler": "none"}},
    }  # fmt: skip
    journal.open("virtual", [item])
    (entry,) = journal.entries()
    monkeypatch.setattr(ProcessIdentity, "of_this_boot", not rebooted)
    assert "virtual drives on nbd0, nbd1" in recovery.preview(journal)[0].sentences[0]
    # The run has died and let go of its entry.
    journal._let_go(journal._path(entry.id))
    outcome = recovery.restore(journal.entries()[0], journal)
    assert outcome.state == "closed" and journal.entries() == []
    said = ["umount /tmp/seekwise-virtual-abc/mount; mdadm --stop /dev/md99" in each for each in outcome.sentences]
    assert said == ([] if rebooted else [True])
