"""`seekwise config`: the defaults that a user keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import click

from seekwise import config
from seekwise.cli import _options, _shown


@dataclass(frozen=True)
class Config:
    """`config --json`."""

    SCHEMA: ClassVar = "seekwise.config/1"

    file: str
    settings: dict[str, object]


@click.command("config")
@_options.as_json()
def command(as_json: bool) -> None:
    """Show the file of your defaults and what it says.

    Write it with any editor: `colour = "never"`, `db = "/srv/results.db"`, and a table for each command, `[tune]` with `budget = "5m"`.
    """
    found = config.load()
    if as_json:
        _shown.echo_json(Config(str(config.path()), found))
        return
    click.echo(config.path() if found else f"{config.path()} (not there: no defaults are set)")
    for name, value in sorted(found.items()):
        if isinstance(value, dict):
            for key, inner in sorted(value.items()):
                click.echo(f"{name}.{key} = {_text(inner)}")
        else:
            click.echo(f"{name} = {_text(value)}")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
