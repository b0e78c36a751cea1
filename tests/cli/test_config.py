"""The user's defaults: kept in one file, never ignored when they are wrong."""

import json
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="XDG folders")


@pytest.fixture
def home(seekwise, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "seekwise" / "config.toml"


def test_without_a_file_it_says_where_it_would_be(seekwise, home):
    assert seekwise("config").stdout.strip() == f"{home} (not there: no defaults are set)"


def write(home, text: str) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    home.write_text(text)


def test_what_the_file_says_is_shown(seekwise, home):
    write(home, 'colour = "never"\n[tune]\nbudget = "5m"\n[compare]\nfail-if = ["regression", "undecided"]\n')
    assert seekwise("config").stdout.splitlines()[1:] == [
        "colour = never",
        "compare.fail-if = regression undecided",
        "tune.budget = 5m",
    ]
    assert json.loads(seekwise("config", "--json").stdout)["settings"]["tune"] == {"budget": "5m"}


def test_a_default_of_a_command_counts_unless_the_command_line_says_otherwise(seekwise, home):
    # `explain` prints JSON only where it is asked to.
    write(home, "[explain]\njson = true\n")
    assert json.loads(seekwise("explain", "bfq").stdout)["word"] == "bfq"
    home.unlink()
    assert not seekwise("explain", "bfq").stdout.startswith("{")


def test_the_database_of_the_configuration_is_used_and_the_option_wins(seekwise, home, tmp_path):
    write(home, f'db = "{tmp_path / "mine.db"}"\n')
    error = seekwise.refused("export", "last", status=2)
    assert "mine.db" in error
    error = seekwise.refused("export", "last", "--db", "other.db", status=2)
    assert "other.db" in error


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tune\n", "config.toml"),
        ("flavour = 1\n", "`flavour` is unknown"),
        ("colour = 3\n", "must be auto"),
        ("[explain]\ncolour = true\n", "has no option `--colour`"),
    ],
)
def test_a_file_that_was_spoilt_by_hand_is_one_error(seekwise, home, text, says):
    write(home, text)
    assert says in seekwise.refused("explain", "bfq", status=2)


def test_quiet_leaves_results_and_takes_progress(seekwise, home):
    study = seekwise.folder / "s.toml"
    study.write_text(
        'name = "q"\nbackend = "simulated"\n[[system]]\nname = "d"\ndrive = "wd2500ys"\n[settings]\nscheduler = ["noop", "deadline"]\n'
        '[host]\nkernel = "2.6.24"\n[[workload]]\noperations = ["rand_read"]\nruntime = "100ms"\n[design]\nblocks = 2\n'
    )
    loud = seekwise("run", str(study), status=None)
    quiet = seekwise("--quiet", "run", str(study), status=None)
    assert quiet.returncode == loud.returncode
    assert "block 1 of 2" in loud.stderr or loud.returncode != 0, loud.stderr
    assert "block 1 of 2" not in quiet.stderr
