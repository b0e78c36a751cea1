"""Everything that `--json` prints is what its schema says, and every schema that a command names exists."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner
from tests import schemas as checking

from seekwise.cli import schemas
from seekwise.cli.main import cli
from seekwise.errors import Exit, UsageError

ROOT = Path(__file__).resolve().parents[2]
MACHINE = ROOT / "tests" / "machines" / "smartpqi-gen10"
STUDY = """
name = "small"
[[system]]
name = "disk"
drive = "wd2500ys"
kernel = "2.6.24"
[settings]
scheduler = ["noop", "cfq"]
[[workload]]
operations = ["rand_read", "seq_read"]
size = "64m"
block_bytes = "64k"
direct = true
runtime = "1s"
[design]
blocks = 3
"""
FOREIGN = ROOT / "tests" / "importing" / "files"


@pytest.fixture
def printed(tmp_path, monkeypatch):
    """Runs a command and returns the document that it prints."""
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> dict:
        done = CliRunner().invoke(cli, [*words, "--json"], standalone_mode=False, obj={})
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        document = json.loads(done.stdout)
        checking.check(document)
        return document

    return call


def test_every_schema_is_one_and_says_what_prints_it():
    assert schemas.names() == sorted(schemas.DOCUMENTS)
    for name in schemas.names():
        schema = schemas.load(name)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert "`" in schema["description"] or name == "seekwise.record/1", name
        assert schema["title"] == name


def test_a_schema_is_found_by_a_short_name_and_a_wrong_one_gets_a_suggestion():
    assert schemas.load("tune") == schemas.load("seekwise.tune/1")
    with pytest.raises(UsageError) as raised:
        schemas.load("tuen")
    assert raised.value.hint == "did you mean `tune`?" and raised.value.exit_status == Exit.USAGE


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "bfq"),
        ("explain", "wd2500ys"),
        ("explain", "9650se-2lp"),
        ("explain", "SEEKWISE_DB"),
        ("explain",),
        ("devices",),
        ("devices", "--root", str(MACHINE)),
        ("status", "--root", str(MACHINE)),
        ("doctor", "--root", str(MACHINE)),
        ("results",),
        ("revert", "--dry-run"),
        ("run", "queue-depth", "--dry-run", "--backend", "simulated", "--target", "exos_x18"),
        ("run", "raid-levels", "--setup"),
        ("apply", "--device", "sdb", "--set", "scheduler=none", "--print", "udev", "--for-capture", str(MACHINE)),
    ],
    ids=" ".join,
)
def test_a_document_is_what_its_schema_says(printed, words):
    if words == ("results",):
        printed("import", str(FOREIGN / "sysbench-rndrd.txt"))
    printed(*words)


def test_a_run_from_its_trials_to_its_page(printed, tmp_path):
    (tmp_path / "small.toml").write_text(STUDY)
    found = printed("run", "small.toml", "--backend", "simulated", "--seed", "5")
    assert found["schema"] == "seekwise.results/2" and found["records"]
    again = printed("run", "small.toml", "--backend", "simulated", "--seed", "6")
    printed("results", found["run_id"])
    printed("report", found["run_id"])
    printed("advise", found["run_id"])
    printed("advise", found["run_id"], "--for", "database")
    printed("compare", found["run_id"], again["run_id"])
    exported = CliRunner().invoke(cli, ["export", found["run_id"]], standalone_mode=False, obj={})
    checking.check(json.loads(exported.stdout))


def test_imported_results(printed):
    for name in ("fio-none.1.json", "sysbench-rndrd.txt"):
        assert printed("import", str(FOREIGN / name))["provenance"] == "measured"
