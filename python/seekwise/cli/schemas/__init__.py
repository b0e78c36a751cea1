"""JSON schemas of the documents that scripts read, made from the dataclasses that `--json` prints, and the promise on
them.

A document names its schema, `seekwise.NAME/VERSION`. Within a version keys may be added; none is removed, renamed or
given another meaning, type or unit. Anything else is a new version, announced in CHANGELOG.md. Texts made for reading
(headlines, notes, reasons) may change their words.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

from seekwise import suggestion
from seekwise.errors import UsageError

DOCUMENTS = {
    "seekwise.advice/1": "report.advised",
    "seekwise.advice-live/1": "report.advised",
    "seekwise.apply/1": "cli.apply",
    "seekwise.compare/2": "report.paired",
    "seekwise.devices/1": "linux.document",
    "seekwise.doctor/1": "cli.doctor",
    "seekwise.export/1": "store.export",
    "seekwise.record/1": "store.record",
    "seekwise.results/2": "report.documents",
    "seekwise.revert/1": "cli.revert",
    "seekwise.runs/1": "cli.results",
    "seekwise.status/1": "settings.status",
    "seekwise.tune/1": "report.documents",
    "seekwise.whatif/1": "cli._whatif",
}
"""{schema: module below `seekwise` with its dataclass}: what scripts read; other documents name their schema, too, and
promise nothing."""


@cache
def _documents() -> dict[str, Any]:
    """{schema: dataclass}"""
    modules = [import_module(f"seekwise.{name}") for name in dict.fromkeys(DOCUMENTS.values())]
    kinds = [kind for module in modules for kind in vars(module).values() if is_dataclass(kind)]
    return {schema: kind for kind in kinds if (schema := getattr(kind, "SCHEMA", None)) in DOCUMENTS}


def names() -> list[str]:
    """Every schema, as `seekwise.results/2`."""
    return sorted(_documents())


def load(name: str) -> dict[str, Any]:
    """The JSON schema of `seekwise.results/2`, `results/2` or `results`."""
    wanted = name if name.startswith("seekwise.") else f"seekwise.{name}"
    from pydantic import TypeAdapter

    from seekwise.cli.schemas.base import Described

    known = names()
    wanted = (
        wanted
        if "/" in wanted
        else next((schema for schema in reversed(known) if schema.split("/")[0] == wanted), wanted)
    )
    if wanted not in known:
        short = [schema.removeprefix("seekwise.").split("/")[0] for schema in known]
        raise UsageError(f"no schema `{name}`", suggestion.hint(name, short, f"schemas: {', '.join(short)}"))
    schema = TypeAdapter(_documents()[wanted]).json_schema(schema_generator=Described)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": wanted}
