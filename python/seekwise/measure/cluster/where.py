"""Which cluster: `--workers N` and `--on WHERE` as something that a client can connect to.

local    processes on this machine, over TLS with keys that live as long as the run: no other user can give them work
tcp://   a Dask scheduler that is running (`tls://` where it asks for certificates, which Dask's own configuration names)
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seekwise import temporary
from seekwise.errors import MissingError, SeekwiseError, UsageError

FORMS = "tcp://HOST:PORT or tls://HOST:PORT"
INSTALL = "pip install 'seekwise[cluster]'"
PORT_MAX = 65535
STARTS_MOST = 3
WORKER_BYTES = 100 * 10**6
"""Of a local worker, less what it shares with others: 65 MB before its first trial."""
FRUGAL = {
    # Dask's statistical profilers and meters look a hundred times a second at what nobody asks of a local run.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.system-monitor.gil.enabled": False,
    # Clocks that tick in the driver, too, for each local worker: 33 ms of its CPU time each second, 8 ms like this.
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
}

ALONE: dict[str, Any] = {
    # Files that may name programs to run: a local run needs none of them, and another user may have written one (`sudo` with his home).
    "distributed.scheduler.preload": [],
    "distributed.nanny.preload": [],
    "distributed.worker.preload": [],
    "distributed.nanny.environ": {},
    "distributed.nanny.pre-spawn-environ": {},
}

Kind = Literal["local", "scheduler"]


@dataclass(frozen=True)
class Where:
    kind: Kind
    workers: int | None = None
    address: str = ""
    """Of the scheduler: `tcp://HOST:PORT` or `tls://HOST:PORT`."""

    @property
    def text(self) -> str:
        """As in a sentence: `the scheduler at tcp://…`."""
        return "the local workers" if self.kind == "local" else f"the scheduler at {self.address}"


def parse(on: str | None, workers: int | None) -> Where | None:
    """What `--on` and `--workers` name; None for this process alone. Raises UsageError for what is neither."""
    if on is None:
        return None if workers is None else Where("local", workers)
    scheme, _, rest = on.partition("://")
    if scheme in ("dask", "tcp", "tls"):
        if workers is not None:
            raise UsageError(
                f"`--workers` goes with a cluster that this command starts, and {on} has its own",
                hint="leave `--workers` out",
            )
        return Where("scheduler", address=_address("tls" if scheme == "tls" else "tcp", rest, on))
    raise UsageError(f"`--on {on}` names no Dask scheduler", hint=f"{FORMS}; Dask has programs that start one")


def _address(protocol: str, rest: str, on: str) -> str:
    host, colon, port = rest.rstrip("/").rpartition(":")
    named = re.fullmatch(r"[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]", host)
    if not colon or named is None or not port.isdecimal() or not 0 < int(port) <= PORT_MAX:
        raise UsageError(f"`--on {on}` names no scheduler", hint="for example: --on tcp://10.0.0.5:8786")
    return f"{protocol}://{host}:{port}"


def require(where: Where) -> None:
    """Raises MissingError for what has to be installed first, before anything is planned."""
    if importlib.util.find_spec("distributed") is None:
        raise MissingError("spreading trials over workers needs Dask, which is not installed", hint=INSTALL)
    if where.kind == "local" and (where.workers or 1) > 1:
        import psutil

        there = psutil.virtual_memory().available
        if (most := there // WORKER_BYTES) < (where.workers or 1):
            raise MissingError(
                f"{where.workers} workers need about {(where.workers or 1) * WORKER_BYTES / 1e9:.3g} GB of memory, and {there / 1e9:.3g} GB are free",
                hint=f"`--workers {max(min(most, os.cpu_count() or 1), 1)}`, or more machines with `--on`",
            )


@contextmanager
def cluster(where: Where) -> Iterator[Any]:
    """What `distributed.Client` connects to: a cluster that ends with this, or the address of one that stays."""
    if where.kind == "scheduler":
        yield where.address
        return
    import dask

    quiet()
    # Dask shares its scratch folder with the user who made it first, and looks for modules there.
    with temporary.private("dask") as scratch:
        own = {"temporary-directory": str(scratch), **FRUGAL, **ALONE}
        with dask.config.set(own), _without_http(), temporary.everything_in(scratch):
            try:
                started = _local(where.workers or 1, scratch)
            except SeekwiseError:
                raise
            except Exception as error:
                raise SeekwiseError(f"cannot start {where.text}: {first_line(error)}") from error
            try:
                yield started
            finally:
                started.close()


@contextmanager
def _without_http() -> Iterator[None]:
    """Dask's dashboard and its other pages answer every user of this machine, and a run needs none of them."""
    from distributed.node import ServerNode

    before, safe = ServerNode.start_http_server, os.environ.get("PYTHONSAFEPATH")
    setattr(ServerNode, "start_http_server", no_http)  # noqa: B010 (a method of somebody else's class)
    # A worker starts as `python -c`, which would look for modules in the working folder first.
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        setattr(ServerNode, "start_http_server", before)  # noqa: B010
        if safe is None:
            del os.environ["PYTHONSAFEPATH"]


def no_http(*_: Any, **__: Any) -> None:
    """Takes the place of `ServerNode.start_http_server`."""


def _local(workers: int, scratch: Path) -> Any:
    import distributed

    # Dask's own functions say nothing of their types.
    untyped: Any = distributed
    if importlib.util.find_spec("cryptography") is None:
        raise MissingError("local workers need `cryptography`, which is not installed", hint=INSTALL)
    options: dict[str, Any] = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "local_directory": str(scratch),
        "dashboard_address": None,
        "security": untyped.Security.temporary(),
        "preload": ["seekwise.measure.cluster.local_worker"],
        "silence_logs": logging.CRITICAL,
    }
    for _ in range(STARTS_MOST - 1):
        # A worker that is killed before it works ends the cluster with it.
        with contextlib.suppress(RuntimeError):
            return untyped.LocalCluster(**options)
    return untyped.LocalCluster(**options)


def quiet() -> None:
    """Dask's own log says nothing here: what matters of it is told in our words."""
    importlib.import_module("distributed")  # sets the levels of its log itself, so it comes first
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def first_line(error: BaseException) -> str:
    """What an error says, in at most 200 characters of one line."""
    return (str(error) or type(error).__name__).splitlines()[0][:200]
