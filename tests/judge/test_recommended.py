"""These tests will recommend a setting only where nothing speaks against it, steady or not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from seekwise.judge import Observation, judge_observations
from seekwise.judge.records import exact_note
from seekwise.judge.study_outcome import decided, recommended

PLAN = SimpleNamespace(
    reference="old",
    backend="simulated",
    systems=[None],
    combinations=[],
    settings=[
        SimpleNamespace(label="old", control=False, values={}),
        SimpleNamespace(label="new", control=False, values={}),
    ],
)
COMBINATION = "seq_read"


def values(metric: str, ratio: float, noise: float = 0.01) -> list[Observation]:
    """`new` at this ratio to `old`, in eight repetitions."""
    rng = np.random.default_rng(7)
    return [
        Observation("t", COMBINATION, repetition, name, metric, 1e6 * true * float(np.exp(rng.normal(0, noise))))
        for repetition in range(8)
        for name, true in (("new", ratio), ("old", 1.0))
    ]


WIN = values("p99", 0.45)


def chosen(observations: list[Observation], unsteady: str | None = None) -> str | None:
    restless = {(COMBINATION, unsteady): "not steady"} if unsteady else {}
    judged = judge_observations(observations, unsteady=restless)
    found = recommended(decided(judged, PLAN).choice, PLAN)
    return None if found is None else found.label


def test_what_wins_somewhere_and_loses_nowhere_is_recommended():
    assert chosen(WIN) == "new"
    assert chosen([*WIN, *values("rate", 1.03, 0.05)]) == "new"


def test_half_the_rate_against_a_setting_that_was_not_steady_speaks_against_it():
    assert chosen([*WIN, *values("rate", 0.35)], "old") is None
    assert chosen([*WIN, *values("access_time", 2.5)], "old") is None


def test_chance_in_one_of_many_comparisons_does_not():
    assert chosen([*WIN, *values("rate", 0.98, 0.002)]) == "new"


def test_one_simulated_repetition_decides_and_says_why():
    once = [each for each in [*WIN, *values("rate", 1.0, 0.0)] if each.repetition == 0]
    exact, measured = judge_observations(once, exact=True), judge_observations(once)
    assert recommended(decided(exact, PLAN).choice, PLAN).label == "new"
    assert recommended(decided(measured, PLAN).choice, PLAN) is None
    assert "without statistics" in exact_note(exact)[0]
    assert exact_note(measured) == [] and exact_note(judge_observations(WIN, exact=True)) == []
