"""cp: reads files that are not in memory and writes copies of them."""

from __future__ import annotations

from seekwise.workload import cold, data, write_behind
from seekwise.workload.program import Place, Program

KEPT = 4
"""Copies that are there at a time; the oldest is removed for the next."""


class Copy(Program):
    """A copy is done when `cp` ends, as its user sees it. What it left is written meanwhile, and at most one copy is unwritten when the
    next one is done: from one period to the next little is left to pay."""

    name = "copy"
    title = "copies large files with cp, the sources not in memory"
    unit = "file"
    writes = True

    def data_sets(self) -> tuple[str, ...]:
        return ("large",)

    def before(self, place: Place) -> None:
        place.cached_share = cold.evict([data.next_large(place)])

    def work(self, place: Place) -> int:
        source = data.next_large(place)
        target, last = place.own / str(place.turn % KEPT), place.own / str((place.turn - 1) % KEPT)
        target.unlink(missing_ok=True)
        write_behind.call(["cp", str(source), str(target)], target)
        write_behind.settle(last)
        place.turn += 1
        return source.stat().st_size
