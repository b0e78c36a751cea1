"""Simulated trials on other machines: `--on tcp://…`, the workers of a Dask scheduler that is running. On this machine the
core's own threads run them, `--workers N` of them.

A trial is (study, seed, version) and nothing else: wherever it runs, its record is the same. Trials are handed out in
batches; a batch whose worker dies is done again by Dask.
"""

from __future__ import annotations

import importlib.util
import logging
import re
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent import futures
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seekwise.errors import MissingError, SeekwiseError, UsageError

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
CONNECT_S = 10
WORKERS_S = 30
RESUME = "`seekwise run --resume last` finishes the run"


def parse(on: str | None) -> str | None:
    """The scheduler's address that `--on` names. Raises UsageError for what is none."""
    if on is None:
        return None
    match = re.fullmatch(r"(dask|tcp|tls)://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})/?", on)
    if match is None or not 0 < int(match[3]) < 65536:
        raise UsageError(f"`--on {on}` names no Dask scheduler", hint="for example: --on tcp://10.0.0.5:8786")
    return f"{'tls' if match[1] == 'tls' else 'tcp'}://{match[2]}:{match[3]}"


def check(backend: str, address: str | None, threads: int | None) -> None:
    """Raises UsageError for a backend whose trials belong to one machine, MissingError for what is not there."""
    if address is None and threads is None:
        return
    if backend != "simulated":
        raise UsageError(
            f"only simulated trials run side by side or elsewhere; the `{backend}` backend uses this machine's own storage and kernel",
            hint="leave `--on` and `--workers` out, or add `--backend simulated`",
        )
    if address is not None and threads is not None:
        raise UsageError(f"the scheduler {address} has workers of its own", hint="leave `--workers` out")
    if address is not None and importlib.util.find_spec("distributed") is None:
        raise MissingError("`--on` needs Dask, which is not installed", hint="pip install 'seekwise[dask]'")


def over(chosen: Backend, backend: str, address: str | None, threads: int | None) -> Backend:
    """The backend with its trials on so many of the core's threads, or on a scheduler's workers, if that was asked for."""
    check(backend, address, threads)
    simulated: Any = chosen
    if threads is not None:
        simulated.processors = threads
    return chosen if address is None else SpreadBackend(simulated, address)


class SpreadBackend:
    """The simulated backend with its trials on the workers of a scheduler."""

    provenance: Provenance = "simulated"

    def __init__(self, backend: SimulatedBackend, address: str) -> None:
        self._backend, self._address = backend, address

    def describe(self, study: Study) -> tuple[SystemFacts, ...]:
        """As the simulated backend does, on this machine."""
        return self._backend.describe(study)

    def check(self, plan: Plan) -> None:
        """Raises whatever the simulated backend refuses."""
        self._backend.check(plan)

    @contextmanager
    def session(self, plan: Plan, run_id: str, say: Say) -> Iterator[WorkersSession]:
        """Raises MissingError (exit status 4) without a scheduler or workers, RefusedError (3) where a worker has other
        models."""
        from seekwise.measure import worker

        with self._backend.session(plan, run_id, say) as local:
            wanted = worker.identity(_models(local.systems))
            workers = DaskWorkers(self._address, wanted)
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
    """Trials of one run on other machines (`simulate.protocol.SpreadSession`)."""

    def __init__(self, workers: DaskWorkers, local: SimulatedSession, wanted: Identity) -> None:
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
