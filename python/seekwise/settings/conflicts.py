"""Who else sets what `apply --persist` is about to set: found before anything is written.

After a start the kernel's boot line acts first, then udev, then sysfsutils and tmpfiles.d, then TuneD, then scripts;
the last one wins. A file of ours that acts earlier than somebody else's with another value would lose, minutes after
the start or at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seekwise.linux.block_device import Stack
from seekwise.linux.setters import Setter, assignment, find_setters
from seekwise.linux.setters.assignment import UNKNOWN_VALUE, Rank
from seekwise.linux.tree import Tree
from seekwise.settings.forms import Wanted
from seekwise.settings.forms.udev import PATH as UDEV_PATH


@dataclass(frozen=True)
class Conflict(Setter):
    """Another program or file that sets the same attribute."""

    ours: str = ""
    overrides_ours: bool = False
    """It acts later, so our value would not stay."""

    @property
    def text(self) -> str:
        """Which file sets what, and which of the two settings wins after the next start."""
        what = f"{super().text} sets {self.attribute} of {self.device} to {self.value}"
        if self.look:
            what = f"{super().text}, perhaps {self.attribute} of {self.device}"
        doubt = "" if self.certain else " (if it acts at all: seekwise cannot tell)"
        if self.overrides_ours:
            when = "at each change of the device" if self.on_change else "after us"
            return f"{what}, {when}{doubt}: {self.ours} would not stay"
        return f"{what}, before us{doubt}: it is overridden by {self.ours}"


def rank_of(way: str) -> Rank | None:
    """When the file of a way acts, on the scale of `Setter.rank`; None for a way that sets no value itself."""
    match way:
        case "udev":
            # Our place among the rule files that set something, whether our file is there already or not.
            return (assignment.UDEV, 1, UDEV_PATH.name)
        case "sysfs.conf":
            return (assignment.SYSFS, 0, 10**6)
        case "tuned":
            return (assignment.TUNED, 10**6)
    return None


def find(wanted: Wanted, ways: Iterable[str], tree: Tree, stack: Stack) -> list[Conflict]:
    """Every assignment of another value, with what would become of ours. Several ways count as the latest of them."""
    ways = tuple(ways)
    ranks = [rank for way in ways if (rank := rank_of(way)) is not None]
    if not ranks:
        return []
    ours = max(ranks, key=lambda rank: rank[:1])
    conflicts = []
    for setter in find_setters(tree, stack):
        value = wanted.get(setter.device, {}).get(setter.attribute)
        if value is None or (setter.gives(value) and setter.value != UNKNOWN_VALUE):
            continue
        if setter.is_ours and setter.kind in ways:
            continue  # written anew; what an earlier call has written in another way stays, and may act later
        if setter.kind == "tuned" and ours[0] == assignment.TUNED:
            continue  # our profile stands in its place
        # Our rule acts at a change too, where another one does (`forms.udev`).
        comes_back = setter.on_change and "udev" not in ways
        conflicts.append(Conflict(**vars(setter), ours=value, overrides_ours=comes_back or _after(setter, ours)))
    return conflicts


def _after(setter: Setter, ours: Rank) -> bool:
    if setter.rank[0] != ours[0]:
        return setter.rank[:1] > ours[:1]
    if setter.kind == "udev":
        # Within udev the files act in the order of their names; rules of the SCSI device come before the disk's.
        name = setter.file.rpartition("/")[2]
        return setter.rank[1] == 1 and name > UDEV_PATH.name
    return setter.rank > ours
