"""Records as one table of numbers with named factors, and the choice of what stands on which axis.

A factor is whatever differs between trials: what competes, threads, request size, depth, the system. Systems that
differ in their chunk alone become a factor `chunk`, whether a study writes them as systems or varies `chunk_kib`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seekwise.judge.system_choices import kind_of
from seekwise.report.rows import Row, summary_rows, trial_rows
from seekwise.store import operations
from seekwise.store.record import Record
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.study.quantity import bytes_text
from seekwise.workload.study.study import System

OPERATION = "operation"
CHUNK = "chunk"
NO_CHUNK = "none"
X_FIRST = ("threads", "block_bytes", "iodepth")
LINES_MAX = 9
PANELS_MOST = 12
IGNORED = ("direct", "setting")


@dataclass(frozen=True)
class Axes:
    """What a chart shows where; `rest` are the factors that it holds still."""

    x: str
    colour: str | None
    panel: str | None
    rest: tuple[str, ...] = ()


@dataclass(frozen=True)
class Frame:
    """Summaries over the repeats, a row per combination."""

    factors: dict[str, list[object]]
    """Levels of everything that differs, in order; operations among them."""
    rows: list[Row]
    """By factor its value; by metric the mean, `_low` and `_high` (95 % interval); `n`."""
    subject: tuple[str, ...]
    """What is compared, most important first."""
    systems: Mapping[str, str] = field(default_factory=dict)
    """What the name of a system stands for."""

    def title(self, name: str) -> str:
        """Label of the axis of a factor or metric; the name without `_` where no title is known."""
        return TITLES.get(name, name.replace("_bytes", "").replace("_", " "))


TITLES = {
    "operation": "operation",
    "block_bytes": "request size",
    "iodepth": "queue depth of the load",
    "memory_bytes": "memory",
    "chunk": "chunk",
    "chunk_kib": "chunk",
    "setting": "setting",
    "raid_level": "RAID level",
    "read_ahead_kb": "read-ahead [KiB]",
}


def shown(name: str, value: object) -> str:
    """A level in words: `64 KiB`, `8`, `RAID 5`."""
    if value is None:
        return "–"
    if name.endswith("bytes") and isinstance(value, int):
        return bytes_text(value)
    if name in ("chunk_kib", CHUNK) and isinstance(value, int):
        return bytes_text(value * 1024)
    if name == "raid_level":
        return str(value).replace("raid", "RAID ")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == OPERATION:
        return operations.name(str(value))
    return str(value)


def frame(records: Sequence[Record], systems: Sequence[System] = (), compare: Sequence[str] = ()) -> Frame:
    """The table of the valid trials; the second label of an A/A check is left out."""
    counted = [r for r in records if r.valid and not r.setting.endswith(CONTROL_SUFFIX)]
    rows = trial_rows(counted)
    _add_chunks(rows, systems)
    # More than one factor may compete; a label alone says less than they do.
    competing = [name for name in compare if _differs(rows, name)]
    subject = competing if competing and _tell_apart(rows, competing) else []
    if not subject and _differs(rows, "setting"):
        subject = ["setting"]
    if _differs(rows, CHUNK):
        subject = [CHUNK, *(name for name in subject if name != CHUNK)]
    names = [OPERATION, *subject]
    factors_given = dict.fromkeys(name for record in counted for name in record.factors)
    names += [n for n in factors_given if n not in (*names, *IGNORED) and _differs(rows, n)]
    names = _without_doubles(rows, names, keep=len(subject) + 1)
    summaries = summary_rows(rows, by=names)
    factors = {name: _levels(name, rows) for name in names}
    places = {name: {level: number for number, level in enumerate(levels)} for name, levels in factors.items()}
    summaries.sort(key=lambda row: tuple(places[name][row[name]] for name in names))
    return Frame(factors, summaries, tuple(subject), {system.name: kind_of(system) for system in systems})


def _differs(rows: Sequence[Mapping[str, object]], name: str) -> bool:
    return len({str(row.get(name)) for row in rows}) > 1


def _tell_apart(rows: Sequence[Mapping[str, object]], names: Sequence[str]) -> bool:
    """Whether the factors say everything that the label says."""
    seen: dict[tuple[str, ...], set[object]] = {}
    for row in rows:
        seen.setdefault(tuple(str(row.get(name)) for name in names), set()).add(row["setting"])
    return all(len(labels) == 1 for labels in seen.values())


def _add_chunks(rows: list[Row], systems: Sequence[System]) -> None:
    """Systems that differ in their chunk alone become levels of `chunk`, and lose their names."""
    families: dict[tuple[object, ...], set[int]] = {}
    known = {known_system.name: known_system for known_system in systems}
    if len(known) < 2:
        return
    for known_system in systems:
        if len(known_system.chunk_kib) == 1:
            families.setdefault(_family(known_system), set()).add(known_system.chunk_kib[0])
    if not any(len(chunks) > 1 for chunks in families.values()):
        return
    # The name of a system is replaced by all that it stands for: only where that still tells them apart.
    told = {(_family(known_system), tuple(known_system.chunk_kib)) for known_system in systems}
    if len(told) < len(known):
        return
    kernels = {known_system.kernel for known_system in systems}
    arrays = {(kind_of(known_system), known_system.drives) for known_system in systems if known_system.chunk_kib}
    for row in rows:
        system = known.get(str(row.get("system")))
        if system is None:
            return
        row[CHUNK] = system.chunk_kib[0] if system.chunk_kib else NO_CHUNK
        parts = [kind_of(system)] if len(arrays) > 1 and system.chunk_kib else []
        parts += [f"Linux {system.kernel}"] if len(kernels) > 1 and system.kernel else []
        row["system"] = ", ".join(parts)


def _family(system: System) -> tuple[object, ...]:
    key = (system.drive, system.drives, system.raid_level, system.layout, system.kernel, system.controller)
    return (*key, tuple(sorted(system.options.items())), system.target)


def _levels(name: str, rows: Sequence[Mapping[str, object]]) -> list[object]:
    levels = list(dict.fromkeys(row.get(name) for row in rows))
    if name == OPERATION:
        return sorted(levels, key=lambda level: operations.place(str(level)))
    if all(is_number(level) or level in (NO_CHUNK, None) for level in levels):
        return sorted(levels, key=lambda level: float(level) if is_number(level) else -1.0)  # type: ignore[arg-type]
    return sorted(levels, key=str) if name in ("raid_level", "kernel", "system", "scheduler") else levels


def is_number(value: object) -> bool:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _without_doubles(rows: Sequence[Mapping[str, object]], names: Sequence[str], keep: int) -> list[str]:
    """Without factors that another one, or the operation, already tells."""
    kept = list(names[:keep])
    for name in sorted(names[keep:], key=lambda name: X_FIRST.index(name) if name in X_FIRST else len(X_FIRST)):
        if not any(_tells(rows, other, name) for other in kept):
            kept.append(name)
    return kept


def _tells(rows: Sequence[Mapping[str, object]], one: str, other: str) -> bool:
    seen: dict[str, str] = {}
    return all(seen.setdefault(str(row.get(one)), str(row.get(other))) == str(row.get(other)) for row in rows)


def axes(table: Frame) -> Axes:
    """What the study varies goes on x if it has an order; else it is the colour, over the most telling number."""
    free = [name for name in table.factors if name != OPERATION]
    numeric = [name for name in free if _is_scale(table, name)]
    ordered_subject = next((name for name in table.subject if name in numeric), None)
    if ordered_subject is not None:
        x = ordered_subject
    else:
        first = [name for name in (*X_FIRST, *numeric) if name in numeric]
        x = first[0] if first else (table.subject[0] if table.subject else OPERATION)
    left = [name for name in free if name != x]
    names = [name for name in table.subject if name in left]
    small = sorted(
        (n for n in left if len(table.factors[n]) <= LINES_MAX),
        key=lambda n: (n in X_FIRST, len(table.factors[n])),
        reverse=True,
    )
    colour = next((name for name in names if len(table.factors[name]) <= LINES_MAX), small[0] if small else None)
    panel = OPERATION if x != OPERATION and len(table.factors[OPERATION]) > 1 else None
    if colour is None and x != OPERATION and not _is_scale(table, x):
        colour = x
    rest = [name for name in left if name != colour]
    # What has more levels than a page has room for panels is held still, and chosen by the reader.
    few = next((name for name in rest if len(table.factors[name]) <= PANELS_MOST), None)
    if panel is None and few is not None and x != OPERATION:
        panel = few
        rest.remove(few)
    return Axes(x, colour, panel, tuple(rest))


def _is_scale(table: Frame, name: str) -> bool:
    levels = table.factors[name]
    return sum(is_number(level) for level in levels) > 1 and all(is_number(x) or x == NO_CHUNK for x in levels)


def combinations(table: Frame, names: Sequence[str]) -> list[Row]:
    """Combinations of these factors that occur, the one with the most rows first."""
    counts: dict[tuple[object, ...], int] = {}
    for row in table.rows:
        key = tuple(row[name] for name in names)
        counts[key] = counts.get(key, 0) + 1
    order = sorted(counts, key=lambda key: -counts[key])
    return [dict(zip(names, key, strict=True)) for key in order]


def has(table: Frame, metric: str) -> bool:
    """Whether any row has a value of this metric."""
    return any(row[metric] is not None for row in table.rows)
