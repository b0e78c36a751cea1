"""The answer to "what if": a recorded load on other storage, in words and as a table. The command and every later
output of its run say the same."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from seekwise.judge.predicted import OPEN_P99, Recorded, WhatIfRow, as_good, carries, ranked, recorded, rows
from seekwise.number_text import by, listed
from seekwise.report.content import Advice
from seekwise.store.record import Record
from seekwise.trace.load import FOREGROUND

ROWS_SHOWN = 8
GROUPS_SHOWN = 3
NAMED_MOST = 3
Found = Mapping[tuple[str, str], WhatIfRow]


def sentence(order: Sequence[WhatIfRow], load: Recorded | None) -> str:
    """The answer: the best storage against the recording, and what cannot carry the load."""
    best, ties = order[0], as_good(order, load)
    behind = [row for row in order if not carries(row, load)]
    if load is not None and len(behind) == len(order):
        rates = listed(f"{row.setting} does {_number(row.iops)}" for row in order[:NAMED_MOST])
        whom = "It cannot" if len(order) == 1 else f"None of the {len(order)} can"
        return f"{whom} carry this load of {_number(load.iops)} requests/s: {rates}."
    able = [row for row in order if carries(row, load)]
    against = _against(best.p99_ns, load)
    if len(order) == 1:
        return f"With {best.setting} the foreground's p99 would be {time_word(best.p99_ns)}{against}."
    if len(ties) == len(able) and len(able) > 1:
        said = f"No setting stands out: {'all' if not behind else 'the other'} {len(able)} are within 5 % in p99 and rate; p99 {time_word(best.p99_ns)}{against}."
    else:
        names = " or ".join(row.setting for row in ties[:NAMED_MOST]) + (" …" if len(ties) > NAMED_MOST else "")
        said = f"Best: {names}, p99 {time_word(best.p99_ns)}{against}."
        slowest = max(able, key=lambda row: row.p99_ns)
        if slowest not in ties:
            said += f" Longest: {slowest.setting}, {time_word(slowest.p99_ns)}."
    if behind and load is not None:
        least = behind[-1]
        names = listed(row.setting for row in behind[:NAMED_MOST]) + (" …" if len(behind) > NAMED_MOST else "")
        said += f" {names} cannot carry this load ({_number(least.iops)} of {_number(load.iops)} requests/s)."
    return said


def _against(p99_ns: float, load: Recorded | None) -> str:
    """How that compares with the recording."""
    if load is None or not load.p99_ns:
        return ""
    ratio = p99_ns / load.p99_ns
    if 1 / 1.05 < ratio < 1.05:
        return f", as recorded ({time_word(load.p99_ns)})"
    word = "longer" if ratio > 1 else "shorter"
    return f", {by(max(ratio, 1 / ratio), word, of_rate=ratio < 1)} than recorded ({time_word(load.p99_ns)})"


def table(
    order: Sequence[WhatIfRow],
    found: Found,
    programs: Sequence[str],
    load: Recorded | None,
    opened: Mapping[str, float] | None = None,
) -> list[str]:
    """`opened`: {setting: p99 where every request comes at its recorded time}. The recording, the foreground of each
    setting, then each group of programs where there are several; at most 80 columns."""
    width = min(max([len("as recorded"), *(len(row.setting) for row in order)]), 26 if opened else 36)
    head = f"{'setting':{width}} {'p50':>8} {'p99':>8} {'MB/s':>7} {'IOPS':>7} {'time':>7}"
    said = [head + (f" {'open p99':>9}" if opened else "")]
    if load is not None:
        half, tail = (time_word(latency) if latency else "–" for latency in (load.p50_ns, load.p99_ns))
        rates = f"{_number(load.rate_bytes_per_s / 1e6):>7} {_number(load.iops):>7} {seconds(load.elapsed_s):>7}"
        said.append(f"{'as recorded':{width}} {half:>8} {tail:>8} {rates}")
    for row in order[:ROWS_SHOWN]:
        more = f" {time_word(opened[row.setting]):>9}" if opened and row.setting in opened else ""
        said += _lines(row.setting, row, width, more, is_behind=not carries(row, load))
    if len(order) > ROWS_SHOWN:
        said.append(f"and {len(order) - ROWS_SHOWN} more (--json has all)")
    if opened:
        said.append("open p99: with every request at its recorded time, whatever it waited for")
    if len(programs) > 1 and order:
        best = order[0].setting
        said += ["", f"by program, with {best}:"]
        for name in programs[:GROUPS_SHOWN]:
            own = found.get((best, name))
            if own is not None:
                said += _lines(f"  {name}", own, width)
        if len(programs) > GROUPS_SHOWN:
            said.append(f"  and {len(programs) - GROUPS_SHOWN} more")
    return said


def _lines(name: str, row: WhatIfRow, width: int, more: str = "", *, is_behind: bool = False) -> list[str]:
    """The figures of a setting; what of its name does not fit stands below. A queue that only grows has no latency
    worth a number."""
    first, *rest = textwrap.wrap(name, width, subsequent_indent="  ", break_on_hyphens=False) or [""]
    half, tail = ("grows", "grows") if is_behind else (time_word(row.p50_ns), time_word(row.p99_ns))
    figures = (
        f"{first:{width}} {half:>8} {tail:>8} {_number(row.rate_bytes_per_s / 1e6):>7} "
        f"{_number(row.iops):>7} {seconds(row.elapsed_s):>7}{more}"
    )
    return [figures, *rest]


def seconds(value: float) -> str:
    """`4.2 s`, `12 m`."""
    return f"{value:.3g} s" if value < 600 else f"{value / 60:.3g} m"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def time_word(ns: float) -> str:
    """Nanoseconds as `85 µs`, `12.3 ms` or `1.2 s`."""
    if ns < 999.5e3:
        return f"{ns / 1e3:.3g} µs"
    return f"{ns / 1e6:.3g} ms" if ns < 999.5e6 else f"{ns / 1e9:.3g} s"


def is_of(records: Sequence[Record]) -> bool:
    """Whether they are of a run of `whatif`."""
    return any("program" in record.load for record in records)


def table_of(records: Sequence[Record]) -> list[str]:
    """The table of a stored run; empty for any other run."""
    if not is_of(records):
        return []
    found, load = rows(records), recorded(records)
    order = ranked(found, list(dict.fromkeys(record.setting for record in records)), load)
    programs = [name for name in dict.fromkeys(name for _, name in found) if name != FOREGROUND]
    return table(order, found, programs, load, open_p99(records))


def open_p99(records: Sequence[Record]) -> dict[str, float]:
    """{setting: p99 of the replay at recorded times}; empty where the run had none (`--open`)."""
    return {record.setting: float(record.load[OPEN_P99]) for record in records if OPEN_P99 in record.load}


def advice(records: Sequence[Record], labels: Sequence[str], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a stored run of `whatif`; None for any other run."""
    if not is_of(records):
        return None
    load = recorded(records)
    order = ranked(rows(records), labels, load)
    if not order:
        return None
    named = tuple(row.setting for row in as_good(order, load)) if len(order) > 1 else ()
    return Advice(sentence(order, load), caution=cautions, recommended=named if len(named) < len(order) else ())
