"""The page in Markdown, made from the results alone."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path

from real_programs import compare
from real_programs.loads import PROGRAMS
from real_programs.rounds import BACKGROUND, COPYING, MODES, READING, counted, half_width

DURING = {COPYING: "during cp", READING: "during cat"}
HEAD = """# Statements of tune and what programs did

What `tune` states of its uses, compared with real programs that no use contains.

    python benches/programs.py page --results benches/results/programs.json --stated benches/results/tune5-3.json

Every program runs under every scheduler, in random order within each round, alone and while `cp` copies files of 4 GiB that are not in memory. What a program reads is dropped from memory before each visit, except for the
databases, whose clients keep running. Rounds are added until each ratio of two schedulers is known to ±5 %, or until the program's time is over; *known to* says how far it is known. Figures are medians over
the rounds after the first; intervals are 95 %, of ratios within rounds.
"""
EXPLAINED = """A loss is against the setting that the use names as its best. A statement is **contradicted** where its interval and the real one lie further apart than the use's
threshold, and *overstated* where the stated loss is more than twice the real one (a real loss below the threshold counts as the threshold).
"""


def text(results_file: Path, stated_files: Sequence[Path], history: Path | None = None) -> str:
    results = json.loads(results_file.read_text())
    found = [(path.stem, compare.lines(results, json.loads(path.read_text()))) for path in stated_files]
    left_out = [f"- {PROGRAMS[name].title}: {why}" for name, why in results["left_out"].items()]
    text = "\n".join([
        HEAD, *_host(results), "## Measured", "", *(_measured(results, mode) for mode in MODES if _known(results, mode)),
        *(["Left out:", "", *left_out, ""] if left_out else []),
        "## Stated and real", "", EXPLAINED, *_summary(found), *_told(found),
        *([history.read_text().rstrip(), ""] if history is not None else []),
    ])  # fmt: skip
    for mode, words in DURING.items():
        text = text.replace(mode, words)
    return text


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
    rows = ["| Run | Statements | Contradicted | Stated loss more than twice the real one |", "|---|---|---|---|"]
    for name, lines in found:
        wrong, over = sum(each.contradicted for each in lines), sum(each.overstated for each in lines)
        share = f" ({100 * wrong / len(lines):.0f} %)" if lines else ""
        rows.append(f"| {name} | {len(lines)} | {wrong}{share} | {over} |")
    return [*rows, ""]


def _told(found: Sequence[tuple[str, Sequence[compare.Line]]]) -> list[str]:
    """The statements that name a difference, or are wrong."""
    rows = [
        "| Run | Program | Nearest use | Setting against | Stated loss | Real loss | |",
        "|---|---|---|---|---|---|---|",
    ]
    total = 0
    for name, lines in found:
        for each in lines:
            if not (each.verdict == "worse" or each.contradicted or each.overstated):
                continue
            total += 1
            high = None if each.stated_high is None else compare.share_of(each.stated_high, each.kind)
            stated = _interval(each.kind, each.stated, each.stated_low, high)
            real = _interval(each.kind, each.real, each.real_low, compare.share_of(each.real_high, each.kind))
            marks = (("**contradicted**", each.contradicted), ("overstated", each.overstated))
            wrong = [word for word, is_so in marks if is_so]
            rows.append(
                f"| {name} | {each.case} | {each.use}: {each.metric} | {each.setting} against {each.best} | {stated} | {real} "
                f"| {', '.join(wrong)} |"
            )
    others = sum(len(lines) for _, lines in found) - total
    return [*rows, "", f"The other {others} statements name no difference, and none of them is contradicted.", ""]


def _interval(kind: str, estimate: float, low: float, high: float | None) -> str:
    ends = f"{100 * compare.share_of(low, kind):.0f} to " + ("any" if high is None else f"{100 * high:.0f}")
    return f"{100 * compare.share_of(estimate, kind):.0f} % ({ends})"
