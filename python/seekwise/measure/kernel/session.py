"""A run on this machine's storage: prepared once, trial by trial, everything removed and restored at the end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seekwise.control import child
from seekwise.errors import MissingError
from seekwise.importing import fio_result
from seekwise.linux import diskstats, failure
from seekwise.measure.kernel import (
    cpu,
    environment,
    fio,
    fio_job,
    memory,
    prepared_target,
    programs,
    tiotest,
    user_job,
    validity,
    windows,
)
from seekwise.measure.kernel.target import Target
from seekwise.simulate.protocol import Say, origin
from seekwise.store.database import now
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.study import plan as plans
from seekwise.workload.study.plan import Combination, Plan, Trial

# A trial that runs this much longer than estimated has hung.
TIMEOUT_LEAST_S = 120.0
TIMEOUT_FACTOR = 20.0
IDLE_WAIT_LONGEST_S = 5.0
SETTLE_WAIT_LONGEST_S = 30.0
# Time that repeats of invalid trials may take, as a share of the plan's own; a machine that is never quiet must not
# keep a run from ending. What is still invalid then stays so, and is said.
REPEATS_SHARE = 0.25


@dataclass(frozen=True)
class PreparedSystem:
    """A system that is ready to be measured."""

    target: Target
    storage: failure.Watched
    place: fio_job.FioTarget
    environment: dict[str, object]
    conditions: dict[str, Any]


@dataclass(frozen=True)
class Attempt:
    """What one attempt of a trial works with."""

    combination: Combination
    ready: PreparedSystem
    seed: int
    seen: dict[str, dict[str, str]]
    """Settings in force: {device: {attribute: value as read back}}."""
    group: memory.MemoryGroup | None
    """Limits the memory of a buffered load."""


class _Observed:
    """What the kernel counted while a program ran."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self._throttled, self._io = validity.throttle_count(), programs.read()
        self._cpu, self._disk = cpu.snapshot(), diskstats.read()

    def end(self) -> None:
        """Counts up to now."""
        spent, counters = cpu.snapshot(), diskstats.read()
        self.spent = cpu.between(self._cpu, spent)
        self.moved = diskstats.moved(self._disk, counters, self.attempt.ready.target.leaf_names)

    def reason_against(self, result: fio_result.FioPhase, step: plans.PlannedPhase | None = None) -> str | None:
        """The first cause against the phase or call that gave this result, or None."""
        target, seen = self.attempt.ready.target, self.attempt.seen
        return validity.reason_against(
            validity.PhaseObservation(
                load=self.attempt.combination.load,
                step=step,
                result=result,
                moved=diskstats.total(self.moved),
                amplifies=target.amplifies,
                others=programs.others(self._io, programs.read(), {os.getpid()}),
                settings_before=seen,
                settings_after=seen_now(seen),
                resync=validity.resync_running(target.arrays),
                throttled=validity.throttle_count() > self._throttled,
            )
        )


@contextmanager
def _observed(attempt: Attempt) -> Iterator[_Observed]:
    """Observes what runs inside."""
    observed = _Observed(attempt)
    yield observed
    observed.end()


class KernelSession:
    """`targets`: by name of system. `work`: folder for job files and results, in memory."""

    ended_ahead = 0

    def __init__(
        self, plan: Plan, run_id: str, program: fio.Fio, targets: dict[str, PreparedSystem], work: Path, say: Say
    ):
        self.plan, self.run_id, self.fio, self.targets, self.work, self.say = plan, run_id, program, targets, work, say
        self.repeats_s = 0.0
        self.started = time.monotonic()
        self.user_jobs = {
            combination.load.job: user_job.read(Path(combination.load.job))
            for combination in plan.combinations
            if combination.load.job is not None
        }

    def run(self, trials: list[Trial], attempts: dict[int, int]) -> Iterator[Record]:
        """A record per attempt; a discarded trial is repeated after the drives are idle, while attempts and time are
        left."""
        for trial in trials:
            for attempt in range(attempts.get(trial.index, 0) + 1, self.plan.attempts + 1):
                started = time.monotonic()
                record = self._attempt(trial, attempt)
                may_repeat = self._may_repeat(trial, time.monotonic() - started)
                yield record
                if record.valid or not may_repeat:
                    break
                if attempt < self.plan.attempts:
                    self._wait_until_idle(self.targets[self.plan.combinations[trial.combination].system].target)
                self.repeats_s += time.monotonic() - started

    def _may_repeat(self, trial: Trial, lasted_s: float) -> bool:
        """Whether there is time for one more attempt: within the budget if there is one, else within a share of the
        plan."""
        if self.plan.budget_s is None:
            return self.repeats_s < REPEATS_SHARE * self.plan.estimated_s
        ahead_s = sum(self.plan.trial_s[other.combination] for other in self.plan.trials if other.index > trial.index)
        spent_s = self.plan.prepare_s + time.monotonic() - self.started
        return spent_s + lasted_s + ahead_s <= self.plan.budget_s

    def _wait_until_idle(self, target: Target) -> None:
        """Others may be done soon: gives them a few seconds."""
        end = time.monotonic() + IDLE_WAIT_LONGEST_S
        while time.monotonic() < end and not environment.watch_others(target.leaf_names, 0.25)["quiet"]:
            pass

    def _attempt(self, trial: Trial, attempt: int) -> Record:
        combination, setting = self.plan.combinations[trial.combination], self.plan.settings[trial.setting]
        ready = self.targets[combination.system]
        seed = trial.seed_of(attempt)
        conditions: dict[str, object] = {**ready.conditions, "role": trial.role}
        started = now()
        if self.plan.wait_s:
            time.sleep(self.plan.wait_s)
        if self.plan.settle_s:
            conditions["before"] = _settled(ready.target, self.plan.settle_s)
        if self.plan.trim:
            conditions["trimmed"] = _trim(ready.target)
        if temperature := environment.temperatures(ready.target.leaf_names):
            conditions["temperature_c"] = temperature
        wanted = ready.target.changes({**combination.fixed, **setting.values})
        with ExitStack() as stack:
            seen = stack.enter_context(settings_of_trial(wanted, ready.target))
            group = _memory_group(stack, combination)
            made = self._tiotest if combination.load.program == tiotest.NAME else self._phases
            phases, jobs, reason = made(Attempt(combination, ready, seed, seen, group))
            ready.storage.check(reason)
        return Record(
            **origin(self.run_id, self.plan, trial, scheduler=ready.target.leaves[0].scheduler or ""),
            provenance="measured",
            seed=seed,
            started_at=started,
            phases=tuple(phases),
            settings_seen=seen,
            environment=ready.environment,
            load={**self._made_by(combination), "jobs": jobs, "caches": _caches(combination, group)},
            conditions=conditions,
            valid=reason is None,
            invalid_reason=reason,
            attempt=attempt,
        )

    def _phases(self, attempt: Attempt) -> tuple[list[Phase], list[str], str | None]:
        """Phases of one trial, the job texts that made them, and the first cause against them."""
        combination, ready = attempt.combination, attempt.ready
        phases: list[Phase] = []
        jobs: list[str] = []
        reason: str | None = None
        for step, operation, text in self._steps(combination, ready, attempt.seed):
            jobs.append(ready.place.by_name(text))
            if not combination.load.direct and not memory.drop_caches():
                raise MissingError(
                    "dropping the caches before a buffered load needs root", hint="use sudo, or `direct = true`"
                )
            phase, against = self._phase(attempt, step, operation, text)
            phases.append(phase)
            reason = reason or against
            if against is not None:
                break
        return phases, jobs, reason

    def _made_by(self, combination: Combination) -> dict[str, object]:
        return {"program": tiotest.NAME} if combination.load.program == tiotest.NAME else {"fio": self.fio.version}

    def _tiotest(self, attempt: Attempt) -> tuple[list[Phase], list[str], str | None]:
        """All four phases in one call; tiotest takes no seed, so the seed orders nothing here."""
        combination, ready = attempt.combination, attempt.ready
        assert ready.place.folder is not None
        program = tiotest.find()
        with _observed(attempt) as observed:
            phases = tiotest.run(
                program, combination.load, ready.place.folder, attempt.group, self._timeout(combination)
            )
        reason = observed.reason_against(tiotest.as_one(phases))
        command = tiotest.words(tiotest.NAME, combination.load, ready.place.shown or ready.place.folder)
        counters = {"device_counters_of_the_call": {name: counted.recorded for name, counted in observed.moved.items()}}
        phases[-1] = replace(phases[-1], details={**phases[-1].details, **counters})
        return phases, [" ".join(command)], reason

    def _steps(
        self, combination: Combination, ready: PreparedSystem, seed: int
    ) -> Iterator[tuple[plans.PlannedPhase | None, str | None, str]]:
        if combination.load.job is not None:
            job = self.user_jobs[combination.load.job]
            for index in range(len(job.groups)):
                yield (
                    None,
                    None,
                    user_job.group_text(job, index, ready.place, seed + index, direct=combination.load.direct),
                )
            return
        for index, step in enumerate(combination.load.phases):
            yield step, step.operation, fio_job.phase(combination.load, step, ready.place, seed + index)

    def _phase(
        self, attempt: Attempt, step: plans.PlannedPhase | None, operation: str | None, text: str
    ) -> tuple[Phase, str | None]:
        combination, group = attempt.combination, attempt.group
        with _observed(attempt) as observed:
            run = fio.run(
                self.fio,
                text,
                self.work,
                timeout_s=self._timeout(combination),
                cgroup_files=(group.processes_file,) if group else (),
                extra=("--readonly",) if fio_job.only_reads(text) else (),
            )
        if run.status != 0:
            raise fio.failed(run, f"{combination.key} {operation or ''}".strip())
        result = fio_result.phase(fio_result.parse(run.output)["jobs"], operation)
        reason = observed.reason_against(result, step)
        return _as_phase(result, observed, group, windows.take(self.work)), reason

    def _timeout(self, combination: Combination) -> float:
        estimated = self.plan.trial_s[self.plan.combinations.index(combination)]
        return max(TIMEOUT_LEAST_S, TIMEOUT_FACTOR * estimated)


def _settled(target: Target, seconds: float) -> dict[str, object]:
    """Waits until the drives were left alone for that long, within reason; what was seen last."""
    end = time.monotonic() + seconds + SETTLE_WAIT_LONGEST_S
    while True:
        seen = environment.watch_others(target.leaf_names, seconds)
        if seen["quiet"] or time.monotonic() >= end:
            return seen


def settings_of_trial(
    wanted: dict[str, dict[str, str]], target: Target
) -> AbstractContextManager[dict[str, dict[str, str]]]:
    """The settings of a trial; without any, those in force are read all the same."""
    if wanted:
        return prepared_target.changed(wanted)
    return _as_found(target)


@contextmanager
def _as_found(target: Target) -> Iterator[dict[str, dict[str, str]]]:
    yield prepared_target.current_settings(target.leaf_names)


def seen_now(before: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """The same attributes as they are now."""
    return prepared_target.current_settings(tuple(before))


def _memory_group(stack: ExitStack, combination: Combination) -> memory.MemoryGroup | None:
    if combination.load.direct or combination.load.memory_limit_bytes is None:
        return None
    return stack.enter_context(memory.limited(combination.load.memory_limit_bytes))


def _caches(combination: Combination, group: memory.MemoryGroup | None) -> dict[str, object]:
    """How answers from memory were excluded."""
    if group is None:
        return {"excluded_by": "direct I/O"}
    return {
        "excluded_by": f"memory limit (cgroup v{group.version}) and dropped caches",
        "memory_limit_bytes": group.limit_bytes,
        "dropped_before_each_phase": combination.load.program != tiotest.NAME,
    }


def _as_phase(
    result: fio_result.FioPhase,
    observed: _Observed,
    group: memory.MemoryGroup | None,
    over_time: tuple[tuple[float, float], ...],
) -> Phase:
    spent, moved = observed.spent, diskstats.total(observed.moved)
    kinds = spent.by_kind
    # fio's children time is the whole program; what is not its job threads is its start and its report.
    own = max(0.0, spent.children_system_s - result.submitter_system_s)
    device_bytes = (moved.read_bytes if result.read_bytes else 0) + (moved.write_bytes if result.write_bytes else 0)
    details: dict[str, object] = {
        "device_counters": {name: counted.recorded for name, counted in observed.moved.items()},
        "fio_start_and_report_system_s": own,
        "foreign_system_s": spent.foreign_system_s,
        "short_ios": result.short_ios,
        **({"memory_peak_bytes": group.peak_bytes} if group else {}),
    }
    return replace(
        result.as_phase(details),
        windows=over_time,
        cpu=CpuSeconds(
            submitter_user=result.submitter_user_s,
            submitter_system=result.submitter_system_s,
            user=kinds["user"] + kinds["nice"],
            system=kinds["system"],
            irq=kinds["irq"],
            softirq=kinds["softirq"],
            iowait=kinds["iowait"],
            idle=kinds["idle"],
            kernel_threads=spent.kernel_threads,
            not_the_load_system=own + max(0.0, spent.self_system_s) + spent.foreign_system_s,
        ),
        device_bytes=device_bytes,
    )


def _trim(target: Target) -> str:
    """Frees the unused blocks; what fstrim says is kept."""
    if target.mount is None:
        return "not a file system"
    done = child.run(["fstrim", "-v", str(target.mount.mount_point)], timeout_s=600)
    return (done.stdout if done.returncode == 0 else f"not trimmed: {done.stderr}").strip()


@contextmanager
def opened(
    plan: Plan,
    run_id: str,
    program: fio.Fio,
    targets: dict[str, Target],
    destroy: tuple[str, ...],
    say: Say,
) -> Iterator[KernelSession]:
    """Locks, proves, lays out; gives the session; takes everything down again."""
    with ExitStack() as stack:
        storages = {name: target.watched() for name, target in targets.items()}
        for storage in storages.values():
            stack.enter_context(storage.ending())
        # A folder in memory, so that job files and results do not disturb the storage that is measured.
        home = stack.enter_context(prepared_target.work_folder(fio.work_home()))
        ready: dict[str, PreparedSystem] = {}
        for name, target in targets.items():
            stack.enter_context(prepared_target.exclusively(target))
            combinations = [combination for combination in plan.combinations if combination.system == name]
            ready[name] = PreparedSystem(
                target,
                storages[name],
                _place(stack, target, combinations, program, home, destroy, say),
                environment.read(target, program.version),
                {**environment.conditions(target), "others": environment.watch_others(target.leaf_names, 0.5)},
            )
            _report_disturbance(ready[name], say)
        yield KernelSession(plan, run_id, program, ready, home, say)


def _report_disturbance(ready: PreparedSystem, say: Callable[[str], None]) -> None:
    others = ready.conditions["others"]
    if not others["quiet"]:
        by = f" by {', '.join(others['other_io_by'])}" if others["other_io_by"] else ""
        say(f"other I/O on {', '.join(ready.target.leaf_names)}{by}: trials it disturbs are repeated")


def _place(
    stack: ExitStack,
    target: Target,
    combinations: list[Combination],
    program: fio.Fio,
    work: Path,
    destroy: tuple[str, ...],
    say: Say,
) -> fio_job.FioTarget:
    threads, size = needs(combinations)
    if target.is_device:
        proof = stack.enter_context(prepared_target.claimed(target, destroy))
        # The proof leaves the first and last MiB out, so that the device proves empty again afterwards.
        share = proof.test_size_bytes // threads
        region = min(size, share - share % 2**20)
        with_job = any(combination.load.job is not None for combination in combinations)
        proof.uses(proof.test_size_bytes if with_job else threads * region)
        say(f"{proof.node} proves empty: no signature that wipefs or blkid knows, zeros in the first and last MiB")
        place = fio_job.FioTarget(
            device=proof.path,
            shown=proof.node,
            offset_bytes=proof.test_offset_bytes,
            region_bytes=region,
            whole_bytes=proof.test_size_bytes,
        )
    else:
        jobs = [
            user_job.read(Path(combination.load.job))
            for combination in combinations
            if combination.load.job is not None
        ]
        # tiotest makes files of its own, beside those that fio lies out where both work.
        sets = len({combination.load.program for combination in combinations})
        needed = max([sets * threads * size, *(job.needs_bytes(size) for job in jobs)])
        folder = stack.enter_context(prepared_target.scratch(target, needed))
        place = fio_job.FioTarget(folder=folder, shown=folder.shown, region_bytes=size)
    if any(combination.load.job is None and combination.load.program == "fio" for combination in combinations):
        what = f"files of {size / 2**20:.0f} MiB in {place.shown}" if place.folder else f"regions on {place.shown}"
        say(f"writing {threads} {what}")
        _prepare(program, fio_job.layout(place, threads), work)
    for path in (
        {combination.load.job for combination in combinations if combination.load.job is not None}
        if place.folder
        else ()
    ):
        # A job that reads first would read holes, or lay its files out while it is measured.
        job = user_job.read(Path(path))
        for index in range(len(job.groups)):
            _prepare(program, user_job.group_text(job, index, place, seed=0, create_only=True), work)
    return place


def _prepare(program: fio.Fio, text: str, work: Path) -> None:
    run = fio.run(program, text, work, timeout_s=24 * 3600)
    if run.status != 0:
        raise fio.failed(run, "making its files")


def needs(combinations: list[Combination]) -> tuple[int, int]:
    """(files, bytes of each) that serve every combination of a system."""
    return max(combination.load.threads for combination in combinations), max(
        combination.load.size_bytes for combination in combinations
    )
