"""A write that the kernel never answers hangs a child, not the program."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from seekwise.control import recovery, sysfs
from seekwise.control.settings import changed
from seekwise.control.switching import switching
from seekwise.errors import SeekwiseError
from seekwise.settings.apply import apply


@pytest.fixture
def live(tmp_path, monkeypatch):
    """A tree that counts as live, whose drive sda does not answer: opening a pipe for writing waits for a reader."""
    monkeypatch.setattr(sysfs, "LIVE", tmp_path)
    monkeypatch.setattr(sysfs, "WRITE_MOST_S", 0.3)
    for disk in ("sda", "sdb"):
        queue = tmp_path / "sys/block" / disk / "queue"
        queue.mkdir(parents=True)
        (queue / "nomerges").write_text("0\n")
    os.mkfifo(tmp_path / "sys/block/sda/queue/scheduler")
    return tmp_path


def test_a_drive_that_does_not_answer_is_named_and_others_go_on(live):
    queue = live / "sys/block/sda/queue"
    begun = time.monotonic()
    with pytest.raises(OSError, match="sda does not answer: the kernel waits") as hung:
        sysfs.write(queue / "scheduler", "bfq")
    assert hung.value.errno == errno.ETIMEDOUT and time.monotonic() - begun < 10
    begun = time.monotonic()
    with pytest.raises(OSError, match="sda does not answer"):
        sysfs.write(queue / "nomerges", "1")
    assert time.monotonic() - begun < 0.25
    sysfs.write(live / "sys/block/sdb/queue/nomerges", "2")
    assert (live / "sys/block/sdb/queue/nomerges").read_text() == "2\n"
    with open(queue / "scheduler") as reader:
        assert reader.read() == "bfq\n"  # what the child still waited to write
    sysfs._status_of(sysfs._waiting[live / "sys/block/sda"], 30)
    sysfs.write(queue / "nomerges", "1")
    assert (queue / "nomerges").read_text() == "1\n"


@pytest.mark.parametrize("how", ["changed", "switching", "apply"])
def test_of_a_drive_that_hangs_nothing_is_read_any_more_and_the_journal_is_told(live, journal, monkeypatch, how):
    """The kernel may hold the lock of all that is below queue/ while it waits: reading would wait without end, too."""
    queue = live / "sys/block/sdb/queue"
    (queue / "scheduler").write_text("none [mq-deadline] bfq\n")
    (queue / "nr_requests").write_text("64\n")
    real, hangs = sysfs._write, []

    def never(path, value):
        if path.name == "scheduler":
            time.sleep(30)
        real(path, value)

    def read(path, *rest, **options):
        assert not (sysfs._waiting and path.is_relative_to(queue)), f"{path} would hang"
        return text(path, *rest, **options)

    text = Path.read_text
    monkeypatch.setattr(sysfs, "_write", never)
    monkeypatch.setattr(Path, "read_text", read)
    wanted = {"sdb": {"scheduler": "bfq", "nr_requests": 32}}
    try:
        with pytest.raises(SeekwiseError) as hung:
            if how == "apply":
                apply(wanted, live, journal)
            elif how == "changed":
                changed(wanted, live, journal).__enter__()
            else:
                with switching([wanted], live, journal) as switch:
                    switch.to(wanted)
        hangs = list(sysfs._waiting.values())
        said = " ".join(str(error) for error in (hung.value, hung.value.__context__) if error is not None)
        assert "sdb does not answer: the kernel waits" in said
        assert "The journal keeps queue/scheduler mq-deadline, queue/nr_requests 64 for sdb" in said
        (entry,) = journal.entries()
        assert entry.items[0]["old"]["queue/scheduler"] == "mq-deadline"
        assert recovery.restore(entry, journal, own=True).state in ("busy", "failed") and journal.is_open(entry)
        recovery.revert_all(journal)
        assert journal.is_open(entry)
    finally:
        for pid in hangs or sysfs._waiting.values():
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        sysfs._waiting.clear()


def test_the_answer_of_the_kernel_passes_through_the_child(live):
    with pytest.raises(FileNotFoundError):
        sysfs.write(live / "sys/block/sdb/queue/none", "1")


def test_an_error_names_the_drive_and_the_journal_keeps_its_values(live, journal, monkeypatch):
    queue = live / "sys/block/sdb/queue"
    real = sysfs._write

    def slow(path, value):
        if path.name == "nomerges" and value == "2":
            time.sleep(3)
        real(path, value)

    monkeypatch.setattr(sysfs, "_write", slow)
    with pytest.raises(SeekwiseError, match="sdb does not answer"), changed({"sdb": {"nomerges": 2}}, live, journal):
        pytest.fail("must not be entered")
    assert [entry.items[0]["old"]["queue/nomerges"] for entry in journal.entries()] == ["0"]
    (entry,) = journal.entries()
    assert recovery.restore(entry, journal, own=True).state in ("busy", "failed") and journal.is_open(entry)
    while sysfs._waiting and (queue / "nomerges").read_text() != "2\n":
        time.sleep(0.1)
    sysfs._status_of(sysfs._waiting[live / "sys/block/sdb"], 30)
    assert recovery.restore(entry, journal, own=True).state == "restored" and (queue / "nomerges").read_text() == "0\n"
