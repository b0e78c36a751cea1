"""What is known of a RAID controller, from the compiled registry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from seekwise import _core


def model_of(word: str) -> dict[str, Any] | None:
    """A controller model by any of its names."""
    try:
        model: dict[str, Any] = json.loads(_core.controller_model(word))
        return model
    except ValueError:
        return None


def environment(word: str, choices: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """For a record: what is known of the card - bus, driver, memory, firmware, mode - and how it was set."""
    model = model_of(word)
    facts = {} if model is None else {name: fact["value"] for name, fact in model["facts"].items()}
    return {"controller": {"model": word, **facts, **{name: str(value) for name, value in choices.items()}}}
