"""Why one setting is faster: one second of the loads in which settings differ most, request by request.

Simulated runs are simulated again from what their records keep; nothing has to be asked for beforehand. The time of one
I/O is split into parts that add up: seek, rotation, transfer, the drive's own work, and the time in which the drive had
nothing to do.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup, escape

from seekwise.judge.arrays import load_words
from seekwise.number_text import three
from seekwise.report import waits
from seekwise.report.charts import close_up_svg
from seekwise.report.looks import Look, Looks
from seekwise.report.waits import Column, Waits
from seekwise.simulate import close_up as again
from seekwise.store import operations
from seekwise.store.record import Record
from seekwise.trace.close_up import CloseUp, cut, threads_of
from seekwise.trace.excerpt import Traced
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.study import combination_key
from seekwise.workload.study.quantity import counted

LOADS_MOST = 3
SETTINGS_MOST = 4
DIFFERENT = 0.03
"""Settings closer than this share in a stretch are called alike: the rule's threshold of the rate."""
PART_WORDS = {
    "seek": "seeking",
    "rotation": "waiting for the platter to turn",
    "transfer": "transferring data",
    "own": "writing cached data to the platters",
    "idle": "an idle drive",
}


@dataclass(frozen=True)
class StretchRow:
    """One setting's stretch in numbers; times are ms per I/O and add up to `total`."""

    look: Look
    total: float
    parts: dict[str, float]
    iops: float
    merged: float
    """I/Os per request of the drive."""
    depth: float
    jump: float
    """Mean distance between requests, as a share of the drive."""
    turns: float | None
    cached: float | None
    idle_share: float = 0.0
    drives: int = 1
    commands: float = 1.0
    """Requests to the drives per I/O of the load."""
    cpu_us: float | None = None
    """System CPU time of one I/O in the whole trial, µs."""
    from_memory: float | None = None
    """Share of the calls that the page cache answered."""
    kib: float = 0.0
    """Mean size of a request of the drive."""
    reads: Waits | None = None
    writes: Waits | None = None


@dataclass(frozen=True)
class CloseUpSection:
    """One load, all its settings."""

    anchor: str
    title: str
    sentence: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    legend: Markup
    picture: Markup
    caption: str
    row_title: str = "Setting"


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
        if len(by_setting) < 2:
            continue
        means = {name: statistics.fmean(throughput for _, throughput in cuts) for name, cuts in by_setting.items()}
        order = sorted(means, key=lambda name: -means[name])
        gap = means[order[0]] - means[order[-1]]
        scatter = max(_scatter([throughput for _, throughput in by_setting[name]]) for name in (order[0], order[-1]))
        load = CloseUpLoad(
            combination, operation, gap if gap > 2 * scatter else 0.0, {n: by_setting[n][0][0] for n in order}
        )
        if operation not in best or load.gap > best[operation].gap:
            best[operation] = load
    return sorted(best.values(), key=lambda load: (-load.gap, operations.place(load.operation)))


def _scatter(throughputs: Sequence[float]) -> float:
    """Standard error of the mean of logarithms; zero for a single repeat, of which it is not known."""
    return statistics.stdev(throughputs) / math.sqrt(len(throughputs)) if len(throughputs) > 1 else 0.0


def stretches(records: Sequence[Record], looks: Looks, recommended: Sequence[str] = ()) -> list[CloseUpSection]:
    """The loads that differ, at most LOADS_MOST; where none does, the one that differs most shows why."""
    all_loads = loads(records)
    different = [load for load in all_loads if load.gap > DIFFERENT] or all_loads[:1]
    return [made for load in different[:LOADS_MOST] if (made := _stretch(load, looks, recommended)) is not None]


def _stretch(load: CloseUpLoad, looks: Looks, recommended: Sequence[str]) -> CloseUpSection | None:
    names = _settings_drawn(list(load.records), recommended)
    close = again.close_ups([load.records[name] for name in names], load.operation)
    if sum(len(excerpt.requests) > 1 for excerpt in close) < 2:
        return None
    cpu = {name: _cpu_us(load.records[name], load.operation) for name in names}
    title = operations.name(load.operation)
    return stretch(close, looks, title, where_words(load), left_out=len(load.records) - len(names), cpu_us=cpu)


def of_use(records: Sequence[Record], looks: Looks, title: str, recommended: str | None) -> CloseUpSection | None:
    """A use of a simulated `tune`; None where its records keep no spec, or one that cannot be traced."""
    kept: dict[str, Record] = {}
    throughputs: dict[str, list[float]] = {}
    for record in records:
        throughputs.setdefault(record.setting, []).append(sum(phase.iops for phase in record.phases))
        if isinstance(spec := record.load.get("spec"), dict) and again.traceable(spec):
            kept.setdefault(record.setting, record)
    order = sorted(kept, key=lambda name: -statistics.fmean(throughputs[name]))
    if len(order) < 2:
        return None
    names = _settings_drawn(order, [recommended] if recommended else [])
    asked = [(name, kept[name].load["spec"]) for name in names]
    speeds = [throughput for name in names if (throughput := statistics.fmean(throughputs[name])) > 0]
    close = again.of_specs(asked, asked[0][1]["phases"][-1]["operation"], speeds)
    if sum(len(excerpt.requests) > 1 for excerpt in close) < 2:
        return None
    return stretch(close, looks, f"{title}: all jobs together", left_out=len(order) - len(names), by_direction=True)


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
    return stretch(close, looks, f"{title}: all jobs together", by_direction=True, by_traces=True)


def _cpu_us(record: Record, operation: str) -> float | None:
    phases = [phase for phase in record.phases if phase.operation == operation]
    ios = sum(phase.ios for phase in phases)
    return 1e6 * sum(phase.cpu.system_cpu for phase in phases) / ios if ios else None


def where_words(load: CloseUpLoad) -> str:
    """System and load of a stretch in words."""
    system = combination_key.parse(load.combination)[1].get("system", "")
    return ", ".join(part for part in (system, load_words(load.combination)) if part)


def _settings_drawn(names: list[str], recommended: Sequence[str]) -> list[str]:
    """Fastest, slowest, the recommended one, then the next ones; in the order of their rates."""
    wanted = list(dict.fromkeys([names[0], names[-1], *(n for n in names if n in recommended), *names]))
    return sorted(wanted[:SETTINGS_MOST], key=names.index)


def stretch(
    close: Sequence[CloseUp],
    looks: Looks,
    title: str,
    where: str = "",
    *,
    left_out: int = 0,
    cpu_us: dict[str, float | None] | None = None,
    by_direction: bool = False,
    by_traces: bool = False,
) -> CloseUpSection:
    """Numbers, sentence and picture of stretches of one load. `by_direction`: jobs that differ are told by their reads
    and writes."""
    from seekwise.report.metric_words import shown_setting

    known = looks.by_label([shown_setting(excerpt.setting) for excerpt in close])
    rows = [
        row(excerpt, known[shown_setting(excerpt.setting)], (cpu_us or {}).get(excerpt.setting)) for excerpt in close
    ]
    threads = threads_of(close)
    places = close_up_svg.Range.spanning(close)
    panels = Markup("").join(
        close_up_svg.panel(excerpt, one.look, threads, places, f"{three(one.iops)} I/O per second")
        for excerpt, one in zip(close, rows, strict=True)
    )
    columns = _columns(rows)
    if by_direction:
        columns += waits.columns(rows)
    span = close[0].span_ms
    drives = max(excerpt.drives for excerpt in close)
    after = ""
    if close[0].whole is not None:
        after = f" out of {three(close[0].whole.span_ms / 1e3)} s{'' if by_traces else ' after a warm-up'}, to which the numbers above refer"
    is_split = any(one.parts is not None for excerpt in close for one in excerpt.requests)
    caption = (
        f"{'One second' if span >= 999.5 else f'{three(span)} ms'}{after}. From the top: {'position of the head' if is_split else 'address'} at each request "
        f"(of {close_up_svg.gigabytes(close[0].capacity_sectors)} GB{'; low: outer tracks' if is_split else ''}); what the drive does; each thread's requests, pale while the scheduler holds them, dark at the drive; "
        "requests under way."
    )
    if drives > 1:
        caption += " Shown is the first drive of the array; times in the table are those of all drives together."
    if len(threads) > close_up_svg.LANES_MOST:
        caption += f" Threads: the first {close_up_svg.LANES_MOST} of {len(threads)}."
    if left_out > 0:
        caption += f" {counted(left_out, 'more setting')} not shown."
    return CloseUpSection(
        "stretch-" + re.sub(r"[^a-z0-9]+", "-", f"{title} {where}".lower()).strip("-"),
        f"{title}{f', {where}' if where else ''}",
        (waits.sentence(rows) if by_direction else "") or sentence(rows),
        tuple((name, meaning) for name, meaning, _ in columns),
        tuple((one.look.label, tuple(text(one) for _, _, text in columns)) for one in rows),
        _legend(close),
        panels,
        caption,
    )


def row(close: CloseUp, look: Look, cpu_us: float | None = None) -> StretchRow:
    """Parts of the time of one I/O: the drive does one thing at a time, so they add up to the stretch."""
    close = close.whole or close
    # All drives of an array work alike: what one does, all do.
    per_io = close.drives / max(close.ios, 1)
    is_split = any(one.parts is not None for one in close.requests)
    parts = {
        name: per_io * sum(getattr(one.parts, name) for one in close.requests if one.parts is not None)
        for name in ("seek", "rotation", "transfer", "own")
        if is_split
    }
    idle = per_io * close.idle_share * close.span_ms
    total = per_io * close.span_ms
    parts["cache" if is_split else "work"] = max(0.0, total - idle - sum(parts.values()))
    if close.drives == 1:
        parts["idle"] = idle
    else:
        # Drives of an array wait for each other's part of a load: that is no cost of an I/O.
        total -= idle
    jumps = close.jumps
    return StretchRow(
        look,
        total,
        parts,
        1e3 * close.ios / close.span_ms,
        1.0 if close.ios_of_load is not None else close.ios / max(len(close.requests), 1),
        close.depth_mean,
        statistics.fmean(jumps) if jumps else 0.0,
        close.turns,
        close.cached_share,
        close.idle_share,
        close.drives,
        per_io * len(close.requests),
        cpu_us,
        close.from_memory,
        statistics.fmean(one.sectors for one in close.requests) / 2 if close.requests else 0.0,
        Waits.from_close_up(close, write=False),
        Waits.from_close_up(close, write=True),
    )


def _legend(close: Sequence[CloseUp]) -> Markup:
    """What colours and rows mean."""
    split = any(one.parts is not None for excerpt in close for one in excerpt.requests)
    kinds = close_up_svg.KINDS if split else (("busy", "drive at work"),)
    used = [
        k
        for k in kinds
        if k[0] != "own" or any(one.parts and one.parts.own > 0 for excerpt in close for one in excerpt.requests)
    ]
    keys = [*used, ("queued", "in the scheduler's queue"), ("drive", "at the drive")]
    return Markup("").join(
        Markup(
            '<span class="shape"><svg width="22" height="9" aria-hidden="true"><path class="k-{}" d="M0 4.5H22"/></svg> {}</span>'
        ).format(name, escape(text))
        for name, text in keys
    )


PARTS = (
    ("seek", "Seek", "Moving the head."),
    ("rotation", "Rotation", "Waiting until the sector passes the head."),
    ("transfer", "Transfer", "Data passing the head, and the command itself."),
    ("own", "Drive's own work", "Writing cached data to the platters in between."),
    ("cache", "From cache", "The drive answered from its memory."),
    ("work", "Drive at work", "The drive had at least one request."),
    ("idle", "Drive idle", "The drive had no request."),
)
"""(key, title, meaning) of the parts of a request's time."""


def _columns(rows: Sequence[StretchRow]) -> list[Column]:
    """(title, meaning, text of a row) of what is known and says something."""
    is_array = any(one.drives > 1 for one in rows)
    fine = max(one.total for one in rows) < 0.1
    unit = "µs" if fine else "ms"

    def time(value: float) -> str:
        return three(1e3 * value if fine else value) if value >= (5e-7 if fine else 5e-4) else "0"

    def part_time(part: str) -> Callable[[StretchRow], str]:
        return lambda one: time(one.parts.get(part, 0.0))

    columns: list[Column] = [("I/O per second", "I/Os of the load.", lambda one: three(one.iops))]
    if is_array:
        columns += [
            ("Requests per I/O", "Requests to all drives for one I/O of the load.", lambda one: three(one.commands)),
            (f"Drive time per I/O [{unit}]", "Working time of all drives together for one I/O; the next columns are its parts.", lambda one: time(one.total)),
        ]  # fmt: skip
    else:
        columns.append((f"Time per I/O [{unit}]", "Time divided by the I/Os done in it; the next columns are its parts.", lambda one: time(one.total)))  # fmt: skip
    if any(one.from_memory is not None for one in rows):
        columns += [
            ("From memory [%]", "Calls that the page cache answered without waiting for the drive.", lambda one: _share(one.from_memory)),
            ("Requests per I/O", "Requests to the drive for one call of the load: read-ahead and write-back put many calls into one.", lambda one: three(one.commands)),
            ("KiB per request", "Mean size of a request of the drive.", lambda one: three(one.kib)),
        ]  # fmt: skip
    for name, title, meaning in PARTS:
        if any(one.parts.get(name, 0.0) > 0.002 * one.total for one in rows):
            columns.append((f"{title} [{unit}]", meaning, part_time(name)))
    further: tuple[tuple[bool, str, str, Callable[[StretchRow], str]], ...] = (
        (True, "Distance [%]", "Mean distance between two requests on the drive, in per cent of its size.", lambda one: _share(one.jump)),
        (is_array, "Drive idle [%]", "Share of the time in which the first drive had no request.", lambda one: _share(one.idle_share)),
        (any(one.merged > 1.005 for one in rows), "I/Os per request", "How many I/Os the block layer merged into one request.", lambda one: three(one.merged)),
        (any(one.turns is not None for one in rows), "Requests in a row", "Requests of one thread served before another thread's turn, on average.", lambda one: three(one.turns)),
        (any(one.cpu_us for one in rows), "System CPU [µs]", "System CPU time of one I/O in the whole trial.", lambda one: three(one.cpu_us)),
        (True, "Under way", "Mean number of requests in scheduler and drive.", lambda one: three(one.depth)),
        (any(one.cached for one in rows), "Drive cache hits [%]", "Requests that the drive answered from its memory.", lambda one: _share(one.cached)),
    )  # fmt: skip
    return [*columns, *((title, meaning, text) for is_known, title, meaning, text in further if is_known)]


def _share(value: float | None) -> str:
    return "–" if value is None else three(100 * value) if value >= 0.00005 else "0"


def sentence(rows: Sequence[StretchRow]) -> str:
    """What sets the fastest apart from the slowest, in a few sentences."""
    if len(rows) < 2:
        return ""
    fast, slow = max(rows, key=lambda one: one.iops), min(rows, key=lambda one: one.iops)
    if slow.iops >= (1 - DIFFERENT) * fast.iops:
        alike = f"The settings dispatch alike here: {three(slow.iops)} to {three(fast.iops)} I/O per second."
        return alike + (_of_cache(fast, slow) if fast.from_memory is not None and slow.from_memory is not None else "")
    said = _of_array(fast, slow) if max(fast.drives, slow.drives) > 1 else _of_drive(fast, slow)
    if (
        not _names_turns(fast, slow)
        and slow.turns
        and fast.turns
        and max(slow.turns, fast.turns) > 3 * min(slow.turns, fast.turns)
    ):
        one, other = (slow, fast) if slow.turns > fast.turns else (fast, slow)
        said += (
            f" {one.look.label} serves {three(one.turns)} requests of one thread in a row while the others wait, "
            f"{other.look.label} {three(other.turns)}."
        )
    if fast.merged > 1.2 * slow.merged:
        said += f" {fast.look.label} merges {three(fast.merged)} I/Os into a request, {slow.look.label} {three(slow.merged)}."
    if fast.from_memory is not None and slow.from_memory is not None:
        said += _of_cache(fast, slow)
    is_split = "seek" in fast.parts
    if not is_split and fast.cpu_us and slow.cpu_us and slow.cpu_us > 1.1 * fast.cpu_us:
        said += f" {slow.look.label} needs {three(slow.cpu_us)} µs of system CPU per I/O, {fast.look.label} {three(fast.cpu_us)} µs."
    if not is_split and fast.depth > 1.1 * slow.depth:
        said += (
            f" {fast.look.label} keeps {three(fast.depth)} requests under way, {slow.look.label} {three(slow.depth)}."
        )
    return said


def _names_turns(fast: StretchRow, slow: StretchRow) -> bool:
    """Whether the sentences about the drive give the requests of one thread in a row as their reason already."""
    name, more, _ = _largest(fast, slow)
    return name == "seek" and more >= 0.5 * (slow.total - fast.total) > 0 and _seeks_less_by_turns(fast, slow)


def _seeks_less_by_turns(fast: StretchRow, slow: StretchRow) -> bool:
    return slow.jump > 1.1 * fast.jump and bool(fast.turns and slow.turns and fast.turns > 1.3 * slow.turns)


def _of_drive(fast: StretchRow, slow: StretchRow) -> str:
    said = f"An I/O takes {_time(fast.total)} with {fast.look.label} and {_time(slow.total)} with {slow.look.label}."
    more = slow.total - fast.total
    name, more_of_it, against = _largest(fast, slow)
    if name and more_of_it >= 0.5 * more:
        share = (
            f"{100 * more_of_it / more:.0f} % of the difference is" if more_of_it < 0.95 * more else "The difference is"
        )
        said += f" {share} {PART_WORDS[name]}{_detail(name, fast, slow)}."
        if against:
            said += f" {fast.look.label} spends more on {' and '.join(against)} in return."
    return said


def _of_cache(fast: StretchRow, slow: StretchRow) -> str:
    """What read-ahead and write-back made of the calls."""
    if max(fast.kib, slow.kib) > 1.1 * min(fast.kib, slow.kib):
        return f" Requests of the drive have {three(fast.kib)} KiB with {fast.look.label} and {three(slow.kib)} KiB with {slow.look.label}."
    if abs((fast.from_memory or 0.0) - (slow.from_memory or 0.0)) > 0.02:
        return f" The page cache answers {_share(fast.from_memory)} % of the calls with {fast.look.label} and {_share(slow.from_memory)} % with {slow.look.label}."
    return f" The page cache answers {_share(fast.from_memory)} % of the calls with both."


def _of_array(fast: StretchRow, slow: StretchRow) -> str:
    said = f"An I/O costs {_time(fast.total)} of the drives' time with {fast.look.label} and {_time(slow.total)} with {slow.look.label}."
    if slow.commands > 1.1 * fast.commands:
        said += f" {slow.look.label} sends {three(slow.commands)} requests to the drives for one I/O, {fast.look.label} {three(fast.commands)}."
    name, more, _ = _largest(fast, slow)
    if name and more >= 0.5 * (slow.total - fast.total) > 0:
        said += f" Most of the difference is {PART_WORDS[name]}{_detail(name, fast, slow)}."
    if slow.idle_share > fast.idle_share + 0.1:
        said += (
            f" A drive has nothing to do for {_share(slow.idle_share)} % of the time with {slow.look.label}, "
            f"for {_share(fast.idle_share)} % with {fast.look.label}."
        )
    return said


def _largest(fast: StretchRow, slow: StretchRow) -> tuple[str, float, list[str]]:
    """(the part that differs most in favour of the fast one, by how much, what the fast one spends more on)."""
    differences = {name: slow.parts.get(name, 0.0) - fast.parts.get(name, 0.0) for name in PART_WORDS}
    name = max(differences, key=lambda difference: differences[difference])
    more = slow.total - fast.total
    against = [PART_WORDS[other] for other, value in differences.items() if value < -0.15 * abs(more)]
    return (name if differences[name] > 0 else ""), differences[name], against


def _detail(name: str, fast: StretchRow, slow: StretchRow) -> str:
    """The figure that goes with the part."""
    if name == "seek" and slow.jump > 1.1 * fast.jump:
        text = f": the head moves {_share(fast.jump)} % of the drive between requests instead of {_share(slow.jump)} %"
        if _seeks_less_by_turns(fast, slow):
            text += f", because {three(fast.turns)} requests of one thread are served in a row instead of {three(slow.turns)}"
        return text
    if name == "rotation":
        return f": {_time(fast.parts['rotation'])} per I/O instead of {_time(slow.parts['rotation'])}"
    if name == "idle":
        return f": it has no request for {_share(slow.idle_share)} % of the time, with {fast.look.label} for {_share(fast.idle_share)} %"
    return f": {_time(fast.parts[name])} per I/O instead of {_time(slow.parts[name])}"


def _time(ms: float) -> str:
    return f"{three(ms)} ms" if ms >= 0.1 else f"{three(1e3 * ms)} µs"
