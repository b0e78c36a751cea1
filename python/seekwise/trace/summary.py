"""A trace in numbers: rate, size, offset, depth and latency over time, and who asked. One pass, bounded memory.

Time and offset are counted in bins whose width doubles when the trace outgrows them, so nothing has to be known in
advance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from seekwise.trace.columns import Flag, Kind, Notes

TIME_BINS = 400
OFFSET_BINS = 100
PER_OCTAVE = 16
LATENCY_BINS = 48 * PER_OCTAVE
KINDS = ("reads", "writes")


@dataclass
class Summary:
    """What `of` found; arrays by time have TIME_BINS entries of `bin_ns` each."""

    requests: int = 0
    kinds: np.ndarray = field(default_factory=lambda: np.zeros(5, np.int64))
    bytes: np.ndarray = field(default_factory=lambda: np.zeros(5, np.int64))
    sync: int = 0
    cut: int = 0
    first_ns: int = 0
    last_ns: int = 0
    bin_ns: int = 1_000_000
    rate: np.ndarray = field(default_factory=lambda: np.zeros((2, TIME_BINS)))
    moved: np.ndarray = field(default_factory=lambda: np.zeros((2, TIME_BINS)))
    outstanding_ns: np.ndarray = field(default_factory=lambda: np.zeros(TIME_BINS))
    latency_ns: np.ndarray = field(default_factory=lambda: np.zeros((2, LATENCY_BINS), np.int64))
    sizes: np.ndarray = field(default_factory=lambda: np.zeros((2, 40), np.int64))
    offset_sectors: int = 1 << 16
    """Sectors of an offset bin."""
    offsets: np.ndarray = field(default_factory=lambda: np.zeros((TIME_BINS, OFFSET_BINS), np.int64))
    sequential: int = 0
    by_process: dict[int, np.ndarray] = field(default_factory=dict)
    """Requests, reads, writes, bytes."""

    @property
    def has_times(self) -> bool:
        """Whether the source says when requests came."""
        return self.last_ns > self.first_ns

    @property
    def seconds(self) -> float:
        """From the first arrival to the last completion, at least 1 ns."""
        return max(self.last_ns - self.first_ns, 1) / 1e9

    def percentile_ms(self, kind: int, share: float) -> float | None:
        """A percentile of the latency, within 4 %; None without completion times."""
        counts = self.latency_ns[kind]
        total = counts.sum()
        if not total:
            return None
        place = int(np.searchsorted(np.cumsum(counts), share * total))
        return float(2 ** ((place + 0.5) / PER_OCTAVE) / 1e6)

    def figures(self, notes: Notes) -> TraceFigures:
        """As plain figures."""
        kinds, moved = [int(code) for code in self.kinds], [int(count) for count in self.bytes]
        many = sorted(self.by_process.items(), key=lambda item: -item[1][0])[:50]
        return TraceFigures(
            requests=self.requests,
            seconds=round(self.seconds, 6),
            reads=kinds[Kind.READ],
            writes=kinds[Kind.WRITE],
            flushes=kinds[Kind.FLUSH],
            discards=kinds[Kind.DISCARD],
            bytes_read=moved[Kind.READ],
            bytes_written=moved[Kind.WRITE],
            sequential_share=round(self.sequential / max(self.requests, 1), 4),
            latency_ms={
                name: {f"p{share * 100:g}": self.percentile_ms(kind, share) for share in (0.5, 0.99, 0.999)}
                for kind, name in enumerate(KINDS)
            },
            processes={
                notes.processes[place]: dict(
                    zip(("requests", "reads", "writes", "bytes"), map(int, counts), strict=True)
                )
                for place, counts in many
            },
        )


@dataclass(frozen=True, kw_only=True)
class TraceFigures:
    """What a trace holds, in numbers."""

    requests: int
    seconds: float
    reads: int
    writes: int
    flushes: int
    discards: int
    bytes_read: int
    bytes_written: int
    sequential_share: float
    latency_ms: dict[str, dict[str, float | None]]
    """{kind: {percentile: ms}}."""
    processes: dict[str, dict[str, int]]
    """{process: requests, reads, writes, bytes}."""


def summary_of(chunks: Iterable[np.ndarray]) -> Summary:
    """The summary of a trace."""
    summary = Summary()
    ends: dict[int, int] = {}
    for chunk in chunks:
        if len(chunk):
            _add(summary, chunk, ends)
    return summary


def _add(summary: Summary, chunk: np.ndarray, ends: dict[int, int]) -> None:
    arrival, sectors, kind = chunk["arrival_ns"], chunk["sectors"], chunk["kind"]
    if not summary.requests:
        summary.first_ns = int(arrival.min())
    latest = int(max(arrival.max(), chunk["complete_ns"].max()))
    summary.first_ns = min(summary.first_ns, int(arrival.min()))
    summary.last_ns = max(summary.last_ns, latest)
    summary.requests += len(chunk)
    summary.kinds += np.bincount(np.minimum(kind, 4), minlength=5)
    summary.bytes += np.bincount(np.minimum(kind, 4), weights=sectors * 512.0, minlength=5).astype(np.int64)
    summary.sync += int(((chunk["flags"] & Flag.SYNC) > 0).sum())
    summary.cut += int(((chunk["flags"] & Flag.CUT) > 0).sum())
    _fit(summary, latest, int(chunk["sector"].max()))
    when = np.clip(arrival // summary.bin_ns, 0, TIME_BINS - 1)
    done = chunk["complete_ns"] >= arrival
    latency = np.where(done, chunk["complete_ns"] - arrival, 0)
    np.add.at(summary.outstanding_ns, when[done], latency[done])
    where = np.clip(chunk["sector"] // summary.offset_sectors, 0, OFFSET_BINS - 1)
    data = sectors > 0
    np.add.at(summary.offsets, (when[data], where[data]), 1)
    for code in (int(Kind.READ), int(Kind.WRITE)):
        chosen = kind == code
        np.add.at(summary.rate[code], when[chosen], 1)
        np.add.at(summary.moved[code], when[chosen], sectors[chosen] * 512)
        place = np.log2(np.maximum(latency[chosen & done], 1)) * PER_OCTAVE
        summary.latency_ns[code] += np.bincount(np.minimum(place.astype(int), LATENCY_BINS - 1), minlength=LATENCY_BINS)
        size = np.log2(np.maximum(sectors[chosen & data], 1)).astype(int)
        summary.sizes[code] += np.bincount(np.minimum(size, 39), minlength=40)
    _sequential(summary, chunk, ends)
    for process in np.unique(chunk["process"]):
        own = chunk["process"] == process
        counts = (
            own.sum(),
            (own & (kind == Kind.READ)).sum(),
            (own & (kind == Kind.WRITE)).sum(),
            sectors[own].sum() * 512,
        )
        if process in summary.by_process or len(summary.by_process) < 100_000:
            summary.by_process[int(process)] = summary.by_process.get(int(process), np.zeros(4, np.int64)) + np.array(
                counts
            )


def _sequential(summary: Summary, chunk: np.ndarray, ends: dict[int, int]) -> None:
    """Requests that go on where the one before of the same process ended."""
    for process in np.unique(chunk["process"]):
        own = chunk[chunk["process"] == process]
        own = own[np.argsort(own["arrival_ns"], kind="stable")]
        begins, after = own["sector"], own["sector"] + own["sectors"]
        summary.sequential += int((begins[1:] == after[:-1]).sum()) + int(ends.get(int(process)) == begins[0])
        ends[int(process)] = int(after[-1])
    while len(ends) > 100_000:
        ends.pop(next(iter(ends)))


def _fit(summary: Summary, latest: int, sector: int) -> None:
    """Doubles the widths of the bins until everything fits."""
    while latest >= summary.bin_ns * TIME_BINS:
        summary.bin_ns *= 2
        for name in ("rate", "moved"):
            old = getattr(summary, name)
            new = np.zeros_like(old)
            new[:, : TIME_BINS // 2] = old[:, ::2] + old[:, 1::2]
            setattr(summary, name, new)
        for name in ("outstanding_ns", "offsets"):
            old = getattr(summary, name)
            new = np.zeros_like(old)
            new[: TIME_BINS // 2] = old[::2] + old[1::2]
            setattr(summary, name, new)
    while sector >= summary.offset_sectors * OFFSET_BINS:
        summary.offset_sectors *= 2
        old = summary.offsets
        summary.offsets = np.zeros_like(old)
        summary.offsets[:, : OFFSET_BINS // 2] = old[:, ::2] + old[:, 1::2]
