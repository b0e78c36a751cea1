"""Names of figures."""

import pytest

from seekwise.report import metric_words
from seekwise.workload.study import uses


@pytest.mark.parametrize(
    ("unit", "many"),
    [("query", "queries"), ("pass", "passes"), ("search", "searches"), ("day", "days"), ("writers", "writers")],
)
def test_units_have_an_english_plural(unit, many):
    assert metric_words.plural(unit) == many


def test_units_of_shipped_uses_read_well():
    many = {metric_words.plural(use.unit) for use in uses.shipped() if use.unit}
    assert {"starts", "transactions", "queries"} <= many and not [
        each for each in many if each.endswith(("ys", "chs", "sss"))
    ]


def test_every_unit_of_a_job_has_a_noun():
    units = {
        (each.name, metric.job): metric.work
        for each in uses.shipped()
        for metric in each.metrics
        if metric.kind in ("time", "tail", "done")
    }
    assert all(units.values()), units
    assert units["file-server", "store"] == "stored file" and units["file-server", "fetch"] == "file"


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("raid_level=raid5", "RAID 5"),
        ("scheduler=bfq nr_requests=64", "bfq, nr requests 64"),
        ("read_ahead_kb=128", "read-ahead 128 KiB"),
        ("=", "="),
        ("undecided", "undecided"),
        ("mq-deadline", "mq-deadline"),
    ],
)
def test_labels_are_told_in_words(label, words):
    assert metric_words.shown_setting(label) == words
