"""The syntax of DiskSim's parameter files.

    disksim_disk NAME { Key with spaces = 1.5, Other = [ 1, 2 ], Model = source FILE, Part = type { … } }
    source FILE            instantiate [ disk0 ] as NAME            topology type name [ … ]

A `#` starts a comment. Described in the DiskSim 4.0 reference manual (CMU-PDL-08-101), section 3. Values become plain data: numbers,
words, lists, and `ParameterBlock`. What a `source` names is read at that place, from the folder of the file that names it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seekwise.errors import UsageError
from seekwise.files import read_text

SIZE_BYTES_MAX = 16 << 20
DEPTH_MAX = 32
SOURCES_MAX = 64

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")
_WORD = re.compile(r"[^\s,\[\]{}=#]+")
_BLANK = re.compile(r"(?:\s|#[^\n]*)+")


@dataclass
class ParameterBlock:
    """`type name { key = value, … }`; `name` is empty inside a value."""

    kind: str
    name: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    file: str = ""


class SyntaxProblem(UsageError):
    """Why a file cannot be read, with its name and line."""


def read(path: Path) -> list[ParameterBlock]:
    """Every named block of a file and of the files that it names with `source`, in their order."""
    return _Reader({}).file(path)


@dataclass
class _Reader:
    """Remembers which files are open, so that a file cannot contain itself."""

    open: dict[Path, None]
    count: int = 0

    def file(self, path: Path) -> list[ParameterBlock]:
        key = path.resolve()
        if key in self.open:
            raise SyntaxProblem(f"{path}: contains itself through `source`")
        self.count += 1
        if self.count > SOURCES_MAX:
            raise SyntaxProblem(f"{path}: more than {SOURCES_MAX} files are named with `source`")
        try:
            text = read_text(path, SIZE_BYTES_MAX)
        except (OSError, UnicodeDecodeError) as error:
            raise SyntaxProblem(
                f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not a text file'}"
            ) from None
        self.open[key] = None
        blocks = _Parser(path, text, self).statements()
        del self.open[key]
        return blocks


class _Parser:
    def __init__(self, path: Path, text: str, reader: _Reader) -> None:
        self.path, self.text, self.reader = path, text, reader
        self.at = 0
        self._skip()

    def problem(self, what: str) -> SyntaxProblem:
        line = self.text.count("\n", 0, self.at) + 1
        return SyntaxProblem(f"{self.path}, line {line}: {what}")

    def statements(self) -> list[ParameterBlock]:
        blocks: list[ParameterBlock] = []
        while self.at < len(self.text):
            word = self._word()
            if word == "source":
                blocks += self._source()
            elif word == "instantiate":
                self._value(0)
                self._expect_word("as")
                self._word()
            elif word == "topology":
                self._topology(0)
            else:
                name = self._word()
                blocks.append(self._block(word, name, 0))
            if self.text.startswith(",", self.at):
                self._take(",")
        return blocks

    def _source(self) -> list[ParameterBlock]:
        name = self._word()
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise self.problem(f"`source {name}` leads out of the folder")
        return self.reader.file(self.path.parent / name)

    def _topology(self, depth: int) -> None:
        """`type name [ part, … ]`: which part hangs on which; there is one of each here."""
        if depth > DEPTH_MAX:
            raise self.problem("the topology is nested too deep")
        self._word()
        self._word()
        self._take("[")
        while self._peek() != "]":
            self._topology(depth + 1)
            if self._peek() == ",":
                self._take(",")
        self._take("]")

    def _block(self, kind: str, name: str, depth: int) -> ParameterBlock:
        block = ParameterBlock(kind, name, file=str(self.path))
        self._take("{")
        while self._peek() != "}":
            key = self._key()
            block.values[key] = self._value(depth + 1)
            if self._peek() == ",":
                self._take(",")
            elif self._peek() != "}":
                raise self.problem("a comma or `}` is missing")
        self._take("}")
        return block

    def _key(self) -> str:
        end = self.text.find("=", self.at)
        key = self.text[self.at : end] if end >= 0 else self.text[self.at :]
        if end < 0 or "\n" in key.strip() or any(c in key for c in "{}[],"):
            raise self.problem(f"`{' '.join(key.split())[:40]}` should be followed by `= VALUE`")
        self.at = end + 1
        self._skip()
        return " ".join(key.split())

    def _value(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise self.problem("values are nested too deep")
        if self._peek() == "[":
            self._take("[")
            items = []
            while self._peek() != "]":
                items.append(self._value(depth + 1))
                if self._peek() == ",":
                    self._take(",")
                elif self._peek() != "]":
                    raise self.problem("a comma or `]` is missing")
            self._take("]")
            return items
        word = self._word()
        if word == "source":
            blocks = self._source()
            if len(blocks) != 1:
                raise self.problem(f"`source` should name a file with one block; it has {len(blocks)}")
            return blocks[0]
        if self.text.startswith("{", self.at):
            return self._block(word, "", depth)
        if not _NUMBER.match(word):
            return word
        try:
            return int(word)
        except ValueError:
            return float(word)

    def _skip(self) -> None:
        match = _BLANK.match(self.text, self.at)
        if match:
            self.at = match.end()

    def _peek(self) -> str:
        if self.at >= len(self.text):
            raise self.problem("the file ends in the middle of a block")
        return self.text[self.at]

    def _take(self, sign: str) -> None:
        if self._peek() != sign:
            raise self.problem(f"`{sign}` was expected before `{self.text[self.at : self.at + 20].split()[0]}`")
        self.at += 1
        self._skip()

    def _word(self) -> str:
        match = _WORD.match(self.text, self.at)
        if not match:
            raise self.problem("a name was expected")
        self.at = match.end()
        self._skip()
        return match.group()

    def _expect_word(self, word: str) -> None:
        if self._word() != word:
            raise self.problem(f"`{word}` was expected")
