"""What was decided and why, as it is printed: the same shape for live-switched runs and for studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from seekwise.judge.decision.choose import Choice, Loss
from seekwise.judge.decision.verdicts import CandidateVerdict, Judged
from seekwise.workload.study.uses import Purpose

REQUEST = "request"
"""The unit of work of fio."""


@dataclass(frozen=True)
class PurposeDecision:
    """What to set for one purpose."""

    purpose: Literal["responsive", "throughput", "asked"]
    """responsive: times of starts, commits, pages while something competes; throughput: how much gets done; asked: the uses of `--for`."""
    setting: str
    changes: bool
    worst_loss: Loss | None


@dataclass(frozen=True)
class UseVerdict:
    """One metric of one use. Losses are shares against the best of that use and metric."""

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
    threshold: float
    """Losses up to this share count as equal."""
    rounds: int
    candidates: tuple[CandidateVerdict, ...]


def purposes(by_purpose: Mapping[Purpose, Choice], asked: Choice | None) -> list[PurposeDecision]:
    """`asked`: for the uses that were named, if any were."""
    found = [PurposeDecision(name, each.setting, each.changes, each.worst_loss) for name, each in by_purpose.items()]
    if asked is not None:
        found.append(PurposeDecision("asked", asked.setting, asked.changes, asked.worst_loss))
    return found


def uses(judged: Sequence[Judged]) -> list[UseVerdict]:
    """One for each judged metric of a use."""
    return [
        UseVerdict(
            each.use, each.metric, each.work or REQUEST, each.unit, each.purpose, each.group, each.role, each.threshold,
            each.rounds, each.standings,
        )
        for each in judged
    ]  # fmt: skip
