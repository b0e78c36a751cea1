"""From a TOML file to a checked study; what is wrong is said as file, key, value and what is allowed."""

from __future__ import annotations

import difflib
import math
import tomllib
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from seekwise import bounds
from seekwise.errors import UsageError, reason
from seekwise.files import read_regular
from seekwise.workload.study import factors, profiles
from seekwise.workload.study.quantity import NotAllowed
from seekwise.workload.study.study import Design, Study, System, Workload

TABLES: dict[str, type[BaseModel]] = {
    "system": System,
    "workload": Workload,
    "design": Design,
}


def load(path: Path) -> Study:
    """The study in a file. A workload's job file is looked for beside the study."""
    return load_with_text(path)[0]


def load_with_text(path: Path) -> tuple[Study, str]:
    """The study in a file, and the very text that was checked: the file may be another one a moment later."""
    try:
        text = read_regular(path, bounds.TOML_BYTES).decode("utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"no study at {path}", hint="`seekwise run` lists the studies that ship") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read study {path}: {reason(error)}") from error
    return loads(text, str(path), folder=path.parent), text


def loads(text: str, source: str, *, folder: Path | None = None) -> Study:
    """The study in a text; `source` is its name in messages."""
    try:
        table = bounds.toml(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not TOML: {error}", hint="see docs of TOML at https://toml.io") from error
    _check_amount(table, source)
    try:
        study = Study.model_validate(table)
    except ValidationError as error:
        raise _explained(error, source, table) from None
    except (RecursionError, OverflowError) as error:
        raise UsageError(f"{source}: a value is nested too deep or too large") from error
    _check_factors(study, source)
    _check_workloads(study, source, folder)
    _check_design(study, source)
    _check_trials(study, source)
    if folder is not None:
        study = _with_job_paths(study, folder)
    return study


DEPTH_MAX = 12
VALUES_MAX = 20_000
TRIALS_MAX = 1_000_000
"""More than anybody waits for; the product of a few long lists is more than memory holds."""


def _check_amount(table: object, source: str) -> None:
    """Refuses what is nested deeper or is more than any study, and text that would command a terminal."""
    todo: list[tuple[object, int, str]] = [(table, 0, "")]
    count = 0
    while todo:
        value, depth, key = todo.pop()
        count += 1
        if depth > DEPTH_MAX or count > VALUES_MAX:
            what = (
                f"nested deeper than {DEPTH_MAX} levels" if depth > DEPTH_MAX else f"of more than {VALUES_MAX} values"
            )
            raise UsageError(f"{source}: a study {what} cannot be run")
        if isinstance(value, dict):
            todo += [(inner, depth + 1, name) for name, inner in value.items()]
            todo += [(name, depth + 1, name) for name in value]
        elif isinstance(value, list):
            todo += [(item, depth + 1, key) for item in value]
        elif isinstance(value, str) and (len(value) > LONGEST or (key in NAMES and not value.isprintable())):
            said = (
                f"is longer than {LONGEST} characters"
                if len(value) > LONGEST
                else "holds characters that cannot be printed"
            )
            raise UsageError(f"{source}: `{key[:40]}` {said}")
        elif isinstance(value, int | float) and not isinstance(value, bool) and not -NUMBER_MAX < value < NUMBER_MAX:
            raise UsageError(f"{source}: `{key[:40]}` is {str(value)[:40]}, no number that a study can have")


NAMES = frozenset({"name", "target", "drive", "reference"})
LONGEST = 20_000
NUMBER_MAX = 2**63


OTHERS_MOST = 3
MISSING = {
    "workload": 'what is to be done: `[[workload]]` with `profile = "tiotest"`, or with `operations` of your own',
    "system": "what is to be measured: `[[system]]` with `name`, and `target` or `drive`",
}
"""What a key is for that only a reader of the reference would know."""


def _explained(error: ValidationError, source: str, table: dict[str, object]) -> UsageError:
    """The first thing that is wrong, in a sentence; which others are, in the hint."""
    details = error.errors(include_url=False)
    first = details[0]
    others = list(dict.fromkeys(_key(detail["loc"]) for detail in details[1:]))
    left = f" and {len(others) - OTHERS_MOST} more" if len(others) > OTHERS_MOST else ""
    more = f"also wrong: {', '.join(f'`{detail}`' for detail in others[:OTHERS_MOST])}{left}" if others else ""
    key = _key(first["loc"])
    kind = first["type"]
    if kind == "extra_forbidden":
        model = TABLES.get(str(first["loc"][0]), Study)
        known = [field.alias or name for name, field in model.model_fields.items()]
        name = str(first["loc"][-1])
        return UsageError(f"{source}: unknown key `{key}`", hint=_joined(_suggestion(name, known), more))
    if kind == "missing":
        return UsageError(f"{source}: `{key}` is missing", hint=_joined(MISSING.get(key, ""), more))
    cause = first.get("ctx", {}).get("error")
    message = str(first["msg"]) if cause is None else str(cause)
    if kind == "value_error" and not isinstance(cause, NotAllowed):
        where = f" in `{key}`" if key else ""
        return UsageError(f"{source}{where}: {message}", hint=more or None)
    value = first.get("input")
    shown = repr(value) if isinstance(value, str | int | float | bool) else f"a {type(value).__name__}"
    allowed = _allowed(first) or message[0].lower() + message[1:]
    hint = _suggestion(value, _words(first)) if isinstance(value, str) else ""
    return UsageError(f"{source}: `{key}` is {shown}, but {allowed}", hint=_joined(hint, more) or None)


def _key(location: tuple[int | str, ...]) -> str:
    key = ""
    for part in location:
        key += f"[{part}]" if isinstance(part, int) else (f".{part}" if key else part)
    return key


def _words(detail: ErrorDetails) -> list[str]:
    if detail["type"] != "literal_error":
        return []
    return [word.strip(" '") for word in str(detail["ctx"]["expected"]).replace(" or ", ", ").split(",")]


def _allowed(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "literal_error":
            return "must be one of " + ", ".join(f'"{word}"' for word in _words(detail))
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case "less_than":
            return f"must be less than {context['lt']}"
        case "bool_type" | "bool_parsing":
            return "must be true or false"
        case "int_type" | "int_parsing" | "int_from_float":
            return "must be a whole number"
        case "string_type":
            return "must be text"
        case "too_short" | "string_too_short":
            return "must not be empty"
    return ""


def _suggestion(name: object, known: list[str]) -> str:
    if not known:
        return ""
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    return f"did you mean `{near[0]}`?" if near else "known: " + ", ".join(known)


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _check_factors(study: Study, source: str) -> None:
    rows = [("settings", study.settings)] if study.settings else []
    rows += [
        (f"candidate[{i}]", {name: [value] for name, value in values.items()})
        for i, values in enumerate(study.candidate)
    ]
    for i, system in enumerate(study.system):
        # A drive's parameter may have the name of a setting of its queue: `write_cache`.
        whole = {name for name, row in factors.FACTORS.items() if row.where != "leaf"}
        of_array = {name: [value] for name, value in system.options.items() if name in whole}
        rows += [(f"system[{i}]", of_array)]
    for place, table in rows:
        for name, values in table.items():
            row = factors.factor(name)
            if row is None:
                raise UsageError(f"{source}: unknown setting `{place}.{name}`", hint=_suggestion(name, factors.names()))
            if not values:
                raise UsageError(f"{source}: `{place}.{name}` is empty", hint=f"each value must be {row.allowed}")
            for value in values:
                if name == "scheduler" and value == "offered":
                    continue
                try:
                    row.check(value)
                except ValueError as error:
                    raise UsageError(f"{source}: `{place}.{name}` has {value!r}, but {error}") from None
            double = next((value for value in values if values.count(value) > 1), None)
            if double is not None:
                raise UsageError(f"{source}: `{place}.{name}` has {double!r} twice")


def _check_trials(study: Study, source: str) -> None:
    """The number of trials that these lists mean, before anybody multiplies them."""
    settings = len(study.candidate) or math.prod(len(values) for values in study.settings.values())
    combinations = sum(
        len(load.threads) * len(load.block_bytes) * len(load.iodepth) * max(1, len(load.memory_limit))
        for load in study.workload
    )
    trials = settings * combinations * len(study.system) * study.design.blocks
    if trials > TRIALS_MAX:
        raise UsageError(
            f"{source}: {trials:.3g} trials are more than {TRIALS_MAX:,}", hint="fewer values, or several studies"
        )


def _check_workloads(study: Study, source: str, folder: Path | None) -> None:
    for index, workload in enumerate(study.workload):
        if workload.profile is not None and workload.profile not in profiles.names():
            raise UsageError(
                f"{source}: unknown profile `workload[{index}].profile` = {workload.profile!r}",
                hint=_suggestion(workload.profile, profiles.names()),
            )
        if workload.job is not None and folder is not None and not (folder / workload.job).is_file():
            raise UsageError(
                f"{source}: `workload[{index}].job`: no file {folder / workload.job}",
                hint="the path of a fio job file is relative to the study",
            )


def _check_design(study: Study, source: str) -> None:
    for name in study.design.compare:
        if name not in study.factor_names():
            raise UsageError(
                f"{source}: `design.compare` names `{name}`, which the study does not vary",
                hint=_suggestion(name, study.factor_names()),
            )


def _with_job_paths(study: Study, folder: Path) -> Study:
    workloads = [
        load.model_copy(update={"job": (folder / load.job).absolute()}) if load.job else load for load in study.workload
    ]
    return study.model_copy(update={"workload": workloads})
