"""JSON schemas of everything that `--json` prints, and the promise on them.

A part that is printed as a dataclass stands has no second description: its schema is made from the dataclass. The others are models here.

A document names its schema, `seekwise.NAME/VERSION`. Within a version keys may be added; none is removed, renamed or given another
meaning, type or unit. Anything else is a new version, announced in CHANGELOG.md. Texts made for reading (headlines, notes, reasons)
may change their words.
"""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from seekwise import suggestion
from seekwise.errors import UsageError

MODULES = ("tools", "validation")
DOCUMENTS: tuple[str, ...] = (
    "cli._captures",
    "cli._dry_run",
    "cli._job",
    "cli._progress",
    "cli._request_times",
    "cli._vary",
    "cli._whatif",
    "cli.advise",
    "cli.apply",
    "cli.bench",
    "cli.config",
    "cli.devices",
    "cli.doctor",
    "cli.import_",
    "cli.record",
    "cli.report",
    "cli.results",
    "cli.revert",
    "cli.system",
    "judge.raid_kind",
    "measure.probe.characterize",
    "report.advised",
    "report.documents",
    "report.explain.explanation",
    "report.fleet.fleet_answer",
    "report.paired",
    "settings.design.array_answer",
    "settings.drive_class",
    "settings.status",
    "store.export",
    "store.record",
    "trace.document",
)
"""Modules below `seekwise` with dataclasses that are printed as they stand (`seekwise.document`)."""
WRITTEN = ("devices",)
"""Schemas kept as JSON: names of files in this folder, `NAME.schema.json`."""


@cache
def _models() -> dict[str, Any]:
    """{schema: model}"""
    from typing import get_args

    from seekwise.cli.schemas.base import Part

    found = {}
    for name in MODULES:
        module = import_module(f"seekwise.cli.schemas.{name}")
        for model in vars(module).values():
            if isinstance(model, type) and issubclass(model, Part) and "schema_" in model.model_fields:
                found[get_args(model.model_fields["schema_"].annotation)[0]] = model
    for name in DOCUMENTS:
        module = import_module(f"seekwise.{name}")
        found |= {kind.SCHEMA: kind for kind in vars(module).values() if is_dataclass(kind) and hasattr(kind, "SCHEMA")}
    return found


def names() -> list[str]:
    """Every schema, as `seekwise.results/1`."""
    return sorted([*_models(), *(f"seekwise.{name}/1" for name in WRITTEN)])


def load(name: str) -> dict[str, Any]:
    """The JSON schema of `seekwise.results/1`, `results/1` or `results`."""
    wanted = name if name.startswith("seekwise.") else f"seekwise.{name}"
    from pydantic import TypeAdapter

    from seekwise.cli.schemas import base

    known = names()
    wanted = (
        wanted if "/" in wanted else next((each for each in reversed(known) if each.split("/")[0] == wanted), wanted)
    )
    if wanted not in known:
        short = [each.removeprefix("seekwise.").split("/")[0] for each in known]
        raise UsageError(f"no schema `{name}`", suggestion.hint(name, short, f"schemas: {', '.join(short)}"))
    short = wanted.removeprefix("seekwise.").split("/")[0]
    if short in WRITTEN:
        return json.loads((files("seekwise.cli.schemas") / f"{short}.schema.json").read_text(encoding="utf-8"))
    model = _models()[wanted]
    schema = TypeAdapter(model).json_schema(by_alias=True, schema_generator=base.Described)
    if is_dataclass(model):
        _as_printed(schema)
    for definition in schema.get("$defs", {}).values():
        # Definitions of models say so themselves (`Part`); the others are of dataclasses.
        if not definition.pop("model", False) and "properties" in definition:
            _as_printed(definition)
    schema.pop("model", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": wanted,
        "description": " ".join((model.__doc__ or "").split()),
    }


def _as_printed(definition: dict[str, Any]) -> None:
    """The schema of a dataclass as `asdict` prints it: every field, and null for numbers that are not finite."""
    definition["required"] = list(definition["properties"])
    definition["description"] = " ".join(definition.get("description", "").split())
    todo: list[Any] = list(definition["properties"].values())
    for field in todo:
        field.pop("default", None)
    while todo:
        part = todo.pop()
        if isinstance(part, list):
            todo += part
        elif isinstance(part, dict) and part.get("type") == "number":
            part["type"] = ["number", "null"]
        elif isinstance(part, dict):
            todo += part.values()
