"""Records for other programs."""

import csv
import io
import json
from dataclasses import replace

from seekwise.store import export

from .test_database import RECORD, RUN


def test_csv_has_a_line_per_phase_with_factors_as_columns():
    out = io.StringIO()
    export.write_csv([RECORD], out)
    (row,) = csv.DictReader(io.StringIO(out.getvalue()))
    assert row["scheduler"] == "bfq"
    assert row["operation"] == "rand_read"
    assert float(row["rate_bytes_per_s"]) == 4e6
    assert float(row["cpu_efficiency_mb_per_s"]) == 8 / 0.25
    assert row["latency_p50_ns"] == "100000"


def test_csv_names_the_machine_of_each_run_and_keeps_runs_of_two_hosts_apart():
    disks = {
        "host": "a",
        "kernel": "6.1.0",
        "devices": [{"name": "sda", "model": "X", "firmware": "1"}, {"name": "sdb", "model": "X", "firmware": None}],
    }
    first = replace(RECORD, run_id="1", environment=disks)
    later = replace(RECORD, run_id="1", environment={"load_average": 0.5})
    other = replace(RECORD, run_id="2", environment={"host": "b"})
    out = io.StringIO()
    export.write_csv([first, later, other], out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    columns = ("run_id", "host", "kernel", "device", "model", "firmware")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("1", "a", "6.1.0", "sda+sdb", "X", "1"),
        ("1", "a", "6.1.0", "sda+sdb", "X", "1"),
        ("2", "b", "", "", "", ""),
    ]


def test_json_holds_everything_under_a_schema():
    out = io.StringIO()
    export.write_json(RUN, [RECORD], out)
    document = json.loads(out.getvalue())
    assert document["schema"] == "seekwise.export/1"
    assert document["records"][0]["schema"] == "seekwise.record/1"
    assert document["records"][0]["phases"][0]["latency_bins"] == {"100000": 1000, "200000": 950, "5000000": 3}
