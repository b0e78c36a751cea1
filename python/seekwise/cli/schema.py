"""`seekwise schema [NAME]`: JSON schemas of what `--json` prints."""

from __future__ import annotations

import json

import click


@click.command()
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """Print the JSON schema of what `--json` prints.

    NAME is that of the document's `schema` field, e.g. `tune` or `seekwise.tune/1`. Without NAME, list them.
    """
    from seekwise.cli import schemas

    if name is None:
        for known in schemas.names():
            click.echo(f"{known:34} {schemas.load(known).get('description', '')}")
        return
    click.echo(json.dumps(schemas.load(name), indent=1, ensure_ascii=False))
