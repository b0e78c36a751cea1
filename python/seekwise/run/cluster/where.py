"""Which cluster: `--workers N` and `--on WHERE` as something that a client can connect to.

local     processes on this machine, over TLS with keys that live as long as the run: nobody else here can give them work
dask://   a scheduler that is there (`tls://` where it asks for certificates, which Dask's own configuration names)
ssh://    `distributed.SSHCluster`: the first host has the scheduler
slurm     dask-jobqueue, k8s: dask-kubernetes; both are configured in Dask's own files
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from seekwise.backend.protocol import Say
from seekwise.errors import MissingError, SeekwiseError, UsageError

FORMS = "dask://HOST:PORT, tls://HOST:PORT, ssh://HOST,HOST,…, slurm or k8s"
INSTALL = "pip install 'seekwise[cluster]'"
NEEDS = {
    "ssh": ("asyncssh", "pip install asyncssh"),
    "slurm": ("dask_jobqueue", "pip install dask-jobqueue"),
    "k8s": ("dask_kubernetes", "pip install dask-kubernetes"),
}
HINTS = {
    "ssh": "does `ssh HOST` work without a question, and is the same Python with seekwise there (SEEKWISE_REMOTE_PYTHON)?",
    "slurm": "does `sbatch` work here? queue, memory and time are in ~/.config/dask/jobqueue.yaml",
    "k8s": "does `kubectl get pods` work here, and is the Dask operator installed?",
}
PORT_MAX = 65535
STARTS_MOST = 3
WORKER_BYTES = 100 * 10**6
"""Of a local worker, less what it shares with others: 65 MB before its first trial."""
MEMORY = "2 GB"
"""Of a SLURM job, where Dask's files say nothing: a worker takes 0.3 GB."""
FRUGAL = {
    # Dask's statistical profilers and meters look a hundred times a second at what nobody asks of a local run.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.system-monitor.gil.enabled": False,
    # Clocks that tick in the driver, too, for each local worker: 33 ms of its CPU time each second, 8 ms like this.
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
}

Kind = Literal["local", "scheduler", "ssh", "slurm", "k8s"]


@dataclass(frozen=True)
class Where:
    kind: Kind
    workers: int | None = None
    address: str = ""
    """Of the scheduler: `tcp://HOST:PORT` or `tls://HOST:PORT`."""
    hosts: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As in a sentence: `the scheduler at tcp://…`."""
        return {
            "local": "the local workers",
            "scheduler": f"the scheduler at {self.address}",
            "ssh": "the workers on " + ", ".join(self.hosts),
            "slurm": "the workers of SLURM",
            "k8s": "the workers of Kubernetes",
        }[self.kind]


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
    if scheme == "ssh":
        hosts = tuple(rest.split(","))
        if not all(map(_login, hosts)):
            raise UsageError(f"`--on {on}` names no hosts", hint="for example: --on ssh://node1,admin@node2:2222")
        return Where("ssh", workers, hosts=hosts)
    if on in ("slurm", "k8s"):
        if workers is None:
            raise UsageError(f"`--on {on}` starts workers: how many?", hint=f"for example: --on {on} --workers 8")
        return Where("slurm" if on == "slurm" else "k8s", workers)
    raise UsageError(f"`--on {on}` names no cluster", hint=f"one of {FORMS}")


def _address(protocol: str, rest: str, on: str) -> str:
    host, colon, port = rest.rstrip("/").rpartition(":")
    named = re.fullmatch(r"[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]", host)
    if not colon or named is None or not port.isdecimal() or not 0 < int(port) <= PORT_MAX:
        raise UsageError(f"`--on {on}` names no scheduler", hint="for example: --on dask://10.0.0.5:8786")
    return f"{protocol}://{host}:{port}"


def _login(host: str) -> tuple[str, dict[str, Any]] | None:
    """`admin@node2:2222` as (host, what `asyncssh.connect` is told of it); None for what is no host."""
    found = re.fullmatch(
        r"(?:([A-Za-z0-9_.-]+)@)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.][A-Za-z0-9_.-]*)(?::([0-9]{1,5}))?", host
    )
    if found is None or (found[3] and not 0 < int(found[3]) <= PORT_MAX) or (found[1] or "").startswith("-"):
        return None
    told: dict[str, Any] = {"username": found[1]} if found[1] else {}
    return found[2].strip("[]"), told | ({"port": int(found[3])} if found[3] else {})


def require(where: Where) -> None:
    """Raises MissingError for what has to be installed first, before anything is planned."""
    if importlib.util.find_spec("distributed") is None:
        raise MissingError("spreading trials over workers needs Dask, which is not installed", hint=INSTALL)
    module, line = NEEDS.get(where.kind, ("distributed", ""))
    if importlib.util.find_spec(module) is None:
        raise MissingError(f"`--on {where.kind}` needs {module.replace('_', '-')}, which is not installed", hint=line)
    if where.kind == "local" and (where.workers or 1) > 1:
        import psutil

        there = psutil.virtual_memory().available
        if (most := there // WORKER_BYTES) < (where.workers or 1):
            raise MissingError(
                f"{where.workers} workers need about {(where.workers or 1) * WORKER_BYTES / 1e9:.3g} GB of memory, and {there / 1e9:.3g} GB are free",
                hint=f"`--workers {max(min(most, os.cpu_count() or 1), 1)}`, or more machines with `--on`",
            )


@contextmanager
def cluster(where: Where, say: Say = lambda _: None) -> Iterator[Any]:
    """What `distributed.Client` connects to: a cluster that ends with this, or the address of one that stays."""
    if where.kind == "scheduler":
        yield where.address
        return
    quiet()
    try:
        started = _start(where, say)
    except SeekwiseError:
        raise
    except Exception as error:
        raise SeekwiseError(f"cannot start {where.text}: {first_line(error)}", hint=HINTS.get(where.kind)) from error
    try:
        yield started.cluster if where.kind == "k8s" else started
    finally:
        started.close()


def _start(where: Where, say: Say) -> Any:
    if where.kind == "local":
        return _local(where.workers or 1)
    if where.kind == "ssh":
        return _ssh(where)
    if where.kind == "slurm":
        return _slurm(where)
    from seekwise.run.cluster.kubernetes import Pods

    return Pods(where.workers or 1, say)


def _local(workers: int) -> Any:
    import dask
    import distributed

    # Dask's own functions say nothing of their types.
    untyped: Any = distributed
    security = None
    if importlib.util.find_spec("cryptography") is not None:
        security = untyped.Security.temporary()
    elif workers:
        raise MissingError("local workers need `cryptography`, which is not installed", hint=INSTALL)
    options: dict[str, Any] = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        # Any port that is free: another run may have Dask's own.
        "dashboard_address": "127.0.0.1:0",
        "security": security,
        "preload": ["seekwise.run.cluster.local_worker"],
        "silence_logs": logging.CRITICAL,
    }
    with dask.config.set(FRUGAL):
        for _ in range(STARTS_MOST - 1):
            # A worker that is killed before it works ends the cluster with it.
            with contextlib.suppress(RuntimeError):
                return untyped.LocalCluster(**options)
        return untyped.LocalCluster(**options)


def _ssh(where: Where) -> Any:
    """Users, ports, keys and known hosts are those of `~/.ssh/config`, as for `ssh` itself."""
    from distributed import SSHCluster

    # The first name is the scheduler's host, which works, too.
    logins = [login for host in (where.hosts[0], *where.hosts) if (login := _login(host)) is not None]
    return SSHCluster(
        [host for host, _ in logins],
        connect_options=[told for _, told in logins],
        worker_options={"nthreads": 1, "n_workers": where.workers or 1},
        # Any port that is free: the host may have another scheduler.
        scheduler_options={"dashboard_address": ":0"},
        remote_python=os.environ.get("SEEKWISE_REMOTE_PYTHON") or None,
    )


def _slurm(where: Where) -> Any:
    import dask
    from dask_jobqueue.slurm import SLURMCluster

    asked: dict[str, Any] = {"processes": 1, "cores": 1}
    if dask.config.get("jobqueue.slurm.memory", None) is None:
        asked["memory"] = MEMORY
    if shutil.which("sbatch") is None:
        raise MissingError("`--on slurm` needs `sbatch`, which is not here", hint="run it on a host that submits jobs")
    started: Any = SLURMCluster(**asked)
    try:
        _try_job(started.job_script())
        started.scale(jobs=where.workers)
    except BaseException:
        started.close()
        raise
    return started


def _try_job(script: str) -> None:
    """Raises SeekwiseError if SLURM would refuse the job: dask-jobqueue waits for workers of refused jobs without a word."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        words = ["sbatch", "--test-only", file.name]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()] or [f"status {done.returncode}"]
        raise SeekwiseError(f"SLURM takes no job: {said[-1][:200]}", hint=HINTS["slurm"])


def quiet() -> None:
    """Dask's own log says nothing here: what matters of it is told in our words."""
    importlib.import_module("distributed")  # sets the levels of its log itself, so it comes first
    for name in ("distributed", "dask_jobqueue", "bokeh", "tornado", "asyncssh", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
