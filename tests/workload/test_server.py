"""The mount namespace of a database server: it shows the server its folder, and keeps nothing of the user's busy."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import needs_root
from control.nobody import NOBODY
from seekwise.workload import server

SERVER = """
import sys
from pathlib import Path
from seekwise.workload import server
print(server.path_for_user(Path(sys.argv[1])), flush=True)
sys.stdin.readline()
print(sys.argv[2] in Path("/proc/self/mountinfo").read_text(), flush=True)
"""
MACHINE = """
import subprocess, sys
place = sys.argv[3]
subprocess.run(["mount", "-t", "tmpfs", "disk", place], check=True)
server = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(server.stdout.readline(), end="")
subprocess.run(["umount", place], check=True)
print(server.communicate("on")[0], end="")
"""


@needs_root
def test_a_device_that_is_unmounted_while_a_server_runs_is_free_at_once(tmp_path: Path) -> None:
    """On a machine whose mounts are shared, as systemd's are."""
    folder, disk = tmp_path / "server", tmp_path / "disk"
    folder.mkdir()
    disk.mkdir()
    done = subprocess.run(
        ["unshare", "-m", "--propagation", "shared", sys.executable, "-c", MACHINE, SERVER, str(folder), str(disk)],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    seen_at, is_still_there = done.stdout.splitlines()
    assert seen_at != str(folder)
    assert is_still_there == "False"


PR_SET_DUMPABLE = 4
"""Linux v6.12 include/uapi/linux/prctl.h."""
WRITES = "touch /dev/shm/seekwise-test-left; ipcmk -M 4096 >/dev/null; ls /dev/shm"


@needs_root
@pytest.mark.parametrize("user", [0, NOBODY])
def test_shared_memory_that_a_server_leaves_ends_with_it(tmp_path: Path, user: int) -> None:
    left, segments = Path("/dev/shm/seekwise-test-left"), Path("/proc/sysvipc/shm")
    before = {line.split()[1] for line in segments.read_text().splitlines()[1:]}
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            # As after a login: a process that gave root's rights away may not write its own files in /proc until it says so.
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
            server.path_for_user(tmp_path)
            server._can_be_apart.cache_clear()
            done = subprocess.run(
                ["sh", "-c", WRITES],
                check=True,
                capture_output=True,
                text=True,
                **(server.identity(tmp_path) if user else {}),
            )
            # A kernel that gives users no namespaces keeps the server in ours; nothing can be asked of it then.
            apart = user == 0 or server._can_be_apart()
            os._exit(0 if done.stdout == "seekwise-test-left\n" else 1 if apart else 77)
        finally:
            os._exit(2)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    was_left = left.exists()
    left.unlink(missing_ok=True)
    new = {line.split()[1] for line in segments.read_text().splitlines()[1:]} - before
    for each in new:
        subprocess.run(["ipcrm", "-m", each], check=False)
    if status == 77:
        pytest.skip("this kernel gives users no namespaces of their own")
    assert status == 0
    assert not was_left
    assert not new
