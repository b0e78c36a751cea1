"""JSON schemas of everything that `--json` prints, made from the dataclasses that are printed, and the promise on them.

A document names its schema, `seekwise.NAME/VERSION`. Within a version keys may be added; none is removed, renamed or given another
meaning, type or unit. Anything else is a new version, announced in CHANGELOG.md. Texts made for reading (headlines, notes, reasons)
may change their words.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

from seekwise import suggestion
from seekwise.errors import UsageError

DOCUMENTS: tuple[str, ...] = (
    "cli._captures",
    "cli._dry_run",
    "cli._job",
    "cli._request_times",
    "cli._whatif",
    "cli.advise",
    "cli.apply",
    "cli.config",
    "cli.devices",
    "cli.doctor",
    "cli.record",
    "cli.report",
    "cli.results",
    "cli.revert",
    "cli.schemas.tools",
    "judge.raid_kind",
    "linux.document",
    "report.advised",
    "report.documents",
    "report.explain.explanation",
    "report.paired",
    "settings.design.array_answer",
    "settings.drive_class",
    "settings.status",
    "store.export",
    "store.record",
    "trace.document",
)
"""Modules below `seekwise` with dataclasses that are printed as they stand (`seekwise.document`)."""


@cache
def _documents() -> dict[str, Any]:
    """{schema: dataclass}"""
    modules = [import_module(f"seekwise.{name}") for name in DOCUMENTS]
    kinds = [kind for module in modules for kind in vars(module).values() if is_dataclass(kind)]
    return {kind.SCHEMA: kind for kind in kinds if hasattr(kind, "SCHEMA")}


def names() -> list[str]:
    """Every schema, as `seekwise.results/1`."""
    return sorted(_documents())


def load(name: str) -> dict[str, Any]:
    """The JSON schema of `seekwise.results/1`, `results/1` or `results`."""
    wanted = name if name.startswith("seekwise.") else f"seekwise.{name}"
    from pydantic import TypeAdapter

    from seekwise.cli.schemas.base import Described

    known = names()
    wanted = (
        wanted if "/" in wanted else next((each for each in reversed(known) if each.split("/")[0] == wanted), wanted)
    )
    if wanted not in known:
        short = [each.removeprefix("seekwise.").split("/")[0] for each in known]
        raise UsageError(f"no schema `{name}`", suggestion.hint(name, short, f"schemas: {', '.join(short)}"))
    schema = TypeAdapter(_documents()[wanted]).json_schema(schema_generator=Described)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": wanted}
