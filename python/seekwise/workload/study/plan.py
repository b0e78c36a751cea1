"""What a study will do: combinations, settings, every trial in its order, how long it takes, what it touches.

    combination   what is held equal when settings are compared: system, workload, threads, request size, depth
    setting       what competes, under a label; the A/A control is the reference setting under a second label
    repetition    every setting of every combination once, in seeded random order, the reference combination at both ends (sentinel)
    plot          one combination of expensive factors (array, file system); repetitions run inside it

A plan is plain data: it is stored with the run, and resuming reads it back instead of making it again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from seekwise.document import printed
from seekwise.errors import SeekwiseError
from seekwise.workload.study.factors import Value
from seekwise.workload.study.quantity import bytes_text

PLAN_SCHEMA = "seekwise.plan/1"
Role = Literal["candidate", "control", "sentinel"]


@dataclass(frozen=True)
class SystemFacts:
    """What a backend knows of a system before the first trial."""

    name: str
    target: str
    stack: tuple[str, ...] = ()
    """The storage, one line per device, top first."""
    leaves: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    """Schedulers that every leaf offers."""
    current: dict[str, dict[str, str]] = field(default_factory=dict)
    """{device: {attribute: value}} of everything that a study could touch."""
    scheduler: str | None = None
    may_change: bool = True
    why_not: str = ""
    where: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """{factor: devices on which it acts}, where the backend knows better than the factor's row."""
    speed: str = "unknown"
    """Row of `estimate.SPEEDS`."""
    warnings: tuple[str, ...] = ()
    """What a reader should know of this storage before a setting is changed or believed: a resync, a controller, a
    SAN."""


@dataclass(frozen=True)
class PlannedPhase:
    """One operation of a trial, as the load has to do it."""

    operation: str
    runtime_s: float | None = None
    ios_per_thread: int | None = None


@dataclass(frozen=True)
class Load:
    """The work of one combination, resolved: one thread count, one request size, one depth."""

    name: str
    phases: tuple[PlannedPhase, ...] = ()
    job: str | None = None
    """Path of the user's own fio job file; then `phases` is empty."""
    use: str | None = None
    """A use whose programs the simulator plays."""
    threads: int = 1
    block_bytes: int = 4096
    iodepth: int = 1
    program: str = "fio"
    engine: str = "psync"
    direct: bool = True
    sync: bool = False
    end_fsync: bool = True
    size_bytes: int = 64 * 2**20
    reach: float | None = None
    """Share of the smallest array or drive over which random requests go; None: each thread has a file of its own."""
    memory_limit_bytes: int | None = None
    rate_limit_bytes: int | None = None
    arrivals: str = "even"
    """Gaps of requests under a rate limit: `even` or `poisson`."""
    start_delay_s: float = 0.0
    start_stagger_s: float = 0.0
    think_s: float = 0.0
    io_class: str | None = None
    io_priority: int | None = None
    beside: tuple[Load, ...] = ()
    """Others that work for as long as each phase; each has one operation."""

    @property
    def extent_text(self) -> str:
        """`64 MiB per thread`, `over 50 % of the smallest array or drive`."""
        if self.reach is None:
            return f"{bytes_text(self.size_bytes)} per thread"
        return f"over {100 * self.reach:.3g} % of the smallest array or drive"


@dataclass(frozen=True)
class Combination:
    key: str
    system: str
    load: Load
    fixed: dict[str, Value] = field(default_factory=dict)
    """Factors that do not compete but differ between combinations."""

    def factors(self, setting: Setting, **seen: Value) -> dict[str, Value]:
        """What a record keeps of its conditions; `seen` is what a backend found in force, and the plan's own words
        stand above it."""
        return {
            "system": self.system,
            "load": self.load.name,
            "threads": self.load.threads,
            "block_bytes": self.load.block_bytes,
            "iodepth": self.load.iodepth,
            "direct": self.load.direct,
            **seen,
            **self.fixed,
            **setting.values,
        }


@dataclass(frozen=True)
class Setting:
    label: str
    values: dict[str, Value]
    control: bool = False


@dataclass(frozen=True)
class Trial:
    index: int
    repetition: int
    combination: int
    """Its place among those of the plan."""
    setting: int
    role: Role
    seed: int

    def seed_of(self, attempt: int) -> int:
        """The random seed of an attempt: what was wrong with one does not repeat itself."""
        return self.seed if attempt == 1 else trial_seed(self.seed, 0, attempt)


@dataclass(frozen=True)
class Touch:
    """One attribute that the run will set and restore."""

    device: str
    attribute: str
    now: str | None
    values: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    study: str
    backend: str
    seed: int
    repetitions: int
    compare: tuple[str, ...]
    reference: str
    combinations: tuple[Combination, ...]
    settings: tuple[Setting, ...]
    trials: tuple[Trial, ...]
    systems: tuple[SystemFacts, ...]
    touched: tuple[Touch, ...]
    wait_s: float
    settle_s: float
    trim: bool
    attempts: int
    prepare_s: float
    trial_s: tuple[float, ...]
    """Estimated seconds of a trial, by combination."""
    bytes_per_trial: tuple[int, ...]
    """Estimated bytes written by a trial, by combination."""
    bytes_prepared: int
    notes: tuple[str, ...] = ()
    budget_s: float | None = None
    """Time that was given; repeats of disturbed trials must fit into it too."""
    lead: str = ""
    """Of an import, the figure that counts for programs that wait for it: how long syncs took. The first of `notes` says it, too."""

    @classmethod
    def of_records(
        cls,
        study: str,
        backend: str,
        seed: int,
        system: SystemFacts,
        combinations: tuple[Combination, ...],
        settings: tuple[Setting, ...],
        trials: tuple[Trial, ...],
        notes: tuple[str, ...],
    ) -> Plan:
        """The plan of records that are there already, of one system; the first setting is what the others are compared
        with."""
        return cls(
            study,
            backend,
            seed,
            max(trial.repetition for trial in trials),
            ("setting",),
            settings[0].label,
            combinations,
            settings,
            trials,
            (system,),
            touched=(),
            wait_s=0.0,
            settle_s=0.0,
            trim=False,
            attempts=1,
            prepare_s=0.0,
            trial_s=(0.0,) * len(combinations),
            bytes_per_trial=(0,) * len(combinations),
            bytes_prepared=0,
            notes=notes,
        )

    @property
    def estimated_s(self) -> float:
        """Seconds for preparation and every planned trial."""
        return self.prepare_s + sum(self.trial_s[trial.combination] for trial in self.trials)

    @property
    def bytes_written(self) -> int:
        """Estimated for preparation and all trials, repeats of discarded ones not included."""
        return self.bytes_prepared + sum(self.bytes_per_trial[trial.combination] for trial in self.trials)

    def system_of(self, combination: Combination) -> SystemFacts:
        """By the name that the combination carries; each planned combination has one."""
        return next(facts for facts in self.systems if facts.name == combination.system)

    def to_document(self) -> dict[str, object]:
        """With the keys of `run --dry-run --json` and of stored runs."""
        return {
            "schema": PLAN_SCHEMA,
            "estimated_s": round(self.estimated_s, 1),
            "bytes_written": self.bytes_written,
            **printed(self),
        }

    @classmethod
    def from_document(cls, document: dict[str, object]) -> Plan:
        """The plan that `to_document` wrote; an error if something of it is not there or is something else."""
        try:
            # What a plan of an older version does not have keeps its default.
            plan = _stored().validate_python(document)
            for trial in plan.trials:
                if not (0 <= trial.combination < len(plan.combinations) and 0 <= trial.setting < len(plan.settings)):
                    raise ValueError(f"trial {trial.index} is of no combination or setting of the plan")
            return plan
        except (ValueError, RecursionError) as error:
            raise SeekwiseError(
                f"the plan of this run cannot be read: {type(error).__name__} {' '.join(str(error).split())[:100]}",
                hint="`seekwise results` lists the other runs",
            ) from error


@cache
def _stored() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


def trial_seed(seed: int, what: int | str, attempt: int = 1) -> int:
    """The random seed of one trial: 63 bits that nothing else in the run shares."""
    digest = hashlib.sha256(f"seekwise trial {seed} {what} {attempt}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
