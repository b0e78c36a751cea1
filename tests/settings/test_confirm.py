"""`apply --confirm`: undone unless confirmed, whatever ends: the time, the terminal, the process that waits, the machine."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests import preloaded
from tests.cli import terminal

from control.conftest import needs_root
from control.nobody import AS_NOBODY
from control.test_recovery import rewrite
from seekwise.control import lock, recovery
from seekwise.control.journal import Journal
from seekwise.control.process import ProcessIdentity
from seekwise.settings import guard_log, history
from seekwise.settings.guard import confirm, job

NAME = "queue/read_ahead_kb"
STUDY = Path(__file__).parents[2] / "studies/schedulers.toml"
pytestmark = [needs_root, pytest.mark.root]


class Machine:
    """A loop device, and `seekwise` with a state of its own."""

    def __init__(self, loop: str, state: Path) -> None:
        self.loop, self.file = loop, Path(f"/sys/block/{loop}/{NAME}")
        self.environment = {**os.environ, "SEEKWISE_STATE": str(state), "NO_COLOR": "1"}
        self.words = ("apply", "--device", loop, "--set", "read_ahead_kb=64", "--confirm")
        self.before = self.value

    @property
    def value(self) -> str:
        return self.file.read_text().strip()

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return preloaded.run(words, self.environment)

    def begin(self, seconds: str) -> None:
        done = self(*self.words, seconds)
        assert done.returncode == 0 and f"{self.before} → 64, is set" in done.stdout, done.stderr
        assert self.value == "64" and history.applications() == []

    def on_terminal(self, seconds: str, typed: bytes) -> terminal.Seen:
        words = [sys.executable, "-m", "seekwise.cli.main", *self.words, seconds]
        return terminal.run(words, Path("/"), self.environment, answer=("Enter keeps it", typed))

    def is_undone(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if guard_log.read()[-1]["outcome"] == "rolled back":
                return self.value == self.before and Journal().is_empty()
            time.sleep(0.1)
        return False


@pytest.fixture
def machine(loop, tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path))
    made = Machine(loop, tmp_path)
    yield made
    made("revert")
    assert made.value == made.before


AS_USER = """
import sys
sys.path[:0] = sys.argv[2].split(":")
from seekwise.control.lock import devices_locked, holder
from seekwise.errors import RefusedError
assert holder(sys.argv[1]) is None, "it waits, and measures nothing"
try:
    with devices_locked([sys.argv[1]]):
        print("measures")
except RefusedError as error:
    print(error.message)
"""


def test_a_user_measures_nothing_that_root_may_take_back_at_any_moment(machine, tmp_path):
    """A user cannot read root's journal, and measured what was set for a while; the time-out came in between."""
    folders = ":".join(path for path in sys.path if path)
    as_user = subprocess.run(
        [*AS_NOBODY, AS_USER, machine.loop, folders], capture_output=True, text=True, check=False, cwd="/"
    )
    if as_user.returncode:
        pytest.skip(f"nobody cannot read the program: {as_user.stderr[-200:]}")
    assert as_user.stdout == "measures\n"
    machine.begin("10m")
    during = subprocess.run(
        [*AS_NOBODY, AS_USER, machine.loop, folders], capture_output=True, text=True, check=True, cwd="/"
    )
    assert f"{machine.loop}: a change by root waits for its confirmation" in during.stdout
    assert "revert" in machine(*machine.words, "5s").stderr, "root itself is told what to do"
    assert machine("revert").returncode == 0 and machine.value == machine.before
    after = subprocess.run(
        [*AS_NOBODY, AS_USER, machine.loop, folders], capture_output=True, text=True, check=True, cwd="/"
    )
    assert after.stdout == "measures\n"


def test_what_nobody_confirms_is_undone_by_itself(machine):
    done = machine(*machine.words, "5s")
    assert done.returncode == 0 and f"{machine.before} → 64, is set" in done.stdout
    assert machine.is_undone(60)
    late = machine("apply", "--keep")
    assert late.returncode == 2 and "nothing waits for confirmation" in late.stderr


@pytest.mark.parametrize("umask", [0, 0o002, 0o077])
@pytest.mark.parametrize("made", [None, 0o777, 0o775, 0o700], ids=str)
def test_the_state_folder_is_private_whatever_the_umask_and_whoever_made_it(
    machine, monkeypatch, tmp_path, umask, made
):
    state = tmp_path / "deep/state"
    machine.environment["SEEKWISE_STATE"] = str(state)
    monkeypatch.setenv("SEEKWISE_STATE", str(state))
    if made is not None:
        state.mkdir(parents=True)
        os.chown(state, 0, 4242)
        state.chmod(made)
    old = os.umask(umask)
    try:
        machine.begin("5s")
        assert machine.is_undone(60)
        machine.begin("10m")
        assert machine("apply", "--keep").returncode == 0 and machine.value == "64"
        done = machine("revert")
    finally:
        os.umask(old)
    assert done.returncode == 0 and machine.value == machine.before, done.stderr
    folders = [state, *(path for path in state.rglob("*") if path.is_dir())]
    assert len(folders) > 2 and not any(path.stat().st_mode & 0o022 for path in folders)
    assert not any(path.stat().st_mode & 0o022 for path in state.rglob("*"))


def test_a_state_folder_that_others_could_fill_is_refused_before_anything_is_set(machine, monkeypatch, tmp_path):
    state = tmp_path / "state"
    machine.environment["SEEKWISE_STATE"] = str(state)
    monkeypatch.setenv("SEEKWISE_STATE", str(state))
    state.mkdir()
    state.chmod(0o777)
    (state / "guard").mkdir()
    refused = machine(*machine.words, "5s")
    assert refused.returncode == 3 and "may be forged" in refused.stderr and machine.value == machine.before


def test_a_device_that_waits_takes_nothing_else(machine):
    machine.begin("10m")
    shown = machine("status", machine.loop).stdout
    assert "waiting for confirmation" in shown and "seekwise, until it is confirmed or undone" in " ".join(
        shown.split()
    )
    refused = machine("apply", "--device", machine.loop, "--set", "nomerges=1")
    assert refused.returncode == 3 and "a change waits for its confirmation" in refused.stderr


def test_two_changes_at_once_do_not_lose_the_first_value(machine):
    command = [sys.executable, "-P", "-m", "seekwise.cli.main", "apply", "--device", machine.loop, "--confirm", "6s"]
    both = [subprocess.Popen([*command, "--set", f"read_ahead_kb={kib}"], env=machine.environment) for kib in (64, 256)]
    assert sorted(each.wait(60) for each in both) == [0, 3]
    until = time.monotonic() + 60
    while not Journal().is_empty() and time.monotonic() < until:
        time.sleep(0.1)
    assert machine.value == machine.before


@pytest.mark.parametrize(
    "words",
    [
        ("tune", "--vary", "nomerges=0,2", "--for", "random-read", "--budget", "1m"),
        ("run", str(STUDY), "--backend", "kernel", "--target"),
    ],
)
def test_nothing_is_measured_while_a_change_waits(machine, words, tmp_path):
    subprocess.run(["mkfs.ext4", "-q", f"/dev/{machine.loop}"], check=True)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", f"/dev/{machine.loop}", mounted], check=True)
    try:
        machine.begin("10m")
        command = (words[0], str(mounted), *words[1:]) if words[0] == "tune" else (*words, str(mounted))
        refused = machine(*command)
        assert refused.returncode == 3 and "a change waits for its confirmation" in refused.stderr, refused.stderr
        assert machine("revert").returncode == 0
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_a_device_that_is_in_use_when_the_time_is_up_goes_back_as_soon_as_it_is_free(machine):
    machine.begin("5s")
    with lock.devices_locked([machine.loop]):
        until = time.monotonic() + 60
        while (document := guard_log.read()[-1])["outcome"] != job.GOING_BACK and time.monotonic() < until:
            time.sleep(0.1)
        assert f"in use by another seekwise run (process {os.getpid()})" in document["headline"]
        assert machine.value == "64"
    assert machine.is_undone(60)


def test_what_is_confirmed_from_elsewhere_stays_until_revert(machine):
    machine.begin("10m")
    kept = machine("apply", "--keep")
    assert kept.returncode == 0 and kept.stdout == "kept: confirmed\n"
    assert machine.value == "64" and history.applications()[0].wanted == {machine.loop: {NAME: "64"}}
    (entry,) = Journal().entries()
    assert not Journal().is_pending(entry)
    assert "kept: confirmed" in machine("status", machine.loop).stdout
    assert machine("revert").returncode == 0 and machine.value == machine.before
    assert "kept" not in machine("status", machine.loop).stdout


def test_enter_on_the_terminal_keeps_it(machine):
    seen = machine.on_terminal("10m", b"\n")
    assert seen.status == 0 and machine.value == "64"
    seen.is_clean()
    assert "kept: confirmed" in seen.lines


def test_ctrl_c_on_the_terminal_undoes_it_at_once(machine):
    seen = machine.on_terminal("10m", b"\x03")
    assert seen.status == 130 and machine.value == machine.before
    assert "undone: Ctrl-C was pressed" in seen.lines


def test_a_terminal_that_goes_away_neither_keeps_nor_undoes_it(machine):
    machine.on_terminal("15s", b"")
    assert machine.value == "64"
    assert machine.is_undone(60)


def test_a_waiting_process_that_is_killed_leaves_it_to_the_next_command(machine):
    machine.begin("10m")
    os.kill(guard_log.read()[-1]["process"]["pid"], signal.SIGKILL)
    time.sleep(0.2)
    assert machine.value == "64"
    assert f"64 → {machine.before}" in machine("explain", "ncq").stderr
    assert machine.value == machine.before


def test_revert_ends_the_waiting(machine):
    machine.begin("10m")
    process = ProcessIdentity(**guard_log.read()[-1]["process"])
    assert machine("revert").returncode == 0
    assert machine.value == machine.before and not process.alive


def test_a_restart_of_the_machine_undoes_it(machine):
    """The kernel has its own values again, nothing keeps ours, and no entry is left: as if it had never been set."""
    machine.begin("10m")
    guard = guard_log.read()[-1]["process"]["pid"]
    descriptor = os.pidfd_open(guard)
    os.kill(guard, signal.SIGKILL)
    # Readable once it has ended: only then has it let go of its journal entry.
    assert select.select([descriptor], [], [], 30)[0]
    os.close(descriptor)
    machine.file.write_text(machine.before)
    rewrite(Journal(), boot_id="the boot before")
    assert not any("seekwise" in path.name for path in Path("/etc/udev/rules.d").glob("*"))
    recovery.at_start(lambda sentence: None)
    assert Journal().is_empty() and machine.value == machine.before and history.applications() == []


@pytest.fixture
def document(kernel, tmp_path, monkeypatch):
    """Of a change on a machine of files that is kept by a udev rule."""
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path / "state"))
    kernel.add_disk("sda", "mq-deadline")
    (kernel.root / "proc").mkdir(exist_ok=True)
    made = {
        "id": "c1", "started_at": history.now(), "devices": ["sda"], "wanted": {"sda": {"queue/scheduler": "bfq"}}, "ways": ["sysfs.conf"],
        "seconds": 1, "limit": None, "reason": "test", "evidence": None, "outcome": "starting", "headline": "", "until": "",
    }  # fmt: skip
    guard_log.write(made)
    return made


@pytest.mark.parametrize("confirmed", [True, False])
def test_files_are_written_at_the_confirmation_and_not_before(kernel, document, monkeypatch, confirmed):
    def files() -> list[Path]:
        return [path for path in (kernel.root / "etc").rglob("*") if path.is_file()]

    seen = []

    def slept(seconds: float) -> None:
        seen.append(files())
        if confirmed:
            guard_log.confirm("c1")

    monkeypatch.setattr(confirm.time, "sleep", slept)
    done = job.carry_out(document, confirm.work, kernel.root)
    assert seen[0] == [] and bool(files()) is confirmed
    assert done["outcome"] == ("kept" if confirmed else "rolled back"), done["headline"]
    text = (kernel.root / "sys/block/sda/queue/scheduler").read_text()
    assert ("[bfq]" if confirmed else "[mq-deadline]") in text
    assert Journal().is_empty() is not confirmed


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--confirm", "1s"), 2, "--confirm takes from 5 s to 24 h"),
        (("--confirm", "25h"), 2, "--confirm takes from 5 s to 24 h"),
        (("--confirm", "soon"), 2, "is not a time"),
        (("--confirm", "10m", "--guard", "10m"), 2, "--confirm does not go with --guard"),
        (("--confirm", "10m", "--print", "udev"), 2, "--print changes nothing"),
        (("--keep",), 2, "--keep confirms what is set"),
        (("--confirm", "10m", "--set", "scheduler=bogus"), 2, 'does not offer scheduler "bogus"'),
    ],
)
def test_a_wrong_call_is_one_error_and_sets_nothing(machine, words, status, said):
    done = machine("apply", "--device", machine.loop, "--set", "read_ahead_kb=64", *words)
    assert done.returncode == status and said in done.stderr and done.stderr.count("error: ") == 1
    assert machine.value == machine.before and Journal().is_empty() and not guard_log.read()


def test_json_is_the_document_and_asks_nothing(machine):
    done = machine(*machine.words, "10m", "--json")
    assert json.loads(done.stdout)["outcome"] == "waiting for confirmation"
    assert json.loads(machine("apply", "--keep", "--json").stdout)["outcome"] == "kept"
