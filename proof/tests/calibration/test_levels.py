"""What the judge promises holds in runs whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from seekwise_proof.calibration import units


@pytest.mark.parametrize("kind", units.KINDS)
def test_runs_without_a_difference_name_few(kind):
    """A difference that is none is named in 3 of 100 statements at most (`verify judgement`); more than 9 of 120 then happen 4 times in 1,000."""
    found = units.score(units.UnitDesign(kind, rounds=40, units=80.0), 60, np.random.default_rng(7))
    assert found.statements >= 120 and found.named <= 9 * found.statements / 120


def test_true_losses_are_found():
    found = units.score(
        units.UnitDesign("bursts", rounds=60, effects=(0.0, 0.0, math.log(1.5))), 20, np.random.default_rng(8)
    )
    assert found.found >= found.effects / 2
