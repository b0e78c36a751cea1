"""How far apart two settings must be in the simulator to be told from each other, by what differs between them.

    .venv/bin/python tools/gain_errors.py        writes python/seekwise/simulate/gain_errors.json: after a change of the model's version

Of the published measurements of others (tests/reference/arrays-and-queues) every two rows of a group that differ in one thing (the chunk, the depth, the
scheduler …) have a ratio there and one in the simulator. A row's error is the median of those of its ratios, so that one wrong row does not spoil all
others. `error` of a kind is what SHARE of its rows lie within; a kind with fewer than FEWEST rows has that of all kinds together.
"""

from __future__ import annotations

import itertools
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from seekwise import core
from seekwise.simulate.gain_error import KINDS, PATH
from seekwise_proof.validate.gains import AnsweredTable, AskedStudies, PublishedNumber, parse

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "reference" / "arrays-and-queues"
SHARE = 2 / 3
FEWEST = 5


def main() -> None:
    table = AnsweredTable(parse((DATA / "given.csv").read_text()), AskedStudies(DATA / "ask"))
    asked = {row.id: asked_with(row) for row in table.numbers.values() if isinstance(table.answers.get(row.id), float)}
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
    errors: dict[str, list[float]] = {}
    for (kind, _), found in ratios.items():
        errors.setdefault(kind, []).append(float(np.quantile(found, 0.5, method="lower")))
    every = [error for kind in errors.values() for error in kind]
    kinds = {
        kind: {"rows": len(found), "error": within(found if len(found) >= FEWEST else every)}
        for kind in dict.fromkeys(KINDS.values())
        for found in [errors.get(kind, [])]
    }
    document = {"model_version": core.model_version(), "share": round(SHARE, 2), "kinds": kinds}
    PATH.write_text(json.dumps(document, indent=1) + "\n")
    print(PATH.read_text())


def asked_with(row: PublishedNumber) -> dict[str, Any]:
    """What a row asks for: the fields of its system, and what its study selects."""
    study = tomllib.loads((DATA / "ask" / f"{row.ask}.toml").read_text())
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


def kind_of(name: str) -> str:
    """`` for what is no setting that the product chooses."""
    return KINDS.get(name, "")


def within(errors: list[float]) -> float:
    return round(math.expm1(float(np.quantile(errors, SHARE))), 3)


if __name__ == "__main__":
    main()
