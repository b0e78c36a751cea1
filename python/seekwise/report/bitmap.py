"""The answer of a study of bitmaps: which to use (`judge/bitmap.py`), the lines of mdadm, and the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seekwise.judge.arrays import long_text
from seekwise.judge.bitmap import KINDS, BitmapChoice, BitmapRow, choose, rows
from seekwise.judge.model_error import OF_THROUGHPUT
from seekwise.number_text import listed, natural, three
from seekwise.report.answered import WITHIN_MODEL
from seekwise.report.content import Advice, QuestionTable
from seekwise.store.record import Record
from seekwise.workload.study.quantity import bytes_text

WORDS = {
    "internal": "an internal bitmap with mdadm's chunks",
    "internal-1g": "an internal bitmap with chunks of 1 GiB",
    "lockless": "a lockless bitmap",
}
OPTIONS = {
    "none": "--bitmap=none",
    "internal": "--bitmap=internal",
    "internal-1g": "--bitmap=internal --bitmap-chunk=1G",
    "lockless": "--bitmap=lockless",
}
"""Of mdadm(8)."""
NEEDS = {"lockless": "needs Linux 7.0 (6.18 hangs with it), mdadm 4.6 and a new array, and is experimental"}
"""Why a kind that costs no more is not advised all the same (mdadm pull requests 233 and 299, merged in 2026; Linux
commits cd1635d844d2, d119bd2e1643)."""
DEVICE = "--grow /dev/md0"
OF_LOCK = (
    "Not simulated: CPUs that contend for an internal bitmap's lock. On ramdisks it lost 31 to 47 % of random writes on RAID 1 and 10 and 17 to 25 % on RAID 5; "
    "a lockless one lost none on RAID 1 and 10 and 8 to 22 % on RAID 5 (linux-raid, May 2025)"
)


def advice(records: Sequence[Record], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a study of bitmaps; None for any other."""
    known = choose(table_rows := rows(records))
    if known is None:
        return None
    chosen, worst = known.cheapest, known.costs
    hours = (
        f"the {long_text(known.resync_s)} of a resync after a crash"
        if known.resync_s
        else "a full resync after a crash"
    )
    if not known.is_worth_it:
        headline = f"No bitmap where these writes matter most: {WORDS[chosen]} costs {_price(known, chosen)}. Without, {hours} is the price."
        advised = "none"
    else:
        needs = f" It {NEEDS[chosen]}." if chosen in NEEDS else ""
        headline = f"Use {WORDS[chosen]}: it costs {_price(known, chosen)} and saves {hours}.{needs}"
        advised = chosen
    reasons = []
    for kind in worst:
        if kind != chosen:
            but = f", but {NEEDS[kind]}" if kind in NEEDS else ""
            price = f"is as good {WITHIN_MODEL}" if kind in known.alike else f"costs {_price(known, kind)}"
            reasons.append(f"{WORDS[kind]} {price}{but}")
    return Advice(headline, (*_brinks(table_rows), *reasons, OF_LOCK), *_commands(advised), caution=cautions)


def _brinks(table_rows: Sequence[BitmapRow]) -> Iterator[str]:
    """Kinds whose cost a somewhat faster page decides."""
    for kind in KINDS:
        if brinks := [row for row in table_rows if (start := row.slow.get(kind)) and not start.is_over]:
            where = listed([f"{row.array.partition(',')[0]}, {row.load}" for row in brinks])
            yield (
                f"{WORDS[kind]} is at a brink ({where}): bits are cleaned nearly as fast as these writes set them, which still grew faster "
                "at the end. Where a page takes half the time, they may be many times as fast"
            )


def _price(known: BitmapChoice, kind: str) -> str:
    """`up to 99 % of random writes over the whole array, 44 % in a working set`."""
    most, usual = known.costs[kind], known.usual[kind]
    if most <= OF_THROUGHPUT:
        return "nothing that the model can tell"
    if usual >= most - OF_THROUGHPUT:
        return f"up to {100 * most:.0f} % of random writes"
    within = f"{100 * usual:.0f} %" if usual > OF_THROUGHPUT else "nothing"
    return f"up to {100 * most:.0f} % of random writes over the whole array, {within} in a working set"


def _commands(kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lines that set and undo it. mdadm refuses to add a bitmap beside another one, and to remove one that is not there
    (mdadm, Grow.c: Grow_addbitmap)."""
    create = f"mdadm --create … {OPTIONS[kind]}   # a new array"
    remove = f"sudo mdadm {DEVICE} {OPTIONS['none']}"
    if kind in NEEDS:
        return (create,), ()
    if kind == "none":
        return (create, f"{remove}   # an existing array"), (f"sudo mdadm {DEVICE} {OPTIONS['internal']}",)
    return (
        (create, f"{remove}   # existing: where it has one", f"sudo mdadm {DEVICE} {OPTIONS[kind]}"),
        (f"{remove}   # then internal, if it had one",),
    )


def _writes_text(writes_s: float | None) -> str:
    """`397`, `594k`: a column holds no more beside what is lost."""
    return f"{three(writes_s / 1000)}k" if writes_s is not None and writes_s >= 10_000 else three(writes_s)


SHOWN = {"none": "None", "internal": "Internal", "internal-1g": "1 GiB chunks", "lockless": "Lockless"}
"""Heads of the table."""


def table(rows_of_table: Sequence[BitmapRow]) -> QuestionTable:
    """Writes a second by kind, and what it loses against none. A small screen shows of each array the load that loses most."""
    kinds = [kind for kind in KINDS if any(kind in row.writes_s for row in rows_of_table)]
    heads = ["Array", "Load (writes/s)", *(SHOWN[kind] for kind in kinds)]
    body = []
    for row in rows_of_table:
        cells = [
            _writes_text(row.writes_s.get(kind))
            + (f" (−{100 * row.cost(kind):.0f} %)" if row.cost(kind) > OF_THROUGHPUT else "")
            for kind in kinds
        ]
        body.append([row.array.partition(",")[0], row.load, *cells])
    thousands = " (k: thousands)" if any("k" in cell for row in body for cell in row[2:]) else ""
    sizes = listed(sorted({bytes_text(row.block_bytes) for row in rows_of_table}, key=natural))
    dearest: dict[str, int] = {}
    for place, row in enumerate(rows_of_table):
        before = dearest.get(row.array)
        if before is None or _most(row, kinds) > _most(rows_of_table[before], kinds):
            dearest[row.array] = place
    starts = [
        start.seconds for row in rows_of_table for start in row.slow.values() if start.is_over and start.seconds >= 1
    ]
    caption = (
        f"{sizes} writes a second once bits are set ({max(starts):.0f} s after a rest); (%): against none."
        if starts
        else f"Random writes of {sizes} a second{thousands}; in brackets: against none."
    )
    values = {place: [row.writes_s.get(kind) for row in rows_of_table] for place, kind in enumerate(kinds, start=2)}
    return QuestionTable(heads, body, caption, tuple(dearest.values()), values, is_one_unit=True)


def _most(row: BitmapRow, kinds: Sequence[str]) -> float:
    """What the dearest kind costs."""
    return max(row.cost(kind) for kind in kinds)
