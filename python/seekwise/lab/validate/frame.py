"""The frame that every kind of verification shares: a report, its JSON, and how kinds are found.

Contract of `--json`: one document with `schema`, `kind`, `passed`, `total` and
`files: [{file, passed, total, misses}]`, plus what a kind adds. An unreadable, unknown or unfinished file or row counts all
its points as missed; a file of which not even the number of points is known counts as one.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from seekwise import _core
from seekwise.errors import UsageError
from seekwise.lab.validate import _basis as basis
from seekwise.lab.validate._basis import Shares

NOT_KINDS = {"frame", "period_tables"}
MISSES_SHOWN = 20


@dataclass(frozen=True)
class FileReport:
    """One file: N of M points, and every miss."""

    file: str
    passed: int
    total: int
    misses: Sequence[Any] = ()
    """Strings, or objects where the kind's format says so."""
    extra: dict[str, Any] = field(default_factory=dict)
    shares: Shares = field(default_factory=dict)
    """The points by what they are worth."""

    def document(self) -> dict[str, Any]:
        """With the keys of `verify --json`, and those of `extra` at the same level."""
        return {
            "file": self.file,
            "passed": self.passed,
            "total": self.total,
            "basis": basis.document(self.shares),
            "misses": list(self.misses),
            **self.extra,
        }


@dataclass(frozen=True)
class ValidationReport:
    """All files of one call."""

    kind: str
    files: Sequence[FileReport]
    extra: dict[str, Any] = field(default_factory=dict)
    """Keys that the kind adds at the top of the document."""
    met: bool | None = None
    """Whether what is required was met; None: met when every point passed."""
    bar: str = "every point"
    """What is required."""

    @property
    def shares(self) -> Shares:
        """Points of all files by what they are worth: fitted, chosen or foretold."""
        return basis.added(file.shares for file in self.files)

    @property
    def passed(self) -> int:
        """Points within their tolerance, over all files."""
        return sum(file.passed for file in self.files)

    @property
    def total(self) -> int:
        """Points over all files, passed or not."""
        return sum(file.total for file in self.files)

    @property
    def is_met(self) -> bool:
        """Decides the exit status (5 if not met); without a bar of its own, every point must pass and there must be one."""
        return self.met if self.met is not None else self.total > 0 and self.passed == self.total

    def document(self) -> dict[str, Any]:
        """With the keys of `verify KIND --json`, schema `seekwise.validate.KIND/1`."""
        return {
            "schema": f"seekwise.validate.{self.kind}/1",
            "kind": self.kind,
            "model_version": _core.model_version(),
            "passed": self.passed,
            "total": self.total,
            "basis": basis.document(self.shares),
            **self.extra,
            "required": self.bar,
            "met": self.is_met,
            "files": [file.document() for file in self.files],
        }


def unreadable(file: str | Path, reason: str, total: int = 1) -> FileReport:
    """A file that could not be checked: all its points are missed."""
    return FileReport(str(file), 0, max(total, 1), (reason,), shares=basis.marking(Path(file)).whole(0, max(total, 1)))


def kinds() -> list[str]:
    """Names of everything that can be verified."""
    import seekwise.lab.validate as package

    return sorted(
        m.name for m in pkgutil.iter_modules(package.__path__) if m.name not in NOT_KINDS and not m.name.startswith("_")
    )


def load(kind: str) -> ModuleType:
    """The module of a kind."""
    if kind not in kinds():
        raise UsageError(f"unknown kind of verification `{kind}`", f"one of: {', '.join(kinds())}")
    return importlib.import_module(f"seekwise.lab.validate.{kind}")


def below(folder: Path) -> Iterator[Path]:
    """What lies in a folder and those below it, on one filesystem, so that `/` does not mean /proc; what may not be read is passed over."""
    filesystem = os.stat(folder).st_dev
    for place, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if _is_on(Path(place, each), filesystem)]
        yield from (Path(place, name) for name in names)


def _is_on(folder: Path, filesystem: int) -> bool:
    try:
        return os.lstat(folder).st_dev == filesystem
    except OSError:
        return False


def files_below(paths: Iterable[Path], suffixes: Sequence[str]) -> list[Path]:
    """Files as named, and for a folder every file below it with one of these suffixes, in sorted order."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found.extend(sorted(p for p in below(path) if p.name.endswith(tuple(suffixes)) and p.is_file()))
        else:
            found.append(path)
    return found


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
    met = "met" if report.is_met else "not met"
    return [*basis.lines(report.shares), f"required: {report.bar}: {met}; model_version {_core.model_version()}"]
