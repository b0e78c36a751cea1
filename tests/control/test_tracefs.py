"""Tracing instances of runs that were killed go with the next look, those of living ones stay."""

import ctypes
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from seekwise.control import recovery, tracefs
from seekwise.errors import MissingError


def named(pid: int) -> str:
    return f"seekwise-{pid}-{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"


@pytest.fixture
def instances(tmp_path, monkeypatch):
    folder = tmp_path / "instances"
    folder.mkdir()
    monkeypatch.setattr(tracefs, "ROOTS", (tmp_path, tmp_path / "elsewhere"))
    return folder


def test_instances_of_the_dead_are_removed_at_the_start_of_a_command(instances, tmp_path, monkeypatch):
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    ended = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    dead = instances / named(ended.pid)
    ended.communicate()
    # Its number may belong to another process by now.
    reused = instances / f"seekwise-{os.getpid()}-1"
    ours, foreign, odd = (instances / name for name in (named(os.getpid()), "trace-cmd", "seekwise-x"))
    for path in (ours, foreign, odd, instances / named(zombie.pid), dead, reused):
        path.mkdir()
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path / "state"))
    recovery.at_start(lambda sentence: None)
    zombie.wait()
    assert set(instances.iterdir()) == {ours, foreign, odd}


def test_a_machine_without_tracefs_has_nothing_to_remove(tmp_path, monkeypatch):
    monkeypatch.setattr(tracefs, "ROOTS", (tmp_path / "nowhere",))
    tracefs.remove_left_behind()


OWNER = """import os, sys, time
from seekwise.control import tracefs
with tracefs.instance([(7, 0)]) as made:
    made.start()
    print(made.path, flush=True); time.sleep(600)
"""


@pytest.fixture
def owner():
    """A process with a running instance, and the instance."""
    try:
        tracefs.root()
    except MissingError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    process = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.communicate()
    tracefs.remove_left_behind()


@pytest.mark.root
def test_an_instance_that_another_program_reads_is_silenced_and_said_and_goes_later(owner, monkeypatch, capfd):
    """Whoever holds a killed run's instance open keeps the kernel from removing it."""
    process, path = owner
    monkeypatch.setattr(tracefs, "BUSY_S", 0.2)
    with (path / "trace").open():
        process.kill()
        process.wait()
        tracefs.remove_left_behind()
        assert path.is_dir() and (path / "events/enable").read_text().strip() == "0"
        assert f"another program still reads {path}" in capfd.readouterr().err
    tracefs.remove_left_behind()
    assert not path.exists()


@pytest.mark.root
def test_a_command_of_another_pid_namespace_leaves_a_running_instance_alone(owner):
    """A container's commands see the same tracefs, and none of the host's processes."""
    process, path = owner
    code = "from seekwise.control import tracefs; tracefs.remove_left_behind()"
    words = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode and "unshare" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert path.is_dir() and (path / "events/block/block_rq_issue/enable").read_text().strip() == "1"
    process.kill()
    process.wait()
    subprocess.run(words, check=True)
    assert not path.exists()


@pytest.fixture
def unmounted(tmp_path, monkeypatch):
    """A machine on which nobody has mounted tracefs; ours is in a folder of the test's."""
    if os.geteuid() != 0 or "tracefs" not in Path("/proc/filesystems").read_text():
        pytest.skip("needs root, and a kernel with tracefs")
    monkeypatch.setattr(tracefs, "ROOTS", (tmp_path / "nowhere",))
    monkeypatch.setattr(tracefs, "OWN", tmp_path / "run" / "tracing")
    try:
        with tracefs.mounted():
            pass
    except MissingError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    yield tracefs.OWN
    tracefs.remove_left_behind()


def test_what_nobody_has_mounted_is_mounted_for_as_long_as_it_is_used(unmounted):
    with tracefs.instance([(8, 0)]) as made:
        assert os.path.ismount(unmounted) and made.path.parent.parent == unmounted and made.formats()
        with tracefs.mounted():
            pass
        assert made.path.is_dir(), "the first to leave must not take it from the other"
    assert not os.path.ismount(unmounted) and not list(unmounted.iterdir())


def test_a_mount_of_a_killed_run_goes_with_the_next_command(unmounted):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom seekwise.control import tracefs\n"
        f"tracefs.ROOTS, tracefs.OWN = (), Path({str(unmounted)!r})\n"
        "with tracefs.instance([(8, 0)]):\n    print('there', flush=True); time.sleep(60)"
    )
    killed = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert killed.stdout.readline() == "there\n"
    tracefs.remove_left_behind()
    assert os.path.ismount(unmounted), "its process lives"
    killed.kill()
    killed.wait()
    tracefs.remove_left_behind()
    assert not os.path.ismount(unmounted)


def test_a_refused_mount_says_so(unmounted, monkeypatch):
    class Refusing:
        def mount(self, *_):
            ctypes.set_errno(errno.EPERM)
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Refusing())
    with pytest.raises(MissingError) as error, tracefs.instance([(8, 0)]):
        pass
    assert "to mount them was refused (Operation not permitted)" in error.value.message
