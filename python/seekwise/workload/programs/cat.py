"""cat and dd: a large file read from one end to the other."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from seekwise.workload import cold, data
from seekwise.workload.program import Place, Program, call


class Cat(Program):
    """Through the page cache, with the kernel's read-ahead."""

    name = "cat"
    title = "reads large files with cat, none of them in memory"
    unit = "file"
    long_units = True
    expected_s = 0.5

    def data_sets(self) -> tuple[str, ...]:
        return ("large",)

    def before(self, place: Place) -> None:
        place.cached_share = cold.evict([data.next_large(place)])

    def work(self, place: Place) -> int:
        source = data.next_large(place)
        call(["cat", str(source)])
        place.turn += 1
        return source.stat().st_size


class DD(Program):
    """Past the page cache: one request at a time, and nothing is read ahead."""

    name = "dd"
    title = "reads large files with dd past the page cache"
    unit = "file"
    long_units = True
    expected_s = 0.5

    block_kib: Annotated[int, Field(ge=4, le=65536)] = 64
    """Size of a request."""
    cache: Literal["direct", "page cache"] = "direct"

    def data_sets(self) -> tuple[str, ...]:
        return ("large",)

    def before(self, place: Place) -> None:
        place.cached_share = cold.evict([data.next_large(place)])

    def work(self, place: Place) -> int:
        source = data.next_large(place)
        direct = ["iflag=direct"] if self.cache == "direct" else []
        call(["dd", f"if={source}", "of=/dev/null", f"bs={self.block_kib}K", *direct])
        place.turn += 1
        return source.stat().st_size
