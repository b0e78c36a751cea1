"""Which release this is, under either name that it is installed by."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("seekwise", "seekwise-collector")


def release() -> str:
    """The version, e.g. `0.1.0`; `unknown` where the modules were copied without an installer."""
    for name in PACKAGES:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "unknown"
