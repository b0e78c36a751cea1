"""The block tracepoints, switched on for some devices in a tracing instance of our own.

An instance has its own buffers and events: what others trace is not touched, and removing it undoes everything. New
events are dropped when its buffers are full, never old ones, and the kernel counts them. Source:
Documentation/trace/ftrace.rst of Linux 6.1.

Where tracefs is not mounted, it is mounted in a folder of our own for as long as an instance of ours lives. Users of
that mount share a lock, and who gets it alone takes it down: the last one, or the next command after a kill.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seekwise import files, invocation
from seekwise.control import notice, process, state
from seekwise.errors import MissingError, SeekwiseError

ROOTS = state.TRACEFS
OWN = state.OWN_TRACEFS
"""Where we mount it."""
MOUNT_FLAGS = 0x2 | 0x4 | 0x8
"""MS_NOSUID, MS_NODEV, MS_NOEXEC (include/uapi/linux/mount.h)."""
PROBE = Path("events/block/block_rq_complete")
EVENTS = (
    "block_bio_queue",
    "block_bio_backmerge",
    "block_bio_frontmerge",
    "block_split",
    "block_rq_insert",
    "block_rq_issue",
    "block_rq_requeue",
    "block_rq_complete",
)
BIO_EVENTS = ("block_bio_queue", "block_bio_complete")
"""Of a device without requests of its own (md, dm): its bios are all there is."""
CLOCK = "mono"
BUFFER_KIB_PER_CPU = 4096
FILTER_DEVICES_MAX = 60
BUSY_S = 2.0
NO_EVENTS = ("this kernel offers no block trace events", "it was built without CONFIG_BLK_DEV_IO_TRACE")


def root() -> Path:
    """The tracefs that is mounted on this machine. Raises MissingError."""
    for path in ROOTS:
        with contextlib.suppress(OSError):
            if (path / PROBE).is_dir():
                return path
    if os.geteuid() != 0:
        raise MissingError("recording needs root: only root may read the kernel's trace events", invocation.with_sudo())
    if not any((path / "events").is_dir() for path in ROOTS):
        raise MissingError("the kernel's trace events are not mounted", "mount -t tracefs nodev /sys/kernel/tracing")
    raise MissingError(*NO_EVENTS)


@contextlib.contextmanager
def mounted() -> Iterator[Path]:
    """The tracefs of this machine, mounted for the time of the block where it is not mounted yet. Raises
    MissingError."""
    if os.geteuid() != 0 or any((path / "events").is_dir() for path in ROOTS):
        yield root()
        return
    lock = _mount()
    try:
        if not (OWN / PROBE).is_dir():
            raise MissingError(*NO_EVENTS)
        yield OWN
    finally:
        _let_go(lock)


def _mount() -> int:
    """The descriptor whose shared lock keeps our mount."""
    try:
        files.make_private(OWN)
        lock = os.open(OWN.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise MissingError(
            f"{error.filename} cannot be made to mount the kernel's trace events ({error.strerror})"
        ) from None
    while True:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if os.path.ismount(OWN):
            return lock
        if files.try_lock(lock, fcntl.LOCK_EX) is False:
            fcntl.flock(lock, fcntl.LOCK_UN)  # another one is about to mount it
            time.sleep(0.01)
            continue
        if ctypes.CDLL(None, use_errno=True).mount(b"nodev", os.fsencode(OWN), b"tracefs", MOUNT_FLAGS, None) != 0:
            why = os.strerror(ctypes.get_errno())
            os.close(lock)
            raise MissingError(
                f"the kernel's trace events are not mounted, and to mount them was refused ({why})",
                "a container needs CAP_SYS_ADMIN, or the host's /sys/kernel/tracing; a kernel CONFIG_TRACING",
            )


def _let_go(lock: int) -> None:
    """Unmounts, unless somebody else uses it: then the last one does, or the next command."""
    try:
        if files.try_lock(lock, fcntl.LOCK_EX) and os.path.ismount(OWN):
            ctypes.CDLL(None).umount2(os.fsencode(OWN), 0)
    finally:
        os.close(lock)


@dataclass(frozen=True)
class Instance:
    """Our own buffers and events."""

    path: Path
    events: tuple[str, ...] = EVENTS

    def cpus(self) -> list[Path]:
        """Folders `per_cpu/cpuN`, by number, with one ring buffer each."""
        return sorted((self.path / "per_cpu").glob("cpu*"), key=lambda path: int(path.name[3:]))

    def formats(self) -> dict[str, str]:
        """The text that describes each event's fields."""
        folder = self.path / "events" / "block"
        return {event: (folder / event / "format").read_text() for event in self.events if (folder / event).is_dir()}

    def dropped(self) -> int:
        """Events for which there was no room, over all CPUs."""
        total = 0
        for cpu in self.cpus():
            text = (cpu / "stats").read_text()
            total += sum(int(n) for n in re.findall(r"^(?:overrun|dropped events): (\d+)", text, re.MULTILINE))
        return total

    def start(self) -> None:
        """Events of the selected devices enter the buffers from now on."""
        (self.path / "tracing_on").write_text("1")

    def stop(self) -> None:
        """What is in the buffers stays and can still be read."""
        (self.path / "tracing_on").write_text("0")


@contextlib.contextmanager
def instance(
    devices: list[tuple[int, int]],
    buffer_kib: int = BUFFER_KIB_PER_CPU,
    sector_mask: int = 0,
    events: tuple[str, ...] = EVENTS,
) -> Iterator[Instance]:
    """An instance that sees the block events of these devices; gone afterwards. It does not run before `start`.

    `sector_mask`: only events whose sector has none of these bits.
    """
    with empty_instance(events, buffer_kib) as instance_of_ours:
        wanted = " || ".join(f"dev == {major << 20 | minor}" for major, minor in devices[:FILTER_DEVICES_MAX])
        if sector_mask:
            wanted = f"({wanted}) && !(sector & {sector_mask})"
        for event in instance_of_ours.formats():
            folder = instance_of_ours.path / "events" / "block" / event
            if len(devices) <= FILTER_DEVICES_MAX:
                (folder / "filter").write_text(wanted)
            (folder / "enable").write_text("1")
        yield instance_of_ours


@contextlib.contextmanager
def empty_instance(events: tuple[str, ...], buffer_kib: int) -> Iterator[Instance]:
    """An instance of our own in which nothing is switched on yet; gone afterwards."""
    me = process.this_process()
    remove_left_behind()
    with mounted() as root_:
        path = root_ / "instances" / f"seekwise-{me.pid}-{me.start_ticks}"
        try:
            path.mkdir()
            # To processes of another PID namespace, whose pids are others, only the lock tells that we live.
            lock = files.open_folder(path)
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            raise SeekwiseError(f"the kernel gives no tracing instance: {error.strerror}") from None
        own = Instance(path, events)
        try:
            own.stop()
            (path / "options" / "overwrite").write_text("0")
            (path / "trace_clock").write_text(CLOCK)
            (path / "buffer_size_kb").write_text(str(buffer_kib))
            yield own
        except OSError as error:
            raise SeekwiseError(f"{error.filename}: the kernel refused: {error.strerror}") from None
        finally:
            _remove(path)
            os.close(lock)


def remove_left_behind() -> None:
    """Removes instances of runs that were killed, and with them their buffers; then our own mount, if no other process uses
    it."""
    for root_ in (*ROOTS, OWN):
        for path in (root_ / "instances").glob("seekwise-*"):
            if re.fullmatch(r"seekwise-\d+-\d+", path.name) and not _is_alive(path):
                _remove(path)
    if os.path.ismount(OWN):
        with contextlib.suppress(OSError):
            _let_go(os.open(OWN.with_suffix(".lock"), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC))


def _is_alive(path: Path) -> bool:
    """Whether the process that made an instance still runs, here or in another PID namespace."""
    pid, start = map(int, path.name.split("-")[1:])
    if process.ProcessIdentity(pid, start, process.boot_id()).alive:
        return True
    with contextlib.suppress(OSError):
        lock = files.open_folder(path)
        is_locked = files.try_lock(lock, fcntl.LOCK_EX) is False
        os.close(lock)
        return is_locked
    return False


def _remove(path: Path) -> None:
    """Ends all events of an instance and removes it; one that is still being read from is busy for a moment, and where
    that lasts, it costs nothing more and is said."""
    with contextlib.suppress(OSError):
        (path / "events" / "enable").write_text("0")
    until = time.monotonic() + BUSY_S
    while True:
        try:
            path.rmdir()
            return
        except OSError as error:
            if error.errno != errno.EBUSY:
                return
        if time.monotonic() > until:
            notice.warn(f"note: another program still reads {path}: a later command removes it once that has ended")
            return
        time.sleep(0.05)
