"""`seekwise capture FILE.tar.gz`: this machine's storage as a small archive that `--root` reads elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from seekwise import invocation
from seekwise.linux.capture import capture


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--anonymise",
    is_flag=True,
    help="Replace serials, world-wide names, servers of network mounts, the host in md names.",
)
@click.option("--root", type=click.Path(path_type=Path), default=Path("/"), hidden=True)
def command(file: Path, anonymise: bool, root: Path) -> None:
    """Write a description of this machine's storage to FILE.

    FILE is a tar.gz of what seekwise reads.

    Only files below /sys, /proc, /dev links and udev's database that describe storage; no contents of your files. Names
    that people gave are in it: mount points, volume groups, labels. As root more is readable, such as SCSI serials.
    """
    size = capture(file, anonymise=anonymise, root=root)
    click.echo(f"{file}: {size / 1000:.0f} kB", err=True)
    click.echo(f"look at it with `{invocation.line(f'seekwise devices --root {file}')}`", err=True)
