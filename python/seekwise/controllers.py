"""Controller models in words: what is known of a card, and what each number of its model rests on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from seekwise import _core

# How a basis is shown, the firmest first.
BASIS = {"fact": "fact", "derived": "worked out", "assumption": "assumed", "set": "set from a result"}
SEE = ("hardware-raid", "tw_cli", "raid", "write-cache", "storage-kinds")


def explained(word: str) -> tuple[str, str, tuple[str, ...], Mapping[str, list[dict[str, Any]]]] | None:
    """Title, text, where to go on and tables of the controller called so; None when there is none."""
    model = known(word)
    if model is None:
        return None
    order = list(BASIS)
    entries = sorted(model["parameters"].items(), key=lambda one: order.index(one[1]["basis"]))
    rows = [_row(name, entry) for name, entry in entries]
    text = " ".join(note if note.endswith(".") else f"{note}." for note in model["notes"])
    see = ("fake-raid", *SEE) if model["kind"] == "fake" else SEE
    facts = [{"name": name, **fact} for name, fact in model["facts"].items()]
    return model["name"], text, see, {"facts": facts, "parameters": rows}


def known(word: str) -> dict[str, Any] | None:
    """A controller model by any of its names."""
    try:
        return json.loads(_core.controller_model(word))
    except ValueError:
        return None


def environment(word: str, choices: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """For a record: what is known of the card - bus, driver, memory, firmware, mode - and how it was set."""
    model = known(word)
    facts = {} if model is None else {name: fact["value"] for name, fact in model["facts"].items()}
    return {"controller": {"model": word, **facts, **{name: str(value) for name, value in choices.items()}}}


def _row(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    observation = entry.get("observation")
    return {
        "name": name,
        "value": entry["value"],
        "unit": entry["unit"],
        "low": entry.get("lo"),
        "high": entry.get("hi"),
        "confidence": BASIS[entry["basis"]],
        "source": f"{entry['source']}; set from {observation}" if observation else entry["source"],
    }
