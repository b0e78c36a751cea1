"""A unit of a RAID controller, what its tool says of it, and the commands that change it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from seekwise.linux.block_device import Stack

Argv = tuple[str, ...]


@dataclass(frozen=True)
class LogicalUnit:
    """A logical unit by its SCSI address. `index`: the controller's number among those of its driver, from 0."""

    device: str
    driver: str
    index: int
    channel: int
    target: int
    lun: int
    wwid: str = ""
    """As Linux shows it: `naa.600508b1001c…`."""


@dataclass(frozen=True)
class State:
    """As the tool prints it; None where it says nothing. `ncq` and `write_cache` are `on` or `off`."""

    ncq: str | None = None
    write_cache: str | None = None
    level: str | None = None
    status: str | None = None
    evidence: dict[str, str] = field(default_factory=dict)
    """{fact: the line that says so}."""


@dataclass(frozen=True)
class Tool:
    """`query(unit)`: commands that only read. `parse(text, unit)`: their joined output.
    `change(program, unit, name, on, text)`:
    None if the tool cannot; `text` is the output of the queries, None where the tool could not be asked."""

    name: str
    programs: tuple[str, ...]
    """In order of preference; the first one that is installed is used."""
    drivers: frozenset[str]
    query: Callable[[str, LogicalUnit], list[Argv]]
    parse: Callable[[str, LogicalUnit], State]
    change: Callable[[str, LogicalUnit, str, bool, str | None], Argv | None]
    unknown: Callable[[str, LogicalUnit], str] | None = None
    """How to find the words in capitals of a command that was made without `text`."""


def units(stack: Stack) -> dict[str, LogicalUnit]:
    """{device: unit} of every logical unit behind a RAID controller whose SCSI address is known."""
    hosts: dict[str, list[int]] = {}
    members: list[tuple[str, str, tuple[int, ...], str]] = []
    for device in stack.devices.values():
        controller, address = device.details.get("controller"), device.details.get("scsi_address")
        if isinstance(controller, dict) and address:
            numbers = tuple(int(part) for part in str(address).split(":"))
            driver = str(controller["driver"])
            members.append((device.name, driver, numbers, str(device.details.get("wwid") or "")))
            if numbers[0] not in hosts.setdefault(driver, []):
                hosts[driver].append(numbers[0])
    return {
        name: LogicalUnit(name, driver, sorted(hosts[driver]).index(host), channel, target, lun, wwid)
        for name, driver, (host, channel, target, lun), wwid in members
    }


def line_with(text: str, pattern: str) -> tuple[str, str] | None:
    """The whole line and the first group of the first line that matches."""
    for line in text.splitlines():
        if match := re.search(pattern, line, re.IGNORECASE):
            return line.strip(), match[1].strip()
    return None
