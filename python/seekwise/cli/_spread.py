"""Backends over a cluster, as `--workers` and `--on` of several commands ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seekwise.errors import UsageError
from seekwise.measure.cluster import where as places

if TYPE_CHECKING:
    from seekwise.simulate.protocol import Backend


def check(backend: str, place: places.Where | None) -> None:
    """Raises UsageError for a backend whose trials belong to one machine, MissingError for what is not installed."""
    if place is None:
        return
    if backend != "simulated":
        raise UsageError(
            f"only simulated trials run elsewhere; the `{backend}` backend uses this machine's own storage and kernel",
            hint="leave `--on` and `--workers` out, or add `--backend simulated`",
        )
    places.require(place)


def over(chosen: Backend, backend: str, place: places.Where | None) -> Backend:
    """The backend with its trials spread, if that was asked for."""
    check(backend, place)
    if place is None:
        return chosen
    from seekwise.measure.cluster.spread import SpreadBackend  # loads the simulator

    return SpreadBackend(chosen, place)
