"""`seekwise help [COMMAND]`: how a command is used; `--all` lists every command."""

from __future__ import annotations

import click

from seekwise.cli import main
from seekwise.errors import UsageError


@click.command("help")
@click.argument("name", required=False, metavar="[COMMAND]")
@click.option("--all", "everything", is_flag=True, help="List the commands that `--help` leaves out, too.")
@click.pass_context
def command(ctx: click.Context, name: str | None, everything: bool) -> None:
    """Show how COMMAND is used, or list all commands."""
    tree = main.cli
    parent = ctx.parent or click.Context(tree, info_name="seekwise")
    if name is None:
        parent.meta[main.ALL] = everything
        click.echo(tree.get_help(parent))
        return
    if everything:
        raise UsageError("`--all` lists commands, so it takes no COMMAND", hint="leave one of them out")
    subcommand = tree.loaded(name)
    if subcommand is None:
        raise UsageError(
            f"no command is called `{name}`", hint=tree.meant(parent, name, "`seekwise help --all` lists them")
        )
    with click.Context(subcommand, info_name=name, parent=parent) as inner:
        click.echo(subcommand.get_help(inner))
