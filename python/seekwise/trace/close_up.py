"""A short stretch of one drive's work, request by request: who asked, where it waited, what the drive did. For
pictures.

The same shape from a simulated trial (`seekwise.simulate.close_up`) and from a recorded trace (`of_rows`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from seekwise.trace.columns import UNKNOWN, Kind


@dataclass(frozen=True)
class Parts:
    """What the drive's time of one request was made of, in ms."""

    seek: float
    rotation: float
    transfer: float
    own: float
    """Work of the drive's own in between, such as writing cached data to the platters."""
    cached: bool
    """Answered from the drive's memory; then all others are zero."""


@dataclass(frozen=True)
class ServedRequest:
    """One request of the drive; times in ms since the stretch began, places in sectors of 512 bytes."""

    arrival: float
    """When its first I/O entered the block layer; before the stretch if negative."""
    issue: float
    """When the scheduler dispatched it."""
    end: float
    sector: int
    sectors: int
    write: bool
    thread: int
    merged: int = 0
    """Further I/Os that the block layer joined to it."""
    parts: Parts | None = None
    """None where the drive has no arm, or is not known."""


@dataclass(frozen=True)
class CloseUp:
    """What one setting did in a stretch of `span_ms`; requests in the order in which they were done."""

    setting: str
    span_ms: float
    capacity_sectors: int
    requests: tuple[ServedRequest, ...]
    drives: int = 1
    """Of an array; `requests` are those of the first one."""
    later: tuple[ServedRequest, ...] = ()
    """Requests that were under way when the stretch ended."""
    ios_of_load: int | None = None
    """I/Os that an array or a page cache was asked for in the stretch; None where each request of the drive is of the
    load itself."""

    from_memory: float | None = None
    """Share of the load's calls that a page cache answered without waiting for the drive; None where there is none."""
    whole: CloseUp | None = None
    """The longer stretch of which this is the end: its numbers say more, single requests could not be told apart in
    it."""

    @property
    def ios(self) -> int:
        """I/Os of the load."""
        return self.ios_of_load if self.ios_of_load is not None else sum(1 + one.merged for one in self.requests)

    @property
    def has_parts(self) -> bool:
        """Whether the drive's time of its requests is known by part: of a simulated drive with an arm."""
        return any(one.parts is not None for one in self.requests)

    @property
    def busy(self) -> list[tuple[float, float]]:
        """Times (from, to) in ms during which the drive had at least one request."""
        stretches: list[list[float]] = []
        for one in sorted((*self.requests, *self.later), key=lambda request: request.issue):
            start, end = max(one.issue, 0.0), min(one.end, self.span_ms)
            if stretches and start <= stretches[-1][1]:
                stretches[-1][1] = max(stretches[-1][1], end)
            elif end > start:
                stretches.append([start, end])
        return [(start, end) for start, end in stretches]

    @property
    def idle_share(self) -> float:
        """Share of the stretch in which the drive had nothing to do."""
        return max(0.0, 1 - sum(end - start for start, end in self.busy) / self.span_ms)

    @property
    def depth(self) -> list[tuple[float, int]]:
        """(time, requests under way from then on), scheduler queue and drive together."""
        steps = [(max(one.arrival, 0.0), 1) for one in (*self.requests, *self.later)]
        steps += [(one.end, -1) for one in self.requests if one.end < self.span_ms]
        depths, count = {0.0: 0}, 0
        for time, step in sorted(steps):
            count += step
            depths[time] = count
        return list(depths.items())

    @property
    def depth_mean(self) -> float:
        """Requests outstanding, averaged over the time of the stretch."""
        steps = [*self.depth, (self.span_ms, 0)]
        return sum(count * (steps[at + 1][0] - time) for at, (time, count) in enumerate(steps[:-1])) / self.span_ms

    @property
    def jumps(self) -> list[float]:
        """Distance between the end of each request and the start of the next one that was done, as a share of the
        drive."""
        return [self.jumps_at(number) for number in range(1, len(self.requests))]

    def jumps_at(self, number: int) -> float:
        """The distance to the request before this one."""
        before, after = self.requests[number - 1], self.requests[number]
        return abs(after.sector - before.sector - before.sectors) / self.capacity_sectors

    @property
    def turns(self) -> float | None:
        """Requests of one thread that are served in a row, on average; None with fewer than two threads."""
        threads = [one.thread for one in self.requests]
        if not threads or len({*threads, *(one.thread for one in self.later)}) < 2:
            return None
        changes = sum(a != b for a, b in zip(threads, threads[1:], strict=False))
        return len(threads) / (changes + 1)

    def latency_of(self, *, write: bool) -> tuple[float, float, int]:
        """(ms in the scheduler, ms at the drive, number) of its reads or writes: means of those that were done."""
        mine = [one for one in self.requests if one.write == write]
        count = max(len(mine), 1)
        return (
            sum(one.issue - one.arrival for one in mine) / count,
            sum(one.end - one.issue for one in mine) / count,
            len(mine),
        )


def cut(
    served: Iterable[ServedRequest], setting: str, from_ms: float, span_ms: float, capacity_sectors: int
) -> CloseUp:
    """The requests that were done in the stretch, and those under way at its end; its start is time zero."""
    moved = sorted(
        (
            replace(one, arrival=one.arrival - from_ms, issue=one.issue - from_ms, end=one.end - from_ms)
            for one in served
            if one.end >= from_ms
        ),
        key=lambda one: one.end,
    )
    done = tuple(one for one in moved if one.end <= span_ms)
    later = tuple(one for one in moved if one.end > span_ms and one.arrival < span_ms)
    return CloseUp(setting, span_ms, capacity_sectors, done, later=later)


SPAN_MOST_MS = 1000.0


def of_rows(rows: np.ndarray, name: str, requests_most: int) -> CloseUp | None:
    """The busiest stretch of a recorded trace; the drive's size is taken as the furthest sector that the trace touches.

    `rows`: of `seekwise.trace.columns.REQUEST`, of one device. None where times of issue are unknown.
    """
    known = rows[(rows["issue_ns"] != UNKNOWN) & (rows["complete_ns"] != UNKNOWN) & (rows["kind"] <= Kind.WRITE)]
    if len(known) < 2:
        return None
    known = known[np.argsort(known["complete_ns"], kind="stable")]
    ends = known["complete_ns"]
    # Of all stretches of so many requests, the shortest: there the drive had most to do.
    count = min(requests_most, len(known)) - 1
    first = int(np.argmin(ends[count:] - ends[: len(ends) - count]))
    span_ms = min(float(ends[first + count] - ends[first]) / 1e6, SPAN_MOST_MS)
    from_ms = float(ends[first]) / 1e6
    served = [
        ServedRequest(
            float(row["arrival_ns"] if row["arrival_ns"] != UNKNOWN else row["issue_ns"]) / 1e6,
            float(row["issue_ns"]) / 1e6,
            float(row["complete_ns"]) / 1e6,
            int(row["sector"]),
            int(row["sectors"]),
            bool(row["kind"] == Kind.WRITE),
            int(row["process"]),
            int(row["merged"]),
        )
        for row in known[first : first + 2 * count + 1]
    ]
    size = int((known["sector"] + known["sectors"]).max())
    return cut(served, name, from_ms, max(span_ms, 1e-3), size)
