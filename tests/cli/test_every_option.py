"""This test walks the commands and finds each option in a page of the documentation and in a test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from seekwise.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("tests", "proof/tests", "papers/tests")
SHARED = {"--help", "--version", "--db", "--json", "--seed"}
"""Options that most commands have; `--help` explains them."""


def options(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """(command, option) of everything below, without what `--help` hides."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from options(found, (*path, name))
        return
    for each in command.params:
        if isinstance(each, click.Option) and not each.hidden:
            for name in (*each.opts, *each.secondary_opts):
                if name.startswith("--") and name not in SHARED:
                    yield " ".join(path), name


@cache
def texts(of: str) -> str:
    files = {
        "page": [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")],
        "test": [path for top in TESTS for path in (ROOT / top).rglob("*.py") if path != Path(__file__)],
    }[of]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


@pytest.mark.parametrize("of", ["page", "test"])
def test_each_option_stands_in_a(of):
    every = list(options(cli))
    assert len(every) > 100
    missing = [each for each in every if not re.search(re.escape(each[1]) + r"(?![\w-])", texts(of))]
    assert missing == [], f"no {of} names these"
