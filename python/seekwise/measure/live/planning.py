"""What `tune` was asked, and the plan that it becomes: which settings are compared, under which uses, in how much
time."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from seekwise.errors import MissingError, UsageError
from seekwise.judge.rule import THRESHOLD_OF_PERIODS
from seekwise.measure.kernel import fio, prepared_target
from seekwise.measure.live import also, execute, prepare, progress, staged
from seekwise.measure.live import candidates as candidates_of
from seekwise.measure.live.candidates import Candidates
from seekwise.store.database import Run
from seekwise.workload.live_plan import Candidate, LivePlan, Threshold
from seekwise.workload.study import uses as use_files
from seekwise.workload.study.uses import Use

if TYPE_CHECKING:
    from seekwise.measure.kernel.target import Target


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
    running = len(compared.all) + 1
    further = also.NOTHING if request.also is None else also.space(target, also.areas_of(request.also))
    execute.check_budget(request.budget, running, staged_too=bool(further.levels))
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
    chosen, notes = uses_affected(chosen, compared, named=request.uses is not None, levels=further.levels)
    chosen, of_drives = use_files.for_drives(chosen, [leaf.kind for leaf in target.leaves])
    notes += [*said, *of_drives]
    seconds = request.budget - execute.END_S - execute.PREPARE_LEAST_S
    notes += further.notes
    if further.levels:
        seconds *= staged.SCHEDULERS_SHARE / progress.FIT_SHARE_MORE
    measured, left_out = progress.uses_that_fit(chosen, running, seconds, named=request.uses is not None)
    if not target.is_device:
        prepare.check_room(target.path, measured)
    prepared_target.check_free(target)
    if target.is_device:
        prepared_target.check_claim(target, request.destroy)
    return _on_this_machine(
        request,
        target,
        compared,
        measured,
        notes,
        left_out=tuple(use.name for use in left_out),
        group=request.uses,
        levels=further.levels,
        extra=_drive(target) | ({"combinations": further.combinations} if further.levels else {}),
    )


def under_a_load(request: Request, target: Target, use: Use, notes: Sequence[str]) -> LivePlan:
    """The plan of `--live` and of a command of the user's: one use, whose load is not ours."""
    compared = compared_settings(request, target)
    prepared_target.check_free(target)
    extra = {"live": True, "command": list(request.command_line)}
    return _on_this_machine(request, target, compared, (use,), notes, extra=extra)


def _drive(target: Target) -> dict[str, object]:
    """The kind of all drives below the target, where they are of one: virtio, nvme, rotational, ssd."""
    kinds = {
        ("rotational" if leaf.rotational else "ssd") if leaf.kind == "disk" else leaf.kind for leaf in target.leaves
    }
    return {"drive": kinds.pop()} if len(kinds) == 1 else {}


def _on_this_machine(
    request: Request,
    target: Target,
    compared: Candidates,
    uses: Sequence[Use],
    notes: Sequence[str],
    levels: tuple[Candidate, ...] = (),
    **more: Any,
) -> LivePlan:
    """What every plan for storage of this machine says. The values of today of all settings that are tried are
    remembered."""
    touched = candidates_of.devices_of(target, (*compared.all, *levels))
    return _plan(
        request,
        compared,
        uses,
        notes,
        target=str(target.path),
        leaves=target.leaf_names,
        stack=target.lines,
        current=prepared_target.current_settings(touched),
        budget_s=request.budget,
        warnings=target.warnings,
        levels=levels,
        **more,
    )


def on_a_model(
    request: Request, model: str, stack: str, compared: Candidates, uses: Sequence[Use], notes: Sequence[str]
) -> LivePlan:
    """The plan of a run on a drive model: nothing is set, and no time is short."""
    return _plan(
        request,
        compared,
        uses,
        notes,
        target=model,
        leaves=(),
        stack=(stack,),
        current={},
        budget_s=0.0,
        group=request.uses,
        provenance="simulated",
    )


def _plan(
    request: Request,
    compared: Candidates,
    uses: Sequence[Use],
    notes: Sequence[str],
    *,
    left_out: tuple[str, ...] = (),
    extra: Mapping[str, object] = MappingProxyType({}),
    **more: Any,
) -> LivePlan:
    """What every plan says. The threshold that is asked for is that of rates, twice that is what counts in times and in
    the background."""
    share = request.threshold
    return LivePlan(
        candidates=compared.all,
        uses=tuple(uses),
        left_out=left_out,
        threshold=THRESHOLD_OF_PERIODS if share is None else Threshold(share, 2 * share, 2 * share),
        seed=request.seed if request.seed is not None else secrets.randbelow(2**31),
        notes=(*compared.notes, *notes),
        name=request.name,
        # What judging has to know of how the run was asked for.
        extra={**({"no_prior": True} if request.no_prior else {}), **extra},
        **more,
    )


def uses_affected(
    chosen: list[Use], compared: Candidates, *, named: bool, levels: tuple[Candidate, ...] = ()
) -> tuple[list[Use], list[str]]:
    """Uses that can feel what is varied: direct I/O ignores read-ahead, so only buffered reads tell about it."""
    varied = {name for candidate in (*compared.all, *levels) for name in candidate.values}
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
