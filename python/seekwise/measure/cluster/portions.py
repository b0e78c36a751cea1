"""Trials cut into batches: as long as makes the engine's own work small beside them, and shorter towards the end, so that workers end together."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from seekwise.workload.study.plan import Plan, Trial

BATCH_S = 1.0
"""Seconds that a batch should take. The engine spends some milliseconds on it."""
FIRST_S = 0.1
"""The same before anything is known about the speed."""
TRIALS_MAX = 500
"""Trials in a batch: their rows are some 8 KB each, sent at once."""
SHARE_LEFT = 0.25
"""No batch is more than this share of what each processor still has to do."""


class Queue:
    """Trials that nobody has yet. Repetitions stay in their order, so that an interrupted run has whole ones; within one the longest come first."""

    def __init__(self, plan: Plan, trials: Sequence[Trial]) -> None:
        self._cost = [plan.trial_s[trial.combination] for trial in plan.trials] if plan.trial_s else []
        ordered = sorted(trials, key=lambda trial: (trial.repetition, -self.cost(trial), trial.index))
        self._waiting = deque(ordered)
        self._left = sum(map(self.cost, ordered))
        self._done = self._seconds = 0.0

    def cost(self, trial: Trial) -> float:
        """The plan's estimate; only its proportions matter."""
        return max(self._cost[trial.index], 1e-6)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def learn(self, trials: Sequence[Trial], seconds: float) -> None:
        """How long these took."""
        self._done += sum(map(self.cost, trials))
        self._seconds += seconds

    @property
    def seconds_of_cost(self) -> float | None:
        """Seconds for each unit of estimated cost; None before the first batch."""
        return self._seconds / self._done if self._done else None

    def take(self, processors: int) -> list[Trial]:
        """The next batch, at least one trial."""
        pace = self.seconds_of_cost
        wanted = BATCH_S / pace if pace else FIRST_S
        wanted = min(wanted, SHARE_LEFT * self._left / max(processors, 1))
        taken: list[Trial] = []
        cost = 0.0
        while self._waiting and len(taken) < TRIALS_MAX:
            next_cost = self.cost(self._waiting[0])
            if taken and cost + next_cost > wanted:
                break
            taken.append(self._waiting.popleft())
            cost += next_cost
        self._left -= cost
        return taken


def excerpt(plan: Plan, trials: Sequence[Trial]) -> tuple[Plan, tuple[Trial, ...]]:
    """The plan with only what these trials need, and the trials with their places in it: what is sent with a batch stays small."""
    combinations = list(dict.fromkeys(trial.combination for trial in trials))
    settings = list(dict.fromkeys(trial.setting for trial in trials))
    combination_at = {combination: at for at, combination in enumerate(combinations)}
    setting_at = {setting: at for at, setting in enumerate(settings)}
    kept = replace(
        plan,
        combinations=tuple(plan.combinations[combination] for combination in combinations),
        settings=tuple(plan.settings[setting] for setting in settings),
        trials=(),
        touched=(),
        trial_s=(),
        bytes_per_trial=(),
        notes=(),
    )
    moved = tuple(
        replace(trial, combination=combination_at[trial.combination], setting=setting_at[trial.setting])
        for trial in trials
    )
    return kept, moved
