"""The page in Markdown, made from the results alone."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path

from real_programs import compare
from real_programs.loads import PROGRAMS
from real_programs.rounds import BACKGROUND, COPYING, MODES, READING, counted, half_width

DURING = {COPYING: "during cp", READING: "during cat"}
HEAD = """# Statements of tune and what programs did

What `tune` states of its uses, compared with real programs that no use contains.

    python benches/programs.py page --results benches/results/programs.json $(printf -- '--stated %s ' benches/results/tune2-11-*.json)

Every program runs under every scheduler, in random order within each round, alone and while `cp` copies files of 4 GiB that are not in memory. What a program reads is dropped from memory before each visit, except for the
databases, whose clients keep running. Rounds are added until each ratio of two schedulers is known to ±5 %, or until the program's time is over; *known to* says how far it is known. Figures are medians over
the rounds after the first; intervals are 95 %, of ratios within rounds.
"""
EXPLAINED = """A statement is the ratio to the setting in force. It is **contradicted** where its interval (90 %) and the real one lie further apart than the use's
threshold, *overstated* where the named difference is more than twice the real one (a real one below the threshold counts as the threshold), and useful where
it names a difference or bounds it.
"""


def text(results_file: Path, stated_files: Sequence[Path], history: Path | None = None) -> str:
    results = json.loads(results_file.read_text())
    stated = [(path.stem, json.loads(path.read_text())) for path in stated_files]
    found = [(name, compare.lines(results, each)) for name, each in stated]
    main = {name: program.main for name, program in PROGRAMS.items()}
    advised = [(name, compare.advice(results, each, main)) for name, each in stated]
    left_out = [f"- {PROGRAMS[name].title}: {why}" for name, why in results["left_out"].items()]
    text = "\n".join([
        HEAD, *_host(results), "## Measured", "", *(_measured(results, mode) for mode in MODES if _known(results, mode)),
        *(["Left out:", "", *left_out, ""] if left_out else []),
        *_foretold([(name, compare.foretold(results, each, main)) for name, each in stated]),
        *(["## Stated and real", "", EXPLAINED, *_summary(found), *_told(found)] if any(lines for _, lines in found) else []),
        "## Advice and programs", "", *_advised(advised),
        *([history.read_text().rstrip(), ""] if history is not None else []),
    ])  # fmt: skip
    for mode, words in DURING.items():
        text = text.replace(mode, words)
    return text


def _foretold(found: Sequence[tuple[str, Sequence[compare.Foretold]]]) -> list[str]:
    """Of programs that no spread was set from: how many lie in the ranges of nine of ten."""
    lines = [
        "| Run | Kind | Next to | programs × settings | inside | surely outside | beyond by more than 10 % |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, all_of_run in found:
        mine = [each for each in all_of_run if each.case.split(", ")[0] in compare.HELD_OUT]
        about = [(each.kind, each.case.split(", ")[1]) for each in mine]
        for key in (*dict.fromkeys(about), None):
            own = [each for each, of in zip(mine, about, strict=True) if key in (None, of)]
            if own:
                kind, mode = key or ("all", "")
                inside, far = sum(each.is_inside for each in own), sum(each.is_far_off for each in own)
                sure = sum(each.is_surely_outside for each in own)
                share = f"{100 * inside / len(own):.0f} %"
                background = compare.BACKGROUNDS.get(mode, "")
                lines.append(f"| {name} | {kind} | {background} | {len(own)} | {share} | {sure} | {far} |")
    return ["## The next program", "", *lines, ""] if len(lines) > 2 else []


def _host(results: dict) -> list[str]:
    host = results["host"]
    stack = "; ".join(line.strip() for line in host["stack"])
    return [
        f"Host: Linux {host['kernel']}, {host['processors']} processors, {host['memory_gib']} GiB, {host['filesystem']} on {stack}.",
        "",
        "Programs: " + "; ".join(results["versions"].values()) + ".",
        "",
    ]


def _known(results: dict, mode: str) -> bool:
    return any(counted(results["cases"].get(f"{name}, {mode}", {}).get("rounds", [])) for name in PROGRAMS)


def _measured(results: dict, mode: str) -> str:
    schedulers = sorted(
        {name for case in results["cases"].values() for each in case["rounds"] for name in each["values"]}
    )
    heads = ["Program, " + mode, *schedulers, "known to", "rounds"]
    if mode in BACKGROUND:
        heads.append(f"`{mode.split()[-1]}`, MB/s")
    rows = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name, program in PROGRAMS.items():
        rounds = results["cases"].get(f"{name}, {mode}", {}).get("rounds", [])
        if not counted(rounds):
            continue
        figures = [_number(_median(rounds, label, program.main)) for label in schedulers]
        width = half_width(rounds, program.main)
        unit = f"s per {program.unit}" if program.main == "time" else f"{program.unit}s per second"
        words = [
            f"{program.title}: {unit}",
            *figures,
            f"±{100 * width:.2g} %" if width < 10 else "–",
            str(len(counted(rounds))),
        ]
        if mode in BACKGROUND:
            words.append(" · ".join(_number(_median(rounds, label, "copy_mb_per_s")) for label in schedulers))
        rows.append("| " + " | ".join(words) + " |")
    return "\n".join([*rows, ""])


def _median(rounds: Sequence[dict], label: str, figure: str) -> float:
    return statistics.median(each["values"][label][figure] for each in counted(rounds))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _summary(found: Sequence[tuple[str, Sequence[compare.Line]]]) -> list[str]:
    rows = ["| Run | Statements | Useful | Contradicted | Overstated |", "|---|---|---|---|---|"]
    for name, lines in found:
        wrong, over = sum(each.contradicted for each in lines), sum(each.overstated for each in lines)
        rows.append(f"| {name} | {len(lines)} | {sum(each.is_useful for each in lines)} | {wrong} | {over} |")
    return [*rows, ""]


def _told(found: Sequence[tuple[str, Sequence[compare.Line]]]) -> list[str]:
    """The statements that name a difference, or are wrong."""
    rows = ["| Run | Program | Nearest use | Setting against | Stated | Real | |", "|---|---|---|---|---|---|---|"]
    total = 0
    for name, lines in found:
        for each in lines:
            if not (each.verdict in ("better", "worse") or each.contradicted or each.overstated):
                continue
            total += 1
            marks = (("**contradicted**", each.contradicted), ("overstated", each.overstated))
            wrong = [word for word, is_so in marks if is_so]
            stated = _interval(each.kind, each.stated, each.stated_low, each.stated_high)
            real = _interval(each.kind, each.real, each.real_low, each.real_high)
            rows.append(
                f"| {name} | {each.case} | {each.use}: {each.metric} | {each.setting} against {each.base} | {stated} | {real} "
                f"| {', '.join(wrong)} |"
            )
    others = sum(len(lines) for _, lines in found) - total
    return [*rows, "", f"The other {others} statements name no difference, and none of them is contradicted.", ""]


def _advised(found: Sequence[tuple[str, Sequence[compare.AdviceLine]]]) -> list[str]:
    rows: dict[str, list[str]] = {}
    for name, lines in found:
        for each in lines:
            lost = f"{_percent(each.lost)} ({_percent(each.low)} to {_percent(each.high)})"
            mark = "within 5 %" if each.is_good else ""
            row = f"{each.case} | {each.purpose} | {each.setting} | {each.best} | {lost} | {mark} |"
            rows.setdefault(row, []).append(name)
    head = ["| Runs | Program | Purpose | Advised | Best there | Lost (95 %) | |", "|---|---|---|---|---|---|---|"]
    runs = [name for name, _ in found]
    return [*head, *(f"| {'all' if names == runs else ', '.join(names)} | {row}" for row, names in rows.items()), ""]


def _percent(log: float) -> str:
    return f"{100 * math.expm1(log):.0f} %"


def _interval(kind: str, *logs: float) -> str:
    ratio, first, last = (compare.ratio_of(log, kind) for log in logs)
    low, high = sorted((first, last))
    return f"{ratio:.2f} ({low:.2f} to {high:.2f})"
