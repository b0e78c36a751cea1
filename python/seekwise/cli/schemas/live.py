"""Live switching: `tune` and what is done with its runs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seekwise.cli.schemas.base import Number, Part
from seekwise.cli.schemas.decision import Decision, PurposeDecision, Use
from seekwise.cli.schemas.runs import Record


class SeenValue(Part):
    """A figure of one setting."""

    setting: str
    value: float


class Seen(Part):
    """A figure that was seen and decides nothing."""

    use: str
    metric: Literal["p999", "cpu", "fairness"]
    unit: str
    candidates: list[SeenValue]


class Pruned(Part):
    """A setting that a stage left behind, and why. `use`, `metric`, `share`: where it is worse and by how much."""

    setting: str
    why: Literal["worse", "less", "alike", "refused", "no time", "open"]
    use: str | None = None
    metric: str | None = None
    share: Number = None
    than: str | None = None
    """The value of the same setting that gains more."""
    said: str | None = None
    """What the kernel said."""


class Stage(Part):
    """One stage of `tune --also`."""

    stage: Literal["schedulers", "further settings", "combinations"]
    tried: list[str]
    kept: list[str] = Field(default_factory=list)
    pruned: list[Pruned] = Field(default_factory=list)
    uses: list[str] = Field(default_factory=list)
    periods: int | None = None
    combinations: int | None = None
    """How many combinations of all these values there are."""
    seconds_wanted: Number = None
    """Measuring time in which the values could be told apart."""


class Tune(Part):
    """`tune --json`, and `results RUN --json` of such a run (with `records`)."""

    schema_: Literal["seekwise.tune/1"]
    run_id: str
    name: str | None
    target: str
    provenance: Literal["measured", "virtual", "simulated"]
    outcome: str | None
    created_at: str
    rule_version: str
    seconds: float
    budget_seconds: Number
    no_verdict: str | None
    """Why there is no verdict; null when there is one."""
    in_force: str
    candidates: list[str]
    headline: str
    """The answer in words."""
    decision: Decision | None
    purposes: list[PurposeDecision]
    by_group: dict[str, Decision | None]
    """{group of uses: decision for it alone}."""
    uses: list[Use]
    seen: list[Seen]
    """Figures that decide nothing: p99.9 latency, CPU time per operation, fairness among equal processes."""
    stages: list[Stage]
    """With `--also`; else empty."""
    left_out: list[str]
    """Uses that did not fit the budget."""
    set: list[str]
    """Shell lines that set the decision."""
    undo: list[str]
    notes: list[str]
    report: str | None
    records: list[Record] = Field(default_factory=list)


class LiveAdvice(Part):
    """`advise RUN --json` of a run of `tune`."""

    schema_: Literal["seekwise.advice-live/1"]
    run_id: str
    for_: str | None
    headline: str
    decision: Decision | None
    set: list[str]
    undo: list[str]


class LiveChange(Part):
    """The second run against the first, under one setting, in one use by one metric."""

    use: str
    metric: str
    setting: str
    outcome: Literal["regression", "improvement", "unconfirmed", "same", "undecided"]
    unit: str = ""
    before: Number = None
    after: Number = None
    ratio: Number
    low: Number
    high: Number


class LiveCompare(Part):
    """`compare RUN RUN --json` of two runs of `tune`."""

    schema_: Literal["seekwise.compare-live/1"]
    headline: str = ""
    base: str
    new: str
    pairs: list[tuple[str, str]]
    """All runs that were compared, oldest first: several where the names are those of several runs."""
    counts: dict[str, int]
    changes: list[LiveChange]
