"""Trials on whole storage - arrays, controllers, page cache and file system - for the simulated backend.

A system and a load become the same set-up, and the same spec of the compiled simulator, as a question to
`seekwise_papers`: a study and a claim about it cannot drift apart. An operation that is not modelled has no phase in
the record; why stands in `conditions.not_modelled`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from seekwise import _core, controllers
from seekwise.errors import UsageError
from seekwise.simulate import arrays
from seekwise.simulate.options import drive_parameters
from seekwise.simulate.protocol import origin
from seekwise.simulate.setups import trials
from seekwise.simulate.setups.setup import GNOME_DISKS_SAMPLES, NotModelled, Setup, drive_model, of_system
from seekwise.simulate.spec import Answer, Spec
from seekwise.simulate.trial_spec import background_jobs, pace_of
from seekwise.store.database import now
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.study.factors import ISCHED_PREFIX, Value
from seekwise.workload.study.plan import Combination, Load, Plan, Setting, Trial
from seekwise.workload.study.study import ARRAY_OPTIONS, Study, System

# Options of a system that only whole storage has.
OPTIONS = ("filesystem", "volume", "partition_gib")
FILESYSTEMS = ("ext3", "ext4", "xfs", "raw")
KNOWN_OPTIONS = (*OPTIONS, "ncq", "hz", "processors", "host", "budget", *ARRAY_OPTIONS)
QUEUE_SETTINGS = ("nr_requests", "max_sectors_kb", "nomerges", "wbt_lat_usec")
SAMPLED = "gnome-disks"
SETTINGS = ("scheduler", "queue_depth", "read_ahead_kb", *arrays.FACTORS, *QUEUE_SETTINGS)


def is_storage(system: System, study: Study | None) -> bool:
    """Whether a system needs the whole storage rather than drives behind queues, alone or under md."""
    if any(name in system.options for name in OPTIONS):
        return True
    if cached_by_trials(system):
        return False
    return study is not None and any(not workload.direct or workload.program == SAMPLED for workload in study.workload)


def cached_by_trials(system: System) -> bool:
    """Whether buffered loads are modelled by the trials themselves: multi-queue kernels, a raw drive or md."""
    try:
        multi_queue = system.kernel is None or trials.version(system.kernel) >= trials.SINGLE_QUEUE_UNTIL
    except NotModelled as error:
        raise UsageError(f"system {system.name}: {error}", hint="for example 2.6.32 or 6.1") from None
    return system.controller is None and multi_queue


def unknown_option(system: System) -> str | None:
    """An option that is neither the storage's nor a parameter of its drive's model."""
    known = {*KNOWN_OPTIONS, *drive_model(str(system.drive))}
    return next((name for name in system.options if name not in known), None)


OF_SETUP = ("level", "members", "chunk_kib")
"""Of an array, what a set-up says itself."""


@dataclass(frozen=True)
class PhaseRequest:
    """One operation of one trial: its spec as text, or why there is none."""

    operation: str
    spec: str | None
    reason: str = ""


def setup_of_combination(study: Study, system: System, load: Load, values: dict[str, Value]) -> Setup:
    """What a combination and a setting ask for."""
    unknown = next((name for name in values if name not in SETTINGS and not name.startswith(ISCHED_PREFIX)), None)
    if unknown is not None:
        raise UsageError(
            f"the simulated backend does not model `{unknown}` on whole storage",
            hint="known: " + ", ".join((*SETTINGS, f"{ISCHED_PREFIX}NAME")),
        )
    if load.iodepth > 1 and not load.direct:
        raise NotModelled(f"iodepth {load.iodepth} through the page cache, whose calls wait one by one")
    if load.iodepth > 1 and load.sync:
        raise NotModelled(f"`sync` with iodepth {load.iodepth}")
    setup = of_system(study, system)
    setup = replace(
        setup,
        direct=load.direct,
        block_bytes=load.block_bytes,
        file_bytes=load.size_bytes,
        memory_bytes=load.memory_limit_bytes,
        random_ios=next((phase.ios_per_thread for phase in load.phases if phase.ios_per_thread), setup.random_ios),
        iodepth=load.iodepth,
        samples=GNOME_DISKS_SAMPLES if load.program == SAMPLED else None,
        sync=load.sync,
        end_fsync=load.end_fsync,
        runtime_s=next((phase.runtime_s for phase in load.phases), None),
        job=pace_of(load),
        background=tuple(background_jobs(load)),
        drive_parameters=drive_parameters(system.name, system.options, KNOWN_OPTIONS),
        queue=_queue(values) | {name: bool(system.options[name]) for name in ("budget",) if name in system.options},
    )
    if "chunk_kib" in values:
        setup = replace(setup, chunk_kib=int(values["chunk_kib"]))
    if "raid_level" in values:
        setup = replace(setup, level=str(values["raid_level"]))
    if "drives" in values:
        setup = replace(setup, drives=int(values["drives"]))
    if setup.level is not None and system.controller is None:
        array = arrays.array_spec(system, values) or {}
        setup = replace(setup, array={name: value for name, value in array.items() if name not in OF_SETUP})
    if "read_ahead_kb" in values:
        setup = replace(setup, read_ahead_kib=int(values["read_ahead_kb"]))
    if "queue_depth" in values:
        depth = int(values["queue_depth"])
        if depth == 1:
            setup = replace(setup, ncq=False)
        elif system.controller is not None:
            raise NotModelled(f"queue_depth {depth} behind a controller, other than 1 (NCQ off)")
        else:
            setup = replace(setup, queue_depth=depth)
    return setup


def _queue(values: dict[str, Value]) -> dict[str, object]:
    """Settings of the drives' queues that are not the kernel's own."""
    changes: dict[str, object] = {name: int(values[name]) for name in QUEUE_SETTINGS if name in values}
    tunables = {
        name.removeprefix(ISCHED_PREFIX): int(value) for name, value in values.items() if name.startswith(ISCHED_PREFIX)
    }
    return {**changes, **({"tunables": tunables} if tunables else {})}


def phase_requests(
    study: Study, system: System, combination: Combination, setting: Setting, seed: int, default_scheduler: str = ""
) -> list[PhaseRequest]:
    """The operations of a trial."""
    load = combination.load
    if load.job is not None:
        raise UsageError(f"{combination.key} is a fio job file, which only the kernel backend runs")
    values = {**combination.fixed, **setting.values}
    scheduler = str(values.get("scheduler") or default_scheduler)
    try:
        setup = setup_of_combination(study, system, load, values)
    except NotModelled as missing:
        return [PhaseRequest(phase.operation, None, str(missing)) for phase in load.phases]
    requests = []
    for phase in load.phases:
        try:
            text = trials.spec(setup, phase.operation, scheduler, load.threads, seed)
            requests.append(PhaseRequest(phase.operation, text))
        except NotModelled as missing:
            requests.append(PhaseRequest(phase.operation, None, str(missing)))
    return requests


def nothing_modelled(study: Study, systems: dict[str, System], plan: Plan) -> str | None:
    """The first reason when no operation of any storage combination can be simulated; None when there is one that
    can."""
    reason = None
    for combination in plan.combinations:
        default = plan.system_of(combination).scheduler or ""
        for request in phase_requests(study, systems[combination.system], combination, plan.settings[0], 1, default):
            if request.spec is not None:
                return None
            reason = reason or f"{combination.key}, {request.operation}: {request.reason}"
    return reason


def requests_of(study: Study, systems: dict[str, System], plan: Plan, trial: Trial, seed: int) -> list[PhaseRequest]:
    """What the core is asked for one trial: one request per phase."""
    combination = plan.combinations[trial.combination]
    default = plan.system_of(combination).scheduler or ""
    return phase_requests(study, systems[combination.system], combination, plan.settings[trial.setting], seed, default)


def records(
    study: Study,
    systems: dict[str, System],
    plan: Plan,
    run_id: str,
    batch: Sequence[tuple[Trial, int, int]],
    tell: trials.Tell | None = None,
    processors: int | None = None,
) -> list[Record]:
    """The records of trials (with their seed and attempt), simulated side by side."""
    started = now()
    asked = [requests_of(study, systems, plan, trial, seed) for trial, seed, _ in batch]
    specs = list(dict.fromkeys(request.spec for group in asked for request in group if request.spec is not None))
    results = dict(zip(specs, trials.raw(specs, processors or os.cpu_count() or 1, tell), strict=True))
    simulated = []
    for (trial, seed, attempt), group in zip(batch, asked, strict=True):
        combination = plan.combinations[trial.combination]
        memory = {"memory_bytes": combination.load.memory_limit_bytes} if combination.load.memory_limit_bytes else {}
        phases, missing, own = [], {}, {}
        for request in group:
            result = {"error": request.reason} if request.spec is None else results[request.spec]
            if "error" in result:
                missing[request.operation] = str(result["error"])
            else:
                spec = own[request.operation] = json.loads(str(request.spec))
                ticks = trials.prints_ticks(spec["cell"]["queue"]["kernel"])
                phases += phases_of(request.operation, result, combination.load, ticks=ticks)
        simulated.append(
            Record(
                **origin(run_id, plan, trial, **memory),
                provenance="simulated",
                seed=seed,
                started_at=started,
                phases=tuple(phases),
                environment={"kernel": "Linux (model)", **_controller(own)},
                load={
                    "simulator": f"seekwise {_core.version()}",
                    "model_version": _core.model_version(),
                    "seed": seed,
                    "specs": own,
                },
                conditions={"role": trial.role, **({"not_modelled": missing} if missing else {})},
                attempt=attempt,
            )
        )
    return simulated


def _controller(specs: dict[str, Spec]) -> dict[str, dict[str, str]]:
    """Facts of the controller that the trial was behind, and how it was set."""
    for spec in specs.values():
        if unit := spec["cell"]["device"].get("controller"):
            return controllers.environment(unit["model"], {"ncq": unit["choices"]["ncq"]})
    return {}


def phases_of(operation: str, result: Answer, load: Load, *, ticks: bool) -> list[Phase]:
    """The phase, and one for each group that worked beside it: bytes and latency are its own, processor time is the
    machine's."""
    if not load.beside:
        return [phase(operation, result, load.threads, ticks=ticks)]
    groups = [(operation, load.threads), *((other.phases[0].operation, other.threads) for other in load.beside)]
    phases = []
    for (name, threads), own in zip(groups, result["jobs"], strict=True):
        played = phase(name, {**result, **own}, threads, ticks=ticks)
        phases.append(replace(played, details={**played.details, "group_threads": threads}))
    return phases


def phase(operation: str, result: Answer, threads: int, *, ticks: bool) -> Phase:
    """A phase of a record from a result of the compiled simulator: of one drive's trial, or of a storage.

    Processor time is exact; what the text's program would print of it, with its fault and by `ticks` where its kernel
    counts them, stands in the details. gnome-disks shows the mean of its samples' rates: the time is the one that gives
    this rate.
    """
    if "phases" in result:
        (result,) = result["phases"]
    cpu = result.get("cpu")
    call_rate_mean = result.get("call_rate_mean")
    return Phase(
        operation=operation,
        elapsed_s=result["bytes"] / call_rate_mean if call_rate_mean else result["elapsed_ns"] / 1e9,
        bytes=result["bytes"],
        ios=result["ios"],
        latency_bins={int(upper): count for upper, count in result.get("latency_bins", {}).items()},
        latency_mean_ns=result["latency_mean_ns"],
        latency_max_ns=result["latency_max_ns"],
        cpu=CpuSeconds(0.0, 0.0) if cpu is None else _cpu(cpu),
        device_bytes=result.get("device_bytes"),
        details={
            **({"printed": trials.cpu_metrics(result, threads, ticks=ticks)} if cpu and "system_ticks" in cpu else {}),
            **{name: result[name] for name in ("members", "resync", "bitmap") if name in result},
        },
    )


def _cpu(cpu: Answer) -> CpuSeconds:
    behind = float(cpu.get("thread_s", 0.0))
    return CpuSeconds(
        submitter_user=float(cpu["user_s"]),
        submitter_system=float(cpu["system_s"]),
        user=float(cpu["user_s"]),
        system=float(cpu["system_s"]) + behind,
        irq=float(cpu.get("irq_s", 0.0)),
        softirq=0.0,
        kernel_threads={"md and write-back": behind} if behind else {},
    )
