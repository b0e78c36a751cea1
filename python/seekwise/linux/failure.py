"""Storage that fails while it is used: a device that goes away, shrinks or gives errors, a file system that is
unmounted, read-only or full."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seekwise import files, temporary
from seekwise.errors import FULL, SeekwiseError, StorageError, UsageError, reason

BLOCK_CLASS = Path("/sys/class/block")
BY_NUMBER = Path("/sys/dev/block")
BY_UUID = Path("/dev/disk/by-uuid")
SECTOR_BYTES = 512
"""The unit of `size` in sysfs, whatever the drive's sectors are (Linux v6.12 Documentation/ABI/stable/sysfs-block)."""
ANSWER_S = 5.0
"""A drive that takes longer is said to be stuck, not failed."""
IO_ERRORS = ("Input/output error", "Read-only file system", "disk I/O error", "Structure needs cleaning")
"""Errors of storage as glibc and SQLite word them, in what programs print."""


@dataclass(frozen=True)
class Watched:
    """Storage as a run found it. `path`: what the user named; `names`: the devices below it, the upper ones first."""

    path: Path
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    sequences: tuple[str, ...]
    st_dev: int | None
    """Of the folder; None for a device itself."""
    errors: int

    def failure(self) -> str | None:
        """What is wrong with it now, as a clause; None where it is as it was, as far as the kernel says."""
        for name, size, sequence in zip(self.names, self.sizes, self.sequences, strict=True):
            folder = BLOCK_CLASS / name
            now = _size_bytes(folder)
            if now == 0 or _sequence(folder) != sequence or _word(folder / "device/state") == "offline":
                return f"{name} is gone"
            if now < size:
                return f"{name} shrank from {size:,} to {now:,} bytes"
        return self._of_folder() if self.st_dev is not None else None

    def _of_folder(self) -> str | None:
        try:
            status, room = os.stat(self.path), os.statvfs(self.path)
        except FileNotFoundError:
            return "the folder is gone"
        except OSError as error:
            return f"its file system fails ({reason(error)})"
        if status.st_dev != self.st_dev:
            return "its file system is not mounted there any more"
        if room.f_flag & os.ST_RDONLY:
            return "its file system has become read-only"
        if _ext4_errors(status.st_dev) > self.errors:
            return "its file system reports errors"
        return None

    def check(self, said: str | None = None) -> None:
        """Raises StorageError (exit status 1) where the storage fails. `said`: the words with which a load ended; then
        the drives are read, too."""
        reason = self.failure() or (None if said is None else self._of_load(said))
        if reason is not None:
            raise StorageError(f"the storage below {self.path} failed: {reason}", "`dmesg` shows what the kernel says")
        if said and (full := self._full(said)):
            raise StorageError(f"{FULL}: {full}", "make room there")

    def _of_load(self, said: str) -> str | None:
        """What a load met that ended with these words; where they tell nothing, whether the drives can be read."""
        words = next((text for text in IO_ERRORS if text in said), None)
        return words or next((f"{name} cannot be read" for name in self.names if not _can_be_read(name)), None)

    def _full(self, said: str) -> Path | None:
        """The folder without room: the storage's, or the one in memory in which loads write their logs."""
        places = [*([self.path] if self.st_dev is not None else []), temporary.SHARED_MEMORY]
        # A quoted command and its words say something about some disk.
        own = re.sub("`[^`]*`", "", said)
        return next(filter(files.is_full, places), self.path if FULL in own else None)

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """Inside, whatever fails because the storage does ends in one StorageError, also where clearing up fails after
        it."""
        try:
            yield
        except (StorageError, UsageError):
            raise
        except (SeekwiseError, OSError) as error:
            first: BaseException | None = error
            while first is not None and not isinstance(first, StorageError):
                first = first.__context__
            if first is not None:
                raise first from error
            self.check(error.message if isinstance(error, SeekwiseError) else reason(error))
            raise


def _can_be_read(name: str) -> bool:
    """Whether a drive gives its first block; True where that is not known.

    In a child process, which is left alone when the drive does not answer: a process that waits for a request cannot be
    killed.
    """
    command = ["dd", f"if=/dev/{name}", "of=/dev/null", "bs=4096", "count=1", "iflag=direct"]
    environment = {"PATH": os.defpath, "LC_ALL": "C"}
    try:
        done = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, start_new_session=True)
        return IO_ERRORS[0].encode() not in done.communicate(timeout=ANSWER_S)[1]
    except subprocess.TimeoutExpired:
        done.kill()
    except OSError:
        pass
    return True


def watched(path: Path, names: Sequence[str], *, is_device: bool) -> Watched:
    """The storage below `path` as it is now. `names`: of the devices, the upper ones first."""
    folders = [BLOCK_CLASS / name for name in names]
    st_dev = None if is_device else os.stat(path).st_dev
    return Watched(
        path,
        tuple(names),
        tuple(map(_size_bytes, folders)),
        tuple(map(_sequence, folders)),
        st_dev,
        0 if st_dev is None else _ext4_errors(st_dev),
    )


def identity(st_dev: int) -> dict[str, str]:
    """What tells later whether the device of a file system is still there: its number, its sequence number, its file
    system's UUID."""
    folder = BY_NUMBER / _number(st_dev)
    facts = {"number": _number(st_dev), "sequence": _sequence(folder)}
    with contextlib.suppress(OSError):
        name = folder.resolve().name
        facts["uuid"] = next((link.name for link in BY_UUID.iterdir() if link.resolve().name == name), "")
    return facts


def is_gone(known: dict[str, str], *, same_boot: bool) -> bool:
    """Whether the device with this `identity` is there no more. False where that cannot be told."""
    if same_boot:
        folder = BY_NUMBER / known.get("number", "")
        if not known.get("sequence"):
            return False
        return _size_bytes(folder) == 0 or _sequence(folder) != known["sequence"]
    return bool(known.get("uuid")) and BY_UUID.is_dir() and not (BY_UUID / known["uuid"]).exists()


def _number(st_dev: int) -> str:
    return f"{os.major(st_dev)}:{os.minor(st_dev)}"


def _size_bytes(folder: Path) -> int:
    text = _word(folder / "size")
    return int(text) * SECTOR_BYTES if text.isdecimal() else 0


def _sequence(folder: Path) -> str:
    """Counts up with each device and each medium since the start (Linux 5.15, `diskseq`); of a partition, its
    disk's."""
    return _word(folder / "diskseq") or _word(folder / "../diskseq")


def _ext4_errors(st_dev: int) -> int:
    try:
        name = (BY_NUMBER / _number(st_dev)).resolve().name
    except OSError:
        return 0
    text = _word(Path("/sys/fs/ext4") / name / "errors_count")
    return int(text) if text.isdecimal() else 0


def _word(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
