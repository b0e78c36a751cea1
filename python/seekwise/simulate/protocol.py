"""What every backend offers. Study, verdict and report code knows backends by this alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypedDict, runtime_checkable

from seekwise.store.codec import StoredRecord
from seekwise.store.record import Provenance, Record
from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import Plan, SystemFacts, Trial
from seekwise.workload.study.study import Study

Say = Callable[[str], None]
"""Takes one sentence for the person who watches."""


@dataclass(frozen=True)
class Options:
    """What the command line adds to a study."""

    target: str | None = None
    destroy: tuple[str, ...] = ()
    guests: int | None = None
    """Virtual machines at once, for the VM testbed."""


class Origin(TypedDict):
    """What a record says of the trial that it comes from."""

    run_id: str
    trial: int
    repetition: int
    combination: str
    setting: str
    factors: dict[str, Value]


def origin(run_id: str, plan: Plan, trial: Trial, **seen: Value) -> Origin:
    """Of a trial of `plan`; `seen`: factors that the backend found in force, as `scheduler`."""
    combination, setting = plan.combinations[trial.combination], plan.settings[trial.setting]
    return Origin(
        run_id=run_id,
        trial=trial.index,
        repetition=trial.repetition,
        combination=combination.key,
        setting=setting.label if trial.role != "sentinel" else f"{setting.label} (drift check)",
        factors=combination.factors(setting, **seen),
    )


class Session(Protocol):
    """A prepared run: scratch files made, devices proven and locked. Leaving it removes and restores everything.

    `ended_ahead`: trials that have ended, too, when a record is handed out, and whose records follow at once. Time left
    counts them.
    """

    ended_ahead: int = 0

    def run(self, trials: list[Trial], attempts: dict[int, int]) -> Iterator[Record]:
        """Carries out trials of one repetition in their order; a record per attempt, as each one ends.

        `attempts`: attempts that earlier sessions already made, by trial.
        """
        ...


@runtime_checkable
class SpreadSession(Protocol):
    """A session whose trials run on many processors at once: they end in any order, several at a time, and need no
    repetitions in between."""

    @property
    def workers(self) -> int:
        """Processors at work now."""
        ...

    def run_spread(self, trials: Sequence[Trial], attempts: dict[int, int]) -> Iterator[Sequence[StoredRecord]]:
        """Carries out the trials; the rows of some of them as they end, each trial exactly once."""
        ...


@runtime_checkable
class ForetellingSession(Protocol):
    """A session that knows better than the plan what its trials take."""

    def foretell(self) -> tuple[Sequence[float], float]:
        """Seconds of a trial, by combination, and of what follows all trials."""
        ...


class Backend(Protocol):
    provenance: Provenance

    def describe(self, study: Study) -> tuple[SystemFacts, ...]:
        """Facts of every system of the study. Touches nothing; raises for whatever can be known to fail."""
        ...

    def check(self, plan: Plan) -> None:
        """Raises for whatever the session would refuse; touches nothing."""
        ...

    def session(self, plan: Plan, run_id: str, say: Say) -> AbstractContextManager[Session | SpreadSession]:
        """Everything that the trials need is set up inside, and restored at the end; `say` takes sentences for the
        user."""
        ...
