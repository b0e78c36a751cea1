"""The site: every command that a page shows is accepted. `test_blocks.py` runs the commands; words and lengths: `tools/words.py`."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from seekwise.cli.main import cli
from seekwise.errors import SeekwiseError, UsageError
from seekwise.measure.live import also
from seekwise.workload.study import starters, uses
from seekwise.workload.study.factors import factor

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
        meant(command.make_context("seekwise", words, parent=context, resilient_parsing=False))
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


def meant(context: click.Context) -> None:
    """What the command line takes as a text, the program must know: names of uses, settings and studies."""
    given = context.params
    if context.command.name == "tune":
        if given.get("also"):
            also.areas_of(given["also"])
        if given.get("uses"):
            uses.chosen(given["uses"])
        for each in given.get("vary") or ():
            name = each.partition("=")[0]
            if factor(name) is None:
                raise UsageError(f"--vary {name} is no setting")
    if context.command.name == "run" and given.get("study") and not given["study"].endswith(".toml"):
        starters.open_shipped(given["study"])


@pytest.mark.parametrize("page", PAGES, ids=place)
def test_every_command_that_a_page_shows_is_accepted(page: Path):
    refused = {line: why for line in commands(page) if (why := accepted(line)) is not None}
    assert not refused


def test_pages_show_commands_at_all():
    assert sum(len(commands(page)) for page in PAGES) > 80


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("material", reason="pip install -e .[docs]")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, check=True, timeout=300,
    )  # fmt: skip
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 100
    # Read without network: nothing is fetched from elsewhere.
    for page in pages:
        assert not re.search(r'(?:src|href)="https?://[^"]*\.(?:js|css|woff2?)"', page.read_text(encoding="utf-8")), (
            page
        )
