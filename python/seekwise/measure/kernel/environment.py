"""What the machine was when a trial ran: facts that a reader needs to repeat or to doubt it."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from seekwise.linux import diskstats
from seekwise.measure.kernel import programs
from seekwise.measure.kernel.target import Target


def read(target: Target, fio_version: str, root: Path = Path("/")) -> dict[str, object]:
    """Facts that hold for a whole run."""
    mount = target.mount
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "host": platform.node(),
        "distribution": _distribution(root),
        "cpu_model": _cpu_model(root),
        "cpus": os.cpu_count(),
        "memory_bytes": _memory_bytes(root),
        "governor": _text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "fio": fio_version,
        "target": str(target.path),
        "filesystem": mount.filesystem if mount else None,
        "mount_point": str(mount.mount_point) if mount else None,
        "mount_options": ",".join(mount.options) if mount else None,
        "devices": [
            {
                "name": device.name,
                "kind": device.kind,
                "model": device.model,
                "firmware": device.firmware,
                "serial": device.serial,
                "size_bytes": device.size_bytes,
                "rotational": device.rotational,
                "transport": device.transport,
                "driver": device.driver,
            }
            for device in target.leaves
        ],
        "stack": list(target.lines),
        "raid_levels": list(target.raid_levels),
    }


def conditions(target: Target) -> dict[str, object]:
    """Circumstances of a run that can weaken its result."""
    return {
        "os_shares_drives": target.os_shares_drives,
        # Rates of flash depend on what was written before. We neither purge nor precondition, so it is as it was found.
        "flash_in_used_state": sorted(device.name for device in target.leaves if device.rotational is False),
        "processes_running": _load_average(),
        "temperature_c": temperatures(tuple(device.name for device in target.leaves)),
    }


def temperatures(devices: tuple[str, ...], root: Path = Path("/")) -> dict[str, float]:
    """{device: degrees Celsius} where the drive has a sensor that the kernel reads (nvme, drivetemp)."""
    found: dict[str, float] = {}
    for name in devices:
        base = root / "sys/block" / name / "device"
        for pattern in ("hwmon*/temp1_input", "hwmon/hwmon*/temp1_input"):
            for file in sorted(base.glob(pattern)):
                text = _text(file)
                if text is not None and text.lstrip("-").isdigit():
                    found.setdefault(name, int(text) / 1000.0)
    return found


def watch_others(devices: tuple[str, ...], seconds: float) -> dict[str, object]:
    """Looks at the devices while we leave them alone: I/O seen now is somebody else's."""
    before, io_before = diskstats.read(), programs.read()
    time.sleep(seconds)
    amount = diskstats.total(diskstats.moved(before, diskstats.read(), devices)).bytes
    others = programs.others(io_before, programs.read(), {os.getpid()}, least=1)
    return {
        "watched_s": seconds,
        "other_io_bytes": amount,
        "other_io_by": [each.text for each in others] if amount else [],
        "quiet": amount <= 2**20 * seconds,
    }


def _text(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except OSError:
        return None


def _memory_bytes(root: Path) -> int | None:
    for line in (_text(root / "proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _cpu_model(root: Path) -> str | None:
    for line in (_text(root / "proc/cpuinfo") or "").splitlines():
        if line.startswith(("model name", "Model", "cpu model")):
            return line.partition(":")[2].strip()
    return None


def _distribution(root: Path) -> str | None:
    for line in (_text(root / "etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return None


def _load_average() -> float:
    return os.getloadavg()[0]
