"""Storage that fails while a command uses it: one sentence, a proper exit status, records kept, and a journal that clears itself."""

import contextlib
import fcntl
import itertools
import json
import os
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.conftest import needs_fio, needs_root, settings_of
from live.conftest import MKFS, _loop, detach, ran

pytestmark = [needs_root, needs_fio, pytest.mark.timeout(400)]
slow = pytest.mark.slow
SHUTDOWN, LOGGED_NOT = 0x8004587D, struct.pack("I", 2)
"""EXT4_IOC_SHUTDOWN and EXT4_GOING_FLAGS_NOLOGFLUSH (Linux v6.12 fs/ext4/ext4.h): everything on the file system fails with EIO."""
REMOVE_LOOP = 0x4C81
"""LOOP_CTL_REMOVE (Linux v6.12 include/uapi/linux/loop.h)."""
BELOW_BYTES, ABOVE_BYTES, STALL_S = 4000 << 20, 3600 << 20, 60


@dataclass
class Failing:
    """`folder` lies on the loop device `node`, whose file lies on the file system `below`."""

    node: str
    folder: Path
    below: Path

    @property
    def name(self) -> str:
        return self.node.removeprefix("/dev/")

    @property
    def backing(self) -> Path:
        return self.below / "above.img"

    def shrink(self) -> None:
        os.truncate(self.backing, 40 << 20)
        ran("losetup", "-c", self.node)

    def unmount(self) -> None:
        ran("umount", "-l", str(self.folder))

    def turn_read_only(self) -> None:
        """As ext4 does by itself after an error."""
        ran("mount", "-o", "remount,errors=remount-ro", str(self.folder))
        Path(f"/sys/fs/ext4/{self.name}/trigger_fs_error").write_text("a test")

    def give_errors(self) -> None:
        """Each request of the loop device fails from now on: the file system of its file does."""
        folder = os.open(self.below, os.O_RDONLY)
        fcntl.ioctl(folder, SHUTDOWN, LOGGED_NOT)
        os.close(folder)

    def refuse_writes(self) -> None:
        """The device has no room for what was never written, as a thin volume whose pool is full."""
        with (self.below / "ballast").open("wb") as ballast, contextlib.suppress(OSError):
            # Piece by piece: the device itself may take room meanwhile.
            for number in itertools.count():
                os.posix_fallocate(ballast.fileno(), number << 20, 1 << 20)

    def stall(self) -> None:
        ran("fsfreeze", "-f", str(self.below))
        time.sleep(STALL_S)
        ran("fsfreeze", "-u", str(self.below))

    def remove(self) -> None:
        """The device itself, with its folder in sysfs. Not while it is open."""
        ran("losetup", "-d", self.node)
        control = os.open("/dev/loop-control", os.O_RDWR)
        fcntl.ioctl(control, REMOVE_LOOP, int(self.name.removeprefix("loop")))
        os.close(control)


def ended(*words: str) -> None:
    subprocess.run(words, check=False, capture_output=True, timeout=60)


@pytest.fixture
def bare(tmp_path):
    with contextlib.ExitStack() as stack:
        below, folder = tmp_path / "below", tmp_path / "above"
        below.mkdir()
        folder.mkdir()
        under = _loop(tmp_path / "below.img", BELOW_BYTES)
        stack.callback(detach, under, tmp_path / "below.img")
        ran(*MKFS, under)
        ran("mount", under, str(below))
        stack.callback(ended, "umount", "-l", str(below))
        node = _loop(below / "above.img", ABOVE_BYTES, "--direct-io=on")
        stack.callback(detach, node, below / "above.img")
        yield Failing(node, folder, below)


@pytest.fixture
def failing(bare):
    ran(*MKFS, bare.node)
    ran("mount", bare.node, str(bare.folder))
    yield bare
    ended("umount", "-l", str(bare.folder))


def one_sentence(errors: str) -> str:
    assert "Traceback" not in errors and "fault" not in errors, errors
    assert errors.count("error: ") == 1, errors
    said = errors.partition("error: ")[2].splitlines()[0]
    assert "scratch folder" not in said, "the cause is said, not what followed from it"
    return said


def left_in_journal(seekwise) -> list[Path]:
    return list((seekwise.state / "state/journal").glob("[!.]*"))


def clears_itself(seekwise, failing) -> None:
    """Once the device is gone for good, the next command ends what the journal has; no settings are left."""
    seekwise("status")
    ended("umount", "-l", str(failing.folder))
    detach(failing.node, failing.backing)
    seekwise("status")
    assert left_in_journal(seekwise) == []


def wait_for_records(seekwise) -> None:
    """A busy machine may need long before the first is kept."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done = seekwise("results", "--json", status=None)
        if done.returncode == 0 and any(run["records"] for run in json.loads(done.stdout)["runs"]):
            return
        time.sleep(0.2)


FAILURES = {
    "shrink": (Failing.shrink, "shrank from"),
    "unmount": (Failing.unmount, "is not mounted there any more"),
    "turn_read_only": (Failing.turn_read_only, "has become read-only|reports errors"),
    "give_errors": (Failing.give_errors, "Input/output error|cannot be read|reports errors"),
}
STUDY = """
name = "small"
[[system]]
name = "disk"
target = "."
[settings]
scheduler = ["none", "mq-deadline"]
[[workload]]
operations = ["rand_read", "seq_write"]
threads = 2
runtime = "1s"
size = "64m"
[design]
blocks = 8
attempts = 1
"""


def commands(failing, folder: Path) -> dict[str, list[str]]:
    study = folder / "study.toml"
    study.write_text(STUDY)
    at = str(failing.folder)
    return {
        "programs": ["tune", at, "--for", "desktop-copy,database", "--budget", "30s", "--json"],
        "requests": ["tune", at, "--for", "random-read,random-write", "--budget", "30s", "--json"],
        "command": ["tune", at, "--budget", "60s", "--json", "--",
                    "dd", "if=/dev/zero", f"of={at}/x", "bs=64k", "count=16", "oflag=direct"],
        "live": ["tune", at, "--live", "--budget", "30s", "--json"],
        "run": ["run", str(study), "--target", at, "--json"],
    }  # fmt: skip


def load_on(failing) -> subprocess.Popen:
    return subprocess.Popen(
        ["fio", "--thread", "--name=foreign", f"--directory={failing.folder}", "--size=64m", "--rw=randrw", "--bs=16k",
         "--direct=1", "--ioengine=libaio", "--iodepth=4", "--time_based", "--runtime=600", "--output=/dev/null"],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize(
    "kind", ["command", *(pytest.param(each, marks=slow) for each in ("programs", "requests", "live", "run"))]
)
@pytest.mark.parametrize("failure", FAILURES)
def test_storage_that_fails_ends_a_run_with_one_sentence(seekwise, failing, tmp_path, failure, kind):
    fail, says = FAILURES[failure]
    before = settings_of(failing.name)
    foreign = load_on(failing) if kind == "live" else None
    process = seekwise.start(*commands(failing, tmp_path)[kind])
    try:
        time.sleep(14 if kind == "run" else 10)
        if kind in ("command", "run"):
            # A run under a load that was there keeps its records when it ends.
            wait_for_records(seekwise)
        assert process.poll() is None, process.communicate()
        fail(failing)
        _, errors = process.communicate(timeout=120)
    finally:
        if foreign is not None:
            foreign.kill()
            foreign.wait()
    assert process.returncode == 1, errors
    said = one_sentence(errors)
    assert str(failing.folder) in said and any(each in said for each in says.split("|")), said
    assert settings_of(failing.name) == before
    # What was measured before is kept.
    runs = json.loads(seekwise("results", "--json").stdout)["runs"]
    assert [run["outcome"].partition(":")[0] for run in runs] == ["failed"]
    if kind in ("command", "live", "run"):
        assert runs[0]["records"] > 0
    clears_itself(seekwise, failing)


@slow
def test_a_device_that_is_read_only_for_a_while_is_cleared_once_it_is_back(seekwise, failing, tmp_path):
    process = seekwise.start(*commands(failing, tmp_path)["programs"])
    time.sleep(10)
    failing.turn_read_only()
    _, errors = process.communicate(timeout=120)
    one_sentence(errors)
    assert left_in_journal(seekwise), "the folder lies on a file system that cannot be written"
    ended("umount", str(failing.folder))
    seekwise("status")
    assert left_in_journal(seekwise), "the device is there, and its file system is not mounted"
    ended("e2fsck", "-fy", failing.node)
    ran("mount", failing.node, str(failing.folder))
    seekwise("status")
    assert left_in_journal(seekwise) == []
    assert not list(failing.folder.glob("seekwise-scratch-*"))


@slow
@pytest.mark.parametrize("kind", ["programs", "requests", "command", "run"])
def test_a_stall_of_a_minute_ends_in_an_answer_or_in_one_sentence(seekwise, failing, tmp_path, kind):
    before = settings_of(failing.name)
    process = seekwise.start(*commands(failing, tmp_path)[kind])
    time.sleep(9)
    failing.stall()
    out, errors = process.communicate(timeout=200)
    assert process.returncode in (0, 1), errors
    if process.returncode:
        one_sentence(errors)
    else:
        json.loads(out)
    assert settings_of(failing.name) == before
    assert not list(failing.folder.glob("seekwise-scratch-*"))
    assert left_in_journal(seekwise) == []


@slow
@pytest.mark.parametrize("failure", ["shrink", "give_errors", "refuse_writes"])
def test_an_empty_device_that_fails(seekwise, bare, failure):
    before = settings_of(bare.name)
    process = seekwise.start(
        "tune", bare.node, "--destroy", str(bare.backing), "--for", "random-write,random-read", "--budget", "30s"
    )
    time.sleep(1.5 if failure == "refuse_writes" else 10)
    getattr(bare, failure)()
    out, errors = process.communicate(timeout=120)
    if failure != "refuse_writes" or process.returncode:
        assert process.returncode == 1, out + errors
        one_sentence(errors)
    assert settings_of(bare.name) == before
    clears_itself(seekwise, bare)


@slow
@pytest.mark.parametrize("failure", ["shrink", "give_errors"])
def test_a_recording_of_a_device_that_fails_is_kept_and_says_so(seekwise, failing, failure):
    foreign = load_on(failing)
    process = seekwise.start("record", failing.node, "--for", "8s", "--output", "x.swt")
    time.sleep(4)
    getattr(failing, failure)()
    out, errors = process.communicate(timeout=120)
    foreign.kill()
    foreign.wait()
    assert process.returncode == 1, out + errors
    assert failing.name in one_sentence(errors)
    seekwise("trace", "show", "x.swt")


@slow
@pytest.mark.parametrize("failure", ["shrink", "give_errors", "remove"])
def test_a_guard_goes_back_when_its_device_fails(seekwise, bare, failure):
    before = settings_of(bare.name)
    process = seekwise.start("apply", "--device", bare.node, "--set", "scheduler=bfq", "--guard", "10s", "--json")
    time.sleep(12)
    getattr(bare, failure)()
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 1, out + errors
    assert bare.name in one_sentence(errors)
    if failure != "remove":
        assert settings_of(bare.name) == before
    seekwise("status")
    assert left_in_journal(seekwise) == []


@pytest.mark.parametrize("failure", ["shrink", "give_errors", "remove"])
def test_what_was_applied_to_a_device_that_failed_is_reverted_or_gone_with_it(seekwise, bare, failure):
    before = settings_of(bare.name)
    seekwise("apply", "--device", bare.node, "--set", "scheduler=bfq")
    getattr(bare, failure)()
    seekwise("status")
    seekwise("revert")
    if failure != "remove":
        assert settings_of(bare.name) == before
    assert left_in_journal(seekwise) == []
