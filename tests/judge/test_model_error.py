"""The model's error by kind of figure, and what is alike for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seekwise.judge.decision.observed import judge_observations
from seekwise.judge.model_error import model_error
from seekwise.judge.observation import Observation
from seekwise.simulate.gain_error import KINDS, PATH, gain_error

FIGURES = Path(__file__).parents[2] / "docs" / "figures.json"


@pytest.mark.parametrize("metric", ["rate", "access_time", "p99"])
def test_the_errors_are_those_that_the_check_keeps(metric):
    kept = {row["metric"]: row["p90_error"] for row in json.loads(FIGURES.read_text())["ladder"]["agreement"]}
    assert model_error(metric) == pytest.approx(kept[metric], rel=0.05)


@pytest.mark.parametrize(("metric", "ratio", "word", "within"), [("p99", 1.3, "same", True), ("p99", 3.0, "worse", False), ("rate", 1.03, "same", True), ("rate", 1.2, "better", False), ("rate", 1.0, "same", False)])  # fmt: skip
def test_simulated_settings_that_differ_by_less_than_the_model_can_tell_are_alike(metric, ratio, word, within):
    rows = [Observation("t", "c", 1, name, metric, value) for name, value in (("a", 1e6), ("b", 1e6 * ratio))]
    (judged,) = judge_observations(rows, base="a", exact=True)
    standing = judged.standing("b")
    assert (standing.verdict, standing.is_within_model) == (word, within)


def test_every_kind_that_arrays_are_chosen_by_has_an_error_from_published_rows():
    kept = json.loads(PATH.read_text())["kinds"]
    assert kept.keys() == set(KINDS.values())
    assert all(0 < each["error"] < 1 for each in kept.values())
    # What was never published is not surer than all that was.
    assert len({each["error"] for each in kept.values() if each["rows"] == 0}) == 1


def test_where_two_things_differ_the_larger_error_counts():
    assert gain_error(("chunk_kib", "queue_depth")) == max(gain_error(("chunk_kib",)), gain_error(("queue_depth",)))
