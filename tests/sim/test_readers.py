"""Several sequential readers through the page cache on one hard disk, by read-ahead.

Published: the change of the default in Linux 6.17 (commit 459779d04ae8), one SATA disk, XFS, large files taken at random, eight readers. In reads of 128 KiB
57 MB/s with 128 KiB of read-ahead and 165 with 2560; in reads of 1 MiB 122 and 167. The disk is not named: files of 2 TB spread the readers over ours.
"""

from __future__ import annotations

import pytest

from .studies import carried_out, study

DISK = {"drive": "exos_x18", "kernel": "6.12"}
SEQUENTIAL = {"operations": ["seq_read"], "direct": False, "memory_limit": "4g", "runtime": "20s", "end_fsync": False}


def throughputs(filesystem: str, windows: list[int], kernel: str = "6.12", **load: object) -> list[float]:
    """MB/s by read-ahead in KiB; without any, of the kernel's default."""
    settings = {"scheduler": ["mq-deadline"], **({"read_ahead_kb": windows} if windows else {})}
    system = {**DISK, "kernel": kernel, "options": {"filesystem": filesystem}}
    made = carried_out(study(system, {**SEQUENTIAL, "threads": 8, **load}, settings))
    found = {each.factors.get("read_ahead_kb"): each.phases[0].rate_bytes_per_s / 1e6 for each in made}
    return [found[each] for each in windows] if windows else list(found.values())


@pytest.mark.parametrize("filesystem", ["xfs", "ext4"])
def test_eight_readers_gain_by_longer_windows(filesystem):
    short, middle, long, longest = throughputs(filesystem, [128, 512, 2560, 8192], block_bytes="128k", size="8g")
    assert short < 0.5 * middle < 0.5 * long
    assert longest > 0.95 * long


@pytest.mark.parametrize(("block", "published"), [("128k", (57, 165)), ("1m", (122, 167))])
def test_what_was_published_lies_between_files_near_and_far(block, published):
    """Where the files lay is not said: over a fifth of this disk, and over all of it."""
    near, far = (throughputs("xfs", [128, 2560], block_bytes=block, size=size) for size in ("500g", "2000g"))
    for measured, faster, slower in zip(published, near, far, strict=True):
        assert slower < 1.05 * measured and faster > 0.95 * measured
        assert slower == pytest.approx(measured, rel=0.25)


def test_32_readers_lose_nothing_by_the_longest_window_but_what_the_end_of_the_run_leaves_in_memory():
    seconds, readers, windows = 60, 32, 2
    # A reader that has just begun its window has the next one asked for; both are of 16 MiB, since fio's announcement doubles them.
    left = readers * windows * 16 * 2**20 / 1e6 / seconds
    load = {"block_bytes": "128k", "size": "8g", "threads": readers, "runtime": f"{seconds}s"}
    long, longest = throughputs("xfs", [2560, 8192], **load)
    assert longest + left > 0.95 * long


def test_the_default_of_6_17_is_the_longest_window():
    old, new = (throughputs("xfs", [], kernel, block_bytes="128k", size="8g")[0] for kernel in ("6.16", "6.17"))
    assert new > 3 * old
    assert throughputs("xfs", [8192], "6.17", block_bytes="128k", size="8g")[0] == pytest.approx(new, rel=0.01)


def test_one_reader_needs_none_of_it():
    short, long = throughputs("xfs", [128, 8192], block_bytes="128k", size="8g", threads=1)
    assert short == pytest.approx(long, rel=0.05)


def test_writing_on_xfs_is_refused():
    system = {**DISK, "options": {"filesystem": "xfs"}}
    load = {**SEQUENTIAL, "operations": ["seq_write"], "threads": 1, "block_bytes": "128k", "size": "1g"}
    (record,) = carried_out(study(system, load, {"scheduler": ["mq-deadline"]}))
    assert "writing on xfs is not modelled" in str(record.conditions["not_modelled"])
