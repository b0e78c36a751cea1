"""Units behind RAID controllers: their state through the controller's own tool, and the exact command that would change
it.

Nothing is changed here: who is shown the command runs it.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

from seekwise.errors import MissingError, SeekwiseError
from seekwise.linux.block_device import Stack
from seekwise.settings.controllers import arcconf, ssacli, storcli, tw_cli
from seekwise.settings.controllers.tool import Argv, LogicalUnit, State, Tool, units

__all__ = ["ControllerCommand", "LogicalUnit", "State", "change", "read", "states", "tool_for", "units"]

TOOLS: tuple[Tool, ...] = (tw_cli.TOOL, storcli.TOOL, arcconf.TOOL, ssacli.TOOL)
TIMEOUT_S = 60


def tool_for(unit: LogicalUnit) -> Tool | None:
    """The controller's own tool, by the driver of the unit; None where none is known."""
    return next((tool for tool in TOOLS if unit.driver in tool.drivers), None)


def installed(tool: Tool) -> str | None:
    """The program of this tool that is on PATH."""
    return next((program for program in tool.programs if shutil.which(program)), None)


def read(unit: LogicalUnit) -> State | None:
    """What the tool says of the unit; None where there is no tool."""
    text = ask(unit)
    tool = tool_for(unit)
    return None if tool is None or text is None else tool.parse(text, unit)


def states(stack: Stack) -> dict[str, State]:
    """What the tools of RAID controllers say of their units, where a tool is installed."""
    states_by_unit = {name: read(unit) for name, unit in units(stack).items()}
    return {name: state for name, state in states_by_unit.items() if state is not None}


def ask(unit: LogicalUnit) -> str | None:
    """The output of the tool's queries; None where the tool is not installed."""
    tool = tool_for(unit)
    program = installed(tool) if tool else None
    if tool is None or program is None:
        return None
    texts = []
    for command in tool.query(program, unit):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        texts.append(done.stdout)
    return "\n".join(texts)


@dataclass(frozen=True)
class ControllerCommand:
    """`unknown`: how to find the words in capitals of the command; None: it is complete and can be run."""

    command: Argv
    unknown: str | None = None


def change(unit: LogicalUnit, name: str, on: bool, *, here: bool = True) -> ControllerCommand:
    """The command that switches `ncq` or `write_cache` of the unit (or of its whole controller).

    `here`: the unit is this machine's, so its tool may be asked where it is.
    """
    tool = tool_for(unit)
    if tool is None:
        raise MissingError(
            f"{unit.device}: seekwise knows no tool for the driver {unit.driver}", "see `seekwise explain`"
        )
    program = (installed(tool) if here else None) or tool.programs[0]
    command = tool.change(program, unit, name, on, ask(unit) if here else None)
    if command is None:
        raise SeekwiseError(f"{unit.device}: {tool.name} cannot switch {name}", "the controller's setup decides it")
    open_words = tool.unknown is not None and any(word in ("NUMBER", "slot=SLOT") for word in command)
    return ControllerCommand(command, tool.unknown(program, unit) if tool.unknown is not None and open_words else None)
