"""What the checks need beyond the stack: reports of drives and controllers, and a few seconds of discard counters. Makes no load."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

from seekwise.linux.block_device import Stack
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import Tree
from seekwise.settings import controllers
from seekwise.settings.doctor.check import Activity, Machine

SMART_TIMEOUT_S = 10
DISCARD_FIELDS = slice(14, 18)
"""Of a line of /proc/diskstats with device numbers and name: discards, merged, sectors, ms (since 4.18)."""


def machine(tree: Tree, watch_s: float) -> Machine:
    """Everything for the checks; takes `watch_s` on the running machine, no time for a capture."""
    stack = read_stack(tree)
    if not tree.live:
        return Machine(stack, tree)
    before, then = counters(tree), time.monotonic()
    smart, units = smart_reports(stack), states_of_units(stack)
    time.sleep(max(0.0, watch_s - (time.monotonic() - then)))
    seconds = time.monotonic() - then
    return Machine(stack, tree, smart, activity(before, counters(tree), seconds), units)


def counters(tree: Tree) -> dict[str, tuple[int, int, int, int]]:
    """{device: (I/Os, discards, discarded sectors, ms spent on discards)}."""
    found = {}
    for line in (tree.text("/proc/diskstats") or "").splitlines():
        words = line.split()
        if len(words) >= DISCARD_FIELDS.stop:
            discards, _, sectors, spent_ms = map(int, words[DISCARD_FIELDS])
            found[words[2].replace("/", "!")] = (int(words[3]) + int(words[7]), discards, sectors, spent_ms)
    return found


def activity(before: dict, after: dict, seconds: float) -> dict[str, Activity]:
    """{device: what it did between two readings of its counters, `seconds` apart}."""
    found = {}
    for name, now in after.items():
        if name in before:
            ios, discards, sectors, spent_ms = (max(0, new - old) for old, new in zip(before[name], now, strict=True))
            found[name] = Activity(seconds, ios, discards, sectors * 512, spent_ms)
    return found


def states_of_units(stack: Stack) -> dict[str, controllers.State]:
    """What the tools of RAID controllers say of their units, where a tool is installed."""
    found = {name: controllers.read(unit) for name, unit in controllers.units(stack).items()}
    return {name: state for name, state in found.items() if state is not None}


def smart_reports(stack: Stack) -> dict[str, dict]:
    """`smartctl --json` of each SATA, SAS and NVMe drive; sleeping drives are left asleep. Needs root and smartmontools."""
    program = shutil.which("smartctl")
    if program is None or os.geteuid() != 0:
        return {}
    found = {}
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
            found[device.name] = document
    return found
