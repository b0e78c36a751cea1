"""What a worker does with a batch of trials; the only module that runs over there. A batch brings everything that it
needs, so nothing is lost with a worker.

A worker whose models differ from ours would give other numbers under our name: it says so instead of simulating.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from seekwise import _core
from seekwise.errors import RefusedError
from seekwise.release import release
from seekwise.simulate.simulated import SimulatedSession
from seekwise.store import codec
from seekwise.workload.study.plan import Plan, Trial
from seekwise.workload.study.study import Study, System

KINDS = {"drive": _core.drive_model, "controller": _core.controller_model, "host": _core.host_model}


@dataclass(frozen=True)
class Identity:
    """What must be equal on two machines for a trial to give the same bits on both."""

    release: str
    model_version: int
    models: tuple[tuple[str, str, str], ...]
    """(kind, name, digest of what the machine knows under that name; empty: nothing)."""

    def check(self, other: Identity, worker: str) -> None:
        """Raises RefusedError naming the first thing in which the other, a worker's, differs."""
        difference = None
        if other.model_version != self.model_version:
            difference = f"has model_version {other.model_version}, this machine {self.model_version}"
        elif other.release != self.release:
            difference = f"has seekwise {other.release}, this machine {self.release}"
        else:
            for (kind, name, digest), (_, _, theirs) in zip(self.models, other.models, strict=True):
                if digest != theirs:
                    difference = f"{'has another' if theirs else 'does not have the'} {kind} model `{name}`"
        if difference is not None:
            raise RefusedError(
                f"worker {worker} {difference}: its trials would not be the same",
                hint="install the same seekwise and the same model files there, or end that worker",
            )


def identity(models: Sequence[tuple[str, str]]) -> Identity:
    """Of this process: its release, and what it knows of these models, as (kind, name)."""
    return Identity(release(), _core.model_version(), tuple((kind, name, _digest(kind, name)) for kind, name in models))


def _digest(kind: str, name: str) -> str:
    try:
        return hashlib.sha256(KINDS[kind](name).encode()).hexdigest()[:16]
    except ValueError:
        return ""


@dataclass(frozen=True)
class Batch:
    """Trials, with what of the run they need: combinations and settings are only those of these trials, which count in
    them."""

    study: Study
    systems: dict[str, System]
    plan: Plan
    run_id: str
    trials: tuple[Trial, ...]
    attempts: dict[int, int]
    identity: Identity


@dataclass(frozen=True)
class Done:
    """The rows of a batch."""

    rows: tuple[codec.StoredRecord, ...]
    seconds: float
    """How long it took over there."""


@lru_cache(maxsize=64)
def _check_models(wanted: Identity, process: int) -> None:
    """Checked once by a process: a model file is not read again for each batch."""
    wanted.check(identity([(kind, name) for kind, name, _ in wanted.models]), f"process {process}")


def simulate(batch: Batch) -> Done:
    """The rows of a batch, on one processor. Raises RefusedError where the models of this machine are others."""
    _check_models(batch.identity, os.getpid())
    began = time.perf_counter()
    session = SimulatedSession(batch.plan, batch.run_id, batch.systems, batch.study, processors=1)
    rows = tuple(codec.row(record) for record in session.run(list(batch.trials), batch.attempts))
    return Done(rows, time.perf_counter() - began)
