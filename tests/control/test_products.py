"""What a user asks for as a file is written as that file, also where others have planted links in its folder."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seekwise import files
from seekwise.errors import FULL, MissingError, RefusedError, SeekwiseError, UsageError, reason
from seekwise.files import _as_user, _open, append, claim, fresh, make_folders, new_product, write_product, write_whole
from seekwise.settings import history
from seekwise.store.database import Store

from .nobody import AS_NOBODY, NOBODY

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a root run beside user nobody")


def every_way(folder: Path):
    """Calls that create something in a folder, each in its own way."""
    return (
        lambda: write_product(folder / "a", "x"), lambda: fresh(folder / "b").close(), lambda: make_folders(folder / "c" / "d"),
        lambda: append(folder / "e", b"x"), lambda: write_whole(folder / "f", b"x"), lambda: claim(folder / "g"),
    )  # fmt: skip


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


@needs_root
@pytest.mark.parametrize("write", ["product", "fresh"])
def test_root_writes_no_report_through_a_link_that_somebody_plants(memory, write):
    target, victim = memory / "his", memory / "precious"
    target.mkdir()
    os.chown(target, NOBODY, NOBODY)
    victim.write_text("years of work")
    attacker = subprocess.Popen([*AS_NOBODY, PLANTER, str(target), str(victim)], stdout=subprocess.PIPE, cwd="/")
    try:
        assert attacker.stdout.readline() == b"ready\n"
        done = tries = 0
        end = time.monotonic() + 120
        while (tries < 200 or done <= 10) and time.monotonic() < end:
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
    with pytest.raises(UsageError, match="pipe that no program reads"):
        write_product(tmp_path / "pipe", "nobody reads it, and nobody waits")
    assert stat.S_ISFIFO(os.lstat(tmp_path / "pipe").st_mode)
    with pytest.raises(UsageError, match="no ordinary file"):
        fresh(tmp_path / "pipe")


@needs_root
def test_a_page_is_never_written_over_a_drive(tmp_path, loop):
    before = Path(f"/dev/{loop}").read_bytes()
    os.mknod(tmp_path / "copy", 0o600 | stat.S_IFBLK, os.stat(f"/dev/{loop}").st_rdev)
    for path in (Path(f"/dev/{loop}"), tmp_path / "copy"):
        for write in (lambda each: write_product(each, "page"), fresh):
            with pytest.raises(UsageError):
                write(path)
    assert Path(f"/dev/{loop}").read_bytes() == before


@needs_root
def test_root_is_led_nowhere_by_a_link_on_the_way_that_another_user_made(tmp_path, monkeypatch):
    roots, theirs = tmp_path / "roots", tmp_path / "theirs"
    roots.mkdir()
    theirs.symlink_to("roots")
    write_product(theirs / "own", "a link of root's own is followed")
    os.lchown(theirs, NOBODY, NOBODY)
    for caller in ("", str(NOBODY)):
        monkeypatch.setenv("SUDO_UID", caller)
        for write in every_way(theirs):
            with pytest.raises(PermissionError, match="for user 65534"):
                write()
    assert [path.name for path in roots.iterdir()] == ["own"]


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


@needs_root
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


@pytest.fixture
def theirs(tmp_path) -> Path:
    """A folder of user nobody, below folders that only root can enter."""
    tmp_path.chmod(0o700)
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    return folder


def children() -> set[str]:
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


@needs_root
def test_what_root_writes_for_a_user_is_that_users_and_no_child_is_left(theirs):
    before = children()
    for write in every_way(theirs):
        write()
    descriptor = _open(theirs / "h", "h", os.O_RDWR | os.O_CREAT, 0o600)
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
    found = sorted(theirs.rglob("*"))
    assert [path.name for path in found] == ["a", "b", "c", "d", "e", "f", "g", "h"]
    assert {(path.stat().st_uid, path.stat().st_gid) for path in found} == {(NOBODY, NOBODY)}
    (theirs / "a").chmod(0)
    write_product(theirs / "a", "replaced")
    os.chown(theirs, 4242, 4242)  # in no list of users
    write_product(theirs / "a", "by its new owner")
    assert ((theirs / "a").stat().st_uid, (theirs / "a").stat().st_gid) == (4242, 65534)
    with pytest.raises(IsADirectoryError):
        write_product(theirs / "c", "x")
    assert children() == before


@needs_root
def test_a_link_in_a_users_folder_leads_root_where_that_user_may_write(memory, request):
    """Not to root's files, not with root's group, and not to a third user's folder."""
    theirs, precious, group, other = (memory / name for name in ("theirs", "precious", "group", "other"))
    theirs.mkdir()
    groups = os.getgroups()
    request.addfinalizer(lambda: os.setgroups(groups))
    os.setgroups([0])  # as after a login
    os.chown(theirs, NOBODY, NOBODY)
    precious.write_text("years of work")
    for folder, user, mode in ((group, 0, 0o775), (other, 4242, 0o755)):
        folder.mkdir()
        folder.chmod(mode)
        os.chown(folder, user, 0)
        (theirs / folder.name).symlink_to(folder)
        for write in every_way(theirs / folder.name):
            with pytest.raises(PermissionError):
                write()
        assert not list(folder.iterdir())
    for name in "abefg":
        (theirs / name).symlink_to(precious)
    (theirs / "c").mkdir()
    os.chown(theirs / "c", 4242, 4242)
    refused = 0
    for write in every_way(theirs):
        try:
            write()
        except OSError:
            refused += 1
    assert refused == 2  # the folder in a third user's, and adding to what a link names
    assert precious.read_text() == "years of work" and not list((theirs / "c").iterdir())
    (theirs / "shared").symlink_to(group)
    os.chown(group, 0, NOBODY)
    write_product(theirs / "shared" / "x", "nobody's group may write there")
    assert (group / "x").stat().st_uid == NOBODY


@needs_root
def test_a_folder_that_becomes_a_link_after_it_was_looked_at_opens_no_closed_folder(memory, monkeypatch):
    """Below the closed one every user may write, but none can come there."""
    public, link = memory / "closed" / "public", memory / "link"
    public.mkdir(parents=True)
    public.chmod(0o777)
    public.parent.chmod(0o700)
    link.symlink_to(public.parent)
    os.lchown(link, NOBODY, NOBODY)
    with pytest.raises(PermissionError):
        write_product(link / "public" / "x", "")
    monkeypatch.setattr(Path, "is_symlink", lambda path: False)
    with pytest.raises(NotADirectoryError):
        write_product(link / "public" / "x", "")
    assert not list(public.iterdir())


@needs_root
def test_records_of_who_called_sudo_are_theirs_and_follow_no_third_user(theirs, monkeypatch):
    with pytest.raises(RefusedError, match="other users can change"):
        Store.open(theirs / "x.db")
    assert not list(theirs.iterdir())
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    with Store.open(theirs / "new" / "x.db"):
        assert {path.stat().st_uid for path in theirs.rglob("*")} == {NOBODY}
    os.chown(theirs / "new", 4242, 4242)
    with pytest.raises(RefusedError, match="other users can change"):
        Store.open(theirs / "new" / "x.db")


SWAPPER = """
import os, sys, time
folder, victim = sys.argv[1:]
os.chdir(folder)
os.symlink(victim, "trap")
swaps = 0
counted = os.open("swaps", os.O_WRONLY | os.O_CREAT, 0o644)
print("ready", flush=True)
while True:
    os.rename("out", "away")
    os.rename("trap", "out")
    # Now and then each of both stands long enough for a slow machine to meet it.
    if swaps % 20 == 0: time.sleep(0.3)
    os.rename("out", "trap")
    os.rename("away", "out")
    if swaps % 20 == 0: time.sleep(0.3)
    swaps += 1
    os.pwrite(counted, b"%d" % swaps, 0)
"""


@needs_root
@pytest.mark.parametrize("owner", ["theirs", "roots in a folder of everybody"])
def test_a_folder_that_is_swapped_for_a_link_between_check_and_opening_leads_root_nowhere(memory, owner):
    victim, theirs, out = memory / "victim", memory / "theirs", memory / "theirs" / "out"
    victim.mkdir()
    (victim / "precious").write_text("years of work")
    out.mkdir(parents=True)
    if owner == "theirs":
        os.chown(theirs, NOBODY, NOBODY)
        os.chown(out, NOBODY, NOBODY)
    else:
        theirs.chmod(0o777)
    attacker = subprocess.Popen([*AS_NOBODY, SWAPPER, str(theirs), str(victim)], stdout=subprocess.PIPE, cwd="/")
    try:
        assert attacker.stdout.readline() == b"ready\n"
        done = refused = 0
        end = time.monotonic() + 120

        def swaps() -> int:
            return int((theirs / "swaps").read_text() or 0)

        attempts = (lambda: write_product(out / "report.html", "page"), lambda: fresh(out / "trace").close())
        while (done < 10 or refused < 10 or swaps() <= 100) and time.monotonic() < end:
            for attempt in attempts:
                try:
                    attempt()
                    done += 1
                except OSError:
                    refused += 1
        assert sorted(os.listdir(victim)) == ["precious"] and (victim / "precious").read_text() == "years of work"
        assert done >= 10 and refused >= 10 and swaps() > 100
    finally:
        attacker.kill()
        attacker.wait()
        attacker.stdout.close()


@needs_root
def test_what_nobody_planted_in_a_shared_folder_is_replaced_and_opened_for_no_records(tmp_path):
    shared, precious = tmp_path / "shared", tmp_path / "precious"
    shared.mkdir()
    shared.chmod(0o1777)
    precious.write_text("years of work")
    (shared / "a").symlink_to(precious)
    (shared / "b").write_text("theirs")
    (shared / "x.db").touch()
    (shared / "c").mkdir()
    for path in shared.iterdir():
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    for write in every_way(shared):
        write()
    assert precious.read_text() == "years of work"
    assert {path.name: path.lstat().st_uid for path in shared.rglob("*")} == {
        **dict.fromkeys("abefg", 0), **dict.fromkeys(("c", "d", "x.db"), NOBODY),
    }  # fmt: skip
    with pytest.raises(RefusedError, match="other users can change"):
        Store.open(shared / "x.db")
    os.link(precious, shared / "y.db")
    with pytest.raises(RefusedError, match="other users can change"):
        Store.open(shared / "y.db")
    assert precious.read_text() == "years of work" and not (shared / "x.db").read_bytes()


@needs_root
def test_a_folder_that_the_user_may_not_enter_is_one_clear_error(theirs, tmp_path):
    closed = theirs / "closed"
    closed.mkdir(0o700)
    os.chown(closed, 4242, 4242)
    done = subprocess.run(
        [sys.executable, "-m", "seekwise.cli.main", "capture", str(closed / "x.tar.gz")], capture_output=True, text=True, check=False,
        env={**os.environ, "SUDO_UID": str(NOBODY), "SEEKWISE_STATE": str(tmp_path / "state")}, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1 and not list(closed.iterdir())
    assert done.stderr.count("error: ") == 1 and done.stderr.count("hint: ") == 1
    assert "Permission denied for user 65534" in done.stderr and "x.tar.gz" in done.stderr


@needs_root
def test_a_full_disk_is_said_as_ever(theirs):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=4,uid=65534", "tmpfs", theirs], check=True)
    try:
        with pytest.raises(OSError) as caught:
            write_product(theirs / "large", bytes(1 << 20))
        assert reason(caught.value) == FULL and not list(theirs.iterdir())
        for name in "ijk":
            (theirs / name).touch()
        for write in every_way(theirs):
            with pytest.raises(OSError) as caught:
                write()
            assert reason(caught.value) == FULL and str(theirs) in str(caught.value)
    finally:
        subprocess.run(["umount", "-l", theirs], check=True)


@needs_root
def test_the_child_has_only_the_users_rights_and_that_user_cannot_end_it():
    def rights() -> None:
        status = Path("/proc/self/status").read_text()
        assert "CapEff:\t0000000000000000" in status and os.getgroups() in ([], [NOBODY])
        child = os.getpid()
        if (attacker := os.fork()) == 0:
            os.setresuid(NOBODY, NOBODY, NOBODY)
            try:
                os.kill(child, 9)
            except PermissionError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(attacker, 0)[1] == 0

    assert _as_user(NOBODY, rights) is None
    with pytest.raises(OSError, match="Input/output error"):
        _as_user(NOBODY, lambda: os.kill(os.getpid(), 9))


ACL_OF_NOBODY = b"".join(
    struct.pack("<HHI", tag, rights, user)
    for tag, rights, user in (
        (1, 7, 2**32 - 1),
        (2, 7, NOBODY),
        (4, 5, 2**32 - 1),
        (16, 7, 2**32 - 1),
        (32, 5, 2**32 - 1),
    )
)
"""`user::rwx, user:nobody:rwx, group::r-x, mask::rwx, other::r-x` (Linux v6.12 include/uapi/linux/posix_acl_xattr.h)."""


@needs_root
@pytest.mark.parametrize(
    "write", [lambda path: files.write_product(path, "ours"), lambda path: files.append(path, b"ours")]
)
def test_root_follows_no_link_in_a_folder_that_an_access_control_list_opens(tmp_path, monkeypatch, write):
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir(mode=0o755)
    victim.mkdir(mode=0o700)
    try:
        os.setxattr(shared, "system.posix_acl_access", struct.pack("<I", 2) + ACL_OF_NOBODY)
    except OSError as error:
        pytest.skip(f"no access control lists here: {error}")
    assert shared.stat().st_gid == 0 and shared.stat().st_mode & 0o777 == 0o775
    assert files.others_may_change(shared)
    (shared / "place").symlink_to(victim)
    with pytest.raises(OSError):
        write(shared / "place" / "report.html")
    assert list(victim.iterdir()) == []
    with pytest.raises(RefusedError, match="other users can rename"):
        files.check_private(_made(shared / "state"))
    os.removexattr(shared, "system.posix_acl_access")
    shared.chmod(0o755)
    write(shared / "place" / "report.html")
    assert [path.name for path in victim.iterdir()] == ["report.html"]


def _made(folder):
    files.make_private(folder)
    return folder


@pytest.mark.timeout(60)
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path):
    """`revert` hung for good where the history was a pipe without a reader."""
    os.mkfifo(tmp_path / "history.jsonl")
    with pytest.raises(OSError, match="No such device or address"):
        files.append(tmp_path / "history.jsonl", b"{}\n")
    with pytest.raises(UsageError):
        files.write_product(tmp_path / "history.jsonl", b"x")
    with pytest.raises(MissingError, match=r"history\.jsonl cannot be written"):
        history.reverted(tmp_path)
    assert history.applications(tmp_path) == []
    files.write_whole(tmp_path / "history.jsonl", b"")
    assert (tmp_path / "history.jsonl").is_file()
