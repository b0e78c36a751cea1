"""Writes `docs/coverage.md` from the checklist, `coverage.toml` and the row tests: `python tests/published/coverage.py`.

works     every row test passes, all evidence exists, nothing is known to be missing
partly    the same, and what is missing is said
open      a row test fails, or there is neither a test nor evidence
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from published import test_rows

TARGET = ROOT / "docs" / "coverage.md"
TOP = """# Coverage of the checklist

Every row of the checklist in `tests/seeds/README.md` (what the publications do or name): *works*, *partly* with what is missing, or *open*. Written by
`python tests/published/coverage.py` from the row tests (`row:` in `tests/published/test_rows.py`, each of which tests what the row says) and from the evidence
in `tests/published/coverage.toml`; `tests/published/test_coverage.py` fails when this page and they differ. Kinds of evidence: `command:` of the program, `study:` below
`studies/`, `model:` of a drive, `controller:` model, `explain:` word, `chart:` of the report, `figure:`, `table:` and `grid:` STUDY/NUMBER of a published study, `finding:`
an insight by its kind, `claim:` of `tests/seeds/claims.toml` that `verify claims` decides, `test:` file and name. What is shown can still disagree with a publication:
how far, `seekwise verify claims`, `verify verdicts` and `verify rates` print, and `docs/published/` says why.
"""


@dataclass(frozen=True)
class Row:
    number: int
    item: str
    shown: tuple[str, ...]
    missing: str
    tests: tuple[str, ...]

    def state(self, failing: Iterable[str] = ()) -> str:
        if set(self.tests) & set(failing) or not (self.shown or self.tests):
            return "open"
        return f"partly: {self.missing}" if self.missing else "works"

    def line(self, failing: Iterable[str] = ()) -> str:
        named = [*(f"`row:{name}`" for name in self.tests), *(f"`{token}`" for token in self.shown)]
        return f"| {self.number} | {self.item} | {self.state(failing)} | {', '.join(named)} |"


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
            item,
            tuple(stated.get(number, {}).get("shown", ())),
            stated.get(number, {}).get("missing", ""),
            tuple(name for name in tests if number in numbers_of(name)),
        )
        for number, item in checklist().items()
    ]


def failing() -> list[str]:
    found = []
    for name, test in row_tests().items():
        try:
            test()
        except Exception as error:  # noqa: BLE001 - whatever a row test raises, its rows are open
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            found.append(name)
    return found


def page(failed: Iterable[str] = ()) -> str:
    known = rows()
    states = [row.state(failed).split(":")[0] for row in known]
    counts = ", ".join(f"{states.count(word)} {word}" for word in ("works", "partly", "open"))
    counts = counts.replace("works", "work").replace(" partly", " work partly").replace(" open", " are open")
    lines = "\n".join(row.line(failed) for row in known)
    return f"{TOP}\nOf {len(known)} rows {counts}.\n\n| No | Item | State | Shown by |\n|---:|---|---|---|\n{lines}\n"


if __name__ == "__main__":
    TARGET.write_text(page(failing()))
    print(TARGET)
