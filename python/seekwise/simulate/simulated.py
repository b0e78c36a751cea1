"""The simulated backend: the same study, records and verdicts, on a model of host, block layer and drive.

A trial is one specification for the compiled simulator (`crates/sim`). Repeats of a setting differ by their seed only:
it draws the addresses and where the platters stand at the start. Trials run side by side over the cores, without the
interpreter lock.

Two ways: direct I/O on a drive or on md over drives goes here, with every tunable of the queues (`trial_spec`);
controllers, page cache and file systems go through `storage_trials`.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from seekwise import _core, controllers, drive_names
from seekwise.errors import SeekwiseError, UsageError
from seekwise.number_text import either
from seekwise.simulate import arrays, room, storage_trials, use_programs, use_trials
from seekwise.simulate.protocol import Options, Say, origin
from seekwise.simulate.spec import Answer, Spec
from seekwise.simulate.trial_spec import (
    KERNEL_DEFAULT,
    PARTITION_SCAN,
    REGIONS_OWN,
    WITHOUT_EFFECT,
    cache_spec,
    describe,
    phases_of,
    probe_phase,
    spec_of_trial,
)
from seekwise.store.database import now
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.study import uses as use_files
from seekwise.workload.study.factors import ISCHED_PREFIX, Value, checked
from seekwise.workload.study.plan import Load, Plan, SystemFacts, Trial
from seekwise.workload.study.profiles import resolve
from seekwise.workload.study.quantity import bytes_text, capacity_text, counted
from seekwise.workload.study.study import Study, System
from seekwise.workload.study.uses import Use

# Name of the modelled drive among the devices.
DEVICE = "sim0"
USE_SHARE = 0.5
"""Of the time that `tune model:NAME` simulates of a use: a study has many arrays."""
# Trials handed to the core at once, per processor: enough to keep it busy, few enough to show progress.
BATCH = 4
# The same of whole storage, where a trial takes a tenth of a second and processors would wait for each other at the end
# of short batches.
STORAGE_BATCH = 16


class SimulatedBackend:
    provenance = "simulated"

    def __init__(self, options: Options | None = None) -> None:
        options = options or Options()
        if options.destroy:
            raise UsageError("`--destroy` names a real device, and the simulated backend touches none")
        self.options = options
        self.systems: dict[str, System] = {}
        self.study: Study | None = None

    def describe(self, study: Study) -> tuple[SystemFacts, ...]:
        """Has the simulator check every system and combination without a run; raises UsageError (exit status 2) for
        what is not modelled."""
        self.study = study
        self.systems = {system.name: self._checked(system) for system in study.system}
        facts = tuple(self._facts(study, system) for system in self.systems.values())
        for system in self.systems.values():
            if storage_trials.is_storage(system, study):
                self._check_storage(study, system)
                continue
            self._check_workload(study, system)
            # Each array that the settings make, and each other setting on the first of them.
            made = arrays.combinations(study) if _varies(system, study) else [{}]
            for values in [*made, *({**made[0], **values} for values in _wanted(study))]:
                describe(spec_of_trial(system, values, seed=0, phases=[probe_phase()]))
        return facts

    def _checked(self, system: System) -> System:
        drive = self.options.target or system.drive
        if drive is None:
            raise UsageError(
                f"system {system.name} has no `drive`, so there is nothing to simulate",
                hint="name a drive model in the study, or with `--target`",
            )
        drive = drive_names.find(drive)
        changed: dict[str, object] = {"drive": drive, "kernel": system.kernel or KERNEL_DEFAULT}
        return system.model_copy(update=changed)

    def _check_workload(self, study: Study, system: System) -> None:
        """Without a file system nothing waits for the platters here, and saying nothing would print a number of
        something else."""
        for workload in map(resolve, study.workload):
            if workload.sync and any(operation.endswith("write") for operation in workload.operations):
                raise UsageError(
                    f"system {system.name}: `sync` on a bare drive or array is not modelled",
                    hint='model a file system (`options = { filesystem = "ext4" }`), or measure it',
                )
        buffered = any(not resolve(workload).direct for workload in study.workload)
        for name, values in study.settings.items():
            if name in WITHOUT_EFFECT and len(values) > 1 and not (buffered and name == "read_ahead_kb"):
                raise UsageError(
                    f"the simulator ignores `{name}` here: every value would give the same figures",
                    hint="`direct = false` loads are read ahead" if name == "read_ahead_kb" else "measure it",
                )
        for workload in study.workload:
            if workload.use is not None:
                use_trials.check_uses([use_files.one(workload.use)])
            # Only where somebody asked for it: the default speaks to the measuring backends, and the record says that
            # it was not done.
            if workload.end_fsync and "end_fsync" in workload.model_fields_set:
                raise UsageError(
                    f"system {system.name}: `end_fsync` on a bare drive or array is not modelled",
                    hint='set `end_fsync = false`, model a file system (`options = { filesystem = "ext4" }`), or measure it',
                )

    def _check_storage(self, study: Study, system: System) -> None:
        """Drive, controller, kernel, schedulers and options exist; the rest is found combination by combination and
        said in the records."""
        if system.controller is not None and controllers.model_of(system.controller) is None:
            raise UsageError(
                f"system {system.name} has the unknown controller `{system.controller}`",
                hint="`seekwise explain models` lists those that are modelled",
            )
        if (unknown := storage_trials.unknown_option(system)) is not None:
            raise UsageError(
                f"system {system.name} has the unknown option `{unknown}`",
                hint="known for arrays and file systems: parameters of the drive model, "
                + ", ".join(storage_trials.KNOWN_OPTIONS),
            )
        filesystem = system.options.get("filesystem", "raw")
        if filesystem not in storage_trials.FILESYSTEMS:
            raise UsageError(
                f"system {system.name} has the file system `{filesystem}`, which is not modelled",
                hint="modelled: " + ", ".join(storage_trials.FILESYSTEMS),
            )
        for values in _wanted(study):
            if "scheduler" in values:
                describe(
                    spec_of_trial(_bare(system), {"scheduler": values["scheduler"]}, seed=0, phases=[probe_phase()])
                )

    def _facts(self, study: Study, system: System) -> SystemFacts:
        if storage_trials.is_storage(system, study):
            return self._storage_facts(system)
        compared = arrays.combinations(study) if _varies(system, study) else [{}]
        answer = describe(spec_of_trial(system, compared[0], seed=0, phases=[probe_phase()]))
        settings = answer["settings"]
        current = _of_queue(settings) | {"queue/rotational": str(settings["rotational"])}
        return SystemFacts(
            name=system.name,
            target=f"{answer['drive']} (simulated)",
            stack=(*_stack(answer, compared, system.drives), *controller_lines(system)),
            leaves=(DEVICE,),
            offered=tuple(answer["schedulers"]),
            current={DEVICE: current},
            scheduler=settings["scheduler"],
            speed="rotational" if settings["rotational"] else "flash",
        )

    def _storage_facts(self, system: System) -> SystemFacts:
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

    def check(self, plan: Plan) -> None:
        """`describe` has refused what cannot be; here what does not fit, and what is not modelled at all."""
        room.check(plan, self._capacity)
        if self.study is None or not all(storage_trials.is_storage(s, self.study) for s in self.systems.values()):
            return
        reason = storage_trials.nothing_modelled(self.study, self.systems, plan)
        if reason is not None:
            raise UsageError(f"nothing of study {plan.study} can be simulated: {reason}")

    def _capacity(self, name: str, values: dict[str, Value]) -> int | None:
        system = self.systems.get(name)
        if system is None or storage_trials.is_storage(system, self.study) or REGIONS_OWN & set(system.options):
            return None
        # An array that cannot be is a trial's own matter; its record says why.
        built = {name: value for name, value in values.items() if name in arrays.FACTORS}
        try:
            return int(describe(spec_of_trial(system, built, seed=0, phases=[probe_phase()]))["capacity_bytes"])
        except UsageError:
            return None

    @contextmanager
    def session(self, plan: Plan, run_id: str, say: Say) -> Iterator[SimulatedSession]:
        """Needs `describe` first, else SeekwiseError (exit status 1). Touches nothing on this machine."""
        if self.study is None:
            raise SeekwiseError("a simulated run needs its study described first")
        yield SimulatedSession(plan, run_id, self.systems, self.study)


class _Stopped(Exception):
    """Nobody waits for the batch any more."""


@dataclass
class SimulatedSession:
    plan: Plan
    run_id: str
    systems: dict[str, System]
    study: Study
    ended_ahead: int = 0
    processors: int = field(default_factory=lambda: os.cpu_count() or 1)

    def run(self, trials: list[Trial], attempts: dict[int, int]) -> Iterator[Record]:
        """Records in the order of `trials`, in batches over all processors; no record depends on how many there are."""
        for whole, group in itertools.groupby(trials, key=self._is_storage):
            given = list(group)
            size = self.processors * (STORAGE_BATCH if whole else BATCH)
            batches = [given[first : first + size] for first in range(0, len(given), size)]
            if whole:
                yield from self._storages(batches, attempts)
                continue
            for batch in batches:
                yield from self._trials(batch, attempts)

    def _is_storage(self, trial: Trial) -> bool:
        return storage_trials.is_storage(self.systems[self.plan.combinations[trial.combination].system], self.study)

    def _storages(self, batches: list[list[Trial]], attempts: dict[int, int]) -> Iterator[Record]:
        """The next batch is simulated while the records of one are written: processors do not wait for each other in
        between."""
        stopped = threading.Event()
        with ThreadPoolExecutor(1) as aside:
            try:
                coming: list[Future[list[Record]]] = []
                for batch in batches:
                    coming.append(aside.submit(self._storage, batch, attempts, stopped))
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

    def _storage(self, batch: list[Trial], attempts: dict[int, int], stopped: threading.Event) -> list[Record]:
        def heed(_done: int, _of: int) -> None:
            if stopped.is_set():
                raise _Stopped

        numbers = [attempts.get(trial.index, 0) + 1 for trial in batch]
        seeded = [(trial, trial.seed_of(number), number) for trial, number in zip(batch, numbers, strict=True)]
        return storage_trials.records(self.study, self.systems, self.plan, self.run_id, seeded, heed, self.processors)

    def _trials(self, batch: list[Trial], attempts: dict[int, int]) -> Iterator[Record]:
        seeds = [trial.seed_of(attempts.get(trial.index, 0) + 1) for trial in batch]
        specs = [self._spec(trial, seed) for trial, seed in zip(batch, seeds, strict=True)]
        started = now()
        results = use_programs.simulated(json.dumps(specs), self.processors)
        for at, (trial, seed, spec, result) in enumerate(zip(batch, seeds, specs, results, strict=True), start=1):
            self.ended_ahead = len(batch) - at
            if "error" in result:
                raise SeekwiseError(
                    f"{self.plan.combinations[trial.combination].key} cannot be simulated: {result['error']}"
                )
            yield self._record(trial, seed, spec, result, started, attempts.get(trial.index, 0) + 1)

    def _spec(self, trial: Trial, seed: int) -> Spec:
        combination, setting = self.plan.combinations[trial.combination], self.plan.settings[trial.setting]
        system = self.systems[combination.system]
        values = {**combination.fixed, **setting.values}
        if combination.load.use is not None:
            return use_trials.spec_on(system, use_files.one(combination.load.use), values, seed, USE_SHARE)
        spec = spec_of_trial(
            system,
            values,
            seed=seed,
            phases=phases_of(combination, system),
            name=combination.key,
        )
        if not combination.load.direct:
            spec["cache"] = cache_spec(combination, values)
        return spec

    def _record(self, trial: Trial, seed: int, spec: Spec, result: Answer, started: str, attempt: int) -> Record:
        combination = self.plan.combinations[trial.combination]
        return Record(
            **origin(self.run_id, self.plan, trial, scheduler=result["settings"]["scheduler"]),
            provenance="simulated",
            seed=seed,
            started_at=started,
            phases=tuple(
                phase
                for answered in result["phases"]
                if answered["operation"] != PARTITION_SCAN
                for phase in _phases_of(answered, _thread(spec), combination.load)
            ),
            settings_seen={
                DEVICE: _seen(result["settings"], {**combination.fixed, **self.plan.settings[trial.setting].values})
            },
            environment={
                "kernel": f"Linux {result['models']['kernel']} (model)",
                "device_model": result["models"]["device"],
                "processors": result["phases"][0]["cpu"]["processors"],
                **_card(spec),
            },
            load={
                "simulator": f"seekwise {_core.version()}",
                "model_version": result["model_version"],
                "seed": seed,
                "models": result["models"],
                # Recordings of programs are too large to be kept with each record.
                **({} if combination.load.use else {"spec": spec}),
                "end_fsync": False,
                **({"array": result["array"]} if "array" in result else {}),
            },
            conditions={"role": trial.role},
            attempt=attempt,
        )


def _bare(system: System) -> System:
    """One drive of a storage on its host: what there is to know before a trial."""
    return system.model_copy(
        update={"drives": 1, "raid_level": None, "chunk_kib": [], "controller": None, "options": {}}
    )


def storage_text(system: System, answer: Answer) -> str:
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


def _stack(answer: Answer, compared: Sequence[dict[str, Value]] = (), drives: int = 1) -> tuple[str, ...]:
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


def _varies(system: System, study: Study) -> bool:
    """Whether settings may make another array or unit of a system."""
    return system.controller is not None or arrays.is_array(system, study)


def controller_lines(system: System) -> tuple[str, ...]:
    """What is known of a system's controller: bus, driver, memory, firmware, mode."""
    if system.controller is None:
        return ()
    known = controllers.model_of(system.controller)
    if known is None:
        return ()
    facts = ", ".join(f"{name} {fact['value']}" for name, fact in known["facts"].items())
    return (f"  controller {known['name']}: {facts}",)


def _wanted(study: Study) -> list[dict[str, Value]]:
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


def _card(spec: Spec) -> dict[str, dict[str, str]]:
    """Facts of the controller that a trial ran on."""
    unit = spec["device"].get("controller")
    return {} if unit is None else controllers.environment(unit["model"], unit["choices"])


def _thread(spec: Spec) -> str:
    """Who does the storage's own work on the host: md's thread, or the driver of fake RAID."""
    return "driver" if "controller" in spec["device"] else "md"


def _phases_of(result: Answer, thread: str, load: Load) -> list[Phase]:
    """The phase, and one for each group that worked beside it: bytes and latency are its own, processor time is the
    machine's."""
    if load.use is not None:
        return [_units(result, thread, use_files.one(load.use))]
    if not load.beside:
        return [_phase(result, thread)]
    groups = [(result["operation"], load.threads), *((e.phases[0].operation, e.threads) for e in load.beside)]
    phases = []
    for (name, threads), own in zip(groups, result["jobs"], strict=True):
        phase = _phase({**result, **own, "operation": name}, thread)
        # Rates over time are kept for all groups together. A group has threads of its own, which the combination's key
        # does not say.
        phases.append(replace(phase, windows=(), details={**phase.details, "group_threads": threads}))
    return phases


def _units(result: Answer, thread: str, use: Use) -> Phase:
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
    phase = _phase({**result, **own}, thread)
    return replace(phase, details={**phase.details, "jobs": None, "unit": use.unit})


def _phase(result: Answer, thread: str) -> Phase:
    cpu, elapsed_s = result["cpu"], result["elapsed_ns"] / 1e9
    spent = cpu["user_s"] + cpu["system_s"] + cpu["thread_s"] + cpu["irq_s"]
    return Phase(
        operation=result["operation"],
        elapsed_s=elapsed_s,
        bytes=result["bytes"],
        ios=result["ios"],
        latency_bins={int(upper): count for upper, count in result["latency_bins"].items()},
        latency_mean_ns=result["latency_mean_ns"],
        latency_max_ns=result["latency_max_ns"],
        cpu=CpuSeconds(
            submitter_user=cpu["user_s"],
            submitter_system=cpu["system_s"],
            user=cpu["user_s"],
            system=cpu["system_s"] + cpu["thread_s"],
            irq=cpu["irq_s"],
            kernel_threads={thread: cpu["thread_s"]} if cpu["thread_s"] else {},
            softirq=0.0,
            idle=max(0.0, cpu["processors"] * elapsed_s - spent),
        ),
        device_bytes=result["device_bytes"],
        windows=tuple((throughput, latency) for throughput, latency in result["windows"]),
        details={
            "device_busy_ns": result["device_busy_ns"],
            "merges": result["merges"],
            "window_ns": result["window_ns"],
            "threads": result["threads"],
            "jobs": result["jobs"],
            **{name: result[name] for name in ("members", "resync") if name in result},
            **{name: cpu[name] for name in ("lock_wait_s", "lock_held_s") if name in cpu},
        },
    )


def _of_queue(settings: Answer) -> dict[str, str]:
    """The queue's own settings in force, under the kernel's file names."""
    return {
        "queue/scheduler": settings["scheduler"],
        "queue/nr_requests": str(settings["nr_requests"]),
        "queue/max_sectors_kb": str(settings["max_sectors_kb"]),
        "queue/nomerges": str(settings["nomerges"]),
        "queue/wbt_lat_usec": str(settings["wbt_lat_usec"]),
        "device/queue_depth": str(settings["queue_depth"]),
    }


def _seen(settings: Answer, values: dict[str, Value]) -> dict[str, str]:
    """The same with the scheduler's, and with what the model takes without effect."""
    seen = _of_queue(settings) | {f"queue/iosched/{name}": str(value) for name, value in settings["iosched"].items()}
    for name in WITHOUT_EFFECT & values.keys():
        seen[checked(name).attribute] = str(values[name])
    return seen
