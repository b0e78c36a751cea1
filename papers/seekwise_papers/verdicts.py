"""Winners of published tables against the simulator (validation level 5).

FILE has `[[block]]` and `[[cell]]` records (default: the data that ships with the program). Records with the same
`fact` are one measurement and count once. Rule: the metric is averaged over five seeds and the thread counts of the
study; values within 3 % of the greater one are a tie, and so are CPU efficiencies within the standard error of the
clock ticks of one run. Otherwise the greater rate or CPU efficiency wins, and the smaller access time. What is not
modelled is missed, with the reason. 85 % are required.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seekwise.simulate.setups.setup import NotModelled
from seekwise.store.operations import PURE_OPERATIONS
from seekwise_papers.queries import SCHEDULERS, Query
from seekwise_papers.simulated import SimulatedResults
from seekwise_papers.value import ClaimError
from seekwise_papers.winner_rule import METRICS, RULE, decide

SUMMARY = "winners of published tables against the simulator"
WHAT, TABLE, KEY = "facts", "cell", "fact"
SHARE = 0.85
SHIPPED = (Path(__file__).parent / "data/verdicts.toml").resolve()
SAID = {"rule": RULE}
source = SimulatedResults
"""Who answers."""
Outcome = tuple[str, bool, str | None]
"""Name of a fact, whether the source of results has an answer, and why the fact is missed (None: it is not)."""

Side = tuple[str, str]
"""System and scheduler."""


def outcomes(document: Mapping[str, Any], source: SimulatedResults) -> list[Outcome] | str:
    """Of a file's document; a sentence says why it has none."""
    cells, blocks = document.get("cell"), document.get("block", [])
    records = [*cells, *blocks] if isinstance(cells, list) and isinstance(blocks, list) else [None]
    if not cells or not all(isinstance(record, Mapping) for record in records):
        return "has no [[cell]] and [[block]] records"
    by_id = {str(block.get("id")): block for block in blocks}
    facts: dict[str, list[Mapping[str, Any]]] = {}
    for number, cell in enumerate(cells, start=1):
        facts.setdefault(str(cell.get("fact", cell.get("id", f"cell {number}"))), []).append(cell)
    checked: list[Outcome] = []
    for fact, printed in facts.items():
        known, reasons = zip(*(_outcome(cell, by_id, source) for cell in printed), strict=True)
        checked.append((fact, all(known), next(filter(None, reasons), None)))
    return checked


def _outcome(
    cell: Mapping[str, Any], blocks: Mapping[str, Mapping[str, Any]], source: SimulatedResults
) -> tuple[bool, str | None]:
    """Whether the source of results has an answer, and why the cell is missed (None: it is not)."""
    try:
        block = blocks.get(str(cell.get("block")))
        if block is None:
            raise ClaimError(f"there is no block `{cell.get('block')}`")
        sides = _sides(block)
        names = tuple(cell.get("pair") or block.get("pair") or ())
        if len(names) != 2:
            raise ClaimError("the record has no pair")
        (first, first_error), (second, second_error) = (_mean(side, cell, source) for side in sides)
    except ClaimError as error:
        return False, str(error)
    except NotModelled as error:
        return False, f"not modelled: {error}"
    winner = decide(first, second, names, METRICS[cell["metric"]][1], math.hypot(first_error, second_error))
    if winner == cell.get("winner"):
        return True, None
    return True, f"{winner} ({names[0]} {first:.4g}, {names[1]} {second:.4g}), printed {cell.get('winner')}"


def _sides(block: Mapping[str, Any]) -> tuple[Side, Side]:
    """What is compared, in the order of the pair."""
    systems, compare = list(block.get("system") or []), block.get("compare")
    names = {
        "scheduler": list(block.get("pair") or []),
        "implementation": [block.get("scheduler_hardware"), block.get("scheduler_software")],
        "ncq": [block.get("scheduler")] * 2,
    }.get(str(compare), [])
    if len(names) != 2 or len(systems) != (1 if compare == "scheduler" else 2):
        raise ClaimError(f"the comparison `{compare}` of {len(systems)} systems is unknown")
    chosen = ((systems[0], names[0]), (systems[-1], names[1]))
    for system, scheduler in chosen:
        if not isinstance(system, str) or scheduler not in SCHEDULERS:
            raise ClaimError(f"there is no scheduler `{scheduler}`")
    return chosen


def _mean(side: Side, cell: Mapping[str, Any], source: SimulatedResults) -> tuple[float, float]:
    """And its standard error."""
    metric, operation = cell.get("metric"), cell.get("operation")
    if metric not in METRICS:
        raise ClaimError(f"there is no metric `{metric}`")
    if operation not in PURE_OPERATIONS:
        raise ClaimError(f"there is no operation `{operation}`")
    system, scheduler = side
    queries = [
        Query(METRICS[metric][0], system, operation, scheduler, threads) for threads in source.defaults(system).threads
    ]
    values = source.measure(queries)
    errors = [source.scatter(query) for query in queries]
    return sum(values) / len(values), math.hypot(*errors) / len(values)
