"""3ware 6000 to 9750: `tw_cli`. Syntax and printed lines: 3ware CLI guide 9.5 (`/cx/ux set qpolicy`, `set cache`),
tw_cli(8).

The driver gives each unit the SCSI target of its number (Linux v6.1 drivers/scsi/3w-9xxx.c:
`request_id … TW_SCSI_DEV target`).
"""

from __future__ import annotations

from seekwise.settings.controllers.tool import Argv, LogicalUnit, State, Tool, line_with


def query(program: str, unit: LogicalUnit) -> list[Argv]:
    """Calls of tw_cli whose output `parse` reads; they change nothing."""
    place = _place(unit)
    return [(program, place, "show", "qpolicy"), (program, place, "show", "cache"), (program, place, "show", "status")]


def parse(text: str, unit: LogicalUnit) -> State:
    """NCQ, cache, level and status of the unit from what tw_cli printed; None for what it does not show."""
    place = _place(unit)
    ncq = line_with(text, rf"^\s*{place}\s+Command Queu?e?ing Policy\s*=\s*(\w+)")
    cache = line_with(text, rf"^\s*{place}\s+(?:Write )?Cache(?: State)?\s*=\s*(\w+)")
    status = line_with(text, rf"^\s*{place}\s+status\s*=\s*(\S+)")
    evidence = {name: match[0] for name, match in (("ncq", ncq), ("write_cache", cache), ("status", status)) if match}
    return State(
        ncq=ncq and ncq[1].lower(),
        write_cache=cache and cache[1].lower(),
        status=status and status[1],
        evidence=evidence,
    )


def change(program: str, unit: LogicalUnit, name: str, on: bool, text: str | None) -> Argv | None:
    """The call of tw_cli that sets `name` of the unit; None for what it cannot set."""
    word = {"ncq": "qpolicy", "write_cache": "cache"}.get(name)
    return (
        None
        if word is None
        else (program, _place(unit), "set", f"{word}={'on' if on else 'off'}", "quiet")[: 5 if word == "cache" else 4]
    )


def _place(unit: LogicalUnit) -> str:
    return f"/c{unit.index}/u{unit.target}"


TOOL = Tool("tw_cli", ("tw_cli", "tw-cli"), frozenset({"3w-xxxx", "3w-9xxx", "3w-sas"}), query, parse, change)
