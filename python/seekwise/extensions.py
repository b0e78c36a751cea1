"""What other distributions add to the program when they are installed: entry points, by group.

    seekwise.commands    NAME = "module:command"     a command of the command line
    seekwise.backends    NAME = "module:Backend"     who carries out trials under that name
    seekwise.studies     NAME = "package"            TOML files in the package's folder `studies`; NAME/STUDY names one, too

Looking takes some milliseconds, so a command that needs nothing of others does not look.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

COMMANDS = "seekwise.commands"
BACKENDS = "seekwise.backends"
STUDIES = "seekwise.studies"


@cache
def entries(group: str) -> dict[str, EntryPoint]:
    """{name: entry point} of a group, in alphabetical order."""
    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}
