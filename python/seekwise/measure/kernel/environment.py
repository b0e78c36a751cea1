"""What the machine was when a trial ran: facts that a reader needs to repeat or to doubt it."""

from __future__ import annotations

import os
import platform
import time

from seekwise.linux import diskstats, facts
from seekwise.linux.tree import Tree, open_tree
from seekwise.measure.kernel import programs
from seekwise.measure.kernel.target import Target

DEVICE_FACTS = ("name", "kind", "model", "firmware", "serial", "size_bytes", "rotational", "transport", "driver")
"""Of each drive, under the names of `block_device.BlockDevice`."""


def read(target: Target, fio_version: str) -> dict[str, object]:
    """Facts that hold for a whole run."""
    mount = target.mount
    tree = open_tree()
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "host": platform.node(),
        "distribution": _distribution(),
        "cpu_model": _cpu_model(tree),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "governor": tree.word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "fio": fio_version,
        "target": str(target.path),
        "filesystem": mount.filesystem if mount else None,
        "mount_point": str(mount.mount_point) if mount else None,
        "mount_options": ",".join(mount.options) if mount else None,
        "devices": [{name: getattr(device, name) for name in DEVICE_FACTS} for device in target.leaves],
        "stack": list(target.lines),
        "raid_levels": list(target.raid_levels),
    }


def conditions(target: Target) -> dict[str, object]:
    """Circumstances of a run that can weaken its result."""
    return {
        "os_shares_drives": target.os_shares_drives,
        # Rates of flash depend on what was written before. We neither purge nor precondition, so it is as it was found.
        "flash_in_used_state": sorted(device.name for device in target.leaves if device.rotational is False),
        "processes_running": os.getloadavg()[0],
        "temperature_c": temperatures(tuple(device.name for device in target.leaves)),
    }


def temperatures(devices: tuple[str, ...]) -> dict[str, float]:
    """{device: degrees Celsius} where the drive has a sensor that the kernel reads (nvme, drivetemp)."""
    tree = open_tree()
    celsius = {name: facts.temperature_celsius(tree, name) for name in devices}
    return {name: value for name, value in celsius.items() if value is not None}


def watch_others(devices: tuple[str, ...], seconds: float) -> dict[str, object]:
    """Looks at the devices while we leave them alone: I/O seen now is somebody else's."""
    before, io_before = diskstats.read(), programs.read()
    time.sleep(seconds)
    amount = diskstats.total(diskstats.moved(before, diskstats.read(), devices)).bytes
    others = programs.others(io_before, programs.read(), {os.getpid()}, least=1)
    return {
        "watched_s": seconds,
        "other_io_bytes": amount,
        "other_io_by": [other.text for other in others] if amount else [],
        "quiet": amount <= 2**20 * seconds,
    }


def _cpu_model(tree: Tree) -> str | None:
    for line in (tree.text("/proc/cpuinfo") or "").splitlines():
        if line.startswith(("model name", "Model", "cpu model")):
            return line.partition(":")[2].strip()
    return None


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return None
