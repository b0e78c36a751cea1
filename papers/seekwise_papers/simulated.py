"""The source of results answered by the simulator, where it can be answered honestly today; everything else is
NotModelled.

Modelled:      systems whose requests bypass the page cache, on one drive (NVME, SATA) or on md and single SSDs (R10_n,
               SSD); reading and writing through the page cache of a machine with little memory over ext3, ext4 or none;
               processor time of the program; properties of drives and of the studies' definitions.
Not modelled:  processor time where requests bypass the page cache.

A question without `repeat` is the mean over the repeats of its study, at least five, each with a seed of its own. A
trial is what the study describes; numbers of the models below it that were set from a publication are marked in
tests/seeds/basis.toml. The last lines of a run's spec say how long is simulated: rates are steady long before a whole
pass.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from seekwise import core
from seekwise.simulate.setups import trials
from seekwise.simulate.setups.setup import MIB, NotModelled, drive_model
from seekwise.simulate.spec import Reported
from seekwise.store.operations import PURE_OPERATIONS
from seekwise_papers.queries import METRICS, Defaults, Option, Query
from seekwise_papers.systems import PublishedSystem, setup_of

# libata keeps one of the drive's 32 commands for itself: `NCQ (depth 31/32)` in the kernel's log.
NCQ_KEPT_BACK = 1

GNOME_DISKS_MB = 10**6  # It prints decimal units (g_format_size).


class SimulatedResults:
    """Answers are kept: many claims ask for the same trials."""

    def __init__(self, tell: trials.Tell | None = None) -> None:
        self.known: dict[str, dict[str, float] | str] = {}
        self.tell = tell

    def defaults(self, system: str) -> Defaults:
        """Schedulers and thread counts of the system's study. Raises NotModelled for an unknown system."""
        setup = setup_of(system)
        return Defaults(setup.schedulers, setup.threads)

    def prepare(self, ask: Callable[[SimulatedResults], object]) -> None:
        """Simulates all that `ask` asks for, side by side. A question that hangs on an answer may stay unforeseen: it
        only comes later."""
        listener = _Listener()
        ask(listener)
        self._run(list(listener.wanted))

    def measure(self, queries: Sequence[Query]) -> list[float]:
        """Means over repeats, one per query, in the metric's own unit. Raises NotModelled where the simulator lacks
        something."""
        wanted = [self._trials(query) for query in queries]
        self._run(list(dict.fromkeys(trial for group in wanted for trial in group)))
        return [self._mean(query, group) for query, group in zip(queries, wanted, strict=True)]

    def _trials(self, query: Query) -> list[str]:
        """The trials behind a number, as text."""
        if query.metric not in METRICS:
            raise NotModelled(f"{query.metric} ({query.describe()})")
        setup = setup_of(query.system, query.options)
        repeats = [setup.repeat] if setup.repeat is not None else range(1, setup.repeats + 1)
        try:
            return [setup.trial(query.operation, query.scheduler, query.threads, repeat) for repeat in repeats]
        except NotModelled as missing:
            raise NotModelled(f"{missing} ({query.describe()})") from None

    def _run(self, wanted: list[str]) -> None:
        missing = [trial for trial in wanted if trial not in self.known]
        if missing:
            outcomes = run(missing, os.cpu_count() or 1, self.tell)
            self.known.update(zip(missing, outcomes, strict=True))

    def _mean(self, query: Query, group: list[str]) -> float:
        values = []
        for trial in group:
            outcome = self.known[trial]
            if isinstance(outcome, str):
                raise NotModelled(f"{outcome} ({query.describe()})")
            if query.metric not in outcome:
                raise NotModelled(f"CPU time past the page cache ({query.describe()})")
            values.append(outcome[query.metric])
        return sum(values) / len(values)

    def scatter(self, query: Query) -> float:
        """Of CPU efficiency: a run of n ticks of system time is off by the square root of n."""
        if query.metric != "cpueff":
            return 0.0
        setup = setup_of(query.system, query.options)
        efficiency, moved = self.measure([query])[0], query.threads * _bytes_of_a_thread(setup, query.operation)
        ticks = moved / trials.PRINTED_MB / efficiency * setup.hz
        return float(efficiency / ticks**0.5)

    def model(self, name: str, quantity: str, options: tuple[Option, ...]) -> float:
        """A property of a drive, of a system as set up, or minutes of a scenario; in its own unit. Raises NotModelled
        for an unknown one."""
        if quantity in DRIVE_QUANTITIES:
            return float(DRIVE_QUANTITIES[quantity](name, dict(options)))
        if any(option in ("distance", "position") for option, _ in options):
            raise NotModelled(f"{quantity} has no place on a drive")
        setup = setup_of(name, options)
        if quantity == "scenario_minutes":
            return self._scenario_minutes(name, setup, options)
        if quantity in SYSTEM_QUANTITIES:
            return float(SYSTEM_QUANTITIES[quantity](setup))
        raise NotModelled(f"{quantity} of {name}")

    def _scenario_minutes(self, name: str, setup: PublishedSystem, options: tuple[Option, ...]) -> float:
        """Each measurement takes as long as its operations, each at its rate over all of its data, and the pause behind
        it."""
        if setup.workload.engine is not None or setup.load.memory_limit_bytes is None:
            raise NotModelled("how long a scenario takes where the program is not tiotest")
        measurements = [(policy, threads) for policy in setup.schedulers for threads in setup.threads]
        queries = [
            Query("rate", name, operation, scheduler, threads, options)
            for scheduler, threads in measurements
            for operation in PURE_OPERATIONS
        ]
        throughputs = self.measure(queries)
        moved = [query.threads * _bytes_of_a_thread(setup, query.operation) / trials.PRINTED_MB for query in queries]
        seconds = sum(size / throughput for size, throughput in zip(moved, throughputs, strict=True))
        return (seconds + len(measurements) * setup.wait_s) / 60


class _Listener(SimulatedResults):
    """Notes the trials that are asked for; its answers are all the same and mean nothing."""

    def __init__(self) -> None:
        self.wanted: dict[str, None] = {}

    def measure(self, queries: Sequence[Query]) -> list[float]:
        """What cannot be answered is left for the question itself."""
        for query in queries:
            try:
                self.wanted.update(dict.fromkeys(self._trials(query)))
            except NotModelled:
                continue
        return [1.0] * len(queries)

    def scatter(self, query: Query) -> float:
        """Of a number that was not computed nothing is known."""
        return 0.0

    def model(self, name: str, quantity: str, options: tuple[Option, ...]) -> float:
        """Properties are computed quickly when they are asked for."""
        return 1.0


def run(texts: list[str], workers: int, tell: trials.Tell | None = None) -> list[dict[str, float] | str]:
    """Metrics of each trial, or why there are none."""
    return [
        str(result["error"]) if "error" in result else _metrics(json.loads(text), result)
        for text, result in zip(texts, trials.raw(texts, workers, tell), strict=True)
    ]


def _metrics(document: dict[str, Any], result: Reported) -> dict[str, float]:
    moved = result if "report" in document else result["phases"][0]
    samples = result.get("call_rate_mean")
    metrics = {
        "rate": samples / GNOME_DISKS_MB
        if samples
        else moved["bytes"] / trials.PRINTED_MB / (moved["elapsed_ns"] / 1e9),
        "access": moved["latency_mean_ns"] / 1e6,
        "access_max": moved["latency_max_ns"] / 1e6,
    }
    if "report" in document:
        metrics |= trials.cpu_metrics(result, document["cell"]["phases"][0]["jobs"][0]["threads"])
    return metrics


def _bytes_of_a_thread(setup: PublishedSystem, operation: str) -> int:
    return (
        (setup.random_ios or 1000) * setup.load.block_bytes if operation.startswith("rand") else setup.load.size_bytes
    )


def _disk(name: str) -> dict[str, Any]:
    model = dict(drive_model(name))
    if model.get("kind") != "hdd":
        raise NotModelled(f"there is no disk `{name[:40]}`")
    return model


def _place(options: dict[str, str | float], wanted: str) -> float:
    if set(options) != {wanted}:
        raise NotModelled(f"the quantity takes the one option `{wanted}`")
    place = float(options[wanted])
    if not 0 <= place <= 1:
        raise NotModelled(f"`{wanted}` is a share from 0 to 1, not {place:g}")
    return place


def _rotational_latency_ms(name: str, options: dict[str, str | float]) -> float:
    if options:
        raise NotModelled(f"rotational latency has no option `{next(iter(options))}`")
    return float(60_000 / _disk(name)["rpm"] / 2)


def measured(drive: str, what: str, **how: object) -> dict[str, Any]:
    """What the compiled model answers; NotModelled with its own words where it cannot."""
    answer: dict[str, Any] = json.loads(core.measure_drives(json.dumps([{"model": drive, "measure": what, **how}])))[0]
    if "error" in answer:
        raise NotModelled(str(answer["error"]))
    return answer


def _access_ms(name: str, options: dict[str, str | float]) -> float:
    _disk(name)
    return float(measured(name, "access_at", place=_place(options, "distance"))["value"])


def _sectors_per_track(name: str, options: dict[str, str | float]) -> float:
    # Places on a disk are found by reads of eight sectors.
    sector = int((_disk(name)["capacity_sectors"] - 8) * _place(options, "position"))
    return float(measured(name, "places", sectors=[sector])["places"][0]["sectors_on_track"])


DRIVE_QUANTITIES = {
    "rotational_latency_ms": _rotational_latency_ms,
    "access_ms": _access_ms,
    "sectors_per_track": _sectors_per_track,
}


def _ram_mb(setup: PublishedSystem) -> float:
    if setup.load.memory_limit_bytes is None:
        raise NotModelled("the memory of a system whose study bypasses the page cache")
    return setup.load.memory_limit_bytes / MIB


def _ncq_depth(setup: PublishedSystem) -> float:
    """As the kernel prints it; a drive behind a hardware controller is not the kernel's to count."""
    if setup.system.controller is not None:
        raise NotModelled("the queue of a drive behind a hardware controller")
    model = drive_model(str(setup.system.drive))
    depth = model.get("ncq_depth") or model.get("queue_depth") or 1
    return max(0.0, float(depth) - NCQ_KEPT_BACK) if setup.ncq else 0.0


def _test_area_percent(setup: PublishedSystem) -> float:
    """Files of a fresh file system follow each other; the indirect blocks among them are a thousandth."""
    system = setup.system
    whole = {
        "raid0": system.drives,
        "raid5": system.drives - 1,
        "raid6": system.drives - 2,
        "raid10": system.drives / 2,
    }
    sectors = drive_model(str(system.drive)).get("capacity_sectors")
    if sectors is None:
        raise NotModelled(f"the capacity of {system.drive}")
    member = min(sectors * 512, int(system.options.get("partition_gib", 0)) * 2**30 or math.inf)
    return float(100 * max(setup.threads) * setup.load.size_bytes / (whole.get(system.raid_level or "", 1) * member))


SYSTEM_QUANTITIES = {
    "file_mb": lambda setup: setup.load.size_bytes / MIB,
    "ram_mb": _ram_mb,
    # One measurement is one run of the program: a scheduler at a thread count, all operations.
    "scenario_measurements": lambda setup: float(len(setup.schedulers) * len(setup.threads)),
    "test_area_percent": _test_area_percent,
    "cpu_tick_ms": lambda setup: 1000 / setup.hz,
    "ncq_depth": _ncq_depth,
}
QUANTITIES = (*DRIVE_QUANTITIES, *SYSTEM_QUANTITIES, "scenario_minutes")
