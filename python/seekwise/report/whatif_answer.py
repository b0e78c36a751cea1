"""The answer to "what if": a recorded load on other storage, in words and as a table. The command and every later
output of its run say the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest

from seekwise.judge.predicted import (
    OPEN_MOST,
    OPEN_P99,
    TIE,
    Recorded,
    WhatIfRow,
    as_good,
    carries,
    ranked,
    recorded,
    rows,
)
from seekwise.number_text import by, listed
from seekwise.report.content import Advice, QuestionTable
from seekwise.store.record import Record
from seekwise.trace.load import FOREGROUND
from seekwise.workload.study.quantity import latency_text

ROWS_SHOWN = 8
GROUPS_SHOWN = 3
NAMED_MOST = 3
REQUESTS_LEAST = 20
"""Fewer have no rate."""
HEADS = ("setting", "p50", "p99", "MB/s", "IOPS", "time")


def sentence(order: Sequence[WhatIfRow], load: Recorded | None) -> str:
    """The answer: the best storage against the recording, and what cannot carry the load."""
    best, ties = order[0], as_good(order, load)
    behind = [row for row in order if not carries(row, load)]
    if load is not None and len(behind) == len(order):
        rates = listed(f"{row.setting} does {_number(row.iops)}" for row in order[:NAMED_MOST])
        whom = "It cannot" if len(order) == 1 else f"None of the {len(order)} can"
        return f"{whom} carry this load of {_number(load.iops)} requests/s: {rates}."
    able = [row for row in order if carries(row, load)]
    against = _against(best, load)
    if len(order) == 1:
        return f"With {best.setting} the foreground's p99 would be {latency_text(best.p99_ns)}{against}."
    if len(ties) == len(able) and len(able) > 1:
        said = f"No setting stands out: {'all' if not behind else 'the other'} {len(able)} are within 5 % in p99 and rate; p99 {latency_text(best.p99_ns)}{against}."
    else:
        names = " or ".join(row.setting for row in ties[:NAMED_MOST]) + (" …" if len(ties) > NAMED_MOST else "")
        said = f"Best: {names}, p99 {latency_text(best.p99_ns)}{against}."
        slowest = max(able, key=lambda row: row.p99_ns)
        if slowest not in ties:
            said += f" Longest: {slowest.setting}, {latency_text(slowest.p99_ns)}."
    if behind and load is not None:
        least = behind[-1]
        names = listed(row.setting for row in behind[:NAMED_MOST]) + (" …" if len(behind) > NAMED_MOST else "")
        said += f" {names} cannot carry this load ({_number(least.iops)} of {_number(load.iops)} requests/s)."
    return said


def _against(best: WhatIfRow, load: Recorded | None) -> str:
    """How that compares with the recording: its p99, and where requests wait for each other the time for the same
    work."""
    if load is None or not load.p99_ns:
        return ""
    ratio = best.p99_ns / load.p99_ns
    word = "longer" if ratio > 1 else "shorter"
    said = (
        ", as recorded" if _is_alike(ratio) else f", {by(max(ratio, 1 / ratio), word, of_rate=ratio < 1)} than recorded"
    )
    said += f" ({latency_text(load.p99_ns)})"
    if load.open_share < OPEN_MOST and not _is_alike(best.elapsed_s / load.elapsed_s):
        said += f"; the same work takes {seconds(best.elapsed_s)}, recorded {seconds(load.elapsed_s)}"
    return said


def _is_alike(ratio: float) -> bool:
    return 1 / (1 + TIE) < ratio < 1 + TIE


def table_of(records: Sequence[Record]) -> QuestionTable | None:
    """The recording, the foreground of each setting, then with the best one each group of programs where there are
    several; None for any other run."""
    if not is_of(records):
        return None
    found, load, opened = rows(records), recorded(records), open_p99(records)
    order = ranked(found, list(dict.fromkeys(record.setting for record in records)), load)
    if not order:
        return None
    shown = [] if load is None else [("as recorded", _values(load))]
    shown += [(row.setting, _values(row, is_behind=not carries(row, load))) for row in order]
    brief = [*range(len(shown))[: ROWS_SHOWN + 1]]
    programs = [name for name in dict.fromkeys(name for _, name in found) if name != FOREGROUND]
    if len(programs) > 1:
        own = [(name, found[order[0].setting, name]) for name in programs if (order[0].setting, name) in found]
        brief += range(len(shown), len(shown) + min(len(own), GROUPS_SHOWN))
        shown += [(f"{order[0].setting}: {name}", _values(row)) for name, row in own]
    body = [[name, *(text(value) for text, value in zip(TEXTS, values, strict=True))] for name, values in shown]
    if opened:
        names = [*(["as recorded"] if load is not None else []), *(row.setting for row in order)]
        tails = [latency_text(opened[name]) if name in opened else "–" for name in names]
        body = [[*cells, tail] for cells, tail in zip_longest(body, tails, fillvalue="–")]
    columns = dict(enumerate(zip(*(values for _, values in shown), strict=True), start=1))
    caption = "open p99: with every request at its recorded time, whatever it waited for." if opened else ""
    return QuestionTable([*HEADS, *(["open p99"] if opened else [])], body, caption, tuple(brief), columns)


def _values(row: WhatIfRow | Recorded, *, is_behind: bool = False) -> tuple[float, ...]:
    """By column, 0 for what is not known: a few requests have no rate; a queue that only grows has no latency worth a
    number."""
    latencies = (math.inf, math.inf) if is_behind else (row.p50_ns or 0.0, row.p99_ns or 0.0)
    if isinstance(row, WhatIfRow) and row.requests < REQUESTS_LEAST:
        return (*latencies, 0.0, 0.0, 0.0)
    return (*latencies, row.rate_bytes_per_s / 1e6, row.iops, row.elapsed_s)


def _latency(ns: float) -> str:
    return "–" if not ns else "grows" if math.isinf(ns) else latency_text(ns)


def seconds(value: float) -> str:
    """`4.2 s`, `12 m`."""
    return "–" if not value else f"{value:.3g} s" if value < 600 else f"{value / 60:.3g} min"


def _number(value: float) -> str:
    return "–" if not value else f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


TEXTS = (_latency, _latency, _number, _number, seconds)
"""What prints a value of each column but the first."""


def is_of(records: Sequence[Record]) -> bool:
    """Whether they are of a run of `whatif`."""
    return any("program" in record.load for record in records)


def open_p99(records: Sequence[Record]) -> dict[str, float]:
    """{setting: p99 of the foreground, replayed at recorded times}; empty where the run had none (`--open`)."""
    front = [record for record in records if record.load["program"] == FOREGROUND]
    return {record.setting: float(record.load[OPEN_P99]) for record in front if OPEN_P99 in record.load}


def advice(records: Sequence[Record], labels: Sequence[str], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a stored run of `whatif`; None for any other run."""
    if not is_of(records):
        return None
    load = recorded(records)
    order = ranked(rows(records), labels, load)
    if not order:
        return None
    named = tuple(row.setting for row in as_good(order, load)) if len(order) > 1 else ()
    waits = () if load is None else (_waits_text(load.open_share),)
    return Advice(sentence(order, load), waits, caution=cautions, recommended=named if len(named) < len(order) else ())


def _waits_text(open_share: float) -> str:
    """How the requests come: what hangs on the storage and what does not."""
    return (
        f"{100 * (1 - open_share):.0f} % of the requests wait for earlier ones, here as in the recording; "
        f"{100 * open_share:.0f} % come at their times"
    )
