"""Measurements on a drive that can only be read: what turns, how fast, how far an arm moves, what is kept and read ahead.

- Rotation. A sector that is read from the platter ends to pass the head once a turn, so completions of the same sector lie whole
  turns apart. The data in between push it out of the cache. The period that explains all distances is found coarsely from
  the short ones and refined over the long ones.
- Zones. Rate of large sequential reads, behind the first, at places along the drive.
- Seek curve. The quickest of many reads at one distance has met its sector at once: what it takes beyond a read out of the cache is
  the seek. Distances are in parts of the stroke; the zones say how many sectors each part holds.
- Read-ahead and cache. A read that is much quicker than a part of a turn came out of the cache.
- Latency by size and depth, and what depth brings, on drives of either kind.

Source of the method: Worthington, Ganger, Patt and Wilkes, "On-line extraction of SCSI disk drive parameters", SIGMETRICS 1995; Schindler and
Ganger, "Automated disk drive characterization", CMU-CS-99-176.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seekwise.measure.probe.drives import Probed

BLOCK = 8
MS = 1e6
PUSH_OUT = 40
"""Places that are read between two reads of one sector: more than a drive of today has segments."""
TRIES = 3
TURN_MS = (3.0, 25.0)
"""20,000 to 2,400 turns a minute."""


@dataclass(frozen=True)
class Estimate:
    """A number with what it may be off by; None where it could not be seen, and why."""

    value: float | None
    low: float | None
    high: float | None
    unit: str
    why: str = ""

    @classmethod
    def unseen(cls, unit: str, why: str) -> Estimate:
        """No value and no bounds, but the unit and the reason, for the report."""
        return cls(None, None, None, unit, why)


def random_places(drive: Probed, count: int, seed: int, low: float = 0.0, high: float = 1.0) -> list[int]:
    """Blocks between two parts of the capacity."""
    random = np.random.default_rng(seed)
    first, last = int(drive.capacity * low), max(int(drive.capacity * high) - BLOCK, 1)
    return [int(place) // BLOCK * BLOCK for place in random.integers(first, max(last, first + 1), count)]


def turn_ms(drive: Probed, rounds: int = 48) -> Estimate:
    """Time of a turn; unseen on a drive whose completions do not keep to one."""
    place = drive.capacity // 3 // BLOCK * BLOCK
    ends, latencies = [], []
    for number in range(rounds):
        others = drive.reads(
            random_places(drive, PUSH_OUT if number % 4 == 0 else PUSH_OUT - number % 7, seed=number), BLOCK
        )
        latencies += [done - began for began, done in others]
        ends.append(drive.reads([place], BLOCK)[0][1])
    times = (np.array(ends) - ends[0]) / MS
    # Coarse: steps so small that over the first rounds no turn is missed; then finer as the span grows.
    span = 4
    candidates = np.arange(*TURN_MS, 0.2 * TURN_MS[0] ** 2 / times[span])
    best = _best_period(times[: span + 1], candidates, keep=200_000)
    while span < rounds - 1:
        span = min(span * 2, rounds - 1)
        step = 0.1 * TURN_MS[0] ** 2 / times[span]
        width = 0.25 * TURN_MS[1] ** 2 / times[span // 2]
        around = np.unique(np.concatenate([np.arange(p - width, p + width, step) for p in best[:40]]))
        best = _best_period(times[: span + 1], around[around > 0], keep=40)
    period = float(best[0])
    off = _residual(times, np.array([period]))[0]
    # What turns makes a read of any place wait half a turn on average; regular answers alone are no turn.
    if off > 0.04 or np.median(latencies) / MS < 0.3 * period:
        return Estimate.unseen(
            "ms", "completions of one sector do not lie whole turns apart: nothing turns, or a cache answers"
        )
    # Half of a period explains them as well; the longest that does is the turn.
    for factor in (5, 4, 3, 2):
        longer = period * factor
        if longer <= TURN_MS[1] and _residual(times, np.array([longer]))[0] <= max(1.5 * off, 0.02):
            period = longer
            break
    wide = max(off, 0.002) * period / (times[-1] / period)
    return Estimate(period, period - 2 * wide, period + 2 * wide, "ms")


def _best_period(times: np.ndarray, candidates: np.ndarray, keep: int) -> np.ndarray:
    residual = _residual(times, candidates)
    return candidates[np.argsort(residual, kind="stable")[:keep]]


def _residual(times: np.ndarray, periods: np.ndarray) -> np.ndarray:
    """How far from whole turns apart, in turns: mean distance on the circle."""
    found = np.empty(len(periods))
    for first in range(0, len(periods), 50_000):
        phase = times[None, :] / periods[first : first + 50_000, None]
        mean = np.exp(2j * np.pi * phase).mean(axis=1)
        found[first : first + 50_000] = np.sqrt(np.maximum(-2 * np.log(np.maximum(np.abs(mean), 1e-12)), 0)) / (
            2 * np.pi
        )
    return found


def zone_rates(drive: Probed, places: int = 24, mib: int = 8) -> list[tuple[float, Estimate]]:
    """Rate of sequential reads in MB/s, at parts of the capacity."""
    rates = []
    length = 512
    count = mib * 2048 // length
    for part in np.linspace(0, 0.985, places):
        first = int(drive.capacity * part) // BLOCK * BLOCK
        starts = [first + number * length for number in range(count) if first + (number + 1) * length <= drive.capacity]
        times = drive.reads(starts, length)
        skip = len(times) // 4
        spans = np.array([done for _, done in times[skip:]], float)
        rate = (len(spans) - 1) * length * 512 / (spans[-1] - spans[0]) * 1e3
        half = len(spans) // 2
        halves = [
            half * length * 512 / (spans[half] - spans[0]) * 1e3,
            (len(spans) - 1 - half) * length * 512 / (spans[-1] - spans[half]) * 1e3,
        ]
        rates.append((float(part), Estimate(float(rate), float(min(halves)), float(max(halves)), "MB/s")))
    return rates


def sector_at(stroke: float, capacity: int, rates: Sequence[tuple[float, Estimate]]) -> int:
    """The sector at a part of the stroke: where tracks hold more, more sectors lie on a part of it."""
    parts = np.array([part for part, _ in rates] + [1.0])
    per_track = np.array([figure.value for _, figure in rates] + [rates[-1][1].value], float)
    # Radius passed per sector is as 1 / sectors per track.
    fine = np.linspace(0, 1, 2001)
    passed = np.concatenate([[0.0], np.cumsum(np.diff(fine) / np.interp((fine[1:] + fine[:-1]) / 2, parts, per_track))])
    return int(np.interp(stroke, passed / passed[-1], fine) * (capacity - BLOCK)) // BLOCK * BLOCK


def seek_ms(
    drive: Probed, part: float, turn: float, rates: Sequence[tuple[float, Estimate]], tries: int = 240
) -> Estimate:
    """Time to move over a part of the stroke, without what a read takes that needs no arm."""
    random = np.random.default_rng(int(part * 1e6))
    track = int(np.interp(0.5, [p for p, _ in rates], [f.value or 0 for _, f in rates]) * 1e6 * turn / 1e3 / 512)
    quickest, cached = [], []
    for number in range(tries):
        from_stroke = float(random.uniform(0, 1 - part))
        left = sector_at(from_stroke, drive.capacity, rates)
        right = sector_at(from_stroke + part, drive.capacity, rates)
        here, there = (left, right) if number % 2 else (right, left)
        # Anywhere on about a track: its sector comes at a time of its own.
        there = int(np.clip(there + random.integers(-track, track), 0, drive.capacity - BLOCK)) // BLOCK * BLOCK
        began, done = drive.reads([here, there], BLOCK)[1]
        quickest.append((done - began) / MS)
        if number % 8 == 0:
            began, done = drive.reads([there], BLOCK)[0]
            cached.append((done - began) / MS)
    quickest.sort()
    # The quickest of n evenly spread waits has waited a turn / (n + 1). The command itself takes what it takes without the arm.
    far = quickest[1] - 2 * turn / (len(quickest) + 1)
    value = max(far - float(np.median(cached)), 0.0)
    slack = 3 * turn / len(quickest)
    return Estimate(value, max(value - slack, 0), value + slack, "ms")


def read_ahead_sectors(drive: Probed, turn: float) -> Estimate:
    """How far the drive reads on after a read while it is idle: the farthest block that comes out of the cache."""
    places = random_places(drive, 200, seed=5, low=0.1, high=0.9)
    limit = turn * 0.12 * MS

    def hits(distance: int) -> bool:
        # One quick answer may be chance: the sector was just coming.
        for _ in range(TRIES):
            place = next(at)
            drive.reads([place], BLOCK)
            drive.wait(int(20 * turn * MS))
            began, done = drive.reads([place + distance], BLOCK)[0]
            if done - began >= limit:
                return False
        return True

    at = iter(places)

    if not hits(BLOCK):
        return Estimate.unseen("sectors", "reading the next sectors is no faster than reading others")
    low, high = BLOCK, 2 * BLOCK
    while high < 1 << 17 and hits(high):
        low, high = high, high * 2
    while high - low > BLOCK:
        middle = (low + high) // 2 // BLOCK * BLOCK
        low, high = (middle, high) if hits(middle) else (low, middle)
    # The last block that was a hit ends there; the next one did not.
    return Estimate(float(low), float(low), float(high), "sectors")


def cache_segments(drive: Probed, turn: float, most: int = 64) -> Estimate:
    """Places whose data are kept at once: after so many others the first is still there."""
    limit = turn * 0.12 * MS

    def kept(count: int, seed: int) -> bool:
        for number in range(TRIES):
            places = random_places(drive, count + 1, seed + 1000 * number)
            for place in places:
                drive.reads([place], BLOCK)
                drive.wait(int(2 * turn * MS))
            began, done = drive.reads([places[0]], BLOCK)[0]
            if done - began >= limit:
                return False
        return True

    if not kept(0, 100):
        return Estimate.unseen("segments", "reading the same sectors again is no faster than reading others")
    low, high = 0, most
    if kept(most, 101):
        return Estimate(float(most), float(most), None, "segments", "at least")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if kept(middle, 200 + middle) else (low, middle)
    return Estimate(float(low + 1), float(low + 1), float(low + 1), "segments")


def latency_us(drive: Probed, sectors: int, depth: int, count: int = 400, seed: int = 3) -> Estimate:
    """Median latency of random reads of one size at one depth, with the interval of the median (95 %)."""
    starts = [place for place in random_places(drive, count, seed) if place + sectors <= drive.capacity]
    latencies, _ = drive.reads_at_depth(starts, sectors, depth)
    ordered = np.sort(np.array(latencies, float)) / 1e3
    n = len(ordered)
    reach = int(np.ceil(0.98 * np.sqrt(n)))
    low, high = ordered[max(n // 2 - reach, 0)], ordered[min(n // 2 + reach, n - 1)]
    return Estimate(float(np.median(ordered)), float(low), float(high), "us")


def iops(drive: Probed, depth: int, count: int = 600, seed: int = 4) -> Estimate:
    """Random reads of 4 KiB per second at a depth."""
    starts = random_places(drive, count, seed)
    _, elapsed = drive.reads_at_depth(starts, BLOCK, depth)
    rate = count / elapsed * 1e9
    return Estimate(rate, rate * (1 - 2 / count**0.5), rate * (1 + 2 / count**0.5), "IOPS")
