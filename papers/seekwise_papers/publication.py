"""What a published text prints, beside the study that repeats it: `printed/STUDY.toml`.

A figure is a graph of one metric over threads, a panel per system, or a diagram drawn from the drive models. A table
has blocks; a block compares two sides, operation by operation. A grid is a table of rates. A conclusion is what the
text advises for one system.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from seekwise.judge.repeats import Metric
from seekwise.store.operations import PureOperation
from seekwise.workload.study.study import as_list

Diagram = Literal["locality", "zones", "parts", "rotation"]
TABLE_METRICS: tuple[Metric, ...] = ("rate", "access_time", "cpu_efficiency")
RESERVED = "reserved"
"""Stands for a printed cell whose content is not in the data that ships."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Figure(Part):
    """A graph (`metric`, `operation`, `systems`) or a diagram (`diagram`)."""

    number: int
    caption: str = ""
    diagram: Diagram | None = None
    metric: Metric | None = None
    operation: PureOperation | None = None
    """Without it a panel per operation."""
    systems: Annotated[list[str], BeforeValidator(as_list)] = []
    """A panel each, left to right, on a common y axis."""
    panel_titles: list[str] = []
    y_max: float | None = None
    """Where its y axis ends, if that is known; all begin at zero."""


class Side(Part):
    """One of the two that a block compares: a setting on a system, under the name that the table prints."""

    system: str
    setting: str
    printed: str = Field(min_length=1)


class Block(Part):
    title: str = ""
    sides: list[Side] = Field(min_length=2, max_length=2)
    text: dict[PureOperation, Annotated[list[str], Field(min_length=3, max_length=3)]] = {}
    """What the text prints: a word per metric (rate, access time, CPU efficiency): a side's `printed`, `=` or
    `reserved`."""


class Table(Part):
    number: int
    title: str = ""
    block: list[Block] = Field(min_length=1)


class Grid(Part):
    """Rates by operation and system over request sizes, as a table of numbers."""

    number: int
    title: str = ""
    systems: Annotated[list[str], BeforeValidator(as_list)] = Field(min_length=1)
    threads: int = 1
    load: str | None = None
    """Only this workload, by its name; without it all that have so many threads."""
    against_load: str | None = None
    """The workload whose rates those of `load` are divided by."""
    against: str | None = None
    """The system whose rates the others are divided by; without it rates are shown."""
    text: dict[PureOperation, dict[str, dict[str, float]]] = {}
    """{operation: {system: {request size: MB/s}}} as a text prints it."""
    text_scatter_mb_s: tuple[float, float] | None = None
    """Least and greatest scatter of repeats that the text states."""


class Conclusion(Part):
    """What a text concludes for one system: shown beside the run's own answer, never used to reach it."""

    system: str
    """A system, or for chunk sizes a family such as `software RAID 10, Linux 4.1`."""
    use: str = "overall"
    settings: Annotated[list[str], BeforeValidator(as_list)] = Field(min_length=1)
    """The setting that the text prefers, and those that it calls equal to it."""


class Publication(Part):
    figure: list[Figure] = []
    table: list[Table] = []
    grid: list[Grid] = []
    conclusion: list[Conclusion] = []


def of_study(name: str) -> Publication | None:
    """What the text of this study prints; None where the study repeats none."""
    file = files("seekwise_papers") / "printed" / f"{name}.toml"
    return Publication.model_validate(tomllib.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None
