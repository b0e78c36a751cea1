"""Units behind RAID controllers: their state through the controller's own tool, and the exact command that would change it.

Nothing is changed here unless `run` is called, which `seekwise apply --controller-tool` alone does.
"""

from __future__ import annotations

import shutil
import subprocess

from seekwise.advise.controllers import arcconf, ssacli, storcli, tw_cli
from seekwise.advise.controllers.model import Argv, State, Tool, Unit, units
from seekwise.errors import MissingError, SeekwiseError

__all__ = ["TOOLS", "Argv", "State", "Tool", "Unit", "change", "read", "run", "tool_for", "units"]

TOOLS: tuple[Tool, ...] = (tw_cli.TOOL, storcli.TOOL, arcconf.TOOL, ssacli.TOOL)
TIMEOUT_S = 60


def tool_for(unit: Unit) -> Tool | None:
    return next((tool for tool in TOOLS if unit.driver in tool.drivers), None)


def installed(tool: Tool) -> str | None:
    """The program of this tool that is on PATH."""
    return next((program for program in tool.programs if shutil.which(program)), None)


def read(unit: Unit) -> State | None:
    """What the tool says of the unit; None where there is no tool or it says nothing."""
    tool = tool_for(unit)
    program = installed(tool) if tool else None
    if tool is None or program is None:
        return None
    texts = []
    for command in tool.query(program, unit):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        texts.append(done.stdout)
    return tool.parse("\n".join(texts), unit)


def change(unit: Unit, name: str, on: bool) -> Argv:
    """The command that switches `ncq` or `write_cache` of the unit (or of its whole controller)."""
    tool = tool_for(unit)
    if tool is None:
        raise MissingError(
            f"{unit.device}: seekwise knows no tool for the driver {unit.driver}", "see `seekwise explain`"
        )
    command = tool.change(installed(tool) or tool.programs[0], unit, name, on)
    if command is None:
        raise SeekwiseError(f"{unit.device}: {tool.name} cannot switch {name}", "the controller's setup decides it")
    return command


def run(command: Argv) -> str:
    """Runs a command that changes the controller; its output, or an error with what the tool said."""
    if shutil.which(command[0]) is None:
        raise MissingError(f"{command[0]} is not installed", "it comes from the maker of the controller")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SeekwiseError(f"{command[0]} could not be run: {error}") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise SeekwiseError(f"{' '.join(command)} failed with status {done.returncode}: {said[-1] if said else ''}")
    return done.stdout
