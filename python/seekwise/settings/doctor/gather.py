"""What the checks need beyond the stack: reports of drives and controllers, and a few seconds of discard counters.
Makes no load."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from typing import Any

from seekwise.linux import diskstats
from seekwise.linux.block_device import Stack
from seekwise.linux.diskstats import DiskCounters
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import Tree
from seekwise.settings import controllers
from seekwise.settings.doctor import discards
from seekwise.settings.doctor.check import Activity, Machine
from seekwise.workload.study.quantity import time_text

SMART_TIMEOUT_S = 10
PAUSE_S = 10.0
"""Between two looks at discards: longer than most deletions last."""


def machine(tree: Tree, watch_s: float, say: Callable[[str], None] = lambda _: None) -> Machine:
    """Everything for the checks; takes `watch_s` on the running machine, more where discards are many, no time for a capture."""
    stack = read_stack(tree)
    if not tree.live:
        return Machine(stack, tree)
    before, then = diskstats.read(tree), time.monotonic()
    smart, units = smart_reports(stack), controllers.states(stack)
    time.sleep(max(0.0, watch_s - (time.monotonic() - then)))
    seconds = time.monotonic() - then
    after = diskstats.read(tree)
    first, later = activity(before, after, seconds), {}
    if any(map(discards.is_storm, first.values())):
        # Deleting a folder makes one for a few seconds: only one that goes on is wrong.
        say(f"many discards in these {time_text(seconds)}: looking again after {time_text(PAUSE_S)}")
        time.sleep(PAUSE_S)
        before, then = diskstats.read(tree), time.monotonic()
        time.sleep(watch_s)
        later = activity(before, diskstats.read(tree), time.monotonic() - then)
    return Machine(stack, tree, smart, first, later, units)


def activity(before: dict[str, DiskCounters], after: dict[str, DiskCounters], seconds: float) -> dict[str, Activity]:
    """{device: what it did between two readings of its counters, `seconds` apart}."""
    return {
        name: Activity(seconds, done.ios, done.discards, done.discard_bytes, done.discard_ms)
        for name, done in diskstats.moved(before, after, before.keys()).items()
    }


def smart_reports(stack: Stack) -> dict[str, dict[str, Any]]:
    """`smartctl --json` of each SATA, SAS and NVMe drive; sleeping drives are left asleep. Needs root and
    smartmontools."""
    program = shutil.which("smartctl")
    if program is None or os.geteuid() != 0:
        return {}
    reports = {}
    for device in stack.devices.values():
        if device.kind not in ("disk", "nvme") or device.transport not in ("sata", "ata", "sas", "nvme"):
            continue
        command = [program, "--json", "--all", "--nocheck=standby", f"/dev/{device.name}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SMART_TIMEOUT_S, check=False)
            document = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            continue
        if isinstance(document, dict):
            reports[device.name] = document
    return reports
