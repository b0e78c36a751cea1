"""The plan of a live-switched run, as it is stored with the run: enough to judge, show, apply and repeat it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from seekwise.judge.decision.records import Order
from seekwise.judge.decision.table import Threshold
from seekwise.measure.live.candidates import Candidate
from seekwise.workload.study.uses import Use

KIND = "live"
SCHEMA = "seekwise.live-plan/1"


@dataclass(frozen=True)
class LivePlan:
    target: str
    leaves: tuple[str, ...]
    stack: tuple[str, ...]
    current: dict[str, dict[str, str]]
    """{device: {attribute: value}} before the run."""
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
    provenance: str = "measured"
    levels: tuple[Candidate, ...] = ()
    """With `--also`: each further value to try, alone under each scheduler that has it."""
    stages: tuple[dict[str, object], ...] = ()
    """With `--also`: what was tried in turn, what was kept, and what was pruned and why."""
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def in_force(self) -> Candidate:
        return next(each for each in self.candidates if each.in_force)

    def order(self) -> Order:
        return Order(self.uses, tuple(each.label for each in self.candidates), self.in_force.label, self.threshold)

    def to_document(self) -> dict[str, object]:
        return {
            "schema": SCHEMA,
            "kind": KIND,
            "target": self.target,
            "leaves": list(self.leaves),
            "stack": list(self.stack),
            "current": self.current,
            "candidates": [asdict(each) for each in self.candidates],
            "uses": [use.model_dump(mode="json") for use in self.uses],
            "left_out": list(self.left_out),
            "threshold": asdict(self.threshold),
            "budget_s": self.budget_s,
            "seed": self.seed,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "name": self.name,
            "group": self.group,
            "provenance": self.provenance,
            "levels": [asdict(each) for each in self.levels],
            "stages": list(self.stages),
            "extra": self.extra,
        }

    @classmethod
    def from_document(cls, document: dict) -> LivePlan:
        return cls(
            target=document["target"],
            leaves=tuple(document["leaves"]),
            stack=tuple(document["stack"]),
            current=document["current"],
            candidates=tuple(Candidate(**each) for each in document["candidates"]),
            uses=tuple(Use.model_validate(each) for each in document["uses"]),
            left_out=tuple(document["left_out"]),
            threshold=Threshold(**document["threshold"]),
            budget_s=document["budget_s"],
            seed=document["seed"],
            notes=tuple(document["notes"]),
            warnings=tuple(document["warnings"]),
            name=document.get("name"),
            group=document.get("group"),
            provenance=document.get("provenance", "measured"),
            levels=tuple(Candidate(**each) for each in document.get("levels", [])),
            stages=tuple(document.get("stages", [])),
            extra=document.get("extra", {}),
        )


def is_live(plan_document: dict[str, object]) -> bool:
    """Whether a stored run was switched live."""
    return plan_document.get("kind") == KIND
