"""What fio logged of each operation: end, latency, bytes.

Format (fio HOWTO, "Log File Formats"): `time in ms, latency in ns, direction, block size, offset[, priority]`, a line
per operation in the order of completion; with `log_unix_epoch=1` the time counts from 1970.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seekwise.errors import SeekwiseError
from seekwise.judge.decision.periods import JobPeriod, histogram

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Operations:
    """Operations of one job in the order of their ends, all of its processes together. Arrays of equal length."""

    end_s: Array
    """Seconds since 1970, to the millisecond."""
    latency_ns: Array
    bytes: Array
    process: NDArray[np.int64]
    waited_share: Array | None = None
    """Of units: the share of their time in which they did not compute."""
    cached_share: Array | None = None
    """Of units: the share of their data that was in memory when they began, after eviction."""

    @property
    def start_s(self) -> Array:
        """Seconds since 1970, shape (operations,); not sorted, since the ends are."""
        return self.end_s - self.latency_ns / 1e9


EMPTY = Operations(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, dtype=int))


def read(files: Mapping[str, bytes], prefixes: tuple[str, ...]) -> Operations:
    """One job's operations from the logs of its processes, `PREFIX_lat.N.log` by fio's naming. Nothing logged is no
    operations."""
    parts = []
    for number, prefix in enumerate(prefixes):
        for name in sorted(name for name in files if name.startswith(f"{prefix}_lat.")):
            table = parse(files[name], name)
            if len(table):
                parts.append((table, np.full(len(table), number)))
    if not parts:
        return EMPTY
    table = np.concatenate([part for part, _ in parts])
    process = np.concatenate([part for _, part in parts])
    order = np.argsort(table[:, 0], kind="stable")
    table, process = table[order], process[order]
    return Operations(table[:, 0] / 1e3, table[:, 1], table[:, 3], process)


def parse(text: bytes, name: str) -> Array:
    """Rows of one log. Raises SeekwiseError when it is no log of latencies."""
    first, _, _ = text.partition(b"\n")
    if not first.strip():
        return np.zeros((0, 4))
    columns = first.count(b",") + 1
    if columns < 4:
        raise SeekwiseError(f"fio's log {name} has {columns} columns instead of 5", hint="fio 3.0 or newer is needed")
    # A log whose writer was killed may end within a line.
    whole = text[: text.rfind(b"\n") + 1]
    values = np.fromstring(whole.replace(b"\n", b",").decode("ascii", "replace"), sep=",")
    if len(values) % columns:
        raise SeekwiseError(f"fio's log {name} cannot be read: a line has not {columns} columns")
    return values.reshape(-1, columns)[:, :4]


def within(operations: Operations, start_s: float, end_s: float, since_s: float | None = None) -> JobPeriod:
    """What happened from `start_s` to `end_s` (seconds since 1970); `since_s`: when the setting came into force.

    Bytes of requests count when they are complete. Latencies are those of operations that began under the setting and
    ended in the window. One that is still under way at its end counts with its age when it is among the longest, so
    that a stall is not overlooked because it outlasts the period.
    """
    since = start_s if since_s is None else since_s
    seconds = max(0.0, end_s - start_s)
    low, high = np.searchsorted(operations.end_s, [start_s, end_s])
    start = operations.start_s
    if operations.waited_share is None:
        moved = float(operations.bytes[low:high].sum())
    else:
        moved = _moved_within(operations, start, low, start_s, end_s)
    # fio's clock of the log has milliseconds: an operation is not older than its end allows.
    latencies = operations.latency_ns[low:high][start[low:high] >= since - 1e-3]
    later = slice(high, min(len(start), high + 4096))
    begun = start[later][start[later] < end_s]
    open_ages = (end_s - np.maximum(begun, since)) * 1e9
    if len(open_ages):
        least = np.quantile(latencies, 0.9) if len(latencies) else 0.0
        latencies = np.concatenate([latencies, open_ages[open_ages >= least]])
    return JobPeriod(seconds, int(high - low), int(moved), float(latencies.sum()), histogram(latencies))


def _moved_within(operations: Operations, start: Array, low: int, start_s: float, end_s: float) -> float:
    """Bytes of units in a window, each in proportion to its time there: the copy of a file is seldom done within one
    period."""
    if end_s <= start_s or low == len(start):
        return 0.0
    inside = np.minimum(operations.end_s[low:], end_s) - np.maximum(start[low:], start_s)
    lasted = np.maximum(operations.latency_ns[low:] / 1e9, 1e-9)
    return float((operations.bytes[low:] * np.clip(inside / lasted, 0.0, 1.0)).sum())


def shares(operations: Operations, start_s: float, end_s: float) -> dict[str, float]:
    """What is known of the units that ended in a window: time spent waiting, data that was still cached; empty for
    fio."""
    shares_of: dict[str, float] = {}
    low, high = np.searchsorted(operations.end_s, [start_s, end_s])
    if operations.waited_share is None or operations.cached_share is None or low == high:
        return shares_of
    took = operations.latency_ns[low:high]
    if took.sum() > 0:
        shares_of["waiting_share"] = round(float((operations.waited_share[low:high] * took).sum() / took.sum()), 4)
    shares_of["cached_share"] = round(float(operations.cached_share[low:high].mean()), 4)
    return shares_of


def profile(operations: Operations, start_s: float, end_s: float, bin_s: float) -> tuple[list[float], list[float]]:
    """(rate in bytes/s, mean latency in ns or NaN) in equal bins from `start_s` on; a last partial bin is left out."""
    count = max(0, math.floor((end_s - start_s) / bin_s + 1e-9))
    if count == 0:
        return [], []
    low, high = np.searchsorted(operations.end_s, [start_s, start_s + count * bin_s])
    place = np.minimum(((operations.end_s[low:high] - start_s) / bin_s).astype(int), count - 1)
    moved = np.bincount(place, weights=operations.bytes[low:high], minlength=count)
    waited = np.bincount(place, weights=operations.latency_ns[low:high], minlength=count)
    number = np.bincount(place, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(number > 0, waited / number, np.nan)
    return (moved / bin_s).tolist(), mean.tolist()


def per_process_throughputs(operations: Operations, start_s: float, end_s: float, processes: int) -> list[float]:
    """Bytes per second of each process: how evenly equal jobs are served."""
    low, high = np.searchsorted(operations.end_s, [start_s, end_s])
    moved = np.bincount(operations.process[low:high], weights=operations.bytes[low:high], minlength=processes)
    return [float(rate) for rate in moved / max(end_s - start_s, 1e-9)]
