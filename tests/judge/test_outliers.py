"""Outliers are flagged by their residual, never by their level, and never dropped."""

from __future__ import annotations

import numpy as np
import pytest

from seekwise.judge import Observation, judge, remarks
from seekwise.judge.outliers import MAD_TO_SD, median_polish, outliers
from seekwise.store.record import CpuSeconds, Phase, Record


def test_a_slow_run_is_flagged_with_its_place_and_still_judged() -> None:
    rng = np.random.default_rng(6)
    observations = [
        Observation("t", f"c{c}", b, s, "rate", float(1e8 * np.exp(0.3 * c + 0.1 * b + rng.normal(0, 0.01))))
        for c in range(12)
        for b in range(5)
        for s in ("a", "b")
    ]
    slow = next(i for i, o in enumerate(observations) if (o.combination, o.repetition, o.setting) == ("c3", 2, "b"))
    o = observations[slow]
    observations[slow] = Observation(o.table, o.combination, o.repetition, o.setting, o.metric, o.value * 0.6)
    flagged = outliers(observations)
    # As in the textbook (Iglewicz & Hoaglin 1993).
    assert pytest.approx(0.6745, abs=1e-4) == MAD_TO_SD
    # A repetition of two has two residuals of equal size: both trials of the pair stand out.
    assert {(f.combination, f.repetition) for f in flagged[:2]} == {("c3", 2)}
    assert len(flagged) < 12
    assert next(pair for pair in judge(observations) if pair.figure.use == "c3").standing.rounds == 5


def test_median_polish_by_hand() -> None:
    # repetition + setting exactly, and one value off by 5.
    values = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 9.0], [3.0, 4.0, 5.0]])
    np.testing.assert_allclose(median_polish(values), [[0, 0, 0], [0, 0, 5], [0, 0, 0]], atol=1e-12)


def test_quiet_noise_is_rarely_flagged() -> None:
    rng = np.random.default_rng(9)
    for repetitions in (3, 5, 8):
        observations = [
            Observation("t", f"c{c}", b, s, "rate", float(np.exp(rng.normal(0, 0.03))))
            for c in range(60)
            for b in range(repetitions)
            for s in ("a", "b", "c")
        ]
        assert len(outliers(observations)) < 0.05 * len(observations)


@pytest.mark.parametrize(("off", "named"), [(0.999, False), (0.8, True)])
def test_what_stands_apart_by_less_than_counts_is_not_named(off: float, named: bool) -> None:
    """Runs of a simulator agree to a hair; one that is off by a thousandth stands apart of them, and says nothing."""
    rng = np.random.default_rng(12)
    made = []
    for repetition in range(5):
        for setting in ("a", "b", "c"):
            throughput = (
                1e8 * float(np.exp(rng.normal(0, 0.00001))) * (off if (repetition, setting) == (2, "b") else 1.0)
            )
            phase = Phase(
                "seq_read", 1.0, round(throughput), 4000, {1000: 4000}, 1e14 / throughput, 1000, CpuSeconds(0.0, 0.1)
            )
            made.append(Record("r", len(made), repetition, "threads=1", setting, {}, "measured", 1, "now", (phase,)))
    assert any("outliers (kept)" in line for line in remarks(made)) == named
