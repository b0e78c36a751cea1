"""Options that few use: each does what its line says."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from tests import simulated_study

from seekwise.cli import apply
from seekwise.cli.main import cli
from seekwise.errors import RefusedError
from seekwise.linux.setters.assignment import Setter
from seekwise.settings import conflicts
from seekwise.settings.asked import Asked

FOREIGN = Path(__file__).parents[1] / "importing/files"


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Calls `seekwise` on a database of its own; what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))

    def call(*words: str) -> str:
        done = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return call


def test_the_threshold_of_tune_is_that_of_rates_and_twice_that_of_times(called):
    words = ("tune", "model:wd2500ys", "--for", "queries-and-log", "--seed", "1", "--threshold", "20%", "--json")
    uses = json.loads(called(*words))["uses"]
    found = {(each["metric"], each["threshold"]) for each in uses if each["role"] == "foreground"}
    assert {("rate", 0.2), ("p99", 0.4)} <= found


def test_figures_of_a_run_are_a_line_per_operation_threads_and_setting(called, tmp_path):
    (tmp_path / "small.toml").write_text(simulated_study.text(ios=20, repetitions=3))
    called("run", "small.toml")
    shown = called("results", "last", "--figures")
    assert "95 % interval" in shown.splitlines()[2]
    lines = [line for line in shown.splitlines() if line.startswith("Random read ") and "bfq" in line]
    assert len(lines) == 2 and all(" to " in line for line in lines)


def test_files_of_another_tool_get_the_names_that_are_given(called):
    files = [str(FOREIGN / name) for name in ("fio-none.1.json", "fio-bfq.1.json")]
    called("import", *files, "--setting", "left", "--setting", "right")
    records = json.loads(called("results", "last", "--json"))["records"]
    assert {each["setting"] for each in records} == {"left", "right"}


def test_the_kind_of_a_controller_is_told_from_what_its_writes_cost_the_host(called):
    runs = []
    for system in ("md", "hardware"):
        called("run", "fake-raid", "--system", system, "--seed", "1", "--budget", "30s")
        runs.append(json.loads(called("results", "last", "--json"))["run_id"])
    (kind,) = [
        each for each in json.loads(called("results", *runs, "--json"))["findings"] if each["kind"] == "controller"
    ]
    assert kind["numbers"]["kind"] == "hardware" and min(kind["numbers"]["efficiency"]) > 2


def test_an_anonymised_capture_holds_no_serial(called, tmp_path):
    machine = tmp_path / "machine"
    with tarfile.open(Path(__file__).parents[1] / "machines/md-raid10-degraded.tar.gz") as tar:
        tar.extractall(machine)
    serials = set()
    for words in ((), ("--anonymise",)):
        called("capture", "machine.tar.gz", "--root", str(machine), *words)
        shown = json.loads(called("devices", "--root", "machine.tar.gz", "--json"))
        serials.add(tuple(each.get("serial") for each in shown["devices"] if each.get("serial")))
    plain, hidden = sorted(serials, key=str)
    assert plain and hidden and not set(plain) & set(hidden)


@pytest.fixture
def recorded(monkeypatch):
    """What a recording is taken to be; `asked` of it whether it was to be anonymised."""
    from seekwise.trace.record import recorder

    taken = SimpleNamespace(
        cpu_seconds=0.0, seconds=1.0, requests=0, dropped=0, notes=SimpleNamespace(sentences=[]), asked=[]
    )

    def record(device, seconds, out, *, anonymise, tell):
        taken.asked.append(anonymise)
        return taken

    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(recorder, "device_of", lambda name: SimpleNamespace(name=name))
    monkeypatch.setattr(recorder, "record", record)
    monkeypatch.setattr("seekwise.cli.record._name", lambda target: target)
    monkeypatch.setattr(
        "seekwise.linux.failure.Watched.check", lambda storage, said: None
    )  # this machine may have no sda
    return taken


def test_a_recording_is_anonymised_when_that_is_asked_for(called, recorded):
    shown = [json.loads(called("record", "sda", "--for", "1s", "--json", *words)) for words in ((), ("--anonymise",))]
    assert recorded.asked == [False, True]
    assert [each["device"] for each in shown] == ["sda", ""]


@pytest.mark.parametrize(
    ("requests", "last"), [(0, "Nothing used it: record again under load."), (3, "next: seekwise ")]
)
def test_the_next_line_shows_a_recording_only_where_there_is_something_to_show(requests, last, called, recorded):
    recorded.requests, recorded.notes.sentences = requests, ["One.", "Two."]
    said = called("record", "sda", "--for", "1s").splitlines()
    assert "One." in said and "Two." in said
    assert said[-1].startswith(last), said


def setter(**given) -> Setter:
    told = {"kind": "script", "file": "/etc/rc.local", "line": 3, "device": "sda", "attribute": "queue/scheduler"}
    return Setter(**{**told, "value": "none", "rank": (9,), **given})


def test_settings_that_something_overrides_are_set_only_when_that_is_accepted(monkeypatch):
    done = []
    wanted = {"sda": {"queue/scheduler": "bfq"}}
    lost = conflicts.Conflict(**vars(setter()), ours="bfq", overrides_ours=True)
    monkeypatch.setattr(apply.asked, "by_hand", lambda *_: Asked(wanted, "by hand"))
    monkeypatch.setattr(apply.asked, "check_values", lambda *_: None)
    monkeypatch.setattr(apply, "_files", lambda *_: [])
    monkeypatch.setattr(apply.conflicts, "find", lambda *_: [lost])
    monkeypatch.setattr(apply, "_set", lambda what, *_: done.append(what.wanted))
    monkeypatch.setattr(apply, "_print", lambda *_: None)
    words = ["apply", "--device", "sda", "--set", "scheduler=bfq", "--persist", "udev"]
    refused = CliRunner().invoke(cli, words)
    assert isinstance(refused.exception, RefusedError) and "/etc/rc.local" in refused.exception.message
    assert "--accept-conflicts" in refused.exception.hint and done == []
    taken = CliRunner().invoke(cli, [*words, "--accept-conflicts"], catch_exceptions=False)
    assert taken.exit_code == 0 and "would not stay" in taken.stderr and done == [wanted]


def test_the_command_of_a_controllers_own_tool_is_printed(monkeypatch):
    change = SimpleNamespace(command=("tw_cli", "/c0/u0", "set", "qpolicy=off"), unknown=None)
    monkeypatch.setattr(apply.asked, "by_hand", lambda *_: Asked({}, "by hand", controller={"sda": {"ncq": False}}))
    monkeypatch.setattr(apply.controllers, "units", lambda _: {"sda": None})
    monkeypatch.setattr(apply.controllers, "read", lambda _: None)
    monkeypatch.setattr(apply.controllers, "change", lambda *_: change)
    shown = CliRunner().invoke(cli, ["apply", "--device", "sda", "--set", "ncq=off"], catch_exceptions=False)
    assert "tw_cli /c0/u0 set qpolicy=off" in shown.stdout and "run that as root" in shown.stderr
