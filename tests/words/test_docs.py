"""The site: every command that a page shows is accepted. `test_blocks.py` runs the commands; words and lengths: `tools/words.py`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from seekwise.cli.main import cli
from seekwise.errors import SeekwiseError

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "proof/docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```|((?:^ {4}\S.*\n)+)", re.MULTILINE | re.DOTALL)
NAMES = {
    "RUN": "last",
    "STUDY": "demo",
    "STUDY.toml": "demo",
    "FILE…": "a.json",
    "FILE": "a.json",
    "WORD": "bfq",
    "NAME": "demo",
    "PATH": "/srv",
}


def place(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of each code block; indented blocks have no language."""
    return [(found[1] or "", found[2] or found[3] or "") for found in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def commands(page: Path) -> list[str]:
    """Each line of a block that calls `seekwise`, without prompt, sudo and remark; words of commands in the text are not complete ones."""
    found = []
    for _, text in blocks(page):
        for line in text.replace("\\\n", " ").splitlines():
            match = re.match(r"\s*(?:[$#] )?(?:sudo )?(?:\.venv/bin/)?seekwise (.*)", line)
            if match and not re.search(r"(^| )\| | …|\[", match[1]):
                found.append(re.split(r"\s{2,}|\s+#|\s+>", match[1].strip())[0])
    return found


def accepted(line: str) -> str | None:
    """Why the command line refuses a line; None when it takes it. Nothing runs."""
    words = [NAMES.get(word, word) for word in shlex.split(line)]
    command: click.Command = cli
    context = click.Context(cli, info_name="seekwise")
    try:
        while isinstance(command, click.Group) and words:
            name, *rest = words
            if name in ("--help", "--version", "-h"):
                return None
            found = command.get_command(context, name)
            if found is None:
                return f"no command `{name}`"
            command, words = found, rest
        command.make_context("seekwise", words, parent=context, resilient_parsing=False)
    except click.exceptions.Exit:
        return None
    except click.BadParameter as error:
        # A file of the example does not lie here; anything else is wrong.
        return None if "does not exist" in error.format_message() else error.format_message()
    except click.ClickException as error:
        return error.format_message()
    except SeekwiseError as error:
        return error.message
    return None


@pytest.mark.parametrize("page", PAGES, ids=place)
def test_every_command_that_a_page_shows_is_accepted(page: Path):
    refused = {line: why for line in commands(page) if (why := accepted(line)) is not None}
    assert not refused


def test_pages_show_commands_at_all():
    assert sum(len(commands(page)) for page in PAGES) > 80
