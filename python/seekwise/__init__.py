"""Seekwise: which I/O settings should this storage use for this work?

`run`, `analyse`, `plot` and `load` are the library (`seekwise.library`); they are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seekwise.library import Analysis, Picture, Simulation, analyse, load, plot, run

__all__ = ["Analysis", "Picture", "Simulation", "analyse", "load", "plot", "run"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from seekwise import library

    return getattr(library, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
