"""What is printed commands no terminal, and an output that is gone, full or closed is one error."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from seekwise.cli import _output
from seekwise.store.database import Run, Store, now

HOSTILE = "a[/red]b\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\r\x08[bold]"


def test_control_characters_are_shown_and_line_feeds_stay():
    assert _output.safe("a\x1b[2Jb\n\tc\x9b\x7f\u202e\udcff") == "a\\x1b[2Jb\n\tc\\x9b\\x7f\\u202e\\udcff"
    assert _output.safe("Größe ≥ 4 µs ✓") == "Größe ≥ 4 µs ✓"


def test_our_own_colours_pass_and_those_in_a_name_do_not():
    from rich.table import Table

    raw = io.StringIO()
    console = _output.console(force_terminal=True, width=200)
    console.file = _output.Guarded(raw, "standard output")
    table = Table(title=HOSTILE)
    table.add_column("Name", style="red")
    table.add_row(HOSTILE)
    console.print(table)
    console.print(HOSTILE, style="bold")
    text = raw.getvalue()
    assert "\x1b[31m" in text and "a[/red]b\\x1b[2J" in text and "[bold]" in text
    codes = set(re.findall("\x1b(.{1,4}?[a-zA-Z\\]])", text))
    assert all(code.endswith("m") for code in codes), codes
    assert not set(text) & {"\x07", "\x9b", "\u202e", "\r", "\x08"}


def test_nobody_prints_past_the_guard():
    package = Path(_output.__file__).parents[1]
    for file in package.rglob("*.py"):
        text = file.read_text()
        if file.name != "_output.py":
            assert not re.search(r"^\s*(?!if TYPE_CHECKING).*\bConsole\(", text, re.MULTILINE), (
                f"{file}: make consoles by cli._output.console"
            )


@pytest.fixture
def hostile_db(tmp_path) -> Path:
    path = tmp_path / "records.db"
    with Store.open(path) as store:
        store.add_run(Run("r1", now(), "0", HOSTILE, "kernel", HOSTILE, 1, "", {}, None, HOSTILE))
    return path


def run(*words: str, tmp_path: Path, **more) -> subprocess.CompletedProcess:
    environment = {**os.environ, "SEEKWISE_STATE": str(tmp_path / "state"), "FORCE_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "seekwise.cli.main", *words],
        capture_output=True, env=environment, check=False, timeout=60, **more,
    )  # fmt: skip


def test_a_runs_name_cannot_break_the_list_of_runs(hostile_db, tmp_path):
    done = run("results", "--db", str(hostile_db), tmp_path=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"\x1b[2J" not in done.stdout and b"\x1b]0" not in done.stdout and b"[/red]" in done.stdout


def test_an_error_with_a_hostile_name_is_one_line_without_commands(tmp_path):
    done = run("run", "no\x1b[2J\nerror: forged", tmp_path=tmp_path)
    assert done.returncode == 2
    assert b"\x1b" not in done.stderr and done.stderr.count(b"\nerror: ") == 0


def shell(line: str, tmp_path: Path) -> subprocess.CompletedProcess:
    environment = {**os.environ, "SEEKWISE_STATE": str(tmp_path / "state")}
    program = f"{sys.executable} -m seekwise.cli.main"
    return subprocess.run(
        ["bash", "-c", line.replace("seekwise", program)],
        capture_output=True, text=True, env=environment, check=False, timeout=60, cwd=tmp_path,
    )  # fmt: skip


@pytest.mark.parametrize("line", ["seekwise explain ncq >/dev/full", "seekwise explain ncq >&-"])
def test_an_output_that_takes_nothing_is_an_error(tmp_path, line):
    done = shell(line, tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("error: cannot write to standard output") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("line", ["seekwise explain nothing 2>&-", "seekwise explain nothing 2>/dev/full"])
def test_without_standard_error_the_status_still_tells(tmp_path, line):
    done = shell(line, tmp_path)
    assert done.returncode == 2 and done.stdout == "" and done.stderr == ""


def test_without_standard_input_output_and_error_no_file_takes_their_place(tmp_path):
    done = shell(f"seekwise results --db {tmp_path}/none.db <&- >&- 2>&-", tmp_path)
    assert done.returncode == 2


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    done = shell("seekwise explain ncq | true; exit ${PIPESTATUS[0]}", tmp_path)
    assert done.returncode == 0 and done.stderr == ""


def test_a_working_folder_that_is_gone_is_one_error(tmp_path):
    done = shell("mkdir gone; cd gone; rmdir ../gone; seekwise run x.toml", tmp_path)
    assert done.returncode in (1, 2) and done.stderr.startswith("error: ") and "Traceback" not in done.stderr


def test_a_fault_of_ours_is_one_line_and_a_file_with_the_rest(tmp_path):
    code = (
        "import sys, seekwise.cli.main as m\n"
        "def fails(*a, **k): raise ZeroDivisionError('nobody thought of it')\n"
        "m.cli.main = fails\nm.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("error: seekwise has a fault (ZeroDivisionError: nobody thought of it)")
    details = Path(re.search(r"details are in (\S+)", done.stderr)[1])
    assert "Traceback" in details.read_text()
    assert details.stat().st_mode & 0o777 == 0o600
    details.unlink()


def test_a_run_goes_on_when_its_reader_goes_away(tmp_path):
    study = tmp_path / "s.toml"
    study.write_text(
        'name = "small"\nbackend = "simulated"\n[[system]]\nname = "d"\ndrive = "wd2500ys"\n[settings]\n'
        'scheduler = ["none", "mq-deadline"]\n[[workload]]\noperations = ["rand_read"]\nruntime = "200ms"\nsize = "4m"\n'
        "[design]\nblocks = 2\n"
    )
    done = shell(f"seekwise run {study} --db {tmp_path}/r.db | head -1; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert done.returncode == 0, done.stderr
    with Store.open(tmp_path / "r.db", create=False) as store:
        (found,) = store.runs()
        assert found.outcome == "complete" and store.count(found.run_id)[0] > 0
