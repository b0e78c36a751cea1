"""`tune --live` and `tune … -- COMMAND`: judge under a load that is not ours."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seekwise import invocation
from seekwise.cli import _standing, _tune_shown
from seekwise.control import child
from seekwise.control.switching import switching
from seekwise.errors import MissingError, UsageError
from seekwise.measure.live import latencies, own, passive, planning
from seekwise.store.database import Run, Store
from seekwise.workload.live_plan import LivePlan
from seekwise.workload.study.quantity import time_text

if TYPE_CHECKING:
    from seekwise.measure.kernel.target import Target
    from seekwise.measure.live.planning import Request

BUDGET_LEAST_S = 15.0
END_S = 2.0


def answer(request: Request) -> None:
    """Switches under the load that runs now, or under COMMAND; prints the answer."""
    from seekwise.measure.kernel.target import find

    guard = guard_factor(request.guard)
    _check_options(request)
    if request.uses is not None:
        raise UsageError("--for names loads of ours, and --live adds none", hint="leave one of them out")
    target = find(request.target, to_write=os.geteuid() == 0)
    if os.geteuid() != 0:
        raise MissingError("switching settings needs root", hint=invocation.with_sudo())
    if request.budget < BUDGET_LEAST_S:
        raise UsageError(
            f"{time_text(request.budget)} is too short under a load that changes by itself",
            hint=f"the least that works is --budget {BUDGET_LEAST_S:.0f}s; ten minutes answer well",
        )
    without = None if request.command_line else latencies.why_not()
    use = command_of(request).use() if request.command_line else passive.load_use(percentiles=not without)
    plan = planning.under_a_load(request, target, use, [f"No percentiles: {without}"] if without else [])
    run = planning.run_of(plan, request.target)
    with Store.open(request.db) as store:
        if not request.as_json:
            _tune_shown.print_stack(plan)
        _carry_out(request, store, run, plan, target, guard)
        _tune_shown.show(store, run.run_id, as_json=request.as_json, began_s=request.began_s)


def _check_options(request: Request) -> None:
    """Refuses options that would do nothing, and a folder in a program's place."""
    if request.destroy:
        raise UsageError("--destroy is for loads of ours, which write", hint="leave it out")
    if request.command_line:
        if request.guard is not None:
            raise UsageError(
                "--guard ends periods of a load that runs on, and a command runs to its end",
                hint="leave one of them out",
            )
        if Path(request.command_line[0]).is_dir():
            raise UsageError(
                f"{request.command_line[0]} is a folder, and what follows the first one is a program to run",
                hint=f"one folder at a time: `seekwise tune {shlex.quote(request.command_line[0])}`",
            )
        return
    options = {"--metric": request.metric, "--prepare": request.prepare, "--conclude": request.conclude}
    for name, value in {**options, "--cold": request.cold or None}.items():
        if value is not None:
            raise UsageError(f"{name} is for a program of yours", hint="add it after `--`: -- COMMAND")


def guard_factor(text: str | None) -> float | None:
    """3.0 of `3x` or `3`."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)x?", text.strip())
    if match is None or float(match[1]) <= 1:
        raise UsageError(f"--guard {text!r} is not a factor above 1", hint="for example --guard 3x")
    return float(match[1])


def _carry_out(request: Request, store: Store, run: Run, plan: LivePlan, target: Target, guard: float | None) -> None:
    from seekwise.measure.kernel import prepared_target

    deadline = request.began_s + plan.budget_s - END_S
    store.add_run(run)
    storage = target.watched()
    try:
        with (
            _tune_shown.interruptible(store, run),
            store.ending(run.run_id),
            storage.ending(),
            child.watched(),
            prepared_target.exclusively(target),
            switching([candidate.changes for candidate in plan.candidates]) as switch,
            _standing.watching(plan, quiet=request.as_json) as watch,
        ):
            common: dict[str, Any] = {
                "store": store,
                "run": run,
                "plan": plan,
                "switch": switch,
                "watch": watch,
                "storage": storage,
            }
            if request.command_line:
                own.measure(own.CommandRuns(**common, deadline_s=deadline, command=command_of(request)))
            else:
                with _sampler(plan) as sampler:
                    passive.measure(passive.LiveLoadRun(**common, deadline_s=deadline, guard=guard, sampler=sampler))
    except own.CommandFailed as error:
        for line in error.last_lines:
            click.echo(f"  | {line}", err=True)
        raise


def command_of(request: Request) -> own.Command:
    """The command as it was asked for; UsageError for options that do not go together."""
    own.pattern_of(request.metric)
    cold = None
    if request.cold:
        cold = Path(request.target).absolute()
        if not cold.is_dir():
            raise UsageError(
                f"--cold drops the files below a folder, and {request.target} is none", hint="name the folder"
            )
    return own.Command(request.command_line, request.metric, request.prepare, request.conclude, cold)


@contextmanager
def _sampler(plan: LivePlan) -> Iterator[latencies.Sampler | None]:
    """What collects latencies, where the plan judges by them."""
    if all("p99" not in job.judge for use in plan.uses for job in use.job):
        yield None
        return
    with latencies.sampled(plan.leaves, passive.requests_per_s(plan.leaves)) as sampler:
        yield sampler
