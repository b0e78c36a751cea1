"""When to stop: the runner asks after each repetition, and gets an answer from the observations alone.

Two questions a study can ask:

- `every_pair`  each pair of settings in each combination. At the rule's looks (3, 5, 8 repetitions) the study is judged at the level for
                repeated looks; a combination that is decided stops, and keeps the verdict of the look that decided it.
- `best`        which setting is best. Losers drop out after every repetition (`racing.py`); a combination stops when its race is over.

Between looks nothing is judged: peeking after every repetition would find "winners" by patience alone (13.8 % instead of 5 %).
Nothing is remembered between calls: the looks are replayed from the observations, so a resumed run decides the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from seekwise.judge.decision.observed import judge_observations, verdicts
from seekwise.judge.observation import Observation, Verdict
from seekwise.judge.racing import Race, race

ALPHA = 0.05
LOOKS = (3, 5, 8)
"""Numbers of repetitions at which a run may be judged and stopped."""

Question = Literal["every_pair", "best"]


@dataclass(frozen=True)
class CombinationProgress:
    """What is still to be done in one combination."""

    combination: str
    decided: bool
    dropped: tuple[str, ...] = ()
    """Settings that need not run again in this combination."""
    seconds: float = 0.0
    """Until it is decided or no look is left, at the given seconds per trial."""


@dataclass(frozen=True)
class StoppingProgress:
    """The answer after a repetition."""

    repetitions_done: int
    combinations: tuple[CombinationProgress, ...]
    finished: bool
    """Every combination is decided, or no look is left."""

    @property
    def minutes_expected(self) -> float:
        """Until every open combination is decided or no look is left."""
        return 0.0 if self.finished else sum(each.seconds for each in self.combinations) / 60

    def runs(self, combination: str, setting: str) -> bool:
        """Whether this setting takes part in the next repetition of this combination."""
        if self.finished:
            return False
        for progress in self.combinations:
            if progress.combination == combination:
                return not progress.decided and setting not in progress.dropped
        return True

    @property
    def text(self) -> str:
        """One line for a progress display."""
        done = sum(combination.decided for combination in self.combinations)
        line = f"{done} of {len(self.combinations)} combinations decided after {self.repetitions_done} repetitions"
        if self.finished:
            return line
        if self.minutes_expected < 1:
            return f"{line}, less than a minute more"
        return f"{line}, about {self.minutes_expected:.0f} min more"


@dataclass(frozen=True)
class Stopping:
    """The stopping rule of one run."""

    question: Question = "every_pair"
    metrics: tuple[str, ...] = ("rate", "access_time")
    """A combination is decided when these are; with `best` the first one is raced."""
    trial_seconds: float | Mapping[str, float] = 1.0
    """Of one trial, or by combination."""
    alpha: float = ALPHA

    @property
    def repetitions_max(self) -> int:
        """Repetitions after which a run ends in any case: the last look of the rule (8)."""
        return LOOKS[-1]

    def decide(self, observations: Sequence[Observation]) -> StoppingProgress:
        """Where the run stands after the repetitions that are in `observations` (of one run, combinations as the runner names them)."""
        if not observations:
            return StoppingProgress(0, (), False)
        repetitions = sorted({o.repetition for o in observations})
        states = (
            self._races(observations, repetitions)
            if self.question == "best"
            else self._looks(observations, repetitions)
        )
        is_last = self.question != "best" and len(repetitions) >= self.repetitions_max
        return StoppingProgress(len(repetitions), states, is_last or all(each.decided for each in states))

    def _seconds(self, combination: str) -> float:
        if isinstance(self.trial_seconds, Mapping):
            return self.trial_seconds.get(combination, 1.0)
        return self.trial_seconds

    def _looks(
        self, observations: Sequence[Observation], repetitions: Sequence[int]
    ) -> tuple[CombinationProgress, ...]:
        relevant = [o for o in observations if o.metric in self.metrics] or list(observations)
        combinations = list(dict.fromkeys(o.combination for o in observations))
        decided_at: dict[str, int] = {}
        latest: dict[str, list[Verdict]] = {}
        for look in LOOKS:
            if len(repetitions) < look:
                break
            # A combination that was decided earlier keeps the repetitions that it had then.
            seen = {each: set(repetitions[: decided_at.get(each, look)]) for each in combinations}
            rows = [o for o in relevant if o.repetition in seen[o.combination]]
            judged: dict[str, list[Verdict]] = {combination: [] for combination in combinations}
            for v in verdicts(judge_observations(rows)):
                judged[v.combination].append(v)
            for combination, found in judged.items():
                if combination in decided_at:
                    continue
                latest[combination] = found
                if all(v.word != "undecided" for v in found):
                    decided_at[combination] = look
        progress = []
        for combination in combinations:
            if combination in decided_at:
                progress.append(CombinationProgress(combination, True))
                continue
            needs = [1 for v in latest.get(combination, []) if v.word == "undecided"]
            more = max(needs, default=LOOKS[0] - len(repetitions))
            left = min(max(more, 1), max(self.repetitions_max - len(repetitions), 0))
            settings = {o.setting for o in observations if o.combination == combination}
            seconds = left * len(settings) * self._seconds(combination)
            progress.append(CombinationProgress(combination, False, seconds=seconds))
        return tuple(progress)

    def _races(
        self, observations: Sequence[Observation], repetitions: Sequence[int]
    ) -> tuple[CombinationProgress, ...]:
        metric = next((m for m in self.metrics if any(o.metric == m for o in observations)), observations[0].metric)
        progress = []
        for combination in dict.fromkeys(o.combination for o in observations):
            state: Race = race(
                [o for o in observations if o.combination == combination and o.metric == metric],
                repetitions_max=self.repetitions_max,
            )
            left = 0 if state.over else max(self.repetitions_max - len(repetitions), 0)
            # The field shrinks to two within the repetitions that are left: half of it on average is a fair guess.
            seconds = left * max(len(state.running) / 2, 2) * self._seconds(combination)
            progress.append(CombinationProgress(combination, state.over, state.dropped, seconds))
        return tuple(progress)
