"""`seekwise doctor`: what is plainly wrong with the storage of this machine, without any load."""

from __future__ import annotations

import os
import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise.cli import _options, _output, _shown
from seekwise.errors import Exit, UsageError
from seekwise.linux.tree import open_tree
from seekwise.settings import special
from seekwise.settings.doctor import CHECKS, discards, examine, gather, smart
from seekwise.settings.doctor.check import DoctorFinding
from seekwise.workload.study.quantity import counted, time_text

WATCH_S = 5.0


@dataclass(frozen=True)
class Doctor:
    """`doctor --json`."""

    SCHEMA: ClassVar = "seekwise.doctor/1"

    checks: list[str]
    findings: tuple[DoctorFinding, ...]
    not_examined: list[str]


@click.command("doctor")
@click.argument("device", required=False, metavar="[DEVICE|PATH]")
@click.option(
    "--watch",
    type=_options.Duration(),
    help="How long to look at counters (5s); with DEVICE, at its requests.",
)
@_options.as_json("seekwise.doctor/1; with DEVICE seekwise.request-times/1")
@_options.captured("Examine a captured machine instead.")
def command(device: str | None, watch: float | None, as_json: bool, root: Path) -> None:
    """Find storage problems, and print commands that fix them.

    Each finding comes with its evidence and, where known, its cost.

    With DEVICE, or a PATH on it: says whether the drive is slow or its queue is long, by the time that each request
    spends in the queue and in the device, for every drive, array and mapping below. Needs root. With an md array, or a
    PATH on one: what one drive and the array give under usual loads, and what binds; with --watch also what binds now.

    Exit status 0: nothing wrong. 5: something is. Puts no load on the drives and changes nothing.
    """
    if device is not None:
        from seekwise.cli import _array_speed, _request_times  # numpy, which the checks do without

        if _array_speed.show(device, watch, root, as_json=as_json):
            return
        if root != Path("/"):
            raise UsageError("a captured machine has no requests to watch", "leave out --root, or leave out DEVICE")
        _request_times.watch(device, WATCH_S if watch is None else watch, as_json=as_json)
        return
    watch = WATCH_S if watch is None else watch
    tree = open_tree(root)
    if tree.live:
        _output.progress(f"watching the drives' counters for {time_text(watch)}")
    machine = gather.machine(tree, watch, _output.progress)
    findings = examine(machine)
    blind, beyond = _not_examined(machine.tree.live), special.unseen(list(machine.drives()), tree)
    unseen = [*blind.values(), *beyond]
    has_queues = any(device.queue for device in machine.stack.devices.values())
    if not has_queues:
        unseen, beyond = [NO_QUEUES, *unseen], [NO_QUEUES, *beyond]
    if as_json:
        _shown.echo_json(Doctor([check.NAME for check in CHECKS], findings, unseen))
    else:
        _print(findings, blind, has_queues=has_queues)
        for line in beyond:
            _output.to_person(f"note: {line}")
        if tree.live and not findings and has_queues:
            _output.to_person("next: `sudo seekwise tune PATH` measures whether other settings suit it")
    if any(finding.severity == "wrong" for finding in findings):
        raise SystemExit(int(Exit.NOT_MET))


NO_QUEUES = "settings: no device has a folder queue/, so schedulers, read-ahead and caches are not known"


def _not_examined(live: bool) -> dict[tuple[str, ...], str]:
    """{checks: why they could not look}."""
    if not live:
        return {(smart.NAME, discards.NAME): "drive health, discards: a capture does not hold them"}
    # Both at once: who follows the one meets no other.
    lacks = [
        *(["is not installed (package smartmontools)"] if not _has_smartctl() else []),
        *(["needs root (`sudo seekwise doctor`)"] if os.geteuid() != 0 else []),
    ]
    return {(smart.NAME,): f"drive health: smartctl {' and '.join(lacks)}"} if lacks else {}


def _has_smartctl() -> bool:
    """Whether it is installed, also where only root's PATH leads to it."""
    return shutil.which("smartctl") is not None or shutil.which("smartctl", path="/usr/sbin:/sbin") is not None


def _print(findings: tuple[DoctorFinding, ...], blind: dict[tuple[str, ...], str], *, has_queues: bool) -> None:
    width = min(_shown.out().width, 80)
    for finding in findings:
        _paragraph(f"{finding.severity.upper()}  {finding.text}", width, "", "       "[: len(finding.severity) + 2])
        for line in finding.evidence:
            _paragraph(line, width, "    ", "      ")
        if finding.cost:
            _paragraph(f"cost: {finding.cost}", width, "    ", "      ")
        for line in finding.mend:
            # A command is copied whole: it is never wrapped.
            click.echo(f"    {'' if line.startswith('#') else '$ '}{line}")
        click.echo()
    wrong = sum(finding.severity == "wrong" for finding in findings)
    look = len(findings) - wrong
    if not findings and not has_queues:
        click.echo("Nothing can be said of the settings: no device here shows its queue.")
        return
    could_not = sum(map(len, blind))
    looked = counted(len(CHECKS) - could_not, "check")
    start = f"{wrong} wrong, {look} worth a look: {looked}" if findings else f"Nothing wrong: {looked} found nothing"
    rest = f", {could_not} could not look: {'; '.join(blind.values())}" if blind else ""
    _paragraph(f"{start}{rest}.", width, "", "  ")


def _paragraph(text: str, width: int, first: str, rest: str) -> None:
    click.echo(
        "\n".join(textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False))
    )
