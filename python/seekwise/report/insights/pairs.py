"""Systems beside each other that differ in one thing: drive, number of drives, level, chunk, controller, NCQ, kernel.

A kernel may differ beside the one thing, as when NCQ came with a newer one; the sentence says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import geometric_mean

from seekwise.number_text import change, listed
from seekwise.report.insights.finding import Finding
from seekwise.report.insights.means import NAMES, Means
from seekwise.workload.study.quantity import size_word
from seekwise.workload.study.study import System

TITLES = {
    "drive": "drive",
    "drives": "drives",
    "raid_level": "level",
    "chunk_kib": "chunk",
    "controller": "controller",
    "kernel": "kernel",
}
CHUNKS_AS_PAIRS = 2
ALL_FROM = 3
"""From so many settings on with the same outcome they are `all settings`."""


def find(means: Means, systems: Sequence[System]) -> list[Finding]:
    """Systems that differ in one thing: by how much that changes the rate of each operation."""
    findings: list[Finding] = []
    names = set(means.axis(0))
    present = [s for s in systems if s.name in names]
    chunks = {tuple(s.chunk_kib) for s in present if s.chunk_kib}
    for first, second in combinations(present, 2):
        # A sweep of the chunk is `requests`' business: pairs of it would say the same in many sentences.
        if len(chunks) > CHUNKS_AS_PAIRS and first.chunk_kib != second.chunk_kib:
            continue
        differs = difference(first, second)
        if differs is None:
            continue
        finding = _pair(means, first, second, differs)
        if finding is not None:
            findings.append(finding)
    return findings


def described(system: System) -> dict[str, object]:
    """What tells systems apart, by name: drive, level, chunk, kernel, options."""
    plain = {name: getattr(system, name) for name in TITLES}
    plain["chunk_kib"] = system.chunk_kib[0] if system.chunk_kib else None
    return {**plain, **system.options}


def difference(first: System, second: System) -> str | None:
    """`NCQ on against off` when the two differ in one thing; None otherwise."""
    a, b = described(first), described(second)
    # An array beside one drive is the business of `requests`; a stripe's chunk belongs to its level.
    if (first.drives == 1) != (second.drives == 1):
        return None
    names = [name for name in dict.fromkeys([*a, *b]) if a.get(name) != b.get(name)]
    kernels = ""
    if len(names) == 2 and "kernel" in names and "ncq" in names:
        names.remove("kernel")
        kernels = f" (and kernel {a['kernel']} against {b['kernel']})"
    if len(names) != 1:
        return None
    (name,) = names
    title = TITLES.get(name, "NCQ" if name == "ncq" else name)
    if name == "controller" and None in (a[name], b[name]):
        return f"controller {a[name]} against md{kernels}" if a[name] else f"md against controller {b[name]}{kernels}"
    return f"{title} {_value(name, a.get(name))} against {_value(name, b.get(name))}{kernels}"


def _value(name: str, value: object) -> str:
    if value is None:
        return "none"
    return f"{value} KiB" if name == "chunk_kib" else str(value)


def _pair(means: Means, first: System, second: System, differs: str) -> Finding | None:
    """One sentence: what the first system gains or loses in each operation, by setting or by request size."""
    parts: list[tuple[float, str]] = []
    level: list[str] = []
    numbers: dict[str, dict[str, dict[int, float]]] = {}
    for operation in means.axis(2):
        ratios = ratios_of(means, first.name, second.name, operation)
        if not ratios:
            continue
        numbers[operation] = ratios
        values = [ratio for by_size in ratios.values() for ratio in by_size.values()]
        if all(_is_level(ratio, means.level) for ratio in values):
            level.append(NAMES[operation])
            continue
        parts.append(
            (max(abs(math.log(r)) for r in values), f"{_ratios_text(ratios, means.level)} in {NAMES[operation]}")
        )
    if not numbers:
        return None
    strength = max((part[0] for part in parts), default=0.0)
    ordered = [text for _, text in sorted(parts, key=lambda part: -part[0])]
    ordered += [f"level in {listed(level)}"] if level else []
    text = f"{differs} ({first.name} against {second.name}): {'; '.join(ordered)}"
    return Finding("pair", text, {"first": first.name, "second": second.name, "ratios": numbers}, strength)


def ratios_of(means: Means, first: str, second: str, operation: str) -> dict[str, dict[int, float]]:
    """{setting: {request size: rate of the first over the second, a geometric mean over the shared thread counts}}."""
    throughputs = means.values["rate"]
    ratios: dict[str, dict[int, list[float]]] = {}
    for (system, setting, op, threads, size), value in throughputs.items():
        other = throughputs.get((second, setting, op, threads, size))
        if system == first and op == operation and other and value > 0:
            ratios.setdefault(setting, {}).setdefault(size, []).append(value / other)
    return {
        setting: {size: geometric_mean(values) for size, values in sorted(by_size.items())}
        for setting, by_size in ratios.items()
    }


def _is_level(ratio: float, level: float) -> bool:
    return 1 - min(ratio, 1 / ratio) <= level


def _ratios_text(ratios: dict[str, dict[int, float]], level: float) -> str:
    """`+50 % with noop, level with cfq`, or over request sizes `from -2 % (8k) to +35 % (1024k)`."""
    sizes = {size for by_size in ratios.values() for size in by_size}
    if len(sizes) > 1:
        every = [(ratio, size) for by_size in ratios.values() for size, ratio in by_size.items()]
        (low, at_low), (high, at_high) = min(every), max(every)
        return f"from {change(low)} ({size_word(at_low)} requests) to {change(high)} ({size_word(at_high)} requests)"
    single = {setting: next(iter(by_size.values())) for setting, by_size in ratios.items()}
    apart = {name: ratio for name, ratio in single.items() if not _is_level(ratio, level)}
    said = []
    for members in ([n for n, r in apart.items() if r > 1], [n for n, r in apart.items() if r < 1]):
        if members:
            least, most = change(min(apart[n] for n in members)), change(max(apart[n] for n in members))
            unit = next((u for u in (" times", " %") if least.endswith(u) and most.endswith(u)), "")
            said.append(f"{least if least == most else f'{least.removesuffix(unit)} to {most}'}{_who(members, single)}")
    same = [name for name in single if name not in apart]
    return ", ".join([*said, f"level{_who(same, single)}"] if same else said)


def _who(members: Sequence[str], ratios: dict[str, float]) -> str:
    if len(ratios) == 1:
        return ""
    return " with all settings" if len(members) == len(ratios) >= ALL_FROM else f" with {listed(members)}"
