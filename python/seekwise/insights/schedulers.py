"""What settings do on one system: groups that behave alike (branches), trend over threads, slope per thread, spread.

Two settings are of one group when they are level at every thread count, directly or through others between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from seekwise.analysis.naming import pieces
from seekwise.insights.means import NAMES, UNITS, Means, listed, number, span
from seekwise.insights.model import Finding

Curve = dict[int, float]
"""Value by thread count."""
STEP = 0.03
"""A step against a trend up to this share is none, and a whole way up to it is no trend."""
PARTS_MOST = 6
"""So many groups a sentence can carry."""
FIT_MIN = 0.9
"""From this share of explained variance on a slope is called linear."""


def find(means: Means) -> list[Finding]:
    found: list[Finding] = []
    for system in means.axis(0):
        spreads: dict[str, float] = {}
        for operation in means.axis(2):
            for size in means.axis(4):
                curves = curves_of(means, "rate", system, operation, size)
                if len(curves) < 2:
                    continue
                where = f"{NAMES[operation]} on {system}"
                found += _rates(means, where, operation, curves)
                found += _access(means, where, curves_of(means, "access_time", system, operation, size))
                found += _efficiency(means, where, curves_of(means, "cpu_efficiency", system, operation, size))
                spreads[operation] = spread(curves)
        if len(spreads) > 1:
            found.append(_spreads(system, spreads))
    return found


def curves_of(means: Means, metric: str, system: str, operation: str, size: int) -> dict[str, Curve]:
    """{setting: curve over threads}, only settings that have the thread counts of the widest one."""
    curves: dict[str, Curve] = {}
    for (name, setting, op, threads, bytes_), value in sorted(
        means.values[metric].items(), key=lambda each: each[0][3]
    ):
        if (name, op, bytes_) == (system, operation, size):
            curves.setdefault(setting, {})[threads] = value
    # As many counts need not be the same ones: a trial that was not valid leaves a gap.
    widest = max(curves.values(), key=len, default={})
    return {setting: curve for setting, curve in curves.items() if curve.keys() == widest.keys()}


def groups(curves: dict[str, Curve], level: float) -> list[list[str]]:
    """Settings that behave alike, groups in the order of their mean, the greatest first."""
    settings = list(curves)
    parent = {setting: setting for setting in settings}

    def root(setting: str) -> str:
        while parent[setting] != setting:
            setting = parent[setting]
        return setting

    for i, first in enumerate(settings):
        for second in settings[i + 1 :]:
            if difference(curves[first], curves[second]) <= level:
                parent[root(second)] = root(first)
    found: dict[str, list[str]] = {}
    for setting in settings:
        found.setdefault(root(setting), []).append(setting)
    return sorted(found.values(), key=lambda members: -mean([mean(curves[m].values()) for m in members]))


def difference(first: Curve, second: Curve) -> float:
    """The greatest difference at one thread count, as a share of the greater value."""
    return max(
        (abs(first[t] - second[t]) / max(first[t], second[t]) for t in first if max(first[t], second[t]) > 0),
        default=0.0,
    )


def spread(curves: dict[str, Curve]) -> float:
    """(greatest - least) / greatest over the settings, averaged over the thread counts."""
    counts = next(iter(curves.values()))
    shares = [
        (max(c[t] for c in curves.values()) - min(c[t] for c in curves.values())) / max(c[t] for c in curves.values())
        for t in counts
        if max(c[t] for c in curves.values()) > 0
    ]
    return mean(shares) if shares else 0.0


def mean(values) -> float:
    given = list(values)
    return sum(given) / len(given)


def slope(curve: Curve) -> tuple[float, float]:
    """(least-squares slope per thread, share of variance explained)."""
    xs, ys = list(curve), list(curve.values())
    mx, my = mean(xs), mean(ys)
    sxx = sum((x - mx) ** 2 for x in xs)
    sxy = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    syy = sum((y - my) ** 2 for y in ys)
    return sxy / sxx, 1.0 if syy == 0 else sxy**2 / (sxx * syy)


def trend(curve: Curve, unit: str) -> str:
    """`rises from … to …`, `falls …`, `stays at …`, or `goes from … over … to …`."""
    counts, values = list(curve), list(curve.values())
    first, last = values[0], values[-1]
    start = f"from {number(first)} {unit} at {_threads(counts[0])}"
    if max(values) - min(values) <= STEP * max(values):
        return f"stays at {number(mean(values))} {unit}"
    steps = list(pairwise(values))
    if all(b >= (1 - STEP) * a for a, b in steps) and last > (1 + STEP) * first:
        return f"rises {start} to {number(last)} at {counts[-1]}"
    if all(b <= (1 + STEP) * a for a, b in steps) and last < (1 - STEP) * first:
        return f"falls {start} to {number(last)} at {counts[-1]}"
    turn = max(counts[1:-1], key=lambda t: abs(curve[t] - (first + last) / 2))
    return f"goes {start} over {number(curve[turn])} at {turn} to {number(last)} at {counts[-1]}"


def _threads(count: int) -> str:
    return f"{count} thread{'' if count == 1 else 's'}"


def _average(curves: dict[str, Curve], members: Sequence[str]) -> Curve:
    return {t: mean(curves[m][t] for m in members) for t in curves[members[0]]}


def _behaviour(curve: Curve) -> str:
    return trend(curve, UNITS["rate"]) if len(curve) > 1 else f"is {number(mean(curve.values()))} {UNITS['rate']}"


def _shortened(parts: list[str]) -> list[str]:
    """The ends of a long row, and how many stand between; the numbers of all are in the finding."""
    if len(parts) <= PARTS_MOST:
        return parts
    head = PARTS_MOST - 2
    return [*parts[:head], f"{len(parts) - head - 1} groups between", parts[-1]]


def _rates(means: Means, where: str, operation: str, curves: dict[str, Curve]) -> list[Finding]:
    found = groups(curves, means.level)
    counts = list(next(iter(curves.values())))
    numbers = {
        "operation": operation,
        "groups": found,
        "curves": curves,
        "level": means.level,
        "spread": spread(curves),
    }
    if len(found) == 1:
        how = "both" if len(curves) == 2 else f"all {len(curves)}"
        words = _behaviour(_average(curves, found[0]))
        return [Finding("groups", f"{where}: {how} settings {means.alike()}; the rate {words}", numbers)]
    parts = [f"{listed(pieces(members, list(curves)))} ({_behaviour(_average(curves, members))})" for members in found]
    first, last = _average(curves, found[0]), _average(curves, found[-1])
    factor = mean(first.values()) / mean(last.values()) if mean(last.values()) > 0 else float("inf")
    equal = [t for t in counts if _level_at(curves, t, means.level)]
    together = f"; level at {listed(str(t) for t in equal)} thread{'' if equal == [1] else 's'}" if equal else ""
    text = f"{where} falls into {len(found)} groups: {'; '.join(_shortened(parts))}; the first is {factor:.2f} times the last{together}"
    return [Finding("groups", text, {**numbers, "factor": factor, "level_at_threads": equal})]


def _level_at(curves: dict[str, Curve], threads: int, level: float) -> bool:
    values = [curve[threads] for curve in curves.values()]
    return max(values) > 0 and (max(values) - min(values)) / max(values) <= level


def _access(means: Means, where: str, curves: dict[str, Curve]) -> list[Finding]:
    if len(curves) < 2 or len(next(iter(curves.values()))) < 3:
        return []
    found = groups(curves, means.level)
    parts, numbers = [], {}
    for members in reversed(found):
        fits = {m: slope(curves[m]) for m in members}
        numbers |= {m: {"slope_ms_per_thread": s, "r2": fit} for m, (s, fit) in fits.items()}
        linear = "" if min(fit for _, fit in fits.values()) >= FIT_MIN else ", not linearly"
        parts.append(
            f"{span((s for s, _ in fits.values()), 'ms')} per thread with {listed(pieces(members, list(curves)))}{linear}"
        )
    least = min(curves.values(), key=lambda curve: mean(curve.values()))
    start = next(iter(least))
    text = f"{where}: access time is {number(least[start])} ms at {_threads(start)} and grows by {'; '.join(_shortened(parts))}"
    return [Finding("slope", text, {"settings": numbers})]


def _efficiency(means: Means, where: str, curves: dict[str, Curve]) -> list[Finding]:
    if len(curves) < 2:
        return []
    values = [value for curve in curves.values() for value in curve.values()]
    over_settings = spread(curves)
    over_threads = mean([(max(c.values()) - min(c.values())) / max(c.values()) for c in curves.values()])
    words = (
        ("equal for all settings" if means.quiet else f"no further apart between settings than {means.scatter()}")
        if over_settings <= means.level
        else f"apart by {100 * over_settings:.0f} % between settings"
    )
    constant = (
        "constant over threads"
        if over_threads <= means.level
        else f"changing by {100 * over_threads:.0f} % over threads"
    )
    text = f"{where}: CPU efficiency is {words} and {constant}, {span(values, UNITS['cpu_efficiency'])}"
    return [Finding("cpu_efficiency", text, {"spread": over_settings, "over_threads": over_threads, "curves": curves})]


def _spreads(system: str, spreads: dict[str, float]) -> Finding:
    order = sorted(spreads, key=lambda operation: -spreads[operation])
    parts = [f"{100 * spreads[operation]:.0f} % in {NAMES[operation]}" for operation in order]
    return Finding("spread", f"between settings on {system} rates differ by {', '.join(parts)}", {"spread": spreads})
