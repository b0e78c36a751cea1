"""Rounds: every scheduler once in random order, until each ratio is known to ±5 % or the case's time is over.

Results are one JSON file, written anew after each round, so a measurement is made in pieces of any length. Settings are switched by
`control.switching` and scratch is made by `control.scratch`: journalled, and restored or removed however a piece ends.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from real_programs.copying import ROOM_BYTES, copying, reading
from real_programs.loads import PROGRAMS, Program, Visit
from seekwise import special
from seekwise.control import child
from seekwise.control.scratch import room_bytes, scratch
from seekwise.control.switching import switching
from seekwise.measure.kernel import prepared_target
from seekwise.measure.kernel.target import Target, find
from seekwise.measure.live import candidates

ALONE, COPYING, READING = "alone", "beside cp", "beside cat"
MODES = (ALONE, COPYING, READING)
BACKGROUND = {COPYING: copying, READING: reading}
MORE_IS_BETTER = ("done", "copy_mb_per_s")
PRECISION = 0.05
ROUNDS_LEAST, ROUNDS_MOST = 6, 60
PROGRAM_LEAST_S = 90.0
"""For preparing a program and a few rounds of it."""
SETTLE_S = {ALONE: 0.8, COPYING: 1.5, READING: 0.8}
"""After a switch: bfq's effect appears after 0.3 s, and beside a copy the device first writes what the setting before it left."""
VISIT_S = {ALONE: 2.0, COPYING: 10.0, READING: 4.0}
"""Beside a copy as long as the kernel's write-back swings: dirty pages gather for seconds before they are written."""
CASE_SHARE = {ALONE: 0.3, COPYING: 1.0, READING: 0.5}
"""Beside a copy times vary two to four times as much."""
LEAD_IN_ROUNDS = 1
"""Not counted: files that were just written lie in memory and in the drive's cache, and the copy begins on an idle device."""
SCHEMA = "seekwise.programs/1"


@dataclass
class Asked:
    results: Path
    folder: Path
    only: Sequence[str]
    modes: Sequence[str]
    piece_s: float
    case_s: float


def counted(rounds: Sequence[dict]) -> Sequence[dict]:
    """The rounds after the lead-in."""
    return rounds[LEAD_IN_ROUNDS:]


def log_ratios(rounds: Sequence[dict], figure: str, setting: str, reference: str) -> list[float]:
    """ln(setting ÷ reference) of each round that has both; above 0 means that the setting is worse."""
    sign = -1.0 if figure in MORE_IS_BETTER else 1.0
    found = []
    for each in counted(rounds):
        values = [each["values"].get(name, {}).get(figure) for name in (setting, reference)]
        if None not in values:
            found.append(sign * math.log(values[0] / values[1]))
    return found


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """(mean, low, high) by the t-distribution, 95 %: rounds are pairs in random order."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, -math.inf, math.inf
    half = special.t_quantile(len(values) - 1, 0.975) * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def half_width(rounds: Sequence[dict], figure: str) -> float:
    """Of the ratio of two schedulers that is known least; as a share."""
    names = sorted({name for each in rounds for name in each["values"]})
    widths = [math.inf]
    if len(counted(rounds)) >= ROUNDS_LEAST:
        pairs = [log_ratios(rounds, figure, a, b) for a in names for b in names if a < b]
        widths = [interval(pair)[2] - interval(pair)[0] for pair in pairs if len(pair) >= ROUNDS_LEAST] or widths
    return math.expm1(max(widths)) if max(widths) < 50 else math.inf


def is_done(case: dict, program: Program, mode: str, case_s: float) -> bool:
    rounds = case["rounds"]
    return (
        half_width(rounds, program.main) <= PRECISION
        or len(rounds) >= ROUNDS_MOST
        or case["seconds"] >= CASE_SHARE[mode] * case_s
    )


def measure(asked: Asked) -> None:
    """One piece; says what is left to do."""
    end = time.monotonic() + asked.piece_s
    target = find(str(asked.folder))
    compared = candidates.of_schedulers(target)
    results = load(asked.results, target)
    for name in asked.only:
        program = PROGRAMS[name]
        if missing := program.missing():
            results["left_out"][name] = f"not installed: {', '.join(missing)}"
            continue
        results["left_out"].pop(name, None)
        cases = {mode: results["cases"].setdefault(f"{name}, {mode}", {"rounds": [], "seconds": 0.0}) for mode in MODES}
        todo = [mode for mode in modes_of(name, asked) if not is_done(cases[mode], program, mode, asked.case_s)]
        if not todo or end - time.monotonic() < PROGRAM_LEAST_S:
            continue
        results["versions"][name] = program.versions()
        try:
            _measured(asked, results, program, cases, todo, target, compared, end)
        except SystemExit as failed:
            say(f"{name}: {failed}")
    say(f"left to do: {', '.join(left(results, asked)) or 'nothing'}; room {room_bytes(asked.folder) >> 30} GiB")
    save(asked.results, results)


def modes_of(name: str, asked: Asked) -> list[str]:
    return list(asked.modes)


def left(results: dict, asked: Asked) -> list[str]:
    nothing: dict = {"rounds": [], "seconds": 0.0}
    return [
        f"{name}, {mode}"
        for name in asked.only
        for mode in modes_of(name, asked)
        if name not in results["left_out"]
        and not is_done(results["cases"].get(f"{name}, {mode}", nothing), PROGRAMS[name], mode, asked.case_s)
    ]


def _measured(asked, results, program, cases, todo, target, compared, end: float) -> None:
    """One program in these modes; everything is restored and removed when it returns, and by the journal's reader if it does not."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(child.watched())
        stack.enter_context(prepared_target.exclusively(target))
        switch = stack.enter_context(switching([each.changes for each in compared.all]))
        held = stack.enter_context(
            scratch(asked.folder, program.room_bytes + (ROOM_BYTES if set(todo) & set(BACKGROUND) else 0))
        )
        # Servers of other users go through the folder by its name.
        held.shown.chmod(0o711)
        home = held.shown / "program"
        home.mkdir()
        began = time.monotonic()
        visit = stack.enter_context(program.prepare(home))
        os.sync()
        visit(1.0)
        say(f"{program.name} prepared in {time.monotonic() - began:.0f} s")
        for mode in todo:
            with contextlib.ExitStack() as background:
                copy = background.enter_context(BACKGROUND[mode](held.shown)) if mode in BACKGROUND else None
                time.sleep(3.0 if copy else 0.0)
                _rounds(asked, results, program, mode, cases[mode], compared, switch, visit, copy, end)
            switch.to_original()


def _rounds(asked, results, program, mode, case, compared, switch, visit: Visit, copy, end: float) -> None:
    longest = 0.0
    while not is_done(case, program, mode, asked.case_s) and time.monotonic() + longest < end:
        begin = time.monotonic()
        case["rounds"].append(_round(compared, switch, visit, mode, copy))
        longest = max(longest, time.monotonic() - begin)
        case["seconds"] += time.monotonic() - begin
        save(asked.results, results)
        _said(program, mode, case)


def _round(compared, switch, visit: Visit, mode: str, copy) -> dict:
    by_label = {each.label: each for each in compared.all}
    order = random.sample(list(by_label), len(by_label))
    values = {}
    for label in order:
        candidate = by_label[label]
        if candidate.in_force:
            switch.to_original()
        else:
            switch.to(candidate.changes)
        time.sleep(SETTLE_S[mode])
        before, begin = (copy.moved() if copy else 0), time.monotonic()
        values[label] = visit(VISIT_S[mode])
        if copy:
            values[label]["copy_mb_per_s"] = (copy.moved() - before) / 1e6 / (time.monotonic() - begin)
    return {
        "order": order,
        "values": {name: {key: float(f"{x:.5g}") for key, x in each.items()} for name, each in values.items()},
    }


def _said(program: Program, mode: str, case: dict) -> None:
    figures = {
        name: statistics.median(
            each["values"][name][program.main] for each in counted(case["rounds"]) or case["rounds"]
        )
        for name in sorted(case["rounds"][0]["values"])
    }
    width = half_width(case["rounds"], program.main)
    said = ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
    say(f"{program.name}, {mode}: {len(case['rounds'])} rounds, ±{100 * width:.3g} %, median {program.main}: {said}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def load(path: Path, target: Target) -> dict:
    """Results so far; those of another disk or kernel are refused, not mixed."""
    host = {
        "kernel": os.uname().release, "processors": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30),
        "stack": list(target.lines[1:]), "filesystem": target.mount.filesystem if target.mount else "",
    }  # fmt: skip
    if path.exists():
        found = json.loads(path.read_text())
        if found["host"] != host:
            raise SystemExit(f"{path} is of another machine or setting: {found['host']}")
        return found
    return {"schema": SCHEMA, "host": host, "versions": {}, "left_out": {}, "cases": {}}


def save(path: Path, results: dict) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(results, indent=None, separators=(",", ":")).replace('{"order"', '\n{"order"') + "\n")
    fresh.replace(path)
