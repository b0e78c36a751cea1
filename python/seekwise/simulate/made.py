"""What the compiled simulator answered, as records: one maker for drives behind queues, arrays, controllers, page cache and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from seekwise import _core, controllers
from seekwise.simulate.protocol import origin
from seekwise.simulate.spec import Answer, PhaseAnswer, QueueAnswer, Spec
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.study.factors import Value, checked
from seekwise.workload.study.plan import Load, Plan, Trial

DEVICE = "sim0"
"""Name of the modelled drive among the devices."""
QUEUE_SETTINGS = ("nr_requests", "max_sectors_kb", "nomerges", "wbt_lat_usec")
"""Settings of a queue that a trial knows, by their factors' names."""
WITHOUT_EFFECT = {"read_ahead_kb", "rq_affinity", "add_random"}
"""Settings that change nothing in what is modelled for direct I/O, which has no read-ahead; kept in the record as set."""
PARTS = ("members", "resync", "bitmap")
"""What an answer may tell of an array."""


def phase_of(result: PhaseAnswer, thread: str, operation: str | None = None) -> Phase:
    """One phase. `thread`: who does the storage's own work on the host.

    gnome-disks shows the mean of its samples' rates: the time is the one that gives this rate.
    """
    cpu, rate = result["cpu"], result.get("call_rate_mean")
    elapsed_s = result["bytes"] / rate if rate else result["elapsed_ns"] / 1e9
    spent = cpu["user_s"] + cpu["system_s"] + cpu["thread_s"] + cpu["irq_s"]
    return Phase(
        operation=operation or result["operation"],
        elapsed_s=elapsed_s,
        bytes=result["bytes"],
        ios=result["ios"],
        latency_bins={int(upper): count for upper, count in result["latency_bins"].items()},
        latency_mean_ns=result["latency_mean_ns"],
        latency_max_ns=result["latency_max_ns"],
        cpu=CpuSeconds(
            submitter_user=cpu["user_s"],
            submitter_system=cpu["system_s"],
            user=cpu["user_s"],
            system=cpu["system_s"] + cpu["thread_s"],
            irq=cpu["irq_s"],
            kernel_threads={thread: cpu["thread_s"]} if cpu["thread_s"] else {},
            softirq=0.0,
            idle=max(0.0, cpu["processors"] * elapsed_s - spent),
        ),
        device_bytes=result["device_bytes"],
        windows=tuple((throughput, latency) for throughput, latency in result["windows"]),
        details={
            "device_busy_ns": result["device_busy_ns"],
            "merges": result["merges"],
            "window_ns": result["window_ns"],
            "threads": result["threads"],
            "jobs": result["jobs"],
            **{name: part for name, part in result.items() if name in PARTS},
            **{name: seconds for name, seconds in cpu.items() if name in ("lock_wait_s", "lock_held_s")},
        },
    )


def with_background(result: PhaseAnswer, load: Load, thread: str, operation: str) -> list[Phase]:
    """The phase, and one for each group that worked beside it: bytes and latency are its own, processor time is the
    machine's."""
    if not load.beside:
        return [phase_of(result, thread, operation)]
    groups = [(operation, load.threads), *((other.phases[0].operation, other.threads) for other in load.beside)]
    phases = []
    for (name, threads), own in zip(groups, result["jobs"], strict=True):
        phase = phase_of(part_of(result, own), thread, name)
        # Rates over time are kept for all groups together. A group has threads of its own, which the combination's key
        # does not say.
        phases.append(replace(phase, windows=(), details={**phase.details, "group_threads": threads}))
    return phases


def part_of(result: PhaseAnswer, own: Mapping[str, object]) -> PhaseAnswer:
    """The phase with what was a part's own in place of the whole's."""
    return cast("PhaseAnswer", {**result, **own})


def of_queue(settings: QueueAnswer) -> dict[str, str]:
    """The queue's own settings in force, under the kernel's file names."""
    return {
        "queue/scheduler": settings["scheduler"],
        "queue/nr_requests": str(settings["nr_requests"]),
        "queue/max_sectors_kb": str(settings["max_sectors_kb"]),
        "queue/nomerges": str(settings["nomerges"]),
        "queue/wbt_lat_usec": str(settings["wbt_lat_usec"]),
        "device/queue_depth": str(settings["queue_depth"]),
    }


Heed = Callable[[int, int], None]
"""Told how many trials of a batch are done, and of how many; raises to end it."""


@dataclass(frozen=True)
class Attempt:
    """One trial as it was carried out."""

    trial: Trial
    seed: int
    number: int
    started: str


def record_of(
    run_id: str,
    plan: Plan,
    attempt: Attempt,
    phases: Sequence[Phase],
    answer: Answer | None,
    load: Mapping[str, object],
    device: Spec,
    missing: Mapping[str, str] = {},
) -> Record:
    """`answer`: of any of its simulations, `device`: what that had; None and empty where nothing of it is modelled. `missing`: {operation: why}."""
    unit = device.get("controller")
    trial = attempt.trial
    combination = plan.combinations[trial.combination]
    seen: dict[str, str] = {}
    known: dict[str, object] = {}
    machine: dict[str, object] = {"kernel": "Linux (model)"}
    if answer is not None:
        models, settings = answer["models"], answer["settings"]
        values: dict[str, Value] = {**combination.fixed, **plan.settings[trial.setting].values}
        seen = of_queue(settings) | {f"queue/iosched/{name}": str(value) for name, value in settings["iosched"].items()}
        seen |= {checked(name).attribute: str(values[name]) for name in WITHOUT_EFFECT & values.keys()}
        machine = {"kernel": f"Linux {models['kernel']} (model)", "device_model": models["device"]}
        machine["processors"] = answer["phases"][0]["cpu"]["processors"]
        known = {"models": models, **({"array": answer["array"]} if "array" in answer else {})}
    memory = combination.load.memory_limit_bytes
    scheduler = {"scheduler": seen["queue/scheduler"]} if seen else {}
    return Record(
        **origin(run_id, plan, trial, **scheduler, **({"memory_bytes": memory} if memory else {})),
        provenance="simulated",
        seed=attempt.seed,
        started_at=attempt.started,
        phases=tuple(phases),
        settings_seen={DEVICE: seen} if seen else {},
        environment=machine | (controllers.environment(unit["model"], unit["choices"]) if unit else {}),
        load={
            "simulator": f"seekwise {_core.version()}",
            "model_version": _core.model_version(),
            "seed": attempt.seed,
            **known,
            **load,
            "end_fsync": False,
        },
        conditions={"role": trial.role, **({"not_modelled": dict(missing)} if missing else {})},
        attempt=attempt.number,
    )
