"""The simulated backend: the same study, records and verdicts, on a model of host, block layer and drive.

A trial is one specification for the compiled simulator (`crates/sim`). Repeats of a setting differ by their seed only:
it draws the addresses and where the platters stand at the start. Trials run side by side over the cores, without the
interpreter lock.

Which specification a trial becomes, a system says once (`Trials`): `drive_trials.py` or `storage_trials.py`.
"""

from __future__ import annotations

import itertools
import os
import statistics
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from seekwise import drive_names
from seekwise.errors import SeekwiseError, UsageError
from seekwise.simulate import degraded, room
from seekwise.simulate.drive_trials import DriveTrials
from seekwise.simulate.made import Attempt
from seekwise.simulate.options import check as check_options
from seekwise.simulate.protocol import Options, Say
from seekwise.simulate.storage_trials import StorageTrials, is_storage
from seekwise.simulate.trial_spec import KERNEL_DEFAULT
from seekwise.store.database import now
from seekwise.store.record import Record
from seekwise.workload.study import estimate
from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import Load, Plan, SystemFacts, Trial
from seekwise.workload.study.study import Study, System

Trials = DriveTrials | StorageTrials
"""What becomes of the trials of a system."""


def trials_of(study: Study, systems: dict[str, System]) -> dict[str, Trials]:
    """{system: what becomes of its trials}."""
    drives, storages = DriveTrials(study, systems), StorageTrials(study, systems)
    return {name: storages if is_storage(system, study) else drives for name, system in systems.items()}


class SimulatedBackend:
    provenance = "simulated"

    def __init__(self, options: Options | None = None) -> None:
        options = options or Options()
        if options.destroy:
            raise UsageError("`--destroy` names a real device, and the simulated backend touches none")
        self.options = options
        self.systems: dict[str, System] = {}
        self.study: Study | None = None
        self.trials: dict[str, Trials] = {}
        self.processors = os.cpu_count() or 1
        """Threads of the core that run trials side by side."""

    def describe(self, study: Study) -> tuple[SystemFacts, ...]:
        """Has the simulator check every system and combination without a run; raises UsageError (exit status 2) for
        what is not modelled."""
        self.study = study
        self.systems = {system.name: self._checked(system, study) for system in study.system}
        self.trials = trials_of(study, self.systems)
        if any(w.reach for w in study.workload) and any(
            isinstance(each, StorageTrials) for each in self.trials.values()
        ):
            raise UsageError("`reach` on a file system or behind a controller is not modelled", hint="name a `size`")
        facts = tuple(self.trials[name].facts(system) for name, system in self.systems.items())
        for name, system in self.systems.items():
            self.trials[name].check(system)
        return facts

    def _checked(self, system: System, study: Study) -> System:
        drive = self.options.target or system.drive
        if drive is None:
            raise UsageError(
                f"system {system.name} has no `drive`, so there is nothing to simulate",
                hint="name a drive model in the study, or with `--target`",
            )
        drive = drive_names.find(drive)
        check_options(system.model_copy(update={"drive": drive}), study)
        changed: dict[str, object] = {"drive": drive, "kernel": system.kernel or KERNEL_DEFAULT}
        return system.model_copy(update=changed)

    def check(self, plan: Plan) -> None:
        """`describe` has refused what cannot be; here what does not fit, and what is not modelled at all."""
        room.check(plan, self._capacity)
        storages = {each for each in self.trials.values() if isinstance(each, StorageTrials)}
        if len(storages) == len(set(self.trials.values())) == 1 and (reason := storages.pop().nothing_modelled(plan)):
            raise UsageError(f"nothing of study {plan.study} can be simulated: {reason}")

    def _capacity(self, name: str, values: dict[str, Value]) -> int | None:
        return self.trials[name].capacity(self.systems[name], values) if name in self.systems else None

    @contextmanager
    def session(self, plan: Plan, run_id: str, say: Say) -> Iterator[SimulatedSession]:
        """Needs `describe` first, else SeekwiseError (exit status 1). Touches nothing on this machine."""
        if self.study is None:
            raise SeekwiseError("a simulated run needs its study described first")
        yield SimulatedSession(plan, run_id, self.systems, self.study, self.processors)


PART = 0.02
"""Of a trial, under each setting, to see how many requests it has."""


def _part_of(load: Load) -> Load | None:
    """None where the amount is known, or no part can be had."""
    if load.use or load.job or not all(step.runtime_s for step in load.phases):
        return None
    return replace(load, phases=tuple(replace(step, runtime_s=PART * (step.runtime_s or 0)) for step in load.phases))


class _Stopped(Exception):
    """Nobody waits for the batch any more."""


@dataclass
class SimulatedSession:
    plan: Plan
    run_id: str
    systems: dict[str, System]
    study: Study
    ended_ahead: int = 0
    batch: int = 1
    """Trials of the next batch, for each processor."""
    processors: int = field(default_factory=lambda: os.cpu_count() or 1)

    def __post_init__(self) -> None:
        self.trials = trials_of(self.study, self.systems)

    def foretell(self) -> tuple[Sequence[float], float]:
        """Of what ends by time a small part is simulated: how many requests a drive, an array or a guest serves no
        table knows."""
        parts = [_part_of(combination.load) for combination in self.plan.combinations]
        both = zip(self.plan.combinations, parts, strict=True)
        plan = replace(self.plan, combinations=tuple(replace(whole, load=part or whole.load) for whole, part in both))
        first = {(trial.combination, trial.setting): trial for trial in plan.trials if parts[trial.combination]}
        seconds: dict[int, list[float]] = {}
        for record in replace(self, plan=plan).run(list(first.values()), {}):
            number = plan.trials[record.trial].combination
            moved, calls = (sum(getattr(phase, what) for phase in record.phases) / PART for what in ("bytes", "ios"))
            took_s = estimate.simulated_s(plan.combinations[number].load, moved, calls) / self.processors
            seconds.setdefault(number, []).append(took_s)
        trial_s = [statistics.mean(seconds.get(number, [said])) for number, said in enumerate(self.plan.trial_s)]
        return trial_s, degraded.takes_s(self.plan, trial_s)

    def run(self, trials: list[Trial], attempts: dict[int, int]) -> Iterator[Record]:
        """Records in the order of `trials`, in batches over all processors; no record depends on how many there are."""
        for of_kind, group in itertools.groupby(trials, key=self._of):
            yield from self._batches(of_kind, self._parts(list(group), of_kind.batch), attempts)

    def _parts(self, trials: list[Trial], most: int) -> Iterator[list[Trial]]:
        """Batches over all processors; the first ones are small and soon show how long trials take."""
        while trials:
            size = self.processors * min(self.batch, most)
            self.batch = min(2 * self.batch, most)
            yield trials[:size]
            trials = trials[size:]

    def _of(self, trial: Trial) -> Trials:
        return self.trials[self.plan.combinations[trial.combination].system]

    def _batches(self, of_kind: Trials, batches: Iterator[list[Trial]], attempts: dict[int, int]) -> Iterator[Record]:
        """The next batch is simulated while the records of one are written: processors do not wait for each other in
        between."""
        stopped = threading.Event()
        with ThreadPoolExecutor(1) as aside:
            try:
                coming: list[Future[list[Record]]] = []
                for batch in batches:
                    coming.append(aside.submit(self._records, of_kind, batch, attempts, stopped))
                    if len(coming) > 1:
                        yield from self._one_by_one(coming.pop(0).result())
                for last in coming:
                    yield from self._one_by_one(last.result())
            finally:
                stopped.set()
                aside.shutdown(wait=True, cancel_futures=True)

    def _one_by_one(self, batch: Sequence[Record]) -> Iterator[Record]:
        for at, record in enumerate(batch, start=1):
            self.ended_ahead = len(batch) - at
            yield record

    def _records(
        self, of_kind: Trials, batch: list[Trial], attempts: dict[int, int], stopped: threading.Event
    ) -> list[Record]:
        def heed(_done: int, _of: int) -> None:
            if stopped.is_set():
                raise _Stopped

        started = now()
        numbers = [attempts.get(trial.index, 0) + 1 for trial in batch]
        given = [Attempt(trial, trial.seed_of(n), n, started) for trial, n in zip(batch, numbers, strict=True)]
        return of_kind.records(self.plan, self.run_id, given, self.processors, heed)
