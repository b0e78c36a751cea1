"""Backends by name, each loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from seekwise import extensions
from seekwise.errors import MissingError, UsageError

if TYPE_CHECKING:
    # Options of commands name BACKENDS: the models of studies, which take longest to load, are loaded with a backend
    # only.
    from seekwise.simulate.protocol import Backend, Options

BACKENDS = {
    "kernel": "seekwise.measure.kernel.backend:KernelBackend",
    "simulated": "seekwise.simulate.simulated:SimulatedBackend",
}
OF_PROOF = "lab"
"""The backend that the distribution `seekwise-proof` brings: stored runs name it whether or not that is installed."""
NAMES = (*BACKENDS, OF_PROOF)


def get(name: str, options: Options | None = None) -> Backend:
    """The backend of that name, loaded when it is asked for."""
    from seekwise.simulate.protocol import Options

    make: Callable[[Options], Backend]
    entry = extensions.entries(extensions.BACKENDS).get(name)
    if entry is not None:
        make = extensions.load(entry)
        return make(options or Options())
    if name == OF_PROOF:
        raise MissingError(
            "the VM testbed is not installed", hint="it comes with `seekwise-proof`: `pip install seekwise-proof`"
        )
    if name not in BACKENDS:
        raise UsageError(f"there is no `{name}` backend", hint="backends: " + ", ".join(NAMES))
    module, _, attribute = BACKENDS[name].partition(":")
    make = getattr(import_module(module), attribute)
    return make(options or Options())
