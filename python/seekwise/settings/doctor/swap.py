"""Swap in use on a disk that also holds files: every page that comes back waits behind a copy."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.settings.doctor.check import DoctorFinding, Machine, is_spinning
from seekwise.settings.doctor.dirty_limits import written_to

NAME = "swap-beside-files"
USED_KIB_LEAST = 64 * 1024
"""Less than this swapped out is what the kernel puts aside on any machine."""


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Swap in use on a hard disk that holds files that are written to."""
    busy = {device.name for device in written_to(machine)}
    for line in (machine.tree.text("/proc/swaps") or "").splitlines()[1:]:
        words = line.split()
        if len(words) < 5 or words[1] != "partition" or not words[3].isdigit() or int(words[3]) < USED_KIB_LEAST:
            continue
        partition = machine.stack.devices.get(words[0].removeprefix("/dev/"))
        disk = machine.stack.devices.get(partition.below[0]) if partition is not None and partition.below else partition
        if disk is None or disk.name not in busy or not is_spinning(disk):
            continue
        yield DoctorFinding(
            NAME,
            (disk.name,),
            "look",
            f"{int(words[3]) / 1024:.0f} MiB are swapped out to {disk.name}, a hard disk that also holds files",
            (f"/proc/swaps: {words[0]} used {words[3]} KiB",),
            (f"swapoff {words[0]}    # after making room in memory; or move swap to an SSD or to zram",),
            "a program that was swapped out comes back page by page, each behind what is copied; no I/O scheduler mends that",
        )
