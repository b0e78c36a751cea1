"""These tests will make scratch folders on small filesystems of their own, kill their makers, and look for what is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from seekwise.control import recovery
from seekwise.control.scratch import MANIFEST, PREFIX, check_target, remove, room_bytes, scratch
from seekwise.errors import RefusedError, SeekwiseError, UsageError

from .conftest import needs_root


def made_and_killed(target: Path, journal) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with scratch(target, 1000, journal) as folder:
            (folder / "deep").mkdir()
            (folder / "deep/file").write_bytes(b"x" * 1000)
            os.write(writer, b"x")
            signal.pause()
        os._exit(1)
    os.read(reader, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)


@pytest.fixture
def target(tmp_path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    (folder / "precious").write_text("mine")
    return folder


def test_the_folder_is_recognisable_and_goes_with_everything_in_it(target, journal):
    with scratch(target, 1000, journal) as folder:
        assert folder.shown.parent == target and folder.shown.name.startswith(PREFIX)
        assert json.loads((folder / MANIFEST).read_text())["pid"] == os.getpid()
        (folder / "a").write_text("x")
    assert os.listdir(target) == ["precious"]
    assert journal.is_empty()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_it_goes_after_an_exception_too(target, journal, error):
    with pytest.raises(error), scratch(target, 1000, journal):
        raise error
    assert os.listdir(target) == ["precious"]


def test_it_goes_after_sigterm(target, journal):
    with pytest.raises(KeyboardInterrupt), scratch(target, 1000, journal):
        os.kill(os.getpid(), signal.SIGTERM)
    assert os.listdir(target) == ["precious"]


def test_after_sigkill_it_is_removed_by_recovery(target, journal):
    made_and_killed(target, journal)
    assert len(os.listdir(target)) == 2
    (outcome,) = recovery.restore_left_behind(journal)
    assert "is removed" in outcome.sentences[0]
    assert os.listdir(target) == ["precious"]


def test_without_its_journal_it_is_removed_by_the_next_run_in_the_same_folder(target, journal):
    made_and_killed(target, journal)
    for path in journal.folder.iterdir():
        path.unlink()
    with scratch(target, 1000, journal):
        assert len(os.listdir(target)) == 2
    assert os.listdir(target) == ["precious"]


def test_the_folder_of_a_living_run_stays(target, journal):
    with scratch(target, 1000, journal) as folder:
        recovery.revert_all(journal)
        assert folder.exists()


def test_nothing_else_is_ever_removed(target, journal):
    foreign = target / f"{PREFIX}000000"
    foreign.mkdir(mode=0o700)
    (foreign / "thesis.tex").write_text("years")
    link = target / f"{PREFIX}111111"
    link.symlink_to("/etc")
    for folder in (foreign, link, target):
        with pytest.raises(SeekwiseError, match="stays"):
            remove({"path": str(folder), "secret": "x"})
    assert "gone" in remove({"path": str(foreign), "secret": "x", "st_ino": 1})
    assert (foreign / "thesis.tex").exists()


def test_a_folder_with_another_runs_secret_stays(target, journal):
    with scratch(target, 1000, journal) as folder:
        (item,) = journal.entries()[0].items
        with pytest.raises(SeekwiseError, match="another one than the journal's"):
            remove({**item, "secret": "guessed"})
        assert (folder / MANIFEST).exists()


def test_renamed_by_its_neighbours_it_is_still_written_and_removed(target, journal):
    with scratch(target, 1000, journal) as folder:
        folder.shown.rename(target / "elsewhere")
        folder.shown.symlink_to("/etc")
        (folder / "t.0").write_text("x")
        assert (target / "elsewhere/t.0").exists()
    assert sorted(os.listdir(target)) == ["precious", folder.shown.name]
    assert journal.is_empty()


def test_killed_and_renamed_it_is_found_by_its_inode(target, journal):
    made_and_killed(target, journal)
    (left,) = target.glob(f"{PREFIX}*")
    left.rename(target / "elsewhere")
    recovery.restore_left_behind(journal)
    assert os.listdir(target) == ["precious"]


def test_a_link_inside_is_removed_and_not_followed(target, journal):
    with scratch(target, 1000, journal) as folder:
        (folder / "link").symlink_to(target)
    assert os.listdir(target) == ["precious"]


def test_more_than_fits_is_refused_before_anything_is_made(target, journal):
    with pytest.raises(RefusedError, match="has room for") as raised, scratch(target, 1 << 60, journal):
        pytest.fail("must not be entered")
    assert raised.value.exit_status == 3
    assert os.listdir(target) == ["precious"]
    assert journal.is_empty()


def test_a_folder_that_does_not_exist_or_is_none_is_wrong_usage(target):
    for path in (target / "nothing", target / "precious"):
        with pytest.raises(UsageError, match=path.name):
            check_target(path, 0)


@needs_root
class TestRealFilesystems:
    @pytest.fixture
    def filesystem(self, loop, tmp_path):
        place = tmp_path / "mounted"
        place.mkdir()
        subprocess.run(["mkfs.ext4", "-q", f"/dev/{loop}"], check=True)
        subprocess.run(["mount", f"/dev/{loop}", str(place)], check=True)
        yield place
        subprocess.run(["umount", str(place)], check=False)

    def test_a_reserve_stays_free(self, filesystem):
        found = os.statvfs(filesystem)
        assert room_bytes(filesystem) < found.f_bavail * found.f_frsize

    def test_a_full_disk_is_refused(self, filesystem, journal):
        with pytest.raises(OSError), open(filesystem / "fill", "wb", buffering=0) as file:
            while True:
                file.write(b"x" * (1 << 20))
        before = os.listdir(filesystem)
        with pytest.raises(RefusedError, match="room for 0 KiB"), scratch(filesystem, 4096, journal):
            pytest.fail("must not be entered")
        assert os.listdir(filesystem) == before

    def test_a_read_only_mount_is_refused(self, filesystem, journal):
        subprocess.run(["mount", "-o", "remount,ro", str(filesystem)], check=True)
        with pytest.raises(RefusedError, match="read-only mount"), scratch(filesystem, 4096, journal):
            pytest.fail("must not be entered")

    def test_left_on_an_unmounted_filesystem_it_waits_until_that_is_back(self, filesystem, journal, loop):
        made_and_killed(filesystem, journal)
        subprocess.run(["umount", str(filesystem)], check=True)
        (outcome,) = recovery.restore_left_behind(journal)
        assert outcome.state == "failed" and "mounted again" in outcome.sentences[0]
        subprocess.run(["mount", f"/dev/{loop}", str(filesystem)], check=True)
        recovery.restore_left_behind(journal)
        assert os.listdir(filesystem) == ["lost+found"]
        assert journal.is_empty()
