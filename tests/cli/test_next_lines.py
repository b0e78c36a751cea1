"""What the last line of a command suggests works when it is typed, whichever database the command was told to use."""

import shlex
from pathlib import Path

import pytest

from seekwise.store import database

from .test_whole_way import SIMULATED

FIO = Path(__file__).parents[1] / "importing" / "files"


def next_of(text: str) -> list[str]:
    """The words of the `next:` line, without `seekwise`."""
    (line,) = [line for line in text.splitlines() if line.startswith("next: ")]
    words = shlex.split(line.removeprefix("next: "), comments=True)
    assert words[0] == "seekwise", line
    return words[1:]


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
