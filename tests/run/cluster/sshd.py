"""An SSH server of this machine at a port of its own, with keys that live as long as the test."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import answers, free_port, wait_for

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin")


@contextmanager
def serving(folder: Path) -> Iterator[Path]:
    """A home whose `.ssh/config` knows the host `node`; skips with the reason where no server can run."""
    if SSHD is None:
        pytest.skip("no SSH server is installed: apt install openssh-server")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    keys = folder / ".ssh"
    keys.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)], check=True)
    port = free_port()
    (keys / "authorized").write_text((keys / "user.pub").read_text())
    (keys / "known").write_text(f"[127.0.0.1]:{port} {(keys / 'host.pub').read_text()}")
    (keys / "config").write_text(
        f"Host node\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n  IdentityFile {keys / 'user'}\n"
        f"  UserKnownHostsFile {keys / 'known'}\n"
    )
    server = folder / "sshd_config"
    server.write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {keys / 'host'}\nAuthorizedKeysFile {keys / 'authorized'}\nPidFile none\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
    )
    with (folder / "sshd.log").open("w") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(server)], stdout=log, stderr=log)
    try:
        wait_for(lambda: answers(port) or process.poll() is not None)
        if process.poll() is not None:
            pytest.skip(f"the SSH server does not start: {(folder / 'sshd.log').read_text().strip()[-300:]}")
        yield folder
    finally:
        process.terminate()
        process.wait(30)
