"""A trial is thrown out for a cause that was seen, and the cause is named."""

from dataclasses import replace

import pytest

from seekwise.importing.fio_result import FioPhase
from seekwise.linux.diskstats import DiskCounters
from seekwise.measure.kernel import validity
from seekwise.measure.kernel.programs import ForeignProgram
from seekwise.workload.study.plan import Load, PlannedPhase

MB = 1_000_000
RESULT = FioPhase("seq_read", 1.0, 100 * MB, 100 * MB, 0, 25_000, {}, 0.0, 0, 0.0, 0.1, (), 0, {"1": 100.0})
GOOD = validity.PhaseObservation(
    load=Load("quick"),
    step=PlannedPhase("seq_read", 1.0),
    result=RESULT,
    moved=DiskCounters(reads=25_000, read_bytes=100 * MB),
    amplifies=False,
    others=[ForeignProgram("rsync", 812, 31_000_000)],
    settings_before={"sda": {"queue/scheduler": "bfq"}},
    settings_after={"sda": {"queue/scheduler": "bfq"}},
    resync=None,
    throttled=False,
)


def counters(read: int, written: int) -> DiskCounters:
    return DiskCounters(reads=1, read_bytes=read, writes=1, write_bytes=written)


def test_a_good_trial_is_valid():
    assert validity.reason_against(GOOD) is None


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"result": replace(RESULT, errors=(5,))}, "I/O error: Input/output error"),
        ({"result": replace(RESULT, ios=0)}, "no request"),
        ({"result": replace(RESULT, elapsed_s=0.9)}, "short run: 0.900 s of 1.000 s"),
        ({"settings_after": {"sda": {"queue/scheduler": "none"}}}, "sda queue/scheduler was bfq before the trial and none after"),
        ({"settings_after": {}}, "sda queue/scheduler was bfq before the trial and None after"),
        ({"resync": "check is running on md0"}, "check is running on md0"),
        ({"throttled": True}, "throttled"),
        ({"moved": counters(60 * MB, 0)}, "cache hits: 100.0 MB read, but the devices moved only 60.0 MB"),
        ({"moved": counters(131 * MB, 0)}, "another program used the disk: 31.0 MB in addition to 100.0 MB of the load by rsync (pid 812"),
        ({"moved": counters(100 * MB, 31 * MB)}, "another program used the disk"),
        ({"load": Load("q", iodepth=32), "result": replace(RESULT, depth_share={"8": 80.0, "32": 20.0})}, "queue depth 32 was reached by 20 %"),
    ],
)  # fmt: skip
def test_each_cause_is_named(change, cause):
    assert cause in validity.reason_against(replace(GOOD, **change))


def test_a_depth_between_two_levels_is_looked_for_in_the_lower_one():
    load = Load("q", iodepth=24)
    reached = replace(RESULT, depth_share={"16": 99.0, "1": 1.0})
    assert validity.reason_against(replace(GOOD, load=load, result=reached)) is None


def test_arrays_may_write_more_than_was_asked_but_not_while_reading():
    written = replace(RESULT, operation="seq_write", read_bytes=0, write_bytes=100 * MB)
    raid5 = replace(GOOD, amplifies=True, result=written, moved=counters(150 * MB, 210 * MB), step=None)
    assert validity.reason_against(raid5) is None
    reading = replace(GOOD, amplifies=True, moved=counters(100 * MB, 40 * MB))
    assert "another program used the disk" in validity.reason_against(reading)


def test_read_ahead_of_a_buffered_load_is_not_foreign():
    load = Load("q", direct=False, memory_limit_bytes=64 * 2**20)
    assert validity.reason_against(replace(GOOD, load=load, moved=counters(180 * MB, 0))) is None


def test_a_small_log_line_does_not_spoil_a_trial():
    assert validity.reason_against(replace(GOOD, moved=counters(100 * MB, MB // 2))) is None


def test_a_resync_is_read_from_the_array(tmp_path):
    folder = tmp_path / "sys/block/md0/md"
    folder.mkdir(parents=True)
    (folder / "sync_action").write_text("recover\n")
    assert validity.resync_running(("md0", "md1"), tmp_path) == "recover is running on md0"
    (folder / "sync_action").write_text("idle\n")
    assert validity.resync_running(("md0", "md1"), tmp_path) is None
