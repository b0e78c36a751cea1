"""Is the drive slow, or is the queue long? Time in the queue against time in the device, of requests that were watched.

In the queue: from the bio's arrival in the block layer to the driver (waiting for a tag, throttled writeback, the
scheduler). In the device: from the driver to the completion. A drive that works on many commands at once keeps each of
them long without being slow, so a drive is judged by its service time: the time from one completion to the next while
it has anything to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from seekwise.trace.columns import Flag, Kind

MEDIA: Mapping[str, tuple[float, float, float]] = {
    "hard disk": (0.040, 50e6, 1.0),
    "SSD": (0.005, 150e6, 0.5),
    "NVMe SSD": (0.002, 400e6, 0.5),
    "device": (0.020, 50e6, 1.0),
}
"""{class: (service time of a small request in s, bytes/s of a large one, stall in s)} from which on a drive of the
class is slow.

A disk needs a seek and half a revolution, 13 ms at 7200 rpm (8.5 + 4.17) and 18 ms at 5400: 40 ms is twice that. SSDs
are an order of magnitude above what their data sheets give (models/). `device`: of virtual, network and loop devices
nothing is known.
"""
FLUSH_S = {"hard disk": 0.25, "SSD": 0.05, "NVMe SSD": 0.02, "device": 0.25}
"""A flush empties the drive's cache and takes many times what a request takes."""
LONG_QUEUE_S = 0.001
"""Waiting for less than this is nobody's problem, however it compares."""
MANY_IN_DEVICE = 4.0
ROWS = ("read", "read-ahead", "write", "flush", "discard")


@dataclass(frozen=True)
class Times:
    """Requests of one kind; times in seconds, each median and 99th percentile."""

    kind: str
    """read, read-ahead, write, flush or discard."""
    count: int
    queue: tuple[float, float] | None
    """From arrival in the block layer to the driver; null where only bios are seen (md, device mapper)."""
    device: tuple[float, float]
    """From the driver, or of a bio from arrival, to completion; everything below included."""


@dataclass(frozen=True)
class Level:
    """One device of the stack."""

    HIDDEN: ClassVar = ("bytes_mean",)
    SHOWN: ClassVar = ("verdict", "in_device")

    name: str
    medium: str
    """Key of MEDIA."""
    has_requests: bool
    requests: tuple[Times, ...]
    queue_s: float
    """Means over all requests with data."""
    device_s: float
    service_s: float
    """Mean time from one completion to the next while the device had something to do."""
    bytes_mean: float
    stalls: int
    longest_s: float
    """Longest time in which the device had something to do and completed nothing."""
    unfinished: int
    """Requests that were still open at the end."""

    @property
    def count(self) -> int:
        """Completed requests of this device, over all of `requests`."""
        return sum(request.count for request in self.requests)

    @property
    def in_device(self) -> float:
        """Commands that the device works on at once, on average while it is busy."""
        return self.device_s / self.service_s if self.service_s > 0 else 0.0

    @property
    def limit_s(self) -> float:
        """Service time from which on a device of this class is slow, for requests of this size."""
        base, rate, _ = MEDIA[self.medium]
        return base + self.bytes_mean / rate

    @property
    def verdict(self) -> Literal["idle", "stalls", "slow", "queue", "own queue", "quick", "bios"]:
        """`idle`, `stalls`, `slow`, `queue`, `own queue`, `quick`; `bios` for md and device mapper."""
        if not self.count and not self.unfinished:
            return "idle"
        if not self.has_requests:
            return "bios"
        if self.stalls:
            return "stalls"
        if self.service_s > self.limit_s or self._slow_flush:
            return "slow"
        if self.queue_s > max(self.device_s, LONG_QUEUE_S):
            return "queue"
        if self.in_device >= MANY_IN_DEVICE and self.device_s > self.limit_s:
            return "own queue"
        return "quick"

    @property
    def _slow_flush(self) -> bool:
        return any(request.kind == "flush" and request.device[0] > FLUSH_S[self.medium] for request in self.requests)


def level(name: str, medium: str, rows: np.ndarray, *, has_requests: bool, seconds: float) -> Level:
    """What the requests of one device say. `seconds`: how long it was watched."""
    issued = rows["issue_ns"] if has_requests else rows["arrival_ns"]
    done = (rows["complete_ns"] >= 0) & (issued >= 0)
    kinds = _kinds(rows)
    times = []
    for kind in ROWS:
        mine = done & (kinds == kind)
        if mine.any():
            queue = (issued - rows["arrival_ns"])[mine] / 1e9
            device = (rows["complete_ns"] - issued)[mine] / 1e9
            times.append(Times(kind, int(mine.sum()), _pair(queue) if has_requests else None, _pair(device)))
    data = done & (rows["sectors"] > 0) & (kinds != "discard")
    finished = _gaps(issued[done], rows["complete_ns"][done])
    open_ns = issued[~done & (issued >= 0)]
    last = max(int(rows["complete_ns"][done].max(initial=0)), int(open_ns.min())) if len(open_ns) else 0
    gaps = np.append(finished, max(int(seconds * 1e9) - last, 0)) if len(open_ns) else finished
    return Level(
        name, medium, has_requests, tuple(times),
        _mean((issued - rows["arrival_ns"])[data]), _mean((rows["complete_ns"] - issued)[data]), _mean(finished),
        float(rows["sectors"][data].mean() * 512) if data.any() else 0.0,
        int((gaps / 1e9 >= MEDIA[medium][2]).sum()), float(gaps.max(initial=0)) / 1e9, int((~done).sum()),
    )  # fmt: skip


def waits(rows: np.ndarray, names: Sequence[str]) -> list[tuple[str, int, float, float]]:
    """(process, requests, mean and 99th percentile of the time from arrival to the end in s) of completed requests with
    data, who waited longest in all first. Processes of one name are one."""
    rows = rows[(rows["complete_ns"] >= rows["arrival_ns"]) & (rows["sectors"] > 0) & (rows["arrival_ns"] >= 0)]
    took: dict[str, list[np.ndarray]] = {}
    for number in np.unique(rows["process"]).tolist():
        name = names[number] if number < len(names) else "?"
        mine = rows[rows["process"] == number]
        took.setdefault(name.rpartition("/")[0] or name, []).append(mine["complete_ns"] - mine["arrival_ns"])
    found = {name: np.concatenate(parts) / 1e9 for name, parts in took.items()}
    order = sorted(found, key=lambda name: -float(found[name].sum()))
    return [
        (name, len(found[name]), float(found[name].mean()), float(np.percentile(found[name], 99))) for name in order
    ]


def _kinds(rows: np.ndarray) -> np.ndarray:
    names = np.full(len(rows), "other", dtype="U10")
    for kind, name in ((Kind.READ, "read"), (Kind.WRITE, "write"), (Kind.FLUSH, "flush"), (Kind.DISCARD, "discard")):
        names[rows["kind"] == kind] = name
    names[(rows["kind"] == Kind.READ) & ((rows["flags"] & int(Flag.AHEAD)) > 0)] = "read-ahead"
    return names


def _gaps(issued: np.ndarray, completed: np.ndarray) -> np.ndarray:
    """Times from one completion to the next, without those in which the device had none of these requests."""
    issued, completed = np.sort(issued), np.sort(completed)
    before = np.concatenate(([np.iinfo(np.int64).min], completed[:-1])) if len(completed) else completed
    positive: np.ndarray = np.maximum(completed - np.maximum(before, issued), 0)
    return positive


def _pair(seconds: np.ndarray) -> tuple[float, float]:
    return float(np.median(seconds)), float(np.percentile(seconds, 99))


def _mean(ns: np.ndarray) -> float:
    return float(ns.mean()) / 1e9 if len(ns) else 0.0
