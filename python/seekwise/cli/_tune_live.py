"""`tune --live` and `tune … -- COMMAND`: judge under a load that is not ours."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from seekwise.cli import _output, _tune
from seekwise.control.switching import switching
from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.run.live import execute, latencies, passive
from seekwise.run.live.plan import LivePlan
from seekwise.store.database import Run, Store
from seekwise.study.quantity import time_text

if TYPE_CHECKING:
    from seekwise.cli._tune import Request

BUDGET_LEAST_S = 15.0
END_S = 2.0


def answer(request: Request) -> None:
    """Switches under the load that runs now, or under COMMAND; prints the answer."""
    from seekwise.backend.kernel import prepared_target
    from seekwise.backend.kernel.target import find

    guard = guard_factor(request.guard)
    if request.uses is not None:
        raise UsageError("--for names loads of ours, and --live adds none", hint="leave one of them out")
    target = find(request.target)
    if os.geteuid() != 0:
        raise MissingError("switching settings needs root", hint=f"sudo seekwise tune --live {request.target}")
    if request.budget < BUDGET_LEAST_S:
        raise UsageError(
            f"{time_text(request.budget)} is too short under a load that changes by itself",
            hint=f"the least that works is --budget {BUDGET_LEAST_S:.0f}s; ten minutes answer well",
        )
    compared = _tune.compared_settings(request, target)
    prepared_target.check_free(target)
    without = None if request.command_line else latencies.why_not()
    use = passive.command_use(request.metric) if request.command_line else passive.load_use(percentiles=not without)
    names = tuple(device.name for device in target.resolved.chain())
    plan = LivePlan(
        target=str(target.path),
        leaves=target.leaf_names,
        stack=target.lines,
        current=prepared_target.seen(names),
        candidates=compared.all,
        uses=(use,),
        left_out=(),
        threshold=_tune.threshold_of(request),
        budget_s=request.budget,
        seed=request.seed if request.seed is not None else secrets.randbelow(2**31),
        notes=(*compared.notes, *([f"No percentiles: {without}"] if without else [])),
        warnings=target.warnings,
        name=request.name,
        extra={"live": True, "command": list(request.command_line)},
    )
    run = _tune.run_of(plan, request.target)
    with Store.open(request.db) as store:
        if not request.as_json:
            _tune.print_stack(plan)
        _carry_out(request, store, run, plan, target, guard)
        _show(store, run.run_id, request)


def guard_factor(text: str | None) -> float | None:
    """3.0 of `3x` or `3`."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)x?", text.strip())
    if match is None or float(match[1]) <= 1:
        raise UsageError(f"--guard {text!r} is not a factor above 1", hint="for example --guard 3x")
    return float(match[1])


def _carry_out(request: Request, store: Store, run: Run, plan: LivePlan, target, guard: float | None) -> None:
    from seekwise.backend.kernel import prepared_target

    deadline = request.began_s + plan.budget_s - END_S
    told = [""]

    def tell(label: str, left_s: float) -> None:
        text = f"{label} in force, {time_text(left_s)} left"
        if not request.as_json and time.monotonic() - float(told[0] or 0) >= 10:
            told[0] = str(time.monotonic())
            _output.progress(text)

    store.add_run(run)
    found = passive.Found()
    try:
        try:
            with prepared_target.exclusively(target), switching([each.changes for each in plan.candidates]) as switch:
                if request.command_line:
                    passive.with_command(
                        plan, run.run_id, switch, request.command_line, request.metric, deadline, found, tell=tell
                    )
                else:
                    with _sampler(plan) as sampler:
                        passive.under_load(
                            plan, run.run_id, switch, deadline, found, guard=guard, sampler=sampler, tell=tell
                        )
        finally:
            # An hour of somebody's production is kept, whatever ends it.
            for record in found.records:
                if found.said and record.trial == 0:
                    record.conditions["said"] = found.said
                store.add(record)
    except BaseException as error:
        store.end_run(run.run_id, execute.ending(error))
        raise
    store.end_run(run.run_id, "complete")


@contextmanager
def _sampler(plan: LivePlan) -> Iterator[latencies.Sampler | None]:
    """What collects latencies, where the plan judges by them."""
    if all("p99" not in job.judge for use in plan.uses for job in use.job):
        yield None
        return
    with latencies.sampled(plan.leaves, passive.requests_per_s(plan.leaves)) as sampler:
        yield sampler


def _show(store: Store, run_id: str, request: Request) -> None:
    from seekwise.report import answer as words
    from seekwise.report import live, live_page

    found = replace(live.of(store, store.run(run_id)), seconds=time.monotonic() - request.began_s)
    if not found.records:
        raise SeekwiseError("nothing was measured: the command did not run once", hint="a longer --budget")
    path = live_page.write(live.report_path(run_id), found)
    if request.as_json:
        click.echo(json.dumps(live.document(found, report=str(path)), indent=1, allow_nan=False))
        return
    for line in words.lines(found, str(path)):
        click.echo(line)
