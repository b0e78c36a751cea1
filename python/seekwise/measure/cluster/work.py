"""What a worker does with a batch of trials. A batch brings everything that it needs: nothing is kept on a worker between two of them, so that
none is lost with it.

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

    def difference(self, other: Identity) -> str | None:
        """In what the other differs, as the end of a sentence about the other; None if in nothing."""
        if other.model_version != self.model_version:
            return f"has model_version {other.model_version}, this machine {self.model_version}"
        if other.release != self.release:
            return f"has seekwise {other.release}, this machine {self.release}"
        for (kind, name, digest), (_, _, found) in zip(self.models, other.models, strict=True):
            if digest != found:
                return f"{'has another' if found else 'does not have the'} {kind} model `{name}`"
        return None


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
    """Trials, with what of the run they need: cells and settings are only those of these trials, and the trials count in them."""

    study: Study
    systems: dict[str, System]
    plan: Plan
    run_id: str
    trials: tuple[Trial, ...]
    attempts: dict[int, int]
    trace: bool
    identity: Identity


@dataclass(frozen=True)
class Done:
    """What came of a batch: rows, or why the worker may not do it."""

    rows: tuple[codec.StoredRecord, ...]
    seconds: float
    """How long it took over there."""
    difference: str | None = None


@lru_cache(maxsize=64)
def _same_models(wanted: Identity, process: int) -> str | None:
    """Checked once by a process: a model file is not read again for each batch."""
    return wanted.difference(identity([(kind, name) for kind, name, _ in wanted.models]))


def simulate(batch: Batch) -> Done:
    """The rows of a batch, on one processor."""
    difference = _same_models(batch.identity, os.getpid())
    if difference is not None:
        return Done((), 0.0, difference)
    began = time.perf_counter()
    session = SimulatedSession(batch.plan, batch.run_id, batch.systems, batch.study, batch.trace, processors=1)
    rows = tuple(codec.row(record) for record in session.run(list(batch.trials), batch.attempts))
    return Done(rows, time.perf_counter() - began)


def results(specs_json: str, wanted: Identity) -> str:
    """Results of trials, on one processor; a JSON list for a JSON list. Raises RefusedError where the models differ."""
    difference = _same_models(wanted, os.getpid())
    if difference is not None:
        raise RefusedError(f"a worker {difference}: its trials would not be the same")
    return _core.simulate_cells(specs_json, 1)
