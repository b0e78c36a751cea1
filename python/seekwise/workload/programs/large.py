"""What the programs that go through one large file after another have in common."""

from __future__ import annotations

from seekwise.workload import cold, data
from seekwise.workload.program import Place, Program


class LargeFiles(Program):
    """Before each unit the next large file is evicted from memory."""

    data_sets = ("large",)
    """A handful of files of 16 to 256 MiB each."""

    def before(self, place: Place) -> None:
        """Evicts the file of the next unit and notes the share that stayed cached."""
        place.cached_share = cold.evict([data.next_large(place)])
