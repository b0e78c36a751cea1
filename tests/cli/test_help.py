"""`--help` lists the sixteen commands that most people need, `help --all` every one; a misspelt name gets a suggestion."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from seekwise.cli import main
from seekwise.errors import UsageError


def said(*words: str) -> str:
    done = CliRunner().invoke(main.cli, list(words), standalone_mode=False, obj={})
    if done.exception is not None:
        raise done.exception
    return done.stdout


def listed(text: str) -> list[str]:
    rows = text.partition("ommands:\n")[2].splitlines()
    return [row.split()[0] for row in rows if row.startswith("  ") and not row.startswith("   ")]


def test_help_lists_at_most_sixteen_commands_and_each_has_a_module():
    shown = listed(said("--help"))
    assert shown == list(main.SHOWN) and len(shown) <= 16
    assert set(main.SHOWN) <= set(main.cli.list_commands(None))


def test_help_all_lists_every_command():
    assert sorted(listed(said("help", "--all"))) == main.cli.list_commands(None)


def test_help_of_a_command_is_what_its_own_help_says():
    assert said("help", "tune") == said("tune", "--help")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("tnue", "/srv"), "`tune`"),
        (("help", "reslts"), "`results`"),
        (("run", "queue-dept"), "`queue-depth`"),
        (("explain", "bqf"), "`bfq`"),
        (("schema", "reslts"), "`results`"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(words, meant):
    with pytest.raises(UsageError) as caught:
        said(*words)
    assert meant in caught.value.hint
