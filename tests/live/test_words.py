"""What the terminal and the page say of noise: no finer than it is known, and of whom it was."""

import math
from dataclasses import replace

import pytest

from report.sample_live import live_outcome
from seekwise.judge.outcome import notes
from seekwise.report.metric_words import open_bound


@pytest.mark.parametrize(
    ("high", "more_is_better", "text"),
    [
        (0.38, True, "open, at most 38 % less"),
        (2.1, False, "open, at most 3.1 times longer"),
        (989_000.0, False, "open, no useful bound"),
        (0.995, True, "open, no useful bound"),
        (math.inf, False, "open, no useful bound"),
    ],
)
def test_a_bound_that_says_nothing_is_not_printed(high, more_is_better, text):
    assert open_bound(high, more_is_better) == text


def test_other_programs_are_named_once_and_only_those_of_disturbed_periods():
    found = live_outcome()
    calm, first, second, *rest = found.records
    records = [
        replace(
            calm, conditions={**calm.conditions, "other_programs": [{"name": "bash", "pid": 4, "io_bytes": 99_000_000}]}
        ),
        replace(
            first,
            conditions={
                **first.conditions,
                "foreign_share": 0.5,
                "other_programs": [{"name": "cp", "pid": 7, "io_bytes": 2_000_000}],
            },
        ),
        replace(
            second,
            conditions={
                **second.conditions,
                "foreign_share": 0.4,
                "other_programs": [{"name": "cp", "pid": 7, "io_bytes": 3_500_000}, "old (pid 9, 9.9 MB)"],
            },
        ),
        *rest,
    ]
    (said,) = [text for text in notes(replace(found, records=records)) if text.startswith("Other programs")]
    assert ": cp (pid 7, 5.5 MB);" in said
    assert "bash" not in said
