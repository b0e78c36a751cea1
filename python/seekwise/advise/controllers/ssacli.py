"""HP/HPE Smart Array: `ssacli`, before it `hpssacli` and `hpacucli`, same words. Syntax: HPE Smart Storage Administrator CLI guide.

The tool names controllers by slot, which Linux does not show: `ctrl all show config` finds it where there is only one. A logical
drive's number is its LUN (hpsa, cciss) and is counted from 1. NCQ cannot be switched; the tool says whether it is supported.
"""

from __future__ import annotations

import re

from seekwise.advise.controllers.model import Argv, State, Tool, Unit, line_with


def query(program: str, unit: Unit) -> list[Argv]:
    return [(program, "ctrl", "all", "show", "config", "detail")]


def parse(text: str, unit: Unit) -> State:
    slot = slots(text)
    part = re.search(
        rf"Logical Drive: {_number(unit)}\s*\n(.*?)(?=\n\s*Logical Drive: |\n\s*physicaldrive |\Z)", text, re.DOTALL
    )
    own = part[1] if part else ""
    ncq = line_with(text, r"^\s*SATA NCQ Supported:\s*(\w+)")
    cache = line_with(own, r"^\s*(?:Array Accelerator|Caching):\s*(\w+)") or line_with(
        own, r"^\s*LD Acceleration Method:\s*(.+)"
    )
    level = line_with(own, r"^\s*Fault Tolerance:\s*(.+)")
    status = line_with(own, r"^\s*Status:\s*(.+)")
    found = {"ncq": ncq, "write_cache": cache, "level": level, "status": status}
    evidence = {name: each[0] for name, each in found.items() if each}
    if len(slot) == 1:
        evidence["slot"] = f"Slot: {slot[0]}"
    return State(
        ncq=ncq and ("on" if ncq[1].lower() == "true" else "off"),
        write_cache=cache and ("on" if cache[1].lower() in ("enabled", "controller cache") else "off"),
        level=level and (level[1] if level[1].upper().startswith("RAID") else f"RAID {level[1]}"),
        status=status and status[1],
        evidence=evidence,
    )


def change(program: str, unit: Unit, name: str, on: bool) -> Argv | None:
    if name == "write_cache":
        return (
            program,
            "ctrl",
            f"slot={unit.index}",
            "ld",
            str(_number(unit)),
            "modify",
            f"aa={'enable' if on else 'disable'}",
        )
    return None


def slots(text: str) -> list[str]:
    return re.findall(r"^\s*Slot:\s*(\d+)", text, re.MULTILINE)


def _number(unit: Unit) -> int:
    return unit.lun + 1 if unit.lun or not unit.target else unit.target + 1


TOOL = Tool("ssacli", ("ssacli", "hpssacli", "hpacucli"), frozenset({"hpsa", "smartpqi"}), query, parse, change)
