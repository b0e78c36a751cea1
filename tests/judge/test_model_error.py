"""The model's error by kind of figure, and what is alike for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seekwise.judge.decision.observed import judge_observations
from seekwise.judge.model_error import model_error
from seekwise.judge.observation import Observation
from seekwise.report.outcome import model_notes
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


def test_a_kind_has_figures_only_of_published_rows_and_its_interval_covers_those_left_out():
    kept = json.loads(PATH.read_text())
    kinds = kept["kinds"]
    assert set(KINDS.values()) <= kinds.keys()
    for kind, found in kinds.items():
        is_held = found["rows"] >= 5 and found["groups"] > 1
        # Groups that do not cover each other state none.
        assert ("interval" in found) == (is_held and kind not in ("chunk", "layout", "stripe cache")), kind
        assert 0.85 <= found.get("covered_left_out", 0.9) <= 0.95, kind
    # What was never published is told apart as all that was.
    assert "error" not in kinds["layout"]
    assert gain_error(("layout",)) == kept["all"]["error"]


def test_advice_says_what_was_held_against_measurements_and_what_was_not():
    interval = json.loads(PATH.read_text())["kinds"]["scheduler"]["interval"]
    compared = [
        {"scheduler": name, "layout": layout, "chunk_kib": 64} for name, layout in (("none", "n2"), ("bfq", "f2"))
    ]
    assert list(model_notes(compared)) == [
        f"9 of 10 published gains are within {1 + interval:.2g}× (scheduler) of simulated ones",
        "layout: the model has not been held against measurements here",
        "bfq: without control groups unless `options = { cgroup = true }` is set",
    ]
    assert list(model_notes([{"nomerges": 0}, {"nomerges": 2}])) == []


def test_where_two_things_differ_the_larger_error_counts():
    assert gain_error(("chunk_kib", "queue_depth")) == max(gain_error(("chunk_kib",)), gain_error(("queue_depth",)))
