"""What the last line of a command suggests works when it is typed, whichever database the command was told to use."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from seekwise import invocation
from seekwise.cli import main
from seekwise.errors import Exit
from seekwise.store import database

from .test_whole_way import SIMULATED

FIO = Path(__file__).parents[1] / "importing" / "files"


def next_of(text: str) -> list[str]:
    """The words of the `next:` line, without `seekwise`."""
    (line,) = [line for line in text.splitlines() if line.startswith("next: ")]
    words = shlex.split(line.removeprefix("next: "), comments=True)
    assert Path(words[0]).name == "seekwise", line
    return words[1:]


SECURE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Debian's, of /etc/sudoers."""


def is_found(line: str, path: str) -> bool:
    """Whether a shell whose programs lie in PATH finds what LINE names; `sudo` looks in its own."""
    words = line.removeprefix("next: ")
    asked = words.replace("sudo ", "", 1) if words.startswith("sudo ") else words
    program = shlex.split(asked, comments=True)[0]
    done = subprocess.run(
        ["sh", "-c", f"{shlex.quote(program)} --version"],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0 and "seekwise" in done.stdout


@pytest.mark.parametrize("user", [0, 1000])
def test_each_suggested_line_is_found_by_a_shell_and_by_sudo(seekwise, monkeypatch, user):
    """After `.venv/bin/seekwise` or `pipx install`, neither sudo nor a login shell of Debian's knows the name."""
    program = Path(sys.executable).parent / "seekwise"
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setattr(invocation, "IS_ROOT", user == 0)
    monkeypatch.setenv("PATH", SECURE_PATH)
    for command in ("seekwise results last", "sudo seekwise apply last", "sudo seekwise tune .  # measures"):
        line = invocation.line(command)
        assert is_found(line, SECURE_PATH), line
        assert line.startswith("sudo ") == (user != 0 and command.startswith("sudo "))
    # A shell that knows it needs no path; sudo has a path of its own.
    monkeypatch.setenv("PATH", f"{program.parent}:{SECURE_PATH}")
    assert invocation.line("seekwise results last") == "seekwise results last"
    assert is_found(invocation.line("sudo seekwise revert"), f"{program.parent}:{SECURE_PATH}")


def test_the_next_line_of_a_program_that_no_path_has_runs_as_it_is_printed(tmp_path):
    program = Path(sys.executable).parent / "seekwise"
    environment = {"PATH": SECURE_PATH, "HOME": str(tmp_path), "NO_COLOR": "1"}

    def typed(line: str) -> str:
        done = subprocess.run(
            ["sh", "-c", line], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout

    files = " ".join(shlex.quote(str(FIO / name)) for name in ("fio-none.1.json", "fio-bfq.1.json"))
    said, typed_lines = typed(f"{program} import {files}"), 0
    while (lines := [line for line in said.splitlines() if line.startswith("next: ")]) and typed_lines < 2:
        said, typed_lines = typed(lines[0].removeprefix("next: ")), typed_lines + 1
    assert typed_lines == 2


def test_what_needs_root_is_said_as_the_whole_line_for_sudo(monkeypatch, capsys):
    program = Path(sys.executable).parent / "seekwise"
    monkeypatch.setattr(sys, "argv", [str(program), "record", "/srv/a b", "--for", "5s"])
    monkeypatch.setattr(invocation, "IS_ROOT", False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == Exit.MISSING
    assert f"hint: run it with sudo: `sudo {program} record '/srv/a b' --for 5s`" in capsys.readouterr().err


@pytest.mark.parametrize("user", [0, 1000])
def test_a_line_is_typed_again_without_some_of_its_words(monkeypatch, user):
    program = Path(sys.executable).parent / "seekwise"
    monkeypatch.setattr(sys, "argv", [str(program), "apply", "a b", "--dry-run"])
    monkeypatch.setattr(invocation, "IS_ROOT", user == 0)
    monkeypatch.setenv("PATH", SECURE_PATH)
    assert invocation.again("--dry-run") == f"{'sudo ' if user else ''}{program} apply 'a b'"
    # A test or a notebook was not typed.
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pytest"])
    assert (invocation.again(), invocation.with_sudo()) == (None, "run it with sudo")


def test_a_program_that_sudo_finds_is_called_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "seekwise").write_text("#!/bin/sh\n")
    (tmp_path / "seekwise").chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "seekwise")])
    monkeypatch.setattr(invocation, "IS_ROOT", False)
    monkeypatch.setattr(invocation, "SECURE_PATH", str(tmp_path))
    assert invocation.line("sudo seekwise revert") == "sudo seekwise revert"
    # Another program of that name is not this one.
    monkeypatch.setattr(invocation, "SECURE_PATH", "/nonexistent")
    assert invocation.line("sudo seekwise revert") == f"sudo {tmp_path}/seekwise revert"


def test_each_suggestion_opens_the_database_that_was_named(seekwise):
    db = ["--db", str(seekwise.folder / "my own.db")]
    (seekwise.folder / "small.toml").write_text(SIMULATED)
    said = [seekwise("run", "small.toml", "--name", name, *db).stdout for name in ("first try", "second try")]
    said += [
        seekwise(*words, *db).stdout
        for words in (
            ("results",),
            ("results", "last"),
            ("compare", "first try", "second try"),
            ("import", str(FIO / "fio-none.1.json"), str(FIO / "fio-bfq.1.json")),
            ("advise", "second try"),
        )
    ]
    suggested = [next_of(each) for each in said if "next: " in each]
    assert len(suggested) >= 6
    for words in suggested:
        assert words[-2:] == db
        seekwise(*words)


@pytest.mark.parametrize(
    ("user", "command", "variable", "is_named"),
    [
        (1000, "seekwise results last", None, False),
        (1000, "seekwise results last", "SEEKWISE_DB", False),
        (1000, "sudo seekwise apply last", None, True),
        (0, "sudo seekwise apply last", None, False),
        (0, "sudo seekwise apply last", "SEEKWISE_DB", True),
        (0, "sudo seekwise apply last", "XDG_DATA_HOME", True),
    ],
)
def test_sudo_is_told_of_a_database_that_it_would_not_find(monkeypatch, tmp_path, user, command, variable, is_named):
    monkeypatch.setattr(database.os, "geteuid", lambda: user)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("SEEKWISE_DB", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    path = database.default_path()
    assert database.typed(command, path) == (f"{command} --db {path}" if is_named else command)
