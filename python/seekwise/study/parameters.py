"""Model parameters of a study: which there are, what is stated of them, and a study with another value.

A parameter is written MODEL.NAME (`wd2500ys.rpm`, `9650-4LP.command_us`); the bare NAME does where only one model of the study has it.
A study itself carries none: `Study.parameters` is filled by `--vary` alone, and a test counts it over the published studies.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from seekwise import _core
from seekwise.errors import UsageError
from seekwise.study.model import Study, System


@dataclass(frozen=True)
class Parameter:
    """A number of a drive, controller or host model."""

    model: str
    """As the study names it."""
    name: str
    kind: str
    """`drive`, `controller` or `host`."""
    value: float
    unit: str
    low: float | None
    high: float | None
    source: str
    confidence: str

    @property
    def key(self) -> str:
        return f"{self.model}.{self.name}"

    @property
    def is_uncertain(self) -> bool:
        return self.low is not None and self.high is not None and self.low < self.high

    def reason_against(self, value: float) -> str | None:
        """Why the model cannot have this value, or None."""
        try:
            _core.check_parameter(self.kind, self.model, self.name, value)
        except ValueError as error:
            return str(error)
        return None


@cache
def of_drive(name: str) -> tuple[Parameter, ...]:
    """Parameters of a drive model with their stated ranges; none where no model has that name."""
    try:
        document = json.loads(_core.drive_model(name))
    except ValueError:
        return ()
    known = {each["key"]: each for each in document["known_parameters"]}
    return tuple(
        Parameter(
            name, key, "drive", float(row["value"]), row.get("unit") or known[key]["unit"], row.get("lo"), row.get("hi"),
            str(row.get("source", "")), str(row.get("confidence", "")),
        )
        for key, row in document["parameters"].items()
    )  # fmt: skip


@cache
def of_controller(name: str) -> tuple[Parameter, ...]:
    """The same of a controller model."""
    try:
        document = json.loads(_core.controller_model(name))
    except ValueError:
        return ()
    return tuple(
        Parameter(
            name, key, "controller", float(row["value"]), row["unit"], row.get("lo"), row.get("hi"),
            str(row.get("source", "")), str(row.get("basis", "")),
        )
        for key, row in document["parameters"].items()
    )  # fmt: skip


@cache
def of_host(name: str) -> tuple[Parameter, ...]:
    """None for a host whose costs were measured kernel by kernel: nothing is assumed there."""
    try:
        document = json.loads(_core.host_model(name))
    except ValueError:
        return ()
    return tuple(
        Parameter(
            name, key, "host", float(row["value"]), row["unit"], row["lo"], row["hi"], row["source"], row["confidence"]
        )
        for key, row in document["parameters"].items()
    )  # fmt: skip


def of_study(study: Study) -> list[Parameter]:
    """Every parameter of every model that the study names."""
    drives = dict.fromkeys(system.drive for system in study.system if system.drive)
    controllers = dict.fromkeys(system.controller for system in study.system if system.controller)
    machines = dict.fromkeys(str(system.options["host"]) for system in study.system if "host" in system.options)
    found = [parameter for name in drives for parameter in of_drive(name)]
    found += [parameter for name in controllers for parameter in of_controller(name)]
    return found + [parameter for name in machines for parameter in of_host(name)]


def models_of(study: Study, system: System) -> tuple[str | None, ...]:
    """The models whose parameters decide what a system does."""
    host = system.options.get("host")
    return system.drive, system.controller, None if host is None else str(host)


def named(study: Study, word: str) -> Parameter:
    """The parameter that a person means; UsageError says which there are."""
    every = of_study(study)
    exact = [each for each in every if each.key == word]
    found = exact or [each for each in every if each.name == word]
    if len(found) == 1:
        return found[0]
    if found:
        keys = ", ".join(f"`{each.key}`" for each in found)
        raise UsageError(f"`{word}` belongs to several models of study {study.name}", hint=f"write one of {keys}")
    if not every:
        raise UsageError(
            f"study {study.name} names no model, so there is nothing to vary", hint="give its systems a `drive`"
        )
    if (host := _host_left_out(word)) is not None:
        raise UsageError(
            f"`{word}` is a cost of a host, and no system of study {study.name} names host {host}: varying it changes nothing",
            hint=f'give the systems `options = {{ host = "{host}" }}`, or vary a parameter of a drive or controller',
        )
    words = [*(each.key for each in every), *(each.name for each in every)]
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    models = ", ".join(dict.fromkeys(each.model for each in every))
    hint = (
        f"did you mean `{near[0]}`?"
        if near
        else f"models of this study: {models}; `seekwise explain MODEL` lists its parameters"
    )
    raise UsageError(f"study {study.name} has no model parameter `{word}`", hint=hint)


def _host_left_out(word: str) -> str | None:
    """The first host model with such a parameter."""
    known = [each for name in _core.host_models() for each in of_host(name)]
    return next((each.model for each in known if word in (each.key, each.name)), None)


# What a system's options may say without being a parameter of a model: how it was set up.
SET_UP = ("ncq", "filesystem", "hz", "partition_gib", "volume", "processors", "host")


def free(study: Study) -> list[str]:
    """Every number in a study that could be turned to reach a result: model parameters, under whatever name."""
    found = list(study.parameters)
    return found + [f"{s.name}.{name}" for s in study.system for name in s.options if name not in SET_UP]


def with_values(study: Study, values: Mapping[str, float]) -> Study:
    """The study with other parameter values, by MODEL.NAME."""
    return study.model_copy(update={"parameters": {**study.parameters, **values}})


def of_model(parameters: Mapping[str, float], model: str | None) -> dict[str, float]:
    """Those of one model, by their bare names."""
    prefix = f"{model}."
    return {key.removeprefix(prefix): value for key, value in parameters.items() if model and key.startswith(prefix)}
