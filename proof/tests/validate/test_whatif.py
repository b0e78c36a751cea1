"""This test will hold predictions from kept recordings against what a real kernel did, and refuse tables that cannot be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from seekwise_proof.validate import whatif

VECTORS = Path(__file__).resolve().parents[3] / "tests/vectors" / "whatif"


def test_the_kept_recordings_cover_what_is_required_and_fit():
    rows = whatif.parse((VECTORS / "measured.csv").read_text())
    assert len({row.use for row in rows}) >= 6 and any(row.use == "sqlite" for row in rows)
    assert len({row.storage.rsplit(".", 1)[0] for row in rows}) == 4
    assert {row.storage.rsplit(".", 1)[1] for row in rows} == {"single", "raid1", "raid5", "raid10"}
    assert {row.scheduler for row in rows} == {"none", "mq-deadline", "kyber", "bfq"}
    recorded = {path.stem for path in VECTORS.glob("*.swt")}
    assert recorded <= {row.run for row in rows}
    assert sum(path.stat().st_size for path in VECTORS.iterdir()) < 1_000_000


def test_predictions_meet_what_is_required_and_dependencies_pay_where_storage_changes():
    report = whatif.verify([VECTORS], {})
    found = report.agreement
    assert report.met, whatif.text(report)
    assert found["predictions"] >= 120
    for part in ("other_scheduler", "other_storage"):
        assert found[part]["closed"]["best_right"] >= 0.9 * found[part]["closed"]["best_of"]
    other = found["other_storage"]
    assert other["closed"]["rate"]["median_error"] < 0.2 * other["open"]["rate"]["median_error"]


def test_a_recording_predicts_nothing_of_itself_and_of_other_uses(tmp_path):
    path = next(iter(sorted(VECTORS.glob("sqlite@*.swt"))))
    rows = whatif.parse((VECTORS / "measured.csv").read_text())
    predicted = [each.measured.run for each in whatif.predict(path, rows)]
    others = {row.run for row in rows if row.use == "sqlite"} - {path.stem}
    assert len(others) >= 3 and set(predicted) == others
    assert all(run.startswith("sqlite@") for run in predicted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run,requests\n", "the header is not"),
        ("HEADER\nx@y,1,2,3,4\n", "line 2 is no row"),
        ("HEADER\na@b.single@none,1,2,0,4\n", "line 2 is no row"),
        ("HEADER\na@b.single@none,1,2,many,4\n", "line 2 is no row"),
        ("HEADER\na@nodrive.single@none,1,2,3,4\na@nodrive.single@bfq,1,2,3,4\n", "no drive model"),
    ],
)
def test_a_table_that_cannot_be_read_is_missed_and_said(tmp_path, text, said):
    (tmp_path / "measured.csv").write_text(text.replace("HEADER", ",".join(whatif.HEADER)))
    shutil.copy(next(iter(VECTORS.glob("*.swt"))), tmp_path / "a@nodrive.single@none.swt")
    report = whatif.verify([tmp_path], {})
    assert not report.met and report.total >= 1
    assert said in str(report.files[0].misses)
