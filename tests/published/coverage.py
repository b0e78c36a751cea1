"""The checklist of `tests/seeds/README.md`, with what shows each row: the evidence of `coverage.toml`, and the row tests of `test_rows.py`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from published import test_rows

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Row:
    number: int
    shown: tuple[str, ...]
    """Evidence, as `explain:noop`."""
    missing: str
    """What the row says and the program does not do; empty for a row that works."""
    tests: tuple[str, ...]


def checklist() -> dict[int, str]:
    text = (ROOT / "tests/seeds/README.md").read_text()
    found = re.findall(r"^\| (\d+) \| (.*?) \| [0-9, to]+ \|", text, re.MULTILINE)
    return {int(number): item for number, item in found}


def row_tests() -> dict[str, Callable[[], None]]:
    """`test_rows_003_201_…` tests rows 3 and 201."""
    return {name: value for name, value in vars(test_rows).items() if name.startswith("test_rows_")}


def numbers_of(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"_(\d{3})(?=_)", name))


def rows() -> list[Row]:
    stated = {row["number"]: row for row in tomllib.loads((Path(__file__).with_suffix(".toml")).read_text())["row"]}
    tests = row_tests()
    return [
        Row(
            number,
            tuple(stated.get(number, {}).get("shown", ())),
            stated.get(number, {}).get("missing", ""),
            tuple(name for name in tests if number in numbers_of(name)),
        )
        for number in checklist()
    ]
