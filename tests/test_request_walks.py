"""The two requests that ARCHITECTURE.md follows through the simulator pass the modules that stand there, and differ where it says by what."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.rust_modules import code_of

ROOT = Path(__file__).parents[1]
TEXT = (
    (ROOT / "ARCHITECTURE.md")
    .read_text(encoding="utf-8")
    .partition("Two requests in the simulator")[2]
    .partition("\n\nDirect I/O")[0]
)
ROW = re.compile(r"^\| ([^|]*)\| ([^|]*)\| ([^|]*)\| ([^|]*)\|$", re.MULTILINE)
STEP = re.compile(r"`([\w/]+\.rs)` (\w+)")
ROWS = [[cell.strip() for cell in row] for row in ROW.findall(TEXT)][1:]
"""What the step is for, the step of each request, by what they differ."""


def steps(column: int) -> list[tuple[str, str]]:
    return [step.groups() for row in ROWS if (step := STEP.fullmatch(row[column]))]


def code(file: str) -> str:
    return code_of((ROOT / "crates" / file).read_text(encoding="utf-8"))


def calls(file: str, name: str) -> bool:
    """The module calls a function of this name; its definition is no call."""
    return re.search(rf"(?<!fn )\b{name}(?:::<[^>]*>)?\(", code(file)) is not None


def test_every_row_is_read() -> None:
    assert len(ROWS) == 21
    for row in ROWS:
        assert STEP.fullmatch(row[2]), row
        assert not row[1] or STEP.fullmatch(row[1]), row


@pytest.mark.parametrize("column", [1, 2])
def test_each_function_is_there_and_called_from_above(column: int) -> None:
    above: list[str] = []
    for file, name in steps(column):
        assert re.search(rf"\bfn {name}\b", code(file)), f"{file} has no {name}"
        if above:
            assert any(calls(caller, name) for caller in above), f"nothing above calls {name} of {file}"
        above.append(file)


def test_two_requests_differ_where_a_reason_stands() -> None:
    for what, first, second, reason in ROWS:
        file = lambda cell: cell.partition("` ")[0]  # noqa: E731
        assert (file(first) != file(second)) == bool(reason), what


def test_most_steps_are_shared() -> None:
    first, second = ({file for file, _ in steps(column)} for column in (1, 2))
    assert len(first & second) >= 9


def test_a_call_that_is_not_there_is_found() -> None:
    assert not calls("sched/src/mq_deadline.rs", "send_range")
