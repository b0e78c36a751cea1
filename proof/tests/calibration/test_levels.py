"""What the judge promises holds in runs whose truth is known."""

from __future__ import annotations

import math

import numpy as np

from seekwise_proof.calibration import units


def test_runs_without_a_difference_name_few():
    """Over every kind 5 % of the statements name a difference that is none (bursts alone: 9 %); more than 72 of 960 are as good as never then."""
    found = sum(
        (
            units.score(units.UnitDesign(kind, rounds=40, units=80.0), 60, np.random.default_rng(7))
            for kind in units.KINDS
        ),
        units.UnitScore(),
    )
    assert found.statements == 960 and found.named <= 72


def test_true_losses_are_found():
    found = units.score(
        units.UnitDesign("bursts", rounds=60, effects=(0.0, 0.0, math.log(1.5))), 20, np.random.default_rng(8)
    )
    assert found.found >= found.effects / 2
