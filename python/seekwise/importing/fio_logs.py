"""fio's logs (`write_bw_log`, `write_lat_log`, `write_iops_log`, `write_hist_log`): the files of one prefix are one
trial.

    NAME_bw.1.log   time ms, KiB/s, direction, request size[, …]      one line per request, or per `log_avg_msec`
    NAME_lat.1.log  time ms, ns, direction, request size              (`clat`: completion; `slat`: submission)
    NAME_iops.1.log time ms, IOPS, direction, request size
    NAME_clat_hist.1.log  time ms, direction, request size, count of every bin of fio's histogram, per `log_hist_msec`

A log with a request size in every line holds every request: its histogram is exact. With 0 there, lines are averages
over a window: rate and IOPS come from them, the mean latency weighted by the requests of the windows, p99 only from a
histogram log. Of a window without requests fio writes no line (stat.c: `add_bw_samples`), so a line stands for its
window and not for the time since the last one; the window in which a run ends is not written either. fio before 3.0
wrote µs (`--given tool-version=2.21`). Logs do not say whether access was random: `--given operation=…`.

With `log_max_value=1` a line of latencies holds the longest request of its window instead of the mean, and looks the
same. fio's JSON of the run says so; of means, submission and completion add up to the whole, and rate × mean is no more
than the depth. `log_window_value=both` (fio 3.39) writes two columns, the mean and the longest.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from seekwise.bounds import RESULT_BYTES
from seekwise.errors import SeekwiseError
from seekwise.files import read_regular
from seekwise.importing import fio_documents
from seekwise.importing.result import KIB, ForeignError, Format, Given, Latency, Result, Source, ms, phase
from seekwise.store.operations import Operation

NAME = re.compile(r"^(?P<prefix>.+)_(?P<kind>bw|iops|lat|clat|slat|clat_hist)(?:\.(?P<job>\d+))?\.log$")
BIN_BITS = 6
BINS = 29 << BIN_BITS
"""fio 3 stat.h: FIO_IO_U_PLAT_NR, 29 groups of 2^6 bins."""


@dataclass(frozen=True, slots=True)
class LogLine:
    time_ms: float
    value: float
    direction: int
    size: int


@dataclass
class Log:
    """One file: its lines where they are averages, else what the requests add up to."""

    windows: list[LogLine] = field(default_factory=list)
    values: Counter[float] = field(default_factory=Counter)
    """{value of a request: how many}"""
    longest: float = 0.0
    """Of the requests, where lines have it besides their mean."""
    count: int = 0
    bytes: int = 0
    first_ms: float = math.inf
    last_ms: float = 0.0
    directions: set[int] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)


def is_log(path: Path) -> bool:
    """Whether a file is one of fio's logs, by its name."""
    return NAME.match(path.name) is not None


def may_be_empty(path: Path) -> bool:
    """Synchronous engines submit nothing: their logs of submission times are empty."""
    match = NAME.match(path.name)
    return match is not None and match["kind"] == "slat"


WRITTEN = ("write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log")
FOLDER_MOST = 200
"""JSON files of one folder that are asked whether they are of the run."""


def job_that_wrote(prefix: str, text: str, name: str) -> dict[str, str] | None:
    """The options of the job in fio's JSON whose logs begin with this prefix."""
    if '"write_' not in text or prefix not in text:
        return None
    try:
        runs, _ = fio_documents.runs(text, name)
    except (SeekwiseError, ValueError, TypeError, LookupError, AttributeError):
        return None
    for job in (job for run in runs for job in run.jobs):
        options: dict[str, str] = job["job options"]
        named = {options[option] or str(job.get("jobname")) for option in WRITTEN if option in options}
        if prefix in {Path(path).name for path in named}:
            return options
    return None


def without_those_of_json(sources: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """(sources, sentences): where fio's JSON of a run is imported, its logs would count the run a second time."""
    others = [source for source in sources if not is_log(source.path)]
    holds: dict[str, Source | None] = {}
    for source in sources:
        if is_log(source.path) and (key := _group(source)) not in holds:
            holds[key] = next(
                (
                    other
                    for other in others
                    if other.path.parent == source.path.parent
                    and job_that_wrote(Path(key).name, other.text, str(other.path)) is not None
                ),
                None,
            )
    left_out = [key for key, json in holds.items() if json]
    kept = [source for source in sources if not (is_log(source.path) and holds[_group(source)])]
    files, runs = len(sources) - len(kept), len(left_out)
    said = f"{files} logs of {f'{runs} runs' if runs > 1 else left_out[0] if left_out else ''} left out: fio's JSON holds the same, exactly"
    return kept, [said] if left_out else []


def _job_beside(group: str) -> tuple[str, dict[str, str]] | None:
    """(file, options) of fio's JSON of this run that lies in the folder of the logs."""
    folder, prefix = Path(group).parent, Path(group).name
    for path in sorted(folder.glob("*.json"))[:FOLDER_MOST]:
        try:
            text = read_regular(path, RESULT_BYTES).decode(errors="replace")
        except (OSError, ValueError):
            continue
        if (options := job_that_wrote(prefix, text, str(path))) is not None:
            return str(path), options
    return None


def _recognises(source: Source) -> bool:
    return NAME.match(source.path.name) is not None


def _group(source: Source) -> str:
    match = NAME.match(source.path.name)
    return f"{source.path.parent}/{match['prefix']}" if match else str(source.path)


def _read(sources: list[Source], given: Given) -> list[Result]:
    by_kind = _by_kind(sources)
    scale = 1e3 if (given.tool_version or "3").split(".")[0] in ("1", "2") else 1.0
    logs = {
        kind: {
            f"{_job(source)}.{number}": log
            for source in by_kind.get(kind, ())
            if source.data.strip()
            for number, log in enumerate(_by_job(_log(source)))
        }
        for kind in ("bw", "iops", "lat", "clat", "slat")
    }
    latency = logs["lat"] or logs["clat"]
    name = _group(sources[0])
    everything = [log for by_job in logs.values() for log in by_job.values()]
    bins, directions, last_ms = _histograms(by_kind.get("clat_hist", []), scale)
    last_ms = _without_epoch(everything, last_ms)
    seen_s = max([last_ms, *(log.last_ms for log in everything)]) / 1e3
    for log in everything:
        directions |= log.directions
    if seen_s <= 0:
        raise ForeignError(f"{name}: the logs cover no time", hint="a run must last at least one millisecond")
    every_request = bool(latency) and all(not log.windows for log in latency.values())
    if every_request and not bins:
        for log in latency.values():
            for value, count in log.values.items():
                bins[max(1, round(value * scale))] += count
    if not every_request:
        seen_s = _ended_s(logs["bw"] or logs["iops"], seen_s)
    total_bytes = (
        float(sum(log.bytes for log in latency.values())) if every_request else _total_bytes(logs["bw"], seen_s)
    )
    ios = _total_ios(logs["iops"], sum(bins.values()), seen_s)
    if total_bytes == 0 and given.block_bytes:
        total_bytes = ios * given.block_bytes
    if total_bytes == 0:
        raise ForeignError(
            f"{name}: these logs do not say how much was moved",
            hint="import the bandwidth log (write_bw_log) with them, or say `--given block=4k`",
        )
    mean, weighted = _mean(latency, logs["iops"] or logs["bw"])
    threads = given.threads or max(len(by_kind.get("clat_hist", ())), *(len(by_job) for by_job in logs.values()))
    beside = None if every_request else _job_beside(name)
    longest, said = max((log.longest for log in latency.values()), default=0.0), ""
    if latency and not every_request and not longest:
        depth = given.iodepth or (1 if "slat" in by_kind and not logs["slat"] else None)
        in_flight = mean * scale / 1e9 * ios / seen_s / threads if weighted else 0.0
        are_means = _are_means(logs, beside[1] if beside else None, in_flight / depth if depth else 0.0)
        if are_means is False:
            mean, longest = 0.0, max(row.value for log in latency.values() for row in log.windows)
            said = (
                f"{name}: the log of latencies has the longest request of each window (log_max_value), not the mean, "
                f"which is not known; the longest of all took {ms(longest * scale)}"
            )
        elif are_means is None:
            said = (
                f"{name}: latencies are of windows, each with the mean or, with log_max_value, the longest of its requests, "
                "and nothing here says which: taken for means (the depth decides, `--given iodepth=N`, or fio's JSON of this run)"
            )
    timed = phase(
        _operation(name, directions, given, beside[0] if beside else None),
        elapsed_s=seen_s,
        total_bytes=total_bytes,
        ios=ios,
        latency=Latency(
            bins=dict(bins),
            mean_ns=mean * scale if mean and (weighted or not bins) else _mean_of_bins(bins),
            # The highest of averages is no request.
            max_ns=max(bins, default=longest * scale),
        ),
        logs=sorted(by_kind),
        every_request=every_request,
    )
    return [
        Result(
            phases=(timed,),
            tool=f"fio-{given.tool_version or '3'}",
            threads=threads,
            block_bytes=given.block_bytes or _block(everything),
            iodepth=given.iodepth,
            options={"logs": [str(source.path) for source in sources]},
            leads=said,
            notes=_notes(has_bins=bool(bins), alike=bool(latency) and not weighted, beside=beside[0] if beside else ""),
        )
    ]


EPOCH_MS = 1e11
"""A time beyond this is no time since a start: `log_unix_epoch` counts from 1970, and this is 1973."""


def _without_epoch(logs: list[Log], last_ms: float) -> float:
    """Times since the start in place of those since 1970, told by the first line and the window that it ends; the last
    of the histograms."""
    first_ms = min((log.first_ms for log in logs if log.count), default=0.0)
    if first_ms < EPOCH_MS:
        return last_ms
    start_ms = first_ms
    for log in logs:
        log.windows = sorted(log.windows, key=lambda row: row.time_ms)
        if log.windows:
            since = [replace(row, time_ms=row.time_ms - log.first_ms) for row in log.windows]
            later = [row for row in since if row.time_ms > 0]
            start_ms = min(start_ms, log.first_ms - (_window_ms(later) if later else 0.0))
    for log in logs:
        log.windows = [replace(row, time_ms=row.time_ms - start_ms) for row in log.windows]
        log.last_ms -= start_ms
    return max(0.0, last_ms - start_ms)


SAME = 0.02
"""How near the sum of two means is to the third, in shares of the smallest."""
BEYOND = 1.1
"""Times the depth: more requests than that cannot be in flight."""
FULL = 0.5
"""Of the depth: as many are in flight where requests follow each other."""


def _are_means(logs: dict[str, dict[str, Log]], options: dict[str, str] | None, of_depth: float) -> bool | None:
    """Whether latencies of windows are means or the longest requests (`log_max_value`); None where nothing says so.

    `of_depth`: requests in flight if they are means, as a share of the depth; 0 where that is not known.
    """
    if options is not None:
        asked = options.get("log_max_value", options.get("log_window_value", "0"))
        return asked not in ("1", "max", "")
    parts = [
        {(job, row.time_ms, row.direction): row.value for job, log in logs[kind].items() for row in log.windows}
        for kind in ("slat", "clat", "lat")
    ]
    shared = [tuple(part[key] for part in parts) for key in parts[0] if key in parts[1] and key in parts[2]]
    if shared:
        add_up = sum(abs(slat + clat - lat) <= SAME * slat + 3 for slat, clat, lat in shared)
        return add_up > len(shared) / 2
    return False if of_depth > BEYOND else True if of_depth >= FULL else None


def _notes(*, has_bins: bool, alike: bool, beside: str) -> tuple[str, ...]:
    said = ["fio's logs have no CPU time"]
    if beside:
        said.append(f"{beside} holds the same run: import it in place of the logs, its figures are exact")
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
    by_kind: dict[str, list[Source]] = {}
    for source in sources:
        match = NAME.match(source.path.name)
        if match is None:
            raise source.error("is no fio log by its name", hint="fio writes NAME_bw.1.log, NAME_lat.1.log and so on")
        by_kind.setdefault(match["kind"], []).append(source)
    return by_kind


LINE = re.compile(r"[^\n]+")


def _log(source: Source, *, averages: bool = False, both: bool = False) -> Log:
    """`averages`: keep each line. A log is one of averages where any line has no request size. `both`: the longest
    request follows the mean."""
    log = Log()
    for number, match in enumerate(LINE.finditer(source.text), 1):
        fields = match[0].split(",")
        if len(fields) < 4:
            if not match[0].strip():
                continue
            raise source.error(f"line {number} has {len(fields)} fields, a log line has at least 4: {match[0][:40]!r}")
        time_ms = source.number(fields[0], f"line {number}: time")
        value = source.number(fields[1], f"line {number}: value")
        if both:
            log.longest = max(log.longest, source.number(fields.pop(2), f"line {number}: longest"))
        direction = source.whole(fields[2], f"line {number}: direction")
        if direction > 2 and not both and len(fields) > 4 and fields[3].strip() in ("0", "1", "2"):
            return _log(source, averages=True, both=True)
        if direction > 2:
            raise source.error(f"line {number}: direction {direction} is none of 0 (read), 1 (write), 2 (trim)")
        if direction == 2:
            continue
        size = source.whole(fields[3], f"line {number}: request size")
        if size == 0 and not averages:
            return _log(source, averages=True, both=both)
        if averages:
            log.windows.append(LogLine(time_ms, value, direction, size))
        else:
            log.values[value] += 1
        log.count += 1
        log.bytes += size
        log.first_ms = min(log.first_ms, time_ms)
        log.last_ms = max(log.last_ms, time_ms)
        log.directions.add(direction)
        log.sizes.add(size)
    if not log.count:
        raise source.error("is empty")
    return log


def _by_job(log: Log) -> list[Log]:
    """With `per_job_logs=0` fio appends job after job to one file: where the time goes back, the next one begins."""
    starts = [at for at, (row, then) in enumerate(itertools.pairwise(log.windows), 1) if then.time_ms < row.time_ms]
    if not starts:
        return [log]
    parts = [log.windows[start:end] for start, end in itertools.pairwise([0, *starts, len(log.windows)])]
    return [
        replace(log, windows=part, count=len(part), first_ms=part[0].time_ms, last_ms=part[-1].time_ms)
        for part in parts
    ]


def _histograms(sources: list[Source], scale: float) -> tuple[Counter[int], set[int], float]:
    """As `_histogram`, of all jobs."""
    bins, directions, last_ms = Counter[int](), set[int](), 0.0
    for source in sources:
        histogram, of_job, end_ms = _histogram(source, scale)
        bins.update(histogram)
        directions |= of_job
        last_ms = max(last_ms, end_ms)
    return bins, directions, last_ms


def _histogram(source: Source, scale: float) -> tuple[Counter[int], set[int], float]:
    """(bins, directions, last time in ms); each line counts the requests of its interval."""
    bins, directions, last_ms = Counter[int](), set(), 0.0
    for number, line in enumerate(source.lines, 1):
        fields = line.split(",")
        coarse = (BINS // max(len(fields) - 3, 1)).bit_length() - 1
        if (len(fields) - 3) << max(coarse, 0) != BINS:
            raise source.error(
                f"line {number} has {len(fields) - 3} bins instead of {BINS}, or a half, a quarter … of that",
                hint="logs of fio before 3.0 are not read",
            )
        last_ms = max(last_ms, source.number(fields[0], f"line {number}: time"))
        directions.add(source.whole(fields[1], f"line {number}: direction"))
        for index, text in enumerate(fields[3:]):
            if text.strip() != "0":
                bins[round(upper_bound_ns(((index + 1) << coarse) - 1) * scale)] += source.whole(
                    text, f"line {number}: bin {index}"
                )
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


def _total_bytes(logs: dict[str, Log], end_s: float) -> float:
    return sum(_total(log.windows, end_s) * KIB if log.windows else log.bytes for log in logs.values())


def _total_ios(logs: dict[str, Log], counted: int, end_s: float) -> float:
    if counted:
        return float(counted)
    return sum(_total(log.windows, end_s) if log.windows else log.count for log in logs.values())


def _total(job: list[LogLine], end_s: float) -> float:
    """Amounts of a file up to the end. A direction whose last window is not written goes on as before."""
    window, amounts, total = _window_ms(job), _amounts(job), 0.0
    for direction in {row.direction for row in job}:
        mine = [(row.time_ms, amount) for row, amount in zip(job, amounts, strict=True) if row.direction == direction]
        last_ms = max(time_ms for time_ms, _ in mine)
        rest = end_s * 1e3 / last_ms if end_s * 1e3 - last_ms <= (1 + NEAR) * window else 1.0
        total += sum(amount for _, amount in mine) * max(rest, 1.0)
    return total


NEAR = 0.2
"""Windows end a few milliseconds late on a busy machine."""


AT_ONCE = 0.1
"""Lines nearer to each other than this share of the first window are of one window: both directions, or several jobs in
one file."""


def _ends_ms(job: list[LogLine]) -> list[float]:
    """When the windows of a file ended."""
    times = sorted(row.time_ms for row in job)
    ends = times[:1]
    for time_ms in times[1:]:
        if time_ms - ends[-1] > AT_ONCE * max(times[0], 1.0):
            ends.append(time_ms)
    return ends


def _window_ms(job: list[LogLine]) -> float:
    """The length of the windows: the shortest distance between lines that is no exception.

    One that is shorter counts where the one before it was not late by as much: then the usual distance holds windows
    without requests.
    """
    gaps = [later - earlier for earlier, later in itertools.pairwise([0.0, *_ends_ms(job)])]
    if not gaps:
        return 0.0
    ordered = sorted(gaps)
    usual = next(
        (
            gap
            for gap in ordered
            if sum(1 for other in ordered if gap <= other <= gap * (1 + NEAR)) >= NEAR * len(ordered)
        ),
        ordered[len(ordered) // 2],
    )
    shorter = [
        gap
        for before, gap in itertools.pairwise([0.0, *gaps])
        if gap < usual * (1 - NEAR) and abs((before + gap) / usual - round((before + gap) / usual)) > NEAR
    ]
    return min(shorter) if len(shorter) > 1 else usual


def _amounts(job: list[LogLine]) -> list[float]:
    """Averages as amounts: value × the seconds of its window; the measured length where the window before is there,
    too."""
    window = _window_ms(job)
    before: dict[int, float] = {}
    amounts = []
    for row in job:
        since = row.time_ms - before.get(row.direction, 0.0)
        length = since if abs(since - window) <= NEAR * window else window
        amounts.append(row.value * length / 1e3)
        before[row.direction] = row.time_ms
    return amounts


def _ended_s(logs: dict[str, Log], seen_s: float) -> float:
    """Until when amounts were written: the window in which the run ended is in the log of latencies alone."""
    if not logs or any(not log.windows for log in logs.values()):
        return seen_s
    last_s = max(log.last_ms for log in logs.values()) / 1e3
    window_s = max(_window_ms(log.windows) for log in logs.values()) / 1e3
    return last_s if last_s > 0 and seen_s - last_s <= (1 + NEAR) * window_s else seen_s


def _mean(latency: dict[str, Log], amounts: dict[str, Log]) -> tuple[float, bool]:
    """(mean latency, whether each request counts alike)."""
    weighted = alike = count = lines = 0.0
    for name, log in latency.items():
        if not log.windows:
            weighted += sum(value * number for value, number in log.values.items())
            count += log.count
            continue
        counts = amounts[name].windows if name in amounts else []
        for row, number in zip(log.windows, _requests(log.windows, counts), strict=True):
            weighted, count = weighted + row.value * number, count + number
            alike, lines = alike + row.value, lines + 1
    if count > 0:
        return weighted / count, True
    return (alike / lines if lines else 0.0), not latency


def _requests(job: list[LogLine], log: list[LogLine]) -> list[float]:
    """How many requests each line averages: those of the windows that ended since the line before it, of the same
    direction."""
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


def _block(logs: list[Log]) -> int | None:
    sizes = {size for log in logs for size in log.sizes if size > 0}
    return sizes.pop() if len(sizes) == 1 else None


def _operation(name: str, directions: set[int], given: Given, beside: str | None) -> Operation:
    if given.operation is not None:
        return given.operation
    if len(directions) > 1:
        return "mixed"
    side = "write" if directions == {1} else "read"
    raise ForeignError(
        f"{name}: fio's logs do not say whether access was sequential or random",
        hint=f"say it: `--given operation=rand_{side}` or `--given operation=seq_{side}`"
        + (f"; or import {beside}, which holds the same run" if beside else ""),
    )


FORMAT = Format(
    "fio-logs",
    "fio logs (bw, lat, clat, iops, clat_hist)",
    _recognises,
    _read,
    group=_group,
    takes=("operation", "threads", "block", "iodepth", "tool-version"),
)
