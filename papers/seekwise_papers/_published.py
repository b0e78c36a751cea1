"""Files of what publications say: every fact, by its name, is met or missed, and a share of them is required."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from seekwise import bounds
from seekwise.files import read_text
from seekwise.simulate.setups.queries import ResultSource
from seekwise_papers.prefetch import prepare
from seekwise_papers.simulated import SimulatedResults
from seekwise_proof.validate._basis import marking
from seekwise_proof.validate.frame import FileReport, ValidationReport, files_below, unreadable

Report = TypeVar("Report", bound="PublicationsReport")
Outcome = tuple[str, bool, str | None]
"""Name of a fact, whether the source of results has an answer, and why the fact is missed (None: it is not)."""


@dataclass(kw_only=True)
class PublicationFile(FileReport):
    """A file of what publications say."""

    modelled: int
    """Facts on which the simulator has an answer."""


@dataclass(kw_only=True)
class PublicationsReport(ValidationReport):
    """Facts of publications against the simulator."""

    files: Sequence[PublicationFile | FileReport]
    modelled: int
    """Facts on which the simulator has an answer."""


@dataclass(frozen=True)
class Publications:
    """One kind of such files. `table`, `key`: its records, and where they name their fact."""

    kind: str
    what: str
    table: str
    key: str
    share: float
    outcomes: Callable[[Mapping[str, Any], ResultSource], Iterable[Outcome] | str]
    """Of a file's document; a sentence says why it has none."""

    @property
    def shipped(self) -> Path:
        """The data that the program ships with."""
        return (Path(__file__).parent / "data" / f"{self.kind}.toml").resolve()

    def verify(
        self, report: type[Report], paths: Sequence[Path], options: Mapping[str, Any], source: ResultSource | None
    ) -> Report:
        """Of files, or of folders that are searched for such files."""
        source = source or SimulatedResults(options.get("tell"))
        found = files_below(paths or [self.shipped], [f"{self.kind}.toml"])
        prepare(source, lambda asked: [self._file(path, asked) for path in found])
        files = [self._file(path, source) for path in found]
        passed, total = sum(file.passed for file in files), sum(file.total for file in files)
        modelled = sum(file.modelled for file in files if isinstance(file, PublicationFile))
        met = total > 0 and passed >= self.share * total
        return report(files=files, bar=f"{100 * self.share:.0f} % of the {self.what}", met=met, modelled=modelled)

    def _file(self, path: Path, source: ResultSource) -> FileReport:
        try:
            found = self.outcomes(bounds.toml(read_text(path)), source)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            return unreadable(path, f"cannot be read: {error}")
        if isinstance(found, str):
            return unreadable(path, found)
        rows = list(found)
        misses = [f"{name}: {reason}" for name, _, reason in rows if reason is not None]
        shares = marking(path, self.shipped, self.names()).shares((name, reason is None) for name, _, reason in rows)
        return PublicationFile(
            file=str(path),
            passed=len(rows) - len(misses),
            total=len(rows),
            misses=misses,
            shares=shares,
            modelled=sum(answered for _, answered, _ in rows),
        )

    def names(self) -> frozenset[str]:
        """The facts of the data that the program ships with."""
        return _names(self.shipped, self.table, self.key)


@functools.cache
def _names(path: Path, table: str, key: str) -> frozenset[str]:
    return frozenset(str(each[key]) for each in tomllib.loads(read_text(path))[table]) if path.exists() else frozenset()
