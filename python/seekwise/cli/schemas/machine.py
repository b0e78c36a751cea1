"""This machine: its settings, what was applied, what is wrong."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seekwise.cli.schemas.base import Map, Part, part_of
from seekwise.linux.kernel_log import NcqState
from seekwise.linux.setters import assignment as setters
from seekwise.settings.doctor.check import Finding
from seekwise.settings.guard.compare import Comparison
from seekwise.settings.guard.ending import Ended

Values = dict[str, dict[str, str | None]]
"""{device: {attribute: value}}."""


class File(Part):
    """A configuration file."""

    path: str
    text: str
    notes: list[str]


class Conflict(part_of(setters.Setter, "kind", "file", "line", "device", "attribute", "value", "certain")):
    """Another program or file that sets the same attribute."""

    ours: str
    overrides_ours: bool


class Apply(Part):
    """`apply --json`. With --print only `form`, `wanted` and `files` tell more than that nothing was set."""

    schema_: Literal["seekwise.apply/1"]
    applied: bool
    """Whether anything was set; false with --dry-run and --print."""
    reason: str
    wanted: Values
    before: Values = Field(default_factory=dict)
    seen: Values = Field(default_factory=dict)
    """Values as read back."""
    set_lines: list[str] = Field(default_factory=list)
    undo_lines: list[str] = Field(default_factory=list)
    files: list[File] = Field(default_factory=list)
    conflicts: list[Conflict] = Field(default_factory=list)
    form: str = ""


class Guard(Part):
    """`apply --guard --json`: what the guard saw and did."""

    schema_: Literal["seekwise.guard/1"]
    id: str
    started_at: str
    ended_at: str | None = None
    devices: list[str]
    wanted: Values
    ways: list[str]
    """Where the values are kept after a restart."""
    seconds: float
    limit: float
    reason: str
    evidence: Map | None
    outcome: str
    """starting, watching before, watching after, kept, rolled back, nothing to set or failed."""
    headline: str
    comparison: Comparison | None = None
    restored: list[str] = Field(default_factory=list)


class Entry(Part):
    """An entry of the journal."""

    id: str
    kind: str
    started_at: str
    pid: int
    state: str
    """restored, open (dry run), busy (its process still runs), failed …"""
    sentences: list[str]
    items: list[Map]


class Revert(Part):
    """`revert --json`."""

    schema_: Literal["seekwise.revert/1"]
    dry_run: bool
    guards: list[Ended]
    entries: list[Entry]


class Setter(part_of(setters.Setter, "kind", "file", "line", "value")):
    """A file that sets an attribute."""


class Setting(Part):
    """An attribute of a device, and who set it."""

    attribute: str
    value: str | None
    source: str
    set_by: str
    why: str = ""
    """Where the kernel's own read-ahead comes from; what bounds the requests in flight."""
    file: str | None
    line: int | None
    package: str | None
    expected: str | None
    """What seekwise applied; null when nothing."""
    drift: bool
    others: list[Setter]


class Applied(Part):
    """An `apply` that is in force."""

    at: str
    reason: str
    persisted: list[str]
    evidence: Map | None
    guard: Map | None


class Device(Part):
    """A device with settings."""

    name: str
    model: str | None
    serial: str | None
    firmware: str | None
    drift: bool
    settings: list[Setting]
    applied: list[Applied]
    stale: list[str]
    """Why the evidence behind an applied setting is out of date."""
    controller: Map | None


class Status(Part):
    """`status --json`."""

    schema_: Literal["seekwise.status/1"]
    drift: bool
    """Something that seekwise applied is no longer set; the exit status is then 5."""
    devices: list[Device]
    missing: list[str]
    """Devices that seekwise set and that are not here now."""
    guards: list[Map]


class Doctor(Part):
    """`doctor --json`."""

    schema_: Literal["seekwise.doctor/1"]
    checks: list[str]
    findings: list[Finding]
    not_examined: list[str]


class ClassAdvice(Part):
    """What suits the class of one drive; nulls where no evidence ships."""

    device: str
    class_: str | None
    scheduler: str | None
    sentence: str
    purposes: dict[str, str]
    setting: str | None
    provenance: str | None
    model: str | None
    headline: str | None
    caps: list[str]


class ClassAdvices(Part):
    """`advise --device PATH --json`."""

    schema_: Literal["seekwise.advice-class/1"]
    drives: list[ClassAdvice]


class CapturedValue(Part):
    """A setting in one capture."""

    value: str | None
    source: str
    set_by: str
    why: str


class CapturedChange(Part):
    """A setting that differs between two captures; null where the device has no such setting."""

    device: str
    attribute: str
    before: CapturedValue | None
    after: CapturedValue | None


class ComparedCaptures(Part):
    """`compare CAPTURE CAPTURE --json`."""

    schema_: Literal["seekwise.compare-captures/1"]
    headline: str
    kernels: list[str]
    gone: list[str]
    new: list[str]
    changes: list[CapturedChange]


class RequestTimes(Part):
    """Requests of one kind; times in seconds, each median and 99th percentile."""

    kind: Literal["read", "read-ahead", "write", "flush", "discard"]
    count: int
    queue: list[float] | None
    """From arrival in the block layer to the driver; null where only bios are seen (md, device mapper)."""
    device: list[float]
    """From the driver, or of a bio from arrival, to completion."""


class WatchedDevice(Part):
    """One device of the stack."""

    name: str
    medium: str
    verdict: Literal["idle", "stalls", "slow", "queue", "own queue", "quick", "bios"]
    has_requests: bool
    requests: list[RequestTimes]
    queue_s: float
    """Means over all requests with data."""
    device_s: float
    service_s: float
    """Mean time from one completion to the next while the device had something to do."""
    in_device: float
    """Requests that the device works on at once."""
    stalls: int
    longest_s: float
    """Longest time with requests and without a completion."""
    unfinished: int


class Watched(Part):
    """`doctor DEVICE --json`."""

    schema_: Literal["seekwise.request-times/1"]
    headline: str
    seconds: float
    dropped_events: int
    devices: list[WatchedDevice]
    """From the named device down to its drives."""


class Config(Part):
    """`config --json`."""

    schema_: Literal["seekwise.config/1"]
    file: str
    settings: Map


class System(Part):
    """`system install --json` (`installed`) and `system uninstall --json` (`notes`)."""

    schema_: Literal["seekwise.system/1"]
    installed: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)


class Ncq(Part):
    """`devices --ncq --json`."""

    schema_: Literal["seekwise.ncq/1"]
    source: str
    ports: list[NcqState]
