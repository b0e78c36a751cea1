"""What a table over request sizes says of arrays: where each begins to beat one drive of its kind, in multiples of its
chunk; where it doubles it; where random meets sequential; which chunk does best; what several jobs change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean

from seekwise.number_text import listed, three
from seekwise.report.insights.finding import Finding
from seekwise.report.insights.means import LEVEL, NAMES, Means
from seekwise.workload.study.quantity import counted, size_word
from seekwise.workload.study.study import System

BEATS = 1.15
"""An array beats one drive from this ratio on: beyond what is called level, as a reader of a table would say."""
DOUBLES = 1.9
"""Twice one drive, less 5 %."""
SIZES_MIN = 3
"""Request sizes below which no threshold is looked for."""

Line = dict[int, float]
"""Rate by request size."""


def find(means: Means, systems: Sequence[System]) -> list[Finding]:
    """How rates change with the size of a request: where doubling stops to help, and where random meets sequential."""
    sizes = means.axis(4)
    if len(sizes) < SIZES_MIN:
        return []
    findings: list[Finding] = []
    counts = means.axis(3)
    several = len(means.axis(1)) > 1
    for setting in means.axis(1):
        one: list[Finding] = []
        for kernel in dict.fromkeys(system.kernel for system in systems):
            one += _arrays(means, systems, setting, kernel, counts[0])
        one += _meetings(means, systems, setting, counts[0])
        one += _chunks(means, systems, setting, counts[0])
        one += _jobs(means, systems, setting, counts)
        findings += [replace(finding, text=f"With {setting}: {finding.text}") for finding in one] if several else one
    return findings


def _single(array: System, systems: Sequence[System]) -> System | None:
    """One drive of the same kind under the same kernel."""
    if array.drives == 1:
        return None
    return next((s for s in systems if s.drives == 1 and (s.drive, s.kernel) == (array.drive, array.kernel)), None)


def line(means: Means, system: str, setting: str, operation: str, threads: int) -> Line:
    """{size in bytes: throughput in MB/s (10⁶ bytes)} of one operation; sizes without a value are left out."""
    values = {size: means.get("rate", system, setting, operation, threads, size) for size in means.axis(4)}
    return {size: value for size, value in values.items() if value is not None}


def first_from(ratios: Line, least: float) -> int | None:
    """The least size from which on every ratio is at least `least`."""
    good = None
    for size in sorted(ratios, reverse=True):
        if ratios[size] < least:
            break
        good = size
    return good


def _named(array: System) -> str:
    return f"chunk {array.chunk_kib[0]} KiB" if array.chunk_kib else array.name


@dataclass(frozen=True)
class Gain:
    """One array against one drive: the request size from which on it beats and doubles it, and the greatest gain, by
    operation."""

    array: System
    ratios: dict[str, Line]
    beats: dict[str, int | None]
    doubles: dict[str, int | None]

    @property
    def most(self) -> float:
        """Largest of `ratios` over all operations and request sizes; 2.0 is twice the throughput."""
        return max(max(ratio.values()) for ratio in self.ratios.values())


def _gain(means: Means, array: System, single: System, setting: str, threads: int) -> Gain | None:
    ratios: dict[str, Line] = {}
    for operation in means.axis(2):
        one, many = (line(means, s.name, setting, operation, threads) for s in (single, array))
        ratio = {size: many[size] / one[size] for size in many if one.get(size)}
        if len(ratio) >= SIZES_MIN:
            ratios[operation] = ratio
    if not ratios:
        return None
    beats, doubles = (
        {operation: first_from(ratio, least) for operation, ratio in ratios.items()} for least in (BEATS, DOUBLES)
    )
    return Gain(array, ratios, beats, doubles)


def _arrays(means: Means, systems: Sequence[System], setting: str, kernel: str | None, threads: int) -> list[Finding]:
    """All arrays of one kernel in two sentences: where they begin to beat one drive, and where they double it."""
    known: list[Gain] = []
    for array in systems:
        single = _single(array, systems)
        if single is not None and array is not single and array.kernel == kernel:
            gain = _gain(means, array, single, setting, threads)
            known += [gain] if gain else []
    if not known:
        return []
    known.sort(key=lambda gain: gain.array.chunk_kib[0] if gain.array.chunk_kib else 0)
    under = f" (Linux {kernel})" if len({system.kernel for system in systems}) > 1 and kernel else ""
    top = max(gain.most for gain in known)
    findings = []
    for kind, words, least, thresholds in (
        ("threshold", f"beats one drive by {100 * (BEATS - 1):.0f} % or more", BEATS, [g.beats for g in known]),
        (
            "doubling",
            f"reaches twice the rate of one drive (at least {DOUBLES:g} times)",
            DOUBLES,
            [g.doubles for g in known],
        ),
    ):
        said: dict[str, list[System]] = {}
        for gain, sizes in zip(known, thresholds, strict=True):
            said.setdefault(_from(sizes, gain.most, least), []).append(gain.array)
        text = f"An array {words}{under}: {'; '.join(f'{text} with {_listed_arrays(arrays)}' for text, arrays in said.items())}"
        numbers = {
            "kernel": kernel,
            "arrays": {gain.array.name: sizes for gain, sizes in zip(known, thresholds, strict=True)},
            "ratios": {gain.array.name: gain.ratios for gain in known},
            "most": top,
        }
        findings.append(Finding(kind, text, numbers, math.log(max(1.0, top)) * (1.0 if kind == "threshold" else 0.5)))
    return findings


def _listed_arrays(arrays: Sequence[System]) -> str:
    """`chunk 16, 32 and 64 KiB`."""
    if len(arrays) > 1 and all(array.chunk_kib for array in arrays):
        return f"chunk {listed([str(array.chunk_kib[0]) for array in arrays])} KiB"
    return listed([_named(array) for array in arrays])


def _from(thresholds: dict[str, int | None], most: float, least: float) -> str:
    """`from 64k requests on`, `from 16k to 128k requests on, by operation`, `nowhere`."""
    sizes = {size for size in thresholds.values() if size is not None}
    none = [NAMES[operation] for operation, size in thresholds.items() if size is None]
    if not sizes:
        return "nowhere" if most < least else "at no size for good"
    low, high = size_word(min(sizes)), size_word(max(sizes))
    said = f"from {high} requests on" if low == high else f"from {low} to {high} requests on, by operation,"
    return f"{said} (not in {listed(none)})" if none else said


def _meetings(means: Means, systems: Sequence[System], setting: str, threads: int) -> list[Finding]:
    """Where random and sequential rates meet."""
    findings = []
    for kind, words in (("read", "reading"), ("write", "writing")):
        places: dict[int | None, list[str]] = {}
        for system in systems:
            random, ordered = (
                line(means, system.name, setting, f"{order}_{kind}", threads) for order in ("rand", "seq")
            )
            ratios = {size: random[size] / ordered[size] for size in random if ordered.get(size)}
            if len(ratios) >= SIZES_MIN:
                places.setdefault(first_from(ratios, 1 - LEVEL), []).append(system.name)
        for size, names in sorted(places.items(), key=lambda pair: pair[0] if pair[0] is not None else math.inf):
            if size is None:
                text = f"Random {words} stays slower than sequential {words} at every request size on {listed(names)}"
            else:
                text = f"Random {words} is as fast as sequential {words} (within {100 * LEVEL:.0f} %) from {size_word(size)} requests on, on {listed(names)}"
            findings.append(Finding("meeting", text, {"systems": names, "kind": kind, "from_bytes": size}, LEVEL))
    return findings


def _chunks(means: Means, systems: Sequence[System], setting: str, threads: int) -> list[Finding]:
    """Which chunk does best over all operations and request sizes, against one drive."""
    findings = []
    for kernel in dict.fromkeys(system.kernel for system in systems):
        gains: dict[int, dict[str, float]] = {}
        for array in systems:
            single = _single(array, systems)
            if single is None or array.kernel != kernel or not array.chunk_kib:
                continue
            small: list[float] = []
            large: list[float] = []
            for operation in means.axis(2):
                one, many = (line(means, s.name, setting, operation, threads) for s in (single, array))
                for size in many:
                    if one.get(size) and many[size] > 0:
                        (small if size <= 64 * 1024 else large).append(many[size] / one[size])
            if small and large:
                ratios = {"all": [*small, *large], "small": small, "large": large}
                gains[array.chunk_kib[0]] = {name: geometric_mean(values) for name, values in ratios.items()}
        if len(gains) < 2:
            continue
        best = max(gains, key=lambda chunk: gains[chunk]["all"])
        parts = [f"{chunk} KiB {gains[chunk]['all']:.2f}" for chunk in sorted(gains)]
        worth = f"up to 64k requests {gains[best]['small']:.2f}, beyond {gains[best]['large']:.2f}"
        text = (
            f"Chunk {best} KiB gains most against one drive{f' under Linux {kernel}' if kernel else ''}, as a geometric mean over "
            f"operations and request sizes ({worth} times the rate): {', '.join(parts)}"
        )
        every = [gain["all"] for gain in gains.values()]
        strength = math.log(max(every) / min(every))
        findings.append(Finding("chunk", text, {"kernel": kernel, "gain": gains, "best_kib": best}, strength))
    return findings


def _jobs(means: Means, systems: Sequence[System], setting: str, counts: Sequence[int]) -> list[Finding]:
    """What the most jobs give against one: where most and where least, over systems, operations and request sizes."""
    if len(counts) < 2:
        return []
    gains: dict[tuple[str, str, int], float] = {}
    for system in systems:
        for operation in means.axis(2):
            one, many = (line(means, system.name, setting, operation, n) for n in (counts[0], counts[-1]))
            gains |= {(system.name, operation, size): many[size] / one[size] for size in many if one.get(size)}
    if not gains:
        return []

    def place(key: tuple[str, str, int]) -> str:
        return f"{NAMES[key[1]]}, {size_word(key[2])} requests, {key[0]}"

    most, least = max(gains, key=lambda k: gains[k]), min(gains, key=lambda k: gains[k])
    text = (
        f"{counts[-1]} jobs reach {three(gains[least])} ({place(least)}) to {three(gains[most])} ({place(most)}) times the rate of "
        f"{counted(counts[0], 'job')}"
    )
    numbers = {"jobs": counts[-1], "gains": {" ".join(map(str, key)): gain for key, gain in gains.items()}}
    return [Finding("jobs", text, numbers, max(abs(math.log(gain)) for gain in gains.values()))]
