"""Starting is cheap: the list of commands loads none of them, an explanation loads no statistics and no validation."""

import os
import subprocess
import sys
import time

import click
import pytest

from seekwise.cli import main
from seekwise.control import journal

HEAVY = ("numpy", "pydantic", "sqlite3")
PROBE = """
import sys
from seekwise.cli.main import cli
try:
    cli(sys.argv[1:], standalone_mode=False)
except SystemExit:
    pass
print(",".join(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def loaded(*words, tmp_path):
    environment = {**os.environ, "SEEKWISE_STATE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *words], capture_output=True, text=True, check=True, timeout=60, env=environment
    )
    return set(done.stderr.strip().splitlines()[-1].split(","))


def test_the_list_of_commands_loads_no_command(tmp_path):
    found = loaded("--help", tmp_path=tmp_path)
    assert not found & {*HEAVY, "rich"}


def test_an_explanation_loads_neither_statistics_nor_validation(tmp_path):
    assert not loaded("explain", "bfq", tmp_path=tmp_path) & {*HEAVY}
    assert not loaded("explain", "chunk", tmp_path=tmp_path) & {*HEAVY}


@pytest.mark.parametrize("name", ["apply", "revert", "status"])
def test_setting_values_loads_neither_statistics_nor_studies(name, tmp_path):
    """Two seconds of numpy and pydantic at each start, and as much memory as a small server has to spare."""
    assert not loaded(name, "--help", tmp_path=tmp_path) & (set(HEAVY) - {"sqlite3"})


def test_summaries_read_from_the_files_are_those_of_the_commands():
    group = main.cli
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert click.Command(name, help=main.docstring(name)).get_short_help_str(60) == command.get_short_help_str(
            60
        ), name
        assert main.docstring(name), name


def test_the_glance_at_the_journal_sees_what_the_journal_sees(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path))
    folder = journal.Journal().folder
    folder.mkdir()
    (folder / ".lock").touch()
    assert not main.something_left()
    (folder / f"1{journal.SUFFIX}").touch()
    assert main.something_left()


@pytest.mark.slow
def test_starts_are_within_their_times(tmp_path):
    """Of twenty starts the fastest counts, by processor time, and nearly by the clock: what the machine did beside is not the program's."""
    # `explain` reads the user's runs, of which there may be many.
    environment = {**os.environ, "SEEKWISE_STATE": str(tmp_path), "SEEKWISE_DB": str(tmp_path / "records.db")}
    for words, allowed_s in ((["--help"], 0.15), (["explain", "bfq"], 0.2)):
        clock_s, processor_s = [], []
        for _ in range(20):
            before, used = time.perf_counter(), os.times()
            subprocess.run(
                [sys.executable, "-m", "seekwise.cli.main", *words],
                check=True,
                stdout=subprocess.DEVNULL,
                env=environment,
            )
            after = os.times()
            clock_s.append(time.perf_counter() - before)
            processor_s.append(after.children_user + after.children_system - used.children_user - used.children_system)
        assert min(processor_s) < allowed_s, words
        assert min(clock_s) < 5 * allowed_s, words
