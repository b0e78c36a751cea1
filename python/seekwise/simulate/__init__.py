"""Backends: who carries out a trial. One protocol (`protocol.py`), one row per backend in `backends.py`.

The package is called as a function, too: `seekwise.simulate(STUDY)` of the library has the name of this room.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Simulate(ModuleType):
    def __call__(self, *words: Any, **options: Any) -> Any:
        # By name: nothing in this room needs the library.
        return import_module("seekwise.library").simulate(*words, **options)


sys.modules[__name__].__class__ = _Simulate
