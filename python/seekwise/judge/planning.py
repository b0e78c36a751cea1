"""Before the run: how many repetitions and minutes it takes to decide.

Answers "about 12 minutes to decide 95 % of the combinations at 5 %": with noise as assumed (from an A/A control or earlier runs of the
same storage where there are any), after how many repetitions a difference of 5 % is found, or its absence shown, in 95 % of the combinations.
Noise differs from combination to combination as in `moderate.py`; the noisy ones decide how long it takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from seekwise.judge.grid import fit, grids
from seekwise.judge.observation import Observation
from seekwise.judge.rule import ROUNDS_MIN

ALPHA, LEVEL, LOOKS = 0.05, 0.03, (3, 5, 8)
NOISE_SD_DEFAULT = 0.03
"""Standard deviation of ln value when nothing is known: what the literature's studies of disks and SSDs centre on
(Maricq et al., OSDI 2018, report coefficients of variation from below 1 % to above 10 %)."""
D0_DEFAULT = 10.0
"""How alike the combinations' noise is thought to be (prior degrees of freedom)."""
REPETITIONS_MAX = 200


@dataclass(frozen=True)
class Forecast:
    """What a study will probably need."""

    NAMES: ClassVar = {"repetitions": "blocks"}

    repetitions: int
    """Repetitions after which the wanted share of the combinations is decided; `REPETITIONS_MAX` means that or more."""
    minutes: float
    share: float
    difference_share: float
    noise_sd: float
    noise_from: str
    decided_share_by_look: dict[int, float]

    @property
    def text(self) -> str:
        """As printed by `run --dry-run`."""
        more = "more than " if self.repetitions >= REPETITIONS_MAX else "about "
        return (
            f"{more}{_minutes_text(self.minutes)} ({self.repetitions} repetitions) to decide {100 * self.share:.0f} % of the combinations "
            f"to within {100 * self.difference_share:g} %, if the noise is {100 * self.noise_sd:.2g} % ({self.noise_from})"
        )


def forecast(
    *,
    combinations: int,
    settings: int,
    trial_seconds: float,
    noise_sd: float = NOISE_SD_DEFAULT,
    noise_from: str = "assumed",
    difference_share: float = 0.05,
    share: float = 0.95,
) -> Forecast:
    """For so many `combinations`, of `settings` settings each; `noise_sd` on the log scale, of one trial."""
    needed = next(
        (n for n in range(ROUNDS_MIN, REPETITIONS_MAX) if decided_share(n, noise_sd, difference_share) >= share),
        REPETITIONS_MAX,
    )
    return Forecast(
        repetitions=needed,
        minutes=needed * combinations * settings * trial_seconds / 60,
        share=share,
        difference_share=difference_share,
        noise_sd=noise_sd,
        noise_from=noise_from,
        decided_share_by_look={look: decided_share(look, noise_sd, difference_share) for look in LOOKS},
    )


def _minutes_text(minutes: float) -> str:
    return (
        f"{minutes:.0f} minutes" if minutes >= 1.5 else "1 minute" if minutes >= 0.5 else f"{60 * minutes:.0f} seconds"
    )


def _chi2_quantile(share: np.ndarray | float) -> np.ndarray:
    """Of the chi-squared distribution with `D0_DEFAULT` degrees of freedom, without half a second for loading `scipy.stats`."""
    return 2 * special.gammaincinv(D0_DEFAULT / 2, share)


def decided_share(repetitions: int, noise_sd: float, difference_share: float) -> float:
    """Share of combinations in which a difference of this size is shown, or no difference is shown to be smaller.

    The lower of the two powers, averaged over the noise of the combinations.
    """
    delta = math.log1p(difference_share)
    # Combinations' standard deviations at 199 equal shares of their distribution.
    at = (np.arange(199) + 0.5) / 199
    sd = noise_sd * math.sqrt(2) * np.sqrt(_chi2_quantile(0.5) / _chi2_quantile(at))
    df = repetitions - 1 + D0_DEFAULT
    se = sd / math.sqrt(repetitions)
    # Half of the table decided: two-stage correction leaves about the level itself for half of the hypotheses.
    shown = special.stdtr(df, delta / se - special.stdtrit(df, 1 - LEVEL / 2))
    equal = np.clip(2 * special.stdtr(df, delta / se - special.stdtrit(df, 1 - ALPHA)) - 1, 0, 1)
    return float(np.minimum(shown, equal).mean())


def noise_sd(observations: Sequence[Observation], metric: str = "rate") -> float | None:
    """Typical noise of one trial in earlier observations: root of the median residual variance over combinations; None if unknown."""
    variances = []
    for grid in grids(o for o in observations if o.metric == metric):
        for values in grid.log_values:
            errors, df = fit(values)
            if df > 0:
                variances.append(float(np.nansum(errors**2)) / df)
    return math.sqrt(float(np.median(variances))) if variances else None
