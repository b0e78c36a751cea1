"""What is known of a word, as `explain` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True)
class Tunable:
    """A tunable of a scheduler."""

    name: str
    unit: str
    meaning: str
    defaults: dict[str, int | float | str]
    """{kernel: default}."""


@dataclass(frozen=True)
class ModelParameter:
    """A number of a model."""

    name: str
    value: int | float
    unit: str
    low: float | None
    high: float | None
    confidence: str
    source: str


@dataclass(frozen=True)
class Fact:
    """A fact of a controller."""

    name: str
    value: str
    source: str


@dataclass(frozen=True)
class Explanation:
    """`explain WORD --json`; without WORD only `words`."""

    SCHEMA: ClassVar = "seekwise.explain/1"

    word: str = ""
    kind: Literal["term", "scheduler", "model", "program", ""] = ""
    """`program`: a word of the command line."""
    title: str = ""
    text: str = ""
    see: tuple[str, ...] = ()
    tunables: Sequence[Tunable] = ()
    parameters: Sequence[ModelParameter] = ()
    facts: Sequence[Fact] = ()
    words: Sequence[str] = ()
