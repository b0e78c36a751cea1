"""What a user asks `apply` to set, resolved to devices and attributes, on this machine or on a captured one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seekwise import schedulers
from seekwise.control import attributes
from seekwise.control.settings import normalised
from seekwise.errors import MissingError, UsageError
from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.resolve import has_setting, resolve_path
from seekwise.settings import ncq, ranges
from seekwise.settings.forms import Wanted
from seekwise.settings.history import Evidence

if TYPE_CHECKING:
    from seekwise.report.advised import Advised


@dataclass(frozen=True)
class Asked:
    """`controller`: {device: {ncq or write_cache: on?}} for units whose controller alone can do it."""

    wanted: Wanted
    reason: str
    evidence: Evidence | None = None
    controller: dict[str, dict[str, bool]] = field(default_factory=dict)


def by_hand(targets: tuple[str, ...], settings: tuple[str, ...], stack: Stack) -> Asked:
    """Each setting on the devices on which it acts below each target."""
    wanted: Wanted = {}
    controller: dict[str, dict[str, bool]] = {}
    for target in targets:
        path = resolve_path(stack, target)
        for text in settings:
            name, sign, value = (part.strip() for part in text.partition("="))
            if not sign or not name or not value:
                raise UsageError(f"{text!r} is not NAME=VALUE", "for example `--set scheduler=bfq`")
            if name == "ncq":
                for device in path.leaves:
                    if ncq.by_controller(device):
                        controller.setdefault(device.name, {})["ncq"] = ncq.is_on(value)
                    else:
                        _want(wanted, device.name, "device/queue_depth", ncq.depth(device, value, stack))
                continue
            short = name.removeprefix("queue/").removeprefix("device/").removeprefix("md/")
            devices = path.devices_for(short.replace("iosched.", "iosched/"))
            if not devices:
                raise UsageError(f"nothing below {target} has the setting {name}", "`seekwise devices` shows the stack")
            for device in devices:
                _want(wanted, device.name, attributes.canonical(name), value)
    return Asked(normalised(wanted), "set by hand", None, controller)


def _want(wanted: Wanted, device: str, attribute: str, value: str) -> None:
    values = wanted.setdefault(device, {})
    if values.setdefault(attribute, value) != value:
        raise UsageError(f"{device} {attribute} is asked to be {values[attribute]} and {value}", "name one of them")


def recommended(advised: Advised, evidence: Evidence) -> Asked:
    """What a run recommends, with the run as evidence. UsageError where it did not measure this machine."""
    return Asked(normalised(advised.asked.changes()), advised.reason(), evidence)


def check(wanted: Wanted, stack: Stack) -> tuple[str, ...]:
    """Refuses what that machine does not have; returns notes. Reads nothing but the stack, so a capture will do."""
    notes = []
    for name, values in wanted.items():
        device = stack.devices.get(name)
        if device is None:
            raise UsageError(f"no block device is called {name}", "`seekwise devices` lists them")
        for attribute, value in values.items():
            notes += _check_one(device, attribute, value, values)
    check_values(wanted, stack)
    if stack.root.is_file():
        notes.append("an archive does not tell whether its kernel breaks on a value: unpack it, and name the folder")
    return tuple(notes)


def check_values(wanted: Wanted, stack: Stack) -> None:
    """Refuses values that no kernel takes for these devices; a device that is not there is somebody else's to
    refuse."""
    for name, values in wanted.items():
        for attribute, value in values.items():
            if name in stack.devices:
                ranges.check(stack.devices[name], attribute, value, stack)


def _check_one(device: BlockDevice, attribute: str, value: str, values: dict[str, str]) -> list[str]:
    if attribute == "queue/scheduler":
        if value in device.schedulers_offered:
            return []
        module = attributes.SCHEDULER_MODULES.get(value)
        offered = ", ".join(device.schedulers_offered) or "none"
        known = schedulers.registry()
        if module and any(known[name].multi_queue for name in device.schedulers_offered if name in known):
            return [f"{device.name} offers {value} only once the module {module} is loaded (now: {offered})"]
        raise UsageError(
            f'{device.name} does not offer scheduler "{value}" (offered: {offered})', "choose one of these"
        )
    tunable = attribute.removeprefix(attributes.IOSCHED)
    if tunable != attribute:
        switched = values.get("queue/scheduler", device.scheduler) != device.scheduler
        if not switched and tunable not in device.iosched:
            raise MissingError(
                f"{device.name} has no {attribute}",
                f"{device.scheduler} has {', '.join(device.iosched) or 'no tunables'}",
            )
        return []
    if attribute != attributes.CACHE_TYPE and not has_setting(device, attribute):
        raise MissingError(f"{device.name} has no {attribute}", "`seekwise devices` shows what it has")
    return []
