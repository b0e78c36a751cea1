"""Small holes that were found once: lines, words, versions, sizes and patterns that made a command hang or end in a fault."""

from __future__ import annotations

import errno
import os
import re
import time

import pytest

from seekwise.control import settings, sysfs
from seekwise.control.journal import Journal
from seekwise.errors import SeekwiseError, UsageError
from seekwise.linux import ata, facts
from seekwise.measure.kernel import user_job
from seekwise.measure.live import own
from seekwise.trace import summary
from seekwise.trace.readers import open_trace

EVENT = " fio-1 [000] .... 1.000000: block_rq_issue: 8,0 R 4096 () 8 + 8 [fio]\n"
BLKPARSE = "8,0 0 1 0.000000000 1 Q R 100 + 8 [x]\n"


@pytest.mark.parametrize(
    "text",
    [
        EVENT + " " * 6000 + "x\n",
        EVENT + " fio-1 [000] " + " " * 6000 + "1.0: block_rq_issue x\n",
        EVENT + "\t" * 6000 + ": \n",
        EVENT + "fio " + "[" * 7000 + "\n",
        EVENT + "1" * 8000 + "\n",
        EVENT + "a " * 4000 + "\n",
        EVENT + "(" * 4000 + " 8,0 R " + "(" * 4000 + "\n",
        BLKPARSE + "8,0 0 1 0.000000000 1 Q R 100 + 8 " + "[" * 7000 + "\n",
        BLKPARSE + "8,0 0 1 0.0 1 Q R " + " " * 7000 + "x\n",
        " " * 60_000 + "\n" + EVENT,
    ],
)
def test_a_line_of_a_trace_takes_no_seconds(text, tmp_path):
    path = tmp_path / "trace"
    path.write_text(text)
    began = time.process_time()
    try:
        _, chunks = open_trace(path)
        summary.summary_of(chunks)
    except SeekwiseError as error:
        assert error.message
    assert time.process_time() - began < 2


def test_ata_words_are_sixteen_bits():
    words = ["0000"] * 256
    assert ata.parse(" ".join([*words[:-1], "abcd"])) is not None
    for wrong in ("12345", "-1", "fffffffffffffffffff"):
        assert ata.parse(" ".join([*words[:-1], wrong])) is None


@pytest.mark.parametrize("release", ["2.6.1e308", "9" * 5000, "1." * 4000, "", "x", None, "6.1.0-56-amd64"])
def test_a_release_of_any_form_has_a_version(release):
    assert all(part < 10**9 for part in facts.kernel_version(release))


@pytest.mark.parametrize(("value", "most"), [("100t-200t", 200 << 40), ("4k:64k", 64 << 10), ("1g", 1 << 30)])
def test_the_room_for_files_is_that_of_the_largest(value, most, tmp_path):
    path = tmp_path / "job.fio"
    path.write_text(f"[a]\nrw=read\nnrfiles=3\nfilesize={value}\nsize=1m\n")
    assert user_job.read(path).needs_bytes(1 << 20) >= 3 * most
    path.write_text("[a]\nrw=read\nfilesize=4k-x\n")
    with pytest.raises(UsageError, match="is no size"):
        user_job.read(path)


def test_a_pattern_that_backtracks_ends_within_its_time(monkeypatch):
    monkeypatch.setattr(own, "SEARCH_S", 0.5)
    began = time.process_time()
    with pytest.raises(UsageError, match="takes more than"):
        own.number_of(re.compile("(a+)+$"), "a" * 40 + "b")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("text", ["v=nan", "v=inf", "v=-1", "v=", "v=1e999", "none"])
def test_what_is_no_number_is_an_error(text):
    with pytest.raises(SeekwiseError, match="no number above 0"):
        own.number_of(re.compile("v=(.*)"), text)


def test_a_value_that_is_busy_is_tried_again(tmp_path, monkeypatch):
    left = iter([errno.EBUSY, errno.EAGAIN, errno.EBUSY])
    real = sysfs.write

    def write(path, value):
        if number := next(left, 0):
            raise OSError(number, os.strerror(number))
        real(path, value)

    monkeypatch.setattr(sysfs, "write", write)
    (tmp_path / "value").write_text("old")
    settings._write_when_free(tmp_path / "value", "new")
    assert (tmp_path / "value").read_text() == "new\n"
    monkeypatch.setattr(settings, "BUSY_WAIT_S", 0.2)
    monkeypatch.setattr(sysfs, "write", lambda *_: (_ for _ in ()).throw(OSError(errno.EBUSY, "busy")))
    with pytest.raises(OSError, match="busy"):
        settings._write_when_free(tmp_path / "value", "new")


def test_drafts_of_the_journal_go_with_the_next_command(tmp_path, monkeypatch):
    from seekwise.cli import main
    from seekwise.control import recovery

    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path))
    monkeypatch.setattr("seekwise.control.state.SYSTEM_STATE", tmp_path / "system")
    journal = Journal()
    journal.close(journal.open("scratch", []))
    (journal.folder / ".20261123-1.entry.999999").write_text("half")
    assert main.something_left()
    recovery.at_start(lambda sentence: None)
    assert not main.something_left() and not list(journal.folder.iterdir())
