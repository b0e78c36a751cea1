"""Where a scheduler's lock caps a drive: from a run on this machine where there is one, otherwise as shipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from seekwise.report.explain import caps, explain, with_own_figures
from seekwise.store.database import Run, Store
from seekwise.store.record import CpuSeconds, Phase, Record

RATES = {"none": 780_000, "mq-deadline": 470_000, "kyber": 775_000}


def record(number: int, setting: str, iops: int, *, use: str, provenance: str = "measured") -> Record:
    details = {} if provenance == "measured" else {"lock_wait_s": 0.1}
    phase = Phase("rand_read", 1.0, 4096 * iops, iops, {}, 1000.0, 1000, CpuSeconds(0.0, 1.0), details=details)
    factors = {"scheduler": setting, "use": use}
    return Record("r1", number, 0, f"use={use}", setting, factors, provenance, 1, "now", (phase,))


def records(use: str = "parallel-reads", provenance: str = "measured") -> list[Record]:
    return [
        record(place, name, iops, use=use, provenance=provenance) for place, (name, iops) in enumerate(RATES.items())
    ]


def kept(path: Path, made: list[Record], name: str) -> None:
    with Store.open(path) as store:
        store.add_run(
            Run("r1", "2026-01-01", "1", name, "kernel", "/srv", 1, "", {"uses": ["parallel-reads"]}, None, "complete")
        )
        for each in made:
            store.add(each)


def test_the_load_in_which_the_drive_did_most_tells_the_cap():
    slow = [record(10 + place, name, 50_000, use="parallel-reads-1") for place, name in enumerate(RATES)]
    found = caps.of_records([*slow, *records()])
    assert {name: (cap.rate, cap.without) for name, cap in found.items()} == {
        "mq-deadline": (470_000, 780_000),
        "kyber": (775_000, 780_000),
    }
    assert "mq-deadline ends at 470,000 requests per second, none at 780,000" in caps.sentence("mq-deadline", found)
    assert "kyber does not cap the drive" in caps.sentence("kyber", found)


def test_other_uses_and_runs_without_none_tell_nothing():
    assert caps.of_records(records(use="random-read")) == {}
    assert caps.of_records([each for each in records() if each.setting != "none"]) == {}


@pytest.mark.parametrize(
    ("provenance", "words"), [("measured", "Measured on this machine (run r1"), ("simulated", "Simulated (run r1")]
)
def test_explain_has_the_figures_of_this_machine_where_a_run_tells(tmp_path, monkeypatch, provenance, words):
    path = tmp_path / "records.db"
    monkeypatch.setenv("SEEKWISE_DB", str(path))
    assert "ended at about 475,000" in with_own_figures(explain("mq-deadline")).text
    kept(path, records(provenance=provenance), "tune")
    said = with_own_figures(explain("mq-deadline")).text
    assert words in said and "475,000" not in said and "470,000" in said
    assert "does not cap" in with_own_figures(explain("kyber")).text


def test_a_file_that_is_no_database_leaves_the_shipped_figures(tmp_path):
    path = tmp_path / "records.db"
    path.write_text("nothing")
    assert caps.newest(path) == {}
