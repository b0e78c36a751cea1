"""Host models in words: what each step costs a processor, and what that rests on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from seekwise import _core

TEXT = (
    "CPU time of each step of a request, on one of {processors} processors. CPU time of a scheduler is charged to the context that "
    "dispatches the request. `seekwise run STUDY --vary {id}.NAME` shows which conclusions depend on a number."
)
SEE = ("cpu", "exact", "confidence")


def explained(word: str) -> tuple[str, str, tuple[str, ...], Mapping[str, list[dict[str, Any]]]] | None:
    """Title, text, where to go on and the table of the host called so; None when there is none."""
    try:
        model = json.loads(_core.host_model(word))
    except ValueError:
        return None
    rows = [_row(name, entry) for name, entry in model["parameters"].items()]
    return model["name"], TEXT.format_map(model), SEE, {"parameters": rows}


def _row(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "value": entry["value"],
        "unit": entry["unit"],
        "low": entry["lo"],
        "high": entry["hi"],
        "confidence": entry["confidence"],
        "source": f"{entry['meaning']}: {entry['source']}",
    }
