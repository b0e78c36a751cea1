"""`seekwise advise RUN [--for …]`: which setting for which work, and what following it costs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise.cli import _options, _shown
from seekwise.judge import workloads
from seekwise.judge.workloads import OperationMix
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack
from seekwise.report import of_run
from seekwise.report.layout import print_lines
from seekwise.settings import drive_class
from seekwise.store.database import Store


@dataclass(frozen=True)
class Workloads:
    """`advise --list --json`."""

    SCHEMA: ClassVar = "seekwise.workloads/1"

    workloads: list[OperationMix]


@click.command("advise")
@click.argument("run", default="last", metavar="[RUN]")
@click.option(
    "--for",
    "purpose",
    metavar="USE",
    help="Use or group to advise for, as in `tune --for` (see --list), or a TOML file.",
)
@click.option("--system", metavar="NAME", help="Advise for this system of a study with several.")
@click.option(
    "--device", metavar="PATH|DEVICE", help="Say what suits the class of the drives below, without measuring."
)
@click.option("--list", "listing", is_flag=True, help="Show the uses that can weigh a study, and their weights.")
@_options.common
def command(
    run: str, purpose: str | None, system: str | None, device: str | None, listing: bool, db: Path | None, as_json: bool
) -> None:
    """Say what to set according to RUN (default: the last).

    With --device: what suits the class of drive, without measuring.
    """
    if listing:
        _list(as_json)
        return
    if device is not None:
        _class(device, as_json)
        return
    with Store.open(db, create=False) as store:
        found = of_run.of(store, store.run(run)).advised(purpose, system)
    if as_json:
        _shown.echo_json(found.document())
    else:
        found.show(_shown.out())


def _class(target: str, as_json: bool) -> None:
    """A sentence for each drive of another class below the target."""
    found = resolve_path(read_stack(), target)
    drives = {(drive_class.class_of(each), each.scheduler): each for each in reversed(found.leaves)}
    if as_json:
        _shown.echo_json(drive_class.ClassAdvices([drive_class.advice(each, target) for each in drives.values()]))
        return
    said = [
        line for each in drives.values() for line in (drive_class.sentence(each, target), *drive_class.lock_caps(each))
    ]
    print_lines(list(dict.fromkeys(said)), _shown.out())


def _list(as_json: bool) -> None:
    known = workloads.shipped()
    if as_json:
        _shown.echo_json(Workloads(list(known.values())))
        return
    for each in known.values():
        shares = ", ".join(f"{name} {share:g}" for name, share in each.operations.items())
        click.echo(f"{each.name}: {each.meaning}\n  {shares}; threads: {each.threads}")
