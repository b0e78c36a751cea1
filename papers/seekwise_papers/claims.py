"""Claims of published articles against the simulator (validation level 5).

FILE has `[[claim]]` records (default: the data that ships with the program). Every claim marked `testable` counts: its `expr` is evaluated
and compared with its `expect`; nothing else in the record has an influence. What is not modelled is missed, with the reason. 80 % are required.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from seekwise.simulate.setups.queries import ResultSource
from seekwise.simulate.setups.value import ClaimError, NotModelled
from seekwise_papers._published import Outcome, Publications, PublicationsReport
from seekwise_papers.expect import passes, shown
from seekwise_papers.expression import evaluate
from seekwise_papers.functions import Functions

SUMMARY = "claims of published articles against the simulator"
REQUIRES_FILES = False


@dataclass(kw_only=True)
class Claims(PublicationsReport):
    """`verify claims --json`."""

    SCHEMA: ClassVar = "seekwise.validate.claims/1"


def verify(paths: Sequence[Path], options: dict[str, Any], source: ResultSource | None = None) -> Claims:
    """Claim files, or folders that are searched for files named *claims*.toml."""
    return PUBLISHED.verify(Claims, paths, options, source)


def _outcomes(document: Mapping[str, Any], source: ResultSource) -> Iterable[Outcome] | str:
    claims = document.get("claim")
    if not isinstance(claims, list) or not all(isinstance(claim, Mapping) for claim in claims):
        return "has no [[claim]] records"
    tested = [claim for claim in claims if claim.get("testable") is not False]
    if not tested:
        return "has no claim that can be tested"
    return [_outcome(claim, number, source) for number, claim in enumerate(tested, start=1)]


def _outcome(claim: Mapping[str, Any], number: int, source: ResultSource) -> Outcome:
    result, reason = check(claim.get("expr"), claim.get("expect"), source)
    return str(claim.get("id", f"claim {number}")), result is not None, reason


PUBLISHED = Publications("claims", "claims", "claim", "id", 0.80, _outcomes)


def check(expr: object, expect: object, source: ResultSource) -> tuple[Any, str | None]:
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
