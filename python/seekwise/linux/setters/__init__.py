"""Everything on a machine that sets a block device's attributes: who would set what, and in which file and line.

    survey(tree, stack)            what sets attributes of the stack's devices, which places were read, what was left out
    find_setters(tree, stack)      every assignment alone, in the order in which they act

| module | reads |
|---|---|
| `boot_line` | the kernel's command line, and the boot loader's files that it comes from |
| `mdadm` | `SYSFS` lines of mdadm.conf(5) |
| `udev_rules` | udev rules, with the precedence of udev(7); `udev_syntax` cuts them into tokens |
| `hdparm` | `/etc/hdparm.conf`, which a udev rule of Debian applies |
| `sysfs_conf` | `/etc/sysfs.conf`, `/etc/sysfs.d` (sysfsutils) |
| `tmpfiles` | `w` lines of tmpfiles.d(5) |
| `tuned` | the active TuneD profile with everything that it includes |
| `saptune` | `[block]` sections of SUSE's saptune notes |
| `modprobe` | options of modules, in modprobe.d(5) and on the boot line |
| `keyed` | files of udisks2, open-iscsi, sysctl, multipath, and of databases that tune their drives |
| `sysconfig` | ktune of RHEL 5 and 6, sapconf, laptop-mode |
| `tlp` | `DISK_IOSCHED` of TLP |
| `scripts` | rc.local, init scripts, unit files and cron tables that write to devices' files; `shell` goes through their text |
| `elsewhere` | nothing: it names files with settings that no module here reads |

All of them are little languages of somebody else: they are evaluated within a budget (`reading`), by a matcher that
does not backtrack (`pattern`).

Order: the boot line acts first, then udev when the device appears, then sysfsutils and tmpfiles, then TuneD, then
scripts. The last one that sets an attribute wins; udev comes back each time a device appears again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from seekwise.linux.block_device import Stack
from seekwise.linux.setters import (
    boot_line,
    effect,
    elsewhere,
    hdparm,
    keyed,
    mdadm,
    modprobe,
    saptune,
    scripts,
    sysconfig,
    sysfs_conf,
    tlp,
    tmpfiles,
    tuned,
    udev_rules,
)
from seekwise.linux.setters.assignment import Ineffective, Setter
from seekwise.linux.setters.package import owner
from seekwise.linux.setters.reading import PLACES, Reading
from seekwise.linux.tree import Tree

__all__ = ["SOURCES", "Ineffective", "Setter", "Survey", "find_setters", "owner", "survey"]

SOURCES: dict[str, Callable[[Reading], Iterable[Setter]]] = {
    "boot": boot_line.read,
    "modprobe": modprobe.read,
    "iscsi": keyed.iscsi,
    "mdadm": mdadm.read,
    "multipath": keyed.multipath,
    "udev": udev_rules.read,
    "hdparm": hdparm.read,
    "sysfs.conf": sysfs_conf.read,
    "tmpfiles": tmpfiles.read,
    "tuned": tuned.read,
    "saptune": saptune.read,
    "sysconfig": sysconfig.read,
    "tlp": tlp.read,
    "tuner": keyed.tuners,
    "udisks": keyed.udisks,
    "sysctl": keyed.sysctl,
    "script": scripts.read,
}


@dataclass(frozen=True)
class Survey:
    """Everything that a machine's configuration says about its devices' attributes."""

    setters: tuple[Setter, ...]
    """In the order in which they act."""
    ineffective: tuple[Ineffective, ...]
    """Lines that name a setting and do not act."""
    places: dict[str, list[str]]
    """{kind: files that were read}."""
    not_evaluated: tuple[str, ...]

    @property
    def read(self) -> str:
        """Which places were read, in words: one file by its name, several by their number."""
        found = [
            f"{len(files)} {PLACES[kind][1]}" if len(files) > 1 else f"{files[0]}" for kind, files in self.places.items() if files
        ]  # fmt: skip
        # Two kinds of setters are read from one file.
        return ", ".join(dict.fromkeys(found)) or "nothing"

    @property
    def absent(self) -> str:
        """Which places are not there."""
        return ", ".join(PLACES[kind][0] for kind in SOURCES if not self.places.get(kind))


def survey(tree: Tree, stack: Stack) -> Survey:
    """Who sets what on the devices of `stack`, within the bounds of `reading`."""
    reading = Reading(tree, stack)
    found = [setter for kind, source in SOURCES.items() for setter in reading.source(kind, source)]
    reading.look_through(elsewhere.look)
    acting, idle = effect.divide(tuple(sorted(found, key=lambda setter: setter.rank)), stack)
    dead = effect.through_rules(reading.ineffective, acting)
    return Survey(acting, (*dead, *idle), reading.files, (*reading.left_out, *filter(None, [tree.spent])))


def find_setters(tree: Tree, stack: Stack) -> tuple[Setter, ...]:
    """Every assignment to an attribute of a device of `stack`, in the order in which they act."""
    return survey(tree, stack).setters
