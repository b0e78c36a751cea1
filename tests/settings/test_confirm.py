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
from control.test_recovery import rewrite
from seekwise.control import recovery
from seekwise.control.journal import Journal
from seekwise.control.process import ProcessIdentity
from seekwise.settings import guard_log, history
from seekwise.settings.guard import confirm, job

NAME = "queue/read_ahead_kb"
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


def test_what_nobody_confirms_is_undone_by_itself(machine):
    done = machine(*machine.words, "5s")
    assert done.returncode == 0 and f"{machine.before} → 64, is set" in done.stdout
    assert machine.is_undone(60)
    late = machine("apply", "--keep")
    assert late.returncode == 2 and "nothing waits for confirmation" in late.stderr


def test_a_device_that_waits_takes_nothing_else(machine):
    machine.begin("10m")
    shown = machine("status", machine.loop).stdout
    assert "waiting for confirmation" in shown and "seekwise, until it is confirmed or undone" in " ".join(
        shown.split()
    )
    refused = machine("apply", "--device", machine.loop, "--set", "nomerges=1")
    assert refused.returncode == 3 and "a change waits for its confirmation" in refused.stderr


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
    (kernel.root / "proc").mkdir()
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
