"""The plan of a live-switched run, as it is stored with the run: enough to judge, show, apply and repeat it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import Plan
from seekwise.workload.study.uses import Use

CONTROL_SUFFIX = " (control)"
"""The second label of an A/A pair: `mq-deadline (control)` is `mq-deadline` under another name."""
KIND = "live"
SCHEMA = "seekwise.live-plan/1"
Changes = dict[str, dict[str, str]]
"""{device: {attribute: value}}."""


@dataclass(frozen=True)
class Threshold:
    """What counts as equal: shares, as 0.05 for 5 %. `rate` holds for processor time and fairness as well."""

    rate: float
    latency: float
    background: float

    def __post_init__(self) -> None:
        """ValueError where one is no share: a loss of 100 % would count as equal."""
        if not all(0 < share < 1 for share in (self.rate, self.latency, self.background)):
            raise ValueError("a threshold is a share between 0 and 1")

    def share(self, kind: str, role: str = "foreground") -> float:
        """The share for a figure of this kind (as in `judge` of a use) and role."""
        if role == "background":
            return self.background
        return self.rate if kind in ("rate", "done", "cpu", "fairness", "number", "cost") else self.latency


@dataclass(frozen=True)
class Candidate:
    """One configuration. `changes`: what it sets; empty for what is in force."""

    label: str
    values: dict[str, Value] = field(default_factory=dict)
    changes: Changes = field(default_factory=dict)
    in_force: bool = False


@dataclass(frozen=True)
class Pruned:
    """A setting that a stage left behind, and why. `use`, `metric`, `share`: where it is worse and by how much."""

    setting: str
    why: Literal["worse", "less", "alike", "refused", "no time", "open"]
    use: str | None = None
    metric: str | None = None
    share: float | None = None
    than: str | None = None
    """The value of the same setting that gains more."""
    said: str | None = None
    """What the kernel said."""


@dataclass(frozen=True)
class Stage:
    """One stage of `tune --also`."""

    stage: Literal["schedulers", "further settings", "combinations"]
    tried: list[str]
    kept: list[str] = field(default_factory=list)
    pruned: list[Pruned] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)
    periods: int | None = None
    combinations: int | None = None
    """How many combinations of all these values there are."""
    seconds_wanted: float | None = None
    """Measuring time in which the values could be told apart."""


@dataclass(frozen=True)
class LivePlan:
    """What a live-switched run compares, under which uses, on which devices."""

    target: str
    leaves: tuple[str, ...]
    stack: tuple[str, ...]
    current: Changes
    """Values before the run."""
    candidates: tuple[Candidate, ...]
    uses: tuple[Use, ...]
    left_out: tuple[str, ...]
    """Names of uses that did not fit the budget."""
    threshold: Threshold
    budget_s: float
    seed: int
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    name: str | None = None
    group: str | None = None
    """What `--for` named, or None."""
    provenance: Literal["measured", "virtual", "simulated"] = "measured"
    levels: tuple[Candidate, ...] = ()
    """With `--also`: each further value to try, alone under each scheduler that has it."""
    stages: tuple[Stage, ...] = ()
    """With `--also`: what was tried in turn, what was kept, and what was pruned and why."""
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def in_force(self) -> Candidate:
        """The candidate whose values the machine had before the run."""
        return next(candidate for candidate in self.candidates if candidate.in_force)

    @property
    def control(self) -> Candidate:
        """What is in force under a second name: the A/A check, measured like every candidate."""
        now = self.in_force
        return Candidate(now.label + CONTROL_SUFFIX, now.values, {}, True)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the candidates, in their order."""
        return tuple(candidate.label for candidate in self.candidates)

    def candidate(self, label: str) -> Candidate:
        """The candidate of this name."""
        return next(candidate for candidate in self.candidates if candidate.label == label)

    def to_document(self) -> dict[str, object]:
        """As it is stored, in types that JSON has."""
        return {"schema": SCHEMA, "kind": KIND, **_stored().dump_python(self, mode="json")}

    @classmethod
    def from_document(cls, document: dict[str, object]) -> LivePlan:
        """A stored plan again. ValueError where it lacks or garbles something."""
        return _stored().validate_python(document)


@cache
def _stored() -> TypeAdapter[LivePlan]:
    return TypeAdapter(LivePlan)


def stored(document: dict[str, object]) -> Plan | LivePlan:
    """The plan that was stored with a run. ValueError or SeekwiseError where it lacks or garbles something."""
    return LivePlan.from_document(document) if document.get("kind") == KIND else Plan.from_document(document)
