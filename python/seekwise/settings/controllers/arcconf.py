"""Adaptec/Microsemi: `arcconf`. Syntax: Adaptec ARCCONF user's guide (`getconfig`, `setcache`, `setncq`). Controllers
count from 1.

A container's number is its SCSI target on channel 0 (Linux v6.1 drivers/scsi/aacraid/linit.c: CONTAINER_CHANNEL). NCQ
is set for the whole controller.
"""

from __future__ import annotations

import re

from seekwise.settings.controllers.tool import Argv, LogicalUnit, State, Tool, line_with


def query(program: str, unit: LogicalUnit) -> list[Argv]:
    """Calls of arcconf whose output `parse` reads; they change nothing."""
    return [
        (program, "getconfig", str(unit.index + 1), "ld", str(unit.target)),
        (program, "getconfig", str(unit.index + 1), "ad"),
    ]


def parse(text: str, unit: LogicalUnit) -> State:
    """NCQ, cache, level and status of the unit from what arcconf printed; None for what it does not show."""
    part = re.search(
        rf"Logical device number {unit.target}\b(.*?)(?=Logical device number|Controller information|\Z)",
        text,
        re.IGNORECASE | re.DOTALL,
    )
    own = part[1] if part else ""
    ncq = line_with(text, r"^\s*NCQ status\s*:\s*(\w+)")
    cache = line_with(own, r"^\s*Write-cache (?:status|mode)\s*:\s*(\w+)")
    level = line_with(own, r"^\s*RAID level\s*:\s*(\S+)")
    status = line_with(own, r"^\s*Status of logical device\s*:\s*(.+)")
    values = {"ncq": ncq, "write_cache": cache, "level": level, "status": status}
    return State(
        ncq=ncq and ("on" if ncq[1].lower() == "enabled" else "off"),
        write_cache=cache and ("on" if cache[1].lower() in ("on", "enabled") else "off"),
        level=level and f"RAID{level[1]}",
        status=status and status[1],
        evidence={name: match[0] for name, match in values.items() if match},
    )


def change(program: str, unit: LogicalUnit, name: str, on: bool, text: str | None) -> Argv | None:
    """The call of arcconf that sets `name` of the unit; None for what it cannot set."""
    controller = str(unit.index + 1)
    if name == "ncq":
        return (program, "setncq", controller, "enable" if on else "disable")
    if name == "write_cache":
        return (program, "setcache", controller, "logicaldrive", str(unit.target), "wb" if on else "wt")
    return None


TOOL = Tool("arcconf", ("arcconf",), frozenset({"aacraid"}), query, parse, change)
