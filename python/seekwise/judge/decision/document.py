"""What was decided and why, as it is printed: the same shape for live-switched runs and for studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from seekwise.judge.decision.choose import Choice
from seekwise.judge.decision.verdicts import CandidateVerdict, Judged
from seekwise.workload.purpose import Purpose

REQUEST = "request"
"""The unit of work of fio."""


@dataclass(frozen=True)
class PurposeDecision:
    """What to set for one purpose."""

    purpose: Purpose | Literal["asked"]
    """responsive: times of starts, commits, pages while something competes; throughput: how much gets done; asked: the
    uses of `--for`."""
    setting: str
    changes: bool
    expected_gain: float
    expected_regret: float
    regret_high: float
    p_harm: float


@dataclass(frozen=True)
class UseVerdict:
    """One metric of one use."""

    use: str
    metric: str
    unit: str
    """What one unit of work is called: start, transaction, …; request for fio."""
    value_unit: str
    """Of `value`: ms, MB/s, /s (units per second), µs."""
    purpose: Purpose
    group: str
    role: str
    """foreground or background."""
    kind: str
    """Of programs that its unit is one of; empty: of none."""
    age: str
    """Of the processes that do the work: young (new ones, within 3 s and 61 MB), grown (new ones that outlast that), old."""
    background: str
    """What goes on beside it: copy, 4 readers; empty: nothing."""
    threshold: float
    """Differences up to this share count as equal."""
    rounds: int
    candidates: tuple[CandidateVerdict, ...]


def purposes(by_purpose: Mapping[Purpose, Choice], asked: Choice | None) -> list[PurposeDecision]:
    """`asked`: for the uses that were named, if any were."""
    decisions = [_purpose(name, choice) for name, choice in by_purpose.items()]
    return decisions if asked is None else [*decisions, _purpose("asked", asked)]


def _purpose(name: Purpose | Literal["asked"], choice: Choice) -> PurposeDecision:
    of_choice = [field.name for field in fields(PurposeDecision)[1:]]
    return PurposeDecision(name, *(getattr(choice, field_name) for field_name in of_choice))


def uses(judged: Sequence[Judged]) -> list[UseVerdict]:
    """One for each judged metric of a use."""
    return [
        UseVerdict(
            entry.use, entry.metric, entry.work or REQUEST, entry.unit, entry.purpose, entry.group, entry.role,
            entry.conditions.program, entry.conditions.age, entry.conditions.background, entry.threshold,
            entry.rounds, entry.standings,
        )
        for entry in judged
    ]  # fmt: skip
