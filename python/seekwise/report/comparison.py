"""Runs set beside each other: what differs, what is alike, what was not measured long enough. Plain data from either kind of run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from seekwise.judge import compare as comparing
from seekwise.judge.candidates import NOT_LONG_ENOUGH
from seekwise.judge.decision.runs import UseChange
from seekwise.judge.rule import more_is_better
from seekwise.report.arrays import load_words
from seekwise.report.layout import columns, joined, wrapped
from seekwise.report.losses import shown_setting
from seekwise.report.metric_words import both_texts, metric_name
from seekwise.store import operations
from seekwise.store.database import IMPORTED, Run
from seekwise.workload.study import combination_key

METRIC_WORDS = {
    "rate": "throughput",
    "access_time": "mean latency",
    "p99": "p99 latency",
    "cpu_efficiency": "CPU efficiency",
}
VALUE_UNITS = {
    "rate": (1e6, "MB/s"),
    "access_time": (1e6, "ms"),
    "p99": (1e6, "ms"),
    "cpu_efficiency": (1.0, "MB/CPU s"),
}
OUTCOMES = ("regression", "improvement", "unconfirmed", "equal", "undecided")
SAID_BEFORE = {"equal": "alike", "undecided": NOT_LONG_ENOUGH, "unconfirmed": "not confirmed"}
"""Before the interval of a row that shows no difference for certain."""
NOT_INTERLEAVED = "The runs were not interleaved: something else may have changed between them."


@dataclass(frozen=True)
class ChangeRow:
    """One metric of one use or combination under one setting: new / base with its 90 % interval."""

    where: str
    setting: str
    metric: str
    more_is_better: bool
    ratio: float
    low: float
    high: float
    outcome: str
    """One of OUTCOMES; of `undecided` people read "not measured long enough"."""
    before: str = ""
    """Values of both runs with their unit; empty where they are not known."""
    after: str = ""

    @property
    def gain_log(self) -> float:
        """Above zero when the new run is better."""
        if not math.isfinite(self.ratio) or self.ratio <= 0:
            return 0.0
        return math.log(self.ratio) * (1 if self.more_is_better else -1)

    @property
    def words(self) -> str:
        """`+12 % (+9 % to +15 %)`, `alike: …`, `not measured long enough: …`, `not confirmed: …`."""
        word = SAID_BEFORE.get(self.outcome)
        return f"{word}: {self.span}" if word and self.is_known else self.span

    @property
    def is_known(self) -> bool:
        """There is an interval."""
        return all(math.isfinite(value) and value > 0 for value in (self.ratio, self.low, self.high))

    @property
    def span(self) -> str:
        """`+12 % (+9 % to +15 %)`; of what is alike or little known the interval alone."""
        if not self.is_known:
            return NOT_LONG_ENOUGH
        ends = f"{change(self.low)} to {change(self.high)}"
        return ends if self.outcome in ("equal", "undecided") else f"{change(self.ratio)} ({ends})"


def change(ratio: float) -> str:
    """`+12 %`, `−3 %`, `2.4 times`."""
    if ratio >= 2:
        return f"{ratio:.2g} times"
    if ratio <= 0.5:
        return f"1/{1 / ratio:.2g}"
    percent = 100 * (ratio - 1)
    text = f"{percent:+.2g}" if abs(percent) < 9.95 else f"{percent:+.0f}"
    return f"{text.replace('-', chr(0x2212))} %"


@dataclass(frozen=True)
class Pairing:
    """One run against the first one."""

    base: Run
    new: Run
    rows: tuple[ChangeRow, ...] = ()
    notes: tuple[str, ...] = ()
    agreement: tuple[comparing.Agreement, ...] = ()
    """Of runs of different backends, in place of verdicts."""
    pairs: tuple[comparing.ValuePair, ...] = field(default=())
    pairs_of_runs: int = 1
    """How many pairs of runs were compared, this the newest."""
    is_prediction: bool = False
    """Runs of different backends: how well one predicts the other."""
    note: str = NOT_INTERLEAVED
    """What else may have made the difference."""
    document: Any = None
    """What `--json` prints."""

    def of(self, outcome: str) -> list[ChangeRow]:
        """Rows of that outcome, the greatest difference first."""
        return sorted((row for row in self.rows if row.outcome == outcome), key=lambda row: -abs(row.gain_log))

    @property
    def rest(self) -> str:
        """How much does not differ: `13 are alike, 3 were not measured long enough`."""
        alike, unknown = len(self.of("equal")), len(self.of("undecided"))
        parts = [f"{alike} {'is' if alike == 1 else 'are'} alike"]
        if unknown:
            parts.append(f"{unknown} {'was' if unknown == 1 else 'were'} {NOT_LONG_ENOUGH}")
        return ", ".join(parts)

    @property
    def headline(self) -> str:
        """The whole comparison in one sentence."""
        names = name_of(self.new), name_of(self.base)
        if self.is_prediction and not self.agreement:
            return "These runs have no figure in common."
        if self.agreement:
            first = self.agreement[0]
            metric = METRIC_WORDS.get(first.metric, first.metric)
            text = f"{names[0]} predicts {names[1]} with a median error of {100 * first.median_error:.1f} % in {metric}"
            if first.same_best_of:
                text += f" and names the same best setting in {first.same_best} of {first.same_best_of} cases"
            return f"{text}."
        worse, better = self.of("regression"), self.of("improvement")
        if not worse and not better and (once := self.of("unconfirmed")):
            shown = (
                "one pair of runs shows"
                if self.pairs_of_runs == 1
                else f"not all of {self.pairs_of_runs} pairs of runs show"
            )
            return f"{names[0]} against {names[1]}: not confirmed; {shown} {len(once)} differences of {len(self.rows)} comparisons (most: {_most(once[0])})."
        if not worse and not better:
            return f"{names[0]} against {names[1]}: no difference; of {len(self.rows)} comparisons {self.rest}."
        parts = []
        of = f" of {len(self.rows)} comparisons"
        for word, group in (("worse", worse), ("better", better)):
            if group:
                parts.append(f"{word} in {len(group)}{of} (most: {_most(group[0])})")
                of = ""
        by = f"; shown by {self.pairs_of_runs} pairs of runs" if self.pairs_of_runs > 1 else ""
        return f"{names[0]} against {names[1]}: {' and '.join(parts)}{by}."


def _most(row: ChangeRow) -> str:
    """`database, p99 latency 3.1 → 2.2 ms, −29 %`."""
    number, _, unit = row.before.partition(" ")
    values = f" {number if unit and row.after.endswith(unit) else row.before} → {row.after}," if row.after else ""
    return f"{row.where}, {row.metric}{values} {change(row.ratio)}"


LINES_MOST = 25
"""Of everything on a terminal."""


def lines(pairing: Pairing, width: int = 80, *, everything: bool = False) -> list[str]:
    """The comparison for a terminal: the headline, then what differs with the values of both runs, then how much does not."""
    names = name_of(pairing.base), name_of(pairing.new)
    said = [*wrapped(pairing.headline, width), *wrapped(pairing.note, width)]
    if pairing.of("unconfirmed") and pairing.pairs_of_runs == 1:
        said += wrapped(_how_to_confirm(pairing), width)
    shown = [
        row
        for outcome in OUTCOMES
        if everything or outcome not in ("equal", "undecided")
        for row in pairing.of(outcome)
    ]
    settings = {row.setting for row in pairing.rows}
    body = [
        [
            f"{row.where}, {row.setting}" if len(settings) > 1 else row.where,
            row.metric,
            joined(row.before or "–"),
            joined(row.after or "–"),
            row.words if everything else row.span,
        ]
        for row in shown
    ]
    blocks = columns(["Use", "Figure", *names, "Change (90 %)"], body, width) if body else []
    room = 10**6 if everything else LINES_MOST - len(said) - 4
    if blocks:
        said.append("")
    for number, block in enumerate(blocks):
        if room < len(block):
            said.append(f"… and {len(blocks) - number} more with --all")
            break
        said += block
        room -= len(block)
    # Where nothing differs the headline has said so.
    if not shown:
        return said
    return [*said, "", f"Of the {len(pairing.rows)} comparisons {pairing.rest}."]


def _how_to_confirm(pairing: Pairing) -> str:
    """What makes a second pair of runs."""
    if pairing.base.given_name is None or pairing.new.given_name is None:
        return "To confirm, measure twice before and twice after, with --name before and --name after, and compare the names."
    base, new = pairing.base.given_name, pairing.new.given_name
    if pairing.base.backend == IMPORTED:
        return (
            f"To confirm, measure again, import that under the same names ({base}, {new}), and compare the names again."
        )
    command = f"run {pairing.base.study_name}" if pairing.base.plan.get("study") else "tune"
    return f"To confirm, repeat both: seekwise {command} … --name {base}, then --name {new}."


def name_of(run: Run) -> str:
    """What `--name` said, else the id."""
    return run.given_name or run.run_id


def of_live(found: Sequence[UseChange]) -> tuple[ChangeRow, ...]:
    """Rows of two live-switched runs."""
    return tuple(
        ChangeRow(
            each.use,
            each.setting,
            metric_name(each.metric),
            each.more_is_better,
            each.ratio,
            each.low,
            each.high,
            "equal" if each.outcome == "same" else each.outcome,
            *both_texts(each.before, each.after, each.unit),
        )
        for each in found
    )


def of_studies(found: comparing.Comparison, pairs: Sequence[comparing.ValuePair] = ()) -> tuple[ChangeRow, ...]:
    """Rows of two runs of one study; `pairs`: the values of both."""
    values = {(each.metric, each.combination, each.setting): each for each in pairs}

    def texts(each: comparing.Change) -> tuple[str, str]:
        pair = values.get((each.verdict.metric, each.combination, each.setting))
        scale, unit = VALUE_UNITS.get(each.verdict.metric, (1.0, ""))
        return both_texts(pair.base / scale, pair.new / scale, unit) if pair else ("", "")

    return tuple(
        ChangeRow(
            combination_words(each.combination),
            shown_setting(each.setting),
            METRIC_WORDS.get(each.verdict.metric, each.verdict.metric),
            more_is_better(each.verdict.metric),
            each.verdict.ratio,
            each.verdict.ratio_low,
            each.verdict.ratio_high,
            "equal" if each.outcome in ("tie", "small") else each.outcome,
            *texts(each),
        )
        for each in found.changes
    )


def combination_words(combination: str) -> str:
    """`seq_read system=disk threads=8` as `sequential read, 8 threads`."""
    operation, _ = combination_key.parse(combination)
    words = load_words(combination)
    name = operations.name(operation).lower()
    return f"{name}, {words}" if words else name
