"""The settings a study can vary: one row each, by the name the kernel gives them.

`where` says on which devices of a stack a setting lives:
  leaf   every drive at the bottom: schedulers and queues work there
  top    the device that a file system or program opens: read-ahead is decided there
  md     every md array in between
  system the whole machine: limits of dirty pages, in /proc/sys/vm

Factors marked `expensive` cost a rebuild (an array, a file system): a plan varies them in outer plots.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from seekwise.workload.study.quantity import NotAllowed, parse_bytes

UNIT_BYTES = {"KiB": 1024, "bytes": 1}
Where = Literal["leaf", "top", "md", "system", "build"]
Value = str | int | float | bool


@dataclass(frozen=True)
class Factor:
    name: str
    where: Where
    attribute: str
    """File below /sys/block/DEVICE/, for the whole machine below /proc/sys/vm/."""
    kind: Literal["number", "word"]
    least: int = 0
    most: int | None = None
    words: tuple[str, ...] = ()
    meaning: str = ""
    expensive: bool = False
    unit: str = ""
    """What a number counts; empty of a plain count."""

    @property
    def allowed(self) -> str:
        """What a study may write, as a phrase."""
        if self.words:
            return "one of " + ", ".join(f'"{word}"' for word in self.words)
        if self.kind == "word":
            return "a name"
        counted = f" of {self.unit}" if self.unit else ""
        return f"a whole number{counted} from {self.least}" + (f" to {self.most}" if self.most is not None else "")

    def check(self, value: object) -> None:
        """ValueError with what is allowed, if the value cannot be right on any machine."""
        if self.kind == "word":
            good = isinstance(value, str) and value != "" and (not self.words or value in self.words)
        else:
            most = math.inf if self.most is None else self.most
            good = isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= most
        if not good:
            raise NotAllowed(f"must be {self.allowed}{self._as_number(value)}")

    def _as_number(self, value: object) -> str:
        """What a size with a unit is as the number that is asked for."""
        size = UNIT_BYTES.get(self.unit.removesuffix("/s"))
        if size is None or not isinstance(value, str):
            return ""
        try:
            number, rest = divmod(parse_bytes(value.removesuffix("/s")), size)
        except ValueError:
            return ""
        return "" if rest else f"; {value} is {number}"


# Bounds are those that no kernel accepts beyond; a device's own limit is found when the value is read back.
# Files and limits: Linux v6.12 Documentation/ABI/stable/sysfs-block; nomerges and rq_affinity 0 to 2,
# block/blk-sysfs.c.
FACTORS = {
    factor.name: factor
    for factor in (
        Factor("scheduler", "leaf", "queue/scheduler", "word", meaning="which scheduler orders the requests"),
        Factor("nr_requests", "leaf", "queue/nr_requests", "number", 1, meaning="requests that the queue holds"),
        Factor(
            "read_ahead_kb",
            "top",
            "queue/read_ahead_kb",
            "number",
            0,
            meaning="read-ahead of buffered reads",
            unit="KiB",
        ),
        Factor("queue_depth", "leaf", "device/queue_depth", "number", 1, 65536, meaning="NCQ: commands in the drive"),
        Factor("wbt_lat_usec", "leaf", "queue/wbt_lat_usec", "number", 0, meaning="write-back throttling target"),
        Factor("nomerges", "leaf", "queue/nomerges", "number", 0, 2, meaning="0 merge, 1 simple only, 2 never"),
        Factor("rq_affinity", "leaf", "queue/rq_affinity", "number", 0, 2, meaning="which CPU completes"),
        Factor("max_sectors_kb", "leaf", "queue/max_sectors_kb", "number", 1, meaning="largest request", unit="KiB"),
        Factor("add_random", "leaf", "queue/add_random", "number", 0, 1, meaning="feeds the entropy pool"),
        Factor(
            "write_cache",
            "leaf",
            "queue/write_cache",
            "word",
            words=("write back", "write through"),
            meaning="what the kernel assumes of the drive's cache",
        ),
        Factor("stripe_cache_size", "md", "md/stripe_cache_size", "number", 17, 32768, meaning="RAID 5/6 stripes"),
        # Linux v6.12 Documentation/admin-guide/sysctl/vm.rst; 0 bytes is refused (mm/page-writeback.c).
        Factor(
            "dirty_bytes",
            "system",
            "dirty_bytes",
            "number",
            8192,
            meaning="unwritten data at which writers wait",
            unit="bytes",
        ),
        Factor(
            "dirty_background_bytes",
            "system",
            "dirty_background_bytes",
            "number",
            1,
            meaning="unwritten data at which the kernel begins to write",
            unit="bytes",
        ),
        Factor(
            "dirty_expire_centisecs",
            "system",
            "dirty_expire_centisecs",
            "number",
            0,
            meaning="age in 1/100 s at which unwritten data is written",
        ),
        Factor("chunk_kib", "build", "", "number", 4, meaning="chunk of the array", unit="KiB", expensive=True),
        Factor("raid_level", "build", "", "word", meaning="level of the array", expensive=True),
        Factor("drives", "build", "", "number", 1, 384, meaning="drives of the array", expensive=True),
        Factor("layout", "build", "", "word", meaning="layout of RAID 5, 6 or 10", expensive=True),
        Factor("missing", "build", "", "number", 0, 384, meaning="drives that have failed", expensive=True),
        Factor(
            "resync_kib_s", "build", "", "number", 0, meaning="least speed of a running resync; 0: none", unit="KiB/s"
        ),
        Factor(
            "sync_speed_max",
            "md",
            "md/sync_speed_max",
            "number",
            0,
            meaning="most KiB/s of a drive that a rebuild or check may take",
            unit="KiB/s",
        ),
        Factor(
            "sync_speed_min",
            "md",
            "md/sync_speed_min",
            "number",
            1,
            meaning="KiB/s of a drive that a rebuild or check takes under any load",
            unit="KiB/s",
        ),
        Factor(
            "sync_action",
            "build",
            "",
            "word",
            words=("recover", "resync", "check"),
            meaning="what runs with the load",
        ),
        Factor(
            "bitmap",
            "build",
            "",
            "word",
            words=("none", "internal", "internal-1g", "lockless"),
            meaning="write-intent bitmap of the array",
            expensive=True,
        ),
        Factor("rmw_level", "build", "", "number", 0, 2, meaning="how RAID 5 and 6 compute the parity of small writes"),
        Factor("filesystem", "build", "", "word", meaning="file system", expensive=True),
    )
}

ISCHED_PREFIX = "iosched."
"""A scheduler's own tunables: `iosched.read_expire` is /sys/block/DEVICE/queue/iosched/read_expire."""


def factor(name: str) -> Factor | None:
    """The row of a name, made up for a scheduler's tunable; None when unknown."""
    if name.startswith(ISCHED_PREFIX) and len(name) > len(ISCHED_PREFIX):
        return Factor(name, "leaf", f"queue/iosched/{name.removeprefix(ISCHED_PREFIX)}", "number", 0)
    return FACTORS.get(name)


def checked(name: str) -> Factor:
    """The row of a name that a study or a plan holds: reading them refuses every other."""
    row = factor(name)
    if row is None:
        raise KeyError(name)
    return row


def names() -> list[str]:
    """Every name that a study may vary."""
    return [*FACTORS, ISCHED_PREFIX + "NAME"]


def ordered(values: dict[str, Value]) -> dict[str, Value]:
    """Scheduler first: changing it resets nr_requests and brings its own tunables."""
    first = [name for name in ("scheduler",) if name in values]
    return {name: values[name] for name in [*first, *(name for name in values if name not in first)]}


def label(values: dict[str, Value], compared: Iterable[str]) -> str:
    """What a setting is called in tables: the scheduler by its bare name, others as name=value."""
    parts = [
        str(values[name]) if name == "scheduler" else f"{name}={values[name]}" for name in compared if name in values
    ]
    return " ".join(parts) or "as found"
