"""Simulated trials on other processes: `--workers N` of this machine, or `--on tcp://…`, the workers of a Dask
scheduler that is running.

A trial is (study, seed, version) and nothing else: wherever it runs, its record is the same. Trials are handed out in
batches; a batch whose worker dies is done again: here by a new process, over there by Dask. Processes of this machine
talk through pipes: no port is opened, and none of the named semaphores of `multiprocessing` stays behind a killed run.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import pickle
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent import futures
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.linux import memory
from seekwise.linux.tree import open_tree

if TYPE_CHECKING:
    from seekwise.measure.worker import Batch, Done, Identity
    from seekwise.simulate.protocol import Backend, Say
    from seekwise.simulate.simulated import SimulatedBackend, SimulatedSession
    from seekwise.store.codec import StoredRecord
    from seekwise.store.record import Provenance
    from seekwise.workload.study.plan import Plan, SystemFacts, Trial
    from seekwise.workload.study.study import Study

AHEAD = 2
"""Batches that each processor has: one at work, one waiting."""
BATCH_S = 1.0
"""Seconds that a batch should take; handing it out takes some milliseconds."""
TRIALS_MAX = 200
"""Trials in a batch: their rows are some 8 KB each, sent at once."""
DEATHS_MAX = 3
CONNECT_S = 10
WORKERS_S = 30
WORKER_BYTES = 100 * 10**6
"""Of a local worker, less what it shares with others: 65 MB before its first trial."""
RESUME = "`seekwise run --resume last` finishes the run"


@dataclass(frozen=True)
class Where:
    """Local workers, or the address of a scheduler, `tcp://HOST:PORT` or `tls://HOST:PORT`."""

    workers: int | None = None
    address: str = ""


def parse(on: str | None, workers: int | None) -> Where | None:
    """What `--on` and `--workers` name; None for this process alone. Raises UsageError for what is neither."""
    if on is None:
        return None if workers is None else Where(workers)
    match = re.fullmatch(r"(dask|tcp|tls)://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})/?", on)
    if match is None or not 0 < int(match[3]) < 65536:
        raise UsageError(f"`--on {on}` names no Dask scheduler", hint="for example: --on tcp://10.0.0.5:8786")
    if workers is not None:
        raise UsageError(f"the scheduler {on} has workers of its own", hint="leave `--workers` out")
    return Where(address=f"{'tls' if match[1] == 'tls' else 'tcp'}://{match[2]}:{match[3]}")


def check(backend: str, place: Where | None) -> None:
    """Raises UsageError for a backend whose trials belong to one machine, MissingError for what is not there."""
    if place is None:
        return
    if backend != "simulated":
        raise UsageError(
            f"only simulated trials run elsewhere; the `{backend}` backend uses this machine's own storage and kernel",
            hint="leave `--on` and `--workers` out, or add `--backend simulated`",
        )
    if place.address and importlib.util.find_spec("distributed") is None:
        raise MissingError("`--on` needs Dask, which is not installed", hint="pip install 'seekwise[dask]'")
    if place.workers:
        there = memory.available_bytes(open_tree())
        if there is not None and (most := there // WORKER_BYTES) < place.workers:
            raise MissingError(
                f"{place.workers} workers need about {place.workers * WORKER_BYTES / 1e9:.3g} GB of memory, and {there / 1e9:.3g} GB are free",
                hint=f"`--workers {max(min(most, os.cpu_count() or 1), 1)}`, or more machines with `--on`",
            )


def over(chosen: Backend, backend: str, place: Where | None) -> Backend:
    """The backend with its trials spread, if that was asked for."""
    check(backend, place)
    if place is None:
        return chosen
    simulated: Any = chosen
    return SpreadBackend(simulated, place)


class SpreadBackend:
    """The simulated backend with its trials on other processes."""

    provenance: Provenance = "simulated"

    def __init__(self, backend: SimulatedBackend, place: Where) -> None:
        self._backend, self._place = backend, place

    def describe(self, study: Study) -> tuple[SystemFacts, ...]:
        """As the simulated backend does, on this machine."""
        return self._backend.describe(study)

    def check(self, plan: Plan) -> None:
        """Raises MissingError (exit status 4) for what is not there, then whatever the simulated backend refuses."""
        check("simulated", self._place)
        self._backend.check(plan)

    @contextmanager
    def session(self, plan: Plan, run_id: str, say: Say) -> Iterator[WorkersSession]:
        """Raises MissingError (exit status 4) without a scheduler or workers, RefusedError (3) where a worker has other
        models."""
        from seekwise.measure import worker

        check("simulated", self._place)
        with self._backend.session(plan, run_id, say) as local:
            wanted = worker.identity(_models(local.systems))
            workers: LocalWorkers | DaskWorkers = (
                DaskWorkers(self._place.address, wanted)
                if self._place.address
                else LocalWorkers(self._place.workers or 1)
            )
            with closing(workers):
                say(f"{workers.count} worker{'s' if workers.count > 1 else ''}")
                yield WorkersSession(workers, local, wanted)


def _models(systems: dict[str, Any]) -> list[tuple[str, str]]:
    """Every model that a run asks for, as (kind, name)."""
    models: dict[tuple[str, str], None] = {}
    for system in systems.values():
        models[("drive", str(system.drive))] = None
        if system.controller is not None:
            models[("controller", str(system.controller))] = None
        if "host" in system.options:
            models[("host", str(system.options["host"]))] = None
    return list(models)


class WorkersSession:
    """Trials of one run on other processes (`simulate.protocol.SpreadSession`)."""

    def __init__(self, workers: LocalWorkers | DaskWorkers, local: SimulatedSession, wanted: Identity) -> None:
        self._workers, self._local, self._wanted = workers, local, wanted

    @property
    def workers(self) -> int:
        """Processors at work now."""
        return self._workers.count

    def run_spread(self, trials: Sequence[Trial], attempts: dict[int, int]) -> Iterator[Sequence[StoredRecord]]:
        """Rows in the order in which batches end; batches grow to `BATCH_S` and shrink again towards the end, so that
        workers end together."""
        waiting = deque(trials)
        at_work: dict[futures.Future[Any], list[Trial]] = {}
        done, seconds = 0, 0.0
        try:
            while waiting or at_work:
                while waiting and len(at_work) < AHEAD * self.workers:
                    wanted = BATCH_S * done / seconds if seconds else 1
                    size = max(min(int(wanted), len(waiting) // (4 * self.workers), TRIALS_MAX), 1)
                    batch = [waiting.popleft() for _ in range(min(size, len(waiting)))]
                    at_work[self._workers.submit(self._batch(batch, attempts))] = batch
                for future in futures.wait(at_work, return_when=futures.FIRST_COMPLETED).done:
                    batch, answer = at_work.pop(future), _answer(future)
                    if {row.trial for row in answer.rows} != {trial.index for trial in batch}:
                        raise SeekwiseError("a worker gave other trials back than it was given")
                    done, seconds = done + len(batch), seconds + answer.seconds
                    yield answer.rows
        finally:
            for future in at_work:
                future.cancel()

    def _batch(self, trials: Sequence[Trial], attempts: dict[int, int]) -> Batch:
        """The trials with only what of the plan they need: what is sent stays small."""
        from seekwise.measure.worker import Batch

        local = self._local
        plan, moved = excerpt(local.plan, trials)
        used = {combination.system for combination in plan.combinations}
        return Batch(
            study=local.study,
            systems={name: system for name, system in local.systems.items() if name in used},
            plan=plan,
            run_id=local.run_id,
            trials=moved,
            attempts={trial.index: attempts[trial.index] for trial in trials if trial.index in attempts},
            identity=self._wanted,
        )


def _answer(future: futures.Future[Any]) -> Done:
    try:
        answer: Done = future.result()
    except SeekwiseError:
        raise
    except futures.CancelledError as error:
        raise SeekwiseError("the scheduler is gone", hint=RESUME) from error
    except Exception as error:
        raise SeekwiseError(f"a worker failed: {type(error).__name__}: {_first_line(error)}", hint=RESUME) from error
    return answer


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


def excerpt(plan: Plan, trials: Sequence[Trial]) -> tuple[Plan, tuple[Trial, ...]]:
    """The plan with only what these trials need, and the trials with their places in it."""
    combinations = list(dict.fromkeys(trial.combination for trial in trials))
    settings = list(dict.fromkeys(trial.setting for trial in trials))
    part = replace(
        plan,
        combinations=tuple(plan.combinations[combination] for combination in combinations),
        settings=tuple(plan.settings[setting] for setting in settings),
        trials=(),
        touched=(),
        trial_s=(),
        bytes_per_trial=(),
        notes=(),
    )
    moved = tuple(
        replace(trial, combination=combinations.index(trial.combination), setting=settings.index(trial.setting))
        for trial in trials
    )
    return part, moved


class LocalWorkers:
    """Processes of this machine, a thread for each that gives it batches."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._is_open = True
        self._threads = futures.ThreadPoolExecutor(count)
        self._processes = {_started() for _ in range(count)}
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)

    def submit(self, batch: Batch) -> futures.Future[Done]:
        """To a process that is free, or the next that will be."""
        return self._threads.submit(self._carried_out, batch)

    def close(self) -> None:
        """Ends the processes, whatever they are at."""
        self._is_open = False
        for process in list(self._processes):
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.kill()
            with suppress(BrokenPipeError):  # of a batch that it had not read
                process.communicate()

    def _carried_out(self, batch: Batch) -> Done:
        process = self._idle.get()
        try:
            for _ in range(DEATHS_MAX):
                try:
                    assert process.stdin is not None and process.stdout is not None
                    pickle.dump(batch, process.stdin)
                    process.stdin.flush()
                    answer: Done | Exception = pickle.load(process.stdout)
                except (OSError, EOFError, pickle.UnpicklingError):
                    if not self._is_open:
                        raise
                    process.kill()
                    process.wait()
                    self._processes.remove(process)
                    process = _started()
                    self._processes.add(process)
                    continue
                if isinstance(answer, Exception):
                    raise answer
                return answer
        finally:
            self._idle.put(process)
        key = batch.plan.combinations[batch.trials[0].combination].key
        raise SeekwiseError(
            f"trial {batch.trials[0].index + 1} ({key}) or one of the {len(batch.trials) - 1} after it ended its worker {DEATHS_MAX} times",
            hint=f"is there enough memory? {RESUME}",
        )


def _started() -> subprocess.Popen[bytes]:
    # -P: modules in the working folder may be another user's.
    words = [sys.executable, "-P", "-c", "from seekwise.measure.worker import main; main()"]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


class DaskWorkers:
    """The workers of a Dask scheduler. A user who controls it can run code here, too: what a worker answers is
    unpickled."""

    def __init__(self, address: str, wanted: Identity) -> None:
        import distributed  # sets the levels of its log itself, so it comes first

        for name in ("distributed", "distributed.client", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        untyped: Any = distributed  # Dask's own functions say nothing of their types
        try:
            self._client = untyped.Client(address, timeout=CONNECT_S, set_as_default=False, direct_to_workers=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise MissingError(
                f"the scheduler at {address} does not answer: {_first_line(error)}",
                hint="`dask scheduler` starts one there; look at host, port and firewall",
            ) from error
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_S)
            self._check(wanted)
        except TimeoutError:
            self.close()
            raise MissingError(
                f"no worker after {WORKERS_S} s: the scheduler at {address}", hint=f"`dask worker {address}` starts one"
            ) from None
        except BaseException:
            self.close()
            raise
        self._executor = self._client.get_executor(pure=False)

    def _check(self, wanted: Identity) -> None:
        """Raises RefusedError for a worker whose models differ from ours; one that ended just now is asked again with
        each batch."""
        from seekwise.measure import worker

        answers = self._client.run(
            worker.identity, [(kind, name) for kind, name, _ in wanted.models], on_error="return"
        )
        for address, answer in answers.items():
            if isinstance(answer, ModuleNotFoundError):
                raise MissingError(
                    f"worker {address} has no seekwise {wanted.release} ({answer})",
                    hint="install the same release of seekwise there, with the same Python",
                )
            if isinstance(answer, worker.Identity):
                wanted.check(answer, address)
            elif not isinstance(answer, OSError | TimeoutError):
                raise SeekwiseError(f"worker {address} does not answer: {_first_line(answer)}")

    @property
    def count(self) -> int:
        """Threads of all workers that answered last; 1 while none does."""
        with suppress(KeyError, TypeError, AttributeError, OSError, TimeoutError):
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            return max(sum(int(worker.get("nthreads", 1)) for worker in workers.values()), 1)
        return 1

    def submit(self, batch: Batch) -> futures.Future[Done]:
        """To the scheduler, which repeats it where its worker dies."""
        from seekwise.measure import worker

        submitted: futures.Future[Done] = self._executor.submit(worker.simulate, batch)
        return submitted

    def close(self) -> None:
        """Waits at most 2 s; a scheduler that no longer answers is no error."""
        with suppress(Exception):
            self._client.close(timeout=2)
