"""How far gains of the simulator are from published ones, by what differs between two settings.

    .venv/bin/python tools/gain_errors.py        writes python/seekwise/simulate/gain_errors.json: after a change of the model's version

Of the published measurements of others (tests/reference) every two rows of a group that differ in one thing (the chunk, the depth, the scheduler …) have
a ratio there and one in the simulator. A row's error is the median of those of its ratios, so that one wrong row does not spoil all others.

`error` of a kind is what SHARE of the given rows lie within, those that parameters were set from among them: settings that differ by less are not told apart. A kind
with fewer than FEWEST of them has none, and counts as all kinds together.

`interval` is what advice states. No row counts in it that a parameter was set from; foretold rows do. Each group is left out in turn, and the smallest quantile of
the others' errors is taken that covers STATED of all rows left out. Where none does, it is the largest error. The
groups have to cover COVERED_LEAST of each other's rows. A kind of one group, or of fewer than FEWEST rows, has no interval: the model has not been held against measurements there.
One queue that many processors share is a kind of its own, which nobody is advised on.
"""

from __future__ import annotations

import itertools
import json
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seekwise import core
from seekwise.simulate.gain_error import KINDS, PATH
from seekwise_proof.validate._basis import Basis, marking
from seekwise_proof.validate.gains import AnsweredTable, AskedStudies, PublishedNumber, parse

REFERENCE = Path(__file__).parents[1] / "tests" / "reference"
GIVEN = REFERENCE / "arrays-and-queues/given.csv"
FORETOLD = [REFERENCE / "gains-foretold/given5.csv", *sorted((REFERENCE / "gains-blind").glob("given*.csv"))]
SHARE, STATED, COVERED_LEAST = 2 / 3, 0.9, 0.85
FEWEST = 5
ELSEWHERE = {
    "lock_on_many_processors": ", one queue for many processors",
    "priority_classes": ", one queue for many processors",
}
"""{how a study's name begins: how its rows' kind is called}"""


class RowError(NamedTuple):
    """Of one row where one kind of thing differs, as a logarithm."""

    kind: str
    row: str
    group: str
    error: float


def main() -> None:
    errors = {path: of_table(path) for path in (GIVEN, *FORETOLD)}
    given = errors[GIVEN]
    held = [each for path, rows in errors.items() for each in rows if marking(path).basis(each.row) is not Basis.FITTED]
    names = dict.fromkeys([*KINDS.values(), *sorted({each.kind for each in held})])
    document = {
        "model_version": core.model_version(),
        "share": round(SHARE, 2),
        "stated": STATED,
        "all": {"error": within(given, SHARE)},
        "kinds": {kind: figures(of_kind(given, kind), of_kind(held, kind)) for kind in names},
    }
    PATH.write_text(json.dumps(document, indent=1) + "\n")
    print(PATH.read_text())


def of_kind(errors: Sequence[RowError], kind: str) -> list[RowError]:
    return [each for each in errors if each.kind == kind]


def of_table(path: Path) -> list[RowError]:
    """Of all rows of a table that have an answer."""
    studies = path.parent / "ask"
    table = AnsweredTable(parse(path.read_text()), AskedStudies(studies))
    asked = {
        row.id: asked_with(row, studies)
        for row in table.numbers.values()
        if isinstance(table.answers.get(row.id), float)
    }
    ratios: dict[tuple[str, str], list[float]] = {}
    for one, other in itertools.combinations(asked, 2):
        first, second = table.numbers[one], table.numbers[other]
        if (first.group, first.metric) != (second.group, second.metric):
            continue
        kinds = {kind_of(name) for name in differing(asked[one], asked[other])}
        if len(kinds) == 1 and (kind := kinds.pop()):
            published, simulated = first.value / second.value, table.answer(one) / table.answer(other)
            # Of the larger over the smaller, so that it does not matter which stands first.
            for row in (one, other):
                ratios.setdefault((kind, row), []).append(abs(math.log(simulated / published)))
    return [
        RowError(
            kind + elsewhere(table.numbers[row].ask),
            row,
            table.numbers[row].group,
            float(np.quantile(found, 0.5, method="lower")),
        )
        for (kind, row), found in ratios.items()
    ]


def figures(given: Sequence[RowError], held: Sequence[RowError]) -> dict[str, Any]:
    """What one kind's rows show; no errors where there are too few."""
    found: dict[str, Any] = {"rows": len(held), "groups": len({each.group for each in held})}
    if len(given) >= FEWEST:
        found["error"] = within(given, SHARE)
    if len(held) >= FEWEST and found["groups"] > 1:
        interval, covered = covering(held)
        if covered >= COVERED_LEAST:
            found["interval"], found["covered_left_out"] = interval, covered
    return found


def within(errors: Sequence[RowError], share: float) -> float:
    return round(math.expm1(float(np.quantile([each.error for each in errors], share))), 3)


def covering(own: Sequence[RowError]) -> tuple[float, float]:
    """What covers STATED of the rows left out, the mean over them, and the share that it covers."""
    others = {group: [each.error for each in own if each.group != group] for group in {each.group for each in own}}
    for quantile in np.arange(SHARE, 1.0, 0.001):
        limits = {group: np.quantile(errors, quantile) for group, errors in others.items()}
        covered = float(np.mean([each.error <= limits[each.group] for each in own]))
        if covered >= STATED:
            break
    else:
        # No quantile of others covers them: what is stated is the largest error that there was.
        return within(own, 1.0), round(covered, 3)
    width = float(np.mean([limits[each.group] for each in own]))
    return round(math.expm1(width), 3), round(covered, 3)


def asked_with(row: PublishedNumber, studies: Path) -> dict[str, Any]:
    """What a row asks for: the fields of its system, and what its study selects."""
    study = tomllib.loads((studies / f"{row.ask}.toml").read_text())
    select = dict(row.select)
    name = select.pop("system", study["system"][0]["name"])
    system = next(each for each in study["system"] if each["name"] == name)
    options = system.get("options", {})
    return {**{key: value for key, value in system.items() if key not in ("name", "options")}, **options, **select}


def differing(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """A drive alone has no chunk."""
    return {
        name
        for name in one.keys() | other.keys()
        if one.get(name) != other.get(name) and (name != "chunk_kib" or name in one.keys() & other.keys())
    }


def elsewhere(study: str) -> str:
    """What sets a study's rows apart from those of its kind, to go behind the kind's name."""
    return next((words for begins, words in ELSEWHERE.items() if study.startswith(begins)), "")


def kind_of(name: str) -> str:
    """`` for what is no setting that the product chooses."""
    return KINDS.get(name, "")


if __name__ == "__main__":
    main()
