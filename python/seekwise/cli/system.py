"""`seekwise system install|uninstall`: man pages, completions, and the unit that restores after a crash."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click

from seekwise.advise.system import completions, install, manual, restore, units
from seekwise.control.state import SYSTEM_STATE

SCHEMA = "seekwise.system/1"


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
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@command.command("install")
@click.option("--weekly-status", is_flag=True, help="Also look for drift once a week (systemd timer).")
@root_option
@json_option
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
    written = install.install(install.Planned(files, units.enabled_links(weekly_status)), root)
    reload = _reload(root)
    if as_json:
        click.echo(json.dumps({"schema": SCHEMA, "installed": [f"/{path}" for path in written]}, indent=2))
        return
    pages = sum("/man/" in path for path in written)
    click.echo(f"{pages} man pages, completions for bash, zsh and fish, {units.RESTORE}")
    if weekly_status:
        click.echo(f"{units.TIMER}: looks for drift once a week; a failed unit means drift")
    if reload:
        click.echo(reload, err=True)
    click.echo("\nnext: `man seekwise`; `seekwise system uninstall` removes all of it", err=True)


@command.command("uninstall")
@root_option
@json_option
def uninstall_command(root: Path, as_json: bool) -> None:
    """Remove what `install` wrote, and nothing else."""
    said = install.uninstall(root)
    _reload(root)
    if as_json:
        click.echo(json.dumps({"schema": SCHEMA, "notes": said}, indent=2))
        return
    click.echo("\n".join(said) if said else "removed")


@command.command("restore", hidden=True)
def restore_command() -> None:
    """For the unit at boot: restore what a crash left."""
    for sentence in restore.restore():
        click.echo(sentence)


def _called() -> list[str]:
    """How a unit calls this very seekwise."""
    program = Path(sys.argv[0]).resolve()
    return [str(program)] if program.name == "seekwise" else [sys.executable, "-m", "seekwise.cli.main"]


def _reload(root: Path) -> str | None:
    if root != Path("/") or not Path("/run/systemd/system").is_dir() or (program := shutil.which("systemctl")) is None:
        return None
    done = subprocess.run([program, "daemon-reload"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"note: systemctl daemon-reload failed: {done.stderr.strip()}"
