"""The virtual backend as the study sees it: the same trials as on real hardware, on drives that are served by their models."""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from seekwise.backend.kernel import fio, prepared_target, session
from seekwise.backend.kernel.backend import check_caches
from seekwise.backend.kernel.target import Target, find
from seekwise.backend.protocol import Options, Say
from seekwise.backend.virtual import build
from seekwise.backend.virtual.storage import BUILDS, Storage, of, require_programs
from seekwise.control import attributes, emptiness, nbd, sysfs
from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.linux.stack import read_stack
from seekwise.store.record import CpuSeconds, Record
from seekwise.study.factors import Value, factor
from seekwise.study.model import Study, System
from seekwise.study.plan import Cell, Plan, Setting, SystemFacts, Trial

OVERRUNS_SHARE_MAX = 0.01
"""Answers that may be later than the server's limit: the models' times are promised for 99 of 100."""


class VirtualBackend:
    badge = "virtual"

    def __init__(self, options: Options | None = None) -> None:
        options = options or Options()
        if options.destroy:
            raise UsageError("virtual drives are made for the run: leave `--destroy` out")
        self.options = options
        self.systems: dict[str, System] = {}

    def describe(self, study: Study) -> tuple[SystemFacts, ...]:
        self.systems = {system.name: system for system in study.system}
        wanted = [storage for system in study.system for storage in self._variants(system, study)]
        for system in study.system:
            _check_kernel(system)
        fio.find()
        _require_nbd(max(storage.drives for storage in wanted))
        require_programs(wanted)
        check_caches(study)
        facts = tuple(self._facts(system) for system in study.system)
        for each in facts:
            for values in _set(study):
                prepared_target.check(dict.fromkeys(each.leaves, values))
        return facts

    def _variants(self, system: System, study: Study) -> list[Storage]:
        """Every storage that the study will build of a system; what is wrong with one is said now."""
        found = [{}]
        candidates = study.candidate or [
            {name: value} for name, values in study.settings.items() if name in BUILDS for value in values
        ]
        for candidate in candidates:
            values = {name: value for name, value in candidate.items() if name in BUILDS}
            if values not in found:
                found.append(values)
        if any("raid_level" in values for values in found):
            # The level is varied: the system alone may have none.
            found = [values for values in found if "raid_level" in values or system.raid_level is not None]
            level = next(value["raid_level"] for value in found if "raid_level" in value)
            found = [values if "raid_level" in values else {"raid_level": level, **values} for values in found]
        if any("chunk_kib" in values for values in found):
            found = [values for values in found if "chunk_kib" in values or len(system.chunk_kib) <= 1]
        return [of(system, values, self.options.target) for values in found]

    def _facts(self, system: System) -> SystemFacts:
        values = {"raid_level": "none"} if system.raid_level is None and system.drives == 1 else {}
        storage = self._plain(system, values)
        free = [device.name for device in nbd.free_devices()[: storage.drives]]
        offered = _offered(free[0])
        queue = dict(storage.queue())
        return SystemFacts(
            name=system.name,
            target=f"{storage.described()} (virtual)",
            stack=(
                f"{storage.described()}: {storage.capacity_bytes / 1e9:.0f} GB a drive, served in real time to {', '.join(free)}",
            ),
            leaves=tuple(free),
            offered=offered,
            current={leaf: {**prepared_target.seen((leaf,))[leaf], **queue} for leaf in free},
            scheduler=storage.scheduler,
            speed="rotational" if storage.rotational else "flash",
        )

    def _plain(self, system: System, values: dict[str, Value]) -> Storage:
        """A system for people to read: of several levels or chunks any one."""
        level = system.raid_level or ("none" if system.drives == 1 else "raid0")
        chunk = {"chunk_kib": system.chunk_kib[0]} if system.chunk_kib else {}
        return of(system, {"raid_level": level, **chunk, **values}, self.options.target)

    def check(self, plan: Plan) -> None:
        _require_nbd(max(len(facts.leaves) for facts in plan.systems))

    def session(self, plan: Plan, run_id: str, say: Say) -> AbstractContextManager[VirtualRun]:
        if not self.systems:
            raise SeekwiseError("a run on virtual drives needs its study described first")
        return _opened(plan, run_id, self.systems, self.options.target, say)


@contextmanager
def _opened(plan: Plan, run_id: str, systems: dict[str, System], target: str | None, say: Say) -> Iterator[VirtualRun]:
    with ExitStack() as stack:
        run = VirtualRun(plan, run_id, systems, target, say)
        stack.callback(run.close)
        yield run


@dataclass
class VirtualRun:
    """Builds what the next trials need, keeps it while they need the same, and measures on it as on real hardware."""

    plan: Plan
    run_id: str
    systems: dict[str, System]
    target: str | None
    say: Say
    make: Callable[[Storage, int], AbstractContextManager[build.Built]] = build.built
    open: Callable[..., AbstractContextManager[session.KernelSession]] = session.opened
    _stack: ExitStack = field(default_factory=ExitStack)
    _storage: tuple[str, Storage] | None = None
    _session: session.KernelSession | None = None

    def run(self, trials: list[Trial], attempts: dict[int, int]) -> Iterator[Record]:
        for trial in trials:
            values = self._values(trial)
            system = self.plan.cells[trial.cell].system
            storage = of(self.systems[system], _built(values), self.target)
            if (system, storage) != self._storage:
                self._prepare(system, storage, values)
            for record in self._session.run([trial], attempts):
                yield replace(record, factors={**record.factors, **_built(values)})

    def _values(self, trial: Trial) -> dict[str, Value]:
        return {**self.plan.cells[trial.cell].fixed, **self.plan.settings[trial.setting].values}

    def _prepare(self, system: str, storage: Storage, values: dict[str, Value]) -> None:
        self.close()
        self.say(f"making {storage.described()}")
        made = self._stack.enter_context(self.make(storage, self.plan.seed))
        build.wait_for(made.path)
        target = find(made.path)
        # It was made a moment ago and is nobody else's: its own name confirms it.
        named = _own_name(target)
        opened = self.open(
            _without_builds(self.plan),
            self.run_id,
            fio.find(),
            {system: target},
            named,
            self.say,
            functools.partial(VirtualSession, built=made, storage=storage),
        )
        self._session = self._stack.enter_context(opened)
        self._storage = (system, storage)

    def close(self) -> None:
        self._storage = self._session = None
        stack, self._stack = self._stack, ExitStack()
        stack.close()


class VirtualSession(session.KernelSession):
    """A kernel session whose drives can say whether they kept their time."""

    def __init__(self, *arguments: object, built: build.Built, storage: Storage) -> None:
        super().__init__(*arguments)
        self.built, self.storage = built, storage

    def _attempt(self, trial: Trial, attempt: int) -> Record:
        before = self.built.served.counts()
        record = super()._attempt(trial, attempt)
        after = self.built.served.counts()
        spent = {name: after[name] - before[name] for name in after}
        reason = record.invalid_reason or late(spent)
        return replace(
            record,
            badge="virtual",
            phases=tuple(
                # System-wide time would count the drives' server, which watches the clock.
                replace(each, cpu=each.cpu and CpuSeconds(each.cpu.submitter_user, each.cpu.submitter_system))
                for each in record.phases
            ),
            environment={**record.environment, "device_model": self.storage.name, "drives": self.storage.drives},
            conditions={**record.conditions, **{f"drives_{name}": count for name, count in spent.items()}},
            valid=reason is None,
            invalid_reason=reason,
        )


def late(spent: dict[str, int]) -> str | None:
    """Why the drives' times were not the models', or None."""
    if spent["overruns"] <= OVERRUNS_SHARE_MAX * spent["answers"]:
        return None
    return f"drives: {spent['overruns']} of {spent['answers']} answers came more than 100 µs after the model's time"


def _own_name(target: Target) -> tuple[str, ...]:
    """What confirms a device in `--destroy`; a folder needs nothing."""
    if not target.is_device:
        return ()
    stack = read_stack()
    return emptiness.identifiers(stack, stack.devices[target.resolved.device])[:1]


def _built(values: dict[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if name in BUILDS}


def _without_builds(plan: Plan) -> Plan:
    """The plan with what can be set; what is built has been."""

    def rest(values: dict[str, Value]) -> dict[str, Value]:
        return {name: value for name, value in values.items() if name not in BUILDS}

    cells: tuple[Cell, ...] = tuple(replace(cell, fixed=rest(cell.fixed)) for cell in plan.cells)
    settings: tuple[Setting, ...] = tuple(replace(each, values=rest(each.values)) for each in plan.settings)
    return replace(plan, cells=cells, settings=settings)


def _require_nbd(count: int) -> None:
    try:
        nbd.require(count)
    except MissingError as error:
        raise MissingError(
            f"virtual drives need root and the nbd module: {error.message}",
            hint="`sudo modprobe nbd`, then sudo; without either: `seekwise lab`, or `--backend simulated`",
        ) from None


def _offered(device: str) -> tuple[str, ...]:
    return attributes.schedulers_offered(sysfs.device_folder(device))


def _check_kernel(system: System) -> None:
    """The kernel is this machine's; another one is the VM testbed's or the simulator's."""
    running = platform.release()
    if system.kernel is None or running == system.kernel or running.startswith(f"{system.kernel}."):
        return
    raise UsageError(
        f"system {system.name} asks for Linux {system.kernel}, and virtual drives are attached to this one ({running})",
        hint="leave `kernel` out, or use `--backend lab` or `--backend simulated`",
    )


def _set(study: Study) -> list[dict[str, str]]:
    """Settings of the drives' queues, one at a time, by attribute, for the check before anything is made."""
    found = []
    rows = study.candidate or [{name: value} for name, values in study.settings.items() for value in values]
    for values in rows:
        for name, value in values.items():
            row = factor(name)
            if row is not None and row.where == "leaf" and not name.startswith("iosched.") and value != "offered":
                found.append({row.attribute: str(value)})
    return found
