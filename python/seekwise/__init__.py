"""Seekwise: which I/O settings should this storage use for this work?

`simulate`, `analyse`, `plot` and `load` are the library (`seekwise.library`); they are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seekwise.library import Analysis, Picture, Simulation, analyse, load, plot, simulate

__all__ = ["Analysis", "Picture", "Simulation", "analyse", "load", "plot", "simulate"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from seekwise import library

    # The room of this name is callable and stays in place once any of its modules is loaded.
    return importlib.import_module("seekwise.simulate") if name == "simulate" else getattr(library, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
