"""What `tune` was asked, and the plan that it becomes: which settings are compared, under which uses, in how much time."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from seekwise.errors import MissingError, UsageError
from seekwise.measure.kernel import fio, prepared_target
from seekwise.measure.live import also, execute, prepare, progress, staged
from seekwise.measure.live import candidates as candidates_of
from seekwise.measure.live.candidates import Candidates
from seekwise.store.database import Run
from seekwise.workload.live_plan import Candidate, LivePlan
from seekwise.workload.study import uses as use_files
from seekwise.workload.study.uses import Use

if TYPE_CHECKING:
    from seekwise.measure.kernel.target import Target
    from seekwise.workload.live_plan import Threshold


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    target: str
    uses: str | None
    vary: tuple[str, ...]
    also: str | None
    live: bool
    metric: str | None
    guard: str | None
    no_prior: bool
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


def compared_settings(request: Request, target: Target) -> Candidates:
    """What is compared: --vary, or the schedulers (--also tries further settings beside them)."""
    if request.vary:
        if request.also is not None:
            raise UsageError("--vary and --also both name what to try", hint="use one of them")
        wanted = candidates_of.parse_vary(request.vary)
        return candidates_of.of_factors(target, wanted)
    if not candidates_of.offered_schedulers(target):
        raise MissingError(
            f"the drives below {target.path} offer no I/O schedulers",
            hint="`seekwise devices PATH` shows the stack; --vary read_ahead_kb=128,1024 compares read-ahead instead",
        )
    return candidates_of.of_schedulers(target)


def _why_no_fio() -> MissingError | None:
    try:
        fio.find()
    except MissingError as error:
        return error
    return None


def make_plan(request: Request, target: Target) -> LivePlan:
    """Refuses what cannot work; chooses the uses that fit the budget."""
    compared = compared_settings(request, target)
    # What is in force runs a second time in each round: the A/A check.
    running = len(compared.labels) + 1
    further = _further_settings(request, target)
    execute.check_budget(request.budget, running, staged_too=further is not None)
    chosen, said = use_files.installed(
        use_files.chosen(request.uses, on_device=target.is_device),
        asked=use_files.by_name(request.uses),
        without_fio=_why_no_fio(),
    )
    if target.is_device:
        chosen, also_said = use_files.without_programs(
            chosen, "a bare device has no file system", named=request.uses is not None
        )
        said += also_said
    chosen, notes = uses_affected(
        chosen, compared, named=request.uses is not None, levels=further.levels if further else ()
    )
    chosen, of_drives = use_files.for_drives(chosen, [leaf.kind for leaf in target.leaves])
    notes += [*said, *of_drives]
    seconds = request.budget - execute.END_S - execute.PREPARE_LEAST_S
    if further is not None:
        notes += further.notes
        seconds *= staged.SCHEDULERS_SHARE / progress.FIT_SHARE_MORE
    measured, left_out = progress.uses_that_fit(chosen, running, seconds, named=request.uses is not None)
    notes += use_files.offered(left_out)
    if not target.is_device:
        prepare.check_room(target.path, measured)
    prepared_target.check_free(target)
    if target.is_device:
        prepared_target.check_claim(target, request.destroy)
    tried = (*compared.all, *(further.levels if further is not None else ()))
    return replace(
        _on_this_machine(request, target, compared.all, tried, tuple(measured), (*compared.notes, *notes)),
        left_out=tuple(use.name for use in left_out),
        group=request.uses,
        levels=further.levels if further is not None else (),
        extra=_extra(request)
        | _drive(target)
        | ({"combinations": further.combinations} if further is not None else {}),
    )


def under_a_load(request: Request, target: Target, use: Use, notes: Sequence[str]) -> LivePlan:
    """The plan of `--live` and of a command of the user's: one use, whose load is not ours."""
    compared = compared_settings(request, target)
    prepared_target.check_free(target)
    return replace(
        _on_this_machine(request, target, compared.all, compared.all, (use,), (*compared.notes, *notes)),
        extra=_extra(request) | {"live": True, "command": list(request.command_line)},
    )


def _extra(request: Request) -> dict[str, object]:
    """What judging has to know of how the run was asked for."""
    return {"no_prior": True} if request.no_prior else {}


def _drive(target: Target) -> dict[str, object]:
    """The kind of all drives below the target, where they are of one: virtio, nvme, rotational, ssd."""
    kinds = {
        ("rotational" if leaf.rotational else "ssd") if leaf.kind == "disk" else leaf.kind for leaf in target.leaves
    }
    return {"drive": kinds.pop()} if len(kinds) == 1 else {}


def _on_this_machine(
    request: Request,
    target: Target,
    compared: tuple[Candidate, ...],
    tried: tuple[Candidate, ...],
    uses: tuple[Use, ...],
    notes: tuple[str, ...],
) -> LivePlan:
    """What every plan for storage of this machine says; `tried`: all settings whose values of today are to be remembered."""
    return LivePlan(
        target=str(target.path),
        leaves=target.leaf_names,
        stack=target.lines,
        current=prepared_target.seen(candidates_of.devices_of(target, tried)),
        candidates=compared,
        uses=uses,
        left_out=(),
        threshold=threshold_of(request),
        budget_s=request.budget,
        seed=seed_of(request),
        notes=notes,
        warnings=target.warnings,
        name=request.name,
    )


def on_a_model(
    request: Request,
    model: str,
    stack: str,
    compared: tuple[Candidate, ...],
    uses: Sequence[Use],
    notes: tuple[str, ...],
) -> LivePlan:
    """The plan of a run on a drive model: nothing is set, and no time is short."""
    return LivePlan(
        target=model,
        leaves=(),
        stack=(stack,),
        current={},
        candidates=compared,
        uses=tuple(uses),
        left_out=(),
        threshold=threshold_of(request),
        budget_s=0.0,
        seed=seed_of(request),
        notes=notes,
        name=request.name,
        group=request.uses,
        provenance="simulated",
        extra=_extra(request),
    )


def seed_of(request: Request) -> int:
    """The one that was asked for, else a drawn one."""
    return request.seed if request.seed is not None else secrets.randbelow(2**31)


def threshold_of(request: Request) -> Threshold:
    """What counts as equal: --threshold for rates, twice that for times and for what runs in the background."""
    from seekwise.judge.rule import THRESHOLD_OF_PERIODS
    from seekwise.workload.live_plan import Threshold

    if request.threshold is None:
        return THRESHOLD_OF_PERIODS
    return Threshold(request.threshold, 2 * request.threshold, 2 * request.threshold)


def _further_settings(request: Request, target: Target):
    """What --also asks for; None without it."""
    if request.also is None:
        return None
    return also.space(target, also.areas_of(request.also))


def uses_affected(
    chosen: list[Use], compared: Candidates, *, named: bool, levels: tuple[Candidate, ...] = ()
) -> tuple[list[Use], list[str]]:
    """Uses that can feel what is varied: direct I/O ignores read-ahead, so only buffered reads tell about it."""
    varied = {name for each in (*compared.all, *levels) for name in each.values}
    reading = [use for use in chosen if any(job.uses_read_ahead for job in use.job)]
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


def run_of(plan: LivePlan, target: str, backend: str = "kernel") -> Run:
    """A run of this plan that begins now. `target` as the user named it."""
    return Run.begun(plan.name or "tune", backend, plan.to_document(), seed=plan.seed, target=target)
