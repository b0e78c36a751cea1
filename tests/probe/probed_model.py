"""A drive model in the place of a device: what the prober finds can be held against what the model was given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seekwise import _core
from seekwise.measure.probe.drives import Times


class ProbedModel:
    """A drive model."""

    rate_max = None

    def __init__(self, model: str, **parameters: float) -> None:
        self._drive = _core.ModelDrive(model, parameters)
        self.capacity = self._drive.capacity_sectors()

    def reads(self, starts: Iterable[int], sectors: int) -> Times:
        """Times in simulated ns; no real time passes."""
        return self._drive.reads(list(starts), sectors)

    def reads_at_depth(self, starts: Sequence[int], sectors: int, depth: int) -> tuple[list[int], int]:
        """Simulated ns, in order of completion; `depth` is capped at the queue depth of the model."""
        return self._drive.reads_at_depth(list(starts), sectors, depth)

    def wait(self, ns: int) -> None:
        """Simulated: the platter turns on, no real time passes."""
        self._drive.wait(ns)
