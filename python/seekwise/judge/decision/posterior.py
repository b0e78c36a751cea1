"""What is to be expected of every setting in every figure of a run: all of them estimated together.

    place = level of the entry + θ,   θ ~ Σ_c w_c Normal(0, τ_c²) + Σ_c w'_c Normal(g, τ_c² + s²)

Most settings do about the same and a few do something else altogether, so θ is a mixture of scales, narrow and wide: a
small difference is drawn towards nothing, a large one stays large (Stephens 2017, Biostatistics 18(2)). g ± s is what
the setting does in general, by the other uses of the same purpose and by programs that were measured elsewhere
(`priors.py`). The weights belong to a setting and are learned over all figures of one kind of work, from a prior that counts for
a few entries: this is what protects many comparisons at once (Gelman, Hill and Yajima 2012, J. Research on Educational
Effectiveness 5(2)). How well a place is known follows a t distribution, played by a few points.

Closed form but for the level, which is summed over a grid; then `DRAWS` draws with a fixed seed, so that sums, maxima
and ratios of anything are read off directly. Figures of one use and purpose share their luck, as the same periods
brought them.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seekwise import special
from seekwise.grouping import grouped
from seekwise.judge.decision.effects import Effects

Array = NDArray[np.float64]

SCALES_LOG = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1.0])
GENERAL_SCALES_LOG = np.array([0.01, 0.03, 0.1])
"""Of what a setting does to one use beyond what it does in general."""
GENERAL_SHARES = (0.12, 0.12, 0.06)
GENERAL_USES_LEAST = 2
"""Other uses that tell what a setting does in general."""
SETTINGS_LEAST = 3
"""Of a figure, for the middle one to be what most do, where others have so many: of two, each lies as far from it as
the other."""
ELSEWHERE_ODDS = 4.0
"""So many times the odds that a setting does what it does in general, where programs elsewhere tell: with it two of
three such figures follow them."""
EM_STEPS = 5
NOISE_BORDERS = np.array([0.0, 0.01, 0.05, 0.17, 0.45, 0.77, 1.0])
"""Shares of the distribution of the true variance, each played by its middle: narrow ones where it is far larger than
seen, as that is where a t distribution has its tails."""
NOISE_SHARES = np.diff(NOISE_BORDERS)
NOISE_POINTS = len(NOISE_SHARES)
LEVELS = 61
DRAWS = 2000
SEED = 20261127
COMPONENTS = len(SCALES_LOG) + len(GENERAL_SCALES_LOG)
STALL_CURVE_POINTS = 101
P_COMMON_STALLS = 0.7
"""Beforehand, that stalls come from outside and strike every setting alike."""


@dataclass(frozen=True)
class Elsewhere:
    """What a scheduler did to one program on another machine, as ln goodness against the middle of all schedulers
    there."""

    kind: str
    """Of work: waiting, background, alone."""
    setting: str
    program: str
    log: float
    variance: float


@dataclass(frozen=True)
class Prior:
    """Shares of the scales of `SCALES_LOG` among settings. `weight`: how many entries it counts for; 0: none is
    used."""

    shares: tuple[float, ...]
    weight: float
    source: str
    elsewhere: tuple[Elsewhere, ...] = ()


@dataclass(frozen=True)
class Figure:
    """One entry for the posterior."""

    settings: tuple[str, ...]
    effects: Effects
    use: str
    purpose: str
    kind: str = ""
    """Of work, where programs elsewhere tell of it: waiting, background, alone."""

    @property
    def luck(self) -> str:
        """Figures of one use and purpose come from the same periods and share their draws."""
        return f"{self.use}/{self.purpose}"


def draws(figures: Sequence[Figure], prior: Prior, count: int = DRAWS) -> list[Array]:
    """[draw, setting] ln goodness of each entry, up to a constant of the entry. Without a value: NaN."""
    places = [
        _Places.for_figure(observed, *general) if np.isfinite(observed.effects.error).any() else None
        for observed, general in zip(figures, _in_general(figures, prior.elsewhere), strict=True)
    ]
    # What a setting does not do to a database says nothing of a command beside a copy.
    weights = {
        kind: _weights([place for place in places if place is not None and place.figure.kind == kind], prior)
        for kind in {figure.kind for figure in figures}
    }
    return [
        np.full((count, len(figure.settings)), np.nan) if place is None else place.draws(weights[figure.kind], count)
        for figure, place in zip(figures, places, strict=True)
    ]


@dataclass(frozen=True)
class _Places:
    """Likelihood of one entry over levels, settings, scales and points of noise."""

    figure: Figure
    settings: tuple[str, ...]
    index: NDArray[np.intp]
    """Of the settings with values."""
    levels: Array
    likelihood: Array
    """[level, setting, scale, point]"""
    variance: Array
    """[setting, point] of the mean"""
    centre: Array
    """[setting, component] of the prior, beyond the level"""
    scale2: Array
    """[setting, component] variance of the prior"""

    @classmethod
    def for_figure(cls, figure: Figure, general: Array, general_variance: Array, told: frozenset[str]) -> _Places:
        """`general`: [setting] what each does in other uses, with its variance; infinite where nothing is known.
        `told`: settings of which programs elsewhere tell."""
        effects = figure.effects
        index = np.flatnonzero(np.isfinite(effects.mean) & np.isfinite(effects.error))
        mean, df = effects.mean[index], np.maximum(effects.df[index], 1.0)
        own = effects.variance[index] / np.maximum(effects.rounds[index], 1)
        rest = effects.error[index] - own
        q = (NOISE_BORDERS[1:] + NOISE_BORDERS[:-1]) / 2
        # σ² given s² is s² df / χ²(df).
        factor = df[:, None] / np.maximum(2 * special.gamma_quantiles(df / 2, q), 1e-3)
        variance = own[:, None] * factor + rest[:, None]
        margin = 2 * float(np.sqrt(variance.max()))
        levels = np.linspace(mean.min() - margin, mean.max() + margin, LEVELS)
        # Places themselves are levels too: in a table with one narrow group a grid would pass it by.
        levels = np.unique(np.concatenate([levels, mean]))
        known = np.isfinite(general_variance[index])
        centre, scale2 = np.zeros((len(index), COMPONENTS)), np.zeros((len(index), COMPONENTS))
        scale2[:, : len(SCALES_LOG)] = SCALES_LOG**2
        centre[:, len(SCALES_LOG) :] = np.where(known, general[index], 0.0)[:, None]
        scale2[:, len(SCALES_LOG) :] = GENERAL_SCALES_LOG**2 + np.where(known, general_variance[index], 0.0)[:, None]
        total = scale2[:, :, None] + variance[:, None, :]
        z2 = (mean[None, :, None, None] - levels[:, None, None, None] - centre[None, :, :, None]) ** 2 / total[None]
        likelihood = np.exp(-0.5 * np.minimum(z2, 1400)) / np.sqrt(total)[None]
        likelihood[:, ~known, len(SCALES_LOG) :] = 0.0
        likelihood[:, [figure.settings[i] in told for i in index], len(SCALES_LOG) :] *= ELSEWHERE_ODDS
        return cls(
            figure, tuple(figure.settings[i] for i in index), index, levels, likelihood, variance, centre, scale2
        )

    def level_shares(self, weights: Array) -> tuple[Array, Array]:
        """(posterior of the levels, [level, setting, scale] likelihood). `weights`: [setting, scale]."""
        by_scale = self.likelihood @ NOISE_SHARES
        log = np.log(np.maximum((by_scale * weights).sum(axis=2), 1e-300)).sum(axis=1)
        shares = np.exp(log - log.max()) * np.gradient(self.levels)
        return shares / shares.sum(), by_scale

    def responsibilities(self, weights: Array) -> Array:
        """[setting, scale]: probability that a setting's deviation is of this scale."""
        shares, by_scale = self.level_shares(weights)
        densities = by_scale * weights
        densities /= np.maximum(densities.sum(axis=2, keepdims=True), 1e-300)
        return np.tensordot(shares, densities, axes=1)

    def draws(self, weights: Mapping[str, Array], count: int) -> Array:
        effects, k = self.figure.effects, len(self.index)
        drawn = np.full((count, len(effects.mean)), np.nan)
        w = np.array([weights[name] for name in self.settings])
        shares, _ = self.level_shares(w)
        random = np.random.default_rng([SEED, zlib.crc32(self.figure.luck.encode())])
        level = np.searchsorted(np.cumsum(shares), random.random(count) * (1 - 1e-12))
        level = np.minimum(level, len(shares) - 1)
        component = self.likelihood * w[None, :, :, None] * NOISE_SHARES
        cumulated = np.cumsum(component.reshape(len(self.levels), k, -1), axis=2)
        cumulated /= np.maximum(cumulated[:, :, -1:], 1e-300)
        is_common = random.random(count) < _common_stalls(effects.stalls, effects.periods)
        for j, at in enumerate(self.index):
            # One luck for each setting by its name, so that figures with other settings beside it share it too.
            own = np.random.default_rng([SEED, zlib.crc32(f"{self.figure.luck}/{self.settings[j]}".encode())])
            u, z, u_stall = own.random(count), own.standard_normal(count), own.random(count)
            pick = (cumulated[level, j] < u[:, None]).sum(axis=1)
            pick = np.minimum(pick, cumulated.shape[2] - 1)
            which = pick // NOISE_POINTS
            tau2 = self.scale2[j, which]
            v = self.variance[j, pick % NOISE_POINTS]
            gain = tau2 / (tau2 + v)
            start = self.levels[level] + self.centre[j, which]
            middle = start + gain * (effects.mean[at] - start)
            drawn[:, at] = middle + np.sqrt(gain * v) * z
            drawn[:, at] += self._stall(at, u_stall, is_common)
        return drawn

    def _stall(self, at: int, u: Array, is_common: NDArray[np.bool_]) -> Array:
        """ln of what stalls leave of a setting's goodness on average; nothing apart where they strike every setting
        alike."""
        effects = self.figure.effects
        if not effects.stalls.any():
            return np.zeros(len(u))
        # The inverse at each draw would take most of a run's judging: its curve is smooth.
        at_shares = np.linspace(0.0, 1.0, STALL_CURVE_POINTS)
        stalls, periods = effects.stalls[at] + 0.5, effects.periods[at] - effects.stalls[at] + 0.5
        rate = np.interp(u, at_shares, special.beta_quantiles(stalls, periods, at_shares))
        known = effects.stalls > 0
        depth = float(effects.stall_depth[at] if effects.stalls[at] else effects.stall_depth[known].mean())
        return np.where(is_common, 0.0, np.log1p(-rate * (1 - depth)))


def _common_stalls(stalls: NDArray[np.intp], periods: NDArray[np.intp]) -> float:
    """Probability that stalls strike all settings at one rate, as a neighbour on the host does: of two models with
    Jeffreys' prior for each rate."""
    s, n = stalls[periods > 0], periods[periods > 0]
    alike = special.log_beta(0.5 + s.sum(), 0.5 + (n - s).sum()) - special.log_beta(0.5, 0.5)
    apart = float((special.log_beta(0.5 + s, 0.5 + n - s) - special.log_beta(0.5, 0.5)).sum())
    return special.logistic(math.log(P_COMMON_STALLS / (1 - P_COMMON_STALLS)) + float(alike) - apart)


def _weights(places: Sequence[_Places], prior: Prior) -> dict[str, Array]:
    """{setting: shares of the scales}, learned over all entries."""
    names = list(dict.fromkeys(name for place in places for name in place.settings))
    base = np.concatenate([np.array(prior.shares) * (1 - sum(GENERAL_SHARES)), GENERAL_SHARES])
    weights = dict.fromkeys(names, base)
    if prior.weight <= 0:
        return weights
    for _ in range(EM_STEPS):
        sums = dict.fromkeys(names, prior.weight * base)
        for place in places:
            seen = place.responsibilities(np.array([weights[name] for name in place.settings]))
            for j, name in enumerate(place.settings):
                sums[name] = sums[name] + seen[j]
        weights = {name: total / total.sum() for name, total in sums.items()}
    return weights


def _in_general(figures: Sequence[Figure], elsewhere: Sequence[Elsewhere]) -> list[tuple[Array, Array, frozenset[str]]]:
    """For each figure, by setting: (mean of what it does in other uses of the same purpose and kind of work, and to
    programs elsewhere, its variance), and the settings of which such programs tell. What a copy loses beside programs
    that wait says nothing of work that runs alone.

    Random effects (DerSimonian and Laird 1986, Controlled Clinical Trials 7(3)): what differs from use to use counts as
    such.
    """
    rows: dict[tuple[str, str, str], list[tuple[str, float, float]]] = {}
    least = min(SETTINGS_LEAST, max((len(observed.settings) for observed in figures), default=0))
    for observed in figures:
        mean, error = observed.effects.mean, observed.effects.error
        good = np.isfinite(mean) & np.isfinite(error)
        if good.sum() < max(2, least):
            continue
        middle = float(np.median(mean[good]))
        for j in np.flatnonzero(good):
            rows.setdefault((observed.purpose, observed.kind, observed.settings[j]), []).append(
                (observed.use, float(mean[j]) - middle, float(error[j]))
            )
    programs = grouped(((one.kind, one.setting), (one.program, one.log, one.variance)) for one in elsewhere)
    parts = []
    for figure in figures:
        mean, variance = np.zeros(len(figure.settings)), np.full(len(figure.settings), np.inf)
        for at, name in enumerate(figure.settings):
            others = [effect for effect in rows.get((figure.purpose, figure.kind, name), ()) if effect[0] != figure.use]
            others += programs.get((figure.kind, name), ())
            if len({use for use, _, _ in others}) >= GENERAL_USES_LEAST:
                mean[at], variance[at] = _random_effects(others)
        parts.append((mean, variance, frozenset(n for n in figure.settings if programs.get((figure.kind, n)))))
    return parts


def _random_effects(others: Sequence[tuple[str, float, float]]) -> tuple[float, float]:
    """(mean, variance) of what a setting does in a further use, by (use, what it does there, its variance)."""
    y, v = np.array([y for _, y, _ in others]), np.array([v for _, _, v in others])
    w = 1 / v
    centre = float((w * y).sum() / w.sum())
    spread = float((w * (y - centre) ** 2).sum()) - (len(y) - 1)
    between = max(0.0, spread / max(float(w.sum() - (w**2).sum() / w.sum()), 1e-12))
    w = 1 / (v + between)
    return float((w * y).sum() / w.sum()), float(1 / w.sum()) + between
