"""A user races against a root run in a folder of his own: swaps folders, plants links. Nothing of root's is written or removed."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from seekwise.control import recovery
from seekwise.control.journal import Journal
from seekwise.control.scratch import MANIFEST, PREFIX, remove, scratch
from seekwise.errors import SeekwiseError

from .nobody import AS_NOBODY, NOBODY

tries = pytest.mark.parametrize("tries", [100, pytest.param(1000, marks=pytest.mark.slow)])

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: attacks a root run as user nobody")

# Whenever a scratch folder appears, renames it away and puts a folder of his own in its place, with links to what he wants root to
# fill or remove; and puts a link to root's folder in its place; and back again, as fast as it goes.
ATTACKER = """
import os, sys
target, victim = sys.argv[1:]
os.chdir(target)
os.makedirs("bait", exist_ok=True)
for number in range(4):
    try: os.symlink(victim + "/precious", f"bait/t.{number}")
    except FileExistsError: pass
try: os.symlink(victim + "/precious", "bait/seekwise-scratch.json")
except FileExistsError: pass
try: os.symlink(victim, "trap")
except FileExistsError: pass
swaps = 0
counted = os.open("swaps", os.O_WRONLY | os.O_CREAT, 0o644)
print("ready", flush=True)
while True:
    for name in os.listdir("."):
        if not name.startswith("seekwise-scratch-"):
            continue
        try:
            os.rename(name, "taken")
            os.rename("bait", name)
            os.rename(name, "bait")
            os.rename("trap", name)
            os.rename(name, "trap")
            os.rename("taken", name)
            swaps += 1
            os.pwrite(counted, b"%d" % swaps, 0)
        except OSError:
            for source, to in (("taken", name), (name, "bait")):
                try:
                    if source == "taken" or (os.path.isdir(source) and os.stat(source).st_uid == os.getuid()): os.rename(source, to)
                except OSError: pass
"""


@pytest.fixture
def journal(memory) -> Journal:
    return Journal(memory / "state")


@pytest.fixture
def place(memory):
    """The user's folder, root's folder with what must not be touched, and the racing user."""
    target, victim = memory / "his", memory / "roots"
    target.mkdir()
    os.chown(target, NOBODY, NOBODY)
    victim.mkdir(mode=0o755)
    (victim / "precious").write_text("years of work")
    (victim / "precious").chmod(0o600)
    (victim / "deep").mkdir()
    (victim / "deep/more").write_text("more")
    attacker = subprocess.Popen([*AS_NOBODY, ATTACKER, str(target), str(victim)], stdout=subprocess.PIPE, cwd="/")
    assert attacker.stdout.readline() == b"ready\n"
    yield target, victim
    attacker.kill()
    attacker.wait()
    attacker.stdout.close()


def untouched(victim: Path) -> None:
    assert sorted(os.listdir(victim)) == ["deep", "precious"]
    assert (victim / "precious").read_text() == "years of work"
    assert (victim / "deep/more").read_text() == "more"
    assert (victim / "precious").stat().st_mode & 0o777 == 0o600


def swaps(target: Path) -> int:
    """How often the attacker had a folder of ours away, his bait and a link to root's in its place."""
    return int((target / "swaps").read_text() or 0)


@tries
def test_the_owner_of_the_target_cannot_make_root_write_elsewhere(place, journal, tries):
    target, victim = place
    done = 0
    for _ in range(tries):
        try:
            with scratch(target, 1000, journal) as folder:
                for number in range(4):
                    # As fio does: by name, through links, creating what is not there.
                    with open(folder / f"t.{number}", "wb") as file:
                        file.write(b"test data")
                done += 1
        except SeekwiseError as error:
            assert error.message  # noticed before anything was written
        except FileNotFoundError:
            pytest.fail("a descriptor that is held leads nowhere")
    untouched(victim)
    assert done > tries / 10, "the race must be met with folders that were used"
    assert swaps(target) > tries / 10, "the attacker must have been there"


def test_a_program_that_opens_by_path_cannot_be_led_away(place, journal):
    target, victim = place
    for _ in range(20):
        try:
            with scratch(target, 1000, journal) as folder:
                words = "for i in 0 1 2 3; do for n in $(seq 50); do echo data > $0/t.$i; done; done"
                subprocess.run(["sh", "-c", words, str(folder)], check=True, timeout=30)
        except SeekwiseError:
            continue
    untouched(victim)


@tries
def test_the_owner_of_the_target_cannot_make_root_remove_elsewhere(place, journal, tries):
    target, victim = place
    for number in range(tries):
        entry = None
        try:
            # A run that was killed: folder, manifest and journal are there, and nobody holds them.
            entry = left_by_a_killed_run(target, journal, number)
            recovery.restore_left_behind(journal)
        except (SeekwiseError, OSError):
            pass
        if entry is not None and journal.is_open(entry):
            journal.close(entry)
    untouched(victim)
    assert swaps(target) > tries / 10, "the attacker must have been there"


def left_by_a_killed_run(target: Path, journal: Journal, number: int):
    import json

    folder = target / f"{PREFIX}{number:012x}"
    folder.mkdir(mode=0o700)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != 0:
            return None
        for name in ("t.0", "t.1", MANIFEST):
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=descriptor)
            os.write(file, json.dumps({"schema": "seekwise.scratch/2", "secret": "s"}).encode())
            os.close(file)
        item = {"path": str(folder), "mount_point": "/", "st_dev": status.st_dev, "secret": "s"}
        entry = journal.open("scratch", [{**item, "st_ino": status.st_ino, "st_uid": 0}])
    finally:
        os.close(descriptor)
    # Its process is dead: nobody holds the lock any more.
    from seekwise.control import journal as journals

    _, held = journals._held.pop(journal._path(entry.id))
    os.close(held)
    return entry


def test_a_journal_that_names_roots_folder_removes_nothing_of_it(place, journal):
    target, victim = place
    (target / f"{PREFIX}ffffffffffff").symlink_to(victim)
    stayed = 0
    for _ in range(200):
        try:
            remove({"path": str(target / f"{PREFIX}ffffffffffff"), "secret": "s"})
        except SeekwiseError as error:
            assert "stays" in error.message
            stayed += 1
        # Else the attacker had the link away at that moment, and there was nothing to remove.
    assert stayed
    untouched(victim)


def test_a_process_whose_name_is_no_text_disturbs_nothing(tmp_path, journal):
    code = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'\\xff\\xfe) R', 0, 0, 0); print('ready', flush=True); time.sleep(60)"
    odd = subprocess.Popen([*AS_NOBODY, code], stdout=subprocess.PIPE, cwd="/")
    try:
        assert odd.stdout.readline() == b"ready\n"
        from seekwise.control import child
        from seekwise.measure.kernel import cpu, programs

        assert child.kill_marked("no such mark") == 0
        assert odd.pid in cpu.read_processes()
        programs.read()
    finally:
        odd.send_signal(signal.SIGKILL)
        odd.wait()
        odd.stdout.close()
