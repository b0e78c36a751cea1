"""What the programs that go through one large file after another have in common."""

from __future__ import annotations

from seekwise.workload import cold, data
from seekwise.workload.program import Place, Program


class LargeFiles(Program):
    """Before each unit the next large file is evicted from memory."""

    def data_sets(self) -> tuple[str, ...]:
        return ("large",)

    def before(self, place: Place) -> None:
        place.cached_share = cold.evict([data.next_large(place)])
