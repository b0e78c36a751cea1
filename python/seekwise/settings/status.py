"""Per device: what is set, who set it, what seekwise applied and when, what differs from that now, and how old the
evidence is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from seekwise.control import lock
from seekwise.control.process import boot_id
from seekwise.linux.block_device import BlockDevice, Stack, passes_on
from seekwise.linux.facts import kernel_version
from seekwise.linux.members import zfs_members
from seekwise.linux.setters import Ineffective, Setter, owner, survey
from seekwise.linux.setters.assignment import UNKNOWN_VALUE, same_value
from seekwise.linux.tree import Tree
from seekwise.settings import history
from seekwise.settings.controllers import State
from seekwise.settings.history import Application, Expected
from seekwise.settings.special import twice_scheduled, usb_depth, without_uas
from seekwise.settings.values import as_shown, in_flight, kernel_default, read_ahead_reason, settings_of

SHOWN = (
    "queue/scheduler",
    "queue/nr_requests",
    "queue/read_ahead_kb",
    "device/queue_depth",
    "queue/wbt_lat_usec",
    "queue/write_cache",
    "md/stripe_cache_size",
    "md/sync_speed_min",
    "md/sync_speed_max",
)
"""Shown for every device that has them; others only where somebody sets them."""
KERNEL = "the kernel's default"
EITHER = "the default, or set by hand"
NO_SETTER = "none of the places that were read sets it"


@dataclass(frozen=True)
class Value:
    """An attribute of a device, and who set it."""

    HIDDEN: ClassVar = ("setter", "applied", "shown")
    SHOWN: ClassVar = ("file", "line", "expected", "drift")

    attribute: str
    value: str | None
    source: str
    """seekwise, a kind of setter, kernel, lvm, or unknown."""
    set_by: str
    """Who left this value, in words."""
    setter: Setter | None = None
    package: str | None = None
    applied: Expected | None = None
    others: tuple[Setter, ...] = ()
    """Others that set this attribute and did not win, or would win after the next start."""
    why: str = ""
    """Where the kernel's own read-ahead comes from; what bounds the requests in flight."""
    shown: str | None = None
    """What the kernel shows where the applied value is set."""
    ineffective: tuple[Ineffective, ...] = ()
    """Lines that name this attribute and do not act."""

    @property
    def file(self) -> str | None:
        """The file that sets the value; null where no file is known to."""
        return self.setter.file if self.setter else None

    @property
    def line(self) -> int | None:
        """Line of the file; null where the whole file sets it, or no file does."""
        return self.setter.line if self.setter else None

    @property
    def expected(self) -> str | None:
        """What seekwise applied; null when nothing."""
        return self.applied.value if self.applied else None

    @property
    def drift(self) -> bool:
        """Whether the value in force differs from the applied one; numbers are compared as numbers."""
        return self.shown is not None and (self.value is None or not same_value(self.shown, self.value))


@dataclass(frozen=True)
class DeviceStatus:
    """A device with settings."""

    HIDDEN: ClassVar = ("device",)
    SHOWN: ClassVar = ("name", "model", "serial", "firmware", "drift")

    device: BlockDevice
    settings: tuple[Value, ...]
    stale: tuple[str, ...] = ()
    """Why the evidence behind an applied setting is out of date."""
    applied: tuple[Application, ...] = ()
    """Every `apply` that is in force."""
    controller: State | None = None
    """What the tool of its RAID controller says of it."""
    measured_by: int | None = None
    """Process of seekwise that measures or sets this device now: what it changes says nothing of the time after it."""

    @property
    def name(self) -> str:
        """The kernel's name, e.g. `sda`; it may change at the next start."""
        return self.device.name

    @property
    def model(self) -> str | None:
        """As the drive reports it; null where it reports none."""
        return self.device.model

    @property
    def serial(self) -> str | None:
        """As the drive reports it; null where it reports none."""
        return self.device.serial

    @property
    def firmware(self) -> str | None:
        """Firmware revision; null where the drive reports none."""
        return self.device.firmware

    @property
    def drift(self) -> bool:
        """Whether any applied setting is no longer in force."""
        return any(value.drift for value in self.settings)


@dataclass(frozen=True)
class Status:
    """`status --json`."""

    SCHEMA: ClassVar = "seekwise.status/1"
    HIDDEN: ClassVar = ("read",)
    SHOWN: ClassVar = ("drift",)

    devices: tuple[DeviceStatus, ...]
    missing: tuple[str, ...] = ()
    """Devices that seekwise set and that are not here now."""
    guards: list[dict[str, object]] = field(default_factory=list)
    places: dict[str, list[str]] = field(default_factory=dict)
    """Files that were read to find who sets what, by kind."""
    not_evaluated: tuple[str, ...] = ()
    """Configuration that was left out, and why."""
    read: str = ""
    """The places that were read, in words."""

    @property
    def drift(self) -> bool:
        """Something that seekwise applied is no longer set; the exit status is then 5."""
        return any(device.drift for device in self.devices)


def read(tree: Tree, stack: Stack, only: frozenset[str] | None = None, state: Path | None = None) -> Status:
    """The status of every device that has settings, or of those named in `only`."""
    expected = history.expected(stack, state) if tree.live or state is not None else {}
    who = survey(tree, stack)
    of_zfs = zfs_members(tree, stack)
    packages: dict[str, str | None] = {}
    rows = []
    for device in stack.devices.values():
        if only is not None and device.name not in only:
            continue
        if not _worth_showing(device, expected.get(device.name), named=only is not None):
            continue
        own = [setter for setter in who.setters if setter.device == device.name]
        idle = [setter for setter in who.ineffective if setter.device in (None, device.name)]
        named = [*(setter.attribute for setter in own), *(setter.attribute for setter in idle if setter.device)]
        values = _values(device, own, expected.get(device.name, {}), stack, tree, packages, named)
        if (measured_by := lock.holder(device.name, tree.root)) is not None:
            values = tuple(_for_now(value, measured_by) for value in values)
        if device.name in of_zfs:
            values = tuple(
                replace(value, why="ZFS sorts and limits its requests itself") if value.attribute == "queue/scheduler" else value
                for value in values
            )  # fmt: skip
        shown = frozenset(value.attribute for value in values)
        values = tuple(replace(value, ineffective=tuple(_about(value.attribute, idle, shown))) for value in values)
        applications = {id(entry.application): entry.application for entry in expected.get(device.name, {}).values()}
        stale = tuple(line for application in applications.values() for line in _stale(application, device, stack))
        rows.append(DeviceStatus(device, values, stale, tuple(applications.values()), measured_by=measured_by))
    present = {history.names_drive(device) for device in stack.devices.values()}
    missing = (
        [
            device
            for application in history.applications(state)
            for device in application.wanted
            if application.drives.get(device, device) not in present
        ]
        if tree.live or state is not None
        else []
    )
    read = f"{who.read}; not there: {who.absent}" if who.absent else who.read
    not_evaluated = tuple(dict.fromkeys((*who.not_evaluated, *filter(None, [tree.spent]))))
    return Status(tuple(rows), tuple(dict.fromkeys(missing)), [], who.places, not_evaluated, read)


def _for_now(value: Value, process: int) -> Value:
    """Of a device that is being measured: the run restores what it changes, so nothing has drifted."""
    if value.drift or (value.source == "unknown" and value.set_by != EITHER):
        value = replace(value, source="seekwise", set_by=f"seekwise, while it measures (process {process})")
    return replace(value, shown=None)


def _about(attribute: str, idle: list[Ineffective], shown: frozenset[str]) -> Iterator[Ineffective]:
    """A line that udev cannot read at all may have meant any file of the queue, and a file that is not there has no row
    of its own: both stand with the scheduler."""
    for setter in idle:
        astray = setter.attribute == "queue/" or (setter.device and setter.attribute not in shown)
        if attribute == setter.attribute or (astray and attribute == "queue/scheduler"):
            yield setter


def _worth_showing(device: BlockDevice, expected: dict[str, Expected] | None, named: bool) -> bool:
    """`named`: somebody asked for it; else devices without a drive of their own are passed over."""
    if device.kind in ("partition", "optical") or device.details.get("hidden_path"):
        return False
    return named or bool(expected) or (device.has_medium and device.kind not in ("loop", "zram", "ram"))


def _values(
    device: BlockDevice,
    setters: list[Setter],
    expected: dict[str, Expected],
    stack: Stack,
    tree: Tree,
    packages: dict[str, str | None],
    named: Sequence[str],
) -> tuple[Value, ...]:
    """`named`: what lines name, whether or not they act."""
    current = settings_of(device)
    shown = [name for name in SHOWN if name in current and not (passes_on(device) and _meaningless(name))]
    shown += [name for name in dict.fromkeys([*expected, *named]) if name not in shown]
    own = {name: [setter for setter in setters if setter.attribute == name] for name in shown}
    return tuple(
        _value(name, current.get(name), own[name], expected.get(name), device, stack, tree, packages)
        for name in shown
        if name in current or name in expected
    )


def _meaningless(name: str) -> bool:
    return name != "queue/read_ahead_kb" and not name.startswith("md/")


def _value(
    name: str,
    current: str | None,
    setters: list[Setter],
    expected: Expected | None,
    device: BlockDevice,
    stack: Stack,
    tree: Tree,
    packages: dict[str, str | None],
) -> Value:
    """Attributes the present value: seekwise, then the last line that would leave it, then the kernel."""
    giving = [
        setter for setter in setters if replace(setter, value=as_shown(device, name, setter.value)).gives(current)
    ]
    best = max(giving, key=lambda setter: (setter.certain, setter.value != UNKNOWN_VALUE, setter.rank), default=None)
    others = tuple(setter for setter in setters if setter not in giving and not setter.is_ours)
    value = Value(name, current, "unknown", "", best, None, expected, others, _why(device, name, current, stack, tree))
    if best is not None and name == "device/queue_depth" and without_uas(device, [best]):
        value = replace(value, why="it keeps UAS away (usb-storage.quirks, or a blacklist): one command at a time")
    if expected is not None:
        value = replace(value, shown=as_shown(device, name, expected.value))
        if not value.drift:
            return replace(value, source="seekwise", set_by=f"seekwise, {expected.application.at[:10]}")
    if best is not None:
        if best.is_ours:
            return replace(value, source="seekwise", set_by=f"seekwise's own {best.text}")
        if best.file not in packages:
            packages[best.file] = None if best.file.startswith(("/etc/", "/proc/")) else owner(tree, best.file)
        package = packages[best.file]
        words = (
            best.text
            + (f", package {package}" if package else "")
            + ("" if best.certain or best.look else ", probably")
        )
        if name == "queue/scheduler" and best.value.strip() not in (current, UNKNOWN_VALUE):
            words += f" ({best.value.strip()} is another name of {current})"
        return replace(value, source=best.kind, set_by=words, package=package)
    default = kernel_default(device, name, stack)
    if default is not None and current is not None and same_value(default, current):
        return replace(value, source="kernel", set_by=KERNEL)
    if name == "queue/read_ahead_kb" and device.kind == "lvm" and (below := _below_with(device, current, stack)):
        return replace(value, source="lvm", set_by=f"LVM, which takes that of {below} below", why="")
    if default is None and not value.drift:
        return replace(value, set_by=EITHER)
    return replace(value, set_by=f"set by hand or by a program: {NO_SETTER}")


def _below_with(device: BlockDevice, read_ahead: str | None, stack: Stack) -> str | None:
    """The device below a logical volume with the same read-ahead, which LVM hands up when it activates the volume
    (lvm.conf(5), `readahead = auto`)."""
    for name in device.below:
        lower = stack.devices.get(name)
        lower = (
            stack.devices.get(lower.below[0])
            if lower is not None and lower.kind == "partition" and lower.below
            else lower
        )
        if lower is not None and read_ahead is not None and lower.queue.get("read_ahead_kb") == read_ahead:
            return lower.name
    return None


def _why(device: BlockDevice, name: str, current: str | None, stack: Stack, tree: Tree) -> str:
    if name == "queue/read_ahead_kb":
        default = kernel_default(device, name, stack)
        if default is None or current is None:
            return ""
        reason = read_ahead_reason(device, kernel_version(stack.kernel))
        return reason if same_value(default, current) else f"the kernel's default is {default} ({reason})"
    if (
        name == "md/stripe_cache_size"
        and (default := kernel_default(device, name, stack))
        and current not in (None, default)
    ):
        return f"the kernel's default is {default}"
    if name == "queue/scheduler":
        return twice_scheduled(device, tree)
    if name == "device/queue_depth" and device.transport == "usb":
        return usb_depth(device)
    if name == "queue/nr_requests" and (requests := in_flight(device)) is not None:
        count, by = requests
        return f"at most {count} in flight, bound by {by}"
    return ""


def _stale(application: Application, device: BlockDevice, stack: Stack) -> list[str]:
    lines = []
    evidence = application.evidence
    if evidence is not None:
        if evidence.kernel and stack.kernel and evidence.kernel != stack.kernel:
            lines.append(f"run {evidence.run_id} was measured under kernel {evidence.kernel}, this is {stack.kernel}")
        # The drive's kernel name may have been another one when it was measured.
        name = next(
            (named for named, drive in application.drives.items() if drive == history.names_drive(device)), None
        )
        then = evidence.firmware.get(name or device.name)
        if then and device.firmware and then != device.firmware:
            lines.append(f"run {evidence.run_id} was measured with firmware {then}, this is {device.firmware}")
    if not application.persisted and application.boot != boot_id():
        lines.append(f"set on {application.at[:10]} without --persist, and the machine has been restarted since")
    return lines
