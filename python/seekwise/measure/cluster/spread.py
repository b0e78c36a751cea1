"""Hands batches of trials to workers and takes their rows, each trial exactly once.

A batch is out until one of its copies has come back; rows of any other copy are dropped. It is given out again when

    its worker was lost      Dask does so itself; when it gives up (`KilledWorker`), in halves, so that a trial that kills its worker is found
    the scheduler was lost   everything that is out
    its worker is too slow   a copy elsewhere, and whichever ends first counts

A trial is (study, seed, version) and nothing else: wherever it runs, its record is the same.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from seekwise.errors import SeekwiseError
from seekwise.measure.cluster import client as clients
from seekwise.measure.cluster import where as places
from seekwise.measure.cluster import work
from seekwise.measure.cluster.portions import Queue, excerpt
from seekwise.simulate.protocol import Say
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.store.codec import StoredRecord
from seekwise.store.record import Provenance
from seekwise.workload.study.plan import Plan, SystemFacts, Trial
from seekwise.workload.study.quantity import counted
from seekwise.workload.study.study import Study

AHEAD = 2
"""Batches that each processor has: one at work, one waiting."""
DEATHS_MAX = 6
"""How often a batch of one trial may lose its worker; by chance it hardly happens once."""
SLOW = 8.0
SLOW_LEAST_S = 10.0
"""A batch that takes so many times what was expected, and no less than that, has its worker in trouble."""
TROUBLE_S = 60.0
"""How long such a worker gets no new batches while there are others."""
COPIES_MAX = 3


class SpreadBackend:
    """The simulated backend with its trials on a cluster."""

    provenance: Provenance = "simulated"

    def __init__(self, backend: SimulatedBackend, place: places.Where) -> None:
        self._backend, self._place = backend, place

    def describe(self, study: Study) -> tuple[SystemFacts, ...]:
        """As the simulated backend does, on this machine."""
        return self._backend.describe(study)

    def check(self, plan: Plan) -> None:
        """Raises MissingError (exit status 4) where Dask is not installed, then whatever the simulated backend refuses."""
        places.require(self._place)
        self._backend.check(plan)

    @contextmanager
    def session(self, plan: Plan, run_id: str, say: Say) -> Iterator[ClusterSession]:
        """Raises MissingError (exit status 4) without a cluster or workers, RefusedError (3) where a worker has another version."""
        places.require(self._place)
        with self._backend.session(plan, run_id, say) as local, places.cluster(self._place) as cluster:
            connection = clients.Connection(self._place, cluster, say)
            try:
                connection.wait_for_workers(self._place.workers or 1)
                wanted = work.identity(_models(local.systems))
                connection.check(wanted)
                session = ClusterSession(connection, local, wanted, say)
                say(f"{session.workers_text}{_dashboard(connection)}")
                yield session
            finally:
                connection.close()


def _dashboard(connection: clients.Connection) -> str:
    return f"; dashboard: {connection.dashboard}" if connection.dashboard else ""


def _models(systems: dict[str, Any]) -> list[tuple[str, str]]:
    """Every model that a run asks for, as (kind, name)."""
    found: dict[tuple[str, str], None] = {}
    for system in systems.values():
        found[("drive", str(system.drive))] = None
        if system.controller is not None:
            found[("controller", str(system.controller))] = None
        if "host" in system.options:
            found[("host", str(system.options["host"]))] = None
    return list(found)


@dataclass
class Out:
    """A batch that has been given out."""

    trials: list[Trial]
    given_at: float
    expected_s: float | None
    copies: dict[str, Any] = field(default_factory=dict)
    """{key: future}"""
    deaths: int = 0

    @property
    def is_late(self) -> bool:
        """Whether it takes so long (8 times the estimate, at least 10 s) that its worker must be in trouble."""
        return time.monotonic() - self.given_at > max(SLOW * (self.expected_s or 0.0), SLOW_LEAST_S)


class ClusterSession:
    """Trials of one run on a cluster (`backend.protocol.SpreadSession`)."""

    def __init__(self, connection: clients.Connection, local: Any, wanted: work.Identity, say: Say) -> None:
        self._connection, self._local, self._wanted, self._say = connection, local, wanted, say
        self._threads = connection.threads()
        self._looked_at = time.monotonic()
        self._names = 0
        self._ended: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._out: dict[int, Out] = {}
        self._batch_of: dict[str, int] = {}
        self._in_trouble: dict[str, float] = {}
        """{address of a worker that answers late or not at all: when that was seen}"""

    @property
    def workers(self) -> int:
        """Threads of all workers that answered last; 1 while none does."""
        return max(sum(self._threads.values()), 1)

    @property
    def workers_text(self) -> str:
        """`4 workers`, or `4 workers, 16 threads` where they have several each."""
        count, threads = len(self._threads), self.workers
        text = counted(count, "worker")
        return text if threads == count else f"{text}, {threads} threads"

    def run_spread(self, trials: Sequence[Trial], attempts: dict[int, int]) -> Iterator[Sequence[StoredRecord]]:
        """Rows in the order in which batches end. A batch whose worker died or is slow is given to another one; the first rows count."""
        waiting = Queue(self._local.plan, trials)
        try:
            while waiting or self._out:
                self._give_out(waiting, attempts)
                try:
                    key, future = self._ended.get(timeout=clients.LOOK_S)
                except queue.Empty:
                    self._look(waiting, attempts)
                    continue
                rows = self._taken(key, future, waiting, attempts)
                if rows:
                    yield rows
                if time.monotonic() - self._looked_at > clients.LOOK_S:
                    self._look(waiting, attempts)
        finally:
            self._cancel()

    # Giving out

    def _give_out(self, waiting: Queue, attempts: dict[int, int]) -> None:
        # What is stuck with a worker in trouble keeps nobody else waiting.
        while waiting and sum(not out.is_late for out in self._out.values()) < AHEAD * self.workers:
            trials = waiting.take(self.workers)
            pace = waiting.seconds_of_cost
            expected = None if pace is None else pace * sum(map(waiting.cost, trials))
            self._names += 1
            self._out[self._names] = Out(trials, time.monotonic(), expected)
            self._submit(self._names, attempts)

    def _submit(self, name: int, attempts: dict[int, int]) -> None:
        """One more copy of a batch."""
        out = self._out[name]
        local = self._local
        plan, moved = excerpt(local.plan, out.trials)
        used = {combination.system for combination in plan.combinations}
        batch = work.Batch(
            study=local.study,
            systems={key: value for key, value in local.systems.items() if key in used},
            plan=plan,
            run_id=local.run_id,
            trials=moved,
            attempts={trial.index: attempts[trial.index] for trial in out.trials if trial.index in attempts},
            trace=local.trace,
            identity=self._wanted,
        )
        self._names += 1
        key = f"seekwise-{local.run_id}-{name}-{self._names}"
        # Preferred only: if no other is left, those in trouble may try.
        others = sorted(set(self._threads) - set(self._in_trouble)) if self._in_trouble else []
        place = {"workers": others, "allow_other_workers": True} if others else {}
        try:
            future = self._connection.client.submit(work.simulate, batch, key=key, pure=False, **place)
        except (OSError, RuntimeError, ValueError):
            return  # the connection is gone, which `_look` sees
        out.copies[key] = future
        self._batch_of[key] = name
        future.add_done_callback(lambda done, key=key: self._ended.put((key, done)))

    # Taking

    def _taken(self, key: str, future: Any, waiting: Queue, attempts: dict[int, int]) -> Sequence[StoredRecord]:
        """The rows of a copy that ended, if they are the first of their batch."""
        name = self._batch_of.pop(key, None)
        if name is None or name not in self._out:
            return ()
        out = self._out[name]
        out.copies.pop(key, None)
        done = self._result(future, out)
        if done is None:
            if not out.copies:
                self._again(name, waiting, attempts)
            return ()
        if done.difference is not None:
            clients.refuse("that joined later", done.difference)
        del self._out[name]
        for other, copy in out.copies.items():
            self._batch_of.pop(other, None)
            _drop(copy)
        if {row.trial for row in done.rows} != {trial.index for trial in out.trials}:
            raise SeekwiseError("a worker gave other trials back than it was given; is it a seekwise of this release?")
        waiting.learn(out.trials, done.seconds)
        return done.rows

    def _result(self, future: Any, out: Out) -> work.Done | None:
        """What a copy gave; None if it was lost with its worker or scheduler. Raises what the trials themselves ran into."""
        from distributed import CancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            if future.status in ("cancelled", "lost", "pending"):
                return None
            done = future.result(timeout=60)
        except KilledWorker:
            out.deaths += 1
            return None
        except (CancelledError, CommClosedError, TimeoutError, OSError):
            return None
        except SeekwiseError:
            raise
        except ModuleNotFoundError as error:
            raise SeekwiseError(
                f"a worker that joined later has no seekwise {self._wanted.release} ({error})",
                hint="install the same release there, or end that worker; `--resume` finishes the run",
            ) from error
        except Exception as error:
            raise SeekwiseError(
                f"a worker failed: {type(error).__name__}: {places.first_line(error)}",
                hint="are Python, Dask and seekwise the same there?",
            ) from error
        finally:
            future.release()
        if not isinstance(done, work.Done):
            raise SeekwiseError(f"a worker gave {type(done).__name__} back instead of records")
        return done

    def _again(self, name: int, waiting: Queue, attempts: dict[int, int]) -> None:
        """A batch of which no copy is left."""
        out = self._out[name]
        if not self._connection.is_up:
            return  # given out again when the scheduler is back
        if out.deaths >= DEATHS_MAX:
            combination = self._local.plan.combinations[out.trials[0].combination].key
            raise SeekwiseError(
                f"trial {out.trials[0].index + 1} ({combination}) ended its worker {out.deaths * 4} times",
                hint="is its memory enough? the log of the worker tells more",
            )
        if out.deaths and len(out.trials) > 1:
            del self._out[name]
            middle = len(out.trials) // 2
            for half in (out.trials[:middle], out.trials[middle:]):
                self._names += 1
                self._out[self._names] = Out(half, time.monotonic(), None, deaths=out.deaths if len(half) == 1 else 1)
                self._submit(self._names, attempts)
            return
        out.given_at = time.monotonic()
        self._submit(name, attempts)

    # Looking after it

    def _look(self, waiting: Queue, attempts: dict[int, int]) -> None:
        self._looked_at = time.monotonic()
        seen = self._connection.threads() if self._connection.is_up else {}
        gone = sorted(set(self._threads) - set(seen))
        if not seen:
            self._connection.back(lambda: bool(waiting or self._out))
            self._threads = self._connection.threads()
            for name, out in list(self._out.items()):
                # A scheduler that was away only for a moment still has them.
                if all(copy.status in ("cancelled", "lost", "error") for copy in out.copies.values()):
                    out.copies.clear()
                    out.given_at = time.monotonic()
                    self._submit(name, attempts)
            return
        if gone:
            self._say(f"lost {clients.names(gone)}; its trials run again on the others")
        self._threads = seen
        self._copy_late(attempts)

    def _copy_late(self, attempts: dict[int, int]) -> None:
        """Another worker also does what is late at one."""
        now = time.monotonic()
        self._in_trouble = {
            address: at for address, at in self._in_trouble.items() if now - at < TROUBLE_S and address in self._threads
        }
        late = [name for name, out in self._out.items() if out.is_late and len(out.copies) < COPIES_MAX]
        if not late:
            return
        keys = {key for name in late for key in self._out[name].copies}
        try:
            processing = self._connection.client.processing()
        except (OSError, TimeoutError, RuntimeError):
            return
        found = {address for address, at_work in processing.items() if keys & {str(key) for key in at_work}}
        if new := sorted(found - set(self._in_trouble)):
            self._say(f"{clients.names(new)} is slow or does not answer; others also do its trials")
        self._in_trouble |= dict.fromkeys(found, now)
        for name in late:
            self._out[name].given_at = now
            self._submit(name, attempts)

    def _cancel(self) -> None:
        """What is out when the run ends early would only keep the workers busy."""
        for out in self._out.values():
            for copy in out.copies.values():
                _drop(copy)
        self._out.clear()
        self._batch_of.clear()


def _drop(future: Any) -> None:
    try:
        future.cancel()
    except (OSError, RuntimeError, TimeoutError):
        return  # a worker that is gone does not work on it either
