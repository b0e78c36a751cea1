"""cp: reads files that are not in memory and writes copies of them."""

from __future__ import annotations

from seekwise.workload import cold, data
from seekwise.workload.program import Place, Program, call, durable

KEPT = 4
"""Copies that are there at a time; the oldest is removed for the next."""


class Copy(Program):
    """A file is copied when its copy is on the device: what is only in memory would be paid for by whoever comes next.

    Seen on a virtio disk (Linux 6.18): beside such a copy programs start as slowly under each scheduler as beside a plain `cp` of one large
    file (2.0 to 3.1 s, and 2.3 to 3.0 s), and from one period to the next nothing is left unwritten.
    """

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
        target = place.own / str(place.turn % KEPT)
        target.unlink(missing_ok=True)
        call(["cp", str(source), str(target)])
        durable(target)
        place.turn += 1
        return source.stat().st_size
