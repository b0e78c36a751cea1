"""Lines that somebody wrote to set something and that do not act: dead boot parameters, names that the kernel refuses,
rules that a later one overrides."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.setters import Ineffective, Setter
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "no-effect"
MOST = 8
"""Findings of this check; a machine with more has one cause for all of them."""


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Lines without effect, and what would have one."""
    lines: dict[tuple[str, str], list[Ineffective]] = {}
    # A line for many devices that acts on one of them is meant so.
    acting = {(setter.place, setter.attribute) for setter in machine.who.setters}
    for setter in machine.who.ineffective:
        if not setter.through and (setter.place, setter.attribute) not in acting:
            lines.setdefault((setter.place, setter.value), []).append(setter)
    for (place, value), group in list(lines.items())[:MOST]:
        first = group[0]
        devices = tuple(sorted({setter.device for setter in group if setter.device}))
        yield DoctorFinding(
            NAME,
            devices,
            "look",
            first.text,
            (f"{place} says {first.attribute.removeprefix('queue/') or 'a setting'} = {value or '?'}",),
            (f"# instead: {first.instead}",),
        )
    for lost, winner in list(_overridden(machine.who.setters))[:MOST]:
        yield DoctorFinding(
            NAME,
            (lost.device,),
            "look",
            f"{lost.text} sets {lost.attribute.removeprefix('queue/')} of {lost.device} to {lost.value}, and the later {winner.text} overrides it with {winner.value}",
            (f"{lost.place}: {lost.value}", f"{winner.place}: {winner.value}"),
            (f"# instead: change {winner.place}, or let a file that acts later set it",),
        )


def _overridden(setters: tuple[Setter, ...]) -> Iterator[tuple[Setter, Setter]]:
    """What an administrator wrote and a later line certainly sets otherwise; that he overrides a package's file is
    meant so."""
    last: dict[tuple[str, str], Setter] = {}
    for setter in setters:
        if setter.certain:
            last[setter.device, setter.attribute] = setter
    seen: set[tuple[str, int | None]] = set()
    for setter in setters:
        winner = last.get((setter.device, setter.attribute))
        if winner is None or winner is setter or setter.is_ours or not setter.certain or winner.gives(setter.value):
            continue
        # Two rules of one file, the general one before the exception, are meant so.
        if setter.file.startswith("/etc/") and winner.file != setter.file and (setter.file, setter.line) not in seen:
            seen.add((setter.file, setter.line))
            yield setter, winner
