"""Insights in words, computed from the records of any backend: each a sentence with its numbers.

`schedulers` finds groups of settings, slopes and spread on each system; `requests` finds where an array begins to beat
one drive, where it doubles it and where random meets sequential; `pairs` compares systems that differ in one thing;
`controllers` says of a controller beside md which of the two does the work; `locks` says up to which rate a scheduler
costs nothing and where its lock caps the drives; `protects` whom it protects from writers; `loads` sets two programs
that do the same beside each other. Nothing knows a text's words.

What holds for several systems is one sentence. `find` keeps a dozen, the strongest first, and at least one of each
kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seekwise.number_text import natural
from seekwise.report.insights import controllers, loads, locks, pairs, protects, requests, schedulers
from seekwise.report.insights.finding import Finding
from seekwise.report.insights.means import Means
from seekwise.store.record import Record
from seekwise.workload.study import combination_key
from seekwise.workload.study.study import System

SHOWN_MOST = 12
OF_A_KIND_MOST = {"groups": 4, "lock": 6, "pair": 3}
"""Others: 2."""


def everything(records: Sequence[Record], systems: Sequence[System]) -> list[Finding]:
    """Every insight, unordered."""
    return [
        *(finding for words, alike in _alike(records) for finding in _of_alike(words, alike, systems)),
        *locks.find(records),
        *protects.find(records),
    ]


COMPARED = ("system", "load", "job", "threads", "block")
"""Conditions that insights set side by side. Whatever else a study varies (depth, memory) is never averaged over."""


def _alike(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    """Records that differ in what is compared alone, each group with its conditions in words; no words where all are
    one."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        _, conditions = combination_key.parse(record.combination)
        words = ", ".join(f"{name} {value}" for name, value in conditions.items() if name not in COMPARED)
        groups.setdefault(words, []).append(record)
    order = sorted(groups, key=natural)
    return [(words if len(groups) > 1 else "", groups[words]) for words in order]


def _of_alike(words: str, records: Sequence[Record], systems: Sequence[System]) -> list[Finding]:
    means = Means.from_records(loads.of_one(records), [system.name for system in systems])
    findings = [
        *loads.find(records),
        *schedulers.find(means),
        *requests.find(means, systems),
        *pairs.find(means, systems),
        *controllers.find(means, systems),
    ]
    return [replace(finding, text=f"{words}: {finding.text}") for finding in findings] if words else findings


def find(records: Sequence[Record], systems: Sequence[System]) -> list[Finding]:
    """At most a dozen insights, the strongest first."""
    return strongest(everything(records, systems))


def strongest(findings: Sequence[Finding]) -> list[Finding]:
    """The strongest of each kind, then the strongest of the rest, a few of each kind; in the order of their
    strength."""
    order = sorted(findings, key=lambda finding: -finding.strength)
    first = list({finding.kind: finding for finding in reversed(order)}.values())
    first.sort(key=lambda finding: -finding.strength)
    chosen: list[Finding] = []
    for finding in (*first, *(finding for finding in order if finding not in first)):
        if len(chosen) < SHOWN_MOST and sum(known.kind == finding.kind for known in chosen) < OF_A_KIND_MOST.get(
            finding.kind, 2
        ):
            chosen.append(finding)
    return sorted(chosen, key=lambda finding: -finding.strength)


__all__ = ["Finding", "Means", "everything", "find", "strongest"]
