"""A memory limit on a buffered load, so that the page cache cannot answer for the storage.

A control group gives one job as little memory as a machine may have (`mem=256M`): page cache that the job fills is
charged to it and reclaimed at the limit. Version 2 (memory.max) is used where the memory controller is there, else
version 1 (memory.limit_in_bytes).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from seekwise.control.process import ProcessIdentity, boot_id, this_process
from seekwise.errors import MissingError, SeekwiseError, UsageError

PREFIX = "seekwise-"
# fio's own pools and threads take some 30 MiB; below this it would be killed rather than limited.

LIMIT_LEAST = 64 * 2**20


@dataclass(frozen=True)
class MemoryGroup:
    folder: Path
    version: int
    limit_bytes: int

    @property
    def processes_file(self) -> Path:
        """A program that writes itself in here before it starts is limited."""
        return self.folder / "cgroup.procs"

    @property
    def peak_bytes(self) -> int | None:
        """Most memory that was charged at once: never above the limit, which is the proof that it held."""
        for name in ("memory.peak", "memory.max_usage_in_bytes"):
            try:
                return int((self.folder / name).read_text())
            except (OSError, ValueError):
                continue
        return None


def controller(root: Path = Path("/")) -> tuple[Path, int] | None:
    """Folder of the memory controller's hierarchy and its version."""
    for folder in (root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"):
        try:
            if "memory" in (folder / "cgroup.controllers").read_text().split():
                return folder, 2
        except OSError:
            continue
    folder = root / "sys/fs/cgroup/memory"
    return (folder, 1) if (folder / "memory.limit_in_bytes").exists() else None


@contextmanager
def limited(limit_bytes: int) -> Iterator[MemoryGroup]:
    """A group with this limit, removed at the end."""
    if limit_bytes < LIMIT_LEAST:
        raise UsageError(f"a memory limit of {limit_bytes} bytes is too small for fio", hint="64m is the least")
    hierarchy = controller()
    if hierarchy is None:
        raise MissingError("this kernel offers no memory control groups", hint="use `direct = true` in the workload")
    folder, version = hierarchy
    me = this_process()
    group = folder / f"{PREFIX}{me.pid}-{me.start_ticks}"
    try:
        group.mkdir(exist_ok=True)
        if version == 2:
            _enable(folder)
            (group / "memory.max").write_text(str(limit_bytes))
        else:
            (group / "memory.limit_in_bytes").write_text(str(limit_bytes))
    except OSError as error:
        _remove(group)
        if isinstance(error, PermissionError) or error.errno == 30:
            raise MissingError(
                "limiting the memory of a buffered load needs root", hint="use sudo, or `direct = true` in the workload"
            ) from error
        raise SeekwiseError(f"cannot limit memory through {group}: {error.strerror}") from error
    try:
        yield MemoryGroup(group, version, limit_bytes)
    finally:
        _remove(group)


def remove_left_behind(root: Path = Path("/")) -> None:
    """Removes groups of runs that were killed; those of runs that live stay, also while they are empty."""
    hierarchy = controller(root)
    for group in hierarchy[0].glob(f"{PREFIX}*") if hierarchy else ():
        numbers = group.name.removeprefix(PREFIX).split("-")
        if len(numbers) == 2 and all(number.isdigit() for number in numbers):
            owner = ProcessIdentity(int(numbers[0]), int(numbers[1]), boot_id())
            if not owner.alive:
                with suppress(OSError):
                    group.rmdir()


def _enable(folder: Path) -> None:
    control = folder / "cgroup.subtree_control"
    if "memory" not in control.read_text().split():
        control.write_text("+memory")


def _remove(group: Path) -> None:
    # The last process of a group leaves it a moment after it was waited for.
    for _ in range(50):
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)


def drop_caches() -> bool:
    """Writes back and forgets what the kernel has cached; False without the right to (the caller says so)."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        return False
    return True
