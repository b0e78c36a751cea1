"""A use as trials of the simulator: its jobs, or recordings of its programs, on a model of host, block layer and
drive."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from seekwise import _core, drive_names
from seekwise.errors import UsageError
from seekwise.simulate import trial_spec, use_programs
from seekwise.simulate.spec import Spec
from seekwise.store.operations import Operation
from seekwise.workload.study.factors import Value
from seekwise.workload.study.study import System
from seekwise.workload.study.uses import PERCENT, Job, Use, is_extra

MIB = 2**20
PAGE = 4096
DATA_BYTES = 1024 * MIB
STORE_BYTES = 512 * MIB
# Simulated time of a period: some hundred requests of a disk, some ten thousand of flash.
SECONDS = {True: (2.0, 8.0), False: (0.2, 0.6)}
"""{rotational: (before what counts, what counts)}."""
USE_SHARE = 0.5
"""Of the time that `tune model:NAME` simulates of a use, in studies: these have many arrays."""
OPERATION: Operation = "mixed"
"""Of every phase, whatever its jobs do."""
MEMORY_BYTES = {True: 192 * MIB, False: 512 * MIB}


@dataclass(frozen=True)
class Model:
    """A drive model on a host with this kernel."""

    name: str
    title: str
    kernel: str
    rotational: bool
    capacity_bytes: int
    schedulers: tuple[str, ...]
    default: str

    @property
    def system(self) -> System:
        """The drive alone behind one queue, without RAID or a controller. Uses lie on files, whose requests have a plug."""
        return System(name=self.name, drive=self.name, kernel=self.kernel, options={"synchronous_dispatch": True})


def model_of(target: str, kernel: str | None) -> Model:
    """The model that `model:NAME` names; UsageError when there is none or the kernel is not modelled."""
    kernel = kernel or trial_spec.KERNEL_DEFAULT
    known = json.loads(_core.drive_model(drive_names.find(target)))
    name = known["id"]
    default = trial_spec.default_scheduler(kernel, name)
    probe = {"seed": 0, "device": {"model": name}, "queue": {"scheduler": default, "kernel": kernel}}
    answer = trial_spec.describe({**probe, "phases": [phase_of([], 0.1)]})
    rotational = known.get("kind") in ("hdd", "disk", "rotating")
    return Model(
        name, known["name"], kernel, rotational, int(answer["capacity_bytes"]), tuple(answer["schedulers"]), default
    )


def played_otherwise(uses: tuple[Use, ...]) -> list[str]:
    """What the simulator plays in another way than programs and fio do, in sentences."""
    jobs = [job for use in uses for job in use.job if job.pattern is not None]
    said = use_programs.played_otherwise(list(uses))
    if any(job.sync_every and not is_direct(job) for job in jobs):
        said.append(
            "fdatasync of buffered writers is simulated without the flush of the drive's cache that it asks for"
        )
    if any(not job.direct and is_direct(job) for job in jobs):
        said.append("Buffered writers that wait or pause after each request are simulated as direct ones")
    return said


def check_uses(uses: list[Use]) -> tuple[list[Use], list[str]]:
    """(uses that can be simulated, what is said of the others); UsageError when none is left."""
    return able(uses, _why_not, "measure it on a device, or choose other uses with --for")


def able(uses: list[Use], why_not: Callable[[Use], str | None], hint: str) -> tuple[list[Use], list[str]]:
    """(uses that can run, what is said of the others); UsageError when none is left."""
    reasons = {use.name: why for use in uses if (why := why_not(use)) is not None}
    if len(reasons) == len(uses):
        raise UsageError(f"{uses[0].title!r} {reasons[uses[0].name]}", hint=hint)
    said = [
        f"{use.name} is left out: it {reasons[use.name]}" for use in uses if use.name in reasons and not is_extra(use)
    ]
    return [use for use in uses if use.name not in reasons], said


def _why_not(use: Use) -> str | None:
    if any(job.fio is not None for job in use.job):
        return "has a fio job of your own, and the simulator does not run fio"
    if use.drives is not None:
        return "loads several processors, and this host has one: `seekwise run nvme-schedulers` simulates several"
    return use_programs.why_not(use) if use.runs_programs else None


def spec_of_use(
    model: Model, use: Use, values: Mapping[str, Value], seed: int, phases: list[Spec] | None = None
) -> Spec:
    """The trial of a use. `phases`: what `phases_of_use` gave, which is the same for all values of settings."""
    spec = trial_spec.spec_of_trial(model.system, values, seed=seed, phases=phases or phases_of_use(model, use, seed))
    if use.runs_programs:
        return _with_host_of_programs(spec, use, values)
    if not all(is_direct(job) for job in use.job):
        spec["cache"] = trial_spec.cache_spec(MEMORY_BYTES[model.rotational], values)
    return spec


def phases_of_use(model: Model, use: Use, seed: int, share: float = 1.0, random_bytes: int | None = None) -> list[Spec]:
    """What a trial of the use runs. `share`: of the usual time. `random_bytes`: how much of the drive random requests
    reach, from its start, in place of the usual region."""
    if use.runs_programs:
        return [use_programs.phase(use, model.capacity_bytes, model.rotational, seed, share)]
    jobs = jobs_of(use, model)
    if random_bytes is not None:
        for job in jobs:
            if job["pattern"] == "random":
                job |= {"region_start_bytes": 0, "region_bytes": random_bytes - random_bytes % MIB}
    return [phase_of(jobs, share * seconds) for seconds in SECONDS[model.rotational]]


def program_spec(
    system: System,
    is_rotational: bool,
    capacity_bytes: int,
    use: Use,
    values: Mapping[str, Value],
    seed: int,
    share: float,
) -> Spec:
    """The trial of a use whose jobs are programs. `share`: of the usual time."""
    phase = use_programs.phase(use, capacity_bytes, is_rotational, seed, share)
    spec = trial_spec.spec_of_trial(system, values, seed=seed, phases=[phase])
    return _with_host_of_programs(spec, use, values)


def _with_host_of_programs(spec: Spec, use: Use, values: Mapping[str, Value]) -> Spec:
    spec["cache"] = trial_spec.cache_spec(use_programs.MEMORY_BYTES, values)
    spec["host"].setdefault("processors", use_programs.processors(use))
    return spec


def phase_of(jobs: list[Spec], seconds: float) -> Spec:
    """A phase of the simulator that runs these jobs for so many seconds; without jobs, one that idles."""
    return {"operation": OPERATION, "runtime_ns": round(seconds * 1e9), "jobs": jobs or [_IDLE]}


_IDLE = {"pattern": "random", "block_bytes": 4096, "ios": 1}


def jobs_of(use: Use, model: Model) -> list[Spec]:
    """The jobs of a use as the simulator takes them, laid out on the model's capacity."""
    made, stores = [], 0
    data = min(DATA_BYTES, model.capacity_bytes // 4)
    store = min(STORE_BYTES, model.capacity_bytes // 16)
    start = model.capacity_bytes // 4
    start -= start % MIB
    for job in use.job:
        appends = job.pattern in ("sequential write", "sequential read/write")
        sizes = [(max(PAGE, round(size / PAGE) * PAGE), float(share)) for size, share in job.block.items()]
        block = math.gcd(*(size for size, _ in sizes))
        region = start + data + stores * store if appends else start
        size = (store * job.jobs) if appends else data
        made.append(
            {
                "name": job.name,
                "threads": job.jobs,
                "depth": job.depth,
                "pattern": "random" if str(job.pattern).startswith("random") else "sequential",
                "read_percent": _read_percent(job),
                "block_bytes": block,
                "sizes": sizes if len(sizes) > 1 else [],
                "sync_every": job.sync_every if is_direct(job) else 0,
                "direct": is_direct(job),
                "think_ns": round(job.think_time * 1e9),
                "region_start_bytes": region,
                "region_bytes": size - size % (max(bytes_of for bytes_of, _ in sizes) * job.jobs),
                "own_regions": job.jobs > 1 and not str(job.pattern).startswith("random"),
            }
        )
        stores += job.jobs if appends else 0
    return made


def is_direct(job: Job) -> bool:
    """Writers that wait for the drive, or pause after each request, have one request under way with or without a page
    cache."""
    return job.direct or job.sync_every == 1 or job.think_time > 0


def _read_percent(job: Job) -> float:
    if str(job.pattern).endswith("read/write"):
        return float(job.read_share)
    return float(PERCENT) if job.reads else 0.0
