"""A block device made of plain files, and a kernel that behaves like Linux when they are written."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from seekwise.control import sysfs
from seekwise.control.journal import Journal

SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
TUNABLES = {
    "none": {},
    "mq-deadline": {"read_expire": "500", "fifo_batch": "16", "async_depth": "256"},
    "kyber": {"read_lat_nsec": "2000000"},
    "bfq": {"slice_idle": "8", "slice_idle_us": "8000", "low_latency": "1"},
}


class FakeKernel:
    """Ties values together as Linux does; `refuse` and `alter` make it refuse or silently change a value."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.refuse: dict[str, int] = {}
        self.alter: dict[str, str] = {}
        self.written: list[tuple[str, str]] = []
        self.before_write = None
        self.real_write = sysfs.write

    def add_disk(self, name: str, scheduler: str = "none", **files: str) -> Path:
        folder = self.root / "sys/block" / name
        (folder / "queue").mkdir(parents=True)
        files = {
            "queue/nr_requests": "128",
            "queue/read_ahead_kb": "128",
            "queue/wbt_lat_usec": "2000",
            "queue/nomerges": "0",
            "queue/rq_affinity": "1",
            "queue/write_cache": "write back",
            **files,
        }
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text + "\n")
        self._switch(folder, scheduler)
        return folder

    def write(self, path: Path, value: str) -> None:
        folder = next(parent for parent in path.parents if parent.parent == self.root / "sys/block")
        name = str(path.relative_to(folder))
        if self.before_write:
            self.before_write(name, value)
        self.written.append((name, value))
        if name in self.refuse:
            raise OSError(self.refuse[name], os.strerror(self.refuse[name]))
        value = self.alter.get(name, value)
        if name == "queue/scheduler":
            if value not in SCHEDULERS:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            if f"[{value}]" not in path.read_text():
                self._switch(folder, value)
            return
        self.real_write(path, value)
        if name == "queue/nr_requests" and (folder / "queue/iosched/async_depth").exists():
            self.real_write(folder / "queue/iosched/async_depth", value)
        if name == "queue/iosched/slice_idle":
            self.real_write(folder / "queue/iosched/slice_idle_us", str(int(value) * 1000))
        if name == "queue/iosched/slice_idle_us":
            self.real_write(folder / "queue/iosched/slice_idle", str(int(value) // 1000))
        if name.endswith("cache_type"):
            self.real_write(folder / "queue/write_cache", value)
        if name.endswith("cache_type") or name in ("queue/write_cache", "queue/max_sectors_kb", "queue/add_random"):
            # Seen on 6.18: a change of the queue's limits or features sets read-ahead to its default.
            self.real_write(folder / "queue/read_ahead_kb", "128")
        if name == "queue/wbt_lat_usec" and value == "-1":
            self.real_write(path, "75000")

    def _switch(self, folder: Path, scheduler: str) -> None:
        listed = " ".join(f"[{name}]" if name == scheduler else name for name in SCHEDULERS)
        (folder / "queue/scheduler").write_text(listed + "\n")
        (folder / "queue/nr_requests").write_text("128\n" if scheduler == "none" else "256\n")
        if scheduler == "bfq":
            (folder / "queue/wbt_lat_usec").write_text("0\n")
        tunables = folder / "queue/iosched"
        for old in tunables.glob("*"):
            old.unlink()
        if TUNABLES[scheduler]:
            tunables.mkdir(exist_ok=True)
            for name, text in TUNABLES[scheduler].items():
                (tunables / name).write_text(text + "\n")


@pytest.fixture
def kernel(tmp_path, monkeypatch) -> FakeKernel:
    fake = FakeKernel(tmp_path / "root")
    monkeypatch.setattr(sysfs, "write", fake.write)
    return fake


@pytest.fixture
def journal(tmp_path) -> Journal:
    return Journal(tmp_path / "state")


def tree(folder: Path) -> dict[str, str]:
    """Every file under a folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def memory():
    """A folder in memory that others may enter: a thousand tries would wait for a disk otherwise."""
    folder = Path(tempfile.mkdtemp(prefix="seekwise-test-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: switches settings of real loop devices")


@pytest.fixture
def loop(tmp_path):
    """Name of a loop device of our own on a 64 MiB file; its settings are as found afterwards."""
    from seekwise.control.settings import read_settings

    backing = tmp_path / "backing.img"
    backing.touch()
    os.truncate(backing, 64 << 20)
    done = subprocess.run(["losetup", "--find", "--show", str(backing)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no loop device to be had: {done.stderr.strip()}")
    node = done.stdout.strip()
    name = node.removeprefix("/dev/")
    before = read_settings(name)
    yield name
    after = read_settings(name)
    subprocess.run(["losetup", "--detach", node], check=True)
    assert after == before
