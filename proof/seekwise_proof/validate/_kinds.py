"""What can be verified: the modules of this folder, and facts of other distributions."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from seekwise import extensions
from seekwise.errors import UsageError
from seekwise_proof.validate._published import Publications

CHECKS = "seekwise.checks"
"""Entry points of facts that other distributions bring: NAME = "module" (`_published.py`)."""
NOT_KINDS = {"frame", "period_tables"}


def kinds() -> list[str]:
    """Names of everything that can be verified."""
    return sorted({*_own(), *extensions.entries(CHECKS)})


def _own() -> list[str]:
    import seekwise_proof.validate as package

    modules = pkgutil.iter_modules(package.__path__)
    return [m.name for m in modules if m.name not in NOT_KINDS and not m.name.startswith("_")]


def load(kind: str) -> Any:
    """The module of a kind, or what stands for one: facts of other distributions."""
    if kind not in kinds():
        raise UsageError(f"unknown kind of verification `{kind}`", f"one of: {', '.join(kinds())}")
    if kind not in _own():
        return Publications(kind, extensions.entries(CHECKS)[kind].load())
    return importlib.import_module(f"seekwise_proof.validate.{kind}")
