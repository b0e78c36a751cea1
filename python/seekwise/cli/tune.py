"""`seekwise tune PATH|DEVICE`: what to set for this storage, measured under a load that keeps running. The main job."""

from __future__ import annotations

import time
from pathlib import Path

import click

from seekwise.cli import _options, _tune

BUDGET_S = 120.0
STAGED_BUDGET_S = 300.0
"""Several settings at once need more than the schedulers alone."""


@click.command("tune")
@click.argument("target", metavar="PATH|DEVICE|model:NAME|lab:NAME")
@click.option("--for", "uses", metavar="USE,…", help="Uses or groups to measure, or TOML files of your own.")
@click.option("--vary", multiple=True, metavar="NAME=VALUE,…", help="Compare these values instead of the schedulers.")
@click.option("--also", metavar="NAME,…", help="Settings to try as well as the scheduler, or `all`.")
@click.option("--profile", metavar="NAME", help="Measure a profile in trials instead, e.g. tiotest.")
@click.option("--live", is_flag=True, help="Add no load: compare under the load that runs now, or under -- COMMAND.")
@click.option("--metric", metavar="REGEX", help="With -- COMMAND: the number in its output to compare by.")
@click.option("--prepare", metavar="CMD", help="With -- COMMAND: shell command to run before each run, not timed.")
@click.option("--conclude", metavar="CMD", help="With -- COMMAND: shell command to run after each run, not timed.")
@click.option("--cold", is_flag=True, help="With -- COMMAND: before each run, drop the files below PATH from memory.")
@click.option("--guard", metavar="3x", help="With --live: end a period whose latency exceeds this factor.")
@click.option("--self-check", is_flag=True, help="Also compare the setting in force with itself.")
@click.option("--name", metavar="NAME", help="Name of the run, for `seekwise compare NAME NAME`.")
@click.option("--threshold", metavar="SHARE", type=_options.Share(), help="Losses up to this count as equal (5%).")
@click.option(
    "--budget", type=_options.Duration(), help="Time for everything, e.g. 90s: 2m by default, 5m with --also."
)
@click.option("--kernel", metavar="VERSION", help="With model:NAME and lab:NAME: the Linux version (6.1).")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of the order in which settings run.")
@click.option("--destroy", multiple=True, metavar="NAME", help="Serial or by-id path of an empty device to write to.")
@_options.common
@click.argument("command_line", nargs=-1, metavar="[-- COMMAND …]")
def command(
    target: str, uses: str | None, as_json: bool, db: Path | None, budget: float | None, **options: object
) -> None:
    """Measure PATH under typical uses; say what to set.

    Runs typical uses on scratch files (a program start while a file is copied, a database, streams …), switches the settings
    under them, and names one setting with the most it can lose. Everything is restored afterwards.
    """
    began = time.monotonic()
    if budget is None:
        budget = STAGED_BUDGET_S if options["also"] is not None else BUDGET_S
    request = _tune.Request(target=target, uses=uses, db=db, as_json=as_json, began_s=began, budget=budget, **options)
    _tune.answer(request)
