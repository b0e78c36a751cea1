"""The same uses on a model of host, block layer and drive: what is known before anything can be measured.

Every round is a seed: it draws the addresses and where the platters stand, the same for every candidate. What the simulator plays in
another way than the kernel would is said with the answer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from seekwise import schedulers, suggestion
from seekwise.errors import SeekwiseError, UsageError
from seekwise.judge.decision import choose
from seekwise.judge.decision.records import decided, is_enough
from seekwise.measure.live import logs, record
from seekwise.measure.live.candidates import Candidates, product
from seekwise.measure.live.record import OPERATIONS
from seekwise.simulate import trial_spec, use_programs
from seekwise.simulate.spec import Answer
from seekwise.simulate.use_trials import Model, phase_of, phases_of_use, spec_of_use
from seekwise.store.database import Run, Store, now
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.live_plan import Candidate, LivePlan
from seekwise.workload.study.factors import Value
from seekwise.workload.study.uses import Use

PREFIX = "model:"
BACKEND = PROVENANCE = "simulated"
DOING = "simulating"
ROUNDS = 8
ROUNDS_MOST = 32
"""Of a use that eight rounds leave open, where the answer may still lose by it."""
BATCH_MOST = 16
BATCH_PER_PROCESSOR = 2
"""Results of a fast drive hold a row for each of some hundred thousand units: no more of them at once than keep the processors busy."""


def candidates(model: Model, wanted: dict[str, list[Value]]) -> Candidates:
    """What is compared: the schedulers of the kernel, or the product of `wanted`; what the kernel chooses by itself takes part."""
    wanted = wanted or {"scheduler": list(model.schedulers)}
    idle = [name for name in wanted if name in trial_spec.WITHOUT_EFFECT - {"read_ahead_kb"}]
    if idle:
        raise UsageError(
            f"the simulator ignores {', '.join(idle)}: every value would give the same figures",
            hint=f"measure it: `sudo seekwise tune PATH --vary {idle[0]}=…`",
        )
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
    # Candidates of a round stand side by side and run the same; placing recordings takes as long as some trials.
    phases_for, phases, phases_text = None, None, ""
    for start in range(0, len(todo), size):
        batch = todo[start : start + size]
        specs, texts = [], []
        for use, number, candidate in batch:
            seed = plan.seed + number
            if phases_for != (use.name, number):
                phases_for, phases = (use.name, number), phases_of_use(model, use, seed)
                phases_text = json.dumps(phases)
            specs.append(spec_of_use(model, use, candidate.values, seed, phases))
            rest = json.dumps({name: part for name, part in specs[-1].items() if name != "phases"})
            texts.append(f'{rest[:-1]}, "phases": {phases_text}}}')
        results = use_programs.simulated(f"[{','.join(texts)}]", processors)
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


def _record(
    run_id: str, index: int, use: Use, number: int, candidate: Candidate, phase: Answer, seed: int, model: Model
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
                cpu=cpu
                if place == 0
                else CpuSeconds(0.0, 0.0, user=0.0, system=0.0, irq=0.0, softirq=0.0, iowait=0.0, idle=0.0),
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
    run_id: str, index: int, use: Use, number: int, candidate: Candidate, phase: Answer, seed: int, model: Model
) -> Record:
    """Units of the foreground, and what the background did meanwhile; a period ends with the last unit of the foreground."""
    end_s = phase["elapsed_ns"] / 1e9
    before_s = use_programs.lead_s(use, model.rotational)
    made = record.alone(
        use,
        candidate,
        number,
        (0.0, end_s),
        _operations(use, phase),
        run_id=run_id,
        index=index,
        cut_s=before_s,
        counted_s=end_s - before_s,
        seed=seed,
        environment={"kernel": model.kernel, "drive": model.title},
    )
    return replace(made, provenance="simulated", started_at=now(), load={"what": "simulated"})


def _operations(use: Use, result: dict[str, Any]) -> dict[str, logs.Operations]:
    """Units of each job as measured ones are logged, times counted from the phase's start."""
    end_s = result["elapsed_ns"] / 1e9
    return {job.name: _units(done["units"], end_s) for job, done in zip(use.job, result["jobs"], strict=True)}


def _units(packed: bytes, end_s: float) -> logs.Operations:
    if not packed:
        return logs.EMPTY
    process, ended_ns, length_ns, moved = use_programs.units_of(packed).T
    # What was not done in time ends behind everything: it counts with its age.
    late = moved < 0
    ends = np.where(late, end_s + use_programs.OPEN_S, ended_ns / 1e9)
    lengths, moved = length_ns.astype(float), np.where(late, 0.0, moved)
    process = process - process.min()
    if np.any(ends[1:] < ends[:-1]):
        order = np.argsort(ends, kind="stable")
        ends, lengths, moved, process = ends[order], lengths[order], moved[order], process[order]
    return logs.Operations(ends, lengths, moved, process)
