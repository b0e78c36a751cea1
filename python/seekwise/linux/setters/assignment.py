"""One assignment: a line of somebody's configuration that sets an attribute of one device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

BOOT, UDEV, SYSFS, TUNED, SCRIPT = range(5)
"""Order in which the kinds act after a start."""

KIND_NAMES = {
    "boot": "boot line",
    "udev": "udev rule",
    "hdparm": "hdparm.conf",
    "sysfs.conf": "sysfs.conf",
    "tmpfiles": "tmpfiles.d",
    "tuned": "TuneD profile",
    "script": "script or unit",
}

OUR_FILES = (
    "65-seekwise.rules",
    "/etc/sysfs.d/seekwise.conf",
    "/etc/tuned/seekwise/",
    "/etc/default/grub.d/seekwise.cfg",
)


@dataclass(frozen=True)
class Setter:
    """A file that sets an attribute. `attribute` is relative to the device's folder in sysfs (`queue/scheduler`); `value` as it would be written."""

    HIDDEN: ClassVar = ("rank", "at_least", "on_change")

    kind: str
    file: str
    line: int | None
    device: str
    attribute: str
    value: str
    rank: tuple[object, ...]
    certain: bool = True
    """False: whether the line acts cannot be told from files (a program decides, or a service may not run)."""
    at_least: bool = False
    """TuneD's `>VALUE`: sets only if the present value is lower."""
    on_change: bool = False
    """A udev rule that acts at each change of the device too: whenever a program closes it after writing, for example."""

    @property
    def place(self) -> str:
        """`FILE:LINE`, or the file alone where the line is unknown."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def text(self) -> str:
        """`udev rule /etc/udev/rules.d/60-io.rules:3`."""
        return f"{KIND_NAMES[self.kind]} {self.place}"

    @property
    def is_ours(self) -> bool:
        """Whether `seekwise apply --persist` wrote the file, by its name."""
        return any(part in self.file for part in OUR_FILES)

    def gives(self, current: str | None) -> bool:
        """Whether `current` is what this line would leave."""
        if current is None:
            return False
        if self.at_least and self.value.isdigit() and current.isdigit():
            return int(current) >= int(self.value)
        return same_value(self.value, current)


def same_value(first: str, second: str) -> bool:
    """Whether the kernel would take both texts for the same: `0x20` and `32` are."""
    if first.strip() == second.strip():
        return True
    try:
        return int(first, 0) == int(second, 0)
    except ValueError:
        return False
