"""What a study shows beside winners and charts: figures and tables in the form of the text that it repeats.

A figure is a graph of one metric over threads, a panel per system, or a diagram drawn from the drive models. A table has blocks; a
block compares two sides, operation by operation, and may carry what a text printed there. Nothing here changes what is run or judged.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from seekwise.store.operations import PureOperation

Metric = Literal["rate", "access_time", "cpu_efficiency", "sys_cpu", "cpu_load"]
Diagram = Literal["locality", "zones", "parts", "rotation"]
TABLE_METRICS: tuple[Metric, ...] = ("rate", "access_time", "cpu_efficiency")
SUCCESSORS = {"noop": "none", "deadline": "mq-deadline", "cfq": "bfq"}
"""What took the place of the single-queue schedulers in the multi-queue layer: stands for them in the tables of runs on newer kernels."""
RESERVED = "reserved"
"""Stands for a printed cell whose content is not in the data that ships."""


def as_list(value: object) -> object:
    """One value stands for a list of one."""
    return value if isinstance(value, list | tuple) else [value]


class Shown(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Figure(Shown):
    """A graph (`metric`, `operation`, `systems`) or a diagram (`diagram`)."""

    number: int = Field(ge=1)
    caption: str = ""
    diagram: Diagram | None = None
    metric: Metric | None = None
    operation: PureOperation | None = None
    """Without it a panel per operation."""
    systems: Annotated[list[str], BeforeValidator(as_list)] = []
    """A panel each, left to right, on a common y axis."""
    panel_titles: list[str] = []
    y_title: str | None = None
    y_min: float | None = None
    y_max: float | None = None

    @model_validator(mode="after")
    def is_one_kind(self) -> Figure:
        """ValueError for a graph and a diagram in one, a graph without systems, or panel titles that do not fit."""
        if (self.metric is None) == (self.diagram is None):
            raise ValueError("must have exactly one of `metric` and `diagram`")
        if self.metric is not None and not self.systems:
            raise ValueError("must name the `systems` of its panels")
        if self.panel_titles and len(self.panel_titles) != len(self.systems):
            raise ValueError(f"must have a panel title for each of its {len(self.systems)} systems, or none")
        return self


class Side(Shown):
    """One of the two that a block compares: a setting on a system, under the name that the table prints."""

    system: str
    setting: str
    printed: str = Field(min_length=1)


class Block(Shown):
    title: str = ""
    sides: list[Side] = Field(min_length=2, max_length=2)
    text: dict[PureOperation, list[str]] = {}
    """What the text prints: a word per metric (rate, access time, CPU efficiency): a side's `printed`, `=` or `reserved`."""

    @model_validator(mode="after")
    def words_are_known(self) -> Block:
        """ValueError for a word in `text` that is no side's `printed`, `=` or `reserved`, or for a wrong number of them."""
        known = [*(side.printed for side in self.sides), "=", RESERVED]
        for operation, words in self.text.items():
            if len(words) != len(TABLE_METRICS):
                raise ValueError(f"must have {len(TABLE_METRICS)} words for `text.{operation}`, not {len(words)}")
            for word in words:
                if word not in known:
                    raise ValueError(f"must have one of {', '.join(known)} in `text.{operation}`, not {word!r}")
        return self


class Table(Shown):
    number: int = Field(ge=1)
    title: str = ""
    block: list[Block] = Field(min_length=1)


class Grid(Shown):
    """Rates by operation and system over request sizes, as a table of numbers."""

    number: int = Field(ge=1)
    title: str = ""
    systems: Annotated[list[str], BeforeValidator(as_list)] = Field(min_length=1)
    threads: int = Field(default=1, ge=1)
    load: str | None = None
    """Only this workload, by its name; without it all that have so many threads."""
    against_load: str | None = None
    """The workload whose rates those of `load` are divided by."""
    against: str | None = None
    """The system whose rates the others are divided by; without it rates are shown."""
    text: dict[PureOperation, dict[str, dict[str, float]]] = {}
    """{operation: {system: {request size: MB/s}}} as a text prints it."""
    text_scatter_mb_s: list[float] = []
    """Least and greatest scatter of repeats that the text states."""


class Conclusion(Shown):
    """What a text concludes for one system: shown beside the run's own answer, never used to reach it."""

    system: str
    """A system, or for chunk sizes a family such as `software RAID 10, Linux 4.1`."""
    use: str = "overall"
    settings: Annotated[list[str], BeforeValidator(as_list)] = Field(min_length=1)
    """The setting that the text prefers, and those that it calls equal to it."""


class Answer(Shown):
    """How a study ends: beside the choice for each system, which uses it advises for, and whether by number of threads."""

    uses: Annotated[list[str], BeforeValidator(as_list)] = []
    by_threads: bool = False
    published: list[Conclusion] = []


def problem(
    figures: list[Figure], tables: list[Table], grids: list[Grid], systems: list[str], loads: list[str]
) -> str | None:
    """What names a system or a workload that the study does not have, or a number twice; a sentence without the file's name."""
    for grid in grids:
        stranger = next(
            (name for name in (grid.load, grid.against_load) if name is not None and name not in loads), None
        )
        if stranger is not None:
            return f"grid {grid.number} names the workload {stranger!r}, which the study does not have"
    for what, rows in (("figure", figures), ("table", tables), ("grid", grids)):
        numbers = [row.number for row in rows]
        double = next((number for number in numbers if numbers.count(number) > 1), None)
        if double is not None:
            return f"two of `[[{what}]]` have the number {double}"
    named = [(f"figure {figure.number}", name) for figure in figures for name in figure.systems]
    named += [
        (f"table {table.number}", side.system) for table in tables for block in table.block for side in block.sides
    ]
    for grid in grids:
        printed = [name for rows in grid.text.values() for name in rows]
        named += [(f"grid {grid.number}", name) for name in (*grid.systems, *printed)]
    stranger = next(((where, name) for where, name in named if name not in systems), None)
    return None if stranger is None else f"{stranger[0]} names system {stranger[1]!r}, which the study does not have"
