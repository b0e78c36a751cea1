"""What others took, by the kernel's counters: of processes that run, that ended, and that used another drive."""

import subprocess
import sys
from dataclasses import replace

import pytest

from seekwise.linux.diskstats import DiskCounters
from seekwise.measure.kernel import programs
from seekwise.measure.kernel.programs import Program, Seen

OURS, FIO, SHELL, OTHER = 100, 101, 50, 60
NONE = {
    SHELL: Program("bash", 1, 0, 0, 0),
    OURS: Program("seekwise", SHELL, 0, 0, 0),
    OTHER: Program("rsync", 1, 0, 0, 0),
}
BEFORE = Seen(NONE, DiskCounters(), {"user": 0, "idle": 0}, {"cpu": 0.0})
MB = 10**6


def after(changes, read=0, written=0, ticks=(500, 500), waited=2.0):
    drives = DiskCounters(read_bytes=read * MB, write_bytes=written * MB)
    now = NONE | {pid: replace(NONE.get(pid, Program("fio", OURS, 0, 0, 0)), **more) for pid, more in changes.items()}
    return Seen(now, drives, {"user": ticks[0], "idle": ticks[1]}, {"cpu": waited})


def foreign(*args, **more):
    return programs.foreign(BEFORE, after(*args, **more), OURS)


def test_what_our_programs_moved_is_not_foreign_however_deep_below_they_are():
    moved = foreign({FIO: {"read_bytes": 90 * MB, "cpu_ticks": 400}, OTHER: {"read_bytes": 10 * MB}}, read=100)
    assert moved["foreign_share"] == pytest.approx(0.1) and moved["foreign_processors"] == 0
    # fio has ended: seekwise waited for it and has its counters now.
    assert foreign({OURS: {"read_bytes": 100 * MB}}, read=100)["foreign_share"] == 0


def test_others_are_counted_with_those_that_have_ended():
    moved = foreign({SHELL: {"write_bytes": 60 * MB, "cpu_ticks": 850}, OURS: {"write_bytes": 40 * MB}}, written=100)
    assert moved["foreign_share"] == pytest.approx(0.6) and moved["foreign_processors"] == pytest.approx(0.85)


def test_what_went_to_another_drive_or_was_amplified_is_not_foreign():
    elsewhere = foreign({OTHER: {"read_bytes": 500 * MB}, OURS: {"read_bytes": 100 * MB}}, read=100)
    journal = foreign({OURS: {"write_bytes": 50 * MB}}, written=80)
    assert elsewhere["foreign_share"] == journal["foreign_share"] == 0


def test_pressure_is_a_share_of_the_time(monkeypatch):
    monkeypatch.setattr(programs.os, "cpu_count", lambda: 2)
    assert foreign({}, ticks=(600, 400), waited=2.5)["waited"] == {"cpu": 0.5}


def test_a_real_second_load_is_seen_on_this_machine():
    began = programs.seen(())
    # A stranger to us: its parent is gone, so it is nobody's descendant.
    burn = "import time; end = time.time() + 3\nwhile time.time() < end: pass"
    subprocess.run(["sh", "-c", f'"$0" -c "{burn}" & "$0" -c "{burn}" & sleep 2.2', sys.executable], check=True)
    own = programs.foreign(began, programs.seen(()), own_pid=999_999_999)
    assert own["foreign_processors"] > 0.2
