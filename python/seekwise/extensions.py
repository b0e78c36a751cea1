"""What other distributions add to the program when they are installed: entry points, by group.

    seekwise.commands    NAME = "module:command"     a command of the command line
    seekwise.backends    NAME = "module:Backend"     who carries out trials under that name
    seekwise.studies     NAME = "package"            TOML files in the package's folder `studies`; NAME/STUDY names one, too

Looking takes some milliseconds, so a command that needs nothing of others does not look.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from seekwise.errors import MissingError

COMMANDS = "seekwise.commands"
BACKENDS = "seekwise.backends"
STUDIES = "seekwise.studies"


@cache
def entries(group: str) -> dict[str, EntryPoint]:
    """{name: entry point} of a group, in alphabetical order."""
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}


def present(group: str) -> dict[str, EntryPoint]:
    """Those of `entries` whose module is there: an older version may have declared one that the installed files
    lack."""
    return {name: entry for name, entry in entries(group).items() if _has_module(entry)}


def _has_module(entry: EntryPoint) -> bool:
    try:
        return find_spec(entry.module) is not None
    except (ImportError, ValueError):
        return False


def load(entry: EntryPoint) -> Any:
    """What the entry point names. MissingError where the installed distribution cannot be imported, whatever it raises
    at that."""
    try:
        return entry.load()
    except Exception as error:
        whose = entry.dist.name if entry.dist is not None else entry.module.partition(".")[0]
        raise MissingError(
            f"`{entry.name}` of the installed `{whose}` cannot be loaded ({type(error).__name__}: {error})",
            hint=f"install {whose} again, in the version of seekwise: `pip install --force-reinstall {whose}`",
        ) from error
