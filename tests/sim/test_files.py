"""Files of a file system on multi-queue kernels, as a study asks for them: what they cost beside the raw device, what is refused."""

from __future__ import annotations

import pytest

from seekwise.errors import UsageError
from seekwise.store.record import Record

from .studies import carried_out, study

ON_EXT4 = {"filesystem": "ext4"}


def records(workload: dict, settings: dict | None = None, **system: object) -> list[Record]:
    load = {"size": "256m", "end_fsync": False, **workload}
    drive = {"drive": "samsung_850_evo", "kernel": "6.1", "options": ON_EXT4}
    return carried_out(study({**drive, **system}, load, settings))


def throughputs(*args: object, **system: object) -> list[float]:
    return [phase.rate_bytes_per_s for record in records(*args, **system) for phase in record.phases]


BUFFERED = {"direct": False, "memory_limit": "64m"}


@pytest.mark.parametrize("cache", [{}, BUFFERED])
@pytest.mark.parametrize(
    "array", [{}, {"drives": 2, "raid_level": "raid1"}, {"drives": 4, "raid_level": "raid10", "chunk_kib": 64}]
)
def test_every_scheduler_of_6_1_reads_and_writes_files(cache, array):
    operations = ["seq_read", "rand_read", "seq_write", "rand_write"]
    load = {"operations": operations, "threads": 2, "block_bytes": "16k", "random_ios": 200, "size": "32m", **cache}
    made = records(load, {"scheduler": ["none", "mq-deadline", "bfq", "kyber"]}, **array)
    assert len(made) == 4
    for record in made:
        assert "not_modelled" not in record.conditions
        assert [phase.operation for phase in record.phases] == operations
        assert all(phase.rate_bytes_per_s > 1e6 for phase in record.phases)


def test_random_reads_of_a_file_past_the_cache_are_those_of_the_raw_device():
    # So deep that the processor is never idle: which end finds its task asleep is not the same otherwise.
    load = {"operations": ["rand_read"], "iodepth": 32, "engine": "libaio", "runtime": "1s"}
    (file,), (raw,) = throughputs(load), throughputs(load, options={"synchronous_dispatch": True})
    assert file == pytest.approx(raw, rel=0.02)
    # A file's requests have a plug; those of the bare device are dispatched by a kernel's worker.
    (by_worker,) = throughputs(load, options={})
    assert by_worker < 0.9 * raw


def test_settings_of_the_queue_reach_the_files():
    load = {"operations": ["rand_read"], "iodepth": 32, "engine": "libaio", "threads": 4, "runtime": "500ms"}
    one, all_tags = throughputs(load, {"queue_depth": [1, 32]})
    assert all_tags > 2 * one
    (few,) = throughputs(load, {"scheduler": ["mq-deadline"], "nr_requests": [4]})
    assert few < 0.8 * all_tags
    (record,) = records(load, {"scheduler": ["mq-deadline"], "iosched.writes_starved": [5]})
    assert record.load["specs"]["rand_read"]["cell"]["queue"]["tunables"] == {"writes_starved": 5}


@pytest.mark.parametrize("array", [{}, {"drives": 4, "raid_level": "raid10", "chunk_kib": 64}])
def test_the_depth_of_a_load_reaches_a_volume_without_files(array):
    load = {"operations": ["rand_read"], "engine": "libaio", "runtime": "1s", "size": "1g"}
    on_volume = {"options": {"volume": "lvm_ext4", "partition_gib": 40}, **array}
    (one,), (many,) = (throughputs({**load, "iodepth": depth}, **on_volume) for depth in (1, 16))
    assert many > 4 * one


def test_latencies_of_files_have_percentiles():
    for cache in ({}, BUFFERED):
        (record,) = records({"operations": ["rand_read"], "random_ios": 500, **cache})
        (phase,) = record.phases
        assert sum(phase.latency_bins.values()) == phase.ios == 500


def test_a_writer_that_syncs_waits_for_the_drives_caches():
    load = {"operations": ["rand_write"], "random_ios": 100}
    plain, synced = (records({**load, "sync": sync})[0].phases[0].latency_mean_ns for sync in (False, True))
    assert synced > plain + 2_000_000


def test_buffered_readers_of_a_file_read_ahead():
    load = {"operations": ["seq_read"], "threads": 1, "block_bytes": "4k", **BUFFERED}
    little, much = throughputs(load, {"read_ahead_kb": [4, 512]})
    assert much > 1.3 * little


def test_the_same_seed_gives_the_same_record():
    load = {"operations": ["rand_write"], "threads": 4, "runtime": "500ms", **BUFFERED}
    assert throughputs(load) == throughputs(load)


@pytest.mark.parametrize(
    ("workload", "system", "word"),
    [
        ({"iodepth": 4, "engine": "libaio", **BUFFERED}, {}, "one by one"),
        ({"iodepth": 4, "engine": "libaio", "sync": True}, {}, "sync"),
        ({}, {"options": {"filesystem": "xfs"}}, "xfs"),
        ({"size": "900g"}, {}, "larger than the volume"),
        ({}, {"kernel": "2.6.24"}, "mq-deadline"),
    ],
)
def test_what_is_not_modelled_is_one_sentence(workload, system, word):
    try:
        (record,) = records({"operations": ["rand_write"], "random_ios": 10, **workload}, **system)
    except UsageError as refused:
        said = str(refused)
    else:
        said = record.conditions["not_modelled"]["rand_write"]
    assert word in said and "\n" not in said


def test_an_array_without_a_chunk_has_mdadms():
    load = {"operations": ["seq_read"], "threads": 1, "block_bytes": "64k", "runtime": "300ms"}
    array = {"drives": 3, "raid_level": "raid5"}
    assert throughputs(load, **array) == throughputs(load, **array, chunk_kib=512)


def test_a_file_system_that_is_not_modelled_is_refused_before_the_run():
    with pytest.raises(UsageError, match="file system `btrfs`, which is not modelled") as refused:
        records({"operations": ["seq_read"]}, options={"filesystem": "btrfs"})
    assert "ext4" in (refused.value.hint or "")
