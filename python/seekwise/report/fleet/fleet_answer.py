"""What a fleet says, in words and as a document: outliers and regressions first, then which settings win."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from seekwise.report.fleet.pooled import Pooled, pooled
from seekwise.report.fleet.rows import FleetSums, Unit
from seekwise.report.fleet.unlike import TWINS_LEAST, UnlikeUnit, VersionEffect, unlike
from seekwise.report.layout import wrapped
from seekwise.workload.study.quantity import counted

WIDTH = 79
SHOWN_MOST = 6
"""Sentences of a kind that are printed; all of them stand in the document."""


@dataclass(frozen=True)
class Fleet:
    """`import FILE.bundle --json`, `results --fleet --json` and `results FILE.parquet --json`."""

    SCHEMA: ClassVar = "seekwise.fleet/1"
    HIDDEN: ClassVar = ("units",)
    SHOWN: ClassVar = ("hosts", "devices")

    units: tuple[Unit, ...]
    measured: int
    """Operations of trials that count."""
    pooled: tuple[Pooled, ...]
    outliers: tuple[UnlikeUnit, ...]
    changes: tuple[VersionEffect, ...]
    provenance: Literal["measured"] = "measured"

    @property
    def hosts(self) -> int:
        """Different hosts among the units."""
        return len({unit.host for unit in self.units})

    @property
    def devices(self) -> int:
        """Storage devices of all hosts; an array counts once."""
        return len(self.units)


def of(summary: FleetSums) -> Fleet:
    """Raises MissingError without statsmodels."""
    outliers, changes = unlike(summary)
    return Fleet(tuple(summary.units), summary.trials, tuple(pooled(summary)), tuple(outliers), tuple(changes))


def lines(fleet: Fleet) -> list[str]:
    """At most 25 lines for an ordinary fleet, the outliers first."""
    kinds: dict[tuple[str, str], int] = {}
    for unit in fleet.units:
        kinds[unit.kind] = kinds.get(unit.kind, 0) + 1
    found = _wrapped(
        f"{counted(fleet.hosts, 'host')}, {counted(fleet.devices, 'device')} of {counted(len(kinds), 'kind')}, "
        f"{counted(fleet.measured, 'measured operation')}."
    )
    found.append("")
    few = [kind for kind, count in kinds.items() if count < TWINS_LEAST]
    if len(few) == len(kinds):
        found += _wrapped(
            f"Devices are not compared: that needs {TWINS_LEAST} of a kind, and there {_are(max(kinds.values(), default=0))} of a kind at most."
        )
    else:
        found += _listed([each.sentence for each in fleet.outliers] or ["No device is unlike its twins."], "devices")
        told = [each.sentence for each in fleet.changes] or ["No kernel or firmware makes a difference of 5 % or more."]
        found += _listed(told, "differences")
        if few:
            found += _wrapped(
                f"Not compared, since that needs {TWINS_LEAST} of a kind: {counted(sum(kinds[kind] for kind in few), 'device')} of {counted(len(few), 'other kind')}."
            )
    found.append("")
    clear = [each for each in fleet.pooled if each.word == "clear" and each.is_better]
    if clear:
        found += _listed([each.sentence for each in clear], "settings")
    else:
        found += _wrapped(
            "No setting is clearly better than the most common one."
            if fleet.pooled
            else "No two settings were measured on the same 3 hosts, so none are compared."
        )
    return found


def _are(number: int) -> str:
    return "is 1" if number == 1 else f"are {number}"


def _listed(sentences: list[str], what: str) -> list[str]:
    found = [line for each in sentences[:SHOWN_MOST] for line in _wrapped(each, "  ")]
    if len(sentences) > SHOWN_MOST:
        found.append(f"and {len(sentences) - SHOWN_MOST} more {what} (--json lists all)")
    return found


def _wrapped(text: str, then: str = "") -> list[str]:
    return wrapped(text, WIDTH, then=then)
