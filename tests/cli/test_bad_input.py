"""What is wrong ends in one clear error with the right exit status; nothing is changed or left behind."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import STUDY, needs_fio, needs_root, ran, settings_of

USAGE, REFUSED, MISSING, FAILED = 2, 3, 4, 1


def nothing_left(folder: Path) -> bool:
    return not list(folder.rglob("seekwise*"))


def test_a_path_that_does_not_exist(seekwise):
    assert "/nonexistent/path does not exist" in seekwise.refused("tune", "/nonexistent/path", status=USAGE)
    assert nothing_left(seekwise.folder)


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="no tmpfs at /dev/shm")
def test_a_folder_in_memory(seekwise):
    assert "tmpfs" in seekwise.refused("tune", "/dev/shm", status=REFUSED)


@needs_root
def test_an_overlay(seekwise, tmp_path):
    for name in ("lower", "upper", "inner", "merged"):
        (tmp_path / name).mkdir()
    options = f"lowerdir={tmp_path}/lower,upperdir={tmp_path}/upper,workdir={tmp_path}/inner"
    mounting = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(tmp_path / "merged")], check=False, capture_output=True, timeout=60)  # fmt: skip
    if mounting.returncode != 0:
        pytest.skip(f"this kernel mounts no overlay here: {mounting.stderr.decode().strip()}")
    try:
        assert "overlay" in seekwise.refused("tune", str(tmp_path / "merged"), status=REFUSED)
        assert nothing_left(tmp_path / "merged")
    finally:
        ran("umount", str(tmp_path / "merged"))


@needs_root
@needs_fio
def test_a_read_only_mount(seekwise, mounted):
    loop, folder = mounted
    ran("mount", "-o", "remount,ro", str(folder))
    before = settings_of(loop.name)
    assert "read-only" in seekwise.refused("tune", str(folder), status=REFUSED)
    assert settings_of(loop.name) == before


@needs_root
@needs_fio
def test_a_full_disk(seekwise, mounted):
    loop, folder = mounted
    room = os.statvfs(folder)
    with (folder / "filler").open("wb") as file:
        file.write(b"x" * (room.f_bavail * room.f_frsize - (1 << 20)))
    before = settings_of(loop.name)
    assert "has room for" in seekwise.refused("tune", str(folder), status=REFUSED)
    assert sorted(path.name for path in folder.iterdir()) == ["filler", "lost+found"]
    assert settings_of(loop.name) == before


@needs_root
@needs_fio
def test_a_mounted_device_as_a_raw_target(seekwise, mounted):
    loop, folder = mounted
    (folder / "dear").write_text("data")
    message = seekwise.refused("tune", loop.node, "--destroy", str(loop.backing), status=REFUSED)
    assert "mounted" in message
    assert (folder / "dear").read_text() == "data"


@needs_root
@needs_fio
def test_a_raw_target_that_nobody_named_is_not_written(seekwise, loop):
    message = seekwise.refused("tune", loop.node, status=REFUSED)
    assert f"--destroy {loop.backing}" in message
    assert "is not" in seekwise.refused("tune", loop.node, "--destroy", "WD-123", status=REFUSED)
    assert loop.backing.stat().st_blocks == 0


def test_no_fio(seekwise, on_disk, tmp_path):
    empty = tmp_path / "bin"
    empty.mkdir()
    seekwise.path = str(empty)
    message = seekwise.refused("tune", ".", "--for", "limits", status=MISSING)
    assert "fio is not installed" in message
    assert "hint: " in message


def fake_fio(tmp_path: Path, script: str) -> str:
    """PATH with a fio that is a script: it calls itself 3.33, and does `script` when it has a job."""
    folder = tmp_path / "bin"
    folder.mkdir()
    real = shutil.which("fio") or "/usr/bin/fio"
    (folder / "fio").write_text(
        "#!/bin/sh\n"
        'case "$1" in --version) echo fio-3.33; exit 0;; esac\n'
        'for word; do case "$word" in --output=*) output=${word#--output=};; esac; last=$word; done\n'
        f'if grep -q layout "$last"; then exec {real} "$@"; fi\n{script}\n'
    )
    (folder / "fio").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@needs_fio
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sleep 0.1; kill -9 $$", "was killed by SIGKILL"),
        ("echo 'fio: out of luck' >&2; exit 1", "ended with status 1 during system=disk threads=2 rand_read: fio: out of luck"),
        ('echo "garbage before nothing" > "$output"', "has no JSON; it begins: 'garbage before nothing'"),
        ('echo \'{"jobs": [\' > "$output"', "breaks off or is damaged"),
        ("exit 0", "it is empty"),
        ('echo \'{"jobs": [{"read": {"total_ios": 1}}]}\' > "$output"', "lacks '"),
    ],
)  # fmt: skip
def test_a_fio_that_dies_or_prints_garbage(seekwise, on_disk, study, tmp_path, script, words):
    study.write_text(STUDY if os.geteuid() == 0 else STUDY.replace('scheduler = ["none", "mq-deadline"]', ""))
    seekwise.path = fake_fio(tmp_path, script)
    leaves = ran(sys.executable, "-c", f"from seekwise.linux.stack import read_stack as r; from seekwise.linux.resolve import resolve_path as p; print(*[d.name for d in p(r(), {str(on_disk)!r}).leaves])").split()  # fmt: skip
    before = {name: settings_of(name) for name in leaves}
    assert words in seekwise.refused("run", str(study), status=FAILED)
    assert {name: settings_of(name) for name in leaves} == before
    assert nothing_left(on_disk)


@pytest.mark.slow
@needs_fio
def test_garbage_before_the_json_is_only_skipped(seekwise, on_disk, study, tmp_path):
    study.write_text(STUDY.replace('scheduler = ["none", "mq-deadline"]', ""))
    real = shutil.which("fio")
    seekwise.path = fake_fio(tmp_path, f'{real} "$@" || exit; {{ echo "note: {{ strange }}"; cat "$output"; }} > "$output.2"; mv "$output.2" "$output"')  # fmt: skip
    seekwise("run", str(study))


@pytest.mark.parametrize(("says", "words"), [("fio-2.21", "fio 3.0 or newer is needed"), ("hello", "does not say which fio"), ("", "prints 'nothing'")])  # fmt: skip
def test_a_fio_of_the_wrong_version(seekwise, on_disk, tmp_path, says, words):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/fio").write_text(f"#!/bin/sh\necho {says}\n")
    (tmp_path / "bin/fio").chmod(0o755)
    seekwise.path = f"{tmp_path}/bin:{os.environ['PATH']}"
    assert words in seekwise.refused("tune", ".", "--for", "limits", status=MISSING)


@needs_root
@needs_fio
def test_an_unknown_scheduler(seekwise, on_disk, study):
    study.write_text(STUDY.replace('"mq-deadline"', '"elevator-of-love"'))
    message = seekwise.refused("run", str(study), status=USAGE)
    assert 'does not offer scheduler "elevator-of-love"' in message
    assert nothing_left(on_disk)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("threads = 2", "treads = 2", "unknown key `workload[0].treads`"),
        ("threads = 2", "threads = 0", "must be at least 1"),
        ("name =", "name", "not TOML"),
    ],
)
def test_a_malformed_study_names_file_key_and_value(seekwise, study, old, new, words):
    study.write_text(STUDY.replace(old, new, 1))
    for more in ((), ("--dry-run",)):
        message = seekwise.refused("run", str(study), *more, status=USAGE)
        assert words in message
        assert str(study) in message


def test_a_study_that_is_not_there(seekwise):
    assert "no study at none.toml" in seekwise.refused("run", "none.toml", status=USAGE)
    assert "which study?" in seekwise.refused("run", status=USAGE)
    assert "is a folder, not a study" in seekwise.refused("run", ".", status=USAGE)


@pytest.mark.parametrize("command", [("results",), ("results", "last"), ("export", "last"), ("run", "demo")])
def test_a_newer_and_an_unreadable_database(seekwise, tmp_path, command):
    path = tmp_path / "records.db"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE run (x); PRAGMA application_id = 0x5345454B; PRAGMA user_version = 99;")
    connection.close()
    before = path.read_bytes()
    assert "written by a newer seekwise" in seekwise.refused(*command, "--db", str(path), status=FAILED)
    assert path.read_bytes() == before
    path.write_bytes(b"garbage" * 1000)
    assert "unreadable" in seekwise.refused(*command, "--db", str(path), status=FAILED)
    assert path.read_bytes() == b"garbage" * 1000
    assert nothing_left(seekwise.folder)


def test_no_records_yet(seekwise):
    assert "no records at" in seekwise.refused("results", status=USAGE)
    (empty := seekwise.folder / "empty").touch()
    assert "no records at" in seekwise.refused("results", "--db", str(empty), status=USAGE)
    assert not empty.stat().st_size


@needs_root
@needs_fio
def test_two_runs_on_one_device_at_once(seekwise, mounted, study):
    _, folder = mounted
    study.write_text(STUDY.replace("200ms", "2s"))
    with seekwise.start("run", str(study), "--target", str(folder)) as first:
        try:
            wait_for(lambda: list(folder.glob("seekwise-scratch-*")))
            assert "in use by another seekwise run" in seekwise.refused(
                "run", str(study), "--target", str(folder), status=REFUSED
            )
        finally:
            first.terminate()
            first.communicate(timeout=60)
    assert nothing_left(folder)


def wait_for(what, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@needs_fio
def test_records_where_none_can_be_written(seekwise, on_disk, study):
    study.write_text(STUDY.replace('scheduler = ["none", "mq-deadline"]', ""))
    message = seekwise.refused("run", str(study), "--db", "/proc/records.db", status=FAILED)
    assert "/proc/records.db" in message
    assert nothing_left(on_disk)


@pytest.mark.parametrize("words", [(), ("trace",)])
def test_a_group_without_a_command_prints_its_help_as_it_is_laid_out(seekwise, words):
    done = seekwise(*words, status=USAGE)
    lines = (done.stdout + done.stderr).splitlines()
    assert lines[0].startswith("Usage: ") and "Commands:" in lines and not any("error:" in line for line in lines)
