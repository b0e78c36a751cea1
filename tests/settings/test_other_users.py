"""A user without root beside settings that root has applied: told what is in force and who can undo it; otherwise left alone."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner, Result

from control.nobody import NOBODY
from seekwise.cli import main
from seekwise.cli.main import cli
from seekwise.control import recovery
from seekwise.control.journal import Journal
from seekwise.control.process import boot_id
from seekwise.errors import MissingError
from seekwise.settings import history

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: gives itself up to become user nobody")

SET = {"sda": {"queue/scheduler": "bfq"}}


@pytest.fixture
def system(monkeypatch) -> Iterator[Path]:
    """Root's state folder, as other users find it: readable, its journal closed."""
    folder = Path(
        tempfile.mkdtemp(dir="/tmp", prefix="other-users-")
    )  # a folder of pytest's lets no other user through
    folder.chmod(0o755)
    for module in ("control.state", "settings.history", "settings.guard_log", "cli.revert"):
        monkeypatch.setattr(f"seekwise.{module}.SYSTEM_STATE", folder)
    for name in ("SEEKWISE_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    yield folder
    shutil.rmtree(folder)


def as_nobody(what: Callable[[], object]) -> object:
    """What it returns in a process of user nobody. It runs here first, on a state of its own: nobody cannot load from a home of root's."""
    with tempfile.TemporaryDirectory() as elsewhere, mock.patch.dict(os.environ, SEEKWISE_STATE=elsewhere):
        what()
    history.applications(history.SYSTEM_STATE)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os.write(write, pickle.dumps(what()))
        finally:
            traceback.print_exc()
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    assert found, "the process of user nobody failed"
    return pickle.loads(found)


def seekwise(*words: str) -> tuple[str, str, str, int]:
    """(standard output, standard error, message of the error, its exit status)."""
    done: Result = CliRunner().invoke(cli, list(words), obj={})
    error = done.exception
    return done.stdout, done.stderr, str(getattr(error, "message", error or "")), int(getattr(error, "exit_status", 0))


def applied(system: Path, **more: object) -> None:
    made = {"at": history.now(), "boot": boot_id(), "reason": "by hand", "wanted": SET, "before": {}, "drives": {}}
    history.remember(history.Application(**{**made, **more}), system)


@pytest.mark.parametrize("words", [("revert",), ("revert", "--dry-run"), ("revert", "--json")])
def test_revert_names_what_root_has_set_and_is_no_success(system, words):
    applied(system)
    Journal(system).open("applied", [{"device": "sda"}])
    out, _, message, status = as_nobody(lambda: seekwise(*words))
    assert "nothing to restore" not in out
    assert "sda queue/scheduler" in message and "only root can undo it" in message
    assert status == MissingError.exit_status


def test_what_a_restart_or_a_revert_has_undone_is_not_in_force(system):
    applied(system, boot="another boot")
    assert as_nobody(lambda: seekwise("revert"))[0] == "nothing to restore\n"
    applied(system, boot="another boot", persisted=("/etc/udev/rules.d/60-x.rules",))
    assert as_nobody(lambda: seekwise("revert"))[3] == MissingError.exit_status
    history.reverted(system)
    assert as_nobody(lambda: seekwise("revert"))[3] == 0


def test_a_closed_journal_is_not_called_empty(system):
    Journal(system).open("applied", [{"device": "sda"}])
    out, _, _, status = as_nobody(lambda: seekwise("revert"))
    assert out.startswith("nothing to restore of yours; what runs as root have left only root can see") and status == 0


def test_revert_in_a_journal_of_root_that_was_named_is_refused(system, monkeypatch):
    monkeypatch.setenv("SEEKWISE_STATE", str(system))
    Journal().open("applied", [{"device": "sda"}])
    out, _, message, status = as_nobody(lambda: seekwise("revert"))
    assert out == "" and message.endswith("cannot be read (Permission denied)") and status == MissingError.exit_status


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_commands_of_another_user_begin_without_a_warning(system, monkeypatch, mode):
    """Readable or not: nothing in it is this user's to restore."""
    monkeypatch.setenv("SEEKWISE_STATE", str(system))
    journal = Journal()
    journal.open("applied", [{"device": "sda"}])
    (journal.folder / "1-1-aaaa.entry").write_text("damaged")
    journal.folder.chmod(mode)
    monkeypatch.setattr(recovery, "restore_left_behind", lambda journal: journal.entries())
    said: list[str] = []

    def start() -> list[str]:
        if os.geteuid() and main.something_left():
            recovery.at_start(said.append)
        return said

    assert as_nobody(start) == []


@pytest.mark.parametrize("words", ["status", "revert", "apply --keep", "results", "report last", "devices"])
@pytest.mark.parametrize("variable", ["XDG_STATE_HOME", "XDG_DATA_HOME", "SEEKWISE_STATE"])
def test_a_state_folder_that_cannot_be_read_is_one_error_and_no_fault(system, tmp_path, variable, words):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)

    def run() -> tuple[int, str]:
        with (
            mock.patch.dict(os.environ, {variable: str(closed)}),
            mock.patch.object(sys, "argv", ["seekwise", *words.split()]),
            contextlib.redirect_stderr(io.StringIO()) as said,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            with pytest.raises(SystemExit) as ended:
                main.main()
            return int(ended.value.code or 0), said.getvalue()

    status, said = as_nobody(run)
    assert "fault" not in said and "details are in" not in said and "Traceback" not in said, said
    assert said.count("error: ") == (1 if status else 0), said
    assert status in (0, 1, 2, 4), said
