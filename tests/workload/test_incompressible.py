"""Data sets of uses keep their size on file systems that compress, so that a use moves what it states."""

from __future__ import annotations

import shutil
import subprocess
import time
import zlib
from pathlib import Path

import pytest

from seekwise.workload.data import DATA_SETS, MIB, files_in
from seekwise.workload.program import DataBudget

TEXT = {
    "source": "an archive of source code: a user's compresses as well, and unpacking it is what the use does",
    "text": "lines for sort: text compresses at a user's as well",
    "python": "a tree of Python modules: as above",
    "postgresql": "pgbench's own tables, whose filler is blank",
    "mariadb": "built by the server itself; its rows are text",
}
"""Data sets that are text by their nature, and why."""
LARGEST_SHARE = 0.05
RECORD_BYTES = 128 << 10
"""What ZFS and btrfs compress at a time (recordsize; fs/btrfs/compression.h, BTRFS_MAX_UNCOMPRESSED)."""


def by_zlib(path: Path) -> int:
    data = path.read_bytes()
    return sum(
        min(len(zlib.compress(data[at : at + RECORD_BYTES], 3)), len(data[at : at + RECORD_BYTES]))
        for at in range(0, len(data), RECORD_BYTES)
    )


def by_lz4(path: Path) -> int:
    return len(subprocess.run(["lz4", "-1", "-c", "-q", path], capture_output=True, check=True).stdout)


@pytest.mark.parametrize("name", [name for name in DATA_SETS if name not in TEXT])
@pytest.mark.parametrize(
    "size",
    [by_zlib, pytest.param(by_lz4, marks=pytest.mark.skipif(not shutil.which("lz4"), reason="needs lz4"))],
)
def test_a_data_set_keeps_its_size(name, size, tmp_path):
    DATA_SETS[name].build(tmp_path, DataBudget(16 * MIB, time.monotonic() + 5))
    files = files_in([tmp_path])
    whole, compressed = (sum(of(path) for path in files) for of in (lambda path: path.stat().st_size, size))
    assert compressed > (1 - LARGEST_SHARE) * whole, f"{name}: {compressed / whole:.3f} of its size"


def test_every_data_set_is_held_or_has_its_reason():
    assert set(TEXT) <= set(DATA_SETS)
