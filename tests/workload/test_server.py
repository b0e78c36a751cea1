"""The mount namespace of a database server: it shows the server its folder, and keeps nothing of the user's busy."""

import subprocess
import sys
from pathlib import Path

from cli.conftest import needs_root

SERVER = """
import sys
from pathlib import Path
from seekwise.workload import server
print(server.seen(Path(sys.argv[1])), flush=True)
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
