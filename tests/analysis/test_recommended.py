"""These tests will recommend a setting only where nothing speaks against it, steady or not."""

from __future__ import annotations

from types import SimpleNamespace

from seekwise.analysis.model import Verdict
from seekwise.report import outcome


def verdict(metric: str, winner: str | None, low: float, high: float, unsteady: tuple[str, ...] = ()) -> Verdict:
    """`new` against `old`."""
    word = "clear" if winner else "undecided"
    return Verdict("t", "seq_read", metric, "new", "old", winner, word, (low * high) ** 0.5, low, high, 0.01, 3, None, "1", unsteady=unsteady)  # fmt: skip


PLAN = SimpleNamespace(
    reference="old",
    backend="simulated",
    systems=[None],
    cells=[],
    settings=[
        SimpleNamespace(label="old", control=False, values={}),
        SimpleNamespace(label="new", control=False, values={}),
    ],
)
WIN = verdict("p99", "new", 0.4, 0.5)


def chosen(*verdicts: Verdict) -> str | None:
    found = outcome.recommended(verdicts, PLAN)
    return None if found is None else found[0].label


def test_what_wins_somewhere_and_loses_nowhere_is_recommended():
    assert chosen(WIN) == "new"
    assert chosen(WIN, verdict("rate", None, 0.9, 1.2, ("old",))) == "new"


def test_half_the_rate_against_a_setting_that_was_not_steady_speaks_against_it():
    assert chosen(WIN, verdict("rate", None, 0.25, 0.5, ("old",))) is None
    assert chosen(WIN, verdict("access_time", None, 2.0, 3.0, ("old",))) is None


def test_chance_in_one_of_many_comparisons_does_not():
    assert chosen(WIN, verdict("rate", None, 0.97, 0.99)) == "new"
