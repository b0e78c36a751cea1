"""When to stop: the runner asks after each block, and gets an answer from the observations alone.

Two questions a study can ask:

- `every_pair`  each pair of settings in each cell. At the rule's looks (3, 5, 8 blocks) the study is judged at the level for
                repeated looks; a cell that is decided stops, and keeps the verdict of the look that decided it.
- `best`        which setting is best. Losers drop out after every block (`racing.py`); a cell stops when its race is over.

Between looks nothing is judged: peeking after every block would find "winners" by patience alone (13.8 % instead of 5 %).
Nothing is remembered between calls: the looks are replayed from the observations, so a resumed run decides the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from seekwise.judge.decision.observed import judge_observations, verdicts
from seekwise.judge.observation import Observation, Verdict
from seekwise.judge.racing import Race, race
from seekwise.judge.rule import ALPHA, LOOKS

Question = Literal["every_pair", "best"]


@dataclass(frozen=True)
class CellProgress:
    """What is still to be done in one cell."""

    combination: str
    decided: bool
    decided_at_blocks: int | None
    undecided_pairs: int
    """Pairs and metrics that are open."""
    dropped: tuple[str, ...]
    """Settings that need not run again in this cell."""
    blocks_more: int
    """Blocks that would probably decide it; 0 when decided."""


@dataclass(frozen=True)
class Progress:
    """The answer after a block."""

    blocks_done: int
    cells: tuple[CellProgress, ...]
    verdicts: tuple[Verdict, ...]
    """Of the last look; empty before the first one and for races."""
    next_look_blocks: int | None
    finished: bool
    """Every cell is decided, or no look is left."""
    minutes_expected: float
    """Until every open cell is decided or no look is left, at the given seconds per trial."""

    @property
    def decided_share(self) -> float:
        return sum(cell.decided for cell in self.cells) / len(self.cells) if self.cells else 0.0

    def runs(self, cell: str, setting: str) -> bool:
        """Whether this setting takes part in the next block of this cell."""
        if self.finished:
            return False
        for progress in self.cells:
            if progress.combination == cell:
                return not progress.decided and setting not in progress.dropped
        return True

    @property
    def text(self) -> str:
        """One line for a progress display."""
        done = sum(cell.decided for cell in self.cells)
        line = f"{done} of {len(self.cells)} combinations decided after {self.blocks_done} repetitions"
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
    """A cell is decided when these are; with `best` the first one is raced."""
    trial_seconds: float | Mapping[str, float] = 1.0
    """Of one trial, or by cell."""
    alpha: float = ALPHA

    @property
    def blocks_max(self) -> int:
        return LOOKS[-1]

    def decide(self, observations: Sequence[Observation]) -> Progress:
        """Where the run stands after the blocks that are in `observations` (of one run, cells as the runner names them)."""
        if not observations:
            return Progress(0, (), (), LOOKS[0], False, 0.0)
        return self._races(observations) if self.question == "best" else self._looks(observations)

    def _seconds(self, cell: str) -> float:
        if isinstance(self.trial_seconds, Mapping):
            return self.trial_seconds.get(cell, 1.0)
        return self.trial_seconds

    def _looks(self, observations: Sequence[Observation]) -> Progress:
        relevant = [o for o in observations if o.metric in self.metrics] or list(observations)
        blocks = sorted({o.repetition for o in observations})
        cells = list(dict.fromkeys(o.combination for o in observations))
        decided_at: dict[str, int] = {}
        latest: dict[str, list[Verdict]] = {}
        for look in LOOKS:
            if len(blocks) < look:
                break
            seen = set(blocks[:look])
            # A cell that was decided earlier keeps the blocks that it had then.
            rows = [
                o
                for o in relevant
                if o.repetition
                in (seen if o.combination not in decided_at else set(blocks[: decided_at[o.combination]]))
            ]
            judged: dict[str, list[Verdict]] = {cell: [] for cell in cells}
            for v in verdicts(judge_observations(rows, alpha=self.alpha, sequential=True)):
                judged[v.combination].append(v)
            for cell, found in judged.items():
                if cell in decided_at:
                    continue
                latest[cell] = found
                if all(v.word != "undecided" for v in found):
                    decided_at[cell] = look
        following = next((look for look in LOOKS if look > len(blocks)), None)
        progress = []
        seconds = 0.0
        for cell in cells:
            found = latest.get(cell, [])
            open_pairs = [v for v in found if v.word == "undecided"]
            more = 0
            if cell not in decided_at:
                more = max((v.blocks_more or 1 for v in open_pairs), default=LOOKS[0] - len(blocks))
                settings = {o.setting for o in observations if o.combination == cell}
                left = min(max(more, 1), max(self.blocks_max - len(blocks), 0))
                seconds += left * len(settings) * self._seconds(cell)
            progress.append(
                CellProgress(cell, cell in decided_at, decided_at.get(cell), len(open_pairs), (), max(more, 0))
            )
        finished = following is None or all(p.decided for p in progress)
        return Progress(
            blocks_done=len(blocks),
            cells=tuple(progress),
            verdicts=tuple(v for cell in cells for v in latest.get(cell, [])),
            next_look_blocks=None if finished else following,
            finished=finished,
            minutes_expected=0.0 if finished else seconds / 60,
        )

    def _races(self, observations: Sequence[Observation]) -> Progress:
        metric = next((m for m in self.metrics if any(o.metric == m for o in observations)), observations[0].metric)
        cells = list(dict.fromkeys(o.combination for o in observations))
        blocks = sorted({o.repetition for o in observations})
        progress = []
        seconds = 0.0
        for cell in cells:
            state: Race = race(
                [o for o in observations if o.combination == cell and o.metric == metric], blocks_max=self.blocks_max
            )
            left = 0 if state.over else max(self.blocks_max - len(blocks), 0)
            # The field shrinks to two within the blocks that are left: half of it on average is a fair guess.
            seconds += left * max(len(state.running) / 2, 2) * self._seconds(cell) if left else 0.0
            progress.append(
                CellProgress(
                    cell, state.over, len(blocks) if state.over else None, len(state.running), state.dropped, left
                )
            )
        finished = all(p.decided for p in progress)
        return Progress(
            len(blocks),
            tuple(progress),
            (),
            None if finished else len(blocks) + 1,
            finished,
            0.0 if finished else seconds / 60,
        )
