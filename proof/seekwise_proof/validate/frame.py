"""The frame that every kind of verification shares: a report, its JSON, and how kinds are found.

Contract of `--json`: one document with `schema`, `kind`, `passed`, `total` and `files: [{file, passed, total,
misses}]`, plus what a kind adds. An unreadable, unknown or unfinished file or row counts all its points as missed; a
file of which not even the number of points is known counts as one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from seekwise import core
from seekwise_proof.validate import _basis as basis
from seekwise_proof.validate._basis import Basis, BasisCounts, Count, Shares

SCHEMAS = "seekwise.validate."
MISSES_SHOWN = 20


@dataclass(kw_only=True)
class FileReport:
    """One file: N of M points, and every miss. What a kind counts besides stands in a class of its own."""

    HIDDEN: ClassVar = ("shares",)
    SHOWN: ClassVar = ("basis",)

    file: str
    passed: int
    total: int
    misses: Sequence[str | dict[str, Any]] = ()
    broken: bool = False
    """It could not be checked."""
    shares: Shares = field(default_factory=dict)
    """The points by what they are worth."""

    @property
    def basis(self) -> BasisCounts:
        """The points by what they are worth."""
        return basis.counts(self.shares)


@dataclass(kw_only=True)
class ValidationReport:
    """All files of one call, as `verify KIND --json` prints them."""

    SHOWN: ClassVar = ("kind", "model_version", "passed", "total", "basis")
    SCHEMA: ClassVar[str]

    files: Sequence[FileReport]
    required: str
    """What is required."""
    met: bool
    """Whether what is required is reached; if not, the exit status is 5."""

    @property
    def kind(self) -> str:
        """The word after `seekwise verify`."""
        return self.SCHEMA.removeprefix(SCHEMAS).partition("/")[0]

    @property
    def model_version(self) -> int:
        """The model that it was made with."""
        return core.model_version()

    @property
    def shares(self) -> Shares:
        """Points of all files by what they are worth."""
        return basis.added(file.shares for file in self.files)

    @property
    def basis(self) -> BasisCounts:
        """The points by what they are worth."""
        return basis.counts(self.shares)

    @property
    def passed(self) -> int:
        """Points within their tolerance, over all files."""
        return sum(file.passed for file in self.files)

    @property
    def total(self) -> int:
        """Points over all files, passed or not."""
        return sum(file.total for file in self.files)


def all_passed(files: Sequence[FileReport]) -> bool:
    """Every point, and there is one."""
    return sum(file.total for file in files) > 0 and all(file.passed == file.total for file in files)


def unreadable(file: str | Path, reason: str, total: int = 1) -> FileReport:
    """A file that could not be checked: all its points are missed."""
    count = max(total, 1)
    return FileReport(file=str(file), passed=0, total=count, misses=[reason], broken=True, shares=unread(file, count))


def unread(file: str | Path, total: int) -> Shares:
    """What the points of a file that could not be checked are worth."""
    rule = basis.marking(Path(file)).rule()
    return {Basis.UNREAD if rule is None else rule.basis: Count(0, total)}


def below(folder: Path) -> Iterator[Path]:
    """What lies in a folder and those below it, on one filesystem, so that `/` does not mean /proc; what may not be
    read is passed over."""
    filesystem = os.stat(folder).st_dev
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if _is_on(Path(place, name), filesystem)]
        yield from (Path(place, name) for name in names)


def _is_on(folder: Path, filesystem: int) -> bool:
    try:
        return os.lstat(folder).st_dev == filesystem
    except OSError:
        return False


def files_below(paths: Iterable[Path], suffixes: Sequence[str]) -> list[Path]:
    """Files as named, and for a folder every file below it with one of these suffixes, in sorted order."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files.extend(sorted(p for p in below(path) if p.name.endswith(tuple(suffixes)) and p.is_file()))
        else:
            files.append(path)
    return files


def text(report: ValidationReport) -> str:
    """N of M per file, then every miss (the first ones of each file)."""
    lines = []
    for file in report.files:
        lines.append(f"{file.file}: {file.passed} of {file.total}")
        lines.extend(f"  missed: {miss}" for miss in file.misses[:MISSES_SHOWN])
        if len(file.misses) > MISSES_SHOWN:
            lines.append(f"  and {len(file.misses) - MISSES_SHOWN} more (all of them with --json)")
    lines.append(f"{report.kind}: {report.passed} of {report.total}")
    return "\n".join([*lines, *worth(report)])


def worth(report: ValidationReport) -> list[str]:
    """What the figure is worth, what is required, and the model that it was made with."""
    met = "met" if report.met else "not met"
    return [*basis.lines(report.shares), f"required: {report.required}: {met}; model_version {report.model_version}"]
