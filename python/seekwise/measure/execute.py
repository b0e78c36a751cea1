"""Carries out a plan: repetition by repetition, a committed record per trial, resumable at any point."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from seekwise import files
from seekwise.control.state import state_folder
from seekwise.errors import RefusedError, UsageError
from seekwise.simulate.protocol import Backend, ForetellingSession, Say, SpreadSession
from seekwise.store.codec import StoredRecord
from seekwise.store.database import Run, Store
from seekwise.store.record import Record
from seekwise.workload.study.plan import Plan, Trial


@dataclass(frozen=True)
class Progress:
    """Where a run is, told after each trial."""

    done: int
    total: int
    left_s: float | None
    """None while it is not known."""
    last: Record | StoredRecord | None
    workers: int | None = None
    """Processors that trials are spread over, which then end in any order."""


def new_run(plan: Plan, study_text: str, target: str | None) -> Run:
    """A run of this plan that begins now, not yet in the database."""
    return Run.begun(plan.study, plan.backend, plan.to_document(), seed=plan.seed, target=target, study=study_text)


def carry_out(
    store: Store,
    run: Run,
    plan: Plan,
    backend: Backend,
    *,
    say: Say = lambda _: None,
    tell: Callable[[Progress], None] = lambda _: None,
) -> None:
    """Does what is still to be done of a run. Whatever ends it, the records so far stay and the outcome is written.

    A run that is refused before its first trial is not written down.
    """
    with going(run.run_id):
        _carry_out(store, run, plan, backend, say, tell)


@contextlib.contextmanager
def going(run_id: str) -> Iterator[None]:
    """Held while a run goes on, and by nobody else: two processes that finish one run would do its trials twice."""
    folder = state_folder() / "runs"
    try:
        files.make_private(folder.parent, 0o755)
        files.make_private(folder)
        path = folder / f"{_file_name(run_id)}.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield  # no place for a lock: the journal will say so, if anything is to be changed
        return
    try:
        if files.try_lock(descriptor, fcntl.LOCK_EX) is False:
            raise RefusedError(f"run {run_id} is still going on", "wait for it, or end it")
        yield
        with contextlib.suppress(OSError):
            path.unlink()
    finally:
        os.close(descriptor)


def _file_name(run_id: str) -> str:
    return "".join(character if character.isalnum() or character in "-_." else "_" for character in run_id)[:100]


def _carry_out(
    store: Store, run: Run, plan: Plan, backend: Backend, say: Say, tell: Callable[[Progress], None]
) -> None:
    run_id = run.run_id
    known = any(stored.run_id == run_id for stored in store.runs())
    done = store.attempts(run_id) if known else {}
    open_trials = [trial for trial in plan.trials if not _is_done(done.get(trial.index), plan.attempts)]
    attempts = {index: count for index, (count, _) in done.items()}
    with store.ending(run_id), backend.session(plan, run_id, say) as session:
        if not known:
            store.add_run(run)
        foretold = session.foretell() if isinstance(session, ForetellingSession) else (plan.trial_s, 0.0)
        pace = Pace(plan, open_trials, *foretold)
        tell(Progress(pace.done, len(plan.trials), pace.left_s(), None))
        if isinstance(session, SpreadSession):
            for rows in session.run_spread(open_trials, attempts):
                store.add_rows(rows)
                pace.ended(*(row.trial for row in rows))
                tell(Progress(pace.done, len(plan.trials), pace.left_s(), rows[-1], session.workers))
            return
        for trials in _by_repetition(open_trials):
            for record in session.run(trials, attempts):
                store.add(record)
                pace.ended_until(record.trial)
                left_s = pace.left_s(session.ended_ahead)
                tell(Progress(pace.done, len(plan.trials), left_s, record))


def _is_done(state: tuple[int, bool] | None, attempts: int) -> bool:
    return state is not None and (state[1] or state[0] >= attempts)


def _by_repetition(trials: list[Trial]) -> Iterator[list[Trial]]:
    for _, group in itertools.groupby(trials, key=lambda trial: trial.repetition):
        yield list(group)


ANSWER_S = 1.0
"""From the last trial to the answer: 0.6 s on an idle core of 2020, 1.3 to 2.6 s where four others share two."""
KNOWN_AFTER_S = 1.2
"""Then the trials so far foretell the rest within a factor of two: they come in random order."""


class Pace:
    """Time left: the plan's estimate, corrected by how the trials so far compare with it. A trial costs the same
    however many there are."""

    def __init__(self, plan: Plan, todo: Sequence[Trial], trial_s: Sequence[float], after_s: float = 0.0) -> None:
        """`trial_s`: seconds of a trial, by combination; `after_s`: of what follows all trials, at their pace."""
        self._started = time.monotonic()
        self._total = len(plan.trials)
        self._estimates = {trial.index: trial_s[trial.combination] for trial in todo}
        """Of the trials still to be done, in their order."""
        self._left_s = self._all_s = sum(self._estimates.values())
        self._todo = len(todo)
        # How fast trials are simulated shows after some time, or once each kind was, or half of them.
        first = sum(trial.repetition == todo[0].repetition for trial in todo) if todo else 0
        is_simulated = plan.backend == "simulated"
        self._known_from = min(first, math.ceil(self._todo / 2)) if is_simulated else 0
        self._answer_s = ANSWER_S if is_simulated else 0.0
        self._after_s = after_s

    @property
    def done(self) -> int:
        """Trials of the plan that are done, those of earlier sessions included."""
        return self._total - len(self._estimates)

    def ended(self, *indices: int) -> None:
        """Trials by their index in the plan; a second call for the same one changes nothing."""
        for index in indices:
            self._left_s -= self._estimates.pop(index, 0.0)

    def ended_until(self, index: int) -> None:
        """Trials came in order: what stands before this one is done, valid or given up."""
        while self._estimates and (first := next(iter(self._estimates))) <= index:
            self.ended(first)

    def left_s(self, ended_ahead: int = 0) -> float | None:
        """None while it is not known. `ended_ahead`: trials that have ended, too, and will be told of at once."""
        ended, elapsed_s = self._todo - len(self._estimates) + ended_ahead, time.monotonic() - self._started
        if ended < self._known_from and (not ended or elapsed_s < KNOWN_AFTER_S):
            return None
        left = max(self._left_s - sum(itertools.islice(self._estimates.values(), ended_ahead)), 0.0)
        done = self._all_s - left
        return left if done <= 0 else (left + self._after_s) * elapsed_s / done + self._answer_s


def to_resume(store: Store, name: str) -> tuple[Run, Plan]:
    """A run that is not complete, with the plan it was begun with; `last` is the newest of them."""
    open_runs = [run for run in store.runs() if run.outcome != "complete"] if name == "last" else []
    run = open_runs[-1] if open_runs else store.run(name)
    if run.outcome == "complete":
        raise UsageError(
            f"run {run.run_id} is complete", hint=f"`{run.typed(f'seekwise results {run.run_id}')}` shows it"
        )
    return run, Plan.from_document(run.plan)
