"""This test will fail when six or more lines of the product are written a second time, unless `repeats.toml` says why they have to be."""

from __future__ import annotations

import tomllib
from itertools import combinations
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
LINES = 6
SOURCES = {"python/seekwise": "*.py", "crates": "*.rs"}
TOO_COMMON = ("import ", "from ", "use ", "pub use ", "#", "//", "@", "@click.option(", '"""')


def told(path: Path) -> list[tuple[int, str]]:
    """Lines that say something, with their numbers: without blanks, comments, imports, and lines of brackets and commas alone."""
    found: list[tuple[int, str]] = []
    text = path.read_text(encoding="utf-8").partition("\n#[cfg(test)]\nmod tests {")[0]
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if any(letter.isalnum() for letter in line) and not line.startswith(TOO_COMMON):
            found.append((number, line))
    return found


def product() -> list[Path]:
    """Files that are shipped: without tests, benches and examples of crates."""
    return [
        path
        for folder, pattern in SOURCES.items()
        for path in sorted((TOP / folder).rglob(pattern))
        if not {"tests", "benches", "examples", "target"} & set(path.relative_to(TOP).parts)
    ]


def repeats(paths: list[Path]) -> dict[tuple[str, str], tuple[int, int]]:
    """{(file, file): lines where a run of `LINES` equal lines begins}; two runs in one file do not overlap."""
    at: dict[tuple[str, ...], list[tuple[str, int, int]]] = {}
    for path in paths:
        lines, name = told(path), str(path.relative_to(TOP))
        for index in range(len(lines) - LINES + 1):
            run = tuple(text for _, text in lines[index : index + LINES])
            at.setdefault(run, []).append((name, index, lines[index][0]))
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for places in at.values():
        for (name, index, line), (other, other_index, other_line) in combinations(places, 2):
            if name != other or abs(index - other_index) >= LINES:
                found.setdefault((name, other), (line, other_line))
    return found


def test_no_six_lines_stand_twice_without_a_reason():
    reasons = tomllib.loads((Path(__file__).parent / "repeats.toml").read_text(encoding="utf-8"))["repeat"]
    allowed = {frozenset(pair) for each in reasons for pair in each["pairs"]}
    assert all(each["reason"] for each in reasons)
    found = repeats(product())
    new = [
        f"{name}:{line} ~ {other}:{other_line}"
        for (name, other), (line, other_line) in found.items()
        if frozenset((name, other)) not in allowed
    ]
    assert not new, "one piece of code can serve both, or `tests/repeats.toml` says why not:\n" + "\n".join(new)
    gone = sorted(" ~ ".join(sorted(pair)) for pair in allowed - {frozenset(pair) for pair in found})
    assert not gone, "repeats that are no more need no reason:\n" + "\n".join(gone)
