"""Manual pages and completions are made from the commands, and complete."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import pages

from seekwise.cli.main import cli, own_commands
from seekwise.environment import STATUS_MEANINGS, VARIABLES
from seekwise.errors import Exit

INTERNAL = {"SEEKWISE_CHILD"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    pages.write(folder)
    return folder


def test_every_command_has_a_page_with_its_options(made):
    import click

    context = click.Context(cli)
    for name in own_commands():
        text = (made / "man" / f"seekwise-{name}.1").read_text()
        command = cli.get_command(context, name)
        for parameter in command.params:
            for option in parameter.opts if isinstance(parameter, click.Option) and not parameter.hidden else ():
                assert option.replace("-", "\\-") in text, (name, option)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_pages_are_clean_roff(made):
    for page in sorted((made / "man").iterdir()):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-Kutf8", str(page)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert not [line for line in done.stderr.splitlines() if "cannot adjust" not in line and "break" not in line], (
            page.name
        )


def test_every_exit_status_has_a_meaning():
    assert set(STATUS_MEANINGS) == set(Exit)


def test_every_variable_that_the_program_reads_is_documented():
    read = set()
    for path in (ROOT / "python" / "seekwise").rglob("*.py"):
        read.update(re.findall(r"environ(?:\.get\(|\[)\"((?:SEEKWISE|XDG)_\w+)", path.read_text()))
    assert read - INTERNAL <= set(VARIABLES)
    assert read


def test_bash_completes_commands_and_options(made):
    script = f"""
        source {made / "completions" / "bash"}
        seekwise() {{ {sys.executable} -m seekwise.cli.main "$@"; }}
        complete -p seekwise
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "_seekwise_completion" in done.stdout
    environment = {
        "COMP_WORDS": "seekwise com",
        "COMP_CWORD": "1",
        "_SEEKWISE_COMPLETE": "bash_complete",
        "PATH": "/usr/bin",
    }
    done = subprocess.run(
        [str(Path(sys.executable).parent / "seekwise")],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=60,
    )
    assert done.stdout.split() == ["plain,compare"]


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
