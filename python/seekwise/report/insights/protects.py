"""Whom a scheduler protects: readers next to writers, their rate and slow tail under each scheduler against none.

Rests on trials whose load has a second group of threads that writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seekwise.number_text import listed, thousands, three
from seekwise.report.explain.caps import WITHOUT
from seekwise.report.insights.finding import Finding, means
from seekwise.store.record import Phase, Record

LEVEL = 0.10
"""A p99 as near as this share to that of `none` is no protection."""


@dataclass(frozen=True)
class ReadWriteMeans:
    """Means over the repeats of readers and writers under one setting."""

    reads: float
    """Per second."""
    p99_ms: float
    writes: float


def _readers_and_writers(record: Record) -> tuple[Phase, Phase] | None:
    if len(record.phases) != 2 or not all("group_threads" in p.details for p in record.phases):
        return None
    first, second = record.phases
    return (first, second) if first.operation.endswith("read") and second.operation.endswith("write") else None


def _numbers(record: Record) -> ReadWriteMeans | None:
    pair = _readers_and_writers(record)
    p99_ns = pair[0].percentile_ns(99) if pair else None
    return ReadWriteMeans(pair[0].iops, p99_ns / 1e6, pair[1].iops) if pair and p99_ns else None


def find(records: Sequence[Record]) -> list[Finding]:
    """One for each system and load that was measured with `none`."""
    return [
        _finding(system, settings)
        for (system, _), settings in sorted(means(records, _numbers).items())
        if WITHOUT in settings and len(settings) > 1
    ]


def summary(records: Sequence[Record]) -> str | None:
    """Whether a scheduler protects readers from writers, and on which systems; None where nothing tells."""
    known = find(records)
    if not known:
        return None
    saved: dict[str, list[str]] = {}
    for finding in known:
        if finding.numbers["protects"]:
            saved.setdefault(str(finding.numbers["protects"]), []).append(str(finding.numbers["system"]))
    if not saved:
        where = "on any system" if len(known) > 1 else "here"
        return f"Readers next to writers: no scheduler shortens their p99 by {100 * LEVEL:.0f} % or more {where}"
    said = (f"{setting} shortens their p99 on {listed(systems)}" for setting, systems in saved.items())
    return f"Readers next to writers: {'; '.join(said)}"


def _finding(system: str, settings: Mapping[str, ReadWriteMeans]) -> Finding:
    without = settings[WITHOUT]
    others = sorted((name for name in settings if name != WITHOUT), key=lambda name: settings[name].p99_ms)
    said = ", ".join(f"{three(settings[name].p99_ms)} ms under {name}" for name in others)
    best = others[0]
    gain = without.p99_ms / settings[best].p99_ms
    if gain >= 1 + LEVEL:
        own = settings[best]
        verdict = f"{best} protects readers: {_times(own.reads, without.reads)} the reads, {_times(own.writes, without.writes)} the writes"
    else:
        verdict = "no scheduler protects readers"
    text = (
        f"readers next to writers on {system}: {verdict}; p99 of a read is {three(without.p99_ms)} ms under {WITHOUT}, {said} "
        f"({thousands(without.reads)} reads and {thousands(without.writes)} writes per second under {WITHOUT})"
    )
    worst = max(setting.p99_ms for setting in settings.values())
    numbers: dict[str, object] = {
        "system": system,
        "p99_ms": {name: measured.p99_ms for name, measured in settings.items()},
        "reads": {name: measured.reads for name, measured in settings.items()},
        "writes": {name: measured.writes for name, measured in settings.items()},
        "protects": best if gain >= 1 + LEVEL else None,
    }
    strength = math.log(worst / settings[best].p99_ms) if gain >= 1 + LEVEL else math.log(worst / without.p99_ms)
    return Finding("protects", text, numbers, max(strength, 0.0))


def _times(own: float, other: float) -> str:
    return f"{three(own / other)} times" if other > 0 else "all"
