"""A plug-in that is installed and cannot be imported takes nothing else with it: older versions stay behind on machines."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

GONE, BROKEN = "ncqx", "tuneup"
"""A command whose module is missing, and one whose module asks for what is not there any more. Each resembles a word that is asked for."""


@pytest.fixture
def stale(tmp_path):
    """Runs the program with a stale distribution installed beside it."""
    info = tmp_path / "oldplug-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: oldplug\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(
        f"[seekwise.commands]\n{GONE} = oldplug.gone:command\n{BROKEN} = oldplug.broken:command\n"
        "[seekwise.studies]\nolder = oldplug_studies\n[seekwise.backends]\nlab = oldplug.gone:Backend\n"
    )
    (tmp_path / "oldplug").mkdir()
    (tmp_path / "oldplug/__init__.py").write_text("")
    (tmp_path / "oldplug/broken.py").write_text("from seekwise.errors import NoLongerThere\n")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        places = {"SEEKWISE_STATE": str(tmp_path / "state"), "XDG_DATA_HOME": str(tmp_path), "PYTHONPATH": path}
        return subprocess.run(
            [sys.executable, "-m", "seekwise.cli.main", *words],
            env={**os.environ, **places},
            text=True,
            capture_output=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(("name", "words"), [(GONE, ["NAME"]), (BROKEN, ["NAME", "--help"]), (GONE, ["help", "NAME"])])
def test_typing_a_stale_command_is_one_sentence_and_a_hint(stale, name, words):
    done = stale(*(name if word == "NAME" else word for word in words))
    error, hint = done.stderr.strip().split("\n\n")
    assert done.returncode == 4 and not done.stdout
    assert name in error and "oldplug" in error and "\n" not in error
    assert "pip install --force-reinstall oldplug" in hint


def test_it_is_left_out_of_lists_suggestions_and_explanations(stale):
    whole = stale("help", "--all")
    assert whole.returncode == 0 and GONE not in whole.stdout and BROKEN not in whole.stdout
    assert stale("--help").returncode == 0
    for words in (["ncqxx"], ["explain", "tuneupp"], ["help", "ncqxx"]):
        done = stale(*words)
        assert done.returncode == 2, words
        assert f"`{GONE}`" not in done.stderr and f"`{BROKEN}`" not in done.stderr, words
    assert stale("explain", "ncqq").stderr.endswith("did you mean `ncq`?\n")
    assert stale("explain", "tune").returncode == 0
