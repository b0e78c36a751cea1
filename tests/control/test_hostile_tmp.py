"""A temporary folder and a working folder made hostile for the libraries and programs that a command uses: nothing in them is followed or run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests import simulated_study

from seekwise import temporary

from .nobody import NOBODY

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the folders belong to user nobody")

NAMES = (
    "fio-dump-status", ".fio", "fio.lock", "dask-scratch-space", "dask-worker-space", "deno", ".deno", "deno_dir", "v8", "v8.log", "vl-convert",
    "matplotlib", "matplotlib-root", "numba", "joblib", "vl", "qemu", "pip", "seekwise", "seekwise-fault-", "job.fio", "fio.json", ".cache",
)  # fmt: skip
MODULES = (
    "seekwise",
    "click",
    "json",
    "numpy",
    "jinja2",
    "multiprocessing",
    "random",
    "sitecustomize",
    "usercustomize",
)


@pytest.fixture(params=["shared", "theirs"])
def hostile(request, tmp_path):
    for parent in (tmp_path, *tmp_path.parents):
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    folder, precious, caught = tmp_path / "tmp", tmp_path / "precious", tmp_path / "caught"
    precious.write_text("years of work")
    folder.mkdir()
    for name in NAMES:
        (folder / name).symlink_to(precious)
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(caught)!r}, 'a').write(__file__)\n")
    for path in folder.iterdir():
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    folder.chmod(0o1777)
    os.chown(folder, *((0, 0) if request.param == "shared" else (NOBODY, NOBODY)))
    return folder, precious, caught


def seekwise(folder, tmp_path, *words):
    return subprocess.run(
        [sys.executable, "-P", "-m", "seekwise.cli.main", *map(str, words)],
        env={**os.environ, "TMPDIR": str(folder), "SEEKWISE_STATE": str(tmp_path / "state"), "SEEKWISE_DB": str(tmp_path / "x.db")},
        cwd=folder, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip


def unharmed(hostile, names) -> None:
    folder, precious, caught = hostile
    assert precious.read_text() == "years of work" and precious.stat().st_mode & 0o777 == 0o644
    assert not caught.exists(), caught.read_text()
    assert sorted(path.name for path in folder.iterdir()) == names


def test_pictures_and_pages(hostile, tmp_path):
    names = sorted(path.name for path in hostile[0].iterdir())
    study = tmp_path / "study.toml"
    study.write_text(simulated_study.text(name="plain", ios=50, repetitions=2))
    done = seekwise(hostile[0], tmp_path, "run", study)
    assert done.returncode == 0, done.stderr
    done = seekwise(
        hostile[0], tmp_path, "report", "last", "--output", tmp_path / "pages", "--pictures", tmp_path / "pictures"
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "pictures").iterdir())
    unharmed(hostile, names)


@pytest.mark.slow
@pytest.mark.root
def test_measuring(hostile, tmp_path):
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    names = sorted(path.name for path in hostile[0].iterdir())
    target = tmp_path / "target"
    target.mkdir()
    study = tmp_path / "study.toml"
    study.write_text(
        f'name = "small"\n[[system]]\nname = "s"\ntarget = "{target}"\n'
        '[[workload]]\nname = "w"\noperations = ["rand_read"]\nruntime = "1s"\nsize = "8m"\n[design]\nblocks = 1\n'
    )
    end = time.monotonic() + 120
    while "is in use by another" in (done := seekwise(hostile[0], tmp_path, "run", study)).stderr:
        if time.monotonic() > end:
            pytest.skip("other tests measure on this disk all the time")
        time.sleep(2)
    assert done.returncode == 0, done.stderr
    # fio takes this name for a request to print its status and removes it, the link and not what it leads to (fio 3.33, stat.c).
    (hostile[0] / "fio-dump-status").unlink(missing_ok=True)
    names.remove("fio-dump-status")
    unharmed(hostile, names)


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
    with temporary.private("record") as alive:
        dead = Path(shutil.copytree(alive, tmp_path / "seekwise-record-dead"))
        dead.chmod(0o700)
        (dead / "file").write_text("x")
        foreign = tmp_path / "seekwise-notes"
        foreign.mkdir(0o700)
        temporary.remove_left_behind()
        assert alive.is_dir() and foreign.is_dir() and not dead.exists()
    assert not alive.exists()
