"""What a change costs is said against what it replaces, not against the best of all."""

import math

import pytest

from seekwise.analysis.decision.verdicts import Judged, Standing, share
from seekwise.report.answer import _greatest_cost


def judged(metric, more, threshold, **factors):
    """{setting: (verdict, times behind the best)}"""
    standings = tuple(
        Standing(name, word, 1.0, share(math.log(factor), more), 0.0, None, 20, factor)
        for name, (word, factor) in factors.items()
    )
    unit = "MB/s" if more else "ms"
    return Judged("copy", metric, unit, more, threshold, "foreground", "desktop", "Copy", standings, 20, 0.1)


def test_a_loss_that_both_have_is_no_price():
    tail = judged("p99", False, 0.1, now=("worse", 140.0), new=("worse", 136.0), bfq=("best", 1.0))
    assert _greatest_cost("new", "now", [tail]) is None


def test_the_price_is_what_is_lost_beyond_the_setting_in_force():
    rate = judged("rate", True, 0.05, now=("worse", 1.1), new=("worse", 2.2), other=("best", 1.0))
    tail = judged("p99", False, 0.1, now=("best", 1.0), new=("worse", 1.5))
    entry, lost = _greatest_cost("new", "now", [tail, rate])
    assert entry.metric == "rate"
    assert lost == pytest.approx(0.5)


def test_what_is_not_shown_to_be_worse_costs_nothing():
    assert (
        _greatest_cost("new", "now", [judged("rate", True, 0.05, now=("within", 1.0), new=("undecided", 1.4))]) is None
    )
