"""The work behind `seekwise tune`: choose the way, measure, judge, print the answer, write the report."""

from __future__ import annotations

import json
import os
import secrets
import sys
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise.cli import _standing
from seekwise.errors import MissingError, UsageError
from seekwise.run.live import candidates as candidates_of
from seekwise.run.live.candidates import Candidate, Candidates
from seekwise.run.live.plan import LivePlan
from seekwise.store.database import Run, Store, now
from seekwise.store.run_id import new_run_id
from seekwise.study import uses as use_files
from seekwise.study.uses import Use

if TYPE_CHECKING:
    from seekwise.analysis.decision.table import Threshold

MODEL = "model:"
"""A target that begins so is a drive model on the simulator."""
LAB = "lab:"
"""A target that begins so is a drive model under a real kernel in the VM testbed."""


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    target: str
    uses: str | None
    vary: tuple[str, ...]
    also: str | None
    profile: str | None
    live: bool
    metric: str | None
    guard: str | None
    self_check: bool
    name: str | None
    threshold: float | None
    budget: float
    seed: int | None
    destroy: tuple[str, ...]
    db: Path | None
    as_json: bool
    command_line: tuple[str, ...]
    began_s: float
    kernel: str | None = None
    prepare: str | None = None
    conclude: str | None = None
    cold: bool = False


def answer(request: Request) -> None:
    """Measures and prints. Raises SeekwiseError for whatever is refused or fails."""
    if request.target.startswith(MODEL):
        from seekwise.cli import _tune_simulated

        _tune_simulated.answer(request)
        return
    if request.target.startswith(LAB):
        from seekwise.cli import _tune_virtual

        _tune_virtual.answer(request)
        return
    if request.kernel is not None:
        raise UsageError(
            "--kernel is for drive models, and a device has the kernel that runs",
            hint=f"{MODEL}NAME simulates a drive model: `seekwise tune {MODEL}generic_1tb_sata --kernel {request.kernel}`",
        )
    if request.profile is not None:
        _profile(request)
        return
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
    from seekwise.backend.kernel.target import find

    target = find(request.target)
    chosen = use_files.chosen(request.uses)
    if os.geteuid() != 0:
        from seekwise.cli import _tune_unprivileged

        _tune_unprivileged.answer(request, target)
        return
    compared = compared_settings(request, target)
    plan = make_plan(request, target, compared, chosen)
    measure(request, plan, target)


def compared_settings(request: Request, target) -> Candidates:
    """What is compared: --vary, or the schedulers (--also tries further settings beside them)."""
    if request.vary:
        if request.also is not None:
            raise UsageError("--vary and --also both name what to try", hint="use one of them")
        wanted = candidates_of.parse_vary(request.vary)
        return candidates_of.of_factors(target, wanted, again=request.self_check)
    if not candidates_of.offered_schedulers(target):
        raise MissingError(
            f"the drives below {target.path} offer no I/O schedulers",
            hint="`seekwise devices PATH` shows the stack; --vary read_ahead_kb=128,1024 compares read-ahead instead",
        )
    return candidates_of.of_schedulers(target, again=request.self_check)


def _why_no_fio() -> MissingError | None:
    from seekwise.backend.kernel import fio

    try:
        fio.find()
    except MissingError as error:
        return error
    return None


def make_plan(request: Request, target, compared: Candidates, chosen: list[Use]) -> LivePlan:
    """Refuses what cannot work; chooses the uses that fit the budget."""
    from seekwise.backend.kernel import prepared_target
    from seekwise.run.live import execute, prepare, progress, staged

    labels = compared.labels
    beside = _beside(request, target)
    execute.check_budget(request.budget, len(labels), staged_too=beside is not None)
    chosen, said = use_files.installed(chosen, named=request.uses is not None, without_fio=_why_no_fio())
    if target.is_device:
        chosen, also_said = use_files.without_programs(
            chosen, "a bare device has no file system", named=request.uses is not None
        )
        said += also_said
    chosen, notes = felt(chosen, compared, named=request.uses is not None, levels=beside.levels if beside else ())
    notes += said
    seconds = request.budget - execute.END_S - execute.PREPARE_LEAST_S
    if beside is not None:
        notes += beside.notes
        seconds *= staged.SCHEDULERS_SHARE / progress.FIT_SHARE
    measured, left_out = progress.uses_that_fit(chosen, len(labels), seconds)
    notes += use_files.offered(left_out)
    if not target.is_device:
        prepare.check_room(target.path, measured)
    prepared_target.check_free(target)
    if target.is_device:
        prepared_target.check_claim(target, request.destroy)
    tried = (*compared.all, *(beside.levels if beside is not None else ()))
    return LivePlan(
        target=str(target.path),
        leaves=target.leaf_names,
        stack=target.lines,
        current=prepared_target.seen(candidates_of.devices_of(target, tried)),
        candidates=compared.all,
        uses=tuple(measured),
        left_out=tuple(use.name for use in left_out),
        threshold=threshold_of(request),
        budget_s=request.budget,
        seed=request.seed if request.seed is not None else secrets.randbelow(2**31),
        notes=(*compared.notes, *notes),
        warnings=target.warnings,
        name=request.name,
        group=request.uses,
        levels=beside.levels if beside is not None else (),
        extra={"combinations": beside.combinations} if beside is not None else {},
    )


def threshold_of(request: Request) -> Threshold:
    """What counts as equal: --threshold for rates, twice that for times and for what runs in the background."""
    from seekwise.analysis.decision.table import Threshold

    if request.threshold is None:
        return Threshold()
    return Threshold(request.threshold, 2 * request.threshold, 2 * request.threshold)


def _beside(request: Request, target):
    """What --also asks for; None without it."""
    if request.also is None:
        return None
    from seekwise.run.live import also

    return also.space(target, also.areas_of(request.also))


def felt(
    chosen: list[Use], compared: Candidates, *, named: bool, levels: tuple[Candidate, ...] = ()
) -> tuple[list[Use], list[str]]:
    """Uses that can feel what is varied: direct I/O ignores read-ahead, so only buffered reads tell about it."""
    varied = {name for each in (*compared.all, *levels) for name in each.values}
    reading = [use for use in chosen if any(job.feels_read_ahead for job in use.job)]
    others = [use for use in chosen if use not in reading]
    if varied == {"read_ahead_kb"}:
        if not reading:
            raise UsageError(
                f"{', '.join(use.name for use in chosen)} cannot feel read_ahead_kb: direct reads are not read ahead",
                hint="leave --for out, or name `--for streams`",
            )
        return reading, [f"Left out, for they read directly and ignore read-ahead: {_few(others)}"] if others else []
    if levels and reading and not named:
        # One that feels read-ahead within any budget.
        return [*others[:1], *reading[:1], *others[1:], *reading[1:]], []
    return chosen, []


def _few(uses: list[Use]) -> str:
    names = [use.name for use in uses]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def measure(request: Request, plan: LivePlan, target) -> None:
    """Runs the plan; prints the answer or one JSON document."""
    from seekwise.run.live import execute

    run = run_of(plan, request.target)
    with Store.open(request.db) as store:
        if not request.as_json:
            print_stack(plan)
        with _standing.watching(plan, quiet=request.as_json) as watch:
            execute.carry_out(store, run, plan, target, watch, request.began_s, request.destroy)
        show(store, run.run_id, as_json=request.as_json, began_s=request.began_s)


def run_of(plan: LivePlan, target: str, backend: str = "kernel") -> Run:
    """A run of this plan that begins now. `target` as the user named it."""
    return Run(
        run_id=new_run_id(),
        created_at=now(),
        seekwise_version=version("seekwise"),
        name=plan.name or "tune",
        backend=backend,
        target=target,
        seed=plan.seed,
        study="",
        plan=plan.to_document(),
        ended_at=None,
        outcome=None,
    )


def print_stack(plan: LivePlan) -> None:
    for line in plan.stack:
        click.echo(line, err=True)
    for warning in plan.warnings:
        click.echo(f"warning: {warning}", err=True)


def show(store: Store, run_id: str, *, as_json: bool, began_s: float | None = None) -> None:
    """The answer of a stored run, and its report beside the working folder."""
    import time

    from seekwise.report import answer as words
    from seekwise.report import live, live_page

    found = live.of(store, store.run(run_id))
    if began_s is not None:
        found = replace(found, seconds=time.monotonic() - began_s)
    path = live_page.write(live.report_path(run_id), found)
    if as_json:
        click.echo(json.dumps(live.document(found, report=str(path)), indent=1, allow_nan=False))
        return
    width = 80 if not sys.stdout.isatty() else min(100, max(60, os.get_terminal_size().columns))
    for line in words.lines(found, str(path), width):
        click.echo(line)


def _profile(request: Request) -> None:
    """The older way: phases of a profile in trials of their own."""
    from seekwise.backend.protocol import Options
    from seekwise.cli import _job
    from seekwise.study import profiles, starters
    from seekwise.study.model import Workload

    if request.profile not in profiles.names():
        raise UsageError(f"no profile is called {request.profile!r}", hint=f"profiles: {', '.join(profiles.names())}")
    study = starters.tune(request.target)
    study = study.model_copy(update={"workload": [Workload(profile=request.profile)]})
    text = starters.text("tune").replace('profile = "quick"', f'profile = "{request.profile}"')
    options = Options(request.target, request.destroy)
    made, backend = _job.planned(study, options, seed=request.seed, budget_s=request.budget, fit_room=True)
    _job.carried_out(
        made, backend, text, target=request.target, db=request.db, as_json=request.as_json, report_folder=Path()
    )
