"""What each setting reaches on each of several systems, in values: the rows below the answer of a study with more than
one system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from seekwise.number_text import three
from seekwise.report.content import ReportContent
from seekwise.report.rows import trial_rows
from seekwise.store import operations
from seekwise.store.record import Record

SMALL_BYTES = 16_384
"""Requests up to this size are counted, larger ones are weighed: IOPS and MB/s."""
SETTINGS_MOST = 5
"""So many values stand side by side in 80 columns."""
KILO_FROM = 10_000


@dataclass(frozen=True)
class SystemRow:
    """One operation of one load on one system."""

    system: str
    operation: str
    """`random read`, after the load's name where a study has several."""
    figure: str
    """What is shown, with its unit: `highest IOPS`, `p99 latency in ms`."""
    values: Mapping[str, float]
    """By setting, in the unit of `figure`: the mean of its repetitions in the combination where it is highest."""

    @property
    def what(self) -> str:
        """`Random read, highest IOPS`."""
        return f"{self.operation[0].upper()}{self.operation[1:]}, {self.figure}"

    def text(self, setting: str) -> str:
        """The value of a setting."""
        value = self.values.get(setting)
        if value is None:
            return "–"
        return f"{three(value / 1000)} k" if "IOPS" in self.figure and value >= KILO_FROM else three(value)


def settings_of(content: ReportContent) -> list[str]:
    """What competes, in the order of the study."""
    plan = content.plan
    return [setting.label for setting in plan.settings if not setting.control] if plan is not None else []


def rows_of(content: ReportContent) -> list[SystemRow]:
    """Systems in the order of the study; none where one system or one setting says it."""
    settings = settings_of(content)
    if len(content.systems) < 2 or not 1 < len(settings) <= SETTINGS_MOST:
        return []
    # In the order of the study; trials run in another one.
    by_load: dict[str, dict[str, list[Record]]] = (
        {combination.load.name: {} for combination in content.plan.combinations} if content.plan else {}
    )
    for record in content.records:
        if record.valid and record.setting in settings:
            load = by_load.setdefault(str(record.factors.get("load", "")), {})
            load.setdefault(str(record.factors.get("system")), []).append(record)
    rows = []
    for load_name, systems in by_load.items():
        for operation in _foreground(next(iter(systems.values()))):
            name = operations.name(operation).lower()
            words = f"{load_name}, {name}" if len(by_load) > 1 else name
            rows += [
                _row(system.name, words, operation, systems[system.name], settings)
                for system in content.systems
                if system.name in systems
            ]
    return [row for row in rows if row.values]


def _has_background(record: Record) -> bool:
    return any("group_threads" in phase.details for phase in record.phases)


def _foreground(records: Sequence[Record]) -> list[str]:
    """Operations of the load itself: beside background jobs the first one, which they disturb."""
    operations_seen = dict.fromkeys(
        phase.operation
        for record in records
        for phase in (record.phases[:1] if _has_background(record) else record.phases)
    )
    return sorted(operations_seen, key=operations.place)


def _row(system: str, words: str, operation: str, records: Sequence[Record], settings: Sequence[str]) -> SystemRow:
    """The highest mean over the combinations of a load. Beside background jobs it is the latency, which they
    lengthen."""
    rows = [row for row in trial_rows(records) if row["operation"] == operation]
    is_small = all(int(record.factors.get("block_bytes", 0)) <= SMALL_BYTES for record in records)
    column, figure = ("iops", "highest IOPS") if is_small else ("rate_mb_s", "highest MB/s")
    if _has_background(records[0]):
        has_tail = all(row["p99_ms"] is not None for row in rows)
        column, figure = ("p99_ms", "p99 latency in ms") if has_tail else ("access_ms", "mean latency in ms")
    values = {}
    for setting in settings:
        by_setting: dict[object, list[float]] = {}
        for row in rows:
            value = row[column]
            if row["setting"] == setting and isinstance(value, float):
                by_setting.setdefault(row["combination"], []).append(value)
        if by_setting:
            values[setting] = max(fmean(throughputs) for throughputs in by_setting.values())
    return SystemRow(system, words, figure, values)
