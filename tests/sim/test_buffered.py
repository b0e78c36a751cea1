"""Buffered loads of raw devices and arrays on multi-queue kernels: what read-ahead, memory and write-back do, what is refused."""

from __future__ import annotations

import pytest

from seekwise.errors import UsageError
from seekwise.store.record import Phase

from .studies import carried_out, study


def phases(workload: dict, settings: dict | None = None, **system: object) -> list[Phase]:
    load = {"direct": False, "memory_limit": "64m", "size": "2g", "runtime": "2s", "end_fsync": False, **workload}
    load = {name: value for name, value in load.items() if value is not None}
    records = carried_out(study({"drive": "wd2500ys", "kernel": "6.1", **system}, load, settings))
    return [phase for record in records for phase in record.phases]


@pytest.mark.parametrize("kernel", ["5.10", "6.1", "6.12"])
@pytest.mark.parametrize("operation", ["seq_read", "rand_read", "seq_write", "rand_write"])
def test_every_operation_runs_under_every_kernel(kernel, operation):
    (found,) = phases({"operations": [operation], "block_bytes": "4k", "threads": 2}, kernel=kernel)
    assert found.operation == operation and found.ios > 100 and found.rate_bytes_per_s > 1e5


@pytest.mark.parametrize("array", [{}, {"drives": 3, "raid_level": "raid5", "chunk_kib": 64}])
@pytest.mark.parametrize("scheduler", ["none", "bfq"])
def test_each_phase_finds_an_empty_cache_and_idle_drives(scheduler, array):
    operations = ["seq_read", "rand_write", "seq_write", "rand_read"]
    load = {"block_bytes": "4k", "threads": 4, "size": "256m"}
    together = phases({"operations": operations, **load}, {"scheduler": [scheduler]}, **array)
    assert [each.operation for each in together] == operations
    # What was still under way when the programs ended is not the next phase's: reads come to no more than a window ahead.
    last = together[-1]
    assert last.device_bytes == pytest.approx(last.bytes, rel=0.05)
    written = together[1]
    assert written.device_bytes >= 0.9 * written.bytes


def test_a_reader_in_order_streams_and_reads_ahead_of_itself():
    (found,) = phases({"operations": ["seq_read"], "block_bytes": "4k"})
    # The outer zone of the drive: 61 MB/s. Most calls find their page, some wait for a window of 256 KiB.
    assert 58e6 < found.rate_bytes_per_s < 64e6
    assert found.latency_max_ns > 20 * found.latency_mean_ns


def test_read_ahead_that_is_switched_off_costs_a_reader_its_stream():
    with_it, without = (
        phases({"operations": ["seq_read"], "block_bytes": "4k", "threads": 4}, {"read_ahead_kb": [kib]})[0]
        for kib in (512, 0)
    )
    # Without it the drive still reads on for each of the four: eight get 19 to 20 MB/s of disks of its time (2.6.12, noop, one command at a time).
    assert with_it.rate_bytes_per_s > 2 * without.rate_bytes_per_s


def test_random_reads_bring_the_page_that_was_asked_for_and_no_more():
    (found,) = phases({"operations": ["rand_read"], "block_bytes": "4k", "size": "100g", "runtime": "4s"})
    assert found.device_bytes == pytest.approx(found.bytes, rel=0.02)


def test_a_writer_is_quick_until_the_group_is_full_of_dirty_pages_and_then_as_fast_as_the_drive():
    short, long = (
        phases({"operations": ["rand_write"], "block_bytes": "4k", "size": "100g", "runtime": t})[0]
        for t in ("50ms", "20s")
    )
    assert short.rate_bytes_per_s > 20 * long.rate_bytes_per_s
    # A fifth of 64 MiB less the program is dirty at most: what more was written is on the drive.
    assert long.bytes - long.device_bytes < 13 * 2**20


def test_more_memory_takes_more_before_writers_are_held_back():
    small, large = (
        phases({"operations": ["rand_write"], "block_bytes": "4k", "memory_limit": limit})[0]
        for limit in ("64m", "256m")
    )
    assert large.bytes > 2.5 * small.bytes


@pytest.mark.parametrize(("level", "drives"), [("raid0", 2), ("raid1", 2), ("raid5", 3), ("raid10", 4)])
def test_arrays_are_read_and_written_through_the_page_cache(level, drives):
    for operation in ("seq_read", "seq_write", "rand_write"):
        (found,) = phases({"operations": [operation]}, drives=drives, raid_level=level)
        assert found.rate_bytes_per_s > 1e6


def test_the_same_seed_gives_the_same_bytes():
    once, again = (phases({"operations": ["rand_write"], "block_bytes": "4k", "threads": 4})[0] for _ in range(2))
    assert (once.bytes, once.latency_bins) == (again.bytes, again.latency_bins)


@pytest.mark.parametrize(
    ("workload", "word"),
    [
        ({"memory_limit": None}, "memory_limit"),
        ({"memory_limit": "6m"}, "limit_bytes"),
        ({"block_bytes": "512"}, "whole pages"),
        ({"iodepth": 4, "engine": "libaio"}, "iodepth"),
    ],
)
def test_what_is_not_modelled_behind_the_page_cache_is_one_sentence(workload, word):
    with pytest.raises(Exception, match=word) as refused:
        phases({"operations": ["seq_read"], **workload})
    assert isinstance(refused.value, UsageError) or "cannot be simulated" in str(refused.value)


def test_large_random_reads_in_little_memory_go_on():
    (found,) = phases({
        "operations": ["rand_read"], "block_bytes": "1m", "threads": 7, "size": "8m", "memory_limit": "16m", "runtime": "200ms",
    }, {"scheduler": ["none"]}, drive="intel_p5800x")  # fmt: skip
    assert found.elapsed_s < 0.5 and found.ios > 50


def test_each_copy_of_a_mirrored_write_costs_the_processor():
    """On flash behind the laboratory's processor, which serves the drives; with the first copy alone paid for, both would be equal."""
    load = {"operations": ["seq_write"], "threads": 1, "block_bytes": "64k", "runtime": "500ms"}
    drive = {"drive": "samsung_850_evo", "options": {"host": "laboratory", "hz": 250}}
    (alone,) = phases(load, **drive)
    (mirror,) = phases(load, **drive, drives=2, raid_level="raid1")
    assert mirror.rate_bytes_per_s < 0.75 * alone.rate_bytes_per_s


def test_direct_loads_refuse_a_read_ahead_that_they_would_ignore():
    with pytest.raises(UsageError, match="ignores `read_ahead_kb`"):
        phases({"operations": ["seq_read"], "direct": True, "memory_limit": None}, {"read_ahead_kb": [4, 512]})
