"""The same uses on a model of host, block layer and drive: what is known before anything can be measured.

Every round is a seed: it draws the addresses and where the platters stand, the same for every candidate. What the simulator plays in
another way than the kernel would is said with the answer.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from seekwise import _core, drive_names, schedulers, suggestion
from seekwise.errors import SeekwiseError, UsageError
from seekwise.judge.decision import choose
from seekwise.judge.decision.records import decided, is_enough
from seekwise.measure.live import record, simulated_programs
from seekwise.measure.live.candidates import Candidates, product
from seekwise.measure.live.record import OPERATIONS
from seekwise.simulate import trial_spec
from seekwise.store.database import Run, Store, now
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.live_plan import Candidate, LivePlan
from seekwise.workload.study.factors import Value
from seekwise.workload.study.study import System
from seekwise.workload.study.uses import PERCENT, Job, Use

PREFIX = "model:"
BACKEND = PROVENANCE = "simulated"
HOST = ""
"""After the kernel's name: where it runs."""
DOING = "simulating"
USES_MOST: int | None = None
ROUNDS = 8
ROUNDS_MOST = 32
"""Of a use that eight rounds leave open, where the answer may still lose by it."""
BATCH_MOST = 16
BATCH_PER_PROCESSOR = 2
"""Results of a fast drive hold a row for each of some hundred thousand units: no more of them at once than keep the processors busy."""
MIB = 2**20
PAGE = 4096
DATA_BYTES = 1024 * MIB
STORE_BYTES = 512 * MIB
# Simulated time of a period: some hundred requests of a disk, some ten thousand of flash.
SECONDS = {True: (2.0, 8.0), False: (0.2, 0.6)}
"""{rotational: (before what counts, what counts)}."""
OPERATION = "mixed"
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
        """The drive alone behind one queue, without RAID or a controller."""
        return System(name=self.name, drive=self.name, kernel=self.kernel)


def model_of(target: str, kernel: str | None) -> Model:
    """The model that `model:NAME` names; UsageError when there is none or the kernel is not modelled."""
    kernel = kernel or trial_spec.KERNEL_DEFAULT
    known = json.loads(_core.drive_model(drive_names.find(target)))
    name = known["id"]
    default = trial_spec.default_scheduler(kernel, name)
    probe = {"seed": 0, "device": {"model": name}, "queue": {"scheduler": default, "kernel": kernel}}
    found = trial_spec.describe({**probe, "phases": [phase_of([], 0.1)]})
    rotational = known.get("kind") in ("hdd", "disk", "rotating")
    return Model(
        name, known["name"], kernel, rotational, int(found["capacity_bytes"]), tuple(found["schedulers"]), default
    )


def candidates(model: Model, wanted: dict[str, list[Value]]) -> Candidates:
    """What is compared: the schedulers of the kernel, or the product of `wanted`; what the kernel chooses by itself takes part."""
    wanted = wanted or {"scheduler": list(model.schedulers)}
    known = list(schedulers.known())
    for name in map(str, wanted.get("scheduler", ())):
        if name not in known:
            raise UsageError(
                f"there is no scheduler `{name}`", suggestion.hint(name, known, f"known: {', '.join(known)}")
            )
    found = product(wanted, {"scheduler": model.default})
    for each in found:
        # What the model does not have is refused before anything runs.
        trial_spec.describe(trial_spec.spec_of_trial(model.system, each.values, seed=0, phases=[phase_of([], 0.1)]))
    return Candidates(tuple(found))


def carry_out(
    store: Store,
    run: Run,
    plan: LivePlan,
    model: Model,
    say: Callable[[str], None] = lambda _: None,
    tell: Callable[[str, float], None] = lambda *_: None,
) -> None:
    """Simulates every use under every candidate, `ROUNDS` seeds of each, and writes the records down; more where a choice hangs on them.

    `tell`: (use, share done).
    """
    store.add_run(run)
    records: list[Record] = []
    uses, rounds = plan.uses, range(ROUNDS)
    while uses:
        _rounds(store, run, plan, model, uses, rounds, records, tell)
        found = decided(records, plan)
        if is_enough(found, plan):
            break
        at_stake = {each.use for each in choose.deciding(found.judged) if each.is_open}
        uses = tuple(use for use in plan.uses if use.name in at_stake)
        rounds = range(rounds.stop, rounds.stop + ROUNDS)
        if rounds.stop > ROUNDS_MOST:
            break


def _rounds(
    store: Store,
    run: Run,
    plan: LivePlan,
    model: Model,
    uses: Sequence[Use],
    rounds: range,
    records: list[Record],
    tell: Callable[[str, float], None],
) -> None:
    todo = [(use, number, candidate) for use in uses for number in rounds for candidate in plan.candidates]
    before = len(records)
    processors = os.cpu_count() or 1
    size = min(BATCH_MOST, BATCH_PER_PROCESSOR * processors)
    for start in range(0, len(todo), size):
        batch = todo[start : start + size]
        specs = [_spec(model, use, candidate, plan.seed + number) for use, number, candidate in batch]
        results = json.loads(_core.simulate_cells(json.dumps(specs), processors))
        for (use, number, candidate), spec, result in zip(batch, specs, results, strict=True):
            if "error" in result:
                raise SeekwiseError(f"{use.name} cannot be simulated under {candidate.label}: {result['error']}")
            phase, seed = result["phases"][-1], plan.seed + number
            each = _record(run.run_id, len(records), use, number, candidate, phase, seed, model)
            # One of each is enough to be simulated again, request by request; recordings of programs are too large to be kept with it.
            kept = number == 0 and not use.runs_programs
            store.add(replace(each, load={**each.load, "spec": spec}) if kept else each)
            records.append(each)
        tell(batch[-1][0].title, (len(records) - before) / len(todo))


def played_otherwise(uses: tuple[Use, ...]) -> list[str]:
    """What the simulator plays in another way than programs and fio do, in sentences."""
    jobs = [job for use in uses for job in use.job if job.pattern is not None]
    said = simulated_programs.played_otherwise(list(uses))
    if any(job.sync_every and not is_direct(job) for job in jobs):
        said.append(
            "fdatasync of buffered writers is simulated without the flush of the drive's cache that it asks for"
        )
    if any(not job.direct and is_direct(job) for job in jobs):
        said.append("Buffered writers that wait or pause after each request are simulated as direct ones")
    return said


def check_uses(uses: list[Use], *, named: bool = True) -> tuple[list[Use], list[str]]:
    """(uses that can be simulated, what is said of the others); UsageError when none is left."""
    return able(uses, _why_not, "measure it on a device, or choose other uses with --for")


def able(uses: list[Use], why_not: Callable[[Use], str | None], hint: str) -> tuple[list[Use], list[str]]:
    """(uses that can run, what is said of the others); UsageError when none is left."""
    reasons = {use.name: why for use in uses if (why := why_not(use)) is not None}
    if len(reasons) == len(uses):
        raise UsageError(f"{uses[0].title!r} {reasons[uses[0].name]}", hint=hint)
    said = [f"{name} is left out: it {why}" for name, why in reasons.items()]
    return [use for use in uses if use.name not in reasons], said


def _why_not(use: Use) -> str | None:
    if any(job.fio is not None for job in use.job):
        return "has a fio job of your own, and the simulator does not run fio"
    if use.drives is not None:
        return "loads several processors, and this host has one: `seekwise run nvme-schedulers` simulates several"
    return simulated_programs.why_not(use) if use.runs_programs else None


def _spec(model: Model, use: Use, candidate: Candidate, seed: int) -> dict:
    if use.runs_programs:
        return program_spec(model, use, candidate.values, model.capacity_bytes, seed)
    before_s, counted_s = SECONDS[model.rotational]
    jobs = jobs_of(use, model)
    spec = trial_spec.spec_of_trial(
        model.system, candidate.values, seed=seed, phases=[phase_of(jobs, before_s), phase_of(jobs, counted_s)]
    )
    if not all(job["direct"] for job in jobs):
        spec["cache"] = {"limit_bytes": MEMORY_BYTES[model.rotational]}
    return spec


def program_spec(
    model: Model, use: Use, values: dict[str, Value], capacity_bytes: int, seed: int, share: float = 1.0
) -> dict:
    """The trial of a use whose jobs are programs. `share`: of the usual time."""
    phase = simulated_programs.phase(use, capacity_bytes, model.rotational, seed, share)
    spec = trial_spec.spec_of_trial(model.system, values, seed=seed, phases=[phase])
    spec["cache"] = {"limit_bytes": simulated_programs.MEMORY_BYTES}
    spec["host"].setdefault("processors", simulated_programs.processors(use))
    return spec


def phase_of(jobs: list[dict], seconds: float) -> dict:
    """A phase of the simulator that runs these jobs for so many seconds; without jobs, one that idles."""
    return {"operation": OPERATION, "runtime_ns": round(seconds * 1e9), "jobs": jobs or [_IDLE]}


_IDLE = {"pattern": "random", "block_bytes": 4096, "ios": 1}


def jobs_of(use: Use, model: Model) -> list[dict]:
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
                "region_bytes": size - size % (max(each for each, _ in sizes) * job.jobs),
                "own_regions": job.jobs > 1 and not str(job.pattern).startswith("random"),
            }
        )
        stores += job.jobs if appends else 0
    return made


def is_direct(job: Job) -> bool:
    """Writers that wait for the drive, or pause after each request, have one request under way with or without a page cache."""
    return job.direct or job.sync_every == 1 or job.think_time > 0


def _read_percent(job: Job) -> float:
    if str(job.pattern).endswith("read/write"):
        return float(job.read_share)
    return float(PERCENT) if job.reads else 0.0


def _record(
    run_id: str, index: int, use: Use, number: int, candidate: Candidate, phase: dict, seed: int, model: Model
) -> Record:
    if use.runs_programs:
        return _program_record(run_id, index, use, number, candidate, phase, seed, model)
    seconds = phase["elapsed_ns"] / 1e9
    spent = phase["cpu"]
    cpu = CpuSeconds(
        submitter_user=0.0, submitter_system=0.0, user=spent["user_s"], system=spent["system_s"],
        irq=spent["irq_s"], softirq=0.0, iowait=0.0, idle=0.0,
    )  # fmt: skip
    phases = []
    for place, (job, done) in enumerate(zip(use.job, phase["jobs"], strict=True)):
        bins = {int(bound): count for bound, count in done["latency_bins"].items()}
        phases.append(
            Phase(
                operation=OPERATIONS.get(str(job.pattern), "mixed"),
                elapsed_s=seconds,
                bytes=done["bytes"],
                ios=done["ios"],
                latency_bins=bins,
                latency_mean_ns=sum(bound * count for bound, count in bins.items()) / max(1, sum(bins.values())),
                latency_max_ns=max(bins, default=0),
                cpu=cpu if place == 0 else CpuSeconds(*[0.0] * 8),
                details={"job": job.name, "role": job.role},
            )
        )
    return record.made(
        run_id,
        index,
        number,
        use.name,
        candidate,
        tuple(phases),
        seed=seed,
        start_s=number * seconds,
        length_s=seconds,
        provenance="simulated",
        environment={"kernel": model.kernel, "drive": model.title} if index == 0 else {},
        load={"what": "simulated"},
    )


def _program_record(
    run_id: str, index: int, use: Use, number: int, candidate: Candidate, phase: dict, seed: int, model: Model
) -> Record:
    """Units of the foreground, and what the background did meanwhile; a period ends with the last unit of the foreground."""
    end_s = phase["elapsed_ns"] / 1e9
    before_s = simulated_programs.lead_s(use, model.rotational)
    made = record.alone(
        use,
        candidate,
        number,
        (0.0, end_s),
        simulated_programs.operations(use, phase),
        run_id=run_id,
        index=index,
        cut_s=before_s,
        counted_s=end_s - before_s,
        seed=seed,
        environment={"kernel": model.kernel, "drive": model.title},
    )
    return replace(made, provenance="simulated", started_at=now(), load={"what": "simulated"})
