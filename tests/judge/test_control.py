"""The A/A control: one setting under two labels."""

from __future__ import annotations

import numpy as np

from seekwise.judge import Observation
from seekwise.judge.control import judge_control


def study(gap: float) -> list[Observation]:
    rng = np.random.default_rng(1)
    return [
        Observation("t", f"c{c}", b, name, "rate", float(1e8 * np.exp(effect + rng.normal(0, 0.01))))
        for c in range(12)
        for b in range(5)
        for name, effect in (("x", 0.0), ("x (control)", gap), ("y", 0.5))
    ]


def test_a_setting_does_not_beat_itself() -> None:
    report = judge_control(study(0.0))
    assert (report.comparisons, report.wins_false) == (12, 0)
    assert {pair.settings for pair in report.pairs} == {("x", "x (control)")}
    assert "0 false differences in 12 comparisons" in report.text


def test_a_broken_set_up_shows_in_the_control() -> None:
    report = judge_control(study(0.3))
    assert report.wins_false == 12
    assert {pair.winner for pair in report.pairs} == {"x (control)"}


def test_labels_of_ones_own_may_be_named() -> None:
    assert judge_control(study(0.0), control=("x", "y")).wins_false == 12


def test_no_control_is_said() -> None:
    assert judge_control([]).text == "no A/A check in this study"
