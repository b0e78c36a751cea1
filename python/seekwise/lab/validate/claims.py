"""Claims of published articles against the simulator (validation level 5).

FILE has `[[claim]]` records (default: the data that ships with the program). Every claim marked `testable` counts: its `expr` is evaluated
and compared with its `expect`; nothing else in the record has an influence. What is not modelled is missed, with the reason. 80 % are required.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seekwise import bounds
from seekwise.files import read_text
from seekwise.lab.validate._basis import marking
from seekwise.lab.validate.frame import FileReport, Report, files_below, unreadable
from seekwise.papers.expect import passes, shown
from seekwise.papers.expression import evaluate
from seekwise.papers.functions import Functions
from seekwise.papers.prefetch import prepare
from seekwise.papers.simulated import SimulatedResults
from seekwise.simulate.setups.queries import ResultSource
from seekwise.simulate.setups.value import ClaimError, NotModelled

SUMMARY = "claims of published articles against the simulator"
REQUIRES_FILES = False
DEFAULT = (Path(__file__).parent / "data" / "claims.toml").resolve()
SHARE = 0.80


def verify(paths: Sequence[Path], options: dict[str, Any], source: ResultSource | None = None) -> Report:
    """Claim files, or folders that are searched for files named *claims*.toml."""
    source = source or SimulatedResults(options.get("tell"))
    found = _found(paths or [DEFAULT])
    prepare(source, lambda asked: [_file(path, asked) for path in found])
    files = [_file(path, source) for path in found]
    passed, total = sum(file.passed for file in files), sum(file.total for file in files)
    modelled = {"modelled": sum(file.extra.get("modelled", 0) for file in files)}
    return Report(
        "claims", files, modelled, total > 0 and passed >= SHARE * total, f"{100 * SHARE:.0f} % of the claims"
    )


def _found(paths: Sequence[Path]) -> list[Path]:
    return list(files_below(paths, ["claims.toml"]))


def _file(path: Path, source: ResultSource) -> FileReport:
    try:
        claims = bounds.toml(read_text(path)).get("claim")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return unreadable(path, f"cannot be read: {error}")
    if not isinstance(claims, list) or not all(isinstance(claim, Mapping) for claim in claims):
        return unreadable(path, "has no [[claim]] records")
    tested = [claim for claim in claims if claim.get("testable") is not False]
    modelled, misses, rows = 0, [], []
    for number, claim in enumerate(tested, start=1):
        name = str(claim.get("id", f"claim {number}"))
        result, reason = check(claim.get("expr"), claim.get("expect"), source)
        rows.append((name, reason is None))
        modelled += result is not None
        if reason is not None:
            misses.append(f"{name}: {reason}")
    if not tested:
        return unreadable(path, "has no claim that can be tested")
    shares = marking(path, DEFAULT, names(DEFAULT)).shares(rows)
    return FileReport(str(path), len(rows) - len(misses), len(rows), misses, {"modelled": modelled}, shares)


@functools.cache
def names(path: Path) -> frozenset[str]:
    """The claims of a file."""
    return (
        frozenset(str(claim["id"]) for claim in tomllib.loads(read_text(path))["claim"])
        if path.exists()
        else frozenset()
    )


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
