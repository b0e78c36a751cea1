"""Backends: who carries out a trial. One protocol (`protocol.py`), one row per backend here."""

from __future__ import annotations

from importlib import import_module

from seekwise.backend.protocol import Backend, Options
from seekwise.errors import UsageError

BACKENDS = {
    "kernel": "seekwise.backend.kernel.backend:KernelBackend",
    "simulated": "seekwise.backend.simulated:SimulatedBackend",
    "virtual": "seekwise.backend.virtual:VirtualBackend",
    "lab": "seekwise.testbed.backend:LabBackend",
}


def get(name: str, options: Options | None = None) -> Backend:
    """The backend of that name, loaded when it is asked for."""
    module, _, attribute = BACKENDS[name].partition(":")
    try:
        return getattr(import_module(module), attribute)(options or Options())
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise UsageError(f"this version has no `{name}` backend", hint="backends: " + ", ".join(BACKENDS)) from None
