"""A trial as the specification that the compiled simulator takes: device, queue, host, phases
(`crates/sim/src/spec/mod.rs`)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache

from seekwise import _core
from seekwise.errors import UsageError
from seekwise.simulate import arrays
from seekwise.simulate.made import QUEUE_SETTINGS, WITHOUT_EFFECT
from seekwise.simulate.options import drive_parameters
from seekwise.simulate.spec import Described, Spec
from seekwise.workload.study.factors import ISCHED_PREFIX, Value
from seekwise.workload.study.plan import Combination, Load, PlannedPhase
from seekwise.workload.study.study import ARRAY_OPTIONS, Study, System

# Kernel whose block layer is modelled when a study names none: the long-term kernel of Debian 12.
KERNEL_DEFAULT = "6.1"
# What to write instead of a setting that is not modelled.
INSTEAD = {
    "write_cache": "it is only the kernel's view of the drive; `options = { write_cache = 0 }` of a system switches the modelled drive's cache off"
}
# `host` names a model of what a request costs (models/host-*.toml); the others are costs of the study's own.
HOST_OPTIONS = (
    "host",
    "processors",
    "cores",
    "synchronous_dispatch",
    "user_ns",
    "submit_ns",
    "interrupt_ns",
    "wake_ns",
    "scheduler_ns",
)
DRIVES_BESIDE = "drives_beside"
"""With `cores`: how many such drives, each with a queue of its own, the processes use in turn."""
REGIONS_OWN = {"region_bytes", "whole_drive"}
"""Options with which a load does not lie in regions of its threads."""
REGION_OPTIONS = ("region_start_bytes", "region_bytes", "whole_drive", "partition_scan")
QUEUE_OPTIONS = ("hz", "budget", "rotational", "cgroup")
STORAGE_OPTIONS = ("filesystem", "volume")
"""What lies on a storage, which `setups/trials.py` gives its trials."""
ON = (True, "on")
PARTITION_SCAN = "partition_scan"
# So long before the load: enough for a drive to fill the buffer that it reads on into.
SCAN_BEFORE_NS = 200_000_000


def spec_of_trial(
    system: System,
    values: Mapping[str, Value],
    *,
    seed: int,
    phases: list[Spec],
    name: str = "",
) -> Spec:
    """What the compiled simulator is asked for one trial."""
    options = dict(system.options)
    kernel = system.kernel or KERNEL_DEFAULT
    queue: dict[str, object] = {
        "scheduler": values.get("scheduler") or default_scheduler(kernel, str(system.drive)),
        "kernel": kernel,
    }
    device: dict[str, object] = {"model": system.drive}
    tunables: dict[str, Value] = {}
    for factor_name, value in values.items():
        if factor_name == "scheduler" or factor_name in WITHOUT_EFFECT or factor_name in arrays.FACTORS:
            continue
        if factor_name == "queue_depth":
            device["depth"] = value
        elif factor_name in QUEUE_SETTINGS:
            queue[factor_name] = value
        elif factor_name.startswith(ISCHED_PREFIX):
            tunables[factor_name.removeprefix(ISCHED_PREFIX)] = value
        else:
            raise UsageError(f"the simulated backend does not model `{factor_name}`", hint=INSTEAD.get(factor_name))
    queue["tunables"] = tunables
    queue |= {key: options.pop(key) for key in QUEUE_OPTIONS if key in options}
    host = {"model" if key == "host" else key: options.pop(key) for key in HOST_OPTIONS if key in options}
    for key in (*REGION_OPTIONS, *STORAGE_OPTIONS):
        options.pop(key, None)
    if system.options.get("partition_scan"):
        phases = [_partition_scan(), *phases]
    trace = options.pop("trace_events_max", 0)
    in_use = {} if (gib := options.pop("partition_gib", None)) is None else {"member_bytes": int(gib) * 2**30}
    if system.controller is not None:
        device["controller"] = _controller(system, values, options) | in_use
    elif (array := arrays.array_spec(system, values)) is not None:
        device["array"] = array | in_use
    elif in_use:
        device["bytes"] = in_use["member_bytes"]
    if "ncq" in options and options.pop("ncq") not in ON:
        device["depth"] = 1
    for key in ARRAY_OPTIONS:
        options.pop(key, None)
    # What is left are parameters of the drive model, by its own names.
    others = (*HOST_OPTIONS, *REGION_OPTIONS, *QUEUE_OPTIONS, *ARRAY_OPTIONS)
    if (beside := options.pop(DRIVES_BESIDE, None)) is not None:
        device[DRIVES_BESIDE] = beside
    device["parameters"] = drive_parameters(system.name, options, others)
    return {
        "name": name,
        "seed": seed,
        "device": device,
        "queue": queue,
        "host": host,
        "phases": phases,
        "trace_events_max": trace,
    }


def _controller(system: System, values: Mapping[str, Value], options: dict[str, Value]) -> dict[str, object]:
    """The unit of a controller that a trial runs on."""
    chunk = values.get("chunk_kib") or (system.chunk_kib[0] if system.chunk_kib else None)
    level = values.get("raid_level", system.raid_level)
    choices: dict[str, object] = {} if chunk is None else {"chunk_kib": chunk}
    for name in ("ncq", "write_back", "battery"):
        if name in options:
            choices[name] = options.pop(name) in ON
    if "read_ahead_kib" in options:
        choices["read_ahead_kib"] = options.pop("read_ahead_kib")
    return {
        "model": system.controller,
        "level": "single" if level in (None, "none") else level,
        "drives": values.get("drives", system.drives),
        "choices": choices,
    }


@cache
def default_scheduler(kernel: str, drive: str) -> str:
    """What a kernel chooses by itself for a drive.

    Linux 2.6.18 to 4.20: cfq by build configuration. From 5.0 on mq-deadline where the device has one hardware queue,
    and none where it has several, as NVMe does (Linux v5.0 block/elevator.c elevator_init_mq, v6.1
    elevator_get_default: `q->nr_hw_queues != 1`).
    """
    version = tuple(int(part) for part in re.findall(r"\d+", kernel)[:2])
    if version >= (5, 0):
        return "none" if _attachment(drive) == "nvme" else "mq-deadline"
    probe = {"seed": 0, "device": {"model": "null"}, "queue": {"scheduler": "noop", "kernel": kernel}}
    offered = describe({**probe, "phases": [probe_phase()]})["schedulers"]
    return "cfq" if "cfq" in offered else "deadline"


@cache
def _attachment(drive: str) -> str:
    """`sata`, `nvme` …; empty for a model that states none."""
    try:
        return str(json.loads(_core.drive_model(drive)).get("attachment") or "")
    except ValueError:
        return ""


LOG = "logged_writes_per_turn"


def with_full_log(spec: Spec) -> Spec:
    """Of a drive that gathers small writes in zones of its own: as it is once these are full. How large they are no maker publishes, so a rate that lasts
    is one without them."""
    if LOG in json.loads(_core.drive_model(str(spec["device"]["model"])))["parameters"]:
        spec["device"]["parameters"] = {**spec["device"]["parameters"], LOG: 0}
    return spec


def describe(spec: Spec) -> Described:
    """What the simulator makes of a specification, without running it; UsageError in its own words."""
    try:
        answer: Described = json.loads(_core.describe_cell(json.dumps(spec)))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return answer


def probe_phase() -> Spec:
    """The least phase with which a system can be described."""
    return {"operation": "rand_read", "jobs": [{"pattern": "random", "block_bytes": 4096, "ios": 1}]}


def _partition_scan() -> Spec:
    """What happens to a drive that has just been attached: the kernel reads its first blocks, and the drive reads on. A
    first reader from the drive's beginning finds that in the buffer and gets ahead of the others by some requests."""
    job = {"pattern": "random", "block_bytes": 4096, "region_bytes": 4096, "ios": 2, "think_ns": SCAN_BEFORE_NS}
    return {"operation": PARTITION_SCAN, "jobs": [job]}


def phases_of(combination: Combination, system: System) -> list[Spec]:
    """The phases of a combination; UsageError for loads that are not modelled."""
    load = combination.load
    if load.job is not None:
        raise UsageError(f"{combination.key} is a fio job file, which only the kernel backend runs")
    if not load.direct and load.memory_limit_bytes is None:
        raise UsageError(
            f"{combination.key} is buffered and has no `memory_limit`: how much the page cache may hold decides what is measured",
            hint='set `memory_limit = "64m"` and a `size` of several times that, or `direct = true`',
        )
    if not load.direct and load.iodepth > 1:
        raise UsageError(
            f"{combination.key} has iodepth {load.iodepth} through the page cache, whose calls wait one by one",
            hint="set `direct = true`, or `iodepth = 1`",
        )
    return [phase_spec(load, system.options, step) for step in load.phases]


def cache_spec(limit_bytes: int | None, values: Mapping[str, Value]) -> dict[str, object]:
    """The page cache, whose read-ahead a setting may change."""
    read_ahead = {"read_ahead_kib": values["read_ahead_kb"]} if "read_ahead_kb" in values else {}
    return {"limit_bytes": limit_bytes, **read_ahead}


def phase_spec(load: Load, options: Mapping[str, Value], step: PlannedPhase) -> Spec:
    """One operation of a load on regions of a device. `options`: where these lie, as a system says."""
    # Every thread reaches the whole drive, as on a raw device; or it has a file of its own, one after the other, as on a fresh file system.
    whole = bool(options.get("whole_drive"))
    behind = load.threads * load.size_bytes
    job = job_spec(step.operation, step.operation, load) | {"own_regions": not whole}
    job |= {} if whole else {"region_bytes": behind}
    job |= {key: options[key] for key in ("region_start_bytes", "region_bytes") if key in options}
    jobs = [job]
    phase: dict[str, object] = {"operation": step.operation, "jobs": jobs}
    if step.runtime_s is not None:
        phase["runtime_ns"] = round(step.runtime_s * 1e9)
    else:
        job["ios"] = step.ios_per_thread or max(1, load.size_bytes // load.block_bytes)
    behind += int(options.get("region_start_bytes", 0))
    for other, other_job in zip(load.beside, background_jobs(load), strict=True):
        place = {"own_regions": False, "region_bytes": None} if whole else {"region_start_bytes": behind}
        jobs.append(other_job | place)
        behind += other.threads * other.size_bytes
    return phase


def job_spec(name: str, operation: str, load: Load) -> dict[str, object]:
    """What one group of threads asks for."""
    return {
        "name": name,
        "threads": load.threads,
        "depth": load.iodepth,
        "pattern": "sequential" if operation.startswith("seq") else "random",
        "read_percent": 100.0 if operation.endswith("read") else 0.0,
        "block_bytes": load.block_bytes,
        "direct": load.direct,
        **pace_of(load),
    }


def pace_of(load: Load) -> dict[str, object]:
    """When and with which priority threads begin their requests, where a load says something of it."""
    times = {"think_ns": load.think_s, "start_ns": load.start_delay_s, "stagger_ns": load.start_stagger_s}
    pace: dict[str, object] = {name: round(seconds * 1e9) for name, seconds in times.items() if seconds}
    if load.rate_limit_bytes is not None:
        pace["rate_iops"] = load.rate_limit_bytes / load.block_bytes
        pace["poisson"] = load.arrivals == "poisson"
    if load.io_class is not None:
        pace["class"] = load.io_class.replace("-", "_")
    if load.io_priority is not None:
        pace["level"] = load.io_priority
    return pace


def background_jobs(load: Load) -> list[dict[str, object]]:
    """The jobs that work beside a load, each thread with a file of its own."""
    return [
        job_spec(other.name, other.phases[0].operation, other)
        | {"own_regions": True, "region_bytes": other.threads * other.size_bytes}
        for other in load.beside
    ]


def settings_of(study: Study) -> list[dict[str, Value]]:
    """Every value that a study may set, so that what cannot be is said before the first trial."""
    if study.candidate:
        return [dict(values) for values in study.candidate]
    schedulers = [name for name in study.settings.get("scheduler", []) if name != "offered"]
    alone = [{"scheduler": name} for name in schedulers]
    return alone + [
        {name: value}
        for name, values in study.settings.items()
        if name != "scheduler" and not name.startswith(ISCHED_PREFIX)
        for value in values
    ]
