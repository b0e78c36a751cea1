"""What a table over request sizes says of arrays: where each begins to beat one drive of its kind, in multiples of its chunk; where it
doubles it; where random meets sequential; which chunk does best; what several jobs change."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise.insights.means import LEVEL, NAMES, Means, listed, number
from seekwise.insights.model import Finding
from seekwise.study.model import System
from seekwise.study.quantity import size_word

BEATS = 1.15
"""An array beats one drive from this ratio on: beyond what is called level, as a reader of a table would say."""
DOUBLES = 1.9
"""Twice one drive, less 5 %."""
SIZES_MIN = 3
"""Request sizes below which no threshold is looked for."""

Line = dict[int, float]
"""Rate by request size."""


def find(means: Means, systems: Sequence[System]) -> list[Finding]:
    sizes = means.axis(4)
    if len(sizes) < SIZES_MIN:
        return []
    found: list[Finding] = []
    counts = means.axis(3)
    for setting in means.axis(1):
        for array in systems:
            single = _single(array, systems)
            if single is None or array is single:
                continue
            found += _array(means, array, single, setting, counts[0])
        found += _meetings(means, systems, setting, counts[0])
        found += _chunks(means, systems, setting, counts[0])
        found += _jobs(means, systems, setting, counts)
    return found


def _single(array: System, systems: Sequence[System]) -> System | None:
    """One drive of the same kind under the same kernel."""
    if array.drives == 1:
        return None
    return next((s for s in systems if s.drives == 1 and (s.drive, s.kernel) == (array.drive, array.kernel)), None)


def line(means: Means, system: str, setting: str, operation: str, threads: int) -> Line:
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
    chunk = f", chunk {array.chunk_kib[0]} KiB" if array.chunk_kib else ""
    return f"{array.name} ({array.raid_level or 'array'} of {array.drives}{chunk})"


def _array(means: Means, array: System, single: System, setting: str, threads: int) -> list[Finding]:
    beats: dict[str, int | None] = {}
    doubles: dict[str, int | None] = {}
    ratios: dict[str, Line] = {}
    for operation in means.axis(2):
        one, many = (line(means, s.name, setting, operation, threads) for s in (single, array))
        ratio = {size: many[size] / one[size] for size in many if one.get(size)}
        if len(ratio) < SIZES_MIN:
            continue
        ratios[operation] = ratio
        beats[operation] = first_from(ratio, BEATS)
        doubles[operation] = first_from(ratio, DOUBLES)
    if not ratios:
        return []
    chunk = array.chunk_kib[0] * 1024 if array.chunk_kib else None
    numbers = {"system": array.name, "single": single.name, "chunk_bytes": chunk, "ratios": ratios}
    text = f"{_named(array)} beats one drive by {100 * (BEATS - 1):.0f} % or more {_from(beats, chunk, 'nowhere')}"
    found = [Finding("threshold", text, {**numbers, "from_bytes": beats})]
    best = {operation: max(ratio, key=lambda size: (ratio[size], -size)) for operation, ratio in ratios.items()}
    top = max(ratios[operation][size] for operation, size in best.items())
    never = f"nowhere (at most {top:.2f} times)" if top < DOUBLES else f"not for good (at most {top:.2f} times)"
    text = f"{_named(array)} reaches twice one drive {_from(doubles, chunk, never)}"
    return [*found, Finding("doubling", text, {**numbers, "from_bytes": doubles, "most": top})]


def _from(thresholds: dict[str, int | None], chunk: int | None, never: str) -> str:
    """`from 64k requests on (2 times the chunk) in sequential and random reading; nowhere in …`."""
    by_size: dict[int | None, list[str]] = {}
    for operation, size in thresholds.items():
        by_size.setdefault(size, []).append(NAMES[operation])
    if list(by_size) == [None]:
        return never
    parts = []
    for size in sorted(by_size, key=lambda s: s if s is not None else math.inf):
        where = f"in {listed(by_size[size])}" if len(by_size) > 1 else "in every operation"
        if size is None:
            parts.append(f"{never} {where}")
            continue
        times = (
            f" ({number(size / chunk)} times the chunk)"
            if chunk and size != chunk
            else (" (the chunk)" if chunk else "")
        )
        parts.append(f"from {size_word(size)} requests on{times} {where}")
    return "; ".join(parts)


def _meetings(means: Means, systems: Sequence[System], setting: str, threads: int) -> list[Finding]:
    """Where random and sequential rates meet."""
    found = []
    for kind, words in (("read", "reading"), ("write", "writing")):
        places: dict[int | None, list[str]] = {}
        for system in systems:
            random, ordered = (
                line(means, system.name, setting, f"{order}_{kind}", threads) for order in ("rand", "seq")
            )
            ratios = {size: random[size] / ordered[size] for size in random if ordered.get(size)}
            if len(ratios) >= SIZES_MIN:
                places.setdefault(first_from(ratios, 1 - LEVEL), []).append(system.name)
        for size, names in sorted(places.items(), key=lambda each: each[0] if each[0] is not None else math.inf):
            if size is None:
                text = f"random {words} stays behind sequential {words} at every request size on {listed(names)}"
            else:
                text = f"random {words} meets sequential {words} (within {100 * LEVEL:.0f} %) from {size_word(size)} requests on, on {listed(names)}"
            found.append(Finding("meeting", text, {"systems": names, "kind": kind, "from_bytes": size}))
    return found


def _chunks(means: Means, systems: Sequence[System], setting: str, threads: int) -> list[Finding]:
    """Which chunk does best over all operations and request sizes, against one drive."""
    found = []
    for kernel in dict.fromkeys(system.kernel for system in systems):
        gains: dict[int, dict[str, float]] = {}
        for array in systems:
            single = _single(array, systems)
            if single is None or array.kernel != kernel or not array.chunk_kib:
                continue
            small, large = [], []
            for operation in means.axis(2):
                one, many = (line(means, s.name, setting, operation, threads) for s in (single, array))
                for size in many:
                    if one.get(size) and many[size] > 0:
                        (small if size <= 64 * 1024 else large).append(math.log(many[size] / one[size]))
            if small and large:
                every = [*small, *large]
                gains[array.chunk_kib[0]] = {
                    "all": math.exp(sum(every) / len(every)),
                    "small": math.exp(sum(small) / len(small)),
                    "large": math.exp(sum(large) / len(large)),
                }
        if len(gains) < 2:
            continue
        best = max(gains, key=lambda chunk: gains[chunk]["all"])
        parts = [f"{chunk} KiB {gains[chunk]['all']:.2f}" for chunk in sorted(gains)]
        worth = f"up to 64k requests {gains[best]['small']:.2f}, beyond {gains[best]['large']:.2f}"
        text = (
            f"of the chunk sizes {best} KiB does best against one drive under Linux {kernel}, as a geometric mean over operations and "
            f"request sizes ({worth} times): {', '.join(parts)}"
        )
        found.append(Finding("chunk", text, {"kernel": kernel, "gain": gains, "best_kib": best}))
    return found


def _jobs(means: Means, systems: Sequence[System], setting: str, counts: Sequence[int]) -> list[Finding]:
    """What the most jobs give against one, by request size, where both were run."""
    if len(counts) < 2:
        return []
    found = []
    for system in systems:
        parts, numbers = [], {}
        for operation in means.axis(2):
            one, many = (line(means, system.name, setting, operation, n) for n in (counts[0], counts[-1]))
            gains = {size: many[size] / one[size] for size in many if one.get(size)}
            if gains:
                numbers[operation] = gains
                said = ", ".join(f"{number(gain)} at {size_word(size)}" for size, gain in sorted(gains.items()))
                parts.append(f"{NAMES[operation]} {said}")
        if parts:
            text = f"{counts[-1]} jobs instead of {counts[0]} on {system.name} give times the rate: {'; '.join(parts)}"
            found.append(Finding("jobs", text, {"system": system.name, "jobs": counts[-1], "gains": numbers}))
    return found
