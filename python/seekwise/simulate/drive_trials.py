"""Trials of direct I/O, and of a drive's page cache, on a drive, on md over drives, and on a controller's unit: every
tunable of the queues (`trial_spec.py`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from seekwise.errors import UsageError
from seekwise.number_text import either
from seekwise.simulate import arrays, use_programs, use_trials
from seekwise.simulate.made import (
    DEVICE,
    WITHOUT_EFFECT,
    Attempt,
    Heed,
    of_queue,
    part_of,
    phase_of,
    record_of,
    with_background,
)
from seekwise.simulate.setup_lines import controller_lines
from seekwise.simulate.spec import Answer, Described, PhaseAnswer, Spec
from seekwise.simulate.trial_spec import (
    PARTITION_SCAN,
    REGIONS_OWN,
    cache_spec,
    describe,
    phases_of,
    probe_phase,
    settings_of,
    spec_of_trial,
    with_full_log,
)
from seekwise.store.record import Phase, Record
from seekwise.workload.study import uses as use_files
from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import Plan, SystemFacts, Trial
from seekwise.workload.study.profiles import resolve
from seekwise.workload.study.quantity import capacity_text, counted
from seekwise.workload.study.study import Study, System
from seekwise.workload.study.uses import Use


@dataclass(eq=False)
class DriveTrials:
    """Of the systems of one study that are drives behind queues."""

    study: Study
    systems: dict[str, System]
    batch = 4
    """Trials handed to the core at once, per processor: enough to keep it busy, few enough to show progress."""
    smallest: dict[str, int] = field(default_factory=dict)
    """Bytes of each system's smallest array."""

    def check(self, system: System) -> None:
        """UsageError for what is not modelled: each array that the settings make, and each other setting on the first of them."""
        self._check_workload(system)
        made = self._arrays(system)
        for values in [*made, *({**made[0], **values} for values in settings_of(self.study))]:
            self._described(system, values)

    def _described(self, system: System, values: dict[str, Value]) -> Described:
        """What the simulator makes of a system under these settings; UsageError for what it does not model."""
        return describe(spec_of_trial(system, values, seed=0, phases=[probe_phase()]))

    def _arrays(self, system: System) -> list[dict[str, Value]]:
        """What settings may make of a system."""
        varies = system.controller is not None or arrays.is_array(system, self.study)
        return arrays.combinations(self.study) if varies else [{}]

    def _check_workload(self, system: System) -> None:
        """Without a file system nothing waits for the platters here, and saying nothing would print a number of
        something else."""
        for workload in map(resolve, self.study.workload):
            if workload.sync and any(operation.endswith("write") for operation in workload.operations):
                raise UsageError(
                    f"system {system.name}: `sync` on a bare drive or array is not modelled",
                    hint='model a file system (`options = { filesystem = "ext4" }`), or measure it',
                )
        buffered = any(not resolve(workload).direct for workload in self.study.workload)
        for name, values in self.study.settings.items():
            if name in WITHOUT_EFFECT and len(values) > 1 and not (buffered and name == "read_ahead_kb"):
                raise UsageError(
                    f"the simulator ignores `{name}` here: every value would give the same figures",
                    hint="`direct = false` loads are read ahead" if name == "read_ahead_kb" else "measure it",
                )
        for workload in self.study.workload:
            if workload.use is not None:
                use_trials.check_uses([use_files.one(workload.use)])
            # Only where somebody asked for it: the default speaks to the measuring backends, and the record says that
            # it was not done.
            if workload.end_fsync and "end_fsync" in workload.model_fields_set:
                raise UsageError(
                    f"system {system.name}: `end_fsync` on a bare drive or array is not modelled",
                    hint='set `end_fsync = false`, model a file system (`options = { filesystem = "ext4" }`), or measure it',
                )

    def facts(self, system: System) -> SystemFacts:
        """As the simulator describes it. UsageError for what it does not model."""
        compared = self._arrays(system)
        answer = self._described(system, compared[0])
        settings = answer["settings"]
        current = of_queue(settings) | {"queue/rotational": str(settings["rotational"])}
        return SystemFacts(
            name=system.name,
            target=f"{answer['drive']} (simulated)",
            stack=(*stack_lines(answer, compared, system.drives), *controller_lines(system)),
            leaves=(DEVICE,),
            offered=tuple(answer["schedulers"]),
            current={DEVICE: current},
            scheduler=settings["scheduler"],
            speed="rotational" if settings["rotational"] else "flash",
        )

    def capacity(self, system: System, values: dict[str, Value]) -> int | None:
        """Bytes of what is built; None where loads do not lie in regions of their threads."""
        if REGIONS_OWN & set(system.options):
            return None
        # An array that cannot be is a trial's own matter; its record says why.
        built = {name: value for name, value in values.items() if name in arrays.FACTORS}
        try:
            return int(self._described(system, built)["capacity_bytes"])
        except UsageError:
            return None

    def records(self, plan: Plan, run_id: str, batch: Sequence[Attempt], processors: int, heed: Heed) -> list[Record]:
        """Simulated side by side. UsageError where one cannot be simulated."""
        specs = [self._spec(plan, attempt.trial, attempt.seed) for attempt in batch]
        results = use_programs.simulated(specs, processors)
        failed = next((each for each in zip(batch, results, strict=True) if "error" in each[1]), None)
        if failed is not None:
            key = plan.combinations[failed[0].trial.combination].key
            raise UsageError(f"{key} cannot be simulated: {failed[1]['error']}")
        return [
            self._record(plan, run_id, attempt, spec, result)
            for attempt, spec, result in zip(batch, specs, results, strict=True)
        ]

    def _spec(self, plan: Plan, trial: Trial, seed: int) -> Spec:
        combination, setting = plan.combinations[trial.combination], plan.settings[trial.setting]
        system = self.systems[combination.system]
        values = {**combination.fixed, **setting.values}
        if combination.load.use is not None:
            use, answer = use_files.one(combination.load.use), self._described(system, values)
            is_rotational, capacity = bool(answer["settings"]["rotational"]), int(answer["capacity_bytes"])
            share = use_trials.USE_SHARE
            return use_trials.program_spec(system, is_rotational, capacity, use, values, seed, share)
        spec = spec_of_trial(
            system,
            values,
            seed=seed,
            phases=phases_of(combination, system),
            name=combination.key,
        )
        if not combination.load.direct:
            spec["cache"] = cache_spec(combination.load.memory_limit_bytes, values)
        if combination.load.reach is not None:
            reach = round(combination.load.reach * self._smallest_bytes(system))
            for phase in spec["phases"]:
                for job in phase["jobs"]:
                    job |= {"own_regions": False, "region_start_bytes": 0, "region_bytes": reach - reach % 2**20}
            return with_full_log(spec)
        return spec

    def _smallest_bytes(self, system: System) -> int:
        """Of the arrays that are compared, so that requests go equally far on each; or of the drive."""
        if system.name not in self.smallest:
            capacities = []
            for values in self._arrays(system):
                # An array that cannot be is a trial's own matter.
                with suppress(UsageError):
                    capacities.append(self._described(system, values)["capacity_bytes"])
            self.smallest[system.name] = min(capacities)
        return self.smallest[system.name]

    def _record(self, plan: Plan, run_id: str, attempt: Attempt, spec: Spec, result: Answer) -> Record:
        load = plan.combinations[attempt.trial.combination].load
        # Recordings of programs are too large to be kept with each record.
        kept = {**({} if load.use else {"spec": spec}), "end_fsync": False}
        # Who does the storage's own work on the host: md's thread, or the driver of fake RAID.
        thread = "driver" if "controller" in spec["device"] else "md"
        phases = [
            phase
            for answered in result["phases"]
            if answered["operation"] != PARTITION_SCAN
            for phase in (
                [_units(answered, thread, use_files.one(load.use))]
                if load.use is not None
                else with_background(answered, load, thread, answered["operation"])
            )
        ]
        return record_of(run_id, plan, attempt, phases, result, kept, spec["device"])


def stack_lines(answer: Described, compared: Sequence[dict[str, Value]] = (), drives: int = 1) -> tuple[str, ...]:
    """`RAID 5 of 4 × WD2500YS, chunk 64 KiB, 750 GB, survives 1 failure, Linux 6.1`; of arrays that are compared what
    all have, and what differs."""
    size, kernel = capacity_text(answer["capacity_bytes"]), f"Linux {answer['kernel']}"
    array = answer.get("array")
    values = {name: dict.fromkeys(values.get(name) for values in compared) for name in arrays.FACTORS}
    varied = {name for name, found_values in values.items() if len(found_values) > 1}
    if array is None and "raid_level" not in varied:
        return (f"{DEVICE}: {answer['drive']}, {size}, {kernel}",)
    array = array or {"level": "", "members": drives, "chunk_kib": 0, "missing": [], "survives_failures": 0}
    texts = {name: either([str(value) for value in values[name]]) for name in varied}
    level = re.sub(r"raid(?=\d)", "RAID ", texts.get("raid_level", str(array["level"])))
    parts = [f"{level} of {texts.get('drives', array['members'])} × {answer['drive']}"]
    parts += [f"chunk {texts.get('chunk_kib', array['chunk_kib'])} KiB"] if array["chunk_kib"] else []
    parts += [f"{len(array['missing'])} missing"] if array["missing"] and "missing" not in varied else []
    parts += ["bitmap"] if array.get("bitmap", "none") != "none" and "bitmap" not in varied else []
    if not varied & {"raid_level", "drives", "layout", "missing"}:
        parts += [size, f"survives {counted(array['survives_failures'], 'failure')}"]
    return (f"md0: {', '.join([*parts, kernel])}",)


def _units(result: PhaseAnswer, thread: str, use: Use) -> Phase:
    """Units of work of the use's first foreground job: how many were done, and how long each took."""
    place = next(place for place, job in enumerate(use.job) if job.role == "foreground")
    units = use_programs.units_of(result["jobs"][place]["units"])
    done = units[units[:, 3] >= 0]
    lengths: list[int] = done[:, 2].tolist()
    bins: dict[int, int] = {}
    for took in lengths:
        bound = int(float(f"{took:.3g}"))
        bins[bound] = bins.get(bound, 0) + 1
    own = {"bytes": int(done[:, 3].sum()), "ios": len(lengths), "latency_bins": bins}
    own |= {"latency_mean_ns": sum(lengths) / max(len(lengths), 1), "latency_max_ns": max(lengths, default=0)}
    phase = phase_of(part_of(result, own), thread)
    return replace(phase, details={**phase.details, "jobs": None, "unit": use.unit})
