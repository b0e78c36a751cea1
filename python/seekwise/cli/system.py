"""`seekwise system install|uninstall`: man pages, completions, and the unit that restores after a crash."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

import click

from seekwise.cli import _options, _shown
from seekwise.control.state import SYSTEM_STATE
from seekwise.settings.system import completions, install, manager, manual, restore, units


@dataclass(frozen=True)
class SystemInstall:
    """`system install --json` (`installed`) and `system uninstall --json` (`notes`)."""

    SCHEMA: ClassVar = "seekwise.system/1"

    installed: Sequence[str] = ()
    notes: Sequence[str] = ()


@click.group("system")
def command() -> None:
    """Install or remove man pages, completions, systemd units."""


root_option = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path("/"),
    metavar="FOLDER",
    help="Install below this folder, for a package.",
)


@command.command("install")
@click.option("--weekly-status", is_flag=True, help="Also look for drift once a week (systemd timer).")
@root_option
@_options.as_json()
def install_command(weekly_status: bool, root: Path, as_json: bool) -> None:
    """Install man pages, completions and the restore unit.

    The unit restores settings at boot after a crash.
    """
    from seekwise.cli.main import cli

    files = {
        f"usr/share/man/man{manual.SECTION}/{name}": text
        for name, text in manual.pages(cli, version("seekwise")).items()
    }
    files |= completions.files(cli)
    files |= units.files(_called(), str(SYSTEM_STATE), weekly_status)
    planned = install.InstallPlan(files, units.enabled_links(weekly_status))
    install.check(planned, root)
    if install.read_list(root) is not None:
        # An older installation is replaced; it may have had a timer that this one does not want.
        _remove(root)
    written = install.install(planned, root)
    note = manager.after_install(root, weekly_status)
    if as_json:
        _shown.echo_json(SystemInstall([f"/{path}" for path in written]))
        return
    pages = sum("/man/" in path for path in written)
    click.echo(f"{pages} man pages, completions for bash, zsh and fish, {units.RESTORE}")
    if weekly_status:
        click.echo(f"{units.TIMER}: looks for drift once a week; a failed unit means drift")
    if note:
        click.echo(note, err=True)
    click.echo("\nnext: `man seekwise`; `seekwise system uninstall` removes all of it", err=True)


@command.command("uninstall")
@root_option
@_options.as_json()
def uninstall_command(root: Path, as_json: bool) -> None:
    """Remove what `install` wrote, and nothing else."""
    said = _remove(root)
    if as_json:
        _shown.echo_json(SystemInstall(notes=said))
        return
    click.echo("\n".join(said) if said else "removed")


@command.command("restore", hidden=True)
def restore_command() -> None:
    """For the unit at boot: restore what a crash left."""
    for sentence in restore.restore():
        click.echo(sentence)


def _remove(root: Path) -> list[str]:
    if install.read_list(root) is None:
        return install.uninstall(root)
    manager.before_removal(root)
    said = install.uninstall(root)
    manager.after_removal(root)
    return said


def _called() -> list[str]:
    """How a unit calls this very seekwise."""
    program = Path(sys.argv[0]).resolve()
    return [str(program)] if program.name == "seekwise" else [sys.executable, "-P", "-m", "seekwise.cli.main"]
