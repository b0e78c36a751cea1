"""The load that is already there: settings are switched under it, and the kernel's own counters tell the difference.

No I/O is added. Rate and mean time per request come from /proc/diskstats (Linux Documentation/admin-guide/iostats.rst),
sampled ten times a second so that each candidate's carry-over can be cut; percentiles come from the kernel's block
events where it offers them. Loads change by themselves, so the order is random and balanced, and an uneven load is said
to be one. A guard ends a period at once when requests take several times as long as under the setting in force.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seekwise.judge.decision.found_load import FOUND
from seekwise.judge.decision.periods import histogram, upper_bound_ns
from seekwise.linux import diskstats
from seekwise.linux.diskstats import DiskCounters
from seekwise.linux.facts import pressure_s
from seekwise.linux.tree import open_tree
from seekwise.measure.live import carry, latencies, record, stretch
from seekwise.measure.live.open_run import SwitchedRun
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.live_plan import Candidate
from seekwise.workload.study.rounds import Order
from seekwise.workload.study.uses import NOT_OURS, Job, Judged, Use

SAMPLE_S = 0.1
PERIOD_S = 2.0
PERIOD_LEAST_S = 1.0
ROUNDS_AIM = 12
GUARD_WINDOW_S = 0.5
GUARD_OPS_MIN = 4
GUARD_EVENTS_MOST = 2


def load_use(*, percentiles: bool) -> Use:
    """The load that runs here, as a use: judged by what the kernel counts."""
    judge: tuple[Judged, ...] = ("rate", "mean", "p99") if percentiles else ("rate", "mean")
    job = Job(name="load", role="foreground", pattern="random read/write", judge=judge)
    return Use(name="live", title="The load that runs here", group=NOT_OURS, job=[job])


@dataclass(frozen=True)
class Sample:
    """Counters of the drives together, at one instant; discards and flushes count for nothing here."""

    at_s: float
    done: DiskCounters

    @property
    def wait_ms(self) -> int:
        """Of all reads and writes that have ended."""
        return self.done.read_ms + self.done.write_ms


def sample(leaves: tuple[str, ...]) -> Sample:
    """Of all these drives, now."""
    return Sample(time.time(), diskstats.total(diskstats.moved({}, diskstats.read(), leaves)))


def requests_per_s(leaves: tuple[str, ...]) -> float:
    """How many requests the drives end now, from half a second."""
    before = sample(leaves)
    time.sleep(RATE_LOOK_S)
    after = sample(leaves)
    return (after.done.ios - before.done.ios) / max(after.at_s - before.at_s, 1e-6)


RATE_LOOK_S = 0.5


def period_seconds(budget_s: float, candidates: int) -> float:
    """Long enough for the carry-over, short enough for a dozen rounds."""
    return min(10.0, max(PERIOD_LEAST_S, min(PERIOD_S, budget_s / (ROUNDS_AIM * candidates)), budget_s / 400))


@dataclass(frozen=True)
class Span:
    """One period as it was seen."""

    label: str
    round: int
    switch_s: float
    samples: list[Sample]
    ends_s: NDArray[np.float64]
    """Ends of the requests whose latency is known, seconds since 1970."""
    latencies_ns: NDArray[np.float64]
    pressure: float | None
    """Share of the time in which some task waited for I/O, on the whole machine."""


@dataclass(kw_only=True)
class LiveLoadRun(SwitchedRun):
    """A run under a load that was there."""

    guard: float | None = None
    """A period ends when requests wait so many times as long as under the setting in force."""
    sampler: latencies.Sampler | None = None
    spans: list[Span] = field(default_factory=list)

    def tell(self, label: str) -> None:
        """Says what is measured now."""
        self.watch.measuring(self.plan.uses[0].title, label, max(0.0, self.left_s))


def measure(run: LiveLoadRun) -> None:
    """Switches until the deadline, a period per candidate and round. However it ends, what was seen is kept: it may be
    an hour of somebody's production."""
    try:
        _switch_on(run)
    finally:
        if run.sampler is not None and run.sampler.dropped:
            run.said.append(f"{run.sampler.dropped} events were dropped by the kernel: percentiles miss some requests")
        by_label = {each.label: each for each in run.plan.candidates}
        cuts = {
            name: carry.cut_s([_profile(each.samples) for each in run.spans if each.label == name]) for name in by_label
        }
        for each in run.spans:
            if len(each.samples) > 2:
                run.keep(_record(run, each, cuts[each.label], by_label[each.label]))
    if any(not phase.ios for record in run.records for phase in record.phases):
        run.storage.check("")


def _switch_on(run: LiveLoadRun) -> None:
    plan, turns = run.plan, Order(run.plan.seed)
    names = [each.label for each in plan.candidates]
    by_label = {each.label: each for each in plan.candidates}
    length = period_seconds(max(1.0, run.left_s), len(names))
    baseline: list[float] = []
    stopped_often: Counter[str] = Counter()
    number = 0
    while run.left_s >= length * len(names) or number == 0:
        for label in turns.round(names):
            took = stretch.switch_to(run.switch, by_label[label])
            run.tell(label)
            usual_ms = statistics.median(baseline) if run.guard is not None and len(baseline) >= 2 else None
            waited = pressure_s(open_tree())
            samples, stopped = _watch(plan.leaves, length, usual_ms, run.guard or math.inf)
            # Where the storage has failed, the period that just ended is left out.
            run.storage.check()
            ends, waits = run.sampler.taken() if run.sampler is not None else (NOTHING, NOTHING)
            run.spans.append(Span(label, number, took, samples, ends, waits, _pressure(waited, samples)))
            if stopped:
                stretch.switch_to(run.switch, plan.in_force)
                turns.interrupted()
                stopped_often[label] += 1
                run.said.append(
                    f"Guard: {label} made requests wait {stopped:.3g} times as long; its period was ended at once"
                )
                if stopped_often[label] >= GUARD_EVENTS_MOST and label != plan.in_force.label:
                    names = [each for each in names if each != label]
            elif label == plan.in_force.label and (wait := _mean_wait_ms(samples)) is not None:
                baseline.append(wait)
        number += 1
        if len(names) < 2:
            run.said.append("Guard: no candidate is left but the setting in force")
            break


NOTHING = np.zeros(0)


def _pressure(before_s: float | None, samples: list[Sample]) -> float | None:
    now_s = pressure_s(open_tree())
    if before_s is None or now_s is None:
        return None
    return min(1.0, (now_s - before_s) / max(samples[-1].at_s - samples[0].at_s, 1e-6))


def _watch(leaves: tuple[str, ...], seconds: float, usual_ms: float | None, guard: float) -> tuple[list[Sample], float]:
    """(samples, how many times the usual wait it was when the guard ended the period, or 0)."""
    samples = [sample(leaves)]
    end = time.monotonic() + seconds
    window = max(2, round(GUARD_WINDOW_S / SAMPLE_S))
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(SAMPLE_S, left))
        samples.append(sample(leaves))
        if usual_ms is not None and len(samples) > window:
            first, last = samples[-1 - window], samples[-1]
            ops, wait = last.done.ios - first.done.ios, last.wait_ms - first.wait_ms
            mean = wait / ops if ops >= GUARD_OPS_MIN else 0.0
            # Nothing ends while requests wait: their age is at least the window.
            if ops < GUARD_OPS_MIN and min(counted.done.in_flight for counted in samples[-window:]) > 0:
                mean = 1e3 * GUARD_WINDOW_S
            if mean > guard * usual_ms:
                return samples, mean / usual_ms
    return samples, 0.0


def _mean_wait_ms(samples: list[Sample]) -> float | None:
    ops = samples[-1].done.ios - samples[0].done.ios
    return max(0.02, (samples[-1].wait_ms - samples[0].wait_ms) / ops) if ops >= GUARD_OPS_MIN else None


def _profile(samples: list[Sample]) -> list[float]:
    """Bytes per second in bins of `carry.BIN_S`: each sample interval stands for the bins it covers."""
    repeat = max(1, round(SAMPLE_S / carry.BIN_S))
    throughputs = [
        (after.done.bytes - before.done.bytes) / max(after.at_s - before.at_s, 1e-6)
        for before, after in itertools.pairwise(samples)
    ]
    return [throughput for throughput in throughputs for _ in range(repeat)]


def _record(run: LiveLoadRun, span: Span, cut: float, candidate: Candidate) -> Record:
    samples = span.samples
    begin = samples[0].at_s
    length = samples[-1].at_s - begin
    cut = min(cut, carry.CUT_SHARE_MAX * length)
    first = next((each for each in samples if each.at_s >= begin + cut), samples[-2])
    last = samples[-1]
    ops, moved = last.done.ios - first.done.ios, last.done.bytes - first.done.bytes
    wait_ns = (last.wait_ms - first.wait_ms) * 1e6
    low, high = np.searchsorted(span.ends_s, [first.at_s, last.at_s])
    bins = histogram(span.latencies_ns[low:high])
    phase = Phase(
        operation="mixed",
        elapsed_s=max(0.0, last.at_s - first.at_s),
        bytes=moved,
        ios=ops,
        latency_bins={upper_bound_ns(number): count for number, count in bins.items()},
        latency_mean_ns=wait_ns / ops if ops else 0.0,
        latency_max_ns=upper_bound_ns(max(bins)) if bins else 0,
        cpu=CpuSeconds(0.0, 0.0),
        windows=tuple((throughput, 0.0) for throughput in _profile(samples)[:: max(1, round(SAMPLE_S / carry.BIN_S))]),
        details={"job": "load", "role": "foreground", "profile_bin_s": SAMPLE_S},
    )
    pressure = None if span.pressure is None else round(span.pressure, 4)
    return record.new_record(
        run,
        span.round,
        FOUND,
        candidate,
        (phase,),
        record.When(begin, length, cut, span.switch_s),
        conditions={"io_pressure": pressure},
        load={"what": "the load that was there"},
    )
