"""HP/HPE Smart Array: `ssacli`, before it `hpssacli` and `hpacucli`, same words. Syntax: HPE Smart Storage
Administrator CLI guide.

The tool names a controller by the slot it sits in, which is not its number among the controllers (a lone H240 is in
slot 1) and which Linux does not show. So controller and logical drive are looked up in `ctrl all show config detail`:
by the drive's identifier, which is the wwid that Linux shows, or by its disk name. NCQ cannot be switched; the tool
says whether it is supported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from seekwise.settings.controllers.tool import Argv, LogicalUnit, State, Tool, line_with

SHOW = ("ctrl", "all", "show", "config", "detail")


@dataclass(frozen=True)
class _Place:
    """Where the output describes a unit: its controller's part, the part of its logical drive, and what the tool calls
    them."""

    controller: str
    drive: str
    slot: str
    number: str


def query(program: str, unit: LogicalUnit) -> list[Argv]:
    """Calls of ssacli whose output `parse` reads; they change nothing."""
    return [(program, *SHOW)]


def parse(text: str, unit: LogicalUnit) -> State:
    """NCQ, cache, level and status of the unit from what ssacli printed; None for what it does not show."""
    place = _find(text, unit)
    if place is None:
        return State()
    own = place.drive
    ncq = line_with(place.controller, r"^\s*SATA NCQ Supported:\s*(\w+)")
    cache = line_with(own, r"^\s*(?:Array Accelerator|Caching):\s*(\w+)") or line_with(
        own, r"^\s*LD Acceleration Method:\s*(.+)"
    )
    level = line_with(own, r"^\s*Fault Tolerance:\s*(.+)")
    status = line_with(own, r"^\s*Status:\s*(.+)")
    values = {"ncq": ncq, "write_cache": cache, "level": level, "status": status}
    return State(
        ncq=ncq and ("on" if ncq[1].lower() == "true" else "off"),
        write_cache=cache and ("on" if cache[1].lower() in ("enabled", "controller cache") else "off"),
        level=level and (level[1] if level[1].upper().startswith("RAID") else f"RAID {level[1]}"),
        status=status and status[1],
        evidence={name: match[0] for name, match in values.items() if match} | {"slot": f"Slot: {place.slot}"},
    )


def change(program: str, unit: LogicalUnit, name: str, on: bool, text: str | None) -> Argv | None:
    """The call of ssacli that sets `name` of the unit; None for what it cannot set."""
    if name != "write_cache":
        return None
    place = _find(text, unit) if text is not None else None
    slot, number = (place.slot, place.number) if place is not None else ("SLOT", "NUMBER")
    return (program, "ctrl", f"slot={slot}", "ld", number, "modify", f"aa={'enable' if on else 'disable'}")


def unknown(program: str, unit: LogicalUnit) -> str:
    """How to find what stands for SLOT and NUMBER."""
    key = f"`Unique Identifier: {_identifier(unit)}`" if _identifier(unit) else f"`Disk Name: /dev/{unit.device}`"
    return f"SLOT and NUMBER of {unit.device} are those of the logical drive with {key} in `{program} {' '.join(SHOW)}`"


def _find(text: str, unit: LogicalUnit) -> _Place | None:
    """The unit's place in the output; None if it is not there, or if that is not certain."""
    places = [place for part in _parts(text, r"^\S.* in Slot \d+\b") for place in _drives(part)]
    tests = (
        lambda each: bool(_identifier(unit)) and _value(each.drive, "Unique Identifier") == _identifier(unit),
        # A name may have moved since the tool looked, so it counts only where there is no identifier.
        lambda each: not _identifier(unit) and _value(each.drive, "Disk Name") == f"/dev/{unit.device}",
        # Tools before hpssacli show neither; then one controller must be all there is.
        lambda each: (
            len({place.slot for place in places}) == 1
            and _value(each.drive, "Unique Identifier") is None
            and _value(each.drive, "Disk Name") is None
            and each.number == str(_number(unit))
        ),
    )
    for test in tests:
        if len(matches := [candidate for candidate in places if test(candidate)]) == 1:
            return matches[0]
    return None


def _parts(text: str, head: str) -> list[str]:
    """The text from each line that matches to the next one."""
    starts = [match.start() for match in re.finditer(head, text, re.MULTILINE)]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _drives(controller: str) -> list[_Place]:
    slot = re.search(r"^[^\S\n]*Slot:[^\S\n]*(\d+)", controller, re.MULTILINE)
    drives = []
    for part in _parts(controller, r"^[ \t]*Logical Drive:\s*\d+"):
        head = re.match(r"([ \t]*)Logical Drive:\s*(\d+).*\n?", part)
        if slot and head:
            # Its physical drives and the next array follow; neither is indented more than its own first line.
            own = re.split(rf"^[ \t]{{0,{len(head[1])}}}\S", part[head.end() :], maxsplit=1, flags=re.MULTILINE)[0]
            drives.append(_Place(controller, own, slot[1], head[2]))
    return drives


def _value(part: str, name: str) -> str | None:
    match = line_with(part, rf"^\s*{name}:\s*(\S+)")
    return match[1] if match else None


def _identifier(unit: LogicalUnit) -> str | None:
    """`naa.600508b1001c…` as the tool prints it."""
    kind, _, digits = unit.wwid.partition(".")
    return digits.upper() if kind in ("naa", "eui") and digits else None


def _number(unit: LogicalUnit) -> int:
    """hpsa and cciss: logical drives are LUNs of one target and count from 1; smartpqi: targets, likewise."""
    return unit.lun + 1 if unit.lun or not unit.target else unit.target + 1


TOOL = Tool(
    "ssacli", ("ssacli", "hpssacli", "hpacucli"), frozenset({"hpsa", "smartpqi"}), query, parse, change, unknown
)
