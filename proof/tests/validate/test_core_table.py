"""Schedulers on fast drives with many cores: `verify rates` knows the table, counts its points and names what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seekwise import document
from seekwise_proof.validate import _core_table, rates

DATA = Path(__file__).parents[3] / "tests/vectors" / "nvme-many-cores"
HEADER, *ROWS = (DATA / "given.csv").read_text().splitlines()


def _table(folder: Path, rows: list[str]) -> Path:
    path = folder / "given.csv"
    path.write_text("\n".join([HEADER, *rows, ""]))
    return path


def test_one_core_under_each_scheduler_gives_three_points_a_row_and_an_order(tmp_path: Path) -> None:
    rows = [row for row in ROWS if "one core" in row and ",128,4096," in row and "kyber targets" not in row]
    report = rates.verify([_table(tmp_path, rows)], {})
    (file,) = report.files
    schedulers = len([row for row in rows if ",none," not in row])
    assert file.total == 3 * schedulers + 2 * (len(rows) - schedulers)
    assert file.passed >= 0.9 * file.total, file.misses
    assert file.orders.total >= 1
    assert file.orders.passed == file.orders.total
    assert set(file.kinds) == {"throughput", "throughput relative to none", "p99", "p99 relative to none"}
    assert report.required == _core_table.CoreTable.BAR
    json.dumps(document.printed(report))


def test_a_byte_order_mark_and_line_ends_of_other_systems_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "given.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([HEADER, ROWS[0], ""]).encode())
    assert rates.verify([path], {}).total == 2


@pytest.mark.parametrize("text", ["", "quelle,cores\n1,2\n"])
def test_a_table_of_no_known_header_names_those_that_are(tmp_path: Path, text: str) -> None:
    path = tmp_path / "given.csv"
    path.write_text(text)
    (miss,) = rates.verify([path], {}).files[0].misses
    assert "`kernel,target,array,…`" in miss and "`source,cores,devices,processes,…`" in miss


def test_a_row_that_agrees_with_nothing_is_missed_and_says_by_how_much(tmp_path: Path) -> None:
    row = next(row for row in ROWS if row.startswith("processes and depth,10,1,4,64,"))
    values = row.split(",")
    values[HEADER.split(",").index("iops")] = "99000000"
    report = rates.verify([_table(tmp_path, [",".join(values)])], {})
    assert report.passed < report.total == 2
    assert not report.met
    assert "throughput measured 99000000" in report.files[0].misses[0]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("scheduler", "abacus", "line 2: there is no scheduler `abacus`"),
        ("depth", "-4", "line 2: depth is `-4`"),
        ("operation", "sleep", "line 2: operation is `sleep`"),
        ("iops", "", "line 2: iops is ``"),
        ("block_bytes", "700", "line 2: block_bytes is `700`"),
        ("cores", "0", "line 2: cores is `0`"),
    ],
)
def test_a_malformed_row_is_one_error_that_names_the_line(tmp_path: Path, column: str, value: str, said: str) -> None:
    values = next(row for row in ROWS if row.startswith("processes and depth,")).split(",")
    values[HEADER.split(",").index(column)] = value
    report = rates.verify([_table(tmp_path, [",".join(values)])], {})
    (miss,) = report.files[0].misses
    assert said in miss
    assert report.passed == 0
