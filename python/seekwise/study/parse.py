"""From a TOML file to a checked study; what is wrong is said as file, key, value and what is allowed."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path

from pydantic import BaseModel, ValidationError

from seekwise.errors import UsageError
from seekwise.study import factors, profiles
from seekwise.study.model import Design, Study, System, Workload
from seekwise.study.shown import Figure, Grid, Table

TABLES: dict[str, type[BaseModel]] = {
    "system": System,
    "workload": Workload,
    "design": Design,
    "figure": Figure,
    "table": Table,
    "grid": Grid,
}


def load(path: Path) -> Study:
    """The study in a file. A workload's job file is looked for beside the study."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"no study at {path}", hint=_starters_hint()) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read study {path}: {error}") from error
    return loads(text, str(path), folder=path.parent)


def loads(text: str, source: str, *, folder: Path | None = None) -> Study:
    """The study in a text; `source` is its name in messages."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not TOML: {error}", hint="see docs of TOML at https://toml.io") from error
    try:
        study = Study.model_validate(table)
    except ValidationError as error:
        raise _explained(error, source, table) from None
    _check_factors(study, source)
    _check_workloads(study, source, folder)
    _check_design(study, source)
    if folder is not None:
        study = _with_job_paths(study, folder)
    return study


MISSING = {
    "workload": 'what is to be done: `[[workload]]` with `profile = "tiotest"`, or with `operations` of your own',
    "system": "what is to be measured: `[[system]]` with `name`, and `target` or `drive`",
}
"""What a key is for that only a reader of the reference would know."""


def _explained(error: ValidationError, source: str, table: dict[str, object]) -> UsageError:
    """The first thing that is wrong, in a sentence; how many more there are, in the hint."""
    details = error.errors(include_url=False)
    first = details[0]
    more = f"{len(details) - 1} more below it" if len(details) > 1 else ""
    key = _key(first["loc"])
    kind = first["type"]
    if kind == "extra_forbidden":
        model = TABLES.get(str(first["loc"][0]), Study)
        known = list(model.model_fields)
        name = str(first["loc"][-1])
        return UsageError(f"{source}: unknown key `{key}`", hint=_joined(_suggestion(name, known), more))
    if kind == "missing":
        return UsageError(f"{source}: `{key}` is missing", hint=_joined(MISSING.get(key, ""), more))
    message = str(first["msg"]).removeprefix("Value error, ")
    if kind == "value_error" and not message.startswith("must be"):
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


def _words(detail: dict) -> list[str]:
    if detail["type"] != "literal_error":
        return []
    return [word.strip(" '") for word in str(detail["ctx"]["expected"]).replace(" or ", ", ").split(",")]


def _allowed(detail: dict) -> str:
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
        (f"candidate[{i}]", {name: [value] for name, value in each.items()}) for i, each in enumerate(study.candidate)
    ]
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
        each.model_copy(update={"job": (folder / each.job).absolute()}) if each.job else each for each in study.workload
    ]
    return study.model_copy(update={"workload": workloads})


def _starters_hint() -> str:
    from seekwise.study import starters

    return "studies that ship with the program: " + ", ".join(starters.names())
