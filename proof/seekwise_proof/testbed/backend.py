"""A study's trials as guests, and what they bring back as ordinary records of provenance `virtual`.

Trials that use the same kernel share a guest, a few at a time: a boot costs as much as a minute of a disk's random
reads. Each has fresh drives and a fresh array. A group's times depend a little on what ran before it in the same guest,
never on the host.
"""

from __future__ import annotations

import difflib
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from seekwise import core
from seekwise.errors import SeekwiseError, UsageError
from seekwise.importing import fio_result
from seekwise.simulate import arrays, room
from seekwise.simulate.options import drive_parameters
from seekwise.simulate.protocol import Options, Say, origin
from seekwise.simulate.trial_spec import HOST_OPTIONS, QUEUE_OPTIONS, REGION_OPTIONS, REGIONS_OWN
from seekwise.store.database import now
from seekwise.store.record import Phase, Record
from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import Combination, Plan, SystemFacts, Trial
from seekwise.workload.study.study import ARRAY_OPTIONS, Study, System
from seekwise_proof.testbed import filesystem, image, kernels, machine, script
from seekwise_proof.testbed.cpio import CpioEntry
from seekwise_proof.testbed.image import Image
from seekwise_proof.testbed.script import Storage

NOT_PARAMETERS = (*HOST_OPTIONS, *REGION_OPTIONS, *QUEUE_OPTIONS, *ARRAY_OPTIONS, "trace_events_max", "filesystem")
"""Options of a system that are not the drive's."""
TRIALS_PER_GUEST = 8
BOOT_TIMEOUT_S = 300.0
SLOWEST = 60.0
"""Host seconds for one virtual second on a busy machine, with everything that fio and md can ask of one processor."""
SECTOR_BYTES = 512


class LabBackend:
    provenance = "virtual"

    def __init__(self, options: Options | None = None) -> None:
        options = options or Options()
        if options.destroy:
            raise UsageError("the VM testbed takes no `--destroy`: it touches no device")
        self.options = options
        self.systems: dict[str, System] = {}
        self.first: dict[str, Value] = {}
        """What the first of the study's arrays is made with."""

    def describe(self, study: Study) -> tuple[SystemFacts, ...]:
        """Facts by system, without a boot. Raises UsageError (exit status 2) for what guests cannot run, such as fio
        job files."""
        self.first = arrays.combinations(study)[0]
        self.systems = {system.name: self._checked(system) for system in study.system}
        wanted = [dict(values) for values in study.candidate] or [
            {name: value} for name, all_ in study.settings.items() for value in all_
        ]
        for values in wanted:
            script.settings(values)
        for system in self.systems.values():
            _check_schedulers(system, (values["scheduler"] for values in wanted if "scheduler" in values))
            for values in arrays.combinations(study):
                script.check(storage(system, values), system.name)
        for workload in study.workload:
            if workload.job is not None:
                raise UsageError("a fio job file is for the kernel backend, the VM testbed runs `operations`")
            if not workload.direct and not workload.memory_limit:
                raise UsageError(
                    f"study {study.name} has a buffered load without `memory_limit`, which would measure the page cache",
                    hint='set `memory_limit = "64m"` and a `size` of several times that, or `direct = true`',
                )
        return tuple(self._facts(system) for system in self.systems.values())

    def _checked(self, system: System) -> System:
        drive = self.options.target or system.drive
        if drive is None:
            raise UsageError(
                f"system {system.name} has no `drive`, and the VM testbed has no real ones",
                hint="name a drive model in the study, or with `--target`",
            )
        if system.controller is not None:
            raise UsageError(f"system {system.name} has a controller, which only the simulator models")
        system = system.model_copy(update={"drive": drive})
        kernels.find(system.kernel)
        return system

    def _facts(self, system: System) -> SystemFacts:
        found, kernel = described(system), kernels.find(system.kernel)
        made = storage(system, self.first)
        array = f"{made.level} of {made.drives} × " if made.level else ""
        current = {
            "queue/scheduler": "mq-deadline",
            "queue/nr_requests": str(made.requests),
            "queue/max_sectors_kb": str(script.MAX_SECTORS_KB),
        }
        return SystemFacts(
            name=system.name,
            target=f"{array}{found['drive']} (virtual)",
            stack=(
                f"{made.top}: {array}{found['drive']}, {found['capacity_bytes'] / 1e9:.0f} GB, Linux {kernel.series} in qemu",
            ),
            leaves=tuple(made.leaves),
            offered=tuple(found["schedulers"]),
            current=dict.fromkeys(made.leaves, current),
            scheduler="mq-deadline",
            speed="rotational" if made.rotational else "flash",
        )

    def check(self, plan: Plan) -> None:
        """Raises UsageError (exit status 2) where files do not fit the drives, MissingError (4) without qemu."""
        room.check(plan, self._capacity)
        machine.qemu()

    def _capacity(self, name: str, values: dict[str, Value]) -> int | None:
        system = self.systems.get(name)
        if system is None or REGIONS_OWN & set(system.options):
            return None
        return int(described(system, values)["capacity_bytes"])

    @contextmanager
    def session(self, plan: Plan, run_id: str, say: Say) -> Iterator[LabSession]:
        """Builds a guest image per kernel, which may take minutes; UsageError (exit status 2) where a resumed run names
        other drives or kernels."""
        if not self.systems:
            raise SeekwiseError("a run in the VM testbed needs its study described first")
        machine.qemu()
        begun = {facts.name: facts.stack for facts in plan.systems}
        if any(self._facts(system).stack != begun.get(name) for name, system in self.systems.items()):
            raise UsageError(
                "the run was begun with other drives or another kernel than its study names",
                hint="`--kernel` is not kept: name the kernel in the study and start anew",
            )
        wanted = {kernels.find(self.systems[combination.system].kernel).series for combination in plan.combinations}
        images = {series: image.build(kernels.KERNELS[series], say) for series in kernels.KERNELS if series in wanted}
        formatted = any("filesystem" in self.systems[combination.system].options for combination in plan.combinations)
        programs = filesystem.programs(say) if formatted else {}
        yield LabSession(plan, run_id, self.systems, images, programs, self.options.guests or 1)


@dataclass
class LabSession:
    plan: Plan
    run_id: str
    systems: dict[str, System]
    images: dict[str, Image]
    programs: dict[str, CpioEntry]
    """What guests with a file system get besides."""
    guests: int
    ended_ahead: int = 0

    def run(self, trials: list[Trial], attempts: dict[int, int]) -> Iterator[Record]:
        """Up to eight trials of one kernel share a boot; records come in the order of the trials, once their guest has
        ended."""
        groups = [
            part
            for _, same in itertools.groupby(trials, key=self._kernel)
            for part in _parts(list(same), TRIALS_PER_GUEST)
        ]
        tries = {trial.index: attempts.get(trial.index, 0) + 1 for trial in trials}
        seeds = {trial.index: trial.seed_of(tries[trial.index]) for trial in trials}
        started = now()
        results = machine.boot_all((self._boot(group, seeds) for group in groups), self.guests)
        for group, result in zip(groups, results, strict=True):
            for number, trial in enumerate(group):
                record = self._record(trial, seeds[trial.index], result, number, started)
                self.ended_ahead = len(group) - 1 - number
                yield replace(record, attempt=tries[trial.index])
            started = now()

    def _kernel(self, trial: Trial) -> str:
        return kernels.find(self.systems[self.plan.combinations[trial.combination].system].kernel).series

    def _values(self, trial: Trial) -> dict[str, Value]:
        combination, setting = self.plan.combinations[trial.combination], self.plan.settings[trial.setting]
        return {**combination.fixed, **setting.values}

    def _boot(self, group: tuple[Trial, ...], seeds: dict[int, int]) -> machine.Boot:
        texts, files, virtual_s = [], dict(self.programs), 0.0
        for number, trial in enumerate(group):
            combination, values = self.plan.combinations[trial.combination], self._values(trial)
            made = storage(self.systems[combination.system], values)
            text, own = script.trial(number, made, combination.load, values, seeds[trial.index])
            texts.append(text)
            files |= own
            virtual_s += self.plan.trial_s[trial.combination]
        files["cell/run.sh"] = CpioEntry.file("".join(texts).encode())
        return machine.Boot(self.images[self._kernel(group[0])], files, BOOT_TIMEOUT_S + SLOWEST * virtual_s)

    def _record(self, trial: Trial, seed: int, result: machine.Output, number: int, started: str) -> Record:
        combination = self.plan.combinations[trial.combination]
        values, system = self._values(trial), self.systems[combination.system]
        kept, made = self.images[self._kernel(trial)], storage(system, values)
        seen, after = (settings_seen(result.text(f"{number}/{name}")) for name in ("seen", "seen.after"))
        drives = json.loads(result.text(f"{number}/drives").splitlines()[-1])
        reason = reason_against(seen, after, values)
        phases = tuple(
            _phase(result, number, index, step.operation, made, drives)
            for index, step in enumerate(combination.load.phases)
        )
        scheduler = next((settings.get("queue/scheduler", "") for settings in seen.values()), "")
        return Record(
            **origin(self.run_id, self.plan, trial, scheduler=scheduler),
            provenance="virtual",
            seed=seed,
            started_at=started,
            phases=phases,
            settings_seen=seen,
            environment={
                "kernel": f"Linux {kept.release} (in qemu, one processor, 1 ns an instruction)",
                "device_model": described(system)["drive"],
                "processors": 1,
            },
            load={
                "fio": "fio-3.33",
                "image": kept.digest,
                "seed": seed,
                "trial_in_guest": number,
                "jobs": self._jobs(combination, made, seed),
            },
            conditions={"role": trial.role, "host_s": round(result.host_s, 1)},
            valid=reason is None,
            invalid_reason=reason,
        )

    def _jobs(self, combination: Combination, made: Storage, seed: int) -> list[str]:
        return [
            script.job(combination.load, step, made, seed + index) for index, step in enumerate(combination.load.phases)
        ]


def described(system: System, values: dict[str, Value] | None = None) -> dict[str, Any]:
    """The drive as the simulator knows it: capacity, depth, what it says of itself. With `values`: the array that it
    becomes by them."""
    device: dict[str, object] = {
        "model": system.drive,
        "parameters": drive_parameters(system.name, system.options, NOT_PARAMETERS),
    }
    if values is not None and (array := arrays.array_spec(system, values)) is not None:
        device["array"] = array
    spec = {
        "seed": 0,
        "device": device,
        "queue": {"scheduler": "none", "kernel": kernels.find(system.kernel).series},
        "phases": [{"operation": "rand_read", "jobs": [{"pattern": "random", "block_bytes": 4096, "ios": 1}]}],
    }
    try:
        answer: dict[str, Any] = json.loads(core.describe_cell(json.dumps(spec)))
    except ValueError as error:
        raise UsageError(f"system {system.name}: {error}") from None
    return answer


def _check_schedulers(system: System, names: Iterable[Value]) -> None:
    offered = described(system)["schedulers"]
    for name in names:
        if name not in (*offered, "offered"):
            near = difflib.get_close_matches(str(name), offered, 1)
            raise UsageError(
                f"system {system.name}: Linux {kernels.find(system.kernel).series} has no scheduler `{name}`",
                hint=f"did you mean `{near[0]}`?" if near else "schedulers: " + ", ".join(offered),
            )


def storage(system: System, values: dict[str, Value]) -> Storage:
    """What the guest makes of a system; a factor that builds takes the place of the system's own word."""
    found, options = described(system), system.options
    array = arrays.array_spec(system, values) or {}
    if "resync" in array:
        raise UsageError(f"system {system.name}: the VM testbed measures arrays at rest, not while they resync")
    if array.get("bitmap", "none") != "none":
        raise UsageError(f"system {system.name}: the VM testbed's arrays have no write-intent bitmap")
    return Storage(
        model=str(system.drive),
        drives=int(array.get("members", 1)),
        depth=int(values.get("queue_depth", found["settings"]["queue_depth"])),
        rotational=bool(options.get("rotational", found["settings"]["rotational"])),
        parameters=drive_parameters(system.name, system.options, NOT_PARAMETERS),
        level=array.get("level"),
        chunk_kib=int(array.get("chunk_kib", script.CHUNK_KIB)),
        layout=array.get("layout"),
        missing=tuple(array.get("missing", ())),
        md={name: int(array[name]) for name in ("stripe_cache_size", "rmw_level") if name in array},
        start_bytes=int(options.get("region_start_bytes", 0)),
        whole_drive=bool(options.get("whole_drive", False)),
        filesystem=str(options["filesystem"]) if "filesystem" in options else None,
        tags=_tags_of_host(system, found),
        cgroup=bool(options.get("cgroup", False)),
    )


def _tags_of_host(system: System, found: dict[str, Any]) -> int | None:
    """Of a SATA drive's host, for which `queue_depth` is a limit only; other drives have a queue of their own."""
    if json.loads(core.drive_model(str(system.drive))).get("attachment") != "sata":
        return None
    # Without a scheduler a queue has as many requests as its host has tags.
    return int(found["settings"]["nr_requests"])


def _phase(
    result: machine.Output, number: int, index: int, operation: str, made: Storage, drives: dict[str, Any]
) -> Phase:
    found = fio_result.phase(fio_result.parse(result.text(f"{number}/fio.{index}"))["jobs"], operation)
    before, after = (_sectors(result.text(f"{number}/{name}.{index}"), made.leaves) for name in ("before", "after"))
    # System-wide CPU time would count the drives' server, which works on the same processor: fio's own is all there is.
    return replace(found.as_phase({"drives": drives["drives"]}), device_bytes=(after - before) * SECTOR_BYTES)


def _sectors(text: str, leaves: list[str]) -> int:
    """Sectors that the leaves have read and written. Linux Documentation/admin-guide/iostats.rst: fields 3 and 7 after
    the name."""
    rows = [line.split() for line in text.splitlines()]
    return sum(int(row[5]) + int(row[9]) for row in rows if len(row) > 13 and row[2] in leaves)


def settings_seen(text: str) -> dict[str, dict[str, str]]:
    """{device: {attribute: value}} from the guest's lines `DEVICE NAME VALUE`; of a list of schedulers the one in
    force."""
    settings: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        device, name, value = (line.split(" ", 2) + [""])[:3]
        if name == "queue/scheduler":
            value = next((word[1:-1] for word in value.split() if word.startswith("[")), value)
        settings.setdefault(device, {})[name] = value
    return settings


def reason_against(seen: dict[str, Any], after: dict[str, Any], values: dict[str, Value]) -> str | None:
    """Why a trial does not count: a setting is not in force, or it changed on the way."""
    for leaf, settings in after.items():
        if "scheduler" in values and settings.get("queue/scheduler") != values["scheduler"]:
            return f"settings: {leaf} has scheduler {settings.get('queue/scheduler')}, not {values['scheduler']}"
        changed = [
            name
            for name, value in settings.items()
            if seen.get(leaf, {}).get(name) != value and not name.endswith("max_budget")
        ]
        if changed:
            return f"settings: {', '.join(changed)} of {leaf} changed during the trial"
    return None


def _parts(trials: list[Trial], size: int) -> Iterator[tuple[Trial, ...]]:
    for first in range(0, len(trials), size):
        yield tuple(trials[first : first + size])


def default_guests() -> int:
    """One per processor that is idle now, at least one."""
    return max(1, min(os.cpu_count() or 1, round((os.cpu_count() or 1) - os.getloadavg()[0])))
