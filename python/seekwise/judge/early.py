"""Stopping early: how long deciding will take, and which trials of the next block are still needed (`--until`).

`decided`: cells stop when every comparison in them is decided, at the rule's looks. `best`: losers drop out after each block;
the reference stays in, so that the winner can be judged against what is set today. A trial carries out all operations of its
cell, so it is needed as long as one of them is. The control runs with its reference, and drift checks run as long as anything does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.judge.observe import observations
from seekwise.judge.planning import Forecast, forecast, noise_sd
from seekwise.judge.racing import race
from seekwise.judge.records import competing
from seekwise.judge.rule import LOOKS
from seekwise.judge.stopping import Progress, Stopping
from seekwise.store.database import Store
from seekwise.store.record import Record
from seekwise.workload.study.plan import Plan, Trial

BLOCKS_MAX = LOOKS[-1]
"""Blocks that a run with `--until` plans at most."""


def stopping(plan: Plan) -> Stopping:
    """The stopping rule of a plan."""
    seconds = {cell.key: plan.trial_s[index] for index, cell in enumerate(plan.combinations)}
    operations = {cell.key: max(len(cell.load.phases), 1) for cell in plan.combinations}
    # Every operation of a cell is a cell of its own there, and has its share of the trial.
    by_cell = {
        f"{phase.operation} {cell.key}": seconds[cell.key] / operations[cell.key]
        for cell in plan.combinations
        for phase in cell.load.phases
    }
    return Stopping("best" if plan.until == "best" else "every_pair", trial_seconds=by_cell)


def still_needed(plan: Plan, trials: Sequence[Trial], records: Sequence[Record]) -> tuple[list[Trial], Progress]:
    """Of the trials of one block those that can still change an answer, and how far the run is."""
    controls = {setting.label for setting in plan.settings if setting.control}
    rows = [record for record in competing(records) if plan.until != "best" or record.setting not in controls]
    progress = stopping(plan).decide(observations(rows, over_threads=False))
    if progress.finished:
        return [], progress
    cells = [state.combination for state in progress.cells]
    kept = []
    for trial in trials:
        cell = plan.combinations[trial.combination].key
        label = plan.reference if trial.role != "candidate" else plan.settings[trial.setting].label
        # A cell without any valid observation yet is open.
        known = [name for name in cells if name.partition(" ")[2] == cell]
        is_open = not known or any(_runs(plan, progress, name, label) for name in known)
        if trial.role == "sentinel" or is_open:
            kept.append(trial)
    return ([] if all(trial.role == "sentinel" for trial in kept) else kept), progress


def _runs(plan: Plan, progress: Progress, cell: str, label: str) -> bool:
    if plan.until == "best" and label == plan.reference:
        return any(state.combination == cell and not state.decided for state in progress.cells)
    return progress.runs(cell, label)


def race_notes(plan: Plan, records: Sequence[Record]) -> list[str]:
    """Who won the races of a run with `--until best`: an estimate, with what it took; verdicts stand beside it."""
    if plan.until != "best":
        return []
    controls = {setting.label for setting in plan.settings if setting.control}
    rows = observations([r for r in competing(records) if r.setting not in controls], over_threads=False)
    rule = stopping(plan)
    metric = next((name for name in rule.metrics if any(o.metric == name for o in rows)), None)
    found = []
    for cell in dict.fromkeys(o.combination for o in rows):
        state = race([o for o in rows if o.combination == cell and o.metric == metric], blocks_max=rule.blocks_max)
        found.append(
            f"race by {metric} in {cell}: {state.leader} leads {len(state.order)} candidates after {state.trials} of "
            f"{len(state.order) * rule.blocks_max} trials"
            + (f"; no difference shown to: {', '.join(state.running)}" if len(state.running) > 1 else "")
        )
    return found


@dataclass(frozen=True)
class Noise:
    """How much equal trials differed in an earlier run on the same storage."""

    sd: float
    run_id: str


def known_noise(plan: Plan, store: Store) -> Noise | None:
    """From the newest run that this backend made on the same targets; None if there is none with repeats."""
    targets = [facts.target for facts in plan.systems]
    for run in reversed(store.runs()):
        document = run.plan
        if run.backend != plan.backend or [facts["target"] for facts in document.get("systems", ())] != targets:
            continue
        sd = noise_sd(observations(competing(list(store.records(run.run_id))), over_threads=False))
        if sd is not None:
            return Noise(sd, run.run_id)
    return None


def expected(plan: Plan, noise: Noise | None) -> Forecast:
    """How long deciding will probably take, at the noise of an earlier run or at what is usual."""
    trials = len({(trial.combination, trial.setting) for trial in plan.trials})
    seconds = sum(plan.trial_s[trial.combination] for trial in plan.trials) / max(len(plan.trials), 1)
    if noise is None:
        return forecast(cells=1, settings=trials, trial_seconds=seconds)
    return forecast(
        cells=1, settings=trials, trial_seconds=seconds, noise_sd=noise.sd, noise_from=f"as in run {noise.run_id}"
    )
