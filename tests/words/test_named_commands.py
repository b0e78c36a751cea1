"""Every command that a message, hint or page names exists, and has the options that are named with it."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
from tests.words.test_docs import ROOT

from seekwise.cli.main import cli

NAMED = re.compile(r"`(?:sudo )?seekwise ([a-z]+)([^`\n;|]*)")
SOURCES = ("python/seekwise", "proof/seekwise_proof", "papers/seekwise_papers")
PAGES = ("README.md", "docs", "proof/docs", "papers/docs", "python/seekwise")

ELSEWHERE = {
    name
    for folder in ("proof", "papers")
    for name in tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]["entry-points"].get(
        "seekwise.commands", {}
    )
}
"""Commands of the other distributions, which the product's tests do without."""


def texts() -> Iterator[tuple[str, str]]:
    """(place, text) of every string of the sources, placeholders as `{}`, and of every page."""
    for file in sorted(each for folder in SOURCES for each in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            words = [part.value if isinstance(part, ast.Constant) else "{}" for part in parts]
            if all(isinstance(word, str) for word in words) and "seekwise " in (text := "".join(map(str, words))):
                yield f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", text
    for name in PAGES:
        top = ROOT / name
        for file in [top] if top.is_file() else sorted(top.rglob("*.md")):
            yield str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")


def wrong(text: str) -> list[str]:
    found = []
    for name, rest in NAMED.findall(text):
        words: list[str] = rest.split(" -- ")[0].split()
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group) and words and re.fullmatch(r"[a-z-]+", words[0]):
            command = command.get_command(click.Context(command), words[0])
        if name in ELSEWHERE:
            continue
        if command is None:
            found.append(f"no command: {name} {rest}")
            continue
        options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {"--help"}
        named = [match[0] for word in words if (match := re.match(r"--[a-z][a-z-]*", word))]
        found += [f"no option {option}: {name} {rest}" for option in named if option not in options]
    return found


def test_commands_that_are_named_exist_with_their_options() -> None:
    assert wrong("type `seekwise status --no-such`, or `seekwise nothing`") == [
        "no option --no-such: status  --no-such", "no command: nothing "]  # fmt: skip
    places = list(texts())
    assert len(places) > 300
    assert {place: said for place, text in places if (said := wrong(text))} == {}


def test_the_folders_are_there() -> None:
    assert all((ROOT / each).exists() for each in (*SOURCES, *PAGES)), Path.cwd()
