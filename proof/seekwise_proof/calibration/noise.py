"""Simulated studies: many tables of combinations with known true differences, and noise of many kinds.

Modelled:      spread of noise over combinations (all alike, mildly or very different, a few noisy ones), tails (normal,
               Laplace, Student t with 3 degrees of freedom, slow outliers), one setting noisier than the others, luck
               common to a repetition, drift along the run with the order inside each repetition at random.
Not modelled:  noise that depends on the size of the effect; memory from one trial to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seekwise.judge.grid import ValueGrid

Array = NDArray[np.float64]
Spread = Literal["equal", "mild", "strong", "log_uniform", "few_noisy"]
Tail = Literal["normal", "laplace", "student3", "outliers", "slow_outliers"]


@dataclass(frozen=True)
class NoiseDesign:
    """One kind of table."""

    combinations: int = 60
    repetitions: int = 5
    settings: int = 2
    metric: str = "rate"
    noise_median: float = 0.03
    """Median over combinations of the standard deviation of ln value."""
    spread: Spread = "mild"
    tail: Tail = "normal"
    first_setting_noise: float = 1.0
    """The first setting is so many times as noisy as the others."""
    repetition_luck: float = 0.01
    """Standard deviation of what all settings of a repetition share."""
    drift: float = 0.0
    """From first to last trial of a combination."""
    effect_share: float = 0.0
    """Share of combinations in which settings differ."""
    effect_min: float = 0.03
    effect_max: float = 0.15


@dataclass(frozen=True)
class Truth:
    """`log_effect[combination, setting]`: differences of these are the true ln ratios."""

    log_effect: Array


def noise_by_combination(design: NoiseDesign, rng: np.random.Generator) -> Array:
    """Standard deviation of ln value in each combination."""
    n = design.combinations
    if design.spread == "equal":
        shape = np.ones(n)
    elif design.spread == "mild":
        # The model that borrowing assumes: 1/σ² ~ χ²(10).
        shape = np.sqrt(10 / rng.chisquare(10, n))
    elif design.spread == "strong":
        shape = np.sqrt(4 / rng.chisquare(4, n))
    elif design.spread == "log_uniform":
        shape = np.exp(rng.uniform(-1.1, 1.1, n))
    else:
        shape = np.where(rng.random(n) < 0.1, 6.0, 0.8)
    return design.noise_median * shape


def errors(design: NoiseDesign, rng: np.random.Generator) -> Array:
    """Noise [combination, repetition, setting] on the log scale."""
    size = (design.combinations, design.repetitions, design.settings)
    if design.tail == "laplace":
        unit = rng.laplace(size=size) / np.sqrt(2)
    elif design.tail == "student3":
        unit = rng.standard_t(3, size=size) / np.sqrt(3)
    else:
        unit = rng.normal(size=size)
    e = unit * noise_by_combination(design, rng)[:, None, None]
    e[:, :, 0] *= design.first_setting_noise
    # Five runs in a hundred are 10 to 40 % off.
    if design.tail == "outliers":
        e += (rng.random(size) < 0.05) * rng.choice([-1, 1], size) * rng.uniform(0.1, 0.4, size)
    elif design.tail == "slow_outliers":
        e -= (rng.random(size) < 0.05) * rng.uniform(0.1, 0.4, size)
    position = rng.permuted(np.broadcast_to(np.arange(design.settings), size).copy(), axis=2)
    trial = (np.arange(design.repetitions)[None, :, None] * design.settings + position) / (
        design.repetitions * design.settings
    )
    luck = rng.normal(0, design.repetition_luck, (design.combinations, design.repetitions, 1))
    noise: NDArray[np.float64] = e + luck + design.drift * trial
    return noise


def truth(design: NoiseDesign, rng: np.random.Generator) -> Truth:
    """Which combinations have a difference: one setting of such a combination differs from the others."""
    effect = np.zeros((design.combinations, design.settings))
    has = rng.random(design.combinations) < design.effect_share
    size = np.log1p(rng.uniform(design.effect_min, design.effect_max, design.combinations)) * rng.choice(
        [-1, 1], design.combinations
    )
    effect[np.arange(design.combinations), rng.integers(0, design.settings, design.combinations)] = np.where(
        has, size, 0.0
    )
    return Truth(effect)


def study(design: NoiseDesign, rng: np.random.Generator, name: str = "t") -> tuple[ValueGrid, Truth]:
    """One table of one metric, as observations would have made it."""
    true = truth(design, rng)
    log_values = 18.0 + true.log_effect[:, None, :] + errors(design, rng)
    return grid(log_values, design.metric, name), true


def grid(log_values: Array, metric: str, name: str = "t") -> ValueGrid:
    """Complete data [combination, repetition, setting] under invented names."""
    combinations, repetitions, settings = log_values.shape
    return ValueGrid(
        table=name,
        metric=metric,
        combinations=tuple(f"cell {i}" for i in range(combinations)),
        repetitions=tuple(range(repetitions)),
        settings=tuple(f"setting {i}" for i in range(settings)),
        log_values=log_values,
        asked=np.ones((combinations, settings), dtype=bool),
    )


def mixture(count: int, rng: np.random.Generator, **fixed: object) -> Sequence[NoiseDesign]:
    """Designs drawn from everything that real studies may look like; `fixed` overrides."""
    tails: tuple[Tail, ...] = ("normal", "normal", "laplace", "student3", "outliers", "slow_outliers")
    spreads: tuple[Spread, ...] = ("equal", "mild", "strong", "log_uniform", "few_noisy")
    designs = []
    for _ in range(count):
        design = NoiseDesign(
            combinations=int(rng.choice([6, 12, 20, 40, 60])),
            repetitions=int(rng.choice([3, 4, 5, 6, 8])),
            settings=int(rng.choice([2, 2, 3, 4])),
            metric=str(rng.choice(["rate", "access_time", "cpu_efficiency", "p99"])),
            noise_median=float(np.exp(rng.uniform(np.log(0.01), np.log(0.10)))),
            spread=spreads[rng.integers(len(spreads))],
            tail=tails[rng.integers(len(tails))],
            first_setting_noise=float(rng.choice([1.0, 1.0, 2.0, 3.0])),
            repetition_luck=float(rng.choice([0.0, 0.02, 0.05])),
            drift=float(rng.choice([-0.1, 0.0, 0.0, 0.05])),
        )
        designs.append(replace(design, **fixed))  # type: ignore[arg-type]
    return designs
