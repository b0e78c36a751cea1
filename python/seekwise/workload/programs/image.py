"""qemu-img, where it is installed: a disk image converted."""

from __future__ import annotations

import shutil

from seekwise.workload import cold, data
from seekwise.workload.program import Place, Program, call, durable
from seekwise.workload.programs.copy import KEPT


class Image(Program):
    """A raw image that is not in memory becomes a qcow2 image, which is on the device when it is done."""

    name = "qemu-img"
    title = "converts raw images to qcow2 with qemu-img, the sources not in memory"
    unit = "image"
    writes = True
    long_units = True
    is_extra = True
    expected_s = 1.0

    def data_sets(self) -> tuple[str, ...]:
        return ("large",)

    def missing(self) -> str | None:
        return None if shutil.which("qemu-img") else "qemu-img is not installed"

    def before(self, place: Place) -> None:
        place.cached_share = cold.evict([data.next_large(place)])

    def work(self, place: Place) -> int:
        source = data.next_large(place)
        target = place.own / str(place.turn % KEPT)
        target.unlink(missing_ok=True)
        call(["qemu-img", "convert", "-q", "-f", "raw", "-O", "qcow2", str(source), str(target)])
        durable(target)
        place.turn += 1
        return source.stat().st_size
