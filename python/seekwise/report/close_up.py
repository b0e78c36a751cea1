"""Why one setting is faster: one second of the load in which settings differ most, request by request, in one picture
and four sentences at most.

Simulated runs are simulated again from what their records keep; nothing has to be asked for beforehand. The time of one
I/O is split into parts that add up: seek, rotation, transfer, the drive's own work, and the time in which the drive had
nothing to do.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup, escape

from seekwise.judge.arrays import load_words
from seekwise.number_text import three
from seekwise.report.charts import close_up_svg
from seekwise.report.looks import Look, Looks
from seekwise.report.metric_words import shown_setting
from seekwise.simulate import close_up as again
from seekwise.simulate.spec import Spec
from seekwise.store import operations
from seekwise.store.record import Record
from seekwise.trace.close_up import CloseUp, cut
from seekwise.trace.excerpt import Traced
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.study import combination_key
from seekwise.workload.study.quantity import counted, latency_text

SETTINGS_MOST = 4
SENTENCES_MOST = 4
DIFFERENT = 0.03
"""Settings closer than this share in a stretch are called alike: the rule's threshold of the rate."""
FIGURE_TIMES = 1.2
"""Times in which another figure must differ to be named."""
DIRECTION_TIMES, DIRECTION_LEAST = 1.3, 5
"""Times in which the latency of reads, or of writes, must differ to be named, and requests of which a mean says
something."""
PART_WORDS = {
    "seek": "seeking",
    "rotation": "waiting for the platter to turn",
    "transfer": "transferring data",
    "own": "writing cached data to the platters",
    "idle": "an idle drive",
}


@dataclass(frozen=True)
class StretchRow:
    """One setting's stretch in numbers."""

    look: Look
    close: CloseUp
    total: float
    """Time of one I/O in ms, of an array that of all its drives."""
    parts: dict[str, float]
    """What `total` is made of, in ms."""
    cpu_us: float | None = None
    """System CPU time of one I/O in the whole trial, µs."""

    @property
    def iops(self) -> float:
        """I/Os of the load per second."""
        return 1e3 * self.close.ios / self.close.span_ms

    @property
    def commands(self) -> float:
        """Requests to the drives per I/O of the load."""
        return self.close.drives * len(self.close.requests) / max(self.close.ios, 1)

    @property
    def kib(self) -> float:
        """Mean size of a request of the drive."""
        return statistics.fmean(one.sectors for one in self.close.requests) / 2 if self.close.requests else 0.0


@dataclass(frozen=True)
class CloseUpSection:
    """One load, all its settings."""

    anchor: str
    title: str
    sentence: str
    """Four sentences at most."""
    legend: Markup
    picture: Markup
    caption: str


@dataclass(frozen=True)
class CloseUpLoad:
    combination: str
    operation: str
    gap: float
    """Logarithm of the fastest over the slowest rate; zero where repeats scatter as much."""
    records: dict[str, Record]
    """The first valid trial of each setting, fastest setting first."""


def loads(records: Sequence[Record]) -> list[CloseUpLoad]:
    """Loads that can be simulated again, one per operation, the largest difference first."""
    groups: dict[tuple[str, str], dict[str, list[tuple[Record, float]]]] = {}
    for record in records:
        if not record.valid or record.role != "candidate" or record.setting.endswith(CONTROL_SUFFIX):
            continue
        for phase in record.phases:
            if phase.rate_bytes_per_s > 0 and again.can(record, phase.operation):
                by_setting = groups.setdefault((record.combination, phase.operation), {})
                by_setting.setdefault(record.setting, []).append((record, math.log(phase.rate_bytes_per_s)))
    best: dict[str, CloseUpLoad] = {}
    for (combination, operation), by_setting in groups.items():
        logs = {name: [log for _, log in repeats] for name, repeats in by_setting.items()}
        order = sorted(logs, key=lambda name: -statistics.fmean(logs[name]))
        if len(order) < 2:
            continue
        ends = logs[order[0]], logs[order[-1]]
        gap = statistics.fmean(ends[0]) - statistics.fmean(ends[1])
        # Of a single repeat it is not known how far others would be from it.
        scatter = max(statistics.stdev(each) / math.sqrt(len(each)) if len(each) > 1 else 0.0 for each in ends)
        first = {name: by_setting[name][0][0] for name in order}
        load = CloseUpLoad(combination, operation, gap if gap > 2 * scatter else 0.0, first)
        if operation not in best or load.gap > best[operation].gap:
            best[operation] = load
    return sorted(best.values(), key=lambda load: (-load.gap, operations.place(load.operation)))


def most_different(records: Sequence[Record], looks: Looks, recommended: Sequence[str] = ()) -> CloseUpSection | None:
    """Of the load in which settings differ most; None where none can be simulated again."""
    for load in loads(records):
        names = _settings_drawn(list(load.records), recommended)
        close = again.close_ups([load.records[name] for name in names], load.operation)
        if _are_drawn(close):
            cpu = {name: _cpu_us(load.records[name], load.operation) for name in names}
            system = combination_key.parse(load.combination)[1].get("system", "")
            title = [operations.name(load.operation), system, load_words(load.combination)]
            return stretch(close, looks, ", ".join(filter(None, title)), len(load.records) - len(names), cpu_us=cpu)
    return None


def of_use(records: Sequence[Record], looks: Looks, title: str, recommended: str | None) -> CloseUpSection | None:
    """A use of a simulated `tune`; None where its records keep no spec, or one that cannot be traced."""
    specs: dict[str, Spec] = {}
    speeds: dict[str, list[float]] = {}
    for record in records:
        speeds.setdefault(record.setting, []).append(sum(phase.iops for phase in record.phases))
        if isinstance(spec := record.load.get("spec"), dict) and again.traceable(spec):
            specs.setdefault(record.setting, spec)
    means = {name: statistics.fmean(speeds[name]) for name in specs}
    if len(means) < 2:
        return None
    names = _settings_drawn(sorted(means, key=lambda name: -means[name]), [recommended] if recommended else [])
    asked = [(name, specs[name]) for name in names]
    operation = specs[names[0]]["phases"][-1]["operation"]
    close = again.of_specs(asked, operation, [means[name] for name in names if means[name] > 0])
    if not _are_drawn(close):
        return None
    return stretch(close, looks, f"{title}: all jobs together", len(means) - len(names), by_direction=True)


def of_traced(traced: Sequence[Traced], looks: Looks, title: str, capacity_bytes: int | None) -> CloseUpSection | None:
    """A use of a measured run, from the kernel's block events; None where fewer than two settings were traced."""
    excerpts = [excerpt for excerpt in traced if len(excerpt.requests) > 1 and excerpt.span_ms > 0]
    if len(excerpts) < 2:
        return None
    furthest = max(one.sector + one.sectors for excerpt in excerpts for one in excerpt.requests)
    size = max(furthest, (capacity_bytes or 0) // 512)
    fastest = max(len(excerpt.requests) / excerpt.span_ms for excerpt in excerpts)
    span = min(min(excerpt.span_ms for excerpt in excerpts), again.REQUESTS / fastest)
    close = [
        replace(
            cut(excerpt.requests, excerpt.setting, excerpt.span_ms - span, span, size),
            whole=cut(excerpt.requests, excerpt.setting, 0.0, excerpt.span_ms, size),
        )
        for excerpt in excerpts
    ]
    return stretch(close, looks, f"{title}: all jobs together", by_direction=True)


def _are_drawn(close: Sequence[CloseUp]) -> bool:
    """Whether at least two settings did something in the stretch."""
    return sum(len(excerpt.requests) > 1 for excerpt in close) > 1


def _cpu_us(record: Record, operation: str) -> float | None:
    phases = [phase for phase in record.phases if phase.operation == operation]
    ios = sum(phase.ios for phase in phases)
    return 1e6 * sum(phase.cpu.system_cpu for phase in phases) / ios if ios else None


def _settings_drawn(names: list[str], recommended: Sequence[str]) -> list[str]:
    """Fastest, slowest, the recommended one, then the next ones; in the order of their rates."""
    wanted = list(dict.fromkeys([names[0], names[-1], *(n for n in names if n in recommended), *names]))
    return sorted(wanted[:SETTINGS_MOST], key=names.index)


def stretch(
    close: Sequence[CloseUp],
    looks: Looks,
    title: str,
    left_out: int = 0,
    *,
    cpu_us: dict[str, float | None] | None = None,
    by_direction: bool = False,
) -> CloseUpSection:
    """Sentences and picture of stretches of one load. `left_out`: settings that are not drawn; `by_direction`: jobs that
    differ are told by their reads and writes."""
    known = looks.by_label([shown_setting(one.setting) for one in close])
    rows = [row(one, known[shown_setting(one.setting)], (cpu_us or {}).get(one.setting)) for one in close]
    threads = sorted({one.thread for excerpt in close for one in excerpt.requests})
    places = close_up_svg.Range.spanning(close)
    panels = [
        close_up_svg.panel(excerpt, one.look, threads, places, f"{three(one.iops)} I/O per second")
        for excerpt, one in zip(close, rows, strict=True)
    ]
    keys = [*close_up_svg.kinds(close), ("queued", "in the scheduler's queue"), ("drive", "at the drive")]
    legend = [
        Markup(
            '<span class="shape"><svg width="22" height="9" aria-hidden="true"><path class="k-{}" d="M0 4.5H22"/></svg> {}</span>'
        ).format(name, escape(text))
        for name, text in keys
    ]
    return CloseUpSection(
        "stretch-" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-"),
        title,
        (_of_directions(rows) if by_direction else "") or sentence(rows),
        Markup("").join(legend),
        Markup("").join(panels),
        _caption(close, len(threads), left_out),
    )


def _caption(close: Sequence[CloseUp], threads: int, left_out: int) -> str:
    """How to read the picture, and what is not in it."""
    first, has_parts = close[0], any(excerpt.has_parts for excerpt in close)
    span = "One second" if first.span_ms >= 999.5 else f"{three(first.span_ms)} ms"
    if first.whole is not None:
        span += f" out of {three(first.whole.span_ms / 1e3)} s, to which the sentences refer"
    place, low = ("position of the head", "; low: outer tracks") if has_parts else ("address", "")
    size = close_up_svg.gigabytes(first.capacity_sectors)
    said = [
        f"{span}.",
        f"From the top: {place} at each request (of {size} GB{low}); what the drive does; each thread's requests, pale while the scheduler holds them, dark at the drive; requests under way.",
    ]
    if any(excerpt.drives > 1 for excerpt in close):
        said.append("Shown is the first drive of the array; times are those of all drives together.")
    if threads > close_up_svg.LANES_MOST:
        said.append(f"Threads: the first {close_up_svg.LANES_MOST} of {threads}.")
    if left_out > 0:
        said.append(f"{counted(left_out, 'more setting')} not shown.")
    return " ".join(said)


def row(close: CloseUp, look: Look, cpu_us: float | None = None) -> StretchRow:
    """Parts of the time of one I/O: the drive does one thing at a time, so they add up to the stretch."""
    close = close.whole or close
    # All drives of an array work alike: what one does, all do.
    per_io = close.drives / max(close.ios, 1)
    total, idle = per_io * close.span_ms, per_io * close.idle_share * close.span_ms
    split = [one.parts for one in close.requests if one.parts is not None]
    names = ("seek", "rotation", "transfer", "own") if close.has_parts else ()
    parts = {name: per_io * sum(getattr(one, name) for one in split) for name in names}
    parts["rest"] = max(0.0, total - idle - sum(parts.values()))
    if close.drives == 1:
        parts["idle"] = idle
    else:
        # Drives of an array wait for each other's part of a load: that is no cost of an I/O.
        total -= idle
    return StretchRow(look, close, total, parts, cpu_us)


def sentence(rows: Sequence[StretchRow]) -> str:
    """What sets the fastest apart from the slowest, the largest part of it first."""
    if len(rows) < 2:
        return ""
    fast, slow = max(rows, key=lambda one: one.iops), min(rows, key=lambda one: one.iops)
    if slow.iops >= (1 - DIFFERENT) * fast.iops:
        said = [f"The settings dispatch alike here: {three(slow.iops)} to {three(fast.iops)} I/O per second."]
    else:
        of = " of the drives' time" if max(fast.close.drives, slow.close.drives) > 1 else ""
        said = [
            f"An I/O takes {_time(fast.total)}{of} with {fast.look.label} and {_time(slow.total)} with {slow.look.label}."
        ]
        said += _of_parts(fast, slow)
    return " ".join([*said, *_of_figures(fast, slow)][:SENTENCES_MOST])


def _of_figures(fast: StretchRow, slow: StretchRow) -> list[str]:
    """What else tells them apart, the greatest difference first."""
    said = []
    for (name, (mine, unit)), (other, _) in zip(_figures(fast).items(), _figures(slow).values(), strict=True):
        if mine and other and (times := max(mine, other) / min(mine, other)) >= FIGURE_TIMES:
            of_slow = f"{three(other)}{unit} with {slow.look.label}"
            said.append((times, f"{name}: {three(mine)}{unit} with {fast.look.label}, {of_slow}."))
    return [text for _, text in sorted(said, reverse=True)]


def _figures(row: StretchRow) -> dict[str, tuple[float | None, str]]:
    """{what: (value, unit)}, besides the time of an I/O; None where it says nothing."""
    close = row.close
    is_array, is_split = close.drives > 1, close.has_parts
    # Requests of an array, or behind the page cache, are not of the load itself.
    merged = close.ios / max(len(close.requests), 1) if close.ios_of_load is None else None
    waiting = None if close.from_memory is None else 100 * (1 - close.from_memory)
    return {
        "Requests to the drives for one I/O": (row.commands if is_array else None, ""),
        "Time in which a drive works": (100 * (1 - close.idle_share) if is_array else None, " %"),
        "Requests of one thread served in a row": (close.turns, ""),
        "I/Os merged into one request": (merged, ""),
        "Size of a request to the drive": (None if waiting is None else row.kib, " KiB"),
        "Calls that wait for the drive": (waiting, " %"),
        "System CPU time per I/O": (None if is_split else row.cpu_us, " µs"),
        "Requests under way": (None if is_split else close.depth_mean, ""),
    }


def _of_parts(fast: StretchRow, slow: StretchRow) -> list[str]:
    """The part of an I/O's time that makes most of the difference, and what the fast one spends more on."""
    differences = {name: slow.parts.get(name, 0.0) - fast.parts.get(name, 0.0) for name in PART_WORDS}
    name = max(differences, key=lambda each: differences[each])
    more = slow.total - fast.total
    if differences[name] < 0.5 * more or more <= 0:
        return []
    share = f"{100 * differences[name] / more:.0f} % of the" if differences[name] < 0.95 * more else "The"
    detail = f"{_time(fast.parts[name])} per I/O instead of {_time(slow.parts[name])}"
    jumps = [statistics.fmean(one.close.jumps or [0.0]) for one in (fast, slow)]
    if name == "seek" and jumps[1] > 1.1 * jumps[0]:
        detail = f"the head moves {three(100 * jumps[0])} % of the drive between requests instead of {three(100 * jumps[1])} %"
    said = [f"{share} difference is {PART_WORDS[name]}: {detail}."]
    if against := [PART_WORDS[other] for other, value in differences.items() if value < -0.15 * more]:
        said.append(f"{fast.look.label} spends more on {' and '.join(against)} in return.")
    return said


def _of_directions(rows: Sequence[StretchRow]) -> str:
    """Why one job of several is slow while the storage as a whole is not: the direction whose latency differs most
    between two settings, and where the slower one spends it."""
    said: dict[float, str] = {}
    for write, (one, these) in enumerate((("A read", "writes"), ("A write", "reads"))):
        means = [(each.close.latency_of(write=bool(write)), each) for each in rows]
        known = sorted(
            (pair for pair in means if pair[0][2] >= DIRECTION_LEAST), key=lambda pair: pair[0][0] + pair[0][1]
        )
        if len(known) < 2:
            continue
        ((*short, _), fast), ((*long, _), slow) = known[0], known[-1]
        if sum(long) < DIRECTION_TIMES * sum(short) or not sum(short):
            continue
        where = "in the scheduler" if long[0] - short[0] > long[1] - short[1] else "at the drive, among more requests"
        ended = [sum(request.write != bool(write) for request in each.close.requests) for each in (fast, slow)]
        # What the other direction had to give for it, where that is plain.
        price = ended[1] >= DIRECTION_LEAST and 3 * ended[0] <= ended[1]
        said[sum(long) / sum(short)] = (
            f"{one} takes {_time(sum(short))} with {fast.look.label} and {_time(sum(long))} with {slow.look.label}. "
            f"It waits longer {where}: {_time(long[0])} in the scheduler and {_time(long[1])} at the drive, "
            f"with {fast.look.label} {_time(short[0])} and {_time(short[1])}."
            + (
                f" Meanwhile {ended[0]} {these} end with {fast.look.label}, {ended[1]} with {slow.look.label}."
                if price
                else ""
            )
        )
    return said[max(said)] if said else ""


def _time(ms: float) -> str:
    return latency_text(1e6 * ms)
