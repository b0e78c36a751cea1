"""What publications say, against the simulator: every fact, by its name, is met or missed, and a share of them is
required.

The facts come with other distributions (entry points of the group `seekwise.checks`), each as an object with

    SUMMARY, SHARE            one line for `seekwise verify --help`; the share that is required
    WHAT, TABLE, KEY          what is counted; the records of a file, and where they name their fact
    SHIPPED, SAID             the file that ships; what the document says besides
    outcomes(document, source)    [(fact, whether it is modelled, why it is missed or None)], or a sentence: there are none
    source(tell)              who answers; its `prepare(ask)`, where it has one, hears of all questions first
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import Any

from seekwise import bounds
from seekwise.files import read_text
from seekwise_proof.validate._basis import marking
from seekwise_proof.validate.frame import SCHEMAS, FileReport, ValidationReport, files_below, unreadable


@dataclass(kw_only=True)
class PublicationFile(FileReport):
    """A file of what publications say."""

    modelled: int
    """Facts on which the simulator has an answer."""


@dataclass(kw_only=True)
class PublicationsReport(ValidationReport):
    """Facts of publications against the simulator: `verify claims --json`, `verify verdicts --json`."""

    files: Sequence[PublicationFile | FileReport]
    modelled: int
    """Facts on which the simulator has an answer."""


class Publications:
    """A kind of verification: the facts of one object."""

    REQUIRES_FILES = False

    def __init__(self, name: str, facts: Any) -> None:
        self.name, self.facts = name, facts
        self.SUMMARY, self.__doc__ = facts.SUMMARY, facts.__doc__
        said = [(key, type(value), field(default=value)) for key, value in facts.SAID.items()]
        self.report = make_dataclass(
            "Publications", said, bases=(PublicationsReport,), namespace={"SCHEMA": f"{SCHEMAS}{name}/1"}, kw_only=True
        )

    @property
    def shipped(self) -> Path:
        """The data that ships."""
        return Path(self.facts.SHIPPED)

    def names(self) -> frozenset[str]:
        """The facts of the data that ships."""
        return _names(self.shipped, self.facts.TABLE, self.facts.KEY)

    def verify(self, paths: Sequence[Path], options: Mapping[str, Any], source: Any = None) -> PublicationsReport:
        """Of files, or of folders that are searched for files with the kind's name."""
        source = source or self.facts.source(options.get("tell"))
        found = files_below(paths or [self.shipped], [f"{self.name}.toml"])
        if hasattr(source, "prepare"):
            source.prepare(lambda asked: [self._file(path, asked) for path in found])
        files = [self._file(path, source) for path in found]
        passed, total = sum(file.passed for file in files), sum(file.total for file in files)
        modelled = sum(file.modelled for file in files if isinstance(file, PublicationFile))
        met = total > 0 and passed >= self.facts.SHARE * total
        required = f"{100 * self.facts.SHARE:.0f} % of the {self.facts.WHAT}"
        made: PublicationsReport = self.report(files=files, required=required, met=met, modelled=modelled)
        return made

    def _file(self, path: Path, source: Any) -> FileReport:
        try:
            outcomes = self.facts.outcomes(bounds.toml(read_text(path)), source)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            return unreadable(path, f"cannot be read: {error}")
        if isinstance(outcomes, str):
            return unreadable(path, outcomes)
        misses = [f"{name}: {reason}" for name, _, reason in outcomes if reason is not None]
        shares = marking(path, self.shipped, self.names()).shares(
            (name, reason is None) for name, _, reason in outcomes
        )
        return PublicationFile(
            file=str(path),
            passed=len(outcomes) - len(misses),
            total=len(outcomes),
            misses=misses,
            shares=shares,
            modelled=sum(answered for _, answered, _ in outcomes),
        )


@functools.cache
def _names(path: Path, table: str, key: str) -> frozenset[str]:
    return frozenset(str(load[key]) for load in tomllib.loads(read_text(path))[table]) if path.exists() else frozenset()
