"""Limits of control groups in force: they hold requests back before any I/O scheduler sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.tree import Tree
from seekwise.number_text import listed
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "io-limits"
TOP = "/sys/fs/cgroup"
QOS = f"{TOP}/io.cost.qos"
"""A line per device: `8:0 enable=1 ctrl=user rpct=… rlat=… min=… max=…` (Linux
Documentation/admin-guide/cgroup-v2.rst)."""
FILES = {
    "io.max": "",
    "io.latency": "",
    **{
        f"blkio.throttle.{side}_{unit}_device": f"{side[0]}{unit}" for side in ("read", "write") for unit in ("bps", "iops")
    },
}  # fmt: skip
"""Of version 2, `8:0 rbps=… wbps=max riops=max wiops=…` and `8:0 target=µs`; of version 1 a number each, with its key
of version 2 (Documentation/admin-guide/cgroup-v1/blkio-controller.rst)."""
WORDS = {"rbps": "read {}", "wbps": "write {}", "riops": "read {} times a second", "wiops": "write {} times a second"}
GROUPS = 4000
"""Control groups that are looked through; a host with 200 containers has 1,000."""
UNITS = ("/etc/systemd/system.control", "/run/systemd/system.control", "/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")  # fmt: skip
DIRECTIVE = re.compile(
    r"\s*(?:IO(?:Read|Write)(?:Bandwidth|IOPS)Max|IODeviceLatencyTargetSec|BlockIO(?:Read|Write)Bandwidth)\s*=\s*\S"
)


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Drives under the io.cost controller, and groups of processes that may only do so much."""
    by_number = {device.major_minor: device for device in machine.stack.devices.values()}
    for line in (machine.tree.text(QOS) or "").splitlines():
        device, values = _line(line, by_number)
        if device is not None and values.get("enable") == "1":
            yield DoctorFinding(
                NAME,
                (device.name,),
                "look",
                f"io.cost limits the requests to {device.name}, between {values.get('min', '?')} and {values.get('max', '?')} per cent of its model",
                (f"{QOS}: {line}",),
                (f'echo "{device.major_minor} enable=0" > {QOS}    # to compare without it',),
                "a wrong cost model holds requests back; schedulers compare differently under it",
            )
    for group, name, line in _limits(machine.tree):
        device, values = _line(line, by_number)
        said = _said(values, name)
        if device is None or not said:
            continue
        places = _places(machine.tree, group)
        since = f", since {listed(places)}" if places else ""
        unit = group.rpartition("/")[2]
        set_by = f"systemctl show {unit} | grep ^IO    # who set it" if "." in unit else f"cat {TOP}{group}/{name}"
        yield DoctorFinding(
            NAME,
            (device.name,),
            "look",
            f"{unit} may {said} {device.name} ({name}){since}",
            (f"{TOP}{group}/{name}: {line}", *places),
            (set_by,),
            "its requests wait for the limit, not for the drive: schedulers and queue depth do not change that",
        )


def _line(line: str, by_number: dict[str, BlockDevice]) -> tuple[BlockDevice | None, dict[str, str]]:
    number, *words = line.split() or [""]
    return by_number.get(number), {word.rpartition("=")[0]: word.rpartition("=")[2] for word in words}


def _said(values: dict[str, str], name: str) -> str:
    """`read 10 MiB/s and write 200 times a second from and to`; empty where nothing is limited."""
    if target := values.get("target"):
        return f"hold the others back until its requests take {target} µs on"
    named = {FILES[name] or key: text for key, text in values.items()}
    done = [
        WORDS[key].format(f"{int(text) / 2**20:.3g} MiB/s" if key.endswith("bps") else text)
        for key, text in named.items()
        if key in WORDS and text.isdecimal()
    ]
    ways = {key[0] for key, text in named.items() if key in WORDS and text.isdecimal()}
    way = "from and to" if len(ways) > 1 else "from" if ways == {"r"} else "to"
    return f"{' and '.join(done)} {way}" if done else ""


def _limits(tree: Tree) -> Iterator[tuple[str, str, str]]:
    """Group, file and line of each limit."""
    todo = ["", "/blkio"]
    for _ in range(GROUPS):
        if not todo:
            return
        group = todo.pop()
        for name in tree.names(f"{TOP}{group}"):
            if name in FILES:
                for line in (tree.text(f"{TOP}{group}/{name}") or "").splitlines()[:100]:
                    yield group, name, line
            elif tree.is_folder(f"{TOP}{group}/{name}") and f"{group}/{name}" != "/blkio":
                todo.append(f"{group}/{name}")


def _places(tree: Tree, group: str) -> list[str]:
    """`FILE:LINE` of each line of systemd that limits the group's unit."""
    unit = group.rpartition("/")[2]
    files = [f"{folder}/{unit}" for folder in UNITS]
    files += [f"{folder}/{unit}.d/{name}" for folder in UNITS for name in tree.names(f"{folder}/{unit}.d")]
    return [
        f"{file}:{number}"
        for file in dict.fromkeys(files)
        for number, line in enumerate((tree.text(file) or "").splitlines()[:1000], 1)
        if DIRECTIVE.match(line[:200])
    ]
