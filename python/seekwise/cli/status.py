"""`seekwise status`: what is set, who set it, and whether it is still what seekwise applied."""

from __future__ import annotations

import shlex
import textwrap
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from seekwise.cli import _options, _shown
from seekwise.errors import Exit
from seekwise.linux.describe import identity
from seekwise.linux.resolve import resolve_path
from seekwise.linux.setters import Setter
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import open_tree
from seekwise.settings import controllers, guard_log, status
from seekwise.settings.history import Application
from seekwise.settings.status import EITHER, KERNEL, DeviceStatus, Status, Value
from seekwise.workload.study.quantity import counted


@click.command("status")
@click.argument("path", required=False, metavar="[PATH|DEVICE]")
@_options.as_json("seekwise.status/1")
@_options.captured("Read a captured machine instead.")
def command(path: str | None, as_json: bool, root: Path) -> None:
    """Show each setting, who set it, and drift.

    Drift is any difference from what `seekwise apply` set.

    Exit status 0: everything that seekwise applied is still set. 5: something differs (for monitoring).
    """
    tree = open_tree(root)
    stack = read_stack(tree)
    only = None
    if path is not None:
        resolved = resolve_path(stack, path)
        drives = {drive.name for name in resolved.devices for drive in stack.drives(name)}
        only = frozenset({device.name for device in resolved.chain()} | drives)
    found = status.read(tree, stack, only)
    if tree.live:
        units = controllers.states(stack)
        devices = tuple(replace(shown, controller=units.get(shown.name)) for shown in found.devices)
        found = replace(found, devices=devices, guards=guard_log.read())
    if as_json:
        _shown.echo_json(found)
    else:
        _print(found)
    if found.drift:
        raise SystemExit(int(Exit.NOT_MET))


def _print(found: Status) -> None:
    width = min(_shown.out().width, 80)
    for device in found.devices:
        head, indent = f"{device.name}  {identity(device.device)}", " " * (len(device.name) + 2)
        click.echo(textwrap.fill(head, width, subsequent_indent=indent, break_long_words=False))
        _print_values(device, width)
        if state := device.controller:
            shown = [
                f"{name} {getattr(state, name)}"
                for name in ("level", "status", "ncq", "write_cache")
                if getattr(state, name)
            ]
            _wrapped(f"controller: {', '.join(shown)}", width)
        if device.measured_by is not None:
            _wrapped(f"seekwise measures it now (process {device.measured_by}), and restores what it changes", width)
        for application in device.applied:
            _wrapped(_application_text(application), width)
        for line in device.stale:
            _wrapped(f"stale: {line}", width)
        click.echo()
    for name in found.missing:
        click.echo(f"{name}: seekwise set this drive, and it is not here now")
    in_force = {device.name for device in found.devices if device.applied}
    for guard in found.guards:
        # What was kept and then reverted is no news.
        devices = guard.get("devices")
        if guard.get("outcome") != "kept" or (isinstance(devices, list) and in_force & set(map(str, devices))):
            _wrapped(guard_log.sentence(guard), width, "")
    if not found.devices:
        click.echo("no device here has settings")
        return
    _wrapped(f"Where no setter is named, none of the places that were read sets it: {found.read}.", width, "")
    for line in found.not_evaluated:
        _wrapped(f"not evaluated: {line}", width, "")
    if found.drift:
        names = ", ".join(device.name for device in found.devices if device.drift)
        click.echo(f"Drift: {names} no longer has what seekwise applied.")
        lines = [_set_again(device) for device in found.devices if device.drift]
        click.echo("\nnext, to set it again (`seekwise revert` gives it up):\n  " + "\n  ".join(lines), err=True)
    elif any(device.applied for device in found.devices):
        click.echo("No drift: everything that seekwise applied is set.")
    else:
        click.echo("seekwise has applied nothing here.")


def _set_again(device: DeviceStatus) -> str:
    """The command that brings back what differs, and nothing else."""
    values = [value for value in device.settings if value.drift and value.expected is not None]
    words = [
        f"--set {_short(setting.attribute)}={shlex.quote(setting.expected)}" for setting in values if setting.expected
    ]
    return f"sudo seekwise apply --device {device.name} {' '.join(words)}"


def _print_values(device: DeviceStatus, width: int) -> None:
    told, alike = [], defaultdict(list)
    for value in device.settings:
        # Of what no file sets there is nothing to say one by one.
        words = _words(value)
        if words in ORDINARY and value.attribute != "queue/scheduler" and not value.drift:
            alike[words].append(f"{_short(value.attribute)} {value.value or '–'}")
        else:
            told.append((value, words))
    left = max((len(_short(value.attribute)) for value, _ in told), default=0)
    middle = max((len(value.value or "–") for value, _ in told), default=0)
    indent = " " * (left + middle + 6)
    for value, words in told:
        mark = "!" if value.drift else " "
        text = f"{mark} {_short(value.attribute):{left}}  {value.value or '–':{middle}}  {words[:WORDS]}"
        click.echo("\n".join(textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False)))
    for words, values in alike.items():
        _wrapped(f"{', '.join(values)}: {words}", width)


def _words(value: Value) -> str:
    parts = [value.set_by]
    if value.drift and value.applied:
        parts = [f"seekwise applied {value.expected} on {value.applied.application.at[:10]}; now: {value.set_by}"]
    if value.why:
        parts.append(value.why)
    lines = [_other(other, value) for other in value.others]
    lines += [
        setter.text if setter.through else f"{setter.text}; instead: {setter.instead}" for setter in value.ineffective
    ]
    parts += lines[:SHOWN_LINES] + (
        [f"and {len(lines) - SHOWN_LINES} more (--json)"] if len(lines) > SHOWN_LINES else []
    )
    return "; ".join(parts)


ORDINARY = (KERNEL, EITHER)
"""What is said of several settings at once."""
WORDS = 2000
"""Characters about one setting: a value in somebody's file may have any length."""
SHOWN_LINES = 4
"""Of files that name a setting and did not set it."""


def _other(other: Setter, value: Value) -> str:
    """A line that did not win: one that a later line overrides, or one that would act after the next start."""
    doubt = "" if other.certain else " (uncertain)"
    if value.setter is not None and value.setter.certain and other.rank < value.setter.rank:
        return f"{other.text} sets {other.value} before{doubt} and is overridden"
    return f"{other.text} would set {other.value}{doubt}"


def _application_text(application: Application) -> str:
    kept = f", kept by {', '.join(application.persisted)}" if application.persisted else ", until the next restart"
    evidence = ""
    if application.evidence:
        evidence = f"; evidence {_age(application.evidence.at)} old"
    return f"applied {application.at}{kept}: {application.reason}{evidence}"


def _age(then: str) -> str:
    try:
        moment = datetime.fromisoformat(then)
    except ValueError:
        return "of unknown age"
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (datetime.now(UTC) - moment).total_seconds()
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return counted(int(seconds // length), unit)
    return "less than a minute"


def _wrapped(text: str, width: int, indent: str = "  ") -> None:
    click.echo("\n".join(textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + "  ")))


def _short(attribute: str) -> str:
    return attribute.removeprefix("queue/").removeprefix("device/").removeprefix("md/")
