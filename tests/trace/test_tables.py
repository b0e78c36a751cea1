"""Tables of BPF tools, and traces of nvme's events alone, as people post them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.errors import SeekwiseError
from seekwise.trace.columns import Kind, TraceError
from seekwise.trace.readers import open_trace

CASES = Path(__file__).parent / "cases"


def rows_of(path: Path) -> tuple[np.ndarray, object]:
    notes, chunks = open_trace(path)
    return np.concatenate(list(chunks)), notes


def took_ms(rows: np.ndarray, kind: Kind) -> list[float]:
    mine = rows[rows["kind"] == kind]
    return [round(float(row["complete_ns"] - row["arrival_ns"]) / 1e6, 2) for row in mine]


def test_the_table_of_biosnoop_is_read():
    rows, notes = rows_of(CASES / "biosnoop.txt")
    assert notes.devices == ["sda"] and "jbd2/sda1-8/184" in notes.processes
    assert sorted(took_ms(rows, Kind.READ)) == [6.11, 8.05, 9.42]
    assert sorted(took_ms(rows, Kind.WRITE)) == [0.08, 0.39, 86.74]
    assert {int(row["sectors"]) for row in rows[rows["kind"] == Kind.READ]} == {16}
    # The time column is that of the completion.
    assert int(rows["complete_ns"].max() - rows["complete_ns"].min()) == 10**9


def test_time_in_the_queue_is_kept_apart():
    rows, _ = rows_of(CASES / "biosnoop-q.txt")
    waits = [(round(int(row["issue_ns"] - row["arrival_ns"]) / 1e6, 2), round(int(row["complete_ns"] - row["issue_ns"]) / 1e6, 2)) for row in rows]  # fmt: skip
    assert waits == [(1.2, 5.49), (0.9, 6.68), (0.01, 0.8)]


IOSNOOP = "Tracing block I/O. Ctrl-C to end.\nSTARTs          ENDs            COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n"


def test_iosnoop_with_times_is_read_with_blanks_in_names(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(
        f"{IOSNOOP}5982800.302061  5982800.302679  supervise    1809   WS   202,1    17039600     4096        0.62\n5982800.302423  5982800.302842  Web Content  1809   R    202,1    17039608     8192        0.42\n"
    )
    rows, notes = rows_of(path)
    assert took_ms(rows, Kind.WRITE) == [0.62] and took_ms(rows, Kind.READ) == [0.42]
    assert "Web Content/1809" in notes.processes and notes.devices == ["202,1"]


LACKING = {
    "COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\nsupervise    1809   W    202,1    17039600     4096        0.62\n": "iosnoop -ts",
    "TIME(ms)     DISK    COMM             PID    LAT(ms)\n611          nvme0n1 bash             4179   10\n": "the sector, the size",
}


@pytest.mark.parametrize("text", LACKING)
def test_a_table_that_lacks_something_says_what_and_what_records_it(text, tmp_path):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(TraceError, match=LACKING[text].replace("(", ".")) as caught:
        rows_of(tmp_path / "x.txt")
    assert "seekwise record" in str(caught.value.hint)


def test_events_of_nvme_alone_make_requests():
    rows, notes = rows_of(CASES / "nvme-events.txt")
    assert notes.devices == ["nvme0n1"]
    assert (
        took_ms(rows, Kind.WRITE) == [0.2] and took_ms(rows, Kind.READ) == [0.1] and took_ms(rows, Kind.FLUSH) == [1.5]
    )
    assert {int(row["sectors"]) for row in rows[rows["kind"] == Kind.READ]} == {32}


def test_beside_events_of_the_block_layer_those_of_nvme_count_nothing(tmp_path):
    block = "             fio-37801   [003] .....  9904.831150: block_rq_issue: 259,0 W 4096 () 498455480 + 8 none,0,0 [fio]\n"
    done = (
        "          <idle>-0       [003] d.h1.  9904.831353: block_rq_complete: 259,0 W () 498455480 + 8 none,0,0 [0]\n"
    )
    events = (CASES / "nvme-events.txt").read_text()
    (tmp_path / "x.txt").write_text(block + events.splitlines(keepends=True)[7] + done)
    rows, notes = rows_of(tmp_path / "x.txt")
    assert len(rows) == 1 and notes.devices == ["259,0"]


def test_times_of_the_clock_are_read(tmp_path):
    (tmp_path / "x.txt").write_text(
        "TIMESTAMP    COMM  PID     DISK T   SECTOR   BYTES  LAT(ms)\n"
        "17:59:59.500 mount 163467  sde  WSM 41944043 524288 1.5\n18:00:00.100 mount 163467 sde WSM 41945067 524288 1.5\n"
    )
    rows, _ = rows_of(tmp_path / "x.txt")
    assert list(rows["arrival_ns"]) == [0, 600_000_000]


def test_a_flush_has_no_sector_and_what_is_passed_through_is_left_out_and_said(tmp_path):
    path = tmp_path / "biosnoop.txt"
    none = 2**64 - 1
    path.write_text(
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n"
        f"0.1 jbd2/sda1-8 184 sda FF {none} 0 8.12\n0.2 mysqld 812 sda R 2048 16384 12.1\n0.3 smartd 900 sda N {none} 512 1.2\n"
        "0.4 dd 1 sda R -1 8 0.1\n"
    )
    rows, notes = rows_of(path)
    assert (len(rows), list(rows["sectors"])) == (2, [0, 32])
    assert "2 commands that name no sector are left out" in notes.sentences


@pytest.mark.parametrize(("text", "says"), [
    ("Device             tps    kB_read/s\nsda 1 2\n", "is output of iostat: counters of a running machine, not a trace"),
    ("  fio-2112  [003]  8123.412312: scsi_dispatch_cmd_start: host_no=0\n", "holds events, but none of a block device's requests"),
    ("nothing that is known\n", "no known trace format begins like this"),
])  # fmt: skip
def test_what_is_no_trace_is_named_with_what_answers(text, says, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(text)
    error = CliRunner().invoke(cli, ["trace", "show", str(path)]).exception
    assert isinstance(error, SeekwiseError) and error.message.endswith(says) and error.hint
