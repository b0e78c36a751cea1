"""`seekwise compare OLD.tar.gz NEW.tar.gz`: which settings of a machine changed between two captures, and who set
each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise.cli import _shown
from seekwise.errors import NotMetError
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import open_tree
from seekwise.report.layout import print_lines
from seekwise.settings import history, status
from seekwise.settings.status import DeviceStatus, Value
from seekwise.workload.study.quantity import counted


@dataclass(frozen=True)
class CapturedValue:
    """A setting in one capture."""

    value: str | None
    source: str
    set_by: str
    why: str


@dataclass(frozen=True)
class CapturedChange:
    """A setting that differs between two captures; null where the device has no such setting."""

    device: str
    attribute: str
    before: CapturedValue | None
    after: CapturedValue | None


@dataclass(frozen=True)
class ComparedCaptures:
    """`compare CAPTURE CAPTURE --json`."""

    SCHEMA: ClassVar = "seekwise.compare-captures/1"

    headline: str
    kernels: list[str]
    gone: list[str]
    new: list[str]
    changes: list[CapturedChange]


def compare(base: Path, new: Path, fail_if: tuple[str, ...], *, as_json: bool) -> None:
    """What differs, device by device; drives are known by their serial, whatever the kernel calls them."""
    trees = [open_tree(path) for path in (base, new)]
    stacks = [read_stack(tree) for tree in trees]
    values = [
        {history.names_drive(device.device): device for device in status.read(tree, stack).devices}
        for tree, stack in zip(trees, stacks, strict=True)
    ]
    changes = [
        (values[1][name], attribute, before, after)
        for name in values[1]
        if name in values[0]
        for attribute, before, after in _changes(values[0][name], values[1][name])
    ]
    gone = [values[0][name].device.name for name in values[0] if name not in values[1]]
    come = [values[1][name].device.name for name in values[1] if name not in values[0]]
    kernels = [stack.kernel or "unknown" for stack in stacks]
    headline = _headline(len(changes), len(set(values[0]) & set(values[1])), kernels)
    if as_json:
        listed = [
            CapturedChange(change.device.name, name, _side(old), _side(now)) for change, name, old, now in changes
        ]
        _shown.echo_json(ComparedCaptures(headline, kernels, gone, come, listed))
    else:
        said = [headline, *(f"gone: {name}" for name in gone), *(f"new: {name}" for name in come)]
        for change, attribute, before, after in changes:
            said.append("")
            said.append(f"{change.device.name} {attribute.rpartition('/')[2]}: {_value(before)} → {_value(after)}")
            said += [f"  {word}: {_who(value)}" for word, value in (("before", before), ("now", after)) if value]
            if kernels[0] != kernels[1] and (why := _by_kernel(before, after, change)):
                said.append(f"  {why}: {kernels[0]} → {kernels[1]}")
        for line in said:
            if line:
                print_lines([line], _shown.out(), indent="  " if line.startswith(" ") else "")
            else:
                click.echo()
    if changes and "difference" in fail_if:
        raise NotMetError(f"{len(changes)} settings differ", hint="asked for with --fail-if")


def _changes(before: DeviceStatus, after: DeviceStatus) -> Iterator[tuple[str, Value | None, Value | None]]:
    old = {value.attribute: value for value in before.settings}
    new = {value.attribute: value for value in after.settings}
    for name in dict.fromkeys([*old, *new]):
        first, second = old.get(name), new.get(name)
        if (first.value if first else None) != (second.value if second else None):
            yield name, first, second


def _by_kernel(before: Value | None, after: Value | None, now: DeviceStatus) -> str:
    """That no file changed it but another kernel; empty where that is not known."""
    if before is None or after is None:
        return ""
    if before.source == after.source == "kernel":
        return "the kernel's own default changed"
    gone = before.value not in now.device.schedulers_offered
    if after.attribute == "queue/scheduler" and gone and after.source in ("kernel", "unknown"):
        return f"the new kernel does not offer {before.value} and chose its own default"
    return ""


def _headline(count: int, devices: int, kernels: list[str]) -> str:
    between = f"kernel {kernels[0]} → {kernels[1]}" if kernels[0] != kernels[1] else f"the same kernel, {kernels[0]}"
    if not devices:
        return f"These captures have no drive in common ({between}): they are of two machines, or every drive was replaced."
    what = "no setting differs" if not count else f"{count} setting{'s differ' if count > 1 else ' differs'}"
    return f"On {counted(devices, 'device')} that both captures have, {what} ({between})."


def _value(value: Value | None) -> str:
    return value.value if value is not None and value.value is not None else "absent"


def _who(value: Value) -> str:
    return f"{value.set_by}{f'; {value.why}' if value.why else ''}"


def _side(value: Value | None) -> CapturedValue | None:
    return None if value is None else CapturedValue(value.value, value.source, value.set_by, value.why)
