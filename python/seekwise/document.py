"""What `--json` prints: dataclasses as they stand. `seekwise schema` describes them by the same definitions.

A document has `SCHEMA`, its name. `SHOWN` names properties of a class that are printed with its fields, `HIDDEN` fields
that are not. A key that Python keeps to itself (`for`) is a field with `_` at its end.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import PurePath
from typing import Any


@cache
def keys(kind: type) -> tuple[str, ...]:
    """Fields and properties of a dataclass that are printed."""
    hidden = getattr(kind, "HIDDEN", ())
    return (*(field.name for field in fields(kind) if field.name not in hidden), *getattr(kind, "SHOWN", ()))


def key(kind: type, name: str) -> str:
    """The key under which a field or property is printed."""
    return name.rstrip("_")


def printed(value: object) -> Any:
    """As plain data, ready for JSON; null for numbers that are not finite, as JSON has no word for them."""
    if value is None or isinstance(value, str | int):  # most of a document
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        document = {"schema": kind.SCHEMA} if hasattr(kind, "SCHEMA") else {}
        return document | {key(kind, name): printed(getattr(value, name)) for name in keys(kind)}
    if isinstance(value, dict):
        return {key: printed(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [printed(item) for item in value]
    return str(value) if isinstance(value, PurePath) else value
