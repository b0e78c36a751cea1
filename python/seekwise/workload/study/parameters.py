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
from seekwise.workload.study.study import Study, System


@dataclass(frozen=True)
class Parameter:
    """A number of a drive, controller or host model."""

    model: str
    """As the study names it."""
    name: str
    kind: str
    """`drive`, `controller`, `host` or `machine`."""
    value: float
    unit: str
    low: float | None
    high: float | None
    source: str
    confidence: str

    @property
    def key(self) -> str:
        """`MODEL.NAME`, as `--vary` and a study's `[parameters]` name it."""
        return f"{self.model}.{self.name}"

    @property
    def is_uncertain(self) -> bool:
        """Whether its model states a range that is more than a point."""
        return self.low is not None and self.high is not None and self.low < self.high

    def reason_against(self, value: float) -> str | None:
        """Why the model cannot have this value, or None."""
        if self.kind == MACHINE:
            return None if value >= 1 and value == int(value) else f"a machine has a whole number of {self.name}"
        try:
            _core.check_parameter(self.kind, self.model, self.name, value)
        except ValueError as error:
            return str(error)
        return None


MACHINE = "machine"
"""Model of what a study says of the machine itself, where all its systems and loads say the same."""
OF_MACHINE = ("cores", "processes")


MODELS = {"drive": _core.drive_model, "controller": _core.controller_model, "host": _core.host_model}


@cache
def of_kind(kind: str, name: str) -> tuple[Parameter, ...]:
    """Parameters of a drive, controller or host model with their stated ranges; none where no model has that name.

    None either for a host whose costs were measured kernel by kernel: nothing is assumed there.
    """
    try:
        document = json.loads(MODELS[kind](name))
    except ValueError:
        return ()
    known = {each["key"]: each["unit"] for each in document.get("known_parameters", ())}
    return tuple(
        Parameter(
            name, key, kind, float(row["value"]), row.get("unit") or known[key], row.get("lo"), row.get("hi"),
            str(row.get("source", "")), str(row.get("confidence", row.get("basis", ""))),
        )
        for key, row in document["parameters"].items()
    )  # fmt: skip


def of_study(study: Study) -> list[Parameter]:
    """Every parameter of every model that the study names."""
    drives = dict.fromkeys(system.drive for system in study.system if system.drive)
    controllers = dict.fromkeys(system.controller for system in study.system if system.controller)
    machines = dict.fromkeys(str(system.options["host"]) for system in study.system if "host" in system.options)
    named = {"drive": drives, "controller": controllers, "host": machines}
    return [parameter for kind, names in named.items() for name in names for parameter in of_kind(kind, name)]


def models_of(study: Study, system: System) -> tuple[str | None, ...]:
    """The models whose parameters decide what a system does."""
    host = system.options.get("host")
    return system.drive, system.controller, None if host is None else str(host), MACHINE


def of_machine(study: Study, name: str) -> Parameter:
    """How many cores or processes the study has; UsageError where its systems or loads differ."""
    own: set[object] = {system.options.get("cores") for system in study.system}
    if None in own:
        raise UsageError(
            f"not every system of study {study.name} says how many cores it has",
            hint="give them `options = { cores = 4 }`",
        )
    if name == "processes":
        own = {threads for load in study.workload for threads in load.threads}
    if len(own) > 1:
        words = ", ".join(str(each) for each in sorted(own, key=str))
        way = "one system with `--system NAME`" if name == "cores" else "a study of one number of threads"
        raise UsageError(f"study {study.name} has several numbers of {name} itself: {words}", hint=f"vary {way}")
    (value,) = own
    return Parameter(MACHINE, name, MACHINE, float(str(value)), name, None, None, "the study", "definition")


def named(study: Study, word: str) -> Parameter:
    """The parameter that a person means; UsageError says which there are."""
    if word in OF_MACHINE:
        return of_machine(study, word)
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
    known = [each for name in _core.host_models() for each in of_kind("host", name)]
    return next((each.model for each in known if word in (each.key, each.name)), None)


def with_values(study: Study, values: Mapping[str, float]) -> Study:
    """The study with other parameter values, by MODEL.NAME."""
    for name in OF_MACHINE:
        if (value := values.get(f"{MACHINE}.{name}")) is not None:
            return _on_machine(study, name, int(value))
    return study.model_copy(update={"parameters": {**study.parameters, **values}})


def _on_machine(study: Study, name: str, value: int) -> Study:
    if name == "processes":
        loads = [load.model_copy(update={"threads": [value]}) for load in study.workload]
        return study.model_copy(update={"workload": loads})
    systems = [each.model_copy(update={"options": {**each.options, "cores": value}}) for each in study.system]
    return study.model_copy(update={"system": systems})


def of_model(parameters: Mapping[str, float], model: str | None) -> dict[str, float]:
    """Those of one model, by their bare names."""
    prefix = f"{model}."
    return {key.removeprefix(prefix): value for key, value in parameters.items() if model and key.startswith(prefix)}
