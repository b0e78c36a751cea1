"""Hosts that were never measured: records as `tune` writes them, with known differences planted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from seekwise.report.fleet import bundle
from seekwise.store.database import Run
from seekwise.store.record import CpuSeconds, Phase, Record

SETTINGS = {"none": 0.0, "mq-deadline": 0.08}
LOADS = {"database": "rand_read", "backup": "seq_write"}
KERNELS, KERNEL_SHARES = ("6.1.0-21-amd64", "6.1.0-25-amd64", "6.8.0-1-amd64"), (0.5, 0.3, 0.2)
FIRMWARES, FIRMWARE_SHARES = ("SN04", "SN05"), (0.7, 0.3)
MODELS = {"sda": "SSD Fast 960", "sdb": "HDD Large 18T"}
HOST_SD, LOAD_SD, TRIAL_SD = 0.03, 0.02, 0.05


@dataclass
class Planted:
    """Three anomalies: a slow disk, a kernel that is slower on one model, a firmware that is slower on the other."""

    slow_host: str
    wanted: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.wanted = {("sdb", self.slow_host), ("kernel", KERNELS[2]), ("firmware", FIRMWARES[1])}


def hosts(count: int, seed: int, *, anomalies: bool = True) -> tuple[Planted, Iterator[tuple[str, list[Record]]]]:
    """What is planted, and each host with its records."""
    chosen = np.random.default_rng(seed)
    planted = Planted(f"host{chosen.integers(count)}")
    return planted, (
        (f"host{number}", _records(f"host{number}", planted, chosen, anomalies)) for number in range(count)
    )


def _records(host: str, planted: Planted, chosen: np.random.Generator, anomalies: bool) -> list[Record]:
    kernel = str(chosen.choice(KERNELS, p=KERNEL_SHARES))
    found: list[Record] = []
    for device, model in MODELS.items():
        firmware = str(chosen.choice(FIRMWARES, p=FIRMWARE_SHARES))
        own = chosen.normal(0, HOST_SD)
        if anomalies:
            own += np.log(0.7) if (device, host) == ("sdb", planted.slow_host) else 0.0
            own += np.log(0.9) if (device, kernel) == ("sda", KERNELS[2]) else 0.0
            own += np.log(0.92) if (device, firmware) == ("sdb", FIRMWARES[1]) else 0.0
        environment = {
            "host": host, "kernel": kernel, "stack": [f"{device}: {model}"],
            "devices": [{"name": device, "model": model, "firmware": firmware}],
        }  # fmt: skip
        for load, operation in LOADS.items():
            under = own + chosen.normal(0, LOAD_SD)
            for setting, effect in SETTINGS.items():
                for repetition in range(2):
                    throughput = 1e8 * np.exp(under + effect + chosen.normal(0, TRIAL_SD))
                    p99_ns = int(5e6 * np.exp(-under - effect + chosen.normal(0, TRIAL_SD)))
                    found.append(
                        _record(
                            len(found), repetition, load, operation, setting, float(throughput), p99_ns, environment
                        )
                    )
    return found


def _record(index, repetition, load, operation, setting, throughput, p99_ns, environment) -> Record:
    phase = Phase(
        operation=operation, elapsed_s=1.0, bytes=int(throughput), ios=int(throughput / 4096), latency_bins={p99_ns // 4: 9800, p99_ns: 200},
        latency_mean_ns=p99_ns / 3, latency_max_ns=p99_ns, cpu=CpuSeconds(0.1, 0.2),
    )  # fmt: skip
    return Record(
        run_id="20261123-0900-aaaa", trial=index, repetition=repetition, combination=f"use={load}", setting=setting, factors={"use": load},
        provenance="measured", seed=1, started_at="2026-11-23T09:00:00.000+00:00", phases=(phase,), environment=environment,
    )  # fmt: skip


def run_of(run_id: str = "20261123-0900-aaaa") -> Run:
    return Run(
        run_id,
        "2026-11-23T09:00:00.000+00:00",
        "0.1.0",
        "tune",
        "kernel",
        "/srv",
        1,
        "",
        {"trials": []},
        None,
        "complete",
    )


def write_bundles(folder: Path, count: int, seed: int) -> tuple[Planted, list[Path]]:
    planted, found = hosts(count, seed)
    paths = []
    for host, records in found:
        paths.append(folder / f"{host}.bundle")
        bundle.write(paths[-1], host, [(run_of(), records)])
    return planted, paths
