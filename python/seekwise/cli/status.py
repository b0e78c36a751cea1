"""`seekwise status`: what is set, who set it, and whether it is still what seekwise applied."""

from __future__ import annotations

import shlex
import textwrap
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from seekwise import invocation
from seekwise.cli import _options, _shown
from seekwise.errors import Exit
from seekwise.linux.resolve import resolve_path
from seekwise.linux.setters import Setter
from seekwise.linux.stack import need_devices, read_stack
from seekwise.linux.tree import open_tree
from seekwise.report.device_words import identity
from seekwise.settings import controllers, guard_log, status
from seekwise.settings.history import Application
from seekwise.settings.status import EITHER, KERNEL, NO_SETTER, DeviceStatus, Status, Value
from seekwise.workload.study.quantity import counted


@click.command("status")
@click.argument("path", required=False, metavar="[PATH|DEVICE]")
@_options.as_json("seekwise.status/1")
@_options.captured("Read a captured machine instead.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show every setting, every line that names one, and the files that were read.",
)
def command(path: str | None, as_json: bool, root: Path, everything: bool) -> None:
    """Show each setting, who set it, and drift.

    Drift is any difference from what `seekwise apply` set.

    Exit status 0: everything that seekwise applied is still set. 5: something differs (for monitoring).
    """
    tree = open_tree(root)
    stack = read_stack(tree)
    need_devices(stack, with_settings=True)
    only = None
    if path is not None:
        resolved = resolve_path(stack, path)
        drives = {drive.name for name in resolved.devices for drive in stack.drives(name)}
        only = frozenset({device.name for device in resolved.chain()} | drives)
    found = status.read(tree, stack, only)
    if tree.live:
        units = controllers.states(stack)
        devices = tuple(_with_pending(replace(shown, controller=units.get(shown.name))) for shown in found.devices)
        found = replace(found, devices=devices, guards=guard_log.read())
    if as_json:
        _shown.echo_json(found)
    elif everything:
        _print(found)
    else:
        words = [*([path] if path else []), *(["--root", str(root)] if not tree.live else []), "--all"]
        _print_first_screen(found, invocation.line(f"seekwise status {shlex.join(words)}"))
    if found.drift:
        raise SystemExit(int(Exit.NOT_MET))


MANY = 4
"""More devices have one line each."""
FIRST_SCREEN = 12
"""Rows of the short form, with the command that shows the rest."""


def _with_pending(shown: DeviceStatus) -> DeviceStatus:
    """Values that wait for their confirmation are what seekwise has set."""
    wanted: dict[str, str] = {}
    for document in guard_log.waiting():
        of_all = document.get("wanted")
        own = of_all.get(shown.name) if isinstance(of_all, dict) else None
        wanted |= own if isinstance(own, dict) else {}
    values = tuple(
        replace(value, source="seekwise", set_by="seekwise, until it is confirmed or undone")
        if value.value is not None and wanted.get(value.attribute) == value.value
        else value
        for value in shown.settings
    )
    return replace(shown, settings=values)


def _answer(found: Status) -> str:
    waiting = [guard for guard in found.guards if guard.get("outcome") == guard_log.WAITING]
    if waiting and not found.drift:
        return (
            f"A change of seekwise waits to be confirmed: `{invocation.line('sudo seekwise apply --keep')}` keeps it."
        )
    if found.drift:
        names = ", ".join(device.name for device in found.devices if device.drift)
        return f"Drift: {names} no longer has what seekwise applied."
    if any(device.applied for device in found.devices):
        return "No drift: everything that seekwise applied is set."
    return "seekwise has applied nothing here." if found.devices else "No device here has settings."


def _print_first_screen(found: Status, again: str) -> None:
    """What differs from the kernel's own choice first; `again` is the command for the rest."""
    width = min(_shown.out().width, 80)
    notes = [f"{name}: seekwise set this drive, and it is not here now" for name in found.missing]
    notes += _guards(found)
    after = _set_again(found)
    below = [row for note in notes for row in _rows_of(note, width)]
    room = FIRST_SCREEN - 1 - len(below) - max(len(after), 1)
    chosen = (
        _line_each(found.devices, room, width) if len(found.devices) > MANY else _chosen(found.devices, room, width)
    )
    for line in [_answer(found), *chosen, *below]:
        click.echo(line)
    if after:
        click.echo("\n".join(after), err=True)
    elif found.devices:
        click.echo(f"next: {again}", err=True)


def _guards(found: Status) -> list[str]:
    """What guards and confirmations ended with; of what was kept and then reverted there is no news."""
    in_force = {device.name for device in found.devices if device.applied}
    said = []
    for guard in found.guards:
        devices = guard.get("devices")
        if guard.get("outcome") != "kept" or (isinstance(devices, list) and in_force & set(map(str, devices))):
            said.append(guard_log.sentence(guard))
    return said


def _rows_of(text: str, width: int, indent: str = "  ", most: int = 2) -> list[str]:
    """A sentence in a few rows; what exceeds them is cut."""
    rows = textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False)
    return [_cut(row, width) for row in (rows if len(rows) <= most else [*rows[: most - 1], f"{rows[most - 1]} …"])]


def _chosen(devices: tuple[DeviceStatus, ...], room: int, width: int) -> list[str]:
    """Rows of devices and values for which there is room, by what a reader asks first. Devices that are alike share
    theirs."""
    groups: dict[tuple[str, ...], list[str]] = {}
    ranked: dict[tuple[str, ...], list[tuple[int, list[str]]]] = {}
    for device in devices:
        rows = _ranked_rows(device, width, most=2 if len(devices) > 1 else 4)
        key = (
            identity(device.device).partition(", firmware")[0].partition(", serial")[0],
            *(row for _, rest in rows for row in rest),
        )
        groups.setdefault(key, []).append(device.name)
        ranked[key] = rows
    heads = {key: _cut(f"{', '.join(names)}  {key[0]}", width) for key, names in groups.items()}
    order = sorted((rank, place, at) for place, key in enumerate(groups) for at, (rank, _) in enumerate(ranked[key]))
    keys = list(groups)
    total = sum(len(rest) for rows in ranked.values() for _, rest in rows) + len(keys)
    # One row says what is left out.
    free = room if total <= room else room - 1
    taken: set[tuple[int, int]] = set()
    for _, place, at in order:
        needed = len(ranked[keys[place]][at][1]) + (not any(place == other for other, _ in taken))
        if needed > free:
            break
        free -= needed
        taken.add((place, at))
    shown = []
    for place, key in enumerate(keys):
        chosen = [row for at, (_, rest) in enumerate(ranked[key]) if (place, at) in taken for row in rest]
        shown += [heads[key], *chosen] if chosen else []
    if left := len(order) - len(taken):
        others = [
            name
            for place, key in enumerate(keys)
            if not any(place == other for other, _ in taken)
            for name in groups[key]
        ]
        of_others = f", of {', '.join(others)} too" if others else ""
        shown.append(_cut(f"and {counted(left, 'row')} more{of_others}", width))
    return shown


def _line_each(devices: tuple[DeviceStatus, ...], room: int, width: int) -> list[str]:
    """A line for each device, or for those that are alike: what is asked for first, and what somebody has set."""
    groups: dict[str, list[str]] = {}
    for device in sorted(devices, key=lambda device: not device.drift):
        told = []
        for value in device.settings:
            if value.attribute in ASKED or not _is_ordinary(value):
                by = "" if value.set_by in ORDINARY else f" ({value.set_by.removesuffix(f': {NO_SETTER}')})"
                changed = f" instead of {value.expected}" if value.drift else ""
                told.append(f"{_short(value.attribute)} {value.value or '–'}{changed}{by}")
        groups.setdefault(("! " if device.drift else "  ") + ", ".join(told), []).append(device.name)
    lines = [_cut(f"{text[:2]}{', '.join(names)}  {text[2:]}", width) for text, names in groups.items()]
    return lines if len(lines) <= room else [*lines[: room - 1], f"and {len(lines) - room + 1} lines more"]


ASKED = ("queue/scheduler", "queue/read_ahead_kb")
"""Whose rows stand on the first screen whoever set them."""


def _ranked_rows(device: DeviceStatus, width: int, most: int) -> list[tuple[int, list[str]]]:
    """Each value with its rank: drift, set by somebody, explained; those without a story together."""
    alike = [
        value for value in device.settings if _is_ordinary(value) and not value.why and value.attribute not in ASKED
    ]
    told = [value for value in device.settings if value not in alike]
    left = max((len(_short(value.attribute)) for value in told), default=0)
    middle = min(16, max((len(value.value or "–") for value in told), default=0))
    rows: list[tuple[int, list[str]]] = []
    for value in told:
        is_ordinary = _is_ordinary(value)
        rank = 0 if value.drift else 1 if not is_ordinary else 2 if value.attribute in ASKED else 3
        mark = "!" if value.drift else " "
        text = f"{mark} {_short(value.attribute):{left}}  {value.value or '–':{middle}}  {_few_words(value)}"
        rows.append((rank, _rows_of(text, width, " " * (left + middle + 6), most if rank < 2 or most > 2 else 1)))
    rows += [(rank, [_cut(f"  {text}", width)]) for rank, text in _of_device(device)]
    together = ", ".join(f"{_short(value.attribute)} {value.value or '–'}" for value in alike)
    return rows + ([(4, [_cut(f"  {together}: {EITHER}", width)])] if alike else [])


def _is_ordinary(value: Value) -> bool:
    """Whether no file names it and nothing differs from what seekwise applied."""
    return value.set_by in ORDINARY and not (value.ineffective or value.others or value.drift)


def _few_words(value: Value) -> str:
    parts = [value.set_by.removesuffix(f": {NO_SETTER}")]
    if value.drift and value.applied:
        # Who overrides it comes first: that is what a reader has to change.
        by = [value.set_by] if value.source not in ("unknown", "kernel") else []
        parts = [*by, f"seekwise applied {value.expected} on {value.applied.application.at[:10]}"]
    parts += [
        f"{setter.place} {'acts through it alone' if setter.through else 'does not act'}"
        for setter in value.ineffective[:1]
    ]
    parts += [f"{counted(len(value.others), 'other line')} names it"] if value.others else []
    return "; ".join([*parts, *([value.why] if value.why else [])])


def _of_device(device: DeviceStatus) -> list[tuple[int, str]]:
    """What is said of a device besides its values, each with its rank."""
    said = [(1, _application_text(application)) for application in device.applied]
    said += [(1, f"stale: {line}") for line in device.stale]
    if device.measured_by is not None:
        said.append((0, f"seekwise measures it now (process {device.measured_by}), and restores what it changes"))
    if state := device.controller:
        names = [name for name in ("level", "status", "ncq", "write_cache") if getattr(state, name)]
        said.append((2, f"controller: {', '.join(f'{name} {getattr(state, name)}' for name in names)}"))
    return said


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def _print(found: Status) -> None:
    width = min(_shown.out().width, 80)
    click.echo(_answer(found))
    for device in found.devices:
        head, indent = f"{device.name}  {identity(device.device)}", " " * (len(device.name) + 2)
        click.echo("\n" + textwrap.fill(head, width, subsequent_indent=indent, break_long_words=False))
        _print_values(device, width)
        for _, text in _of_device(device):
            _wrapped(text, width)
    for name in found.missing:
        click.echo(f"{name}: seekwise set this drive, and it is not here now")
    for sentence in _guards(found):
        _wrapped(sentence, width, "")
    if not found.devices:
        return
    click.echo()
    _wrapped(f"Where no setter is named, none of the places that were read sets it: {found.read}.", width, "")
    for line in found.not_evaluated:
        _wrapped(f"not evaluated: {line}", width, "")
    if after := _set_again(found):
        click.echo("\n".join(["", *after]), err=True)


def _set_again(found: Status) -> list[str]:
    """The commands that bring back what differs, and nothing else, below what they are for."""
    lines = []
    for device in found.devices:
        drifted = [(value.attribute, value.expected) for value in device.settings if value.drift and value.expected]
        words = [f"--set {_short(name)}={shlex.quote(expected)}" for name, expected in drifted]
        if device.drift:
            command = f"sudo seekwise apply --device {device.name} {' '.join(words)}"
            lines.append(f"  {invocation.line(command)}")
    head = f"next, to set it again (`{invocation.line('sudo seekwise revert')}` gives it up):"
    return [head, *lines] if lines else []


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
    if other.look:
        return other.text
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
