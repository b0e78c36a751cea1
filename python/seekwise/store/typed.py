"""What a stored record must hold: the type and the range of each value that readers compute with.

A database may come from anywhere. What is wrong is refused where it is read, so that no reader has to look again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

NUMBER_MOST = 1e18
"""No count of bytes, requests or nanoseconds of one trial is larger: 1e18 ns are 31 years."""
SEED_MOST = 2**64


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= NUMBER_MOST


def _is_amount(value: object) -> bool:
    return _is_finite(value) and value >= 0  # type: ignore[operator]


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= NUMBER_MOST


def _is_seed(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < SEED_MOST


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _optional(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | bool) or (isinstance(value, int | float) and math.isfinite(value))


def _each(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _is_windows(value: object) -> bool:
    return _is_list(value) and all(_is_list(pair) and len(pair) == 2 and all(map(_is_finite, pair)) for pair in value)  # type: ignore[attr-defined]


CPU = {
    **dict.fromkeys(("submitter_user", "submitter_system", "not_the_load_system"), _is_finite),
    **dict.fromkeys(("user", "system", "irq", "softirq", "iowait", "idle"), _optional(_is_finite)),
    "kernel_threads": _each(_is_finite),
}
PHASE = {
    "operation": _is_text,
    **dict.fromkeys(("elapsed_s", "latency_mean_ns", "latency_max_ns", "bytes", "ios"), _is_amount),
    "latency_bins": _each(_is_whole),
    "reported_percentiles_ns": _each(_is_amount),
    "device_bytes": _optional(_is_finite),
    "windows": _is_windows,
    "details": _is_object,
    "cpu": _is_object,
}
RECORD = {
    **dict.fromkeys(("run_id", "combination", "setting", "provenance", "started_at"), _is_text),
    **dict.fromkeys(("trial", "repetition", "attempt"), _is_whole),
    "seed": _is_seed,
    "factors": _each(_is_plain),
    "settings_seen": _each(_is_object),
    **dict.fromkeys(("environment", "load", "conditions"), _is_object),
    "phases": _is_list,
    "valid": lambda value: isinstance(value, bool),
    "invalid_reason": _optional(_is_text),
}


def require(document: object, checks: Mapping[str, Callable[[object], bool]], what: str) -> dict[str, Any]:
    """The document, if each of its values is of the type that its readers expect; ValueError with the first that is not."""
    if not isinstance(document, dict):
        raise ValueError(f"{what} is no object")
    for name, check in checks.items():
        if name in document and not check(document[name]):
            raise ValueError(f"{name} of {what} is {str(document[name])[:40]!r}")
    return document
