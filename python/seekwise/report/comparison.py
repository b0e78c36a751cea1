"""Runs set beside each other: what differs, what does not differ, what was not measured long enough. Plain data from
either kind of run."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seekwise.judge.arrays import load_words
from seekwise.judge.decision.runs import UseChange
from seekwise.judge.decision.verdicts import Judged
from seekwise.number_text import TIMES_FROM, change, factor_text, signed, span
from seekwise.report.layout import common_parts, own_parts, wrapped
from seekwise.report.metric_words import METRIC_NAMES, both_texts, metric_name, shown_setting
from seekwise.store import operations
from seekwise.store.database import IMPORTED, Run
from seekwise.workload.study import combination_key
from seekwise.workload.study.quantity import counted

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
    verdict: str
    """Of the new run: better, worse, same, unknown, or unconfirmed."""
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
        """`+12 % (+9 to +15 %)`, `no difference worth naming: …`, `not measured long enough: …`, `not confirmed: …`."""
        word = {
            "same": "no difference worth naming: ",
            "unknown": "not measured long enough: ",
            "unconfirmed": "not confirmed: ",
        }.get(self.verdict, "")
        return f"{word if self.is_known else ''}{self.span}"

    @property
    def is_known(self) -> bool:
        """There is an interval."""
        return all(math.isfinite(value) and value > 0 for value in (self.ratio, self.low, self.high))

    @property
    def span(self) -> str:
        """`+12 % (+9 to +15 %)`, `2 times (1.07 to 3.8)`; of what does not differ or is little known the interval
        alone."""
        if not self.is_known:
            return "not measured long enough"
        if self.verdict in ("same", "unknown"):
            return span(self.low, self.high)
        if self.high >= TIMES_FROM or self.low <= 1 / TIMES_FROM:
            # One unit for all three: a factor beside per cent reads like two statements.
            ends = f"{factor_text(self.low)} to {factor_text(self.high)}"
            return f"{factor_text(self.ratio)} times ({ends})"
        return f"{signed(self.ratio)} % ({span(self.low, self.high)})"


@dataclass(frozen=True)
class Pairing:
    """One run against the first one."""

    base: Run
    new: Run
    rows: tuple[ChangeRow, ...] = ()
    notes: tuple[str, ...] = ()
    pairs_of_runs: int = 1
    """How many pairs of runs were compared, this the newest."""
    note: str = NOT_INTERLEAVED
    """What else may have made the difference."""
    document: Any = None
    """What `--json` prints."""

    def of(self, verdict: str) -> list[ChangeRow]:
        """Rows of that verdict, the greatest difference first."""
        return sorted((row for row in self.rows if row.verdict == verdict), key=lambda row: -abs(row.gain_log))

    @property
    def headline(self) -> str:
        """The whole comparison in one sentence."""
        names = name_of(self.new), name_of(self.base)
        worse, better = self.of("worse"), self.of("better")
        equal, unknown = len(self.of("same")), len(self.of("unknown"))
        if not worse and not better and (once := self.of("unconfirmed")):
            shown = (
                "one pair of runs shows"
                if self.pairs_of_runs == 1
                else f"not all of {self.pairs_of_runs} pairs of runs show"
            )
            return f"{names[0]} against {names[1]}: not confirmed; {shown} {counted(len(once), 'difference')} in {len(self.rows)} figures (most: {_most(once[0])})."
        if not worse and not better:
            known = f"{equal} of {len(self.rows)} figures are the same within the threshold"
            rest = f"{unknown} {'was' if unknown == 1 else 'were'} not measured long enough to say"
            said = [known] if equal or not unknown else []
            said += [rest if equal else f"all {rest}"] if unknown else []
            return f"{names[0]} against {names[1]}: no difference shown; {'; '.join(said)}."
        parts = []
        of = f" of {len(self.rows)} figures"
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
SECTIONS = {
    "worse": "Worse",
    "better": "Better",
    "unconfirmed": "Not confirmed",
    "unknown": "Not measured long enough",
    "same": "No difference worth naming",
}
SUBJECT_LEAST = 22
HEAD_LONGEST = 14


def lines(pairing: Pairing, width: int = 80, *, everything: bool = False) -> list[str]:
    """The comparison for a terminal: the headline, then what differs with the values of both runs, then how much does
    not.

    Where nothing differs, what the runs cannot exclude.
    """
    said = [*wrapped(pairing.headline, width), *wrapped(pairing.note, width)]
    if pairing.of("unconfirmed") and pairing.pairs_of_runs == 1:
        said += wrapped(_how_to_confirm(pairing), width)
    differs = [verdict for verdict in ("worse", "better", "unconfirmed") if pairing.of(verdict)]
    shown = [section for section in SECTIONS if pairing.of(section)] if everything else differs or ["unknown"]
    room = 10**6 if everything else LINES_MOST - len(said) - 4
    for verdict in shown:
        blocks = _section(pairing, verdict, width)
        if blocks:
            said.append("")
        for number, block in enumerate(blocks):
            if room < len(block):
                said.append(f"… and {len(blocks) - number} more with --all")
                break
            said += block
            room -= len(block)
    left = [
        f"{SECTIONS[verdict]}: {counted(len(pairing.of(verdict)), 'figure')}"
        for verdict in ("same", "unknown")
        if verdict not in shown and pairing.of(verdict)
    ]
    common = common_parts([row.where for row in pairing.rows])
    below = [f"Each: {', '.join(common)}."] if common else []
    below += [f"{'. '.join(left)} (--all)."] if left else []
    return [*said, *(["", *(line for text in below for line in wrapped(text, width))] if below else [])]


def _section(pairing: Pairing, verdict: str, width: int) -> list[list[str]]:
    """Lines of each row of one verdict, the head first; the subject gives way by wrapping, never the values."""
    rows = pairing.of(verdict)
    if not rows:
        return []
    names = _head(pairing.base), _head(pairing.new)
    several = len({row.setting for row in pairing.rows}) > 1
    values = [[row.before or "–", row.after or "–", row.span] for row in rows]
    common = common_parts([row.where for row in pairing.rows])
    subjects = [
        ", ".join([own_parts(row.where, common), row.metric, *([row.setting] if several else [])]) for row in rows
    ]
    heads = [*names, "change (90 %)"]
    sizes = [max(map(len, column)) for column in zip(heads, *values, strict=True)]
    room = max(SUBJECT_LEAST, width - sum(sizes) - 2 * len(sizes))
    room = min(room, max(map(len, [SECTIONS[verdict], *subjects])))
    blocks = []
    for subject, cells in zip([SECTIONS[verdict], *subjects], [heads, *values], strict=True):
        first, *more = textwrap.wrap(subject, room, subsequent_indent="  ", break_on_hyphens=False) or [""]
        row = "  ".join([first.ljust(room), *(cell.ljust(size) for cell, size in zip(cells, sizes, strict=True))])
        blocks.append([row.rstrip(), *more])
    return blocks


def _head(run: Run) -> str:
    """A run's name above its column; of an id its end, which the headline has whole."""
    name = run.given_name or run.run_id.partition("-")[2] or run.run_id
    return name if len(name) <= HEAD_LONGEST else f"{name[: HEAD_LONGEST - 1]}…"


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


def rows_of(changes: Sequence[UseChange], uses: Sequence[Judged] = ()) -> tuple[ChangeRow, ...]:
    """Rows of two runs. `uses`: as runs of `tune` themselves say what is measured; of a study its combinations are."""
    names = {(judged.use, judged.metric): metric_name(judged) for judged in uses}
    return tuple(_row(change, names.get((change.use, change.metric))) for change in changes)


def _row(change: UseChange, name: str | None) -> ChangeRow:
    return ChangeRow(
        combination_words(change.use) if name is None else change.use,
        shown_setting(change.setting),
        name or METRIC_NAMES.get(change.metric, change.metric),
        change.more_is_better,
        change.ratio,
        change.low,
        change.high,
        change.verdict,
        *both_texts(change.before, change.after, change.unit),
    )


def combination_words(combination: str) -> str:
    """`seq_read system=disk threads=8` as `sequential read, 8 threads`."""
    operation, _ = combination_key.parse(combination)
    words = load_words(combination)
    name = operations.name(operation).lower()
    return f"{name}, {words}" if words else name
