"""Records for other programs."""

import csv
import io
import json
from dataclasses import replace

import pytest

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


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "  =1", "＝1", '=HYPERLINK("x")', "\n=1"]
)
def test_no_cell_of_csv_is_a_formula(text):
    record = replace(
        RECORD, factors={"name": text, text: "x"}, combination=text, invalid_reason=text, environment={"host": text}
    )
    out = io.StringIO(newline="")
    export.write_csv([record], out)
    rows = list(csv.reader(io.StringIO(out.getvalue(), newline="")))
    cells = [cell for row in rows for cell in row]
    shown = text.replace("\r", "\n")
    assert (shown if text.startswith("x") else f"'{shown}") in cells
    assert not any(cell.lstrip(" ").startswith(tuple("=+-@\t\r＝")) for cell in cells)


@pytest.mark.parametrize("text", ['x;=HYPERLINK("y")', "x; @SUM(1)", "a;b;-1+1", "x\t=1", "x\n=1", "x\r＝1", ";=1"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_cell_of_csv_is_a_formula_in_other_countries(text, separator):
    """A spreadsheet that takes a semicolon or a tab for what divides cells, as in most of Europe."""
    out = io.StringIO(newline="")
    export.write_csv([replace(RECORD, factors={"name": text, text: "x"}, combination=text)], out)
    cells = [cell for row in csv.reader(io.StringIO(out.getvalue(), newline=""), delimiter=separator) for cell in row]
    cells += [cell for line in out.getvalue().splitlines() for cell in line.replace('"', "").split(separator)]
    assert not any(cell.lstrip(" ").startswith(tuple("=+-@\t＝")) for cell in cells)


@pytest.mark.parametrize("value", [-1, -1.5, "-1", "+2.5", "-1e3"])
def test_numbers_of_csv_stay_numbers(value):
    out = io.StringIO()
    export.write_csv([replace(RECORD, factors={"n": value})], out)
    (row,) = csv.DictReader(io.StringIO(out.getvalue()))
    assert row["n"] == str(value)


def test_json_holds_everything_under_a_schema():
    out = io.StringIO()
    export.write_json(RUN, [RECORD], out)
    document = json.loads(out.getvalue())
    assert document["schema"] == "seekwise.export/1"
    assert document["records"][0]["schema"] == "seekwise.record/1"
    assert document["records"][0]["phases"][0]["latency_bins"] == {"100000": 1000, "200000": 950, "5000000": 3}
