"""Benchmarks of gnome-disks (GNOME Disks): the files that it keeps in `~/.cache/gnome-disks/benchmarks/`.

A file is a GVariant `a{sv}` (source: gdubenchmarkdialog.c): read and write samples are rates in bytes/s over the
volume, one request of `sample-size` each; access-time samples are seconds of one page (4096 bytes) read at a random
place, one after another. So every sample is one request, and the histograms are exact. Writes include an fsync. Samples
over a disk differ by place: they are one trial, not repeats.
"""

from __future__ import annotations

from datetime import UTC, datetime

from seekwise.importing.gvariant import GVariantError, vardict
from seekwise.importing.result import Format, Given, Latency, Result, Source, phase
from seekwise.store.record import Phase

PAGE_BYTES = 4096
MARKS = (b"read-samples\0", b"access-time-samples\0")


def _recognises(source: Source) -> bool:
    return any(mark in source.data for mark in MARKS)


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    try:
        benchmark = vardict(source.data)
    except GVariantError as error:
        raise source.error(f"is a damaged benchmark of gnome-disks: {error}") from error
    except (IndexError, UnicodeDecodeError) as error:
        raise source.error("is a damaged benchmark of gnome-disks: it is cut off") from error
    size = benchmark.get("sample-size")
    if not isinstance(size, int) or size <= 0:
        raise source.error(f"the sample size of gnome-disks is {size!r}")
    results = []
    for key, operation in (("read-samples", "seq_read"), ("write-samples", "seq_write")):
        if samples := _samples(source, benchmark, key):
            times_s = [size / throughput for throughput in samples]
            results.append((phase_of(operation, times_s, size), size))
    if times := _samples(source, benchmark, "access-time-samples"):
        results.append((phase_of("rand_read", times, PAGE_BYTES), PAGE_BYTES))
    if not results:
        raise source.error("the benchmark of gnome-disks has no samples")
    stamp = benchmark.get("timestamp-usec")
    started = (
        datetime.fromtimestamp(stamp / 1e6, UTC).isoformat() if isinstance(stamp, int) and stamp > 0 else "unknown"
    )
    return [
        Result(
            phases=(timed,),
            tool="gnome-disks",
            threads=1,
            block_bytes=block,
            iodepth=1,
            started_at=started,
            environment={"device_bytes": benchmark.get("device-size")},
            notes=("gnome-disks records no CPU time", "gnome-disks' writes include an fsync after each"),
        )
        for timed, block in results
    ]


def _samples(source: Source, benchmark: dict[str, object], key: str) -> list[float]:
    samples = benchmark.get(key, [])
    if not isinstance(samples, list):
        raise source.error(f"`{key}` holds no samples")
    for offset, value in samples:
        if not 0 < value < float("inf") or offset < 0:
            raise source.error(f"`{key}` has the impossible value {value!r}")
    return [value for _, value in samples]


def phase_of(operation: str, times_s: list[float], size: int) -> Phase:
    """Samples of one size, read or written one after the other, as a phase."""
    bins: dict[int, int] = {}
    for time_s in times_s:
        bins[round(time_s * 1e9)] = bins.get(round(time_s * 1e9), 0) + 1
    total_s = sum(times_s)
    return phase(
        operation,
        elapsed_s=total_s,
        total_bytes=size * len(times_s),
        ios=len(times_s),
        latency=Latency(bins=bins, mean_ns=total_s / len(times_s) * 1e9, max_ns=max(times_s) * 1e9),
    )


FORMAT = Format("gnome-disks", "gnome-disks benchmark files", _recognises, _read)
