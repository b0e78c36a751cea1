"""`tune model:NAME`: the answer for a drive model, of the simulator."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress

from seekwise.cli import _display, _tune_shown
from seekwise.cli._tune_unprivileged import FLASH, nearest_model
from seekwise.errors import SeekwiseError, UsageError
from seekwise.measure.live import candidates, planning, simulated
from seekwise.report import outcome
from seekwise.simulate import use_trials
from seekwise.store.database import Store
from seekwise.workload.study import uses as use_files
from seekwise.workload.study.quantity import time_text

if TYPE_CHECKING:
    from seekwise.measure.live.planning import Request

NEAREST = "nearest"


def answer(request: Request) -> None:
    """Carries the uses out on a model and prints the answer, marked as such."""
    refuse_what_needs_a_device(request)
    target, stand_in = request.target, ""
    if target == simulated.PREFIX + NEAREST:
        name, stand_in = nearest_model_here()
        target = simulated.PREFIX + name
    model = use_trials.model_of(target, request.kernel)
    compared = simulated.candidates(model, candidates.parse_vary(request.vary))
    named = request.uses is not None
    chosen, said = use_trials.check_uses(use_files.chosen(request.uses))
    chosen, notes = planning.uses_affected(chosen, compared, named=named)
    worth = [f"Simulated: {stand_in}"] if stand_in else []
    worth += outcome.model_notes([candidate.values for candidate in compared.all])
    plan = planning.on_a_model(
        request,
        f"{model.title} ({simulated.PROVENANCE})",
        f"{model.title}, Linux {model.kernel}; {simulated.PROVENANCE}: no request reaches a device",
        compared,
        chosen,
        (*said, *notes, *use_trials.played_otherwise(tuple(chosen)), *worth),
    )
    run = planning.run_of(plan, request.target, backend=simulated.BACKEND)
    with Store.open(request.db) as store:
        with store.ending(run.run_id), progress(simulated.DOING, quiet=request.as_json) as tell:
            simulated.carry_out(simulated.SimulatedRun(store=store, run=run, plan=plan, model=model, tell=tell))
        _tune_shown.show(store, run.run_id, as_json=request.as_json, began_s=request.began_s)


def refuse_what_needs_a_device(request: Request) -> None:
    """UsageError for options that a model cannot honour."""
    refused: dict[str, object] = {"--also": request.also, "--live": request.live, "--guard": request.guard}
    refused |= {"--destroy": request.destroy, "-- COMMAND": request.command_line, "--cold": request.cold}
    refused |= {"--metric": request.metric, "--prepare": request.prepare, "--conclude": request.conclude}
    named = next((name for name, value in refused.items() if value), None)
    if named is not None:
        # Quotes that came along were typed with a backslash, or as “…”.
        words = " ".join([request.target, *request.command_line])
        quoted = '"' + re.sub('["“”]', "", words) + '"'
        raise UsageError(
            f"{named} needs a real device, and {request.target} is a model",
            hint=f"a name of several words is quoted: {quoted}" if named == "-- COMMAND" else "leave it out",
        )


@contextmanager
def progress(what: str, *, quiet: bool) -> Iterator[Callable[[str, float, float | None], None]]:
    """A bar with the time left on a terminal; nothing elsewhere."""
    with _display.moving(quiet=quiet) as (_, live):
        if live is None:
            yield lambda use, share, left_s: None
            return
        bar = Progress(what, BarColumn(), "{task.fields[left]}", "{task.description}")
        task = bar.add_task("", total=1.0, left="")
        live.update(bar, refresh=True)

        def tell(use: str, share: float, left_s: float | None) -> None:
            left = "" if left_s is None else f"about {time_text(left_s)} left"
            bar.update(task, description=use if left else "one trial of each use", completed=share, left=left)

        yield tell


def nearest_model_here() -> tuple[str, str]:
    """A shipped model like the drive below the current folder, and in words where it stands in for it; a common SSD where there is none."""
    from seekwise.measure.kernel.target import find

    try:
        return nearest_model(find("."))
    except SeekwiseError:
        return FLASH, ""
