"""The command as a user runs it, with records, state and current folder of its own; small loop devices to run it on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests import preloaded, schemas

from processes import wait_for_those_of
from seekwise.errors import SeekwiseError
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices, mounts, real schedulers")
needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


@dataclass
class Command:
    """Calls `seekwise` in `folder`; `path` replaces PATH."""

    folder: Path
    state: Path
    path: str | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "XDG_DATA_HOME": str(self.state / "data"),
            "SEEKWISE_STATE": str(self.state / "state"),
            "NO_COLOR": "1",
            # Tests run beside each other, on few processors.
            "SEEKWISE_BUSY": "1",
            **({"PATH": self.path} if self.path is not None else {}),
        }

    @property
    def words(self) -> list[str]:
        return [sys.executable, "-m", "seekwise.cli.main"]

    def __call__(self, *words: str, status: int | None = 0, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        done = preloaded.run(words, self.environment, self.folder, timeout)
        if status is not None:
            assert done.returncode == status, done.stdout + done.stderr
        schemas.check_output(words, done.stdout)
        return done

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.words, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, env=self.environment,
            start_new_session=True,
        )  # fmt: skip

    def refused(self, *words: str, status: int) -> str:
        """The one error that the call ends with; nothing else may be said, no trace of a program."""
        done = self(*words, status=status)
        assert done.stderr.count("error: ") == 1, done.stderr
        assert "Traceback" not in done.stderr
        message = next(line for line in done.stderr.splitlines() if line.startswith("error: "))
        assert not message.endswith(".")
        return done.stderr


@pytest.fixture
def seekwise(tmp_path) -> Command:
    folder = tmp_path / "work"
    folder.mkdir()
    return Command(folder, tmp_path)


@pytest.fixture
def on_disk(request, seekwise) -> Path:
    """The current folder of `seekwise`, on a device: a loop device of our own as root, so that nobody else's run is met."""
    if os.geteuid() == 0:
        _, seekwise.folder = request.getfixturevalue("mounted")
        return seekwise.folder
    try:
        resolve_path(read_stack(), seekwise.folder)
    except SeekwiseError as error:
        pytest.skip(f"the test folder is on no disk: {error.message}")
    return seekwise.folder


def ran(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


@dataclass(frozen=True)
class Loop:
    name: str
    node: str
    backing: Path

    @property
    def scheduler_file(self) -> Path:
        return Path(f"/sys/block/{self.name}/queue/scheduler")


@pytest.fixture
def loop(tmp_path) -> Iterator[Loop]:
    """A loop device of our own on an empty file of 96 MiB."""
    backing = tmp_path / "backing.img"
    backing.touch()
    os.truncate(backing, 96 << 20)
    node = ran("losetup", "-f", "--show", "--direct-io=on", str(backing))
    try:
        yield Loop(node.removeprefix("/dev/"), node, backing)
    finally:
        wait_for_those_of(tmp_path)
        subprocess.run(["losetup", "-d", node], check=False, capture_output=True, timeout=60)


@pytest.fixture
def mounted(loop, tmp_path) -> Iterator[tuple[Loop, Path]]:
    """The loop device with a file system, mounted."""
    ran("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", loop.node)
    folder = tmp_path / "mnt"
    folder.mkdir()
    ran("mount", loop.node, str(folder))
    try:
        yield loop, folder
    finally:
        subprocess.run(["umount", str(folder)], check=False, capture_output=True, timeout=60)


def settings_of(name: str) -> dict[str, str]:
    """Everything below queue/ of a device that can be read."""
    folder = Path(f"/sys/block/{name}/queue")
    found = {}
    for file in sorted([*folder.iterdir(), *(folder / "iosched").glob("*")]):
        if file.is_file():
            try:
                found[str(file.relative_to(folder))] = file.read_text()
            except OSError:
                continue
    return found


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
runtime = "200ms"
size = "4m"
end_fsync = false
[design]
blocks = 2
attempts = 1
"""


@pytest.fixture
def study(tmp_path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path
