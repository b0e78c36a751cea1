"""What a figure is worth: whether the model was fitted to the data it is compared with, chosen with them in sight, or
foretold them.

The marking lies beside the data: `basis.toml` in the folder of a data file or in one above it, rules in order, the
first that matches counts.

    [[rule]]
    file = "*/claims.toml"            # pattern of the path below the folder of basis.toml, with a slash in front
    rows = ["hw5-d-drop-80"]          # patterns of the rows' names; absent: every row
    basis = "fitted"
    reason = "read_ahead_kib of the 3ware cards is set from it"

Data without a marking beside them were never in this tree. Their rows are foretold, unless the same row, by its name,
is among the data that the program ships with.
"""

from __future__ import annotations

import fnmatch
import functools
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from seekwise.errors import UsageError
from seekwise.files import read_text

NAME = "basis.toml"


class Basis(StrEnum):
    FITTED = "fitted"
    CHOSEN = "chosen"
    FORETOLD = "foretold"
    UNREAD = "unread"


MEANING = {
    Basis.FITTED: "parameters were set from these data",
    Basis.CHOSEN: "mechanisms or parameters were picked with these data in sight",
    Basis.FORETOLD: "no basis.toml says that they were looked at before the figure was printed",
    Basis.UNREAD: "in files that cannot be read: they count as missed",
}


@dataclass(frozen=True)
class Count:
    """How many of how many points agree."""

    passed: int = 0
    total: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.total + other.total)


@dataclass(frozen=True)
class BasisCounts:
    """The points by what they are worth."""

    fitted: Count
    """Parameters were set from these data."""
    chosen: Count
    """Mechanisms or parameters were picked with these data in sight."""
    foretold: Count
    """Never looked at before the figure was printed."""
    unread: Count
    """In files that cannot be read: they count as missed."""


Shares = Mapping[Basis, Count]


@dataclass(frozen=True)
class BasisRule:
    file: str
    rows: tuple[str, ...]
    basis: Basis
    reason: str

    def matches(self, path: str, row: str) -> bool:
        """Shell patterns on the file's path and on the row's name; case counts."""
        return fnmatch.fnmatchcase(path, self.file) and any(fnmatch.fnmatchcase(row, pattern) for pattern in self.rows)


@dataclass(frozen=True)
class Marking:
    """The rules for one data file. `known`: rows that they hold for; None: all."""

    rules: tuple[BasisRule, ...]
    path: str
    known: frozenset[str] | None = None

    def rule(self, row: str = "") -> BasisRule | None:
        """The first rule that matches; None where none does, or where the row is not among `known`."""
        if self.known is not None and row not in self.known:
            return None
        return next((candidate for candidate in self.rules if candidate.matches(self.path, row)), None)

    def basis(self, row: str = "") -> Basis:
        """FORETOLD where no rule says otherwise."""
        rule = self.rule(row)
        return Basis.FORETOLD if rule is None else rule.basis

    def shares(self, rows: Iterable[tuple[str, bool]]) -> Shares:
        """How many rows of each basis passed."""
        return added({self.basis(row): Count(int(passed), 1)} for row, passed in rows)

    def whole(self, passed: int, total: int) -> Shares:
        """Of a file that is marked as a whole."""
        return {self.basis(): Count(passed, total)}


def marking(path: Path, shipped: Path | None = None, known: Collection[str] = ()) -> Marking:
    """The marking of a data file. `shipped`, `known`: the kind's own data and the names of its rows, for a copy that
    lies elsewhere."""
    path = path.resolve()
    for folder in path.parents:
        if (folder / NAME).is_file():
            return Marking(_rules(folder / NAME), f"/{path.relative_to(folder)}")
    if shipped is None or not (rules := _shipped_rules(shipped)):
        return Marking((), f"/{path.name}")
    return Marking(rules, f"/{shipped.name}", frozenset(known))


def _shipped_rules(shipped: Path) -> tuple[BasisRule, ...]:
    """In a clone beside the data, in a package beside their copy."""
    places = (shipped.parent / NAME, shipped.with_suffix(f".{NAME}"))
    return next((_rules(place) for place in places if place.is_file()), ())


@functools.cache
def _rules(file: Path) -> tuple[BasisRule, ...]:
    try:
        rows = tomllib.loads(read_text(file))["rule"]
        rules = tuple(
            BasisRule(entry["file"], tuple(entry.get("rows", ["*"])), Basis(entry["basis"]), str(entry["reason"]))
            for entry in rows
        )
        if any(rule.basis is Basis.UNREAD for rule in rules):
            raise ValueError("`unread` is found, not marked")
        return rules
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{file} marks no data: {error}", "a rule has `file`, `basis` and `reason`") from None


def added(all_shares: Iterable[Shares]) -> dict[Basis, Count]:
    """Counts of several files together, by what they rest on."""
    total = dict.fromkeys(Basis, Count())
    for shares in all_shares:
        for basis, count in shares.items():
            total[basis] += count
    return total


def counts(shares: Shares) -> BasisCounts:
    """As a document prints them."""
    return BasisCounts(**{str(basis): shares.get(basis, Count()) for basis in Basis})


def lines(shares: Shares) -> list[str]:
    """`fitted 3 of 3 (3 %): parameters were set from these data`; nothing where nothing is counted."""
    total = sum(share.total for share in shares.values())
    if not total:
        return []
    made = []
    for basis in Basis:
        count = shares.get(basis, Count())
        if basis is Basis.UNREAD and not count.total:
            continue
        made.append(
            f"  {basis} {count.passed:,} of {count.total:,} ({100 * count.total / total:.0f} % of all): {MEANING[basis]}"
        )
    return made
