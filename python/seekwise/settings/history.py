"""What seekwise has set on this machine, when, and on which evidence: one line per event in `STATE/history.jsonl`.

The journal says how to go back and forgets an entry once it is undone or gone with a restart; this file remembers what
was meant to be, so that `seekwise status` can tell when it no longer is. `revert` writes a line too: from there on
nothing is expected.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from seekwise import invocation
from seekwise.control.process import boot_id
from seekwise.control.state import SYSTEM_STATE, state_folder
from seekwise.errors import MissingError, reason
from seekwise.files import append, make_private, read_regular
from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.store.database import Run, Store

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SCHEMA = "seekwise.history/1"
BYTES_MAX = 64 << 20


@dataclass(frozen=True)
class Evidence:
    """The run that a setting rests on, and what the machine was then. `firmware`: {device: version}."""

    run_id: str
    at: str
    kernel: str | None = None
    firmware: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Application:
    """One `apply`. `wanted` and `before`: {device: {attribute: value}}; `drives`: {device: what names the drive}."""

    HIDDEN: ClassVar = ("boot", "wanted", "before", "drives")

    at: str
    boot: str
    reason: str
    wanted: dict[str, dict[str, str]]
    before: dict[str, dict[str, str]]
    drives: dict[str, str]
    persisted: tuple[str, ...] = ()
    """Files that keep the values over a restart."""
    evidence: Evidence | None = None
    guard: dict[str, object] | None = None
    """What the guard saw, where there was one."""


@dataclass(frozen=True)
class Expected:
    """The value that an attribute of a device should have, and the `apply` that it comes from."""

    value: str
    application: Application


def path(folder: Path | None = None) -> Path:
    """The file of what was applied, one JSON document a line."""
    return (folder or state_folder()) / "history.jsonl"


def now() -> str:
    """UTC, to the second, as the history keeps it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def names_drive(device: BlockDevice) -> str:
    """What stays with the drive when its kernel name moves; the kernel name where there is nothing better."""
    for name in ("wwid", "dm_uuid", "uuid"):
        if value := device.details.get(name):
            return str(value)
    return device.serial or device.name


def remember(application: Application, folder: Path | None = None) -> None:
    """Appends an application; `status` then expects its values."""
    _append({"schema": SCHEMA, "event": "applied", **asdict(application)}, folder)


def reverted(folder: Path | None = None) -> None:
    """From now on nothing is expected. Writes nothing where nothing was."""
    if path(folder).exists():
        _append({"schema": SCHEMA, "event": "reverted", "at": now()}, folder)


def _append(document: dict[str, object], folder: Path | None) -> None:
    file = path(folder)
    try:
        make_private(file.parent, 0o755)
        append(file, (json.dumps(document) + "\n").encode())
    except OSError as error:
        raise MissingError(f"{file} cannot be written ({reason(error)})", invocation.with_sudo()) from error


def applications(folder: Path | None = None) -> list[Application]:
    """Every `apply` since the last `revert`, oldest first. Lines that cannot be read are passed over."""
    file = path(folder)
    if folder is None and not file.exists() and not os.environ.get("SEEKWISE_STATE"):
        # A user without root looks at what root has set.
        file = path(SYSTEM_STATE)
    applied: list[Application] = []
    try:
        lines = read_regular(file, BYTES_MAX).decode(errors="replace").split("\n")
    except (OSError, ValueError):
        return []
    for line in lines:
        try:
            document = json.loads(line)
            event = document.pop("event")
            document.pop("schema")
            if event == "reverted":
                applied = []
                continue
            applied.append(_stored().validate_python(document))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return applied


def in_force_by_root() -> list[Application]:
    """What root has applied and neither `revert` nor a restart has undone, for a user who cannot read root's
    journal."""
    if os.geteuid() == 0 or os.environ.get("SEEKWISE_STATE"):
        return []
    boot = boot_id()
    return [
        application for application in applications(SYSTEM_STATE) if application.persisted or application.boot == boot
    ]


@cache
def _stored() -> TypeAdapter[Application]:
    """Refuses lines that hold anything but what `remember` writes."""
    from pydantic import TypeAdapter  # takes a tenth of a second, and most commands read no history

    return TypeAdapter(Application)


def expected(stack: Stack, folder: Path | None = None) -> dict[str, dict[str, Expected]]:
    """{device: {attribute: expected}} for the drives of this stack, found again by what names them."""
    by_drive = {names_drive(device): device.name for device in stack.devices.values() if device.kind != "partition"}
    result: dict[str, dict[str, Expected]] = {}
    for application in applications(folder):
        for device, values in application.wanted.items():
            # A drive that was only known by its kernel name is taken to be the one with that name now.
            name = by_drive.get(application.drives.get(device, device))
            if name is not None:
                for attribute, value in values.items():
                    result.setdefault(name, {})[attribute] = Expected(value, application)
    return result


def application_of(
    wanted: dict[str, dict[str, str]],
    before: dict[str, dict[str, str]],
    stack: Stack,
    *,
    reason: str,
    persisted: tuple[str, ...] = (),
    evidence: Evidence | None = None,
    guard: dict[str, object] | None = None,
) -> Application:
    """An application as of now."""
    drives = {name: names_drive(stack.devices[name]) for name in wanted if name in stack.devices}
    kept = {name: {key: before[name][key] for key in wanted[name] if key in before.get(name, {})} for name in wanted}
    return Application(now(), boot_id(), reason, wanted, kept, drives, persisted, evidence, guard)


def evidence_of(run: Run, store: Store) -> Evidence:
    """When the run ended, and under which kernel and firmware it was measured."""
    record = next(iter(store.records(run.run_id)), None)
    environment = record.environment if record else {}
    devices = environment.get("devices") or []
    firmware = {
        str(device["name"]): str(device["firmware"])
        for device in devices
        if isinstance(device, dict) and device.get("firmware")
    }
    kernel = environment.get("kernel")
    return Evidence(run.run_id, run.ended_at or run.created_at, str(kernel) if kernel else None, firmware)
