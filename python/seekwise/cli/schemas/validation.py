"""`verify KIND --json`: N of M against recorded truth."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seekwise.cli.schemas.base import Counted, Map, Number, Part, part_of
from seekwise.judge.calibration.score import Score
from seekwise.judge.compare import Agreement


class Basis(Part):
    """The points by what they are worth."""

    fitted: Counted
    """Parameters were set from these data."""
    chosen: Counted
    """Mechanisms or parameters were picked with these data in sight."""
    foretold: Counted
    """Never looked at before the figure was printed."""


class File(Counted):
    """One file. What a kind counts besides stands under names of its own."""

    file: str
    basis: Basis
    misses: list[str | Map]


class Verified(Counted):
    """What every kind has."""

    kind: str
    model_version: int
    basis: Basis
    required: str
    met: bool
    """Whether what is required is reached; if not, the exit status is 5."""
    files: list[File]


class Claims(Verified):
    """`verify claims --json`."""

    schema_: Literal["seekwise.validate.claims/1"]
    modelled: int


class Verdicts(Verified):
    """`verify verdicts --json`."""

    schema_: Literal["seekwise.validate.verdicts/1"]
    rule: str
    modelled: int


class Drives(Verified):
    """`verify drives --json`."""

    schema_: Literal["seekwise.validate.drives/1"]
    inputs: int
    """Figures that the model has as input; not counted in `passed` and `total`."""


class Ladder(Verified):
    """`verify ladder --json`."""

    schema_: Literal["seekwise.validate.ladder/1"]
    agreement: list[Agreement]


class Mapping(Verified):
    """`verify mapping --json`."""

    schema_: Literal["seekwise.validate.mapping/1"]
    ordered: Counted
    """Rows whose pages went out in the recorded order."""


class Rates(Verified):
    """`verify rates --json`."""

    schema_: Literal["seekwise.validate.rates/1"]
    pairs: Counted
    """Pairs of schedulers whose order is met."""


class Traces(Verified):
    """`verify traces --json`."""

    schema_: Literal["seekwise.validate.traces/1"]


class WhatIf(Verified):
    """`verify whatif --json`."""

    schema_: Literal["seekwise.validate.whatif/1"]
    agreement: Map
    """`closed` and `open`: {metric: median_error, p90_error}, best_right, best_of."""


class Group(Counted):
    """One scheduler of one kernel."""

    scheduler: str
    kernel: str
    files: int
    contested: Counted
    unasked: int
    """Points that are right without the model being asked: nothing ran the queue there."""
    required_per_mille: int
    met: bool


class Vectors(Verified):
    """`verify vectors --json`."""

    schema_: Literal["seekwise.validate.vectors/1"]
    contested: Counted
    """Points at which the scheduler had a choice."""
    unasked: int
    groups: list[Group]
    runs: Map = Field(default_factory=dict)
    """With --whole: closed-loop replay."""


class Check(Part):
    """A promise of the built-in calibration."""

    name: str
    measured: float
    bound: float
    at_most: bool


class Judgement(Verified, part_of(Score)):
    """`verify judgement --json`."""

    schema_: Literal["seekwise.validate.judgement/1"]
    share: Number = None
    checks: list[Map] = Field(default_factory=list)
