"""`verify KIND --json`: N of M against recorded truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from seekwise.judge.calibration.score import Score
from seekwise.judge.compare import Agreement


@dataclass(kw_only=True)
class Counted:
    """How many of how many points agree."""

    PARTIAL: ClassVar = True

    passed: int
    total: int


@dataclass(kw_only=True)
class BasisCounts:
    """The points by what they are worth."""

    fitted: Counted
    """Parameters were set from these data."""
    chosen: Counted
    """Mechanisms or parameters were picked with these data in sight."""
    foretold: Counted
    """Never looked at before the figure was printed."""


@dataclass(kw_only=True)
class ValidatedFile(Counted):
    """One file. What a kind counts besides stands under names of its own."""

    file: str
    basis: BasisCounts
    misses: list[str | dict[str, Any]]


@dataclass(kw_only=True)
class Verified(Counted):
    """What every kind has."""

    kind: str
    model_version: int
    basis: BasisCounts
    required: str
    met: bool
    """Whether what is required is reached; if not, the exit status is 5."""
    files: list[ValidatedFile]


@dataclass(kw_only=True)
class Claims(Verified):
    """`verify claims --json`."""

    SCHEMA: ClassVar = "seekwise.validate.claims/1"

    modelled: int


@dataclass(kw_only=True)
class Verdicts(Verified):
    """`verify verdicts --json`."""

    SCHEMA: ClassVar = "seekwise.validate.verdicts/1"

    rule: str
    modelled: int


@dataclass(kw_only=True)
class Drives(Verified):
    """`verify drives --json`."""

    SCHEMA: ClassVar = "seekwise.validate.drives/1"

    inputs: int
    """Figures that the model has as input; not counted in `passed` and `total`."""


@dataclass(kw_only=True)
class Ladder(Verified):
    """`verify ladder --json`."""

    SCHEMA: ClassVar = "seekwise.validate.ladder/1"

    agreement: list[Agreement]


@dataclass(kw_only=True)
class Mapping(Verified):
    """`verify mapping --json`."""

    SCHEMA: ClassVar = "seekwise.validate.mapping/1"

    ordered: Counted
    """Rows whose pages went out in the recorded order."""


@dataclass(kw_only=True)
class Rates(Verified):
    """`verify rates --json`."""

    SCHEMA: ClassVar = "seekwise.validate.rates/1"

    pairs: Counted
    """Pairs of schedulers whose order is met."""


@dataclass(kw_only=True)
class Traces(Verified):
    """`verify traces --json`."""

    SCHEMA: ClassVar = "seekwise.validate.traces/1"


@dataclass(kw_only=True)
class VerifiedWhatIf(Verified):
    """`verify whatif --json`."""

    SCHEMA: ClassVar = "seekwise.validate.whatif/1"

    agreement: dict[str, Any]
    """`closed` and `open`: {metric: median_error, p90_error}, best_right, best_of."""


@dataclass(kw_only=True)
class SchedulerAgreement(Counted):
    """One scheduler of one kernel."""

    scheduler: str
    kernel: str
    files: int
    contested: Counted
    unasked: int
    """Points that are right without the model being asked: nothing ran the queue there."""
    required_per_mille: int
    met: bool


@dataclass(kw_only=True)
class Vectors(Verified):
    """`verify vectors --json`."""

    SCHEMA: ClassVar = "seekwise.validate.vectors/1"

    contested: Counted
    """Points at which the scheduler had a choice."""
    unasked: int
    groups: list[SchedulerAgreement]
    runs: dict[str, Any] = field(default_factory=dict)
    """With --whole: closed-loop replay."""


@dataclass(kw_only=True)
class CalibrationCheck:
    """A promise of the built-in calibration."""

    name: str
    measured: float
    bound: float
    at_most: bool


@dataclass(kw_only=True)
class Judgement(Verified, Score):
    """`verify judgement --json`."""

    SCHEMA: ClassVar = "seekwise.validate.judgement/1"

    share: float | None = None
    checks: list[dict[str, Any]] = field(default_factory=list)
