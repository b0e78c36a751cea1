"""The same uses on a model of host, block layer and drive: what is known before anything can be measured.

Every round is a seed: it draws the addresses and where the platters stand, the same for every candidate. What the
simulator plays in another way than the kernel would is said with the answer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from seekwise import invocation, schedulers, suggestion
from seekwise.errors import UsageError
from seekwise.judge.decision import choose
from seekwise.judge.decision.records import decided, is_enough
from seekwise.linux.facts import kernel_version
from seekwise.measure.live import logs, record
from seekwise.measure.live.candidates import Candidates, product
from seekwise.measure.live.open_run import OpenRun
from seekwise.measure.live.record import OPERATIONS
from seekwise.measure.live.stretch import Counters, Period, Stretch
from seekwise.simulate import options, trial_spec, use_programs
from seekwise.simulate.made import WITHOUT_EFFECT
from seekwise.simulate.spec import PhaseAnswer
from seekwise.simulate.use_trials import Model, phase_of, phases_of_use, spec_of_use
from seekwise.store.database import now
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.live_plan import Candidate
from seekwise.workload.study.factors import ISCHED_PREFIX, Value
from seekwise.workload.study.uses import Use

PREFIX = "model:"
BACKEND = PROVENANCE = "simulated"
DOING = "simulating"
ROUNDS = 8
ROUNDS_MOST = 32
"""Of a use that eight rounds leave open, where the answer may still lose by it."""
Trial = tuple[Use, int, Candidate]
"""A use in a round under a candidate."""
BATCH_MOST = 16
BATCH_PER_PROCESSOR = 2
"""Results of a fast drive hold a row for each of some hundred thousand units: no more of them at once than keep the
processors busy."""


def candidates(model: Model, wanted: dict[str, list[Value]]) -> Candidates:
    """What is compared: the schedulers of the kernel, or the product of `wanted`; what is in force by itself takes
    part."""
    wanted = wanted or {"scheduler": list(model.schedulers)}
    idle = [name for name in wanted if name in WITHOUT_EFFECT - {"read_ahead_kb"}]
    if idle:
        raise UsageError(
            f"the simulator ignores {', '.join(idle)}: every value would give the same figures",
            hint=f"measure it: `{invocation.line(f'sudo seekwise tune PATH --vary {idle[0]}=…')}`",
        )
    options.check_depth(str(model.system.drive), wanted)
    known = list(schedulers.registry())
    for name in map(str, wanted.get("scheduler", ())):
        if name not in known:
            raise UsageError(
                f"there is no scheduler `{name}`", suggestion.hint(name, known, f"known: {', '.join(known)}")
            )
    combined = product(wanted, _in_force(model, wanted))
    for candidate in combined:
        # What the model does not have is refused before anything runs.
        trial_spec.describe(
            trial_spec.spec_of_trial(model.system, candidate.values, seed=0, phases=[phase_of([], 0.1)])
        )
    return Candidates(tuple(combined))


def _in_force(model: Model, names: Iterable[str]) -> dict[str, Value]:
    """What the model's drive and kernel have of these settings before anything is set."""
    answer = trial_spec.describe(trial_spec.spec_of_trial(model.system, {}, seed=0, phases=[phase_of([], 0.1)]))
    settings = answer["settings"]
    # As crates/sim/src/assemble/mod.rs: read_ahead_kib.
    doubles = settings["rotational"] and kernel_version(model.kernel) >= (6, 17)
    ahead: dict[str, Any] = {"read_ahead_kb": 2 * settings["max_sectors_kb"] if doubles else 128}
    tunables = {f"{ISCHED_PREFIX}{name}": value for name, value in settings["iosched"].items()}
    known: dict[str, Any] = {**settings, **ahead, **tunables}
    return {name: known[name] for name in names if name in known}


@dataclass(kw_only=True)
class SimulatedRun(OpenRun):
    """A run on a drive model. `tell`: (use, share done, seconds left or None while that is not known)."""

    model: Model
    tell: Callable[[str, float, float | None], None] = lambda *_: None
    origin_s: float = 0.0


def carry_out(run: SimulatedRun) -> None:
    """Simulates every use under every candidate, `ROUNDS` seeds of each, and writes the records down; more where a
    choice hangs on them."""
    run.store.add_run(run.run)
    run.environment = {"kernel": run.model.kernel, "drive": run.model.title}
    uses, rounds = run.plan.uses, range(ROUNDS)
    while uses:
        _rounds(run, uses, rounds)
        decision = decided(run.records, run.plan)
        if is_enough(decision, run.plan):
            break
        at_stake = {entry.use for entry in choose.deciding(decision.judged) if entry.is_open}
        uses = tuple(use for use in run.plan.uses if use.name in at_stake)
        rounds = range(rounds.stop, rounds.stop + ROUNDS)
        if rounds.stop > ROUNDS_MOST:
            break


@dataclass
class Pace:
    """Time left, by what the first trial of each use took."""

    todo: dict[str, int]
    """{use: trials}."""
    cost_s: dict[str, float] = field(default_factory=dict)
    done_s: float = 0.0
    """What the trials that have ended should have taken."""
    began_s: float = field(default_factory=time.monotonic)
    told_s: float = field(default_factory=time.monotonic)

    def ended(self, uses: Sequence[str]) -> tuple[float, float | None]:
        """(share done, seconds left): these trials have ended, which ran side by side."""
        now_s = time.monotonic()
        for use in uses:
            self.done_s += self.cost_s.setdefault(use, (now_s - self.told_s) / len(uses))
        self.told_s = now_s
        if len(self.cost_s) < len(self.todo):
            return 0.0, None
        share = self.done_s / sum(number * self.cost_s[use] for use, number in self.todo.items())
        return share, (now_s - self.began_s) * (1 / share - 1)


def _rounds(run: SimulatedRun, uses: Sequence[Use], rounds: range) -> None:
    todo = [(use, number, candidate) for use in uses for number in rounds for candidate in run.plan.candidates]
    # First one of each use, under one candidate after the other: a trial of one takes a hundred times as long as of another.
    step, compared = len(rounds) * len(run.plan.candidates), len(run.plan.candidates)
    places = {number * step + number % compared: None for number in range(len(uses))}
    first, others = [todo[at] for at in places], [each for at, each in enumerate(todo) if at not in places]
    model, processors = run.model, os.cpu_count() or 1
    size = min(BATCH_MOST, BATCH_PER_PROCESSOR * processors)
    pace = Pace({use.name: step for use in uses})
    # Candidates of a round stand side by side and run the same; placing recordings takes as long as some trials.
    phases_for, phases = None, None
    for batch in [*_parts(first, processors), *_parts(others, size)]:
        specs = []
        for use, number, candidate in batch:
            seed = run.plan.seed + number
            if phases_for != (use.name, number):
                phases_for, phases = (use.name, number), phases_of_use(model, use, seed)
            specs.append(spec_of_use(model, use, candidate.values, seed, phases))
        results = use_programs.simulated(specs, processors)
        for (use, number, candidate), spec, result in zip(batch, specs, results, strict=True):
            if "error" in result:
                raise UsageError(f"{use.name} cannot be simulated under {candidate.label}: {result['error']}")
            period_record = _record(run, use, number, candidate, result["phases"][-1])
            # One of each is enough to be simulated again, request by request; recordings of programs are too large to
            # be kept with it.
            kept = number == 0 and not use.runs_programs
            run.keep(replace(period_record, load={**period_record.load, "spec": spec}) if kept else period_record)
        run.tell(batch[-1][0].title, *pace.ended([use.name for use, _, _ in batch]))


def _parts(trials: Sequence[Trial], size: int) -> list[Sequence[Trial]]:
    return [trials[start : start + size] for start in range(0, len(trials), size)]


def _record(run: SimulatedRun, use: Use, number: int, candidate: Candidate, phase: PhaseAnswer) -> Record:
    same: dict[str, Any] = {"seed": run.plan.seed + number, "started_at": now(), "load": {"what": "simulated"}}
    seconds = phase["elapsed_ns"] / 1e9
    if use.runs_programs:
        # Units of the foreground, and what the background did meanwhile; a period ends with the last unit of the
        # foreground.
        before_s = use_programs.lead_s(use, run.model.rotational)
        begin, end = (Counters(at_s, at_s, {}, {}) for at_s in (0.0, seconds))
        period = Period(candidate.label, number, 0.0, begin, end, {})
        stretch = Stretch((period,), _operations(use, phase), "")
        return record.of_period(run, period, stretch, use, candidate, counts=(before_s, seconds - before_s), **same)
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
    began_s = number * seconds
    return record.new_record(run, number, use.name, candidate, tuple(phases), record.When(began_s, seconds), **same)


def _operations(use: Use, result: PhaseAnswer) -> dict[str, logs.Operations]:
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
