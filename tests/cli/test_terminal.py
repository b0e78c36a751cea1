"""What a person sees on a terminal of 80 by 24 while a command works: no codes as text, nothing too wide, one display and not a hundred."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from tests.cli import terminal
from tests.cli.conftest import STUDY, needs_fio, needs_root

import seekwise as package

HOSTILE = "a\x1b[2J\x1b]0;owned\x07\x1b[31mb"
SIMULATED = """
name = "small"
backend = "simulated"
[[system]]
name = "disk"
drive = "wd2500ys"
[settings]
scheduler = ["none", "bfq"]
[[workload]]
operations = ["rand_read"]
size = "16m"
runtime = "8s"
[design]
blocks = 20
"""


@pytest.fixture
def on_terminal(seekwise):
    """Runs `seekwise` on a terminal and expects what has to hold for every command."""

    def run(*words: str, status: int | None = 0, timeout_s: float = 60) -> terminal.Seen:
        seen = terminal.run([*seekwise.words, *words], seekwise.folder, seekwise.environment, timeout_s)
        assert status in (seen.status, None), seen.text
        seen.is_clean()
        return seen

    return run


def shown_once_and_gone(seen: terminal.Seen, words: str) -> None:
    """The display was there, at no moment twice, and nothing of it is left."""
    assert seen.frames_with(words), f"no display with {words!r}: {seen.text}"
    assert all(sum(words in line for line in frame) == 1 for frame in seen.frames_with(words))
    assert words not in seen.text


def test_a_simulated_study_shows_its_bar(on_terminal, seekwise):
    (seekwise.folder / "s.toml").write_text(SIMULATED)
    seen = on_terminal("run", "s.toml")
    shown_once_and_gone(seen, "━━━━")
    shown_once_and_gone(seen, "making the answer")  # of arrays it takes seconds, and the bar has gone
    assert "Nothing that was tested is better" in seen.text and b"\x1b[38;5;" in seen.raw


def test_a_simulated_tune_shows_its_bar(on_terminal):
    seen = on_terminal("tune", "model:nearest", "--for", "sequential-read", "--vary", "scheduler=bfq,none")
    shown_once_and_gone(seen, "simulating")


@needs_fio
def test_a_measured_study_shows_its_bar(on_terminal, on_disk, study):
    study.write_text(STUDY.replace('"rand_read", "seq_write"', '"rand_read"').replace("blocks = 2", "blocks = 1"))
    seen = on_terminal("run", str(study))
    shown_once_and_gone(seen, "━━━━")


@pytest.mark.slow
@needs_root
def test_tune_of_a_folder_shows_one_table_that_fills(on_terminal, on_disk):
    seen = on_terminal(
        "tune", ".", "--budget", "16s", "--for", "sequential-read", "--vary", "scheduler=none,mq-deadline"
    )
    shown_once_and_gone(seen, "now under")


@pytest.mark.slow
@needs_root
def test_tune_under_an_own_command_shows_one_table_and_its_output_above(on_terminal, on_disk):
    words = (
        "--live",
        "--budget",
        "20s",
        "--vary",
        "scheduler=none,mq-deadline",
        "--",
        "sh",
        "-c",
        "echo done; sleep 0.2",
    )
    shown_once_and_gone(on_terminal("tune", ".", *words), "now under")


def test_progress_in_lines_is_as_clean(on_terminal):
    seen = on_terminal("doctor", "--watch", "1s", status=None)  # this machine may well have a fault
    assert seen.lines[0] == "watching the drives' counters for 1 s"


def test_errors_and_hints_are_wrapped_between_words(on_terminal):
    seen = on_terminal("tune", "model:nearest", "--for", "no-such-use", status=2)
    assert seen.lines[0] == "error: no use is called `no-such-use`"
    assert seen.lines[2].startswith("hint: ") and seen.lines[3].startswith("  ")


def script(tmp_path: Path, body: str) -> terminal.Seen:
    lines = [
        "import sys, time, click",
        "from seekwise.cli import _display, _output, _standing",
        "_output.install()",
        body,
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    seen = terminal.run([sys.executable, "-c", "\n".join(lines)], tmp_path, environment)
    assert seen.status == 0, seen.text
    return seen


def test_names_of_strangers_stay_harmless_above_a_display(tmp_path):
    seen = script(
        tmp_path,
        f"""
with _display.moving() as (console, live):
    for number in range(5):
        live.update(f"DISPLAY {{number}}", refresh=True)
        click.echo(f"{{number}} to err {HOSTILE!a}"[:-1], err=True)
        print(f"{{number}} to out {HOSTILE!a}")
        console.print({HOSTILE!a})
        live.update({HOSTILE!a}, refresh=True)
        sys.stderr.write("begun, ")
    click.echo("not ended", err=True, nl=False)
click.echo("", err=True)
""",
    )
    shown_once_and_gone(seen, "DISPLAY")
    assert sum("to err" in line for line in seen.lines) == sum("to out" in line for line in seen.lines) == 5
    assert seen.lines[-1] == "begun, not ended"
    assert r"a\x1b[2J\x1b]0;owned\x07\x1b[31m" in seen.text
    assert not re.search(rb"\x1b\[2J|\x1b\]|\x07|\x1b\[31m", seen.raw)


def test_a_display_higher_than_the_screen_leaves_nothing_behind(tmp_path):
    seen = script(
        tmp_path,
        """
with _display.moving() as (_, live):
    for number in range(6):
        live.update("\\n".join(f"row {number} {row}" for row in range(40)), refresh=True)
print("after")
""",
    )
    assert [line for line in seen.lines if line] == ["after"]


def test_a_display_that_is_interrupted_gives_the_cursor_back(tmp_path):
    seen = script(
        tmp_path,
        """
try:
    with _display.moving() as (_, live):
        live.update("DISPLAY", refresh=True)
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
""",
    )
    seen.is_clean()
    assert [line for line in seen.lines if line] == ["interrupted"]


def test_a_pipe_gets_no_display_even_with_forced_colours(seekwise):
    (seekwise.folder / "s.toml").write_text(SIMULATED)
    done = seekwise("run", "s.toml")
    assert "\x1b" not in done.stderr and "repetition 1 of 20" in done.stderr


def test_displays_are_made_in_one_place():
    """rich's `Live`, `Progress` with a display of its own, `status` and `track` would each bring the redirection back."""
    for file in Path(package.__file__).parent.rglob("*.py"):
        if file.name != "_display.py":
            text = file.read_text(encoding="utf-8")
            assert not re.search(
                r"^(?!.*TYPE_CHECKING)from rich\.(live|status) import|\bwith Progress\(|\.status\(\"",
                text,
                re.MULTILINE,
            ), file
