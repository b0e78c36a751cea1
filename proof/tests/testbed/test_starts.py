"""Threads of a load start together, also where they use the guest's one processor up."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.store.database import Store

pytestmark = pytest.mark.timeout(900)

STUDY = """
name = "starts"
question = "?"

[[system]]
name = "null"
drive = "null"
options = { latency_us = 100 }

[[candidate]]
scheduler = "none"

[[workload]]
operations = ["rand_write"]
threads = [2, 16]
block_bytes = "64k"
size = "64m"
runtime = "60ms"
end_fsync = false

[design]
blocks = 1
control = false
sentinel = false
"""


def test_sixteen_writers_are_not_faster_than_the_processor_that_two_use_up(guest, tmp_path):
    guest("6.1")
    study, db = tmp_path / "s.toml", tmp_path / "r.db"
    study.write_text(STUDY)
    done = CliRunner().invoke(cli, ["lab", str(study), "--guests", "1", "--db", str(db)], standalone_mode=False)
    assert done.exception is None, done.output
    with Store.open(db, create=False) as store:
        records = list(store.records(store.runs()[0].run_id))
    # The order of trials is the seed's.
    records.sort(key=lambda record: "threads=16" in record.combination)
    two, sixteen = (phase for record in records for phase in record.phases)
    assert sixteen.rate_bytes_per_s < 1.1 * two.rate_bytes_per_s
    # Sixteen wait for each other: eight times as long as two do.
    assert sixteen.latency_mean_ns > 7 * two.latency_mean_ns
