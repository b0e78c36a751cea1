"""Systems beside each other that differ in one thing: drive, number of drives, level, chunk, controller, NCQ, kernel.

A kernel may differ beside the one thing, as when NCQ came with a newer one; the sentence says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from seekwise.insights.means import NAMES, Means, listed
from seekwise.insights.model import Finding
from seekwise.study.model import System

TITLES = {
    "drive": "drive",
    "drives": "drives",
    "raid_level": "level",
    "chunk_kib": "chunk",
    "controller": "controller",
    "kernel": "kernel",
}
ALL_FROM = 3
"""From so many settings on with the same outcome they are `all settings`."""


def find(means: Means, systems: Sequence[System]) -> list[Finding]:
    found: list[Finding] = []
    names = set(means.axis(0))
    for first, second in combinations([s for s in systems if s.name in names], 2):
        differs = difference(first, second)
        if differs is None:
            continue
        for operation in means.axis(2):
            finding = _pair(means, first, second, differs, operation)
            if finding is not None:
                found.append(finding)
    return found


def described(system: System) -> dict[str, object]:
    plain = {name: getattr(system, name) for name in TITLES}
    plain["chunk_kib"] = system.chunk_kib[0] if system.chunk_kib else None
    return {**plain, **{name: value for name, value in system.options.items()}}


def difference(first: System, second: System) -> str | None:
    """`NCQ on against off` when the two differ in one thing; None otherwise."""
    a, b = described(first), described(second)
    # An array beside one drive is the business of `requests`; a stripe's chunk belongs to its level.
    if (first.drives == 1) != (second.drives == 1):
        return None
    names = [name for name in dict.fromkeys([*a, *b]) if a.get(name) != b.get(name)]
    beside = ""
    if len(names) == 2 and "kernel" in names:
        names.remove("kernel")
        beside = f" (and kernel {a['kernel']} against {b['kernel']})"
    if len(names) != 1:
        return None
    (name,) = names
    title = TITLES.get(name, "NCQ" if name == "ncq" else name)
    return f"{title} {_value(name, a.get(name))} against {_value(name, b.get(name))}{beside}"


def _value(name: str, value: object) -> str:
    if value is None:
        return "none (md)" if name == "controller" else "none"
    return f"{value} KiB" if name == "chunk_kib" else str(value)


def _pair(means: Means, first: System, second: System, differs: str, operation: str) -> Finding | None:
    ratios: dict[str, float] = {}
    for setting in means.axis(1):
        a, b = (
            {
                place[3:]: value
                for place, value in means.values["rate"].items()
                if place[:3] == (system.name, setting, operation)
            }
            for system in (first, second)
        )
        shared = a.keys() & b.keys()
        if shared and sum(b[place] for place in shared) > 0:
            ratios[setting] = sum(a[place] for place in shared) / sum(b[place] for place in shared)
    if not ratios:
        return None
    level = [name for name, ratio in ratios.items() if abs(ratio - 1) * min(1, 1 / ratio) <= means.level]
    parts = []
    for words, members in (
        ("more", [n for n in ratios if n not in level and ratios[n] > 1]),
        ("less", [n for n in ratios if n not in level and ratios[n] < 1]),
    ):
        if members:
            shares = [100 * abs(ratios[name] - 1) for name in members]
            said = (
                f"{min(shares):.0f} to {max(shares):.0f}"
                if round(min(shares)) != round(max(shares))
                else f"{min(shares):.0f}"
            )
            parts.append(f"{said} % {words} with {_who(members, ratios)}")
    if level:
        parts.append(f"level with {_who(level, ratios)}")
    text = f"{differs} ({first.name} against {second.name}), {NAMES[operation]}: {'; '.join(parts)}"
    return Finding("pair", text, {"first": first.name, "second": second.name, "operation": operation, "ratios": ratios})


def _who(members: Sequence[str], ratios: dict[str, float]) -> str:
    return "all settings" if len(members) == len(ratios) >= ALL_FROM else listed(members)
