"""A SLURM cluster of this machine alone: munge, controller and node as processes of our own, in a folder of their own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from .conftest import free_port, wait_for

PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo", "sbatch")
PATH = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=6000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, str]]:
    """The environment in which `sbatch` finds the cluster; skips with the reason where none can run."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed: apt install slurm-wlm munge")
    if os.geteuid() != 0:
        pytest.skip("the SLURM daemons of the test run as root")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    host = socket.gethostname().partition(".")[0]
    written = folder / "slurm.conf"
    written.write_text(CONFIGURATION.format(host=host, folder=folder, port=free_port(), node_port=free_port()))
    environment = {"SLURM_CONF": str(written), "PATH": PATH}
    munged = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket",
              f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"]  # fmt: skip
    with ExitStack() as ending:
        for words in (munged, ["slurmctld", "-D"], ["slurmd", "-D", "-N", host]):
            with (folder / f"{words[0]}.out").open("w") as log:
                process = subprocess.Popen(words, env={**os.environ, **environment}, stdout=log, stderr=log)
            ending.callback(process.wait, 30)
            ending.callback(process.terminate)
            if words[0] == "munged":
                wait_for((folder / "munge.socket").exists)
        try:
            wait_for(lambda: "idle" in _told(environment, "sinfo", "-h", "-o", "%T"), 60)
        except AssertionError:
            logs = " ".join(path.read_text()[-300:] for path in sorted(folder.glob("*.out")))
            pytest.skip(f"SLURM does not start here: {logs}")
        yield environment
        _told(environment, "scancel", "--full", "--state=RUNNING", "--user=root")


def _told(environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        words, env={**os.environ, **environment}, capture_output=True, text=True, timeout=30, check=False
    )
    return done.stdout
