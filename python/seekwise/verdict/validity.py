"""Whether a trial counts. A trial is invalid only for a recorded cause; it is then repeated, and both are kept.

Pure: the backend says what it saw (`Seen`), this says what follows. Nothing here looks at the result: a slow trial is not an
invalid one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Cause(StrEnum):
    """Why a trial does not count; the value is how a record names it."""

    ERROR = "error"
    FOREIGN_IO = "foreign I/O"
    SETTING_CHANGED = "setting changed"
    RESYNC = "resync or scrub"
    THROTTLED = "throttled"
    CACHE_HIT = "cache hit"
    DEPTH_NOT_REACHED = "depth not reached"
    SHORT_RUNTIME = "short runtime"
    OVERRUN = "overrun"


@dataclass(frozen=True)
class Limits:
    """From which point on a disturbance counts."""

    foreign_share_max: float = 0.02
    """Bytes on the device that were not ours, as a share of ours: below what the judgement calls a difference."""
    cache_share_max: float = 0.02
    """Bytes asked for that the device never saw, as a share, where no cache may answer."""
    runtime_share_min: float = 0.99
    """fio ends a timed phase within 1 % of what was asked."""
    depth_share_min: float = 0.9
    """Mean depth reached, of the depth asked."""


@dataclass(frozen=True)
class Seen:
    """What a backend saw around one trial; None: not looked at, or cannot be known."""

    errors: tuple[str, ...] = ()
    bytes_asked: int | None = None
    bytes_on_device: int | None = None
    """Moved by the leaf devices meanwhile, in the directions of the load."""
    device_bytes_per_byte: float = 1.0
    """What the stack multiplies: 2 for writes to RAID 1 …"""
    cache_allowed: bool = False
    settings_before: Mapping[str, str] = field(default_factory=dict)
    """{device/attribute: value} after the settings were made."""
    settings_after: Mapping[str, str] = field(default_factory=dict)
    sync_actions: Mapping[str, str] = field(default_factory=dict)
    """{md device: sync_action}; anything but idle or frozen is work in the background."""
    throttle_events: int | None = None
    """Throttling counted by CPU or drive while the trial ran."""
    temperature_warning: bool = False
    depth_asked: int | None = None
    depth_reached: float | None = None
    runtime_asked_s: float | None = None
    runtime_s: float | None = None
    overruns: int | None = None
    """Requests that a virtual drive served later than its model says."""


def invalid_causes(seen: Seen, limits: Limits = Limits()) -> list[tuple[Cause, str]]:
    """Every cause with one clause that names thing and value; empty: the trial counts."""
    found: list[tuple[Cause, str]] = [(Cause.ERROR, text) for text in seen.errors]
    if seen.bytes_asked and seen.bytes_on_device is not None:
        expected = seen.bytes_asked * seen.device_bytes_per_byte
        foreign = (seen.bytes_on_device - expected) / expected
        if foreign > limits.foreign_share_max and not seen.cache_allowed:
            found.append((Cause.FOREIGN_IO, f"the device moved {100 * foreign:.1f} % more than the load asked for"))
        if -foreign > limits.cache_share_max and not seen.cache_allowed:
            found.append((Cause.CACHE_HIT, f"{100 * -foreign:.1f} % of the bytes never reached the device"))
    for name, before in seen.settings_before.items():
        after = seen.settings_after.get(name)
        if after is not None and after != before:
            found.append((Cause.SETTING_CHANGED, f"{name} was {before} and is {after} afterwards"))
    found.extend(
        (Cause.RESYNC, f"{device} is in {action}")
        for device, action in seen.sync_actions.items()
        if action not in ("idle", "frozen", "none", "")
    )
    if seen.throttle_events:
        found.append((Cause.THROTTLED, f"{seen.throttle_events} throttling events"))
    if seen.temperature_warning:
        found.append((Cause.THROTTLED, "the drive reports its temperature as too high"))
    if (
        seen.depth_asked
        and seen.depth_reached is not None
        and seen.depth_reached < limits.depth_share_min * seen.depth_asked
    ):
        found.append((Cause.DEPTH_NOT_REACHED, f"depth {seen.depth_reached:.1f} of {seen.depth_asked} asked"))
    if (
        seen.runtime_asked_s
        and seen.runtime_s is not None
        and seen.runtime_s < limits.runtime_share_min * seen.runtime_asked_s
    ):
        found.append((Cause.SHORT_RUNTIME, f"{seen.runtime_s:.2f} s of {seen.runtime_asked_s:.2f} s asked"))
    if seen.overruns:
        found.append((Cause.OVERRUN, f"{seen.overruns} requests later than the drive's model"))
    return found


def reason(causes: list[tuple[Cause, str]]) -> str | None:
    """As a record keeps it: `foreign I/O: the device moved 12.0 % more …; resync or scrub: md0 is in resync`."""
    return "; ".join(f"{cause.value}: {text}" for cause, text in causes) or None
