"""Backends by name, each loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from seekwise.errors import UsageError

if TYPE_CHECKING:
    # Options of commands name BACKENDS: the models of studies, which take longest to load, are loaded with a backend only.
    from seekwise.simulate.protocol import Backend, Options

BACKENDS = {
    "kernel": "seekwise.measure.kernel.backend:KernelBackend",
    "simulated": "seekwise.simulate.simulated:SimulatedBackend",
    "lab": "seekwise.lab.testbed.backend:LabBackend",
}


def get(name: str, options: Options | None = None) -> Backend:
    """The backend of that name, loaded when it is asked for."""
    from seekwise.simulate.protocol import Options

    if name not in BACKENDS:
        from seekwise.workload.study.study import FORMER_BACKENDS

        hint = FORMER_BACKENDS.get(name, "backends: " + ", ".join(BACKENDS))
        raise UsageError(f"this release has no `{name}` backend", hint=hint)
    module, _, attribute = BACKENDS[name].partition(":")
    return getattr(import_module(module), attribute)(options or Options())
