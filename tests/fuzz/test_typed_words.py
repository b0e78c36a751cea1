"""The little languages of options: patterns, facts, settings, names, amounts, as a person types them or a script passes them on."""

from __future__ import annotations

from pathlib import Path

import pytest

from seekwise import drive_names
from seekwise.cli import _tune_live
from seekwise.errors import SeekwiseError, UsageError
from seekwise.importing.result import parse_given
from seekwise.linux.stack import read_stack
from seekwise.measure.live import candidates, own
from seekwise.settings import asked
from seekwise.store.database import Run, Store
from seekwise.workload.study import parse, uses
from seekwise.workload.study.quantity import NotAllowed, parse_bytes, parse_seconds

from .mutation import counts, every

OUTPUT = "tps = 12.5 (including connections)\n" * 40 + "a" * 200
STACK = read_stack(Path(__file__).parents[1] / "machines/sata-ncq.tar.gz")
DISK = next(name for name, device in STACK.devices.items() if device.schedulers_offered)


def metric(text: str) -> None:
    own.number_of(own.pattern_of(text), OUTPUT)


def setting(text: str) -> None:
    asked.check(asked.by_hand((f"/dev/{DISK}",), (text,), STACK).wanted, STACK)


def amount(text: str) -> None:
    for read in (parse_bytes, parse_seconds):
        try:
            read(text)
        except NotAllowed as error:
            assert str(error)


SAMPLES = {
    "--metric": (metric, r"less:(?:tps|rate)\s*=\s*([0-9.]+){1,20}(?i:k|m)?(?P<unit>[a-z]*)$"),
    "--given": (lambda text: parse_given((text, "threads=8")), "random-operations=12,block=4k"),
    "--vary": (lambda text: candidates.parse_vary((text,)), "read_ahead_kb=128,1024,-1"),
    "--set": (setting, "iosched/read_expire=500"),
    "--set scheduler": (setting, "scheduler=mq-deadline"),
    "--set ncq": (setting, "ncq=off"),
    "model": (drive_names.find, "model:Samsung 980 Pro 1.5 TB/preconditioned"),
    "amount": (amount, "1.5 MiB 700ms"),
    "--guard": (_tune_live.guard_factor, "3.25x"),
    "--for": (uses.chosen, "desktop-copy,database,limits"),
}


@pytest.mark.parametrize("name", SAMPLES)
@counts
def test_words_of_options(name, count, monkeypatch):
    read, sample = SAMPLES[name]
    monkeypatch.setattr(own, "SEARCH_S", 0.3)
    every(sample.encode(), lambda data: read(data.decode(errors="replace")), count)


@pytest.mark.parametrize(
    "pattern", ["(" * 3000 + "a" + ")" * 3000, "(a{99999999999999999999})", "(a)**", "(" + "a|" * 9000]
)
def test_a_pattern_that_is_none_is_an_error(pattern):
    with pytest.raises(UsageError, match="no regular expression"):
        own.pattern_of(pattern)


@pytest.mark.parametrize("value", ["²", "9" * 5000, "-", "--1", "1e999"])
def test_a_number_that_is_none_is_an_error(value):
    with pytest.raises(UsageError):
        candidates.parse_vary((f"read_ahead_kb={value}",))


STUDY = """
name = {name}
[[system]]
name = {name}
drive = "wd2500ys"
[settings]
scheduler = ["none", "mq-deadline"]
[[workload]]
operations = ["rand_read"]
runtime = "200ms"
size = "4m"
"""


@counts
def test_names_of_studies_and_runs(count, tmp_path):
    """Kept, found again and shown as what they are."""
    import json

    with Store.open(tmp_path / "r.db") as store:

        def read(data: bytes) -> None:
            name = data.decode(errors="replace")
            study = parse.loads(STUDY.format(name=json.dumps(name)), "fuzz")
            run = Run.begun(study.name, "simulated", {"study": study.name, "name": name}, seed=1)
            store.add_run(run)
            assert store.run(run.run_id).name == study.name
            for each in (name, name[:3]):
                try:
                    store.run(each)
                except SeekwiseError as error:
                    assert error.message
            store._connection.execute("DELETE FROM run")

        every(b"raid5-64k_old \xe2\x80\xae (2)", read, count)
