"""A disk that is full: whatever is written there, the message says so, names the file, and shows no word of a library or a database."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from tests import simulated_study

from cli.conftest import needs_fio, needs_root
from live.conftest import MKFS, _loop, ran

pytestmark = [needs_root]
FULL = "the disk is full"
INSIDE = re.compile(
    r"INSERT|UPDATE|SELECT|sqlite|Errno|Traceback|OSError|has a fault|a worker was killed|No space left"
)


@pytest.fixture
def small(tmp_path):
    """A file system of 2 MiB; `fill` leaves no byte of it."""
    folder = tmp_path / "small"
    folder.mkdir()
    ran("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder))
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False, timeout=60)


def fill(folder: Path, room: int = 0) -> None:
    with (folder / "ballast").open("ab", buffering=0) as file:
        left = os.statvfs(folder)
        with contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, left.f_bavail * left.f_frsize - room)


def said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.stderr.count("error: ") == 1, done.stderr
    line = next(each for each in done.stderr.splitlines() if each.startswith("error: "))
    assert FULL in line, done.stderr
    assert not INSIDE.search(done.stderr), done.stderr
    return line


@pytest.fixture
def records(seekwise, tmp_path) -> str:
    study = tmp_path / "s.toml"
    study.write_text(simulated_study.text(name="small", ios=200, repetitions=4))
    seekwise("run", str(study))
    return str(study)


@pytest.mark.parametrize("room", [0, 60_000])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_records_that_do_not_fit(seekwise, small, records, tmp_path, room, workers):
    fill(small, room)
    study = tmp_path / "long.toml"
    study.write_text(simulated_study.text(name="long", ios=200, repetitions=400))
    path = small / "r.db"
    done = seekwise("run", str(study), "--db", str(path), "--workers", workers, status=1)
    assert str(path) in said(done)


WRITERS = {
    "page": ["report", "last", "--output", "{small}"],
    "named page": ["report", "last", "--output", "{small}/x.html"],
    "pictures": ["report", "last", "--pictures", "{small}", "--output", "{work}"],
    "capture": ["capture", "{small}/c.tar.gz"],
}


@pytest.mark.parametrize("what", WRITERS)
def test_files_that_were_asked_for(seekwise, small, records, what):
    fill(small)
    words = [each.format(small=small, work=seekwise.folder) for each in WRITERS[what]]
    assert str(small) in said(seekwise(*words, status=1))
    assert [each.name for each in small.iterdir()] == ["ballast"], "no half of a file is left"


@pytest.mark.parametrize("words", ["export last", "export last --format csv", "results last --json"])
def test_standard_output(seekwise, records, words):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*seekwise.words, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
            env=seekwise.environment, cwd=seekwise.folder,
        )  # fmt: skip
    assert done.returncode == 1
    assert "standard output" in said(done)


def test_the_journal(seekwise, small, loop):
    before = loop.scheduler_file.read_text()
    fill(small)
    seekwise.state = small
    done = seekwise("apply", "--device", loop.node, "--set", "scheduler=bfq", status=4)
    assert "journal" in said(done)
    assert loop.scheduler_file.read_text() == before


@needs_fio
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("use", ["file-server", "database", "desktop-copy", "postgresql", "mariadb"])
def test_programs_of_a_use(seekwise, tmp_path, use):
    """The folder fills up while they are laid out or work."""
    from seekwise.workload import mariadb, postgres

    if {"postgresql": postgres, "mariadb": mariadb}.get(use, postgres).binaries() is None and use in (
        "postgresql",
        "mariadb",
    ):
        pytest.skip(f"{use} is not installed")
    folder = tmp_path / "mnt"
    folder.mkdir()
    node = _loop(tmp_path / "disk.img", 3000 << 20)
    try:
        ran(*MKFS, node)
        ran("mount", node, str(folder))
        process = seekwise.start("tune", str(folder), "--for", use, "--budget", "60s", "--json")
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            fill(folder)
            time.sleep(0.2)
        _, errors = process.communicate(timeout=60)
        assert process.returncode in (1, 3), errors
        if process.returncode == 1:
            line = said(subprocess.CompletedProcess([], 1, "", errors))
            assert str(folder) in line
        assert not list(folder.glob("seekwise-scratch-*"))
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False, timeout=60)
        subprocess.run(["losetup", "-d", node], check=False, timeout=60)
