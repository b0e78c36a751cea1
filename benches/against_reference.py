"""Do verdicts of short runs hold? Each run of `tune` against all others together, as the longest measurement there is of the same disk.

    python benches/against_reference.py before.db after.db …      # stores; of each the newest live-switched run

Runs of the same uses and candidates. A statement is contradicted when the 90 % interval of the others lies wholly outside of what it says: *same* beyond its
bound, *better* where the setting is worse, *worse* where it is better.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from seekwise.judge.decision.records import Decided, decided
from seekwise.judge.decision.verdicts import CandidateVerdict, Judged
from seekwise.store.database import Store
from seekwise.store.record import Record
from seekwise.workload.live_plan import LivePlan

BETWEEN_RUNS = 1000
"""Rounds of one run are no neighbours of another's."""


def newest(path: Path) -> tuple[LivePlan, list[Record]]:
    with Store.open(path, create=False) as store:
        run = next(run for run in reversed(store.runs()) if not run.is_of_study)
        return LivePlan.from_document(run.plan), list(store.records(run.run_id))


def pooled(runs: Sequence[Sequence[Record]]) -> list[Record]:
    found, first = [], 0
    for records in runs:
        for record in records:
            conditions = {**record.conditions, "stretch": 0}
            found.append(dataclasses.replace(record, repetition=first + record.repetition, conditions=conditions))
        first += max(record.repetition for record in records) + BETWEEN_RUNS
    return found


def contradicted(said: CandidateVerdict, true: CandidateVerdict) -> bool:
    if true.low is None or true.high is None or said.ratio is None:
        return False
    if said.verdict == "same":
        bound = 1 + (said.bound or 0.0)
        return true.low > bound or true.high < 1 / bound
    return true.high < 1 if said.ratio > 1 else true.low > 1


def line(name: str, found: Decided, reference: Decided) -> tuple[str, int, int, int]:
    """(text, useful statements, contradicted, all)"""
    true: dict[tuple[str, str], Judged] = {(each.use, each.metric): each for each in reference.judged}
    total = sure = wrong = 0
    for each in found.judged:
        for said in each.standings:
            if said.setting == each.base:
                continue
            total += 1
            if said.verdict == "unknown":
                continue
            sure += 1
            other = true[each.use, each.metric].of(said.setting)
            wrong += other is not None and contradicted(said, other)
    chosen = found.choice.setting if found.choice else "nothing"
    best = reference.choice.setting if reference.choice else "nothing"
    text = f"{name:24} {chosen:14} (the others: {best}) useful {sure} of {total} ({sure / total:.0%}), "
    return f"{text}{wrong} contradicted", sure, wrong, total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="+", type=Path)
    runs = [(path, *newest(path)) for path in parser.parse_args().store]
    sums = [0, 0, 0]
    for number, (path, plan, records) in enumerate(runs):
        others = pooled([other for place, (_, _, other) in enumerate(runs) if place != number])
        text, *counts = line(path.name, decided(records, plan), decided(others, plan))
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        print(text)
    sure, wrong, total = sums
    print(
        f"\n{sure} of {total} comparisons with a useful statement ({sure / total:.0%}), {wrong} contradicted ({wrong / max(1, sure):.1%})"
    )


if __name__ == "__main__":
    main()
