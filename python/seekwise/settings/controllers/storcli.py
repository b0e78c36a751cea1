"""LSI/Broadcom MegaRAID and Dell PERC: `storcli`, `perccli`, same words. Syntax: StorCLI Reference Manual 007.

A virtual drive's number is its SCSI target on channels 2 and 3 (Linux v6.1 drivers/scsi/megaraid/megaraid_sas.h:
MEGASAS_DEV_INDEX). NCQ is set for the whole controller.
"""

from __future__ import annotations

from seekwise.settings.controllers.tool import Argv, LogicalUnit, State, Tool, line_with


def query(program: str, unit: LogicalUnit) -> list[Argv]:
    """Calls of storcli whose output `parse` reads; they change nothing."""
    return [
        (program, _drive(unit), "show", "all"),
        (program, f"/c{unit.index}", "show", "ncq"),
    ]


def parse(text: str, unit: LogicalUnit) -> State:
    """NCQ, cache, level and status of the unit from what storcli printed; None for what it does not show."""
    ncq = line_with(text, r"^\s*NCQ(?:\s+setting|\s+Status|\s+Mode)?\s*[=:]?\s+(ON|OFF|Enabled?|Disabled?)\s*$")
    cache = line_with(text, r"^\s*Write Cache\(initial setting\)\s*=\s*(\S+)")
    row = line_with(text, rf"^\s*\d+/{_number(unit)}\s+(RAID\S+\s+\S+)")
    level, _, status = (row[1] if row else "").partition(" ")
    evidence = {name: match[0] for name, match in (("ncq", ncq), ("write_cache", cache), ("level", row)) if match}
    return State(
        ncq=ncq and ("on" if ncq[1].lower() in ("on", "enabled", "enable") else "off"),
        write_cache=cache and ("off" if cache[1].lower().startswith("writethrough") else "on"),
        level=level or None,
        status=status.strip() or None,
        evidence=evidence,
    )


def change(program: str, unit: LogicalUnit, name: str, on: bool, text: str | None) -> Argv | None:
    """The call of storcli that sets `name` of the unit; None for what it cannot set."""
    if name == "ncq":
        return (program, f"/c{unit.index}", "set", f"ncq={'on' if on else 'off'}")
    if name == "write_cache":
        return (program, _drive(unit), "set", f"wrcache={'wb' if on else 'wt'}")
    return None


def _number(unit: LogicalUnit) -> int:
    # Channel 3 goes on where 2 ends: 128 targets per channel (MEGASAS_MAX_DEV_PER_CHANNEL).
    return unit.target + 128 * max(0, unit.channel - 2)


def _drive(unit: LogicalUnit) -> str:
    return f"/c{unit.index}/v{_number(unit)}"


TOOL = Tool(
    "storcli", ("storcli64", "storcli", "perccli64", "perccli"), frozenset({"megaraid_sas"}), query, parse, change
)
