"""fio's logs (`write_bw_log`, `write_lat_log`, `write_iops_log`, `write_hist_log`): the files of one prefix are one trial.

    NAME_bw.1.log   time ms, KiB/s, direction, request size[, …]      one line per request, or per `log_avg_msec`
    NAME_lat.1.log  time ms, ns, direction, request size              (`clat`: completion; `slat` is not used)
    NAME_iops.1.log time ms, IOPS, direction, request size
    NAME_clat_hist.1.log  time ms, direction, request size, count of every bin of fio's histogram, per `log_hist_msec`

A log with a request size in every line holds every request: its histogram is exact. With 0 there, lines are averages over a
window: rate and IOPS come from them, the mean latency weighted by the requests of the windows, p99 only from a histogram log. Of a
window without requests fio writes no line (stat.c: `add_bw_samples`), so a line stands for its window and not for the time since the
last one; the window in which a run ends is not written either. fio before 3.0 wrote µs (`--given tool-version=2.21`). Logs do not say
whether access was random: `--given operation=…`.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from seekwise.importing.result import KIB, ForeignError, Format, Given, Result, Source, phase
from seekwise.store.operations import Operation

NAME = re.compile(r"^(?P<prefix>.+)_(?P<kind>bw|iops|lat|clat|slat|clat_hist)(?:\.(?P<job>\d+))?\.log$")
BIN_BITS = 6
BINS = 29 << BIN_BITS
"""fio 3 stat.h: FIO_IO_U_PLAT_NR, 29 groups of 2^6 bins."""


@dataclass(frozen=True)
class LogLine:
    time_ms: float
    value: float
    direction: int
    size: int


def is_unused(path: Path) -> bool:
    """Logs of submission times are not used; those of synchronous engines are empty."""
    match = NAME.match(path.name)
    return match is not None and match["kind"] == "slat"


def _recognises(source: Source) -> bool:
    return NAME.match(source.path.name) is not None


def _group(source: Source) -> str:
    match = NAME.match(source.path.name)
    return f"{source.path.parent}/{match['prefix']}" if match else str(source.path)


def _read(sources: list[Source], given: Given) -> list[Result]:
    by_kind = _by_kind(sources)
    scale = 1e3 if (given.tool_version or "3").split(".")[0] in ("1", "2") else 1.0
    rows = {
        kind: {_job(source): _rows(source) for source in by_kind.get(kind, ())}
        for kind in ("bw", "iops", "lat", "clat")
    }
    latency = rows["lat"] or rows["clat"]
    jobs = max(len(each) for each in by_kind.values())
    name = _group(sources[0])
    everything = [row for each in rows.values() for job in each.values() for row in job]
    bins, directions, last_ms = _histograms(by_kind.get("clat_hist", []), scale)
    seen_s = max((row.time_ms for row in everything), default=0.0) / 1e3
    seen_s = max(seen_s, last_ms / 1e3)
    directions |= {row.direction for row in everything}
    if seen_s <= 0:
        raise ForeignError(f"{name}: the logs cover no time", hint="a run must last at least one millisecond")
    timed = [row for job in latency.values() for row in job]
    every_request = bool(timed) and all(row.size > 0 for row in timed)
    if every_request and not bins:
        bins = Counter(max(1, round(row.value * scale)) for row in timed)
    if not every_request:
        seen_s = _ended_s(rows["bw"] or rows["iops"], seen_s)
    total_bytes = float(sum(row.size for row in timed)) if every_request else _total_bytes(rows["bw"])
    ios = _total_ios(rows["iops"], sum(bins.values()))
    if total_bytes == 0 and given.block_bytes:
        total_bytes = ios * given.block_bytes
    if total_bytes == 0:
        raise ForeignError(
            f"{name}: these logs do not say how much was moved",
            hint="import the bandwidth log (write_bw_log) with them, or say `--given block=4k`",
        )
    mean_ns, weighted = _mean(latency, rows["iops"] or rows["bw"], every_request)
    # The highest of averages is no request.
    longest = max((row.value for row in timed), default=0.0) * scale if every_request else max(bins, default=0)
    made = phase(
        _operation(name, directions, given),
        elapsed_s=seen_s,
        total_bytes=total_bytes,
        ios=ios,
        bins=dict(bins),
        mean_ns=mean_ns * scale if mean_ns and (weighted or not bins) else _mean_of_bins(bins),
        max_ns=longest,
        logs=sorted(by_kind),
        every_request=every_request,
    )
    return [
        Result(
            phases=(made,),
            tool=f"fio-{given.tool_version or '3'}",
            threads=given.threads or jobs,
            block_bytes=given.block_bytes or _block(everything),
            iodepth=given.iodepth,
            options={"logs": [str(source.path) for source in sources]},
            notes=_notes(has_bins=bool(bins), alike=bool(timed) and not weighted),
        )
    ]


def _notes(*, has_bins: bool, alike: bool) -> tuple[str, ...]:
    said = ["fio's logs have no CPU time"]
    if alike and not has_bins:
        said.append(
            "the mean latency counts every window alike: the log of IOPS, imported with it, says how many requests each had"
        )
    if not has_bins:
        said.append(
            "p99 is absent: these logs hold averages (write_hist_log, or no log_avg_msec, keeps the distribution)"
        )
    return tuple(said)


def _by_kind(sources: list[Source]) -> dict[str, list[Source]]:
    """{bw, iops, lat, clat or clat_hist: logs of that kind}"""
    found: dict[str, list[Source]] = {}
    for source in sources:
        match = NAME.match(source.path.name)
        if match is None:
            raise source.error("is no fio log by its name", hint="fio writes NAME_bw.1.log, NAME_lat.1.log and so on")
        found.setdefault(match["kind"], []).append(source)
    return found


def _rows(source: Source) -> list[LogLine]:
    rows = []
    for number, line in enumerate(source.lines, 1):
        if not line.strip():
            continue
        fields = line.split(",")
        if len(fields) < 4:
            raise source.error(f"line {number} has {len(fields)} fields, a log line has at least 4: {line[:40]!r}")
        time_ms, value = (source.number(text, f"line {number}: {what}") for text, what in zip(fields, ("time", "value"), strict=False))  # fmt: skip
        direction = source.whole(fields[2], f"line {number}: direction")
        if direction > 2:
            raise source.error(f"line {number}: direction {direction} is none of 0 (read), 1 (write), 2 (trim)")
        if direction < 2:
            rows.append(LogLine(time_ms, value, direction, source.whole(fields[3], f"line {number}: request size")))
    if not rows:
        raise source.error("is empty")
    return rows


def _histograms(sources: list[Source], scale: float) -> tuple[Counter[int], set[int], float]:
    """As `_histogram`, of all jobs."""
    bins, directions, last_ms = Counter[int](), set[int](), 0.0
    for source in sources:
        found, of_job, end_ms = _histogram(source, scale)
        bins.update(found)
        directions |= of_job
        last_ms = max(last_ms, end_ms)
    return bins, directions, last_ms


def _histogram(source: Source, scale: float) -> tuple[Counter[int], set[int], float]:
    """(bins, directions, last time in ms); each line counts the requests of its interval."""
    bins, directions, last_ms = Counter[int](), set(), 0.0
    for number, line in enumerate(source.lines, 1):
        fields = line.split(",")
        if len(fields) - 3 != BINS:
            raise source.error(
                f"line {number} has {len(fields) - 3} bins instead of {BINS}",
                hint="logs with `log_hist_coarseness` or of fio before 3.0 are not read",
            )
        last_ms = max(last_ms, source.number(fields[0], f"line {number}: time"))
        directions.add(source.whole(fields[1], f"line {number}: direction"))
        for index, text in enumerate(fields[3:]):
            if text.strip() != "0":
                bins[round(upper_bound_ns(index) * scale)] += source.whole(text, f"line {number}: bin {index}")
    if not directions:
        raise source.error("is empty")
    return bins, directions, last_ms


def upper_bound_ns(index: int) -> int:
    """Largest value of bin `index` of fio's histogram: exact below 2^7, then 2^6 bins for every power of two."""
    if index < 1 << (BIN_BITS + 1):
        return index
    group, place = index >> BIN_BITS, index & ((1 << BIN_BITS) - 1)
    width = 1 << (group - 1)
    return (1 << (group + BIN_BITS - 1)) + place * width + width - 1


def _job(source: Source) -> str:
    match = NAME.match(source.path.name)
    return (match["job"] if match else None) or ""


def _total_bytes(logs: dict[str, list[LogLine]]) -> float:
    return sum(
        sum(row.size for row in job)
        if all(row.size > 0 for row in job)
        else sum(amount * KIB for amount in _amounts(job))
        for job in logs.values()
    )


def _total_ios(logs: dict[str, list[LogLine]], counted: int) -> float:
    if counted:
        return float(counted)
    return sum(len(job) if all(row.size > 0 for row in job) else sum(_amounts(job)) for job in logs.values())


NEAR = 0.2
"""Windows end a few milliseconds late on a busy machine."""


def _window_ms(job: list[LogLine]) -> float:
    """The length of the windows: the shortest distance between lines that is no exception."""
    times = sorted({0.0, *(row.time_ms for row in job)})
    gaps = sorted(later - earlier for earlier, later in itertools.pairwise(times))
    for gap in gaps:
        if sum(1 for other in gaps if gap <= other <= gap * (1 + NEAR)) >= NEAR * len(gaps):
            return gap
    return gaps[len(gaps) // 2] if gaps else 0.0


def _amounts(job: list[LogLine]) -> list[float]:
    """Averages as amounts: value × the seconds of its window; the measured length where the window before is there, too."""
    window = _window_ms(job)
    before: dict[int, float] = {}
    amounts = []
    for row in job:
        since = row.time_ms - before.get(row.direction, 0.0)
        length = since if abs(since - window) <= NEAR * window else window
        amounts.append(row.value * length / 1e3)
        before[row.direction] = row.time_ms
    return amounts


def _ended_s(logs: dict[str, list[LogLine]], seen_s: float) -> float:
    """Until when amounts were written: the window in which the run ended is in the log of latencies alone."""
    if not logs or any(row.size > 0 for job in logs.values() for row in job):
        return seen_s
    last_s = max(row.time_ms for job in logs.values() for row in job) / 1e3
    window_s = max(_window_ms(job) for job in logs.values()) / 1e3
    return last_s if seen_s - last_s <= (1 + NEAR) * window_s else seen_s


def _mean(
    latency: dict[str, list[LogLine]], amounts: dict[str, list[LogLine]], every_request: bool
) -> tuple[float, bool]:
    """(mean latency, whether each request counts alike)."""
    timed = [row for job in latency.values() for row in job]
    if not timed or every_request:
        return (sum(row.value for row in timed) / len(timed) if timed else 0.0), True
    weighted = count = 0.0
    for name, job in latency.items():
        for row, number in zip(job, _requests(job, amounts.get(name, [])), strict=True):
            weighted, count = weighted + row.value * number, count + number
    if count > 0:
        return weighted / count, True
    return sum(row.value for row in timed) / len(timed), False


def _requests(job: list[LogLine], log: list[LogLine]) -> list[float]:
    """How many requests each line averages: those of the windows that ended since the line before it, of the same direction."""
    window = _window_ms(log) if log else 0.0
    numbers = [0.0] * len(job)
    for direction in {row.direction for row in job}:
        mine = [
            (row.time_ms, amount) for row, amount in zip(log, _amounts(log), strict=True) if row.direction == direction
        ]
        mine.sort()
        places = sorted((row.time_ms, place) for place, row in enumerate(job) if row.direction == direction)
        at = 0
        for time_ms, place in places:
            while at < len(mine) and mine[at][0] <= time_ms + NEAR * window:
                numbers[place] += mine[at][1]
                at += 1
    return numbers


def _mean_of_bins(bins: Counter[int]) -> float:
    count = sum(bins.values())
    return sum(bound * number for bound, number in bins.items()) / count if count else 0.0


def _block(rows: list[LogLine]) -> int | None:
    sizes = {row.size for row in rows if row.size > 0}
    return sizes.pop() if len(sizes) == 1 else None


def _operation(name: str, directions: set[int], given: Given) -> Operation:
    if given.operation is not None:
        return given.operation
    if len(directions) > 1:
        return "mixed"
    side = "write" if directions == {1} else "read"
    raise ForeignError(
        f"{name}: fio's logs do not say whether access was sequential or random",
        hint=f"say it: `--given operation=rand_{side}` or `--given operation=seq_{side}`",
    )


FORMAT = Format(
    "fio-logs",
    "fio logs (bw, lat, clat, iops, clat_hist)",
    _recognises,
    _read,
    group=_group,
    takes=("operation", "threads", "block", "iodepth", "tool-version"),
)
