"""Metrics and losses in words, the same everywhere."""

from __future__ import annotations

import math

from seekwise.judge.decision.choose import STARVED_FACTOR
from seekwise.judge.decision.verdicts import CandidateVerdict, Judged
from seekwise.number_text import TIMES_FROM, by, factor_text, percent, plain_settings, three

SPEED_FROM = 1.25
"""From this factor on a speed-up is said as "1.4 times quicker"."""

NO_BOUND_FACTOR = STARVED_FACTOR
"""A loss that may be larger than this is not bounded in any way that helps."""

METRIC_NAMES = {
    "time": "time per unit",
    "tail": "slow tail of the units",
    "done": "units done",
    "rate": "throughput",
    "p50": "median latency",
    "p99": "p99 latency",
    "p999": "p99.9 latency",
    "mean": "mean latency",
    "access_time": "access time",
    "cpu_efficiency": "CPU efficiency",
    "cpu": "processor time per operation",
    "fairness": "evenness among equal processes",
    "number": "result",
    "cost": "result",
    "background_rate": "background throughput",
}


SHORT_NAMES = {
    **METRIC_NAMES,
    "p50": "median latency",
    "p99": "p99",
    "p999": "p99.9",
    "mean": "mean latency",
    "cpu": "CPU time",
    "fairness": "evenness",
}
"""Beside the name of a job."""


def metric_name(judged: Judged | str) -> str:
    """`p99 latency`, `time per start`, `background throughput`, `throughput of stores`."""
    if not isinstance(judged, str):
        named = _work_name(judged)
        if named is not None:
            return named
    metric = judged if isinstance(judged, str) else judged.metric
    if metric in METRIC_NAMES:
        return METRIC_NAMES[metric]
    job, _, kind = metric.rpartition("_")
    word = METRIC_NAMES.get(kind, kind)
    return f"{word} of {'the background job' if job == 'background' else job}"


def subject(judged: Judged) -> str:
    """What a row is about, with the job that does it: `time per start`, `queries p99`, `copy throughput`."""
    named = _work_name(judged)
    if named is not None:
        return named
    return f"{judged.job} {SHORT_NAMES.get(judged.kind, judged.kind)}" if judged.job else metric_name(judged)


def _work_name(judged: Judged) -> str | None:
    """The name of a figure of units of work; None for requests of fio."""
    if judged.kind not in ("time", "tail", "done"):
        return None
    unit = judged.work or (f"{judged.job} unit" if judged.job else "unit")
    if judged.kind == "time":
        return f"time per {unit}"
    if judged.kind == "tail":
        return f"p{100 * judged.quantile:.0f} time per {unit}" if judged.quantile else f"slow tail per {unit}"
    if judged.unit != "/s":
        return f"{judged.job} throughput".strip()
    return plural(judged.work) if judged.work else f"{judged.job or 'units'} done"


def plural(unit: str) -> str:
    """Of the name of a unit: `query` → `queries`, `pass` → `passes`; of a job that has the name of several, that."""
    if unit.endswith("s") and not unit.endswith("ss"):
        return unit
    if unit.endswith("y") and unit[-2:-1] not in "aeiou":
        return f"{unit[:-1]}ies"
    return f"{unit}es" if unit.endswith(("s", "sh", "ch", "x")) else f"{unit}s"


def value_text(value: float | None, unit: str) -> str:
    """`2.9 s`, `55 ms`, `85 µs`, `1,755 MB/s`, `4,750/s`."""
    if value is None or not math.isfinite(value):
        return "–"
    number, word = _scaled(value, unit)
    return _joined(_digits(number), word)


def both_texts(before: float | None, after: float | None, unit: str) -> tuple[str, str]:
    """Two values of one figure, both in the unit that suits the larger."""
    if before is None or after is None:
        return value_text(before, unit), value_text(after, unit)
    larger, word = _scaled(max(before, after), unit)
    scale = larger / max(before, after)
    return _joined(_digits(scale * before), word), _joined(_digits(scale * after), word)


def _scaled(value: float, unit: str) -> tuple[float, str]:
    if unit == "ms":
        if value >= 1000:
            return value / 1000, "s"
        if 0 < value < 0.1:
            return value * 1000, "µs"
    return value, unit


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else three(value)


def _joined(number: str, unit: str) -> str:
    return f"{number}{unit}" if unit.startswith("/") else f"{number} {unit}".rstrip()


def amount(loss: float, more_is_better: bool) -> str:
    """`38 % less`, `3.1 times longer`, `over 10 times longer`: a loss as a share, of a rate or of a time."""
    factor = 1 + loss if not more_is_better else (1 / (1 - loss) if loss < 1 else math.inf)
    word = "less" if more_is_better else "longer"
    if factor < TIMES_FROM:
        return f"{percent(loss)} {word}"
    # Beyond starvation a ratio has no digits.
    return (
        f"over {STARVED_FACTOR:.0f} times {word}" if factor > STARVED_FACTOR else f"{factor_text(factor)} times {word}"
    )


def speed_text(ratio: float) -> str:
    """`12 % faster`, `3.1 times slower`: one rate over another."""
    return by(ratio, "faster", of_rate=False) if ratio >= 1 else by(1 / ratio, "slower", of_rate=True)


def change_text(standing: CandidateVerdict, judged: Judged) -> str:
    """A ratio of values with its interval: `26 % shorter (20 to 31)`, `3.1 times longer (2.4 to 4)`,
    `41 % less (35 to 47)`."""
    assert standing.ratio is not None and standing.low is not None and standing.high is not None
    up, down = ("longer", "shorter") if judged.unit == "ms" else ("more", "less")
    return _span(standing.ratio, standing.low, standing.high, up, down)


def _span(ratio: float, low: float, high: float, up: str, down: str) -> str:
    """In per cent below a factor of two, in times above it; ends of the interval by the size of the change, the smaller
    first."""
    word = up if ratio >= 1 else down
    if max(ratio, 1 / ratio) > STARVED_FACTOR:
        return f"over {STARVED_FACTOR:.0f} times {word}"
    if max(ratio, 1 / ratio) >= TIMES_FROM:
        ends = sorted((low, high) if ratio >= 1 else (1 / high, 1 / low))
        far = "over 10" if ends[1] > STARVED_FACTOR else factor_text(ends[1])
        return f"{factor_text(max(ratio, 1 / ratio))} times {word}{_ends(factor_text(max(ends[0], 1.0)), far)}"
    sign = 1 if ratio >= 1 else -1
    ends = sorted(sign * 100 * (end - 1) for end in (low, high))
    first, last = (f"{end:.0f}".replace("-", "\N{MINUS SIGN}") for end in ends)
    return f"{percent(abs(ratio - 1))} {word}{_ends(first if first != f'{chr(8722)}0' else '0', last)}"


def _ends(low: str, high: str, said: str = "") -> str:
    """` (20 to 31)`; nothing of an exact value, whose ends are one."""
    return f" ({said}{low} to {high})" if low != high else ""


def effect(judged: Judged, standing: CandidateVerdict) -> str:
    """The same as a person says it: `starts 1.4 times quicker (very likely 1.2 to 1.6)`, `starts 18 % shorter`,
    `copy 20 % slower`."""
    assert standing.ratio is not None and standing.low is not None and standing.high is not None
    units = plural(judged.work) if judged.work else f"{judged.job} units".strip()
    if judged.kind in ("time", "tail"):
        # Speed is the inverse of a time.
        name = units if judged.kind == "time" else f"the slowest {units}"
        if judged.conditions.work == "alone":
            name += " alone"
        if 1 / SPEED_FROM < standing.ratio < TIMES_FROM:
            # In per cent as the table has it: a time that is 18 % shorter is a speed that is 22 % higher.
            return f"{name} {percent(abs(standing.ratio - 1))} {'shorter' if standing.ratio < 1 else 'longer'}"
        said = _quicker(name, 1 / standing.ratio, 1 / standing.high, 1 / standing.low, "quicker")
        return f"{said}{_values_beyond(judged, standing)}"
    if judged.kind in ("done", "rate"):
        name = units if judged.unit == "/s" and judged.work else judged.job or _load(judged.use)
        said = _quicker(name, standing.ratio, standing.low, standing.high, "faster")
        beyond = _values_beyond(judged, standing)
        return f"{name} nearly stopped{beyond}" if beyond and standing.ratio < 1 else f"{said}{beyond}"
    return (
        f"{subject(judged) if judged.job else f'{_load(judged.use)} {subject(judged)}'} {change_text(standing, judged)}"
    )


def _values_beyond(judged: Judged, standing: CandidateVerdict) -> str:
    """` (136 MB/s → 0.37 MB/s)` where a ratio has no digits any more; else empty."""
    base = judged.standing(judged.base)
    assert standing.ratio is not None
    if base is None or base.value is None or max(standing.ratio, 1 / standing.ratio) <= STARVED_FACTOR:
        return ""
    return f" ({' → '.join(both_texts(base.value, base.value * standing.ratio, judged.unit))})"


def _load(use: str) -> str:
    """`random read (iodepth 32)`: a figure follows, and two numbers in a row are read as one."""
    operation, _, rest = use.partition(", ")
    return f"{operation} ({rest})" if rest else operation


def _quicker(name: str, speed: float, low: float, high: float, up: str) -> str:
    if max(speed, 1 / speed) > STARVED_FACTOR:
        return f"{name} over {STARVED_FACTOR:.0f} times {up if speed > 1 else 'slower'}"
    if speed >= SPEED_FROM:
        ends = _ends(factor_text(max(low, 1.0)), factor_text(high), "very likely ")
        return f"{name} {factor_text(speed)} times {up}{ends}"
    if speed >= 1:
        return f"{name} {percent(speed - 1)} {up}"
    if 1 / speed >= TIMES_FROM:
        return f"{name} {factor_text(1 / speed)} times slower"
    return f"{name} about {percent(1 - speed)} slower"


def shown_setting(label: str) -> str:
    """`raid_level=raid5` as `RAID 5`, `scheduler=bfq` as `bfq`; several parts stay apart."""
    parts = label.split()
    return ", ".join(map(plain_settings, parts)) if any("=" in word[1:-1] for word in parts) else label
