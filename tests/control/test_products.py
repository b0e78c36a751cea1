"""What a user asks for as a file is written as that file, also where others have planted links in its folder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seekwise.errors import RefusedError, SeekwiseError
from seekwise.files import append, claim, fresh, make_folders, new_product, write_product, write_whole
from seekwise.store.database import Store

from .nobody import AS_NOBODY, NOBODY

PLANTER = """
import os, sys, time
target, victim = sys.argv[1:]
os.chdir(target)
print("ready", flush=True)
rounds = 0
while True:
    # Bursts with pauses: on a processor of his own he would come first each time, and nothing would ever be written.
    rounds += 1
    if rounds % 50 == 0: time.sleep(0.001)
    # The name itself, the drafts that older versions used, and whatever draft appears: a link to root's file in its place.
    for name in ["report.html", *os.listdir(".")]:
        if name.startswith("."):
            try: os.unlink(name)
            except OSError: continue
        try: os.symlink(victim, name)
        except OSError: pass
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: attacks a root run as user nobody")
@pytest.mark.parametrize("write", ["product", "fresh"])
def test_root_writes_no_report_through_a_link_that_somebody_plants(tmp_path, write):
    for parent in (tmp_path, *tmp_path.parents):
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    target, victim = tmp_path / "his", tmp_path / "precious"
    target.mkdir()
    os.chown(target, NOBODY, NOBODY)
    victim.write_text("years of work")
    attacker = subprocess.Popen([*AS_NOBODY, PLANTER, str(target), str(victim)], stdout=subprocess.PIPE, cwd="/")
    try:
        assert attacker.stdout.readline() == b"ready\n"
        done = tries = 0
        end = time.monotonic() + 30
        while (tries < 1000 or done <= 10) and time.monotonic() < end:
            tries += 1
            try:
                if write == "product":
                    write_product(target / "report.html", "page")
                else:
                    fresh(target / "report.html").close()
                done += 1
            except OSError:
                pass  # he was first: an error, nothing written
        assert victim.read_text() == "years of work"
        assert done > 10
    finally:
        attacker.kill()
        attacker.wait()
        attacker.stdout.close()


def test_a_product_is_whole_or_not_there_and_follows_the_umask(tmp_path):
    path = tmp_path / "x.html"
    with pytest.raises(RuntimeError), new_product(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    old = os.umask(0o027)
    try:
        write_product(path, "whole")
    finally:
        os.umask(old)
    assert path.read_text() == "whole" and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_devices_and_pipes_are_written_to_and_never_replaced(tmp_path):
    before = os.lstat("/dev/null")
    write_product(Path("/dev/null"), "page")
    assert os.lstat("/dev/null").st_ino == before.st_ino
    code = (
        "from pathlib import Path; from seekwise.files import write_product; write_product(Path('/dev/stdout'), 'page')"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"page"
    with (tmp_path / "redirected").open("w") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "redirected").read_text() == "page" and Path("/dev/stdout").is_symlink()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        write_product(tmp_path / "pipe", "nobody reads it, and nobody waits")
    assert stat.S_ISFIFO(os.lstat(tmp_path / "pipe").st_mode)
    with pytest.raises(OSError):
        fresh(tmp_path / "pipe")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: gives links to user nobody")
def test_root_is_led_nowhere_by_a_link_on_the_way_that_another_user_made(tmp_path, monkeypatch):
    roots, theirs = tmp_path / "roots", tmp_path / "theirs"
    roots.mkdir()
    theirs.symlink_to("roots")
    monkeypatch.delenv("SUDO_UID", raising=False)
    write_product(theirs / "own", "a link of root's own is followed")
    os.lchown(theirs, NOBODY, NOBODY)
    for write in (
        lambda: write_product(theirs / "a", "x"), lambda: fresh(theirs / "b"), lambda: make_folders(theirs / "c" / "d"),
        lambda: append(theirs / "e", b"x"), lambda: write_whole(theirs / "f", b"x"), lambda: claim(theirs / "g"),
    ):  # fmt: skip
        with pytest.raises(OSError, match="a link of user 65534"):
            write()
    assert [path.name for path in roots.iterdir()] == ["own"]
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    write_product(theirs / "a", "who called sudo may lead root")
    assert (roots / "a").exists()


def test_links_and_folders_on_the_way_are_followed_and_made(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "up").symlink_to("../real/./")
    make_folders(tmp_path / "link" / "up" / "new" / ".." / "newer")
    assert (tmp_path / "real" / "newer").is_dir()
    make_folders(tmp_path / "real" / "newer")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"):
        write_product(tmp_path / "round" / "x", "")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        write_product(tmp_path / "file" / "x", "")
    descriptor = os.open(tmp_path / "real", os.O_RDONLY | os.O_DIRECTORY)
    (tmp_path / "real").rename(tmp_path / "moved")
    write_product(Path(f"/proc/{os.getpid()}/fd/{descriptor}/product"), "by descriptor")
    os.close(descriptor)
    assert (tmp_path / "moved" / "product").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: gives folders and links to user nobody")
def test_root_makes_no_database_where_another_user_chose(tmp_path, monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    theirs, victim = tmp_path / "theirs", tmp_path / "victim"
    theirs.mkdir()
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    for folder in (theirs, shared):
        for suffix in ("", "-wal", "-shm", "-journal"):
            (folder / f"x.db{suffix}").symlink_to(victim)
            os.lchown(folder / f"x.db{suffix}", NOBODY, NOBODY)
            os.chown(theirs, NOBODY, NOBODY)
            with pytest.raises(SeekwiseError):
                Store.open(folder / "x.db")
            assert not victim.exists()
            for name in folder.iterdir():
                name.unlink()
    Store.open(shared / "y.db").close()
    (shared / "y.db").rename(theirs / "y.db")
    os.chown(theirs / "y.db", NOBODY, NOBODY)
    before = sorted(theirs.iterdir())
    with Store.open(theirs / "y.db", create=False) as store:
        assert store.runs() == []
    assert sorted(theirs.iterdir()) == before
    with pytest.raises(RefusedError, match="other users can change the folder"):
        Store.open(theirs / "y.db")
