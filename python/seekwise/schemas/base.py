"""What every document has in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

Number = float | None
"""A number; null where it is not finite or not known: JSON has no word for either."""
Map = dict[str, Any]


class Part(BaseModel):
    """An object in a document. New keys may be added under the same version of the schema; none is removed or changes its meaning."""

    # `schema_` and `for_` stand for names that Python keeps to itself.
    model_config = ConfigDict(
        use_attribute_docstrings=True,
        extra="allow",
        alias_generator=lambda name: name.rstrip("_"),
        json_schema_extra={"model": True},
    )


class Counted(Part):
    """How many of how many points agree."""

    passed: int
    total: int
