"""Host models in words: what each step costs a processor, and what that rests on."""

from __future__ import annotations

import json

from seekwise import _core
from seekwise.report.explain.explanation import Explanation, ModelParameter

TEXT = (
    "CPU time of each step of a request, on one of {processors} processors. CPU time of a scheduler is charged to the context that "
    "dispatches the request."
)
SEE = ("cpu", "confidence")


def explained(word: str) -> Explanation | None:
    """The host called so; None when there is none."""
    try:
        model = json.loads(_core.host_model(word))
    except ValueError:
        return None
    parameters = [
        ModelParameter(
            name, parameter["value"], parameter["unit"], parameter["lo"], parameter["hi"], parameter["confidence"], f"{parameter['meaning']}: {parameter['source']}"
        )
        for name, parameter in model["parameters"].items()
    ]  # fmt: skip
    return Explanation(word, "model", model["name"], TEXT.format_map(model), SEE, parameters=parameters)
