"""A request list becomes a recording that the replay reads; where a guest can be booted, one that a real kernel made."""

from __future__ import annotations

from pathlib import Path

import pytest

from seekwise.errors import UsageError
from seekwise_proof.testbed import vectors
from seekwise_proof.validate import vectors as verifying

LISTS = Path(__file__).parents[3] / "tests/vectors"

TRACE = """# tracer: nop
            submit-77      [000] .....   1000500: block_rq_insert: 254,0 R 4096 () 800 + 8 [submit]
            submit-77      [000] .....   1000600: block_rq_issue: 254,0 WS 4096 () 1600 + 8 none,0,0 [submit]
            submit-78      [000] .....   1000700: block_bio_backmerge: 254,0 W 808 + 8 [submit]
          <idle>-0         [000] ..s..   1002500: block_rq_complete: 254,0 R () 800 + 16 [0]
          <idle>-0         [000] ..s..   1002600: block_rq_complete: 254,0 FF () 0 + 0 [0]
"""


def listed(folder: Path, text: str) -> Path:
    path = folder / "a.list"
    path.write_text(text)
    return path


def test_the_trace_of_every_kernel_becomes_rows_from_the_common_start(tmp_path):
    requests = vectors.read(listed(tmp_path, "# time_us,proc,op,sector,sectors\n0,2,R,800,16\n5,1,W,1600,8\n"))
    assert vectors.parse(TRACE, 1000000, requests).splitlines() == [
        vectors.HEADER,
        "500,insert,R,800,8,p2",
        "600,issue,WS,1600,8,p1",
        "700,backmerge,W,808,8,p2",
        "2500,complete,R,800,16,p2",
    ]


def test_open_and_closed_loops_keep_their_meaning(tmp_path):
    plan = vectors.read(listed(tmp_path, "7,0,r,8,8\n9,1,R,16,8\n11,2,A,24,8\n")).plan().splitlines()
    assert plan[3:] == ["Q 0 after 7000 R 8 8 own", "Q 1 at 9000 R 16 8 no", "Q 2 at 11000 A 24 8 no"]


def test_the_legacy_format_brings_priorities_and_waits():
    read = vectors.read(LISTS / "requests" / "prio_be_a.requests.csv")
    assert read.processes[2][:2] == (2, 7)
    assert {row.wait for row in read.rows} <= {"own", "no", "all"} and len(read.rows) > 100


@pytest.mark.parametrize("line", ["1,2", "1,2,7", "1,2,7,0,0", "p1,x,0,0"])
def test_a_line_of_processes_with_another_number_of_values_is_named(tmp_path, line):
    requests = tmp_path / "a.requests.csv"
    requests.write_text((LISTS / "requests" / "prio_be_a.requests.csv").read_text())
    (tmp_path / "a.processes.csv").write_text(f"1,2,7,0\n{line}\n")
    with pytest.raises(UsageError, match=r"a\.processes\.csv:2"):
        vectors.read(requests)


@pytest.mark.parametrize("line", ["1,2,R,8", "x,0,R,8,8", "1,0,Q,8,8", "1,0,R,8,0", "1,0,R,-8,8"])
def test_a_line_that_is_no_request_is_named(tmp_path, line):
    with pytest.raises(UsageError, match=r"a\.list:2"):
        vectors.read(listed(tmp_path, f"0,0,R,8,8\n{line}\n"))


def test_folders_are_those_of_the_published_recordings(tmp_path):
    assert vectors.folder_of(tmp_path, "6.1", "bfq", 16, {"low_latency": 0}) == tmp_path / "bfq-lowlat0-qd16"
    assert vectors.folder_of(tmp_path, "5.10", "kyber", 1, {}) == tmp_path / "other-kernels" / "5.10" / "kyber"


@pytest.mark.timeout(1500)
def test_a_published_list_recorded_again_replays_without_a_miss(guest, tmp_path):
    guest("6.1")
    requests = vectors.read(LISTS / "lists" / "rand4.list")
    rows, conf = vectors.record(requests, "6.1", "mq-deadline", {}, 2_000_000, 1, print)
    folder = vectors.folder_of(tmp_path, "6.1", "mq-deadline", 1, {})
    folder.mkdir()
    (folder / "rand4.csv").write_text(rows)
    (folder / "rand4.conf").write_text(conf)
    report = verifying.verify([folder], {})
    assert report.total == 240 and report.passed == report.total, report.document()
    published = (LISTS / "mq-deadline" / "rand4.csv").read_text().splitlines()
    decided = [line.split(",")[1:] for line in rows.splitlines() if ",issue," in line]
    assert decided == [line.split(",")[1:] for line in published if ",issue," in line]
