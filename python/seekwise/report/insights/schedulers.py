"""What settings do on one system: groups that behave alike (branches), trend over threads, slope per thread, spread,
CPU cost.

Two settings are of one group when they are level at every thread count, directly or through others between them. Where
that chains settings together that are not level themselves, there are no clear groups, and only the range is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import correlation, fmean, linear_regression

from seekwise.grouping import grouped
from seekwise.judge.naming import pieces
from seekwise.number_text import listed, three
from seekwise.report.insights.finding import Finding
from seekwise.report.insights.means import NAMES, UNITS, Means, span
from seekwise.workload.study.quantity import counted, size_word

Curve = dict[int, float]
"""Value by thread count."""
STEP = 0.03
"""A step against a trend up to this share is none, and a whole way up to it is no trend."""
ALIKE_SLOPES = 0.4
"""Natural logarithm of the ratio up to which the slopes of two systems are told together."""
FIT_MIN = 0.9
"""From this share of explained variance on a slope is called linear."""
PARTS_MOST = 5
"""So many groups a sentence can carry."""


@dataclass(frozen=True)
class SettingCurves:
    """The settings of one system in one operation at one request size."""

    system: str
    operation: str
    size: int
    curves: dict[str, Curve]
    groups: list[list[str]]
    """The fastest first."""
    level: float
    is_clear: bool
    """Members of every group are level with each other."""

    @property
    def is_level(self) -> bool:
        """Whether no setting differs from any other beyond `level`."""
        return len(self.groups) == 1 and self.is_clear

    @property
    def factor(self) -> float:
        """Mean rate of the first group over that of the last; without clear groups of the first setting over the
        last."""
        first, last = (self.groups[0], self.groups[-1]) if self.is_clear else ([self.ranked[0]], [self.ranked[-1]])
        low = fmean(average(self.curves, last).values())
        return fmean(average(self.curves, first).values()) / low if low > 0 else math.inf

    @property
    def ranked(self) -> list[str]:
        """Settings by mean throughput over thread counts, fastest first."""
        return sorted(self.curves, key=lambda name: -fmean(self.curves[name].values()))

    @property
    def level_at(self) -> list[int]:
        """Thread counts at which all settings lie within `level` of the fastest."""
        return [t for t in next(iter(self.curves.values())) if _level_at(self.curves, t, self.level)]

    @property
    def place(self) -> str:
        """Operation, system and request size, for a sentence."""
        return f"{NAMES[self.operation]} on {self.system}, {size_word(self.size)} requests"


def find(means: Means) -> list[Finding]:
    """What sets schedulers apart: rates, slopes over threads, processor time, spread."""
    known = list(comparisons(means))
    return [*_throughputs(means, known), *_slopes(means, known), *_efficiencies(means, known), *_spreads(known)]


def comparisons(means: Means) -> Iterator[SettingCurves]:
    """Each system, operation and size in which two schedulers or more were measured."""
    for system in means.axis(0):
        for operation in means.axis(2):
            for size in means.axis(4):
                curves = curves_of(means, "rate", system, operation, size)
                if len(curves) < 2:
                    continue
                branches = groups(curves, means.level)
                clear = all(
                    difference(curves[a], curves[b]) <= means.level
                    for members in branches
                    for i, a in enumerate(members)
                    for b in members[i + 1 :]
                )
                yield SettingCurves(system, operation, size, curves, branches, means.level, clear)


def curves_of(means: Means, metric: str, system: str, operation: str, size: int) -> dict[str, Curve]:
    """{setting: curve over threads}, only settings that have the thread counts of the widest one."""
    curves: dict[str, Curve] = {}
    for (name, setting, op, threads, bytes_), value in sorted(
        means.values[metric].items(), key=lambda pair: pair[0][3]
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
    branches = grouped((root(setting), setting) for setting in settings)
    return sorted(branches.values(), key=lambda members: -fmean([fmean(curves[m].values()) for m in members]))


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
    return fmean(shares) if shares else 0.0


def slope(curve: Curve) -> tuple[float, float]:
    """(least-squares slope per thread, share of variance explained)."""
    xs, ys = list(curve), list(curve.values())
    explained = correlation(xs, ys) ** 2 if len(set(ys)) > 1 else 1.0
    return linear_regression(xs, ys).slope, explained


def trend(curve: Curve, unit: str) -> str:
    """`rises from … to …`, `falls …`, `stays at …`, or `goes from … over … to …`."""
    counts, values = list(curve), list(curve.values())
    if len(counts) == 1:
        return f"is {three(values[0])} {unit} at {counted(counts[0], 'thread')}"
    first, last = values[0], values[-1]
    start = f"from {three(first)} {unit} at {counted(counts[0], 'thread')}"
    if max(values) - min(values) <= STEP * max(values):
        return f"stays at {three(fmean(values))} {unit}"
    steps = list(pairwise(values))
    if all(b >= (1 - STEP) * a for a, b in steps) and last > (1 + STEP) * first:
        return f"rises {start} to {three(last)} at {counts[-1]}"
    if all(b <= (1 + STEP) * a for a, b in steps) and last < (1 - STEP) * first:
        return f"falls {start} to {three(last)} at {counts[-1]}"
    inner = counts[1:-1]
    if not inner:
        return f"goes {start} to {three(last)} at {counts[-1]}"
    turn = max(inner, key=lambda t: abs(curve[t] - (first + last) / 2))
    return f"goes {start} over {three(curve[turn])} at {turn} to {three(last)} at {counts[-1]}"


def average(curves: dict[str, Curve], members: Sequence[str]) -> Curve:
    """The mean curve of some settings: {threads: value}."""
    return {t: fmean(curves[m][t] for m in members) for t in curves[members[0]]}


def _level_at(curves: dict[str, Curve], threads: int, level: float) -> bool:
    values = [curve[threads] for curve in curves.values()]
    return max(values) > 0 and (max(values) - min(values)) / max(values) <= level


def _where(means: Means, members: Sequence[SettingCurves]) -> str:
    """`Sequential reading on A and B`, with the request size and the thread counts where a study has several."""
    first = members[0]
    name = NAMES[first.operation]
    said = f"{name[0].upper()}{name[1:]} on {listed(dict.fromkeys(m.system for m in members))}"
    if len(means.axis(4)) > 1:
        said += f", {size_word(first.size)} requests"
    counts = {t for m in members for t in next(iter(m.curves.values()))}
    if len(counts) == 1 and len(means.axis(3)) > 1:
        said += f", {counted(counts.pop(), 'thread')}"
    return said


def _throughputs(means: Means, known: Sequence[SettingCurves]) -> list[Finding]:
    """Systems on which the same settings stand together in the same order are one sentence."""
    merged: dict[tuple[object, ...], list[SettingCurves]] = {}
    for of_system in known:
        order = (
            tuple(tuple(sorted(members)) for members in of_system.groups)
            if of_system.is_clear
            else ("unclear", of_system.system)
        )
        merged.setdefault((of_system.operation, of_system.size, order), []).append(of_system)
    findings = []
    for members in merged.values():
        first = members[0]
        numbers = {
            "operation": first.operation,
            "size_bytes": first.size,
            "systems": [m.system for m in members],
            "groups": first.groups if first.is_clear else None,
            "factors": {m.system: m.factor for m in members},
            "curves": {m.system: m.curves for m in members},
            "level": means.level,
            "level_at_threads": {m.system: m.level_at for m in members},
        }
        where = _where(means, members)
        if first.is_level:
            words = ""
            if len(members) == 1:
                words = f"; the rate {trend(average(first.curves, list(first.curves)), UNITS['rate'])}"
            text = f"{where}: {means.alike()} between {len(first.curves)} settings{words}"
            findings.append(Finding("level", text, numbers, math.log1p(means.level) / 2))
            continue
        times = span((m.factor for m in members), "times")
        strength = max(math.log(m.factor) for m in members)
        if not first.is_clear:
            best, worst = first.ranked[0], first.ranked[-1]
            text = f"{where}: no clear groups; {best} reaches {times} the rate of {worst}"
            findings.append(Finding("groups", text, numbers, strength))
            continue
        names = [listed(pieces(members_, list(first.curves))) for members_ in first.groups]
        equal = set.intersection(*(set(m.level_at) for m in members))
        together = f"; level at {listed(map(str, sorted(equal)))} thread{'' if equal == {1} else 's'}" if equal else ""
        between = f"; {listed(_shortened(names[1:-1]))} between" if len(names) > 2 else ""
        detail = ""
        if len(members) == 1:
            both = [trend(average(first.curves, first.groups[i]), UNITS["rate"]) for i in (0, -1)]
            detail = f": the rate {both[0]}, with {names[-1]} it {both[1]}"
        text = f"{where}: {names[0]} reach{'es' if len(first.groups[0]) == 1 else ''} {times} the rate of {names[-1]}{detail}{between}{together}"
        findings.append(Finding("groups", text, numbers, strength))
    return findings


def _shortened(parts: list[str]) -> list[str]:
    if len(parts) <= PARTS_MOST:
        return parts
    return [*parts[: PARTS_MOST - 1], f"{len(parts) - PARTS_MOST + 1} more groups"]


def _slopes(means: Means, known: Sequence[SettingCurves]) -> list[Finding]:
    """What each further thread adds to the access time, where that is linear."""
    merged: dict[tuple[object, ...], list[tuple[SettingCurves, dict[str, Curve], list[list[str]]]]] = {}
    for of_system in known:
        curves = curves_of(means, "access_time", of_system.system, of_system.operation, of_system.size)
        if len(curves) < 2 or len(next(iter(curves.values()))) < 3:
            continue
        if min(slope(curve)[1] for curve in curves.values()) < FIT_MIN:
            continue
        branches = list(reversed(groups(curves, means.level)))
        order = tuple(tuple(sorted(members)) for members in branches)
        typical = fmean([slope(curve)[0] for curve in curves.values()])
        # Systems whose slopes are of another size are another sentence.
        size = round(math.log(typical) / ALIKE_SLOPES) if typical > 0 else None
        merged.setdefault((of_system.operation, of_system.size, order, size), []).append((of_system, curves, branches))
    insights = []
    for members in merged.values():
        first, curves, branches = members[0]
        parts = []
        for i, names in enumerate(branches):
            slopes = [slope(c[name])[0] for _, c, groups_ in members for name in groups_[i]]
            parts.append((slopes, f"{span(slopes, 'ms')} with {listed(pieces(names, list(curves)))}"))
        counts = list(next(iter(curves.values())))
        start = span((min(c.values(), key=lambda v: fmean(v.values()))[counts[0]] for _, c, _ in members), "ms")
        text = (
            f"{_where(means, [m for m, _, _ in members])}: the access time is {start} at {counted(counts[0], 'thread')}, and each further thread "
            f"adds {', '.join(_shortened([text for _, text in parts]))}"
        )
        numbers = {
            "operation": first.operation,
            "slopes_ms_per_thread": {m.system: {name: slope(v)[0] for name, v in c.items()} for m, c, _ in members},
        }
        low, high = fmean(parts[0][0]), fmean(parts[-1][0])
        strength = math.log(high / low) if len(parts) > 1 and low > 0 and high > low else 0.0
        insights.append(Finding("slope", text, numbers, strength))
    return insights


def _efficiencies(means: Means, known: Sequence[SettingCurves]) -> list[Finding]:
    """CPU efficiency of the settings: equal or not, constant over threads or not, beyond what the host's clock
    scatters."""
    merged: dict[tuple[str, int, bool, bool], list[tuple[SettingCurves, dict[str, Curve], float, float, float]]] = {}
    for of_system in known:
        curves = curves_of(means, "cpu_efficiency", of_system.system, of_system.operation, of_system.size)
        if len(curves) < 2:
            continue
        over_settings, over_threads = spread(curves), fmean([_range(curve.values()) for curve in curves.values()])
        noise = _tick_noise(means, of_system, curves)
        equal, constant = over_settings <= noise, over_threads <= noise
        merged.setdefault((of_system.operation, of_system.size, equal, constant), []).append(
            (of_system, curves, over_settings, over_threads, noise)
        )
    findings = []
    for (_, _, equal, constant), members in merged.items():
        comparisons_ = [m for m, *_ in members]
        between = span((100 * s for _, _, s, _, _ in members), "%")
        changes = span((100 * t for _, _, _, t, _ in members), "%")
        # Verdicts tell smaller differences apart: what is said here is the bound, not that the settings are equal.
        alike = f"no difference beyond {three(100 * max(noise for *_, noise in members))} %"
        words = f"shows {alike} across settings" if equal else f"differs by {between} across settings"
        several = len(next(iter(members[0][1].values()))) > 1
        if equal and several:
            steady = " or threads" if constant else f" and changes by {changes} over threads"
        elif several:
            steady = " and is constant over threads" if constant else f" and by {changes} over threads"
        else:
            steady = ""
        values = [v for _, curves, *_ in members for curve in curves.values() for v in curve.values()]
        text = (
            f"{_where(means, comparisons_)}: CPU efficiency {words}{steady} ({span(values, UNITS['cpu_efficiency'])})"
        )
        numbers = {
            "operation": members[0][0].operation,
            "is_equal": equal,
            "is_constant": constant,
            "spread": {m.system: s for m, _, s, _, _ in members},
            "over_threads": {m.system: t for m, _, _, t, _ in members},
        }
        most = max((max(s, t) for _, _, s, t, _ in members), default=0.0)
        if equal and constant:
            findings.append(Finding("cpu_equal", text, numbers, math.log1p(means.level) / 2))
            continue
        findings.append(Finding("cpu_efficiency", text, numbers, -math.log(max(1e-9, 1 - min(most, 0.999)))))
    return findings


def _range(values: Iterable[float]) -> float:
    given = list(values)
    return (max(given) - min(given)) / max(given) if max(given) > 0 else 0.0


RANGE_OF_FOUR = 2.1
"""Expected range of four draws in standard deviations: what a clock alone spreads over four settings or thread
counts."""


def _tick_noise(means: Means, each: SettingCurves, curves: dict[str, Curve]) -> float:
    """Share by which CPU efficiency may differ without meaning anything."""
    shares = [
        means.efficiency_errors.get((each.system, name, each.operation, t, each.size), 0.0) / value
        for name, curve in curves.items()
        for t, value in curve.items()
        if value > 0
    ]
    return max(means.level, RANGE_OF_FOUR * max(shares) if shares else 0.0)


def _spreads(known: Sequence[SettingCurves]) -> list[Finding]:
    """Which operation the setting matters in: the range over systems and request sizes."""
    shares = grouped((of_system.operation, spread(of_system.curves)) for of_system in known)
    if len(shares) < 2:
        return []
    order = sorted(shares, key=lambda operation: -fmean(shares[operation]))
    parts = [f"{span((100 * s for s in shares[operation]), '%')} in {NAMES[operation]}" for operation in order]
    systems = {of_system.system for of_system in known}
    sizes = {of_system.size for of_system in known}
    by = [word for word, several in (("system", len(systems) > 1), ("request size", len(sizes) > 1)) if several]
    text = f"The setting matters most in {NAMES[order[0]]}: rates differ by {', '.join(parts)}"
    text += f" (depending on {' and '.join(by)})" if by else ""
    top = max(max(values) for values in shares.values())
    return [Finding("spread", text, {"spread": shares}, -math.log(max(1e-9, 1 - min(top, 0.999))))]
