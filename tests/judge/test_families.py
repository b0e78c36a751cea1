"""Corrections for many comparisons, against SciPy and a worked example."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from seekwise.judge.families import benjamini_hochberg, holm, two_stage


@pytest.mark.parametrize("m", [1, 2, 7, 60])
def test_benjamini_hochberg_equals_scipy(m: int) -> None:
    p = np.random.default_rng(m).uniform(size=m) ** 2
    np.testing.assert_allclose(benjamini_hochberg(p), stats.false_discovery_control(p, method="bh"), rtol=1e-12)


def test_benjamini_hochberg_finds_the_four_of_its_own_paper() -> None:
    # Benjamini & Hochberg 1995, section 3.2: fifteen endpoints, four rejected at 0.05 (three by Bonferroni).
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1.0,
    ]
    assert int((benjamini_hochberg(p) <= 0.05).sum()) == 4
    assert int((holm(p) <= 0.05).sum()) == 3


def test_holm_by_hand() -> None:
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])


def test_a_comparison_without_p_is_not_a_hypothesis() -> None:
    np.testing.assert_allclose(benjamini_hochberg([0.01, np.nan, 0.04]), [0.02, np.nan, 0.04])
    np.testing.assert_allclose(holm([0.01, np.nan, 0.04]), [0.02, np.nan, 0.04])


def test_two_stage_by_its_definition() -> None:
    # Benjamini, Krieger & Yekutieli 2006, definition 6: first stage at q' = q/(1+q) finds r1; second stage is
    # Benjamini-Hochberg at q' m / (m - r1).
    rng = np.random.default_rng(8)
    for level in (0.022, 0.05):
        for _ in range(50):
            p = np.concatenate([rng.uniform(size=20), rng.uniform(size=20) ** 6 * 0.1])
            first = level / (1 + level)
            q = stats.false_discovery_control(p, method="bh")
            r1 = int((q <= first).sum())
            expected = q <= first * len(p) / (len(p) - r1)
            np.testing.assert_array_equal(two_stage(p, level) <= level, expected)


def test_two_stage_on_nothing_but_chance_is_stricter_than_plain() -> None:
    p = np.linspace(0.2, 1, 30)
    assert (two_stage(p, 0.05) >= benjamini_hochberg(p)).all()
