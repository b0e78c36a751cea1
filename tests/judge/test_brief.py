"""Shortened records give the verdicts, notes and findings of whole ones, in a fraction of the memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from click.testing import CliRunner
from tests import simulated_study

from seekwise.cli.main import cli
from seekwise.report import of_run
from seekwise.store import codec
from seekwise.store.database import Store

STUDY = simulated_study.text(operations=("rand_read", "seq_read"), threads=(1, 8), ios=2500, size="256m")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("brief")
    (folder / "study.toml").write_text(STUDY)
    words = ["run", str(folder / "study.toml"), "--db", str(folder / "x.db")]
    assert CliRunner().invoke(cli, words, standalone_mode=False, obj={}).exception is None
    with Store.open(folder / "x.db") as opened:
        yield opened


def test_everything_that_is_said_is_the_same(store) -> None:
    run = store.run("last")
    whole, brief = of_run.of_runs(store, run), of_run.of_runs(store, run, brief=True)
    assert any(verdict.metric == "p99" for verdict in whole.verdicts)
    assert brief.verdicts == whole.verdicts
    for part in ("advice", "notes", "findings", "control"):
        assert getattr(brief.content, part) == getattr(whole.content, part), part


def test_records_in_short_take_a_fourth_of_the_memory_at_most(store) -> None:
    taken = []
    for brief in (False, True):
        tracemalloc.start()
        kept = list(store.records(store.run("last").run_id, brief=brief))
        taken.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert len(kept) > 30
    assert taken[1] < taken[0] / 4


def test_a_histogram_of_other_requests_than_the_phase_stays(store) -> None:
    record = next(record for record in store.records(store.run("last").run_id))
    first, *others = record.phases
    odd = replace(record, phases=(replace(first, ios=first.ios + 1), *others))
    found = codec.Brief().decode(codec.encode(odd))
    assert found.phases[0].latency_bins == first.latency_bins and not found.phases[0].reported_percentiles_ns
    assert not codec.Brief().decode(codec.encode(record)).phases[0].latency_bins
