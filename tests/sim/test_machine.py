"""A combination of everything that a system and a load may say, as one study: it runs, its records are possible, and every run gives the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seekwise.errors import UsageError
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.store.record import Phase, Record
from seekwise.workload.study import parse, planning

EVERYTHING = """
name = "everything"
backend = "simulated"

[[system]]
name = "degraded"
drive = "wd2500ys"
drives = 6
raid_level = "raid6"
chunk_kib = 64
kernel = "6.1"
options = { filesystem = "ext4", missing = 1, bitmap = "internal" }

[settings]
scheduler = ["mq-deadline", "bfq"]

[[workload]]
name = "files"
operations = ["seq_read"]
threads = 4
block_bytes = "64k"
direct = false
memory_limit = "96m"
size = "64m"
runtime = "3s"
think_time = "2ms"

[[workload.beside]]
name = "log"
operation = "rand_write"
threads = 2
iodepth = 8
block_bytes = "16k"
rate_limit = "640k"
think_time = "1ms"

[design]
blocks = 2
control = false
sentinel = false
"""


def records(text: str = EVERYTHING, processors: int = 2) -> list[Record]:
    given = parse.loads(text, "everything")
    backend = SimulatedBackend()
    plan = planning.make(given, backend.describe(given))
    backend.check(plan)
    with backend.session(plan, "r", lambda _: None) as session:
        session.processors = processors
        return list(session.run(list(plan.trials), {}))


def without_time(made: list[Record]) -> list[Record]:
    return [replace(record, started_at="") for record in made]


def phases(record: Record) -> tuple[Phase, Phase]:
    readers, writers = record.phases
    return readers, writers


def test_readers_and_writers_move_whole_blocks_and_the_writers_keep_their_rate():
    made = records()
    assert len(made) == 4
    for record in made:
        assert "not_modelled" not in record.conditions
        readers, writers = phases(record)
        assert (readers.operation, writers.operation) == ("seq_read", "rand_write")
        for phase, block in ((readers, 65536), (writers, 16384)):
            assert phase.ios > 0
            assert phase.bytes == phase.ios * block
            assert sum(phase.latency_bins.values()) == phase.ios
        # Two threads at 40 requests a second for three seconds; a few still wait for stripes of the degraded array at the end.
        assert writers.ios == pytest.approx(2 * 40 * 3, abs=6)


def test_no_drive_is_busy_for_longer_than_the_phase_and_the_missing_one_does_nothing():
    for record in records():
        readers, writers = phases(record)
        members = readers.details["members"]
        assert len(members) == 6
        for place, member in enumerate(members):
            assert member["busy_ns"] <= 1.02 * readers.elapsed_s * 1e9
            assert (member["bytes_read"] + member["bytes_written"] == 0) == (place == 0)
        # Data and two parities, all but what the missing member would have.
        assert sum(member["bytes_written"] for member in members) > 2 * writers.bytes
        assert readers.details["bitmap"]["page_writes"] > 0


def test_runs_are_the_same_to_the_bit_however_many_workers_share_them():
    once = without_time(records(processors=1))
    assert once == without_time(records(processors=1))
    assert once == without_time(records(processors=4))
    assert len({record.phases[0].elapsed_s for record in once}) > 1


def test_without_a_file_system_the_same_load_runs_on_the_device():
    made = records(EVERYTHING.replace('filesystem = "ext4", ', ""))
    for record in made:
        readers, writers = phases(record)
        assert readers.ios > 0
        assert writers.ios == pytest.approx(2 * 40 * 3, abs=3)


def test_a_rebuild_runs_below_files_and_slows_them():
    usual = records()
    rebuilt = records(EVERYTHING.replace("missing = 1", "missing = 1, resync_kib_s = 20000"))
    for record, slower in zip(usual, rebuilt, strict=True):
        assert slower.phases[0].details["resync"]["bytes"] > 0
        assert slower.phases[0].bytes < record.phases[0].bytes


def test_depth_means_nothing_behind_the_page_cache_and_that_is_said():
    with pytest.raises(UsageError, match="through the page cache, whose calls wait one by one"):
        records(EVERYTHING.replace("threads = 4\n", "threads = 4\niodepth = 2\n"))
