"""What was decided and why: the same shape for live-switched runs and for studies."""

from __future__ import annotations

from typing import Literal

from seekwise.cli.schemas.base import Number, Part


class Loss(Part):
    """Loss against the best setting of a use: 0.35 is a rate 35 % lower, or a latency 35 % longer."""

    use: str
    metric: str
    share: Number
    """Estimate."""
    high: Number
    """Upper end of the 95 % interval."""


class Decision(Part):
    """What to set."""

    setting: str
    changes: bool
    """Whether it differs from what is in force."""
    basis: Literal["safe", "least-loss", "kept", "inconclusive"]
    """safe: within the threshold of the best everywhere; least-loss: gains more than it loses; kept: no other gains more than it loses;
    inconclusive: no difference is shown."""
    worst_loss: Loss | None
    in_force_worst_loss: Loss | None
    gains: list[Loss]
    """Where the setting in force is behind the chosen one, and how much."""
    costs: list[Loss]
    """Where the chosen setting is behind the one in force, and how much."""


class PurposeDecision(Part):
    """What to set for one purpose."""

    purpose: Literal["responsive", "throughput", "asked"]
    """responsive: times of starts, commits, pages while something competes; throughput: how much gets done; asked: the uses of `--for`."""
    setting: str
    changes: bool
    worst_loss: Loss | None


class Candidate(Part):
    """A setting in one use by one metric."""

    setting: str
    verdict: Literal["best", "within", "worse", "undecided"]
    value: Number
    """In `value_unit`."""
    loss: Number
    low: Number
    high: Number
    """95 % interval of the loss: from low to high."""


class Use(Part):
    """One metric of one use."""

    use: str
    metric: str
    unit: str
    """What one unit of work is called: start, transaction, …; request for fio."""
    value_unit: str
    """Of `value`: ms, MB/s, /s (units per second), µs."""
    purpose: Literal["responsive", "throughput"]
    group: str
    role: Literal["foreground", "background"]
    threshold: float
    """Losses up to this share count as equal."""
    rounds: int
    candidates: list[Candidate]
