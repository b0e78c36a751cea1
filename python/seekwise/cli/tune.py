"""`seekwise tune PATH|DEVICE`: what to set for this storage, measured under a load that keeps running. The main job."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seekwise.cli import _options, _standing, _tune_shown
from seekwise.errors import UsageError
from seekwise.store.database import Store

if TYPE_CHECKING:
    from seekwise.measure.kernel.target import Target
    from seekwise.measure.live.planning import Request
    from seekwise.workload.live_plan import LivePlan

BUDGET_S = 120.0
STAGED_BUDGET_S = 300.0
"""Several settings at once need more than the schedulers alone."""
MODEL = "model:"
"""A target that begins so is a drive model on the simulator."""


@click.command("tune")
@click.argument("target", metavar="PATH|DEVICE|model:NAME")
@click.option("--for", "uses", metavar="USE,…", help="Uses, groups, TOML files; `desktop=3` counts 3 times.")
@click.option("--vary", multiple=True, metavar="NAME=VALUE,…", help="Compare these values instead of the schedulers.")
@click.option("--also", metavar="NAME,…", help="Settings to try as well as the scheduler, or `all`.")
@click.option("--live", is_flag=True, help="Add no load: compare under the load that runs now, or under -- COMMAND.")
@click.option("--metric", metavar="REGEX", help="With -- COMMAND: the number in its output to compare by.")
@click.option("--prepare", metavar="CMD", help="With -- COMMAND: shell command to run before each run, not timed.")
@click.option("--conclude", metavar="CMD", help="With -- COMMAND: shell command to run after each run, not timed.")
@click.option("--cold", is_flag=True, help="With -- COMMAND: before each run, drop the files below PATH from memory.")
@click.option("--guard", metavar="3x", help="With --live: end a period whose latency exceeds this factor.")
@click.option("--no-prior", is_flag=True, help="Use this run alone, without what is known of schedulers in general.")
@_options.name
@click.option("--threshold", metavar="SHARE", type=_options.Share(0.4), help="Losses up to this count as equal (5%).")
@click.option(
    "--budget", type=_options.Duration(), help="Time for everything, e.g. 90s: 2m by default, 5m with --also."
)
@click.option("--kernel", metavar="VERSION", help="With model:NAME: the Linux version (6.1).")
@_options.seed("Seed of the order in which settings run.")
@click.option("--destroy", multiple=True, metavar="NAME", help="Serial or by-id path of an empty device to write to.")
@_options.accept_kernel_fault
@_options.common
@click.argument("command_line", nargs=-1, metavar="[-- COMMAND …]")
def command(
    target: str, uses: str | None, as_json: bool, db: Path | None, budget: float | None, **options: Any
) -> None:
    """Measure PATH under typical uses; say what to set.

    Runs typical uses on scratch files (a program start while a file is copied, a database, streams …), switches the
    settings under them, and names one setting, what it gains and what it costs. Everything is restored afterwards.
    """
    began = time.monotonic()
    if budget is not None and target.startswith(MODEL):
        raise UsageError(
            "--budget is for a real device: a model plays every load to its end",
            hint="leave it out, or name fewer uses: `--for`",
        )
    if budget is None:
        budget = STAGED_BUDGET_S if options["also"] is not None else BUDGET_S
    from seekwise.measure.live.planning import Request

    answer(Request(target=target, uses=uses, db=db, as_json=as_json, began_s=began, budget=budget, **options))


def answer(request: Request) -> None:
    """Measures and prints. Raises SeekwiseError for whatever is refused or fails."""
    if request.target.startswith(MODEL):
        from seekwise.cli import _tune_model

        _tune_model.answer(request)
        return
    if request.kernel is not None:
        raise UsageError(
            "--kernel is for drive models, and a device has the kernel that runs",
            hint=f"{MODEL}NAME simulates a drive model: `seekwise tune {MODEL}generic_1tb_sata --kernel {request.kernel}`",
        )
    if request.live or request.command_line:
        from seekwise.cli import _tune_live

        _tune_live.answer(request)
        return
    of_a_command = (("--metric", request.metric), ("--prepare", request.prepare), ("--conclude", request.conclude))
    for name, value in (("--guard", request.guard), *of_a_command, ("--cold", request.cold or None)):
        if value is not None:
            raise UsageError(
                f"{name} is for a load that is not ours", hint="add --live, or a program of yours after `--`"
            )
    from seekwise.measure.kernel.prepared_target import check_named
    from seekwise.measure.kernel.target import find
    from seekwise.workload.study import uses as use_files

    check_named(request.target, request.destroy)
    target = find(request.target, to_write=os.geteuid() == 0)  # without root nothing is measured
    if os.path.isfile(request.target):
        folder = shlex.quote(os.path.dirname(request.target) or ".")
        raise UsageError(f"{request.target} is a file, and the loads need a folder", hint=f"`seekwise tune {folder}`")
    use_files.chosen(request.uses)  # what is misspelt is said before root is asked for
    if os.geteuid() != 0:
        from seekwise.cli import _tune_unprivileged

        _tune_unprivileged.answer(request, target)
        return
    from seekwise.measure.live import planning

    measure(request, planning.make_plan(request, target), target)


def measure(request: Request, plan: LivePlan, target: Target) -> None:
    """Runs the plan; prints the answer or one JSON document."""
    from seekwise.measure.live import execute, planning

    run = planning.run_of(plan, request.target)
    with Store.open(request.db) as store:
        if not request.as_json:
            _tune_shown.print_stack(plan)
        with _tune_shown.interruptible(store, run), _standing.watching(plan, quiet=request.as_json) as watch:
            execute.carry_out(store, run, plan, target, watch, request.began_s, request.destroy)
        _tune_shown.show(store, run.run_id, as_json=request.as_json, began_s=request.began_s)
