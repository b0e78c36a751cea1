"""Stopping early: how long deciding will take, and which trials of the next repetition are still needed (`--until`).

`decided`: combinations stop when every comparison in them is decided, at the rule's looks. `best`: losers drop out after each repetition;
the reference stays in, so that the winner can be judged against what is set today. A trial carries out all operations of its
combination, so it is needed as long as one of them is. The control runs with its reference, and drift checks run as long as anything does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.judge.observe import observations
from seekwise.judge.planning import Forecast, forecast, noise_sd
from seekwise.judge.racing import race
from seekwise.judge.records import competing
from seekwise.judge.stopping import LOOKS, Stopping, StoppingProgress
from seekwise.store.database import Store
from seekwise.store.record import Record
from seekwise.workload.study.plan import Plan, Trial

REPETITIONS_MAX = LOOKS[-1]
"""Repetitions that a run with `--until` plans at most."""


def stopping(plan: Plan) -> Stopping:
    """The stopping rule of a plan."""
    seconds = {combination.key: plan.trial_s[index] for index, combination in enumerate(plan.combinations)}
    operations = {combination.key: max(len(combination.load.phases), 1) for combination in plan.combinations}
    # Every operation of a combination is a combination of its own there, and has its share of the trial.
    by_combination = {
        f"{phase.operation} {combination.key}": seconds[combination.key] / operations[combination.key]
        for combination in plan.combinations
        for phase in combination.load.phases
    }
    return Stopping("best" if plan.until == "best" else "every_pair", trial_seconds=by_combination)


def still_needed(
    plan: Plan, trials: Sequence[Trial], records: Sequence[Record]
) -> tuple[list[Trial], StoppingProgress]:
    """Of the trials of one repetition those that can still change an answer, and how far the run is."""
    controls = {setting.label for setting in plan.settings if setting.control}
    rows = [record for record in competing(records) if plan.until != "best" or record.setting not in controls]
    progress = stopping(plan).decide(observations(rows, over_threads=False))
    if progress.finished:
        return [], progress
    combinations = [state.combination for state in progress.combinations]
    kept = []
    for trial in trials:
        combination = plan.combinations[trial.combination].key
        label = plan.reference if trial.role != "candidate" else plan.settings[trial.setting].label
        # A combination without any valid observation yet is open.
        known = [name for name in combinations if name.partition(" ")[2] == combination]
        is_open = not known or any(_runs(plan, progress, name, label) for name in known)
        if trial.role == "sentinel" or is_open:
            kept.append(trial)
    return ([] if all(trial.role == "sentinel" for trial in kept) else kept), progress


def _runs(plan: Plan, progress: StoppingProgress, combination: str, label: str) -> bool:
    if plan.until == "best" and label == plan.reference:
        return any(state.combination == combination and not state.decided for state in progress.combinations)
    return progress.runs(combination, label)


def race_notes(plan: Plan, records: Sequence[Record]) -> list[str]:
    """Who won the races of a run with `--until best`: an estimate, with what it took; verdicts stand beside it."""
    if plan.until != "best":
        return []
    controls = {setting.label for setting in plan.settings if setting.control}
    rows = observations([r for r in competing(records) if r.setting not in controls], over_threads=False)
    rule = stopping(plan)
    metric = next((name for name in rule.metrics if any(o.metric == name for o in rows)), None)
    found = []
    for combination in dict.fromkeys(o.combination for o in rows):
        state = race(
            [o for o in rows if o.combination == combination and o.metric == metric],
            repetitions_max=rule.repetitions_max,
        )
        found.append(
            f"race by {metric} in {combination}: {state.leader} leads {len(state.order)} candidates after {state.trials} of "
            f"{len(state.order) * rule.repetitions_max} trials"
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
        return forecast(combinations=1, settings=trials, trial_seconds=seconds)
    return forecast(
        combinations=1,
        settings=trials,
        trial_seconds=seconds,
        noise_sd=noise.sd,
        noise_from=f"as in run {noise.run_id}",
    )
