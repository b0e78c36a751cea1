"""One assignment: a line of somebody's configuration that sets an attribute of one device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

BOOT, UDEV, SYSFS, TUNED, SCRIPT = range(5)
"""Order in which the kinds act after a start."""

KIND_NAMES = {
    "boot": "boot line",
    "modprobe": "module option",
    "udev": "udev rule",
    "hdparm": "hdparm.conf",
    "sysfs.conf": "sysfs.conf",
    "tmpfiles": "tmpfiles.d",
    "mdadm": "mdadm.conf",
    "tuned": "TuneD profile",
    "saptune": "saptune note",
    "tlp": "TLP",
    "udisks": "udisks2",
    "multipath": "multipath.conf",
    "redpanda": "redpanda-tuner.service,",
    "scylla": "scylla-server.service,",
    "iscsi": "open-iscsi",
    "sysctl": "sysctl",
    "ktune": "ktune",
    "sapconf": "sapconf",
    "laptop-mode": "laptop-mode",
    "script": "script or unit",
}

OUR_FILES = (
    "65-seekwise.rules",
    "/etc/sysfs.d/seekwise.conf",
    "/etc/tuned/seekwise/",
    "/etc/default/grub.d/seekwise.cfg",
)

Rank = tuple[float | str, ...]
"""When an assignment acts: the kind first, then what orders assignments of one kind."""


@dataclass(frozen=True)
class Setter:
    """A file that sets an attribute. `attribute` is relative to the device's folder in sysfs (`queue/scheduler`);
    `value` as it would be written."""

    HIDDEN: ClassVar = ("rank", "at_least", "on_change", "look")

    kind: str
    file: str
    line: int | None
    device: str
    attribute: str
    value: str
    rank: Rank
    certain: bool = True
    """False: whether the line acts cannot be told from files (a program decides, or a service may not run)."""
    at_least: bool = False
    """TuneD's `>VALUE`: sets only if the present value is lower."""
    on_change: bool = False
    """A udev rule that acts at each change of the device too: whenever a program closes it after writing, for
    example."""
    look: str = ""
    """Why the line alone does not say what happens (`under a condition`): a person must look there."""

    @property
    def place(self) -> str:
        """`FILE:LINE`, or the file alone where the line is unknown."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def text(self) -> str:
        """`udev rule /etc/udev/rules.d/60-io.rules:3`; of a script's line that depends on more than itself, where to
        look."""
        if self.look:
            name = self.attribute.rpartition("/")[2]
            return f"line {self.line} of {self.file} writes {name} ({self.look}: look there)"
        return f"{KIND_NAMES[self.kind]} {self.place}"

    @property
    def is_ours(self) -> bool:
        """Whether `seekwise apply --persist` wrote the file, by its name."""
        return any(part in self.file for part in OUR_FILES)

    def gives(self, current: str | None) -> bool:
        """Whether `current` is what this line would leave."""
        if current is None:
            return False
        if self.value == UNKNOWN_VALUE:
            return True
        least, numbers = number(self.value), number(current)
        if self.at_least and least is not None and numbers is not None:
            return numbers >= least
        return same_value(self.value, current)


@dataclass(frozen=True)
class Ineffective:
    """A line that names a setting and does not act, with the reason and what would act."""

    kind: str
    file: str
    line: int | None
    device: str | None
    """None where it concerns every device."""
    attribute: str
    value: str
    reason: str
    instead: str
    through: str = ""
    """A line that reads this one and acts for it: a udev rule that sets the scheduler of the boot line."""

    @property
    def place(self) -> str:
        """`FILE:LINE`, or the file alone where the line is unknown."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def text(self) -> str:
        """`boot line /etc/default/grub:2 does not act: since Linux 5.0 the kernel ignores elevator=`."""
        if self.through:
            return f"{KIND_NAMES[self.kind]} {self.place} acts through {self.through} alone: {self.reason}"
        return f"{KIND_NAMES[self.kind]} {self.place} does not act: {self.reason}"


QUEUE_NUMBERS = (
    "nr_requests",
    "max_sectors_kb",
    "nomerges",
    "rq_affinity",
    "wbt_lat_usec",
    "rotational",
    "iostats",
    "add_random",
)
"""Attributes of a queue that the kernel reads with kstrtoul or kstrtol: `1M` is refused."""
UNKNOWN_VALUE = "?"
"""A script computes the value: it may be any."""
LONGEST_NUMBER = 20
"""Digits of 64 bits."""


def number(text: str) -> int | None:
    """A whole number in plain digits that the kernel could take; None for anything else."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER else None


def same_value(first: str, second: str) -> bool:
    """Whether the kernel would take both texts for the same: `0x20` and `32` are."""
    first, second = first.strip(), second.strip()
    if first == second:
        return True
    if max(len(first), len(second)) > LONGEST_NUMBER:
        return False
    try:
        return int(first, 0) == int(second, 0)
    except ValueError:
        return False
