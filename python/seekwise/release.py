"""Which release this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    """The version, e.g. `0.2.0`; `unknown` where the modules were copied without an installer."""
    try:
        return version("seekwise")
    except PackageNotFoundError:
        return "unknown"
