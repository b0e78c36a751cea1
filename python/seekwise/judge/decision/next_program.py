"""What a setting does to the next program of a kind: one that nobody measured.

A unit is one program of its kind, and the next one is another. With τ the standard deviation between programs of a kind
(`kinds.toml`), what the unit shows is known to σ of what it measured and to τ of its kind, and the next program differs
from the kind by τ once more:

    next = typical × unit's posterior + √2 τ z

A unit does little but wait, and a program computes as well, so a typical one has a share of the unit's ln gain. τ is at most a share of the largest effect that the setting surely has beside the same background: a setting that does nothing
to any program does nothing to the next one.
"""

from __future__ import annotations

import math
import tomllib
import zlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from seekwise.judge.decision.posterior import SEED

Array = NDArray[np.float64]
Word = Literal["gain", "lose", "within", "depends"]

SPREAD_LEAST_LOG = 0.03
SPREAD_OF_EFFECT = 0.5
NINE_OF_TEN = 0.90
WITHIN_LOG = math.log(1.15)
"""A bound that is useful to a reader of one program."""
LOSES_LOG = math.log(1.10)
"""What a program may lose before it counts as harmed."""
READERS_LEAST = 2
"""Sequential readers from which on a drive is busy with them alone."""


@dataclass(frozen=True)
class Next:
    """The next program of a kind under a setting, against what is in force. `low`, `high`: nine of ten programs lie
    between, as ratios of the value; the probabilities: that it gains anything, that it loses a tenth."""

    low: float
    high: float
    p_gain: float
    p_loss: float
    word: Word
    """Of nine of ten programs: gain, lose, within (15 %), depends (on the program)."""


def of_draws(draws: Array, sign: float) -> Next:
    """From draws of the ln gain. `sign`: 1 where more is better."""
    low, high = np.quantile(draws, ((1 - NINE_OF_TEN) / 2, (1 + NINE_OF_TEN) / 2))
    within = float((np.abs(draws) <= WITHIN_LOG).mean()) >= NINE_OF_TEN
    p_gain, p_loss = (round(float(share.mean()), 3) for share in (draws > 0, draws < -LOSES_LOG))
    gains, loses = p_gain >= NINE_OF_TEN, (draws < 0).mean() >= NINE_OF_TEN
    word: Word = "within" if within else "gain" if gains else "lose" if loses else "depends"
    first, last = sorted((sign * low, sign * high))
    return Next(math.exp(first), math.exp(last), p_gain, p_loss, word)


def words_of(kind: str, *, short: bool = False) -> str:
    """How programs of a kind are called; `short`: in a picture."""
    return str(_kinds()[kind]["short" if short else "words"])


def typical_share(kind: str) -> float:
    """Of the unit's ln gain that a typical program of the kind has."""
    return float(_kinds()[kind].get("typical", 1.0))


def spread_log(kind: str, background: str, effect_log: float) -> float:
    """τ of a kind beside a background, where a setting's largest effect beside it is this."""
    return math.hypot(SPREAD_LEAST_LOG, min(float(_kinds()[kind][_column(background)]), SPREAD_OF_EFFECT * effect_log))


def luck(part: str, setting: str, count: int) -> Array:
    """What the next program of a part has of its own: standard normal, the same for every figure of the part."""
    return np.random.default_rng([SEED, zlib.crc32(f"next/{part}/{setting}".encode())]).standard_normal(count)


def _column(background: str) -> str:
    number, _, what = background.rpartition(" ")
    if not background:
        return "alone"
    return "readers" if what == "readers" and int(number or 1) >= READERS_LEAST else "copy"


@cache
def _kinds() -> dict[str, dict[str, Any]]:
    document = tomllib.loads((resources.files(__package__) / "kinds.toml").read_text(encoding="utf-8"))
    return {row["name"]: row for row in document["kind"]}
