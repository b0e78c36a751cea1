"""What every document has in common."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from seekwise import document

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


@cache
def attribute_docs(kind: type) -> dict[str, str]:
    """{attribute: the text below it} of a dataclass, its own before those that it inherits."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        assert isinstance(body, ast.ClassDef)
        for line, after in zip(body.body, body.body[1:], strict=False):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and isinstance(text, str):
                found[line.target.id] = " ".join(text.split())
    return found


class Described(GenerateJsonSchema):
    """Fields of dataclasses are described by the text below them, as those of parts are."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        made, kind = super().dataclass_schema(schema), schema["cls"]
        properties, docs = made.get("properties", {}), attribute_docs(kind)
        for name, printed in getattr(kind, "NAMES", {}).items():
            if printed in properties:  # by the alias that reads it
                properties[name] = properties.pop(printed)
        for name in getattr(kind, "SHOWN", ()):
            shown = inspect.getattr_static(kind, name).fget
            properties[name] = self.generate_inner(TypeAdapter(get_type_hints(shown)["return"]).core_schema)
            docs[name] = " ".join((shown.__doc__ or "").split())
        for name, text in docs.items():
            if name in properties and text:
                properties[name].setdefault("description", text)
        named = {"schema": {"const": kind.SCHEMA, "type": "string"}} if hasattr(kind, "SCHEMA") else {}
        made["properties"] = named | {document.key(kind, name): properties[name] for name in document.keys(kind)}
        return made


def part_of(kind: type, *names: str) -> Any:
    """A part with fields of a dataclass (all, or those of `names`), for documents that print them among others."""
    hints, docs = get_type_hints(kind), attribute_docs(kind)
    made: dict[str, Any] = {}
    for field in fields(kind):
        if not names or field.name in names:
            default = ... if field.default is MISSING else field.default
            made[field.name] = (hints[field.name], Field(default, description=docs.get(field.name)))
    return create_model(kind.__name__, __base__=Part, **made)
