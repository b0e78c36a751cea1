"""The list of runs: a line for each in 80 columns, ids whole, what was not restored first, the newest dozen."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from report.sample_live import live_outcome
from seekwise.cli import main as program
from seekwise.cli import results
from seekwise.control import settings
from seekwise.store.database import Store

LONG = "`dd if=/dev/zero of=/srv/a/very/long/path bs=1M count=20 conv=fsync` failed with exit status 1"
OUTCOMES = {3: f"failed: {settings.could_not_restore(['loop0 queue/nr_requests']).message}", 9: f"failed: {LONG}"}


@pytest.fixture
def ids(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path / "state"))
    names = [f"202601{day:02}-0304-ab{day:02}" for day in range(1, 21)]
    with Store.open() as store:
        for i, name in enumerate(names):
            made = replace(live_outcome(3).run, run_id=name, created_at=f"2026-01-{i + 1:02}T00:00:00.000+00:00")
            store.add_run(
                replace(made, target=f"/a/folder/with/a/name/of/some/length/{i}", outcome=OUTCOMES.get(i, "complete"))
            )
        failing = replace(made, run_id="20260121-0304-ab21", created_at="2026-01-21T00:00:00.000+00:00")
        store.add_run(failing)
        with pytest.raises(IndexError), store.ending(failing.run_id):
            raise IndexError("string index out of range")
    return [*names, failing.run_id]


def lines(capsys, monkeypatch, *words) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["seekwise", "results", *words])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert not ended.value.code
    return capsys.readouterr().out.splitlines()


def test_the_newest_dozen_and_what_was_not_restored_each_on_one_line(ids, capsys, monkeypatch):
    monkeypatch.setattr(program, "something_left", lambda: True)
    monkeypatch.setattr("seekwise.control.recovery.at_start", lambda say: None)
    said = lines(capsys, monkeypatch)
    rows = [line for line in said if line.startswith("2026")]
    assert [row.split()[0] for row in rows] == [ids[3], *reversed(ids[-results.NEWEST :])]
    assert max(map(len, said)) <= 80
    assert rows[0].endswith("NOT RESTORED") and "1 run" in said[0]
    assert rows[1].endswith("fault (IndexError)")
    assert "--all for 8 more" in said
    assert any(row.startswith(ids[9]) and "failed: `dd" in row and row.endswith("…") for row in rows)


def test_what_was_restored_since_is_a_run_like_others(ids, capsys, monkeypatch):
    rows = [line for line in lines(capsys, monkeypatch) if line.startswith("2026")]
    assert [row.split()[0] for row in rows] == list(reversed(ids[-results.NEWEST :]))


def test_all_shows_every_run_and_the_journal_says_whether_something_is_left(ids, capsys, monkeypatch, tmp_path):
    said = lines(capsys, monkeypatch, "--all")
    assert {line.split()[0] for line in said if line.startswith("2026")} == set(ids)
    assert not any("more" in line for line in said)
    assert "revert" not in said[0]
    monkeypatch.setattr(program, "something_left", lambda: True)
    monkeypatch.setattr("seekwise.control.recovery.at_start", lambda say: None)
    assert "sudo seekwise revert" in lines(capsys, monkeypatch)[0]


def test_an_id_is_whole_however_narrow_the_terminal_is():
    rows = [("Run", "Study", "Where", "Trials", "Outcome"), ("i" * 24, "s" * 40, "w" * 40, "1", "o" * 90)]
    head, row = results.one_line_each(rows, 80)
    assert row.startswith("i" * 24) and len(row) <= 80 and head.startswith("Run")
