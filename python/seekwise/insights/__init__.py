"""Findings in words: what a table of numbers says, computed from records of any backend, each sentence with its numbers.

`schedulers` finds groups, trends over threads, slopes and spread; `requests` finds where an array begins to beat one drive, where
it doubles it and where random meets sequential; `pairs` compares systems that differ in one thing;
`controllers` says of a controller beside md which of the two does the work. Nothing knows a text's words.
"""

from __future__ import annotations

from collections.abc import Sequence

from seekwise.insights import controllers, pairs, requests, schedulers
from seekwise.insights.means import Means
from seekwise.insights.model import Finding
from seekwise.store.record import Record
from seekwise.study.model import System


def find(records: Sequence[Record], systems: Sequence[System]) -> list[Finding]:
    """Every finding, in the order: schedulers on each system, request sizes and chunks, systems beside each other."""
    means = Means.of(records, [system.name for system in systems])
    return [
        *schedulers.find(means),
        *requests.find(means, systems),
        *pairs.find(means, systems),
        *controllers.find(means, systems),
    ]


__all__ = ["Finding", "Means", "find"]
