"""What a report says, as plain data: filled by `outcome`, drawn by `page` and `terminal`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from seekwise.judge.arrays import ArrayRow
from seekwise.judge.system_choices import SystemChoice
from seekwise.report.insights.finding import Finding
from seekwise.store.record import Record
from seekwise.workload.study.study import System

if TYPE_CHECKING:
    from seekwise.judge.outcome import LiveOutcome
    from seekwise.report.answered import Question
    from seekwise.store.database import Run
    from seekwise.workload.study.plan import Plan
    from seekwise.workload.study.study import Study


@dataclass(frozen=True)
class Answer:
    """What to set and for whom, with what that brings."""

    what: str
    effects: tuple[tuple[str, str], ...] = ()
    """(sign, effect): `+` what it gains, `−` what it costs, `=` what stays."""

    @property
    def text(self) -> str:
        """In sentences."""
        brings = "; ".join(effect for _, effect in self.effects)
        if not self.what.endswith(":"):
            brings = f"{brings[:1].upper()}{brings[1:]}"
        return f"{self.what} {brings}." if brings else self.what


@dataclass(frozen=True)
class Advice:
    """The recommendation and the shell lines that carry it out and take it back."""

    headline: str
    reasons: tuple[str, ...] = ()
    set_lines: tuple[str, ...] = ()
    """Shell lines that set it."""
    undo_lines: tuple[str, ...] = ()
    caution: tuple[str, ...] = ()
    choices: tuple[SystemChoice, ...] = ()
    """What to set on each system of a study with several, by use and load."""
    recommended: tuple[str, ...] = ()
    """Labels of the settings that the headline names, where one system is all there is."""
    answers: tuple[Answer, ...] = ()
    """The headline in parts; empty where it is one."""


@dataclass(frozen=True)
class QuestionTable:
    """The table of a question that has one of its own: a rebuild beside programs, kinds of bitmap."""

    HIDDEN: ClassVar = ("values", "is_one_unit", "has_storage_above")

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    brief: tuple[int, ...] = ()
    """Places of the rows that stand on a screen without room for all; empty: all."""
    values: Mapping[int, Sequence[float | None]] = field(default_factory=dict)
    """{column: the value of each row}, for those that the page draws and sorts by."""
    is_one_unit: bool = False
    """Whether the columns of `values` are the same figure under several settings: bars compare within a row."""
    has_storage_above: bool = True
    """Whether the command prints above the answer what storage it is about."""

    def cell(self, row: int, column: int) -> tuple[str, float | None, float]:
        """Its text, its value where it has a number, and that in per cent of the largest one it is compared with."""
        values = self.values.get(column, [None] * len(self.rows))
        others = [each[row] for each in self.values.values()] if self.is_one_unit else values
        numbers = [value for value in others if value is not None and math.isfinite(value)]
        value = values[row] if values[row] in numbers else None
        return self.rows[row][column], value, 100 * value / (max(numbers) or 1.0) if value is not None else 0.0


@dataclass(frozen=True)
class ReportContent:
    run_id: str
    title: str
    subject: str
    """What was tested, e.g. `/srv on sda1 (WD2500YS)`."""
    provenance: str
    advice: Advice
    records: Sequence[Record]
    rule: str
    """The judging rule in one sentence, with its version."""
    is_compared: bool = False
    """Whether any two settings met under one load."""
    control: str = ""
    """What the A/A control showed, in one sentence."""
    stack_lines: Sequence[str] = ()
    environment: dict[str, object] = field(default_factory=dict)
    repeat_lines: Sequence[str] = ()
    notes: Sequence[str] = ()
    findings: Sequence[Finding] = ()
    """What the numbers say, in sentences."""
    systems: Sequence[System] = ()
    """Systems of the study."""
    arrays: Sequence[ArrayRow] = ()
    """Arrays of a simulated run: capacity, failures survived, time to rebuild."""
    table: QuestionTable | None = None
    """In place of the arrays."""
    plan: Plan | None = None
    run: Run | None = None
    """What was asked, when, with which version; None where it is not known."""
    study: Study | None = None
    question: Question | None = None
    """What the answer is made from, where settings compete on one system; None where systems or arrays do."""
    remarks: frozenset[str] = frozenset()
    """Those of `notes` that are statistics of single trials: outliers, drift."""
    discarded: Sequence[Record] = ()
    """Trials of the run that do not count, drift checks included."""
    live: LiveOutcome | None = None
    """A run that was switched live: its page shows each use by itself."""
