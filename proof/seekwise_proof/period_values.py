"""Plain tables of periods as the judge takes them: what the calibration and the validation of the judge begin with."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise.judge.decision.table import Values
from seekwise.workload.live_plan import CONTROL_SUFFIX


def values_of(periods: Sequence[tuple[str, float]]) -> Values:
    """Figures of (setting, value) in the order of time, for those who have plain tables of periods: the calibration of the judge, other
    programs, tests. What has no logarithm is left out."""
    names = tuple(dict.fromkeys(setting.removesuffix(CONTROL_SUFFIX) for setting, _ in periods))
    numbers = rounds_of([setting for setting, _ in periods])
    before = [None, *(setting for setting, _ in periods)][: len(periods)]
    return Values(
        names,
        tuple(
            (setting, number, math.log(value), last)
            for (setting, value), number, last in zip(periods, numbers, before, strict=True)
            if value > 0 and math.isfinite(value)
        ),
    )


def rounds_of(settings: Sequence[str]) -> list[int]:
    """The round of each period of a sequence: a round ends when every setting that still takes part has been seen.

    Settings that drop out later do not hold up the rounds after their last period.
    """
    last = {setting: index for index, setting in enumerate(settings)}
    rounds: list[int] = []
    number, start, seen = 0, 0, set()
    for index, setting in enumerate(settings):
        rounds.append(number)
        seen.add(setting)
        if {name for name, final in last.items() if final >= start} <= seen:
            number, start, seen = number + 1, index + 1, set()
    if seen and number:
        # A round that was cut short joins the one before it: its candidates would have nothing to be compared with.
        whole = set(settings[rounds.index(number - 1) : rounds.index(number)])
        if not whole <= seen:
            rounds = [min(place, number - 1) for place in rounds]
    return rounds
