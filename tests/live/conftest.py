"""Storage that can be made to misbehave: a loop device on a file system that can be frozen, so that its writes hang."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.conftest import Command, ran
from seekwise.cli.main import cli

BELOW_BYTES = 4000 << 20
ABOVE_BYTES = 3600 << 20
# Without the kernel's own writing afterwards: an idle device shall be idle.
MKFS = ("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", "-E", "lazy_itable_init=0")


@dataclass
class Storage:
    """`folder` lies on the loop device `name`, whose file lies on the file system `below`."""

    name: str
    folder: Path
    below: Path

    @property
    def scheduler(self) -> str:
        return Path(f"/sys/block/{self.name}/queue/scheduler").read_text().strip()

    @property
    def in_force(self) -> str:
        return self.scheduler.partition("[")[2].partition("]")[0]

    @contextlib.contextmanager
    def stalled(self) -> Iterator[None]:
        """Nothing is written meanwhile: requests hang in the device."""
        ran("fsfreeze", "-f", str(self.below))
        try:
            yield
        finally:
            ran("fsfreeze", "-u", str(self.below))

    def stall(self, after_s: float, seconds: float) -> threading.Thread:
        """A stall later on, from a thread."""

        def work() -> None:
            time.sleep(after_s)
            with self.stalled():
                time.sleep(seconds)

        thread = threading.Thread(target=work)
        thread.start()
        return thread


@pytest.fixture
def seekwise(tmp_path) -> Command:
    folder = tmp_path / "work"
    folder.mkdir()
    return Command(folder, tmp_path)


def _loop(path: Path, size: int, *options: str) -> str:
    path.touch()
    os.truncate(path, size)
    return ran("losetup", "-f", "--show", *options, str(path))


def detach(node: str, path: Path) -> None:
    """Once a test has taken its device away, the number may be another test's."""
    with contextlib.suppress(OSError):
        backing = Path(f"/sys/block/{Path(node).name}/loop/backing_file").read_text()
        if backing.strip().removesuffix(" (deleted)") == str(path):
            subprocess.run(["losetup", "-d", node], check=False, capture_output=True, timeout=60)


UNMOUNTED_S = 120.0
"""A database server of a test that runs beside this one has a mount namespace of its own, and a copy of what is mounted here keeps it busy."""


def _at_last(*words: str) -> None:
    """Again until it works: a killed load may hold the device for a moment."""
    end = time.monotonic() + UNMOUNTED_S
    while (done := subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)).returncode:
        if time.monotonic() > end:
            held = [done.stderr, *_namespaces_with(words[-1])]
            raise AssertionError(f"{' '.join(words)} fails, and the device stays: {held}")
        time.sleep(0.2)


def _namespaces_with(place: str) -> Iterator[str]:
    """Processes that have what lies at or below a place mounted."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if place in (process / "mountinfo").read_text():
                yield f"{process.name}: {(process / 'cmdline').read_text()[:200]}"


@pytest.fixture
def storage(tmp_path) -> Iterator[Storage]:
    with contextlib.ExitStack() as stack:

        def later(*words: str) -> None:
            stack.callback(_at_last, *words)

        below_node = _loop(tmp_path / "below.img", BELOW_BYTES)
        later("losetup", "-d", below_node)
        below, folder = tmp_path / "below", tmp_path / "above"
        below.mkdir()
        folder.mkdir()
        ran(*MKFS, below_node)
        ran("mount", below_node, str(below))
        later("umount", str(below))
        node = _loop(below / "above.img", ABOVE_BYTES, "--direct-io=on")
        later("losetup", "-d", node)
        ran(*MKFS, node)
        ran("mount", node, str(folder))
        later("umount", str(folder))
        stack.callback(
            lambda: subprocess.run(["fsfreeze", "-u", str(below)], check=False, capture_output=True, timeout=60)
        )
        yield Storage(node.removeprefix("/dev/"), folder, below)


@pytest.fixture
def tune(tmp_path, monkeypatch):
    """`seekwise tune WORDS` in a folder of its own, with a seed."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        return CliRunner().invoke(cli, ["tune", *words, "--db", str(tmp_path / "r.db"), "--seed", "5"])

    return run
