"""What is known to go wrong in Linux when settings are written: `kernel_faults.toml`, asked before every write.

A row holds for releases of kernel.org. Where a distribution's number does not say what its kernel is made from, only
rows of every kernel hold, and `doctor` says that nothing more is known.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import os
import stat
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from seekwise.control import attributes, emptiness, notice, sysfs
from seekwise.control.state import state_folder
from seekwise.errors import RefusedError, SeekwiseError, UsageError
from seekwise.linux import kernel_base
from seekwise.linux.kernel_base import KernelBase
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack

WAIT_S = 5.0
"""So long a passing state is waited for: memory that is short, a controller that resets."""

STUCK_S = 10.0
"""A drive with requests in flight that ends none of them for so long does not answer; one that wakes up may need it."""

accepted: set[str] = set()
"""Rows that the user overrides by name (`--accept-kernel-fault`); the journal keeps them."""


@dataclass(frozen=True)
class Fault:
    """A row of the table."""

    id: str
    instead: str
    text: str
    source: str
    writes: tuple[str, ...]
    when: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    hint: str = ""

    def is_in(self, base: KernelBase) -> bool:
        """Whether this kernel has it, as far as its number says."""
        if not self.since:
            return True
        return (
            base.version is not None
            and _reached(base.version, self.since)
            and not _reached(base.version, self.repaired)
        )

    def is_met(self, write: Write) -> bool:
        """Whether it is about this write."""
        named = any(fnmatch.fnmatchcase(write.name, pattern) for pattern in self.writes)
        return named and all(CONDITIONS[condition](write) for condition in self.when)

    def sentence(self, base: KernelBase) -> str:
        """`Linux 6.16.7 frees memory twice …: 6.16.11 and 6.17.1 are repaired`."""
        if not self.since:
            return f"Linux {self.text}"
        repaired = self.repaired and base.version is not None and _next_repaired(base.version, self.repaired)
        said = f": {' and '.join(repaired)} {'is' if len(repaired) == 1 else 'are'} repaired" if repaired else ""
        return f"Linux {base.name} {self.text}{said}"


@dataclass(frozen=True)
class Write:
    """A value that is to be written. `wanted`: all that is set together on the device."""

    folder: Path
    name: str
    value: str
    wanted: Mapping[str, str]

    @property
    def root(self) -> Path:
        """Of the machine's file tree."""
        return self.folder.parents[2]

    def now(self, name: str) -> str | None:
        """The value in force."""
        return attributes.current(name, self.folder)

    @property
    def scheduler(self) -> str:
        """Under which it takes effect."""
        return self.wanted.get(attributes.SCHEDULER) or self.now(attributes.SCHEDULER) or "none"

    @property
    def number(self) -> int:
        """The value; -1 where it is none."""
        return int(self.value) if self.value.isdecimal() else -1


def _raised(write: Write) -> bool:
    # A switch gives twice the driver's tags, of which 128 count (Linux v6.17 block/blk-mq-sched.c blk_mq_init_sched).
    tags = attributes.driver_tags(write.folder)
    return write.number > (2 * min(tags, 128) if tags is not None else int(write.now(write.name) or 0))


def _short_of_memory(write: Write) -> bool:
    words = (sysfs.read(write.root / "proc/pressure/memory") or "").partition("full ")[2].split()
    average = next((word.partition("=")[2] for word in words if word.startswith("avg10=")), "0")
    return float(average) > 0


def _needs_drive_to_free_memory(write: Write) -> bool:
    """Whether swap, or the journal, lies on this drive."""
    stack = read_stack(write.root)
    state = next(path for path in (state_folder(), *state_folder().parents) if path.exists())
    for place in [*stack.swaps, str(state)]:
        with contextlib.suppress(SeekwiseError):  # in memory, on the network
            if write.folder.name in {device.name for device in resolve_path(stack, place).chain()}:
                return True
    return False


def _does_not_answer(write: Write) -> bool:
    read = functools.partial(lambda name: sysfs.read(write.folder / name))
    name, works = write.folder.name, (None, "running", "live")
    if name.startswith("nbd") and (read("size") or "0") != "0" and read("pid") is None:
        return True
    if name.startswith("ublkb") and not _is_served(write.root, name.replace("ublkb", "ublkc")):
        return True
    if (read("dm/uuid") or "").startswith("mpath-") and not any(
        sysfs.read(path / "device/state") in works for path in (write.folder / "slaves").glob("*")
    ):
        return True
    return read("dm/suspended") == "1" or read("device/state") not in works or _is_stuck(write.folder)


def _is_served(root: Path, server: str) -> bool:
    """Whether a program has the character device of a ublk drive open, without which it answers nothing. Only root can
    see that."""
    number = sysfs.read(root / "sys/class/ublk-char" / server / "dev")
    return os.geteuid() != 0 or bool(
        emptiness.having_open_now(lambda each: stat.S_ISCHR(each.st_mode) and emptiness.number(each) == number)
    )


def _is_stuck(folder: Path) -> bool:
    """Whether requests are in flight and none of them ends (Linux Documentation/block/stat.rst)."""
    first, until = _in_flight_and_ended(folder), time.monotonic() + STUCK_S
    while first[0] and (now := _in_flight_and_ended(folder))[0] and now[1] == first[1]:
        if time.monotonic() >= until:
            return True
        time.sleep(0.01)
    return False


def _in_flight_and_ended(folder: Path) -> tuple[int, list[int]]:
    """Requests in flight; reads, writes, discards and flushes that have ended."""
    numbers = list(map(int, (sysfs.read(folder / "stat") or "").split()))
    return (numbers[8] if len(numbers) > 8 else 0), [*numbers[:5:4], *numbers[11::4]]


def _several_disks(write: Write) -> bool:
    """Other drives of the same SCSI host, or other namespaces of one NVMe controller."""
    place = (write.folder / "device").resolve()
    host = next((parent for parent in place.parents if parent.name.startswith("host")), None)
    if host is not None:
        return len(list(host.glob("target*/*/block/*"))) > 1
    return len(list(place.glob("nvme*n*"))) > 1


def _is_below(folder: Path, name: str, value: str) -> bool:
    """Whether an array above this drive, or above one of its partitions, shows this."""
    return sysfs.read(folder / name) == value or any(
        _is_below(holder, name, value) for place in ("holders/*", "*/holders/*") for holder in folder.glob(place)
    )


def _is_below_wbt_default(write: Write) -> bool:
    # Linux v6.12 block/blk-wbt.c wbt_default_latency_nsec: 75 ms for rotating drives, 2 ms for others; 0 is off.
    return 0 < write.number < (75_000 if sysfs.read(write.folder / "queue/rotational") == "1" else 2_000)


CONDITIONS: dict[str, Callable[[Write], bool]] = {
    "raised": _raised,
    "scheduled": lambda write: write.scheduler != "none",
    "unscheduled": lambda write: write.scheduler == "none",
    "several_disks": _several_disks,
    "short_of_memory": _short_of_memory,
    "needed_to_free_memory": _needs_drive_to_free_memory,
    "fewer_than_16": lambda write: 0 <= write.number < 16,
    "one": lambda write: write.number == 1,
    "leaves_bfq": lambda write: write.now(write.name) == "bfq" != write.value,
    "leaves_none": lambda write: write.now(write.name) == "none" != write.value,
    "to_bfq": lambda write: write.value == "bfq",
    "to_kyber": lambda write: write.value == "kyber",
    "under_bfq": lambda write: write.scheduler == "bfq",
    "several_queues": lambda write: len(list(write.folder.glob("mq/*"))) > 1,
    "not_throttling": lambda write: write.now(write.name) is None,
    "below_wbt_default": _is_below_wbt_default,
    "below_reshape": lambda write: _is_below(write.folder, "md/sync_action", "reshape"),
    "below_journal": lambda write: _is_below(write.folder, "md/consistency_policy", "journal"),
    "throttles": lambda write: write.number != 0,
    "nbd": lambda write: write.folder.name.startswith("nbd"),
    "to_other_than_deadline": lambda write: write.value not in ("mq-deadline", "deadline"),
    "does_not_answer": _does_not_answer,
    "controller_not_live": lambda write: (
        write.folder.name.startswith("nvme") and sysfs.read(write.folder / "device/state") not in (None, "live")
    ),
    "panics_on_warning": lambda write: sysfs.read(write.root / "proc/sys/kernel/panic_on_warn") == "1",
    "zoned": lambda write: sysfs.read(write.folder / "queue/zoned") == "host-managed",
    "scsi": lambda write: (write.folder / "device/scsi_disk").is_dir(),
    "multipath": lambda write: (sysfs.read(write.folder / "dm/uuid") or "").startswith("mpath-"),
    "resyncs": lambda write: sysfs.read(write.folder / "md/sync_action") not in (None, "idle"),
}

PASSING = {"short_of_memory", "does_not_answer", "controller_not_live"}
OF_THE_MOMENT = PASSING | {"needed_to_free_memory", "resyncs", "leaves_bfq", "leaves_none", "not_throttling"}
"""What a start changes: a file that sets a value then does not meet it by what is so now."""
ORDERS = {"two-steps", "throttling-off"}
"""How a value is written: nothing that anybody has to accept."""


@functools.cache
def table() -> tuple[Fault, ...]:
    """Every row."""
    text = (resources.files("seekwise.control") / "kernel_faults.toml").read_text()
    return tuple(_fault(row) for row in tomllib.loads(text)["fault"])


def _fault(row: dict[str, Any]) -> Fault:
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Fault(**fields)


def accept(names: Iterable[str]) -> None:
    """From now on these rows keep nothing from being written."""
    known = {fault.id for fault in table()}
    for name in names:
        if name not in known:
            raise UsageError(f"no kernel fault is called `{name}`", f"known: {', '.join(sorted(known))}")
        accepted.add(name)


def met(folder: Path, wanted: Mapping[str, str], *instead: str, at_start: bool = False) -> Iterator[tuple[Fault, str]]:
    """Rows that writing these values would meet, each with the sentence of this kernel. `at_start`: after the next
    start, whatever is in force now."""
    if folder.parts[-3:] == Path(sysfs.SYSTEM_FOLDER).parts:
        return
    base = kernel_base.read(folder.parents[2])
    rows = [
        fault
        for fault in table()
        if fault.instead in instead and (fault.id not in accepted or fault.instead in ORDERS) and fault.is_in(base)
        if not (at_start and OF_THE_MOMENT & {*fault.when})
    ]
    for name, value in wanted.items():
        is_so = attributes.same(name, value, attributes.current(name, folder))
        write = Write(folder, name, value, wanted)
        for fault in rows:
            if (at_start or not is_so) and fault.is_met(write):
                yield fault, fault.sentence(base)


def check(device: str, folder: Path, wanted: Mapping[str, str]) -> None:
    """RefusedError where this kernel is known to break on it; waits and warns where the table says so."""
    refuse(device, folder, wanted)
    for fault, sentence in met(folder, wanted, "wait", "warn", "leave-out"):
        _warn_once(f"warning: {device}: {sentence} ({fault.id})")


def refuse(device: str, folder: Path, wanted: Mapping[str, str], only: str = "*") -> None:
    """RefusedError where this kernel is known to break on it, once what may pass was waited for. `only`: pattern of
    rows."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and any(
        PASSING & {*fault.when} and fnmatch.fnmatchcase(fault.id, only)
        for fault, _ in met(folder, wanted, "wait", "refuse")
    ):
        time.sleep(0.1)
    _refuse(device, (row for row in met(folder, wanted, "refuse") if fnmatch.fnmatchcase(row[0].id, only)))


def refuse_at_start(device: str, folder: Path, wanted: Mapping[str, str]) -> None:
    """RefusedError where a file that sets these values at every start would break this kernel then."""
    _refuse(device, met(folder, wanted, "refuse", at_start=True))


def _refuse(device: str, rows: Iterable[tuple[Fault, str]]) -> None:
    for fault, sentence in rows:
        way = f"`--accept-kernel-fault {fault.id}` does it all the same"
        raise RefusedError(f"{device}: {sentence} ({fault.id})", f"{fault.hint}; {way}" if fault.hint else way)


@functools.cache
def _warn_once(sentence: str) -> None:
    notice.warn(sentence)


def asks_for(order: str, name: str, folder: Path, value: str) -> bool:
    """Whether this value is written so: in `two-steps`, with write-back throttling off (`throttling-off`)."""
    return any(True for _ in met(folder, {name: value}, order))


def forbids(name: str, folder: Path, value: str) -> str | None:
    """Why this value must not even be restored: the kernel would break, and a restart brings its own value."""
    rows = (sentence for fault, sentence in met(folder, {name: value}, "refuse") if fault.id == "N1")
    return next((f"{sentence}; a restart sets the kernel's own" for sentence in rows), None)


def _reached(version: tuple[int, ...], releases: Iterable[str]) -> bool:
    """Whether this version is one of the releases, or after it: of mainline always, of a stable release in its
    series."""
    for text in releases:
        release = tuple(map(int, text.split(".")))
        if version >= release and (len(release) == 2 or version[:2] == release[:2]):
            return True
    return False


def _next_repaired(version: tuple[int, ...], releases: Iterable[str]) -> list[str]:
    """Of this series and the next one that has the repair."""
    later = [text for text in releases if tuple(map(int, text.split("."))) > version]
    own = [text for text in later if tuple(map(int, text.split(".")))[:2] == version[:2]]
    others = [text for text in later if text not in own]
    return [*own[:1], *sorted(others, key=lambda text: tuple(map(int, text.split("."))))[:1]]
