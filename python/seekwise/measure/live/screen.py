"""Screening: which of many settings matter, from periods in which all of them vary at once.

Every period has a random value of every setting, each value equally often (a random balanced design; Box and Meyer
1986, Technometrics 28(1), on why few of many factors matter). So each period tells about every setting, and a few dozen
periods stand for a few hundred combinations. What is found here only chooses what is measured next: the answer comes
from direct comparison.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seekwise.workload.study.factors import Value

SURE = 2.0
"""Standard errors that an effect must have."""
Levels = Mapping[str, Sequence[Value | None]]
"""{setting: values to try; None leaves it as the kernel has it}."""


@dataclass(frozen=True)
class Effect:
    """What one value does to one metric of one use, against leaving the setting alone. Logs; positive is a loss."""

    setting: str
    value: Value
    metric: str
    use: str
    size: float
    error: float
    threshold: float
    more_is_better: bool

    @property
    def is_gain(self) -> bool:
        """Half the threshold is enough, at two standard errors: it only decides what is looked at further."""
        return self.size < -0.5 * self.threshold and self.size < -SURE * self.error

    @property
    def is_harm(self) -> bool:
        """A loss beyond the whole threshold, at two standard errors."""
        return self.size > self.threshold and self.size > SURE * self.error


def design(levels: Levels, periods: int, seed: int) -> list[dict[str, Value | None]]:
    """For each period a value of every setting; of each setting every value as often as any other, give or take one."""
    rng = random.Random(seed)
    columns = {}
    for name, values in levels.items():
        column = [values[number % len(values)] for number in range(periods)]
        rng.shuffle(column)
        columns[name] = column
    return [{name: column[number] for name, column in columns.items()} for number in range(periods)]


def effects(
    rows: Sequence[Mapping[str, Value | None]],
    logs: Sequence[float],
    levels: Levels,
    *,
    metric: str,
    use: str,
    threshold: float,
    more_is_better: bool,
) -> list[Effect]:
    """Least squares of the logarithm on every value that was tried, with a drift in time. Too few periods: nothing."""
    y = np.asarray(logs, dtype=float)
    good = np.isfinite(y)
    terms = [(name, value) for name, values in levels.items() for value in values if value is not None]
    table = np.array(
        [[1.0, *(float(row.get(name) == value) for name, value in terms)] for row in rows], dtype=float
    ).reshape(len(rows), 1 + len(terms))
    drift = np.linspace(-0.5, 0.5, len(rows)).reshape(-1, 1)
    x = np.hstack([table, drift])[good]
    y = y[good]
    free = len(y) - np.linalg.matrix_rank(x) if len(y) else 0
    if free < max(3, len(terms) // 2):
        return []
    inverse = np.linalg.pinv(x.T @ x)
    fitted = inverse @ x.T @ y
    variance = float(((y - x @ fitted) ** 2).sum()) / free
    errors = np.sqrt(np.maximum(np.diag(inverse) * variance, 0.0))
    sign = -1.0 if more_is_better else 1.0
    return [
        Effect(
            name,
            value,
            metric,
            use,
            sign * float(fitted[1 + number]),
            float(errors[1 + number]),
            threshold,
            more_is_better,
        )
        for number, (name, value) in enumerate(terms)
        if table[good][:, 1 + number].sum() >= 2
    ]


def best_values(effects: Sequence[Effect]) -> dict[str, Value]:
    """{setting: the value that gains most}, of those that gain somewhere and harm nowhere."""
    chosen: dict[str, tuple[float, Value]] = {}
    for name, value in dict.fromkeys((effect.setting, effect.value) for effect in effects):
        mine = [effect for effect in effects if (effect.setting, effect.value) == (name, value)]
        if any(effect.is_harm for effect in mine) or not any(effect.is_gain for effect in mine):
            continue
        score = min(effect.size / effect.threshold for effect in mine)
        if name not in chosen or score < chosen[name][0]:
            chosen[name] = (score, value)
    return {name: value for name, (_, value) in chosen.items()}
