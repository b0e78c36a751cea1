"""The answer to "what if": a recorded load on other storage, in words. The command and every later output of its run say the same."""

from __future__ import annotations

from collections.abc import Sequence

from seekwise.judge.predicted import WhatIfRow, as_good, ranked, rows
from seekwise.number_text import factor_text
from seekwise.report.content import Advice
from seekwise.store.record import Record
from seekwise.trace.load import RECORDED_P99


def sentence(order: Sequence[WhatIfRow], recorded_p99_ns: float | None) -> str:
    """The answer."""
    best, ties = order[0], as_good(order)
    if len(order) == 1:
        text = f"With {best.setting} the foreground's p99 would be {time_word(best.p99_ns)}"
        if recorded_p99_ns:
            text += f", {_times(recorded_p99_ns, best.p99_ns)} the recorded {time_word(recorded_p99_ns)}"
        return text + "."
    worst = max(order, key=lambda row: row.p99_ns)
    if len(ties) == len(order):
        return f"No setting stands out: all {len(order)} are within 5 % in p99 and rate."
    names = " or ".join(row.setting for row in ties[:3]) + (" …" if len(ties) > 3 else "")
    return f"Best: {names}. p99 {time_word(best.p99_ns)}, {factor_text(worst.p99_ns / max(best.p99_ns, 1))} times shorter than {worst.setting}."


def _times(old: float, new: float) -> str:
    ratio = new / max(old, 1)
    return (
        f"{factor_text(1 / ratio)} times shorter than"
        if ratio < 0.97
        else f"{factor_text(ratio)} times"
        if ratio > 1.03
        else "as long as"
    )


def time_word(ns: float) -> str:
    """Nanoseconds as `85 µs`, `12.3 ms` or `1.2 s`."""
    if ns < 999.5e3:
        return f"{ns / 1e3:.3g} µs"
    return f"{ns / 1e6:.3g} ms" if ns < 999.5e6 else f"{ns / 1e9:.3g} s"


def advice(records: Sequence[Record], labels: Sequence[str], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a stored run of `whatif`; None for any other run."""
    if not any("program" in record.load for record in records):
        return None
    order = ranked(rows(records), labels)
    if not order:
        return None
    recorded = next((record.load[RECORDED_P99] for record in records if RECORDED_P99 in record.load), None)
    named = tuple(row.setting for row in as_good(order)) if len(order) > 1 else ()
    text = sentence(order, float(str(recorded)) if recorded is not None else None)
    return Advice(text, caution=cautions, recommended=named if len(named) < len(order) else ())
