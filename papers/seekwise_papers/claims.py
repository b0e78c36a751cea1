"""Claims of published articles against the simulator (validation level 5).

FILE has `[[claim]]` records (default: the data that ships with the program). Every claim marked `testable` counts: its
`expr` is evaluated and compared with its `expect`; nothing else in the record has an influence. What is not modelled is
missed, with the reason. 80 % are required.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seekwise.simulate.setups.setup import NotModelled
from seekwise_papers.expect import passes, shown
from seekwise_papers.expression import evaluate
from seekwise_papers.functions import Functions
from seekwise_papers.simulated import SimulatedResults
from seekwise_papers.value import ClaimError

SUMMARY = "claims of published articles against the simulator"
WHAT, TABLE, KEY = "claims", "claim", "id"
SHARE = 0.80
SHIPPED = (Path(__file__).parent / "data/claims.toml").resolve()
SAID: dict[str, str] = {}
source = SimulatedResults
"""Who answers."""
Outcome = tuple[str, bool, str | None]
"""Name of a fact, whether the source of results has an answer, and why the fact is missed (None: it is not)."""


def outcomes(document: Mapping[str, Any], source: SimulatedResults) -> list[Outcome] | str:
    """Of a file's document; a sentence says why it has none."""
    claims = document.get("claim")
    if not isinstance(claims, list) or not all(isinstance(claim, Mapping) for claim in claims):
        return "has no [[claim]] records"
    tested = [claim for claim in claims if claim.get("testable") is not False]
    if not tested:
        return "has no claim that can be tested"
    checked = [check(claim.get("expr"), claim.get("expect"), source) for claim in tested]
    names = [str(claim.get("id", f"claim {number}")) for number, claim in enumerate(tested, start=1)]
    return [(name, result is not None, reason) for name, (result, reason) in zip(names, checked, strict=True)]


def check(expr: object, expect: object, source: SimulatedResults) -> tuple[Any, str | None]:
    """(result or None, why it is missed or None)."""
    result = None
    try:
        result = evaluate(expr, Functions(source))  # type: ignore[arg-type]
        if passes(result, expect):
            return result, None
    except ClaimError as error:
        return result, str(error)
    except NotModelled as error:
        return None, f"not modelled: {error}"
    return result, f"is {shown(result)}"
