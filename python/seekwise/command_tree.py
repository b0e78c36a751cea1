"""The program's commands, for packages below the command line that explain them: `cli.main` puts its tree here."""

from __future__ import annotations

import click

_ROOT: list[click.Group] = []


def set_root(tree: click.Group) -> None:
    """Makes the commands known; called once by the command line."""
    _ROOT[:] = [tree]


def root() -> click.Group | None:
    """None in a program that uses Seekwise as a library: it has no command line."""
    return _ROOT[0] if _ROOT else None
