"""A block device made of plain files, and a kernel that behaves like Linux when they are written."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from processes import wait_for_those_of
from seekwise.control import sysfs
from seekwise.control.journal import Journal

REAL_WRITE = sysfs.write
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
TUNABLES = {
    "none": {},
    "mq-deadline": {"read_expire": "500", "fifo_batch": "16", "async_depth": "256"},
    "kyber": {"read_lat_nsec": "2000000"},
    "bfq": {"slice_idle": "8", "slice_idle_us": "8000", "low_latency": "1"},
}


class FakeKernel:
    """Ties values together as Linux does, also those that no file shows; `refuse` and `alter` make it refuse or silently change a value."""

    def __init__(self, root: Path, release: str = "6.18.44") -> None:
        self.root = root
        self.version = tuple(map(int, release.split(".")))
        (root / "proc/sys/kernel").mkdir(parents=True)
        (root / "proc/sys/kernel/osrelease").write_text(f"{release}\n")
        self.busy = 0
        """So many writes answer EBUSY (since 6.19.7, where another write of the host adapter goes on)."""
        self.failing_switches = 0
        """So many switches fail for want of memory, and leave `none`."""
        self.broken: list[str] = []
        """What would have stopped or corrupted the kernel."""
        self.refuse: dict[str, int] = {}
        self.alter: dict[str, str] = {}
        self.written: list[tuple[str, str]] = []
        self.before_write = None
        self.tags: dict[str, int] = {}
        """The driver's tags in use by device: what no file shows but debugfs."""
        self.user_limit: dict[str, bool] = {}
        self.throttled_by_hand: dict[str, bool] = {}
        """Whether wbt_lat_usec was written: leaving bfq starts throttling only where it was not."""
        self.real_write = REAL_WRITE

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
            "mq/0/nr_tags": "128",
            **files,
        }
        self.tags[name], self.user_limit[name], self.throttled_by_hand[name] = 128, False, False
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
        if self.busy and self.version >= (6, 19, 7) and name in ("queue/scheduler", "queue/nr_requests"):
            self.busy -= 1
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        if name == "queue/scheduler":
            if value not in SCHEDULERS:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            if value == "none" and (6, 11) <= self.version < (6, 11, 3):
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
            if f"[{value}]" not in path.read_text():
                if "[bfq]" in path.read_text() and not self.throttled_by_hand[folder.name]:
                    self.real_write(folder / "queue/wbt_lat_usec", "2000")
                    self.broken += ["W1"] if (6, 16) <= self.version < (6, 18, 3) else []
                if self.failing_switches:
                    self.failing_switches -= 1
                    self._switch(folder, "none")
                    raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
                self._switch(folder, value)
            return
        scheduled = "[none]" not in (folder / "queue/scheduler").read_text()
        if name == "queue/async_depth":
            if not scheduled or value == "0":
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            value = str(min(int(value), int((folder / "queue/nr_requests").read_text())))
        if name == "queue/nr_requests":
            self._bound(folder, value)
        if name == "queue/max_sectors_kb":
            self.user_limit[folder.name] = value != "0"
            value = "1280" if value == "0" else value
        before = sysfs.read(path) or ""
        self.real_write(path, value)
        if name == "queue/nr_requests" and (folder / "queue/iosched/async_depth").exists():
            follows = before if (5, 16) <= self.version < (6, 18) else value
            self.real_write(folder / "queue/iosched/async_depth", follows)
        if name == "queue/nr_requests" and (folder / "queue/async_depth").exists():
            depth = int((folder / "queue/async_depth").read_text()) * int(value) // int(before)
            self.real_write(folder / "queue/async_depth", str(max(1, depth)))
        if name == "queue/iosched/slice_idle":
            self.real_write(folder / "queue/iosched/slice_idle_us", str(int(value) * 1000))
        if name == "queue/iosched/slice_idle_us":
            self.real_write(folder / "queue/iosched/slice_idle", str(int(value) // 1000))
        if name.endswith("cache_type"):
            self.real_write(folder / "queue/write_cache", value)
        if name.endswith("cache_type") or name in ("queue/write_cache", "queue/max_sectors_kb", "queue/add_random"):
            # Seen on 6.18: a change of the queue's limits or features sets read-ahead to its default.
            self.real_write(folder / "queue/read_ahead_kb", "128")
        if name == "queue/wbt_lat_usec":
            self.throttled_by_hand[folder.name] = True
            self.real_write(path, "75000" if value == "-1" else value)

    def _bound(self, folder: Path, value: str) -> None:
        """Linux v6.18 block/blk-sysfs.c queue_requests_store: the number shown is not written again, and under `none` it
        is the depth of the driver's tags."""
        if (
            value != (folder / "queue/nr_requests").read_text().strip()
            and "[none]" in (folder / "queue/scheduler").read_text()
        ):
            if int(value) > int((folder / "mq/0/nr_tags").read_text()):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            self.tags[folder.name] = int(value)
        elif int(value) > 256 and ((6, 16, 4) <= self.version < (6, 16, 11) or self.version == (6, 17, 0)):
            self.broken.append("N1")

    def _switch(self, folder: Path, scheduler: str) -> None:
        listed = " ".join(f"[{name}]" if name == scheduler else name for name in SCHEDULERS)
        (folder / "queue/scheduler").write_text(listed + "\n")
        (folder / "queue/nr_requests").write_text("128\n" if scheduler == "none" else "256\n")
        if scheduler == "bfq":
            (folder / "queue/wbt_lat_usec").write_text("0\n")
        depth = folder / "queue/async_depth"
        if self.version >= (7, 0):
            depth.write_text({"none": "128\n", "mq-deadline": "256\n"}.get(scheduler, "192\n"))
        tunables = folder / "queue/iosched"
        for old in tunables.glob("*"):
            old.unlink()
        if TUNABLES[scheduler]:
            tunables.mkdir(exist_ok=True)
            for name, text in TUNABLES[scheduler].items():
                if name == "async_depth" and depth.exists():
                    continue
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
    wait_for_those_of(tmp_path)
    after = read_settings(name)
    subprocess.run(["losetup", "--detach", node], check=True)
    assert after == before
