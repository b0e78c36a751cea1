"""These tests will start loads that fork workers into sessions of their own, kill who watches them, and look for survivors."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seekwise.control import child, recovery
from seekwise.control.journal import Journal
from seekwise.control.process import pids
from seekwise.errors import MissingError, SeekwiseError

# Two workers in sessions of their own, as fio's forked jobs are, and one whose parent is gone.
FORKING = "setsid sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; sleep 1000"

STARTER = """
import sys
from seekwise.control import child
with child.started(sys.argv[1:]) as load:
    print("started", flush=True)
    load.wait()
"""

# With CAP_SYS_ADMIN there is a PID namespace; without it, the supervisor alone.
WITHOUT_NAMESPACE = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]


@pytest.fixture(params=["as found", "without namespace"])
def privilege(request) -> list[str]:
    if request.param == "as found":
        return []
    if os.geteuid() != 0:
        pytest.skip("without root there is no namespace anyway: covered by `as found`")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not installed")
    return WITHOUT_NAMESPACE


@pytest.fixture
def token():
    """Marks everything a test starts; nothing of it may be left at the end."""
    name = f"SEEKWISE_TEST={secrets.token_hex(8)}"
    yield name
    survivors = alive_with(name)
    for pid in survivors:
        os.kill(pid, signal.SIGKILL)
    assert survivors == []


def alive_with(name: str) -> list[int]:
    return [pid for pid in pids() if name.encode() in child._environment(pid)]


def nothing_is_left(name: str) -> bool:
    """Waits for it: dying takes the kernel a moment. The bound only keeps a failing test from hanging."""
    for _ in range(1000):
        if not alive_with(name):
            return True
        time.sleep(0.01)
    return False


def start(argv: list[str], token: str, state: Path, privilege: list[str]) -> subprocess.Popen:
    name, _, value = token.partition("=")
    process = subprocess.Popen(
        [*privilege, sys.executable, "-c", STARTER, *argv],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, name: value, "SEEKWISE_STATE": str(state)},
    )
    assert process.stdout.readline() == "started\n"
    return process


def supervisor_of(process: subprocess.Popen) -> int:
    for pid in pids():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process.pid:
            return pid
    raise AssertionError("no supervisor")


def test_output_and_exit_status_are_the_programs_own(tmp_path):
    done = child.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_a_program_killed_by_a_signal_says_so():
    assert child.run(["sh", "-c", "kill -SEGV $$"]).returncode == -signal.SIGSEGV


def test_a_program_that_does_not_exist_is_a_missing_requirement():
    with pytest.raises(MissingError, match="`no-such-fio` cannot be started"):
        child.run(["no-such-fio"])


def test_a_program_that_takes_too_long_is_stopped(token):
    os.environ["SEEKWISE_TEST"] = token.partition("=")[2]
    try:
        with pytest.raises(SeekwiseError, match="did not end within"):
            child.run(["sh", "-c", FORKING], timeout_s=0.2)
    finally:
        del os.environ["SEEKWISE_TEST"]
    assert alive_with(token) == []


def test_a_program_deaf_to_sigterm_is_killed_after_the_grace_period(token):
    env = {**os.environ, "SEEKWISE_TEST": token.partition("=")[2]}
    with child.started(["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"], env=env) as load:
        assert load.wait(0.3) is None
        load.terminate()
        assert load.wait() == -signal.SIGKILL
    assert alive_with(token) == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_leaving_the_block_by_an_exception_ends_all_workers(token, error):
    env = {**os.environ, "SEEKWISE_TEST": token.partition("=")[2]}
    with pytest.raises(error), child.started(["sh", "-c", FORKING], env=env) as load:
        while len(alive_with(token)) < 6:
            assert load.poll() is None
        raise error
    assert alive_with(token) == []


def test_workers_that_outlive_their_program_are_ended(token):
    env = {**os.environ, "SEEKWISE_TEST": token.partition("=")[2]}
    with child.started(["sh", "-c", "setsid sleep 1000 & exit 5"], env=env) as load:
        assert load.wait() == 5
        assert alive_with(token) == []


def test_the_pid_is_the_programs_own(token):
    env = {**os.environ, "SEEKWISE_TEST": token.partition("=")[2]}
    with child.started(["sleep", "1000"], env=env) as load:
        while load.pid is None or Path(f"/proc/{load.pid}/comm").read_text() != "sleep\n":
            load.wait(0.01)


def test_a_process_is_seen_while_it_becomes_another_program():
    """Its environment is empty for a moment at each exec; a look that takes that for the answer misses 1 in 100."""
    forever = 'exec sh -c "$0" "$0"'
    with subprocess.Popen(["sh", "-c", forever, forever], env={**os.environ, "SEEKWISE_TEST": "changing"}) as process:
        seen = sum(b"SEEKWISE_TEST=changing" in child._environment(process.pid) for _ in range(20000))
        process.kill()
    assert seen == 20000


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_no_load_outlives_its_killed_starter(token, tmp_path, privilege, number):
    generator = random.Random(int(number))
    for _ in range(5 if number == signal.SIGKILL else 2):
        process = start(["sh", "-c", FORKING], token, tmp_path, privilege)
        time.sleep(generator.uniform(0, 0.15))
        process.send_signal(number)
        process.wait()
        assert nothing_is_left(token)


def test_no_load_outlives_a_killed_supervisor(token, tmp_path, privilege):
    generator = random.Random(7)
    for _ in range(5):
        process = start(["sh", "-c", FORKING], token, tmp_path, privilege)
        time.sleep(generator.uniform(0.02, 0.15))
        os.kill(supervisor_of(process), signal.SIGKILL)
        process.wait()
        assert nothing_is_left(token)


def test_no_load_outlives_both_killed_at_once(token, tmp_path, privilege):
    """Without a namespace orphaned workers remain, and the next start ends them."""
    generator = random.Random(11)
    for _ in range(5):
        process = start(["sh", "-c", FORKING], token, tmp_path, privilege)
        time.sleep(generator.uniform(0.02, 0.15))
        os.kill(supervisor_of(process), signal.SIGKILL)
        process.kill()
        process.wait()
        if privilege:
            recovery.restore_left_behind(Journal(tmp_path))
        assert nothing_is_left(token)
    assert Journal(tmp_path).is_empty()


def test_no_forked_fio_outlives_its_killed_starter(token, tmp_path, privilege):
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    job = [
        "fio", "--name=a", f"--directory={tmp_path}", "--size=4m", "--numjobs=3", "--rw=randrw", "--time_based", "--runtime=1000",
        "--rate_iops=20",
    ]  # fmt: skip
    generator = random.Random(5)
    for _ in range(3):
        process = start(job, token, tmp_path / "state", privilege)
        time.sleep(generator.uniform(0, 0.8))
        process.kill()
        process.wait()
        assert nothing_is_left(token)


DYING_SLOWLY = """
import os, signal, sys, time
from pathlib import Path
from seekwise.control import child, scratch
with child.watched(), scratch.scratch(Path(sys.argv[1]), 0), child.started(["sleep", "1000"]) as load:
    # As the kernel does with one that dies on a busy machine: its files are closed some time before it counts as dead.
    os.closerange(3, 100)
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_starter_that_takes_its_time_to_die_is_waited_for_and_its_scratch_folder_removed(tmp_path):
    folder = tmp_path / "target"
    folder.mkdir()
    environment = {**os.environ, "SEEKWISE_STATE": str(tmp_path / "state")}
    done = subprocess.run([sys.executable, "-c", DYING_SLOWLY, str(folder)], env=environment, timeout=120)
    assert done.returncode == -signal.SIGKILL
    end = time.monotonic() + 60
    while list(folder.iterdir()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not list(folder.iterdir())
