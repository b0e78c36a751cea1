"""Trials on whole storage - arrays, controllers, page cache and file system - for the simulated backend.

A system and a load become the same set-up, and the same spec of the compiled simulator, as a question to
`seekwise_papers`: a study and a claim about it cannot drift apart. An operation that is not modelled has no phase in
the record; why stands in `conditions.not_modelled`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from seekwise import controllers
from seekwise.errors import UsageError
from seekwise.simulate import arrays
from seekwise.simulate.made import QUEUE_SETTINGS, Attempt, Heed, part_of, record_of, with_background
from seekwise.simulate.setup_lines import controller_lines
from seekwise.simulate.setups import trials
from seekwise.simulate.setups.setup import NotModelled, Setup, drive_model
from seekwise.simulate.spec import Answer, Described, PhaseAnswer, Spec
from seekwise.simulate.trial_spec import describe, probe_phase, settings_of, spec_of_trial
from seekwise.store.record import Phase, Record
from seekwise.workload.study.factors import ISCHED_PREFIX, Value
from seekwise.workload.study.plan import Combination, Load, Plan, Setting, SystemFacts
from seekwise.workload.study.profiles import resolve
from seekwise.workload.study.quantity import bytes_text
from seekwise.workload.study.study import ARRAY_OPTIONS, Study, System

# Options of a system that only whole storage has.
OPTIONS = ("filesystem", "volume", "partition_gib")
FILESYSTEMS = ("ext3", "ext4", "xfs", "raw")
KNOWN_OPTIONS = (*OPTIONS, "ncq", "hz", "processors", "host", "budget", "cgroup", *ARRAY_OPTIONS)
SETTINGS = ("scheduler", "queue_depth", "read_ahead_kb", *arrays.FACTORS, *QUEUE_SETTINGS)


def is_storage(system: System, study: Study | None) -> bool:
    """Whether a system needs the whole storage rather than drives behind queues, alone or under md."""
    if any(name in system.options for name in OPTIONS):
        return True
    if cached_by_trials(system):
        return False
    return study is not None and any(
        not workload.direct or workload.program == trials.SAMPLED for workload in study.workload
    )


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


@dataclass(frozen=True)
class PhaseRequest:
    """One operation of one trial: its spec as text, or why there is none."""

    operation: str
    spec: str | None
    reason: str = ""


def _check(load: Load, values: Mapping[str, Value]) -> None:
    """Raises NotModelled for what no operation of a combination can be asked for."""
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


def phase_requests(
    study: Study, system: System, combination: Combination, setting: Setting, seed: int, default_scheduler: str = ""
) -> list[PhaseRequest]:
    """The operations of a trial."""
    load = combination.load
    if load.job is not None:
        raise UsageError(f"{combination.key} is a fio job file, which only the kernel backend runs")
    values = {**combination.fixed, **setting.values}
    values["scheduler"] = values.get("scheduler") or default_scheduler
    setup = Setup(system, resolve(study.workload[0]), load, values)
    requests = []
    for phase in load.phases:
        try:
            _check(load, values)
            requests.append(PhaseRequest(phase.operation, trials.spec(setup, phase.operation, seed)))
        except NotModelled as missing:
            requests.append(PhaseRequest(phase.operation, None, str(missing)))
    return requests


@dataclass(eq=False)
class StorageTrials:
    """Of the systems of one study that are whole storage."""

    study: Study
    systems: dict[str, System]
    batch = 16
    """A trial takes a tenth of a second: processors would wait for each other at the end of short batches."""

    def check(self, system: System) -> None:
        """Drive, controller, kernel, schedulers and options exist; the rest is found combination by combination and
        said in the records."""
        if system.controller is not None and controllers.model_of(system.controller) is None:
            raise UsageError(
                f"system {system.name} has the unknown controller `{system.controller}`",
                hint="`seekwise explain models` lists those that are modelled",
            )
        if (unknown := unknown_option(system)) is not None:
            raise UsageError(
                f"system {system.name} takes no option `{unknown}`",
                hint="known for controllers and file systems: parameters of the drive model, "
                + ", ".join(KNOWN_OPTIONS),
            )
        filesystem = system.options.get("filesystem", "raw")
        if filesystem not in FILESYSTEMS:
            raise UsageError(
                f"system {system.name} has the file system `{filesystem}`, which is not modelled",
                hint="modelled: " + ", ".join(FILESYSTEMS),
            )
        for values in settings_of(self.study):
            if "scheduler" in values:
                describe(
                    spec_of_trial(_bare(system), {"scheduler": values["scheduler"]}, seed=0, phases=[probe_phase()])
                )

    def facts(self, system: System) -> SystemFacts:
        """As the simulator describes one of its drives."""
        answer = describe(spec_of_trial(_bare(system), {}, seed=0, phases=[probe_phase()]))
        leaves = tuple(f"sim{index}" for index in range(system.drives))
        return SystemFacts(
            name=system.name,
            target=f"{system.name} (simulated)",
            stack=(f"{system.name}: {storage_text(system, answer)}", *controller_lines(system)),
            leaves=leaves,
            offered=tuple(answer["schedulers"]),
            scheduler=answer["settings"]["scheduler"],
            speed="rotational" if answer["settings"]["rotational"] else "flash",
        )

    def capacity(self, system: System, values: dict[str, Value]) -> int | None:
        """A file system says itself what does not fit."""
        return None

    def nothing_modelled(self, plan: Plan) -> str | None:
        """The first reason when no operation of any combination can be simulated; None when there is one that can."""
        reason = None
        for combination in plan.combinations:
            default = plan.system_of(combination).scheduler or ""
            system = self.systems[combination.system]
            for request in phase_requests(self.study, system, combination, plan.settings[0], 1, default):
                if request.spec is not None:
                    return None
                reason = reason or f"{combination.key}, {request.operation}: {request.reason}"
        return reason

    def records(self, plan: Plan, run_id: str, batch: Sequence[Attempt], processors: int, heed: Heed) -> list[Record]:
        """Simulated side by side."""
        asked = [self._requests(plan, attempt) for attempt in batch]
        specs = list(dict.fromkeys(request.spec for group in asked for request in group if request.spec is not None))
        results = dict(zip(specs, trials.raw(specs, processors, heed), strict=True))
        made = []
        for attempt, group in zip(batch, asked, strict=True):
            load = plan.combinations[attempt.trial.combination].load
            phases: list[Phase] = []
            missing: dict[str, str] = {}
            own: dict[str, Spec] = {}
            device: Spec = {}
            run: Answer | None = None
            for request in group:
                result = None if request.spec is None else results[request.spec]
                if result is None or "error" in result:
                    missing[request.operation] = request.reason if result is None else result["error"]
                    continue
                own[request.operation] = json.loads(str(request.spec))
                run = result["run"] if "run" in result else cast("Answer", result)
                phase: PhaseAnswer = result if "run" in result else run["phases"][0]
                trial = own[request.operation]["cell"]
                device = trial["device"]
                groups = with_background(phase, load, THREAD, request.operation)
                phases += [_printed(group, phase, load, trial["queue"]["kernel"]) for group in groups]
            kept = {"specs": own, "end_fsync": load.end_fsync}
            made.append(record_of(run_id, plan, attempt, phases, run, kept, device, missing))
        return made

    def _requests(self, plan: Plan, attempt: Attempt) -> list[PhaseRequest]:
        """What the core is asked for one trial: one request per phase."""
        trial = attempt.trial
        combination = plan.combinations[trial.combination]
        default = plan.system_of(combination).scheduler or ""
        system, setting = self.systems[combination.system], plan.settings[trial.setting]
        return phase_requests(self.study, system, combination, setting, attempt.seed, default)


def _bare(system: System) -> System:
    """One drive of a storage on its host: what there is to know before a trial."""
    return system.model_copy(
        update={"drives": 1, "raid_level": None, "chunk_kib": [], "controller": None, "options": {}}
    )


def storage_text(system: System, answer: Described) -> str:
    """`RAID 5, chunk 64 KiB, of 3 × ST3250620NS (250 GB), controller 9650-4LP, ext3, NCQ off, Linux 2.6.24`."""
    drive = f"{answer['drive']} ({answer['capacity_bytes'] / 1e9:.0f} GB)"
    options = system.options
    chunk = f", chunk {system.chunk_kib[0]} KiB," if system.chunk_kib else ""
    level = f"RAID {system.raid_level.removeprefix('raid')}{chunk} of " if system.raid_level else ""
    parts = [f"{level}{system.drives} × {drive}" if system.drives > 1 else f"{level}{drive}"]
    parts += [f"controller {system.controller}"] if system.controller else []
    parts += [str(options["filesystem"])] if "filesystem" in options else []
    parts += [str(options["volume"]).replace("_", " and ")] if "volume" in options else []
    parts += [bytes_text(int(options["partition_gib"]) * 2**30) + " partitions"] if "partition_gib" in options else []
    parts += [f"NCQ {options['ncq']}"] if "ncq" in options else []
    return ", ".join([*parts, f"Linux {answer['kernel']}"])


THREAD = "md and write-back"
"""Who does the storage's own work on the host."""


def _printed(phase: Phase, result: PhaseAnswer, load: Load, kernel: str) -> Phase:
    """With what tiotest would print of it, its fault included, by ticks where its kernel counts them. Processor time itself is exact."""
    if "system_ticks" not in result["cpu"]:
        return phase
    threads = int(phase.details.get("group_threads", load.threads))
    printed = trials.cpu_metrics(part_of(result, {"bytes": phase.bytes}), threads, ticks=trials.prints_ticks(kernel))
    return replace(phase, details={**phase.details, "printed": printed})
