"""Local workers beside a hostile user: nothing of a run is found in a place that others may write to, and no port answers them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.control.nobody import NOBODY

from seekwise import temporary

from .conftest import Runs, count, records_of, wait_for

MODULES = ("seekwise", "distributed", "multiprocessing", "dask", "click", "tokenize", "msgpack", "cloudpickle")


@pytest.fixture
def hostile(tmp_path):
    """A shared temporary folder in which another user was first, and a working folder of his, full of modules and links."""
    for parent in (tmp_path, *tmp_path.parents):
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    shared, theirs, precious, caught = (tmp_path / name for name in ("shared", "theirs", "precious", "caught"))
    precious.write_text("years of work")
    for folder in (shared, theirs):
        folder.mkdir()
    shared.chmod(0o1777)
    for folder in (
        theirs, shared, shared / "dask-scratch-space", shared / f"dask-scratch-space-{os.getuid()}", shared / "dask-worker-space",
    ):  # fmt: skip
        folder.mkdir(exist_ok=True)
        for module in MODULES:
            (folder / f"{module}.py").write_text(f"open({str(caught)!r}, 'a').write(__file__)\nraise SystemExit(1)\n")
        for name in ("global.lock", "purge.lock"):
            (folder / name).symlink_to(precious)
        if os.geteuid() == 0:
            for path in (folder, *folder.iterdir()):
                if path != shared:
                    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        if folder not in (shared, theirs):
            folder.chmod(0o777)
    return shared, theirs, precious, caught


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the folders belong to user nobody")
def test_workers_find_nothing_that_another_user_planted(runs: Runs, hostile) -> None:
    shared, theirs, precious, caught = hostile
    before = sorted(path.name for path in shared.iterdir())
    study = runs.study(ios=50, repetitions=2)
    runs(str(study), db="alone.db")
    for number, owner in enumerate((0, NOBODY)):
        os.chown(shared, owner, owner)
        process = subprocess.run(
            [sys.executable, "-P", "-m", "seekwise.cli.main", "run", str(study), "--workers", "2", "--db", str(runs.folder / f"{number}.db")],
            env={**os.environ, "TMPDIR": str(shared), "SEEKWISE_STATE": str(runs.folder / "state")}, cwd=theirs,
            capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        assert not caught.exists(), caught.read_text()
        assert process.returncode == 0, process.stderr
        assert precious.read_text() == "years of work"
        assert records_of(runs.folder / f"{number}.db") == records_of(runs.folder / "alone.db")
        assert sorted(path.name for path in shared.iterdir()) == before


def test_no_port_of_a_run_answers_who_has_no_key(runs: Runs) -> None:
    process = runs.start(str(runs.study(ios=3000, repetitions=60)), "--workers", "2", db="spread.db")
    wait_for(lambda: count(runs.folder / "spread.db") > 5)
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    ports = {
        each.laddr.port
        for one in family
        for each in one.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN and each.laddr.ip in ("127.0.0.1", "0.0.0.0", "::", "::1")
    }
    assert ports, "the workers are reached through a port"
    for port in ports:
        for asked in (b"GET /status HTTP/1.0\r\n\r\n", b"GET /info/main/workers.html HTTP/1.0\r\n\r\n", b"\0" * 64):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
                client.settimeout(10)
                answer = b""
                try:  # who is refused may find the connection ended before all was sent
                    client.sendall(asked)
                    client.shutdown(socket.SHUT_WR)
                    while part := client.recv(4096):
                        answer += part
                except OSError:
                    pass
            assert b"HTTP" not in answer and b"seekwise" not in answer, answer[:200]
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)


def test_a_killed_run_leaves_no_folder_after_the_next_command(runs: Runs) -> None:
    own = runs.folder / "tmp"
    own.mkdir()
    process = runs.start(str(runs.study(ios=3000, repetitions=60)), "--workers", "2", db="spread.db", TMPDIR=str(own))
    wait_for(lambda: count(runs.folder / "spread.db") > 5)
    assert [path for path in own.iterdir() if path.name.startswith("seekwise-dask-")]
    workers = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    psutil.wait_procs(workers, timeout=30)
    runs("--help", db="other.db", TMPDIR=str(own))
    assert list(own.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: gives folders to user nobody")
def test_a_folder_is_safe_only_if_nobody_else_can_change_its_path(tmp_path: Path) -> None:
    def made(name: str, mode: int, owner: int = 0) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        folder.chmod(mode)
        os.chown(folder, owner, owner)
        return folder

    assert temporary.is_safe(made("own", 0o700)) and temporary.is_safe(made("sticky", 0o1777))
    assert not temporary.is_safe(made("shared", 0o777)) and not temporary.is_safe(made("theirs", 0o700, NOBODY))
    (tmp_path / "theirs" / "below").mkdir()
    assert not temporary.is_safe(tmp_path / "theirs" / "below") and not temporary.is_safe(tmp_path / "missing")
    (tmp_path / "link").symlink_to(tmp_path / "own")
    assert temporary.is_safe(tmp_path / "link")
    (tmp_path / "away").symlink_to(tmp_path / "theirs")
    assert not temporary.is_safe(tmp_path / "away")


def test_folders_of_the_living_stay_and_those_of_the_dead_go(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with temporary.private("dask") as alive:
        dead = Path(shutil.copytree(alive, tmp_path / "seekwise-dask-dead"))
        dead.chmod(0o700)
        (dead / "file").write_text("x")
        foreign = tmp_path / "seekwise-notes"
        foreign.mkdir(0o700)
        temporary.remove_left_behind()
        assert alive.is_dir() and foreign.is_dir() and not dead.exists()
    assert not alive.exists()
