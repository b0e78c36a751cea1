"""JSON schemas of dataclasses as `seekwise.document` prints them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from seekwise import document

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@cache
def attribute_docs(kind: type) -> dict[str, str]:
    """{attribute: the text below it} of a dataclass, its own before those that it inherits."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for line, after in zip(body.body, body.body[1:], strict=False):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and isinstance(text, str):
                docs[line.target.id] = " ".join(text.split())
    return docs


class Described(GenerateJsonSchema):
    """Fields are described by the text below them; every field is there."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """Pydantic's schema with the keys that `seekwise.document` prints: HIDDEN fields out, SHOWN properties in, all
        required."""
        made = super().dataclass_schema(schema)
        kind: type[DataclassInstance] = schema["cls"]
        properties, docs = made.get("properties", {}), attribute_docs(kind)
        for name in getattr(kind, "SHOWN", ()):
            shown = inspect.getattr_static(kind, name).fget
            properties[name] = self.generate_inner(TypeAdapter(get_type_hints(shown)["return"]).core_schema)
            docs[name] = " ".join((shown.__doc__ or "").split())
        for name, text in docs.items():
            if name in properties and text:
                properties[name].setdefault("description", text)
        named: dict[str, Any] = (
            {"schema": {"const": own, "type": "string"}} if (own := getattr(kind, "SCHEMA", None)) else {}
        )
        for name in document.keys(kind):
            properties[name].pop("default", None)
            named[document.key(kind, name)] = _with_null(properties[name])
        made["properties"], made["required"] = named, list(named)
        made["description"] = " ".join(made.get("description", "").split())
        return made


def _with_null(part: Any) -> Any:
    """The same with null for numbers: those that are not finite have no word in JSON."""
    if isinstance(part, list):
        return [_with_null(item) for item in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "number":
        return {**part, "type": ["number", "null"]}
    return {key: _with_null(inner) for key, inner in part.items()}
