"""`seekwise plan STUDY`: cells, order, estimated time, bytes written, every setting that would be touched."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import Literal

import click

from seekwise.backend.protocol import Options
from seekwise.cli import _job, _options, _shown
from seekwise.cli.run import one_system
from seekwise.errors import SeekwiseError
from seekwise.store.database import Store
from seekwise.study import starters

SETUP_SCHEMA = "seekwise.setup/1"


@click.command("plan")
@click.argument("study", metavar="STUDY")
@_options.backend
@_options.target
@click.option("--system", metavar="NAME", help="Plan only this system of a study with several.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of the order and of every trial.")
@click.option("--budget", type=_options.Duration(), help="Fit the plan to this time, e.g. 10m.")
@_options.until
@click.option(
    "--setup",
    is_flag=True,
    help="Print the lines that build the study's systems: boot line, mdadm, tw_cli, LVM, mkfs, sysfs, fstrim, tiotest, fio.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    study: str,
    backend: str | None,
    target: str | None,
    system: str | None,
    seed: int | None,
    budget: float | None,
    until: Literal["decided", "best"] | None,
    setup: bool,
    as_json: bool,
) -> None:
    """Show what STUDY would do here. Nothing is touched."""
    chosen, _ = starters.open_study(study)
    if backend is not None:
        chosen = chosen.model_copy(update={"backend": backend})
    if system is not None:
        chosen = one_system(chosen, system)
    if setup:
        from seekwise.backend import setup_lines

        found = setup_lines.lines(chosen)
        if as_json:
            _shown.echo_json({"schema": SETUP_SCHEMA, "study": chosen.name, "lines": found})
        else:
            click.echo("\n".join(found))
        return
    made, _ = _job.planned(chosen, Options(target), seed=seed, budget_s=budget, until=until)
    from seekwise.run import early  # judging loads half a second of libraries

    noise = None
    # Earlier runs tell the noise; without any, nothing is wrong.
    with contextlib.suppress(SeekwiseError), Store.open(None, create=False) as store:
        noise = early.known_noise(made, store)
    if as_json:
        _shown.echo_json({**made.to_document(), "forecast": asdict(early.expected(made, noise))})
        return
    for line in _shown.plan_text(made, noise):
        click.echo(line)
    words = [
        f" --{name} {value}" for name, value in (("backend", backend), ("system", system), ("target", target)) if value
    ]
    click.echo(f"\nnext: seekwise run {study}{''.join(words)}")
