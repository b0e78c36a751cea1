"""Private servers attacked: by users who are there beside them, and by the server itself, against root."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seekwise.workload import data, mariadb, postgres, server, team
from seekwise.workload.program import DataBudget

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
POSTGRESQL = pytest.mark.skipif(postgres.binaries() is None, reason="PostgreSQL with pgbench is not installed")
MARIADB = pytest.mark.skipif(mariadb.binaries() is None, reason="MariaDB's server and client are not installed")
SERVERS = [pytest.param("postgresql", marks=POSTGRESQL), pytest.param("mariadb", marks=MARIADB)]
PTRACE_SEIZE, PIDFD_GETFD = 0x4206, 438
NOBODY, ORDINARY = 65534, 1000
"""User ids: the one without rights of its own, and that of a person."""
PLANTED = ("server.log", "postmaster.pid", "pid", "postmaster.opts", "crew.err", "passwd", "pgbench.1")
pytestmark = AS_ROOT


SAID = {
    "pgbench: error: query failed: ERROR:  could not extend file: No space left on device\nHINT:  Check free disk space.\n"
    "pgbench: detail: Query was: alter table pgbench_accounts add primary key (aid)": "the disk is full",
    "pgbench: error: query failed: ERROR:  relation is missing\npgbench: detail: Query was: select 1": "relation is missing",
    "--------------\nINSERT INTO account SELECT seq\n--------------\n\nERROR 1062 (23000) at line 1: Duplicate": "ERROR 1062",
    "": "",
}


@pytest.mark.parametrize("said", SAID)
def test_what_a_program_said_is_given_without_its_statements(said):
    why = server._why(said)
    assert SAID[said] in why and "\n" not in why
    assert not any(word in why for word in ("alter table", "select 1", "INSERT"))


@pytest.fixture(scope="module", params=SERVERS)
def laid_out(request, tmp_path_factory):
    """(name, folder with `data`, `own` and `work`) of a server's data."""
    place = tmp_path_factory.mktemp(request.param)
    for name in ("data", "own", "work"):
        (place / name).mkdir()
    data.laid_out(request.param, place / "data", DataBudget(40 << 20, 0.0))
    return request.param, place


@contextlib.contextmanager
def running(laid_out):
    name, place = laid_out
    tasks = [team.Task(name, name, {}, 1, 0.0)]
    with team.started(tasks, place / "data", place / "own", place / "work", 7) as crew:
        crew.wait_ready()
        yield crew


def processes_of(user):
    """Those that have this user's number."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == user:
                found.append(int(entry.name))
    return found


def as_user(user, call):
    """What `call` returns in a child that has this user's rights, as text."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # dumpable, as after an exec
            os.write(write, repr(call()).encode())
        except BaseException as error:  # noqa: BLE001 - the parent says it
            os.write(write, repr(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as text:
        said = text.read()
    os.waitpid(pid, 0)
    return said


def reached(pids, sockets=()):
    """What the process that calls gets of these."""
    libc = ctypes.CDLL(None, use_errno=True)
    got = []
    for pid in pids:
        for name in ("root", "cwd", "exe", "environ", "mem", "fd", "maps", "ns/mnt"):
            with contextlib.suppress(OSError):
                looked_at = {
                    "root": os.listdir,
                    "cwd": os.listdir,
                    "fd": os.listdir,
                    "exe": os.readlink,
                    "ns/mnt": os.readlink,
                }
                looked_at.get(name, lambda path: Path(path).read_bytes())(f"/proc/{pid}/{name}")
                got.append(f"{name} of {pid}")
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGCONT)
            got.append(f"signals to {pid}")
        with contextlib.suppress(OSError):
            pidfd = os.pidfd_open(pid)
            taken = [number for number in range(8) if libc.syscall(PIDFD_GETFD, pidfd, number, 0) >= 0]
            got.extend(f"descriptor {number} of {pid}" for number in taken)
        if libc.ptrace(PTRACE_SEIZE, pid, None, None) == 0:
            got.append(f"{pid} traced")
        word = ctypes.create_string_buffer(8)
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(word), 8)
        # Where it may look, it is told that nothing lies at this address.
        if libc.process_vm_readv(pid, vector, 1, (ctypes.c_void_p * 2)(16, 8), 1, 0) >= 0 or ctypes.get_errno() != 1:
            got.append(f"memory of {pid}")
        for path in sockets:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as link:
                link.connect(f"/proc/{pid}/root{path}")
                got.append(f"socket of {pid}")
    for path in sockets:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as link:
            link.connect(path)
            got.append(path)
    return got


def reached_with_capabilities(pids, sockets):
    """The same with every capability in a user namespace of one's own, and a mount namespace in it."""
    ctypes.CDLL(None).unshare(server.CLONE_NEWUSER | server.CLONE_NEWNS)
    return reached(pids, sockets)


def sockets_of_servers():
    """Paths of the sockets of databases, as their owners see them; the kernel tells everybody."""
    words = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return [row[7] for row in words if len(row) > 7 and ("PGSQL" in row[7] or row[7].endswith("data/socket"))]


def test_no_other_user_reaches_a_server(laid_out):
    name, place = laid_out
    user = (place / "data" / name).stat().st_uid
    assert user not in (0, NOBODY)
    before = processes_of(user)
    assert before == [], "the user of a server is its own alone"
    with running(laid_out) as crew:
        crew.go([name], 1)
        pids = processes_of(user)
        assert pids, "the server is there"
        sockets = sockets_of_servers()
        for attacker in (NOBODY, ORDINARY):
            assert as_user(attacker, lambda: reached(pids, sockets)) == "[]"
            assert as_user(attacker, lambda: reached_with_capabilities(pids, sockets)) == "[]"
        # What this test does is of use: the user itself reaches them.
        own = as_user(user, lambda: reached(pids, sockets))
        assert all(word in own for word in ("traced", "memory of", "root of", "descriptor", "socket of")), own
        assert crew.wait_idle([name], 120), crew.failed
    assert processes_of(user) == []


def test_each_run_has_a_user_of_its_own(tmp_path):
    users = set()
    for number in range(8):
        (folder := tmp_path / str(number)).mkdir()
        code = (
            f"from seekwise.workload import server; from pathlib import Path; server.own_folder(Path({str(folder)!r}))"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        users.add(folder.stat().st_uid)
        assert folder.stat().st_gid == folder.stat().st_uid
    assert len(users) == 8 and 0 not in users
    listed = {int(line.split(":")[2]) for line in Path("/etc/passwd").read_text().splitlines()}
    assert not users & listed and "seekwise-server" not in Path("/etc/passwd").read_text()


def test_a_user_that_a_process_has_is_not_taken(monkeypatch):
    first, last = 0x70000000, 0x70000002
    monkeypatch.setattr(server, "FREE_USERS", ((first, last),))
    sleepers = [subprocess.Popen(["sleep", "60"], user=user) for user in (first, last)]
    try:
        assert {server._free_user() for _ in range(20)} == {first + 1}
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()
    monkeypatch.setattr(server, "FREE_USERS", ((0, 0),))
    with pytest.raises(RuntimeError, match="no free user"):
        server._free_user()


@pytest.mark.parametrize("kind", ["link", pytest.param("pipe", marks=pytest.mark.slow)])
def test_what_the_server_plants_leads_root_nowhere_and_holds_nobody_up(laid_out, tmp_path, kind):
    """The server's user puts links to root's files, or pipes without a reader, under every name that root might use, and
    runs again."""
    name, place = laid_out
    folder = place / "data" / name
    user = folder.stat().st_uid
    victim = tmp_path / "victim"
    victim.write_text("root's\n")
    inside = next(path for path in folder.iterdir() if path.is_dir())
    # The folders above are closed to it: it comes in as its server does.
    places = [os.open(at, os.O_RDONLY | os.O_DIRECTORY) for at in (folder, inside)]

    def planted():
        for at in places:
            for link in PLANTED:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(link, dir_fd=at)
                os.symlink(victim, link, dir_fd=at) if kind == "link" else os.mkfifo(link, dir_fd=at)
        return "planted"

    assert as_user(user, planted) == "'planted'"
    for at in places:
        os.close(at)
    before, begun = victim.stat(), time.monotonic()
    with contextlib.suppress(Exception), running(laid_out) as crew:
        crew.go([name], 1)
        crew.wait_idle([name], 60)
    # It gives up on a server that does not start, and ends it.
    assert time.monotonic() - begun < 4 * (server.START_S + server.STOP_S) and processes_of(user) == []
    after = victim.stat()
    assert victim.read_text() == "root's\n"
    assert (after.st_mtime_ns, after.st_mode, after.st_uid, after.st_ino) == (
        before.st_mtime_ns, before.st_mode, before.st_uid, before.st_ino,
    )  # fmt: skip
