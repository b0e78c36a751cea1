"""Everything on a machine that sets a block device's attributes: who would set what, and in which file and line.

    find_setters(tree, stack)      every assignment that acts on a device of the stack, in the order in which they act

| module | reads |
|---|---|
| `boot_line` | the kernel's command line, and the boot loader's files that it comes from |
| `udev_rules` | udev rules, with the precedence of udev(7) |
| `hdparm` | `/etc/hdparm.conf`, which a udev rule of Debian applies |
| `sysfs_conf` | `/etc/sysfs.conf`, `/etc/sysfs.d` (sysfsutils) |
| `tmpfiles` | `w` lines of tmpfiles.d(5) |
| `tuned` | the active TuneD profile with everything that it includes |
| `scripts` | rc.local, unit files and cron tables that write below `/sys/block` |

Order: the boot line acts first, then udev when the device appears, then sysfsutils and tmpfiles, then TuneD, then scripts. The
last one that sets an attribute wins; udev comes back each time a device appears again.
"""

from __future__ import annotations

from seekwise.linux.block_device import Stack
from seekwise.linux.setters import boot_line, hdparm, scripts, sysfs_conf, tmpfiles, tuned, udev_rules
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.package import owner
from seekwise.linux.tree import Tree

__all__ = ["SOURCES", "Setter", "find_setters", "owner"]

SOURCES = (boot_line, udev_rules, hdparm, sysfs_conf, tmpfiles, tuned, scripts)


def find_setters(tree: Tree, stack: Stack) -> tuple[Setter, ...]:
    """Every assignment to an attribute of a device of `stack`, in the order in which they act."""
    found = [setter for source in SOURCES for setter in source.read(tree, stack)]
    return tuple(sorted(found, key=lambda setter: setter.rank))
