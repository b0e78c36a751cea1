"""Controller models in words: what is known of a card, and what each number of its model rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seekwise import controllers
from seekwise.report.explain.explanation import Explanation, Fact, ModelParameter

# How a basis is shown, the firmest first.
BASIS = {"fact": "fact", "derived": "worked out", "assumption": "assumed", "set": "set from a result"}
SEE = ("hardware-raid", "tw_cli", "raid", "write-cache", "storage-kinds")


def explained(word: str) -> Explanation | None:
    """The controller called so; None when there is none."""
    model = controllers.model_of(word)
    if model is None:
        return None
    order = list(BASIS)
    entries = sorted(model["parameters"].items(), key=lambda one: order.index(one[1]["basis"]))
    text = " ".join(note if note.endswith(".") else f"{note}." for note in model["notes"])
    see = ("fake-raid", *SEE) if model["kind"] == "fake" else SEE
    facts = [Fact(name, **fact) for name, fact in model["facts"].items()]
    parameters = [_parameter(name, entry) for name, entry in entries]
    return Explanation(word, "model", model["name"], text, see, facts=facts, parameters=parameters)


def _parameter(name: str, entry: Mapping[str, Any]) -> ModelParameter:
    observation = entry.get("observation")
    source = f"{entry['source']}; set from {observation}" if observation else entry["source"]
    basis = BASIS[entry["basis"]]
    return ModelParameter(name, entry["value"], entry["unit"], entry.get("lo"), entry.get("hi"), basis, source)
