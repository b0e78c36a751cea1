"""qemu-img, where it is installed: a disk image converted."""

from __future__ import annotations

import shutil

from seekwise.workload import data
from seekwise.workload.program import Place, call, durable
from seekwise.workload.programs.copy import KEPT
from seekwise.workload.programs.large import LargeFiles


class ImageConversion(LargeFiles):
    """A raw image that is not in memory becomes a qcow2 image, which is on the device when it is done."""

    name = "qemu-img"
    title = "converts raw images to qcow2 with qemu-img, the sources not in memory"
    unit = "image"
    kind = "stream"
    age = "grown"
    writes = True
    long_units = True
    is_extra = True
    expected_s = 1.0

    def missing(self) -> str | None:
        """It needs `qemu-img` on the path."""
        return None if shutil.which("qemu-img") else "qemu-img is not installed"

    def work(self, place: Place) -> int:
        """Bytes of the raw image; written to the device within the time. Raises RuntimeError if qemu-img fails."""
        source = data.next_large(place)
        target = place.own / str(place.turn % KEPT)
        target.unlink(missing_ok=True)
        call(["qemu-img", "convert", "-q", "-f", "raw", "-O", "qcow2", str(source), str(target)])
        durable(target)
        place.turn += 1
        return source.stat().st_size
