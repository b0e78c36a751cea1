"""Whether the files of a study fit on the storage that its models make: said before the first trial."""

from __future__ import annotations

from collections.abc import Callable

from seekwise.errors import UsageError
from seekwise.simulate.arrays import FACTORS
from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import Load, Plan

Capacity = Callable[[str, dict[str, Value]], int | None]
"""Bytes of a system under a trial's settings; None where nobody can say, or the load has a region of its own."""


def check(plan: Plan, capacity: Capacity) -> None:
    """Raises UsageError for the first combination whose files are larger than what they would lie on."""
    known: dict[tuple[str, tuple[tuple[str, str], ...]], int | None] = {}
    for combination in plan.combinations:
        for setting in plan.settings:
            values = {**combination.fixed, **setting.values}
            built = tuple((name, str(values[name])) for name in FACTORS if name in values)
            place = (combination.system, built)
            if place not in known:
                known[place] = capacity(combination.system, values)
            room, needed = known[place], needed_bytes(combination.load)
            if room is not None and needed > room:
                array = "".join(f", {name} = {value}" for name, value in built)
                parts = (combination.load, *combination.load.beside)
                files = [f"{part.threads} × {part.size_bytes / 1e9:.4g} GB of load {part.name}" for part in parts]
                raise UsageError(
                    f"{' and '.join(files)} do not fit on the {room / 1e9:.4g} GB of system {combination.system}{array}",
                    hint="a smaller `size` or fewer `threads`: each thread has a region of its own",
                )


def needed_bytes(load: Load) -> int:
    """Bytes of all files of a load."""
    return sum(part.threads * part.size_bytes for part in (load, *load.beside))
