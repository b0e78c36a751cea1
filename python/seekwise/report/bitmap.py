"""Bitmap, lockless bitmap or none: what each costs writes on each array, and what a crash costs without it.

Without a bitmap the whole array is brought in line after a crash, and a drive that was away for a minute is filled again in full. So a bitmap is advised
wherever it costs writes less than `PRICE`, the one that costs least; kinds whose costs differ by less than the model's error are alike, and the plainest of them is advised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.judge.arrays import load_words, long_text, name_of
from seekwise.judge.model_error import OF_THROUGHPUT
from seekwise.number_text import listed, natural, three
from seekwise.report.answered import WITHIN_MODEL
from seekwise.report.content import Advice, QuestionTable
from seekwise.simulate.gain_error import gain_error
from seekwise.store.record import Record
from seekwise.workload.study.quantity import bytes_text

FACTOR = "bitmap"
KINDS = ("none", "internal", "internal-1g", "lockless")
"""The first of those that cost alike is advised."""
WORDS = {
    "internal": "an internal bitmap",
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
NEEDS = {"lockless": "needs Linux 6.18, mdadm 4.6 and a new array, and is experimental"}
"""Why a kind that costs no more is not advised all the same (mdadm pull requests 233 and 299, merged in 2026)."""
DEVICE = "--grow /dev/md0"
PRICE = 0.35
"""Share of the writes per second that protection against hours of resync is worth here."""
OF_LOCK = (
    "Not simulated: CPUs that contend for an internal bitmap's lock. On ramdisks it lost 31 to 47 % of random writes on RAID 1 and 10 and 17 to 25 % on RAID 5; "
    "a lockless one lost none on RAID 1 and 10 and 8 to 22 % on RAID 5 (linux-raid, May 2025)"
)


@dataclass(frozen=True)
class BitmapRow:
    """One load on one array, with each kind of bitmap."""

    array: str
    load: str
    writes_s: dict[str, float]
    """{kind: writes a second}."""
    resync_s: float | None
    """After a crash without a bitmap."""
    block_bytes: int
    """Of a write."""

    def cost(self, kind: str) -> float:
        """Share of the writes that are lost."""
        without = self.writes_s.get("none", 0.0)
        return max(1 - self.writes_s[kind] / without, 0.0) if without and kind in self.writes_s else 0.0


def rows(records: Sequence[Record]) -> list[BitmapRow]:
    """By array and load; empty unless kinds of bitmap were compared."""
    mine = [r for r in records if r.valid and "array" in r.load and FACTOR in r.factors and r.role != "sentinel"]
    if len({r.factors[FACTOR] for r in mine}) < 2:
        return []
    found: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for record in mine:
        array = {**dict(record.load["array"]), "bitmap": "none"}  # type: ignore[call-overload]
        found.setdefault((name_of(array), load_words(record.combination)), {}).setdefault(
            str(record.factors[FACTOR]), []
        ).append(record)
    made = []
    for (array, load), kinds in found.items():
        writes = {kind: sum(phase.iops for r in each for phase in r.phases) / len(each) for kind, each in kinds.items()}
        first = next(iter(kinds.values()))[0]
        resync_s = first.load["array"]["rebuild_s"]  # type: ignore[index, call-overload]
        made.append(BitmapRow(array, load, writes, resync_s, int(first.factors["block_bytes"])))
    return sorted(made, key=lambda row: (natural(row.array), row.load))


def advice(records: Sequence[Record], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a study of bitmaps; None for any other."""
    found = rows(records)
    kinds = [kind for kind in KINDS if kind != "none" and any(kind in row.writes_s for row in found)]
    if not found or not kinds:
        return None
    worst = {kind: max(row.cost(kind) for row in found) for kind in kinds}
    # What is experimental, only where everything else costs too much.
    able = [kind for kind in kinds if kind not in NEEDS and worst[kind] <= PRICE] or kinds
    best = min(able, key=lambda kind: (worst[kind], kinds.index(kind)))
    error = gain_error((FACTOR,))
    alike = [kind for kind in kinds if abs(worst[kind] - worst[best]) <= error]
    chosen = min((kind for kind in able if kind in alike), key=KINDS.index)
    resync = max((row.resync_s for row in found if row.resync_s), default=None)
    hours = f"the {long_text(resync)} of a resync after a crash" if resync else "a full resync after a crash"
    if worst[chosen] > PRICE:
        headline = f"No bitmap where these writes matter most: {WORDS[chosen]} costs up to {100 * worst[chosen]:.0f} % of them. Without, {hours} is the price."
        advised = "none"
    else:
        needs = f" It {NEEDS[chosen]}." if chosen in NEEDS else ""
        headline = f"Use {WORDS[chosen]}: it costs {_price(worst[chosen])} and saves {hours}.{needs}"
        advised = chosen
    for kind in kinds:
        if kind != chosen:
            name = WORDS[kind][:1].upper() + WORDS[kind][1:]
            but = f", but {NEEDS[kind]}" if kind in NEEDS else ""
            price = (
                f"is as good {WITHIN_MODEL}"
                if abs(worst[kind] - worst[chosen]) <= error
                else f"costs {_price(worst[kind])}"
            )
            headline += f" {name} {price}{but}."
    return Advice(headline, (OF_LOCK,), *_commands(advised), caution=cautions)


def _price(cost: float) -> str:
    return f"up to {100 * cost:.0f} % of random writes" if cost > OF_THROUGHPUT else "nothing that the model can tell"


def _commands(kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lines that set and undo it. mdadm refuses to add a bitmap beside another one, and to remove one that is not there (mdadm, Grow.c: Grow_addbitmap)."""
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


def table(found: Sequence[BitmapRow]) -> QuestionTable:
    """Writes a second by kind, and what it loses against none."""
    kinds = [kind for kind in KINDS if any(kind in row.writes_s for row in found)]
    heads = ["Array", "Load (writes/s)", *(SHOWN[kind] for kind in kinds)]
    body = []
    for row in found:
        cells = [
            _writes_text(row.writes_s.get(kind))
            + (f" (−{100 * row.cost(kind):.0f} %)" if row.cost(kind) > OF_THROUGHPUT else "")
            for kind in kinds
        ]
        body.append([row.array.partition(",")[0], row.load, *cells])
    thousands = " (k: thousands)" if any("k" in cell for row in body for cell in row[2:]) else ""
    sizes = listed(sorted({bytes_text(row.block_bytes) for row in found}, key=natural))
    return QuestionTable(heads, body, f"Random writes of {sizes} a second{thousands}; in brackets: against none.")
