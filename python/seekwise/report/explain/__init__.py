"""Explanations: terms as short Markdown texts in `units/`, drive and controller models and schedulers from the numbers
in force.

A text begins with its title, `also:` lists other words for it, `see:` leads on. `{access_table}` is filled from the
drive models, and a scheduler's text is followed by its tunables as the registry knows them, so nothing is said twice.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from seekwise import _core, drive_names, invocation, schedulers, suggestion
from seekwise.errors import UsageError
from seekwise.linux.stack import read_stack
from seekwise.report.explain import caps, cards, hosts, program
from seekwise.report.explain.explanation import Explanation, ModelParameter, Tunable

UNITS = Path(__file__).parent / "units"
# Kernels whose defaults are shown: the last with the single queue, and a recent one.
KERNELS = ("2.6.24", "4.4", "6.1", "6.12")


def explain(word: str) -> Explanation:
    """The explanation of a word: a term, a setting, a scheduler, or a model of a drive or controller."""
    name = _plain(word)
    if (plain := word.strip().lower()) in _names():  # without reading the others
        return _with_program(_unit(plain), word)
    for unit, (_, also, _, _) in _units().items():
        if name in {_plain(unit), *map(_plain, also)}:
            return _with_program(_unit(unit), word)
    if name == "models":
        return _models()
    if scheduler := schedulers.registry().get(word.lower()):
        # Without a text of its own: what its file says.
        return Explanation(
            scheduler.name, "scheduler", scheduler.name, scheduler.summary, (), _tunables(scheduler.name)
        )
    if entry := cards.explained(word) or hosts.explained(word):
        return entry
    try:
        return _model(word)
    except ValueError as error:
        if tunable := _tunable(word):
            return tunable
        if of_program := program.explained(word):
            return Explanation(word, "program", *of_program)
        if offered := _offered_here(word):
            return offered
        if word.partition("/")[0] in _model_names():
            raise UsageError(str(error), drive_names.editions_hint(word)) from error
        asked = drive_names.read(word)
        is_drive = bool(asked.kind or asked.makers or asked.capacity_bytes or asked.rpm)
        if is_drive and not suggestion.nearest(word.lower(), _model_names(), drive_names.MISSPELT):
            return _nearest_model(word)
        candidates = {_plain(one): one for one in [*program.words(), *_other_words(), *words(), *_model_names()]}
        close = suggestion.nearest(name, candidates)
        hint = f"did you mean `{candidates[close]}`?" if close else "`seekwise explain` lists every word"
        raise UsageError(f"no entry for `{word}`", hint) from error


def _nearest_model(word: str) -> Explanation:
    """A drive as people call it: its model, or the nearest one and why; of a drive of another kind what it is."""
    try:
        return _model(drive_names.find(word))
    except UsageError:
        nearest, why = drive_names.closest(word)
    if nearest is None:
        return Explanation(word, "model", word, f"{why}.", ("smr",))
    entry = _model(nearest.name)
    return replace(entry, text=f"{why[:1].upper()}{why[1:]}. {entry.text}")


def _model_names() -> set[str]:
    """Every name of a drive model, aliases too."""
    known = [json.loads(_core.drive_model(name)) for name in _core.drive_models()]
    return {name for model in known for name in (model["id"], *model["aliases"])}


def _offered_here(word: str, root: Path = Path("/")) -> Explanation | None:
    """A scheduler that the kernel of this machine offers and that no table knows."""
    name = word.strip()
    devices = [device for device in read_stack(root).devices.values() if name in device.schedulers_offered]
    if not devices:
        return None
    used = [device for device in devices if device.scheduler == name]
    text = (
        f"{name} is a scheduler of this kernel, offered by {', '.join(device.name for device in devices)}. Seekwise measures, sets and "
        "restores it like any other. It has no model of it, so it cannot simulate it, and does not know its tunables: "
        f"`--vary iosched.NAME=VALUE,VALUE` tries values of one."
    )
    if used and used[0].iosched:
        text += "\n\nTunables now: " + ", ".join(f"{key} {value}" for key, value in used[0].iosched.items()) + "."
    return Explanation(name, "scheduler", name, text, ("scheduler", "live-switching"))


def _with_program(explanation: Explanation, word: str) -> Explanation:
    """A term that is also the name of a command or a use says what that is."""
    text, name = explanation.text, word.strip().lower()
    if command := program.command_entry(name):
        text += f"\n\nThe command `seekwise {name}`: {command[1]}"
    if name in program.use_names() and (use := program.use(name)):
        text += f"\n\n{use[1]}"
    return replace(explanation, text=text)


def _other_words() -> list[str]:
    """The second names of the terms."""
    return [other for _, also, _, _ in _units().values() for other in also]


def _names() -> set[str]:
    return {name.removesuffix(".md") for name in os.listdir(UNITS) if name.endswith(".md")}


def terms() -> list[str]:
    """Words with a text of their own."""
    return list(_units())


def words() -> list[str]:
    """Every word that can be explained, without the second names."""
    return sorted([*_units(), "models", *_core.drive_models(), *_core.controller_models(), *_core.host_models()])


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9/]", "", word.lower())


Unit = tuple[str, tuple[str, ...], tuple[str, ...], str]
"""Title, other words, where to go on, and text."""


@cache
def _units() -> dict[str, Unit]:
    return {path.stem: _parsed(path.stem) for path in sorted(UNITS.glob("*.md"))}


@cache
def _parsed(name: str) -> Unit:
    text = (UNITS / f"{name}.md").read_text(encoding="utf-8")
    lines = text.replace(invocation.SUDO, invocation.line(f"{invocation.SUDO} ").rstrip()).splitlines()
    fields: dict[str, tuple[str, ...]] = {"also": (), "see": ()}
    body: list[str] = []
    for line in lines[1:]:
        key, colon, rest = line.partition(": ")
        if colon and key in fields and not "".join(body).strip():
            fields[key] = tuple(one.strip() for one in rest.split(","))
        else:
            body.append(line)
    return lines[0].removeprefix("# "), fields["also"], fields["see"], "\n".join(body).strip()


def _unit(name: str) -> Explanation:
    title, _, see, text = _parsed(name)
    if "{access_table}" in text:
        text = text.replace("{access_table}", _access_table())
    for name_of_table, table in program.tables().items():
        text = text.replace(f"{{{name_of_table}}}", table)
    tunables = _tunables(name)
    if tunables or caps.sentence(name):
        text = "\n\n".join(part for part in (text, caps.sentence(name)) if part)
        return Explanation(name, "scheduler", title, text, see, tunables)
    return Explanation(name, "term", title, text, see)


@cache
def _registry() -> dict[str, list[dict[str, Any]]]:
    rows = {}
    for kernel in KERNELS:
        rows[kernel] = json.loads(_core.schedulers(kernel))["schedulers"]
    return rows


def _tunables(scheduler: str) -> list[Tunable]:
    """Tunables of a scheduler with their defaults by kernel."""
    rows: dict[str, Tunable] = {}
    for kernel, rows_of_kernel in _registry().items():
        for one in rows_of_kernel:
            if one["name"] != scheduler or not one["available"]:
                continue
            for tunable in one["tunables"]:
                if tunable["available"]:
                    made = Tunable(tunable["name"], tunable["unit"], tunable["meaning"], {})
                    rows.setdefault(made.name, made).defaults[kernel] = tunable["default"]
    return list(rows.values())


def _tunable(word: str) -> Explanation | None:
    """A tunable by its kernel name, under every scheduler that has it."""
    lines: dict[str, str] = {}
    for scheduler in sorted({one["name"] for rows in _registry().values() for one in rows}):
        for tunable in _tunables(scheduler):
            if tunable.name == word:
                defaults = ", ".join(f"{value} on {kernel}" for kernel, value in tunable.defaults.items())
                lines[scheduler] = f"{scheduler}: {tunable.meaning} ({tunable.unit}; default {defaults})"
    if not lines:
        return None
    return Explanation(word, "term", f"{word}: a tunable", "\n".join(lines.values()), tuple(lines))


def _model(word: str) -> Explanation:
    model = json.loads(_core.drive_model(word))
    stated = model["parameters"]
    rows = []
    for known in model["known_parameters"]:
        entry = stated.get(known["key"])
        if entry is None and known["default"] is None:
            continue
        given = entry or {}
        rows.append(
            ModelParameter(
                known["key"], entry["value"] if entry else known["default"], given.get("unit") or known["unit"],
                given.get("lo"), given.get("hi"), given.get("confidence", "default"),
                given.get("source", "not stated by the model"),
            )
        )  # fmt: skip
    text = " ".join(note if note.endswith(".") else f"{note}." for note in model["notes"])
    if variants := model.get("variants"):
        editions = ", ".join(f"{model['id']}/{name}" for name in variants)
        text = f"{text} Editions: {editions}.".strip()
    see = {"hdd": ("seek", "rotation", "zones", "ncq"), "ssd": ("ssd", "slc-cache", "garbage-collection")}
    return Explanation(word, "model", model["name"], text, (*see.get(model["kind"], ()), "confidence"), parameters=rows)


def _models() -> Explanation:
    kinds = (
        (_core.drive_models(), _core.drive_model, ""),
        (_core.controller_models(), _core.controller_model, " (controller)"),
        (_core.host_models(), _core.host_model, " (host)"),
    )
    lines = [f"{name:20} {json.loads(read(name))['name']}{kind}" for names, read, kind in kinds for name in names]
    return Explanation(
        "models", "term", "Drive, controller and host models", "\n".join(lines), ("confidence", "hardware-raid")
    )


DISKS_OF_THE_TEXTS = ("wd2500ys", "st3250620ns", "st31000340sv")
SMALL_PART = 0.04
"""Share of the disk that eight files of 1.2 GB cover on a drive of 250 GB."""
HOST_MS = 0.02


def _access_table() -> str:
    """The parts of a random read of 4 KiB at depth 1, from the models and measured on them: over the whole disk and
    over a small part."""
    lines = [
        f"{'[ms]':12}  {'processing':>10}  {'seek':>5}  {'settling':>8}  {'rotation':>8}  {'together':>8}  {'over 4 %':>8}"
    ]
    base = {"measure": "loop", "write": False, "turnaround_ns": round(HOST_MS * 1e6), "depth": 1, "sequential": False}
    base |= {"block_bytes": 4096, "warm_up": 20, "commands": 2000}
    for name in DISKS_OF_THE_TEXTS:
        asked = [{**base, "model": name}, {**base, "model": name, "to": SMALL_PART}]
        whole, part = (load["latency_us"] / 1000 for load in json.loads(_core.measure_drives(json.dumps(asked))))
        values = {
            key: parameter["value"] for key, parameter in json.loads(_core.drive_model(name))["parameters"].items()
        }
        processing = values["command_overhead_ms"] + values.get("arm_setup_ms", 0.0) + HOST_MS
        settling, rotation = values["seek_track_to_track_ms"], 60_000 / values["rpm"] / 2
        seek = whole - processing - settling - rotation
        lines.append(
            f"{name:12}  {processing:10.2f}  {seek:5.2f}  {settling:8.2f}  {rotation:8.2f}  {whole:8.2f}  {part:8.2f}"
        )
    return "\n".join(lines)
