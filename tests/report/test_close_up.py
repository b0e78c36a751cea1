"""These tests will hold "why" to its numbers: parts of an I/O's time add up, the same run gives the same picture, and the cause named is the one there."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from report import pages
from seekwise.report import close_up, of_run, page
from seekwise.report.looks import Looks
from seekwise.simulate import close_up as again
from seekwise.store.database import Store
from seekwise.trace import close_up as shape
from seekwise.trace.columns import REQUEST, UNKNOWN

ELEVATORS = """
name = "elevators"
backend = "simulated"
[[system]]
name = "disk"
drive = "st3250620ns"
kernel = "2.6.24"
[settings]
scheduler = ["noop", "cfq"]
queue_depth = [1]
[[workload]]
operations = ["rand_read", "seq_read"]
threads = [8]
block_bytes = "16k"
size = "4g"
runtime = "3s"
[design]
blocks = 3
"""


def ran(folder: Path, text: str) -> of_run.Report:
    (folder / "study.toml").write_text(text)
    pages.invoke(folder, "run", str(folder / "study.toml"))
    with Store.open(folder / "records.db", create=False) as store:
        return of_run.of_runs(store, store.run("last"))


@pytest.fixture(scope="module")
def disk(tmp_path_factory) -> of_run.Report:
    return ran(tmp_path_factory.mktemp("disk"), ELEVATORS)


@pytest.fixture(scope="module")
def arrays(tmp_path_factory) -> of_run.Report:
    return ran(tmp_path_factory.mktemp("arrays"), pages.ARRAYS)


def stretch_of(found: of_run.Report, operation: str) -> list[shape.CloseUp]:
    load = next(each for each in close_up.loads(found.content.records) if each.operation == operation)
    return again.close_ups(list(load.records.values()), operation)


def why(found: of_run.Report, operation: str) -> close_up.CloseUpSection:
    """Of the load of that operation."""
    records = [
        replace(each, phases=tuple(p for p in each.phases if p.operation == operation))
        for each in found.content.records
    ]
    section = close_up.most_different(records, Looks())
    assert section is not None
    return section


def sentences(text: str) -> int:
    return len(re.findall(r"\.(?= |$)", text))


def test_the_time_of_a_request_is_seek_rotation_and_transfer(disk):
    for each in stretch_of(disk, "rand_read"):
        assert len(each.requests) > 30
        for before, one in zip(each.requests, each.requests[1:], strict=False):
            # One command at a time: from when the drive could begin until the end.
            spent = one.end - max(one.issue, before.end)
            assert one.parts.seek + one.parts.rotation + one.parts.transfer + one.parts.own == pytest.approx(
                spent, abs=1e-3
            )
            assert one.parts.rotation <= 60e3 / 7200 + 1e-3 and one.arrival <= one.issue < one.end


def test_parts_of_an_io_add_up_to_its_time(disk):
    for each in stretch_of(disk, "rand_read"):
        row = close_up.row(each, Looks().by_label(["x"])["x"])
        assert sum(row.parts.values()) == pytest.approx(row.total, rel=0.03)
        assert row.total * row.iops == pytest.approx(1000)


HISTORY = ELEVATORS.replace('["rand_read", "seq_read"]', '["seq_write", "rand_read"]').replace(
    "queue_depth = [1]\n", ""
)


@pytest.mark.parametrize("text", [ELEVATORS, HISTORY])
def test_the_stretch_goes_as_fast_as_the_trial_that_was_recorded(text, tmp_path):
    """Also where cfq has learnt in the operation before that the drive takes many commands at once."""
    for load in close_up.loads(ran(tmp_path, text).content.records):
        found = again.close_ups(list(load.records.values()), load.operation)
        for record, each in zip(load.records.values(), found, strict=True):
            recorded = next(phase.iops for phase in record.phases if phase.operation == load.operation)
            # Caches and slices make sequential rates come in bursts of the length of a stretch.
            near = 0.1 if load.operation.startswith("rand") else 0.3
            assert 1e3 * each.whole.ios / each.whole.span_ms == pytest.approx(recorded, rel=near), record.setting


def test_the_same_run_gives_the_same_picture(disk):
    first, second = (close_up.most_different(disk.content.records, Looks()) for _ in range(2))
    assert first == second and first is not None


def test_an_elevator_that_sorts_is_told_by_the_distance_of_its_requests(disk):
    noop, cfq = (
        next(each for each in stretch_of(disk, "rand_read") if name in each.setting) for name in ("noop", "cfq")
    )
    # cfq serves a thread, in a file of its own, for a while; noop goes to all files in turn.
    assert cfq.turns > 3 * noop.turns and np.mean(cfq.jumps) < 0.5 * np.mean(noop.jumps)
    found = why(disk, "rand_read")
    assert found.title == "Random read, disk, 8 threads"
    assert "seeking: the head moves" in found.sentence and "in a row" in found.sentence
    assert sentences(found.sentence) <= 4


def test_a_raid_level_is_told_by_the_requests_that_one_write_costs(arrays):
    found = why(arrays, "rand_write")
    looks = Looks().by_label(["x"])["x"]
    commands = {each.setting: close_up.row(each, looks).commands for each in stretch_of(arrays, "rand_write")}
    commands = {next(word for word in name.split() if "raid" in word.lower()): n for name, n in commands.items()}
    commands = {name.lower().rpartition("raid")[2]: n for name, n in commands.items()}
    # A small write: once; to both copies; data and parity read and written (RAID 6 reads the rest of the stripe, too, as md does).
    assert commands["0"] == pytest.approx(1, abs=0.25) and commands["10"] == pytest.approx(2, abs=0.4)
    assert commands["5"] > 3 and commands["6"] > 3
    assert "Requests to the drives for one I/O" in found.sentence and sentences(found.sentence) <= 4


def test_settings_that_dispatch_alike_are_called_so():
    served = tuple(
        shape.ServedRequest(t - 5, t - 4, t, 1000 * n, 8, False, 1) for n, t in enumerate(np.arange(5.0, 100, 5))
    )
    rows = [
        close_up.row(shape.CloseUp(name, 100.0, 10**6, served), Looks().by_label([name])[name]) for name in ("a", "b")
    ]
    assert close_up.sentence(rows).startswith("The settings dispatch alike")


def test_idle_time_and_depth_are_those_of_the_requests():
    served = (
        shape.ServedRequest(0, 10, 30, 0, 8, False, 1),
        shape.ServedRequest(20, 30, 40, 8, 8, False, 2),
        shape.ServedRequest(60, 60, 70, 0, 8, True, 1),
    )
    found = shape.CloseUp("x", 100.0, 1000, served)
    assert found.busy == [(10, 40), (60, 70)] and found.idle_share == pytest.approx(0.6)
    assert found.depth == [(0.0, 1), (20, 2), (30, 1), (40, 0), (60, 1), (70, 0)]
    assert found.depth_mean == pytest.approx((30 + 20 + 10) / 100)


def test_merged_and_split_ios_are_found_again_in_their_requests():
    rows = [
        [1000, "submit", "R", 0, 8, 1], [2000, "submit", "R", 8, 8, 2], [3000, "issue", "R", 0, 16, 1], [9000, "complete", "R", 0, 16, 1],
        [4000, "submit", "W", 100, 32, 3], [5000, "issue", "W", 100, 16, 3], [6000, "issue", "W", 116, 16, 3],
        [7000, "complete", "W", 100, 16, 3], [8000, "complete", "W", 116, 16, 3],
    ]  # fmt: skip
    merged, first, second = sorted(again._served(rows, members_only=False), key=lambda one: one.sector)
    assert (merged.arrival, merged.merged, merged.thread) == (0.001, 1, 1)
    assert [first.arrival, second.arrival] == [0.004, 0.004] and first.write and not first.merged


def test_a_recorded_trace_gives_its_busiest_stretch():
    rows = np.zeros(300, dtype=REQUEST)
    # One request in 10 ms, but between 1 s and 1.1 s one per ms.
    ends = np.concatenate([np.arange(100) * 10, 1000 + np.arange(100), 1100 + np.arange(100) * 10]) * 1e6
    rows["complete_ns"], rows["issue_ns"], rows["arrival_ns"] = ends + 5e5, ends, ends - 1e5
    rows["sector"], rows["sectors"] = np.arange(300) * 8, 8
    found = shape.of_rows(rows, "sda", 80)
    assert found.span_ms == pytest.approx(79, abs=0.1) and len(found.requests) == 80
    assert found.requests[0].arrival == pytest.approx(-0.6)
    rows["issue_ns"] = UNKNOWN
    assert shape.of_rows(rows, "sda", 80) is None


def test_the_page_cache_of_an_array_is_not_claimed(disk, arrays):
    """Its members cannot be told apart there; a drive behind the page cache is in `test_close_up_cached.py`."""
    for found, there in ((disk, True), (arrays, False)):
        record = found.content.records[0]
        spec = {**record.load["spec"], "cache": {"limit_bytes": 1 << 26}}
        buffered = replace(record, load={**record.load, "spec": spec})
        operation = record.phases[0].operation
        assert again.can(record, operation) and again.can(buffered, operation) == there


def test_the_page_of_a_simulated_study_says_why_without_being_asked_and_without_delay(disk):
    began = time.process_time()
    found = close_up.most_different(disk.content.records, Looks())
    assert time.process_time() - began < 2
    text = page.render(disk.content)
    assert found.sentence in text.replace("&#39;", "'") and text.count('id="why"') == 1
    assert text.count('class="panel wider"') == found.picture.count('class="panel wider"') > 1


def test_the_page_of_a_simulated_tune_says_why_a_setting_loses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uses = ("--for", "random-read,random-read-1", "--vary", "queue_depth=1,31")
    pages.invoke(tmp_path, "tune", "model:wd2500ys", *uses, "--seed", "1")
    text = next(tmp_path.glob("seekwise-*.html")).read_text()
    assert text.count('id="why-random-read"') == 1 and "all jobs together" in text
    assert "(simulated) on ," not in text
    # One request at a time has nothing to sort: where nobody loses there is nothing to explain.
    assert 'id="why-random-read-1"' not in text


CHUNKS_OF_FLASH = """
name = "chunks"
backend = "simulated"
[[system]]
name = "array"
drive = "samsung_980_pro_1tb"
drives = 4
raid_level = "raid5"
[settings]
chunk_kib = [16, 512]
[[workload]]
operations = ["seq_read", "rand_read", "seq_write"]
threads = 4
iodepth = 8
block_bytes = "1m"
size = "64m"
runtime = "200ms"
[design]
blocks = 2
sentinel = false
"""


def test_ios_that_are_cut_into_many_chunks_are_drawn_as_fast_as_they_were(tmp_path):
    """An I/O of 1 MiB is 16 requests of each drive here: their events once filled the trace before the stretch began."""
    found = ran(tmp_path, CHUNKS_OF_FLASH)
    for load in close_up.loads(found.content.records):
        for one in again.close_ups(list(load.records.values()), load.operation):
            record = load.records[one.setting]
            rate = next(phase.iops for phase in record.phases if phase.operation == load.operation)
            assert one.requests and one.whole.ios / one.whole.span_ms * 1e3 == pytest.approx(rate, rel=0.15), (
                one.setting
            )
    assert "wider" in page.render(found.content)


def test_a_drive_that_served_nothing_in_the_stretch_is_drawn_idle(disk):
    load = close_up.loads(disk.content.records)[0]
    first, second = again.close_ups(list(load.records.values()), load.operation)[:2]
    idle = replace(second, requests=[], later=[])
    assert "no request was served" in close_up.stretch([first, idle], Looks(), "a load").picture
