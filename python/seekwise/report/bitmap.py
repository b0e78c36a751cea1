"""Bitmap, lockless bitmap or none: what each costs writes on each array, and what a crash costs without it.

Without a bitmap the whole array is brought in line after a crash, and a drive that was away for a minute is filled again in full. So a bitmap is advised
wherever it costs writes less than `PRICE`, the one that costs least; kinds whose costs differ by less than the model's error are alike, and the plainest of them is advised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.judge.arrays import load_words, long_text, name_of
from seekwise.judge.model_error import OF_THROUGHPUT
from seekwise.number_text import natural, three
from seekwise.report.answered import WITHIN_MODEL
from seekwise.report.content import Advice
from seekwise.simulate.gain_error import gain_error
from seekwise.store.record import Record

FACTOR = "bitmap"
KINDS = ("none", "internal", "internal-1g", "lockless")
"""The first of those that cost alike is advised."""
WORDS = {
    "internal": "an internal bitmap",
    "internal-1g": "an internal bitmap with chunks of 1 GiB",
    "lockless": "a lockless bitmap",
}
GROW = "existing: mdadm --grow /dev/md0"
COMMANDS = {
    "none": f"mdadm --create … --bitmap=none   # {GROW} --bitmap=none",
    "internal": f"mdadm --create … --bitmap=internal   # {GROW} --bitmap=internal",
    "internal-1g": f"mdadm --create … --bitmap=internal --bitmap-chunk=1G   # {GROW} --bitmap=internal --bitmap-chunk=1G",
    "lockless": "mdadm --create … --bitmap=lockless   # Linux 6.18, mdadm of late 2025; at creation only, experimental",
}
PRICE = 0.35
"""Share of the writes per second that protection against hours of resync is worth here."""
OF_LOCK = (
    "Not simulated: the internal bitmap's lock, which many processors share. On drives that cost nothing it took 31 to 47 % of random writes of RAID 1 and 10, "
    "17 to 25 % of RAID 5; lockless 0 and 8 to 22 % (linux-raid 2025, ramdisks)"
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
        first = next(iter(kinds.values()))[0].load["array"]
        made.append(BitmapRow(array, load, writes, first["rebuild_s"]))  # type: ignore[index, call-overload]
    return sorted(made, key=lambda row: (natural(row.array), row.load))


def advice(records: Sequence[Record], cautions: tuple[str, ...]) -> Advice | None:
    """The answer of a study of bitmaps; None for any other."""
    found = rows(records)
    kinds = [kind for kind in KINDS if kind != "none" and any(kind in row.writes_s for row in found)]
    if not found or not kinds:
        return None
    worst = {kind: max(row.cost(kind) for row in found) for kind in kinds}
    best = min(kinds, key=lambda kind: (worst[kind], kinds.index(kind)))
    alike = [kind for kind in kinds if worst[kind] - worst[best] <= gain_error((FACTOR,))]
    chosen = min(alike, key=KINDS.index)
    resync = max((row.resync_s for row in found if row.resync_s), default=None)
    hours = f"the {long_text(resync)} of a resync after a crash" if resync else "a full resync after a crash"
    if worst[chosen] > PRICE:
        headline = f"No bitmap where these writes matter most: {WORDS[chosen]} costs up to {100 * worst[chosen]:.0f} % of them. Without, {hours} is the price."
        command = COMMANDS["none"]
    else:
        price = (
            f"up to {100 * worst[chosen]:.0f} % of random writes"
            if worst[chosen] > OF_THROUGHPUT
            else "nothing that the model can tell"
        )
        headline = f"Use {WORDS[chosen]}: it costs {price} and saves {hours}."
        command = COMMANDS[chosen]
    others = [kind for kind in kinds if kind != chosen]
    for kind in others:
        name = WORDS[kind][:1].upper() + WORDS[kind][1:]
        headline += (
            f" {name} {f'is as good {WITHIN_MODEL}' if kind in alike else f'costs up to {100 * worst[kind]:.0f} %'}."
        )
    return Advice(headline, (OF_LOCK,), set_lines=(command,), caution=cautions)


def table(found: Sequence[BitmapRow]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows: writes a second."""
    kinds = [kind for kind in KINDS if any(kind in row.writes_s for row in found)]
    heads = ["Array", "Writes a second", *(f"{kind.capitalize()}" for kind in kinds)]
    body, last = [], ""
    for row in found:
        cells = [
            f"{three(row.writes_s.get(kind))}"
            + (f" (−{100 * row.cost(kind):.0f} %)" if row.cost(kind) > OF_THROUGHPUT else "")
            for kind in kinds
        ]
        body.append(["" if row.array == last else row.array.partition(",")[0], row.load, *cells])
        last = row.array
    return heads, body
