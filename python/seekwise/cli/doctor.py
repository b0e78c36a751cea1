"""`seekwise doctor`: what is plainly wrong with the storage of this machine, without any load."""

from __future__ import annotations

import os
import shlex
import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise import invocation
from seekwise.cli import _options, _output, _shown
from seekwise.errors import Exit, UsageError
from seekwise.linux import diskstats
from seekwise.linux.resolve import resolve_path
from seekwise.linux.tree import Tree, open_tree
from seekwise.number_text import listed, some
from seekwise.settings import special
from seekwise.settings.doctor import (
    CHECKS,
    array_state,
    device_state,
    discards,
    examine,
    gather,
    io_limits,
    kernel_fault,
    members,
    ncq,
    smart,
    temperature,
)
from seekwise.settings.doctor.check import DoctorFinding, Machine
from seekwise.workload.study.quantity import counted, time_text

WATCH_S = 5.0
COUNTERS_S = 1.0
"""How long counters are looked at before requests are watched."""


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
    "--watch", type=_options.Duration(), help="How long to look at counters (5s); with DEVICE, at its requests."
)
@_options.as_json("seekwise.doctor/1; with DEVICE seekwise.request-times/1")
@_options.captured("Examine a captured machine instead.")
def command(device: str | None, watch: float | None, as_json: bool, root: Path) -> None:
    """Find storage problems, and print commands that fix them.

    Each finding comes with its evidence and, where known, its cost.

    With DEVICE, or a PATH on it: the findings there, then whether the drive is slow or its queue is long, by the time
    that each request spends in the queue and in the device, for every drive, array and mapping below, and which
    programs wait. Needs root. With an md array, or a PATH on one: what one drive and the array give under usual loads,
    and what binds; with --watch also what binds now.

    Exit status 0: nothing wrong. 5: something is. 4 or 2: not all could be read. Puts no load on the drives and changes nothing.
    """
    if device is not None:
        from seekwise.cli import _array_speed, _request_times  # numpy, which the checks do without

        status = 0 if as_json else _examined(device, root)
        if not _array_speed.show(device, watch, root, as_json=as_json):
            if root != Path("/"):
                if as_json or watch is not None:
                    hint = "leave out --watch and --json, or DEVICE"
                    raise UsageError("a captured machine has no requests to watch", hint)
                raise SystemExit(status)
            _request_times.watch(device, WATCH_S if watch is None else watch, as_json=as_json)
        if status:
            raise SystemExit(status)
        return
    watch = WATCH_S if watch is None else watch
    tree = open_tree(root)
    if tree.live:
        _output.progress(f"watching the drives' counters for {time_text(watch)}")
    machine = gather.machine(tree, watch, _output.progress)
    findings = examine(machine)
    blind, beyond = _not_examined(machine), special.unseen(list(machine.drives()), tree, machine.who.setters)
    beyond = [*beyond, *kernel_fault.notes(machine)]
    beyond += [f"not evaluated: {line}" for line in machine.who.not_evaluated if line.startswith("the rest of ")]
    has_queues = any(device.queue for device in machine.stack.devices.values())
    beyond = [*_unread(tree), *([] if has_queues else [NO_QUEUES]), *beyond]
    unseen = [*blind.values(), *beyond]
    if as_json:
        _shown.echo_json(Doctor([check.NAME for check in CHECKS], findings, unseen))
    else:
        _print(findings, blind, has_queues=has_queues, machine=machine)
        for line in beyond:
            _output.to_person(f"note: {line}")
        if tree.live and not findings and has_queues:
            _output.to_person(
                f"next: {invocation.line(f'sudo seekwise tune {shlex.quote(os.getcwd())}')}  # measures whether other settings suit it"
            )
    if status := _status(findings, machine, has_queues=has_queues):
        raise SystemExit(status)


def _status(findings: tuple[DoctorFinding, ...], machine: Machine, *, has_queues: bool) -> int:
    """Not 0 where something is wrong, or where what is wrong could not be seen."""
    if any(finding.severity == "wrong" for finding in findings):
        return int(Exit.NOT_MET)
    tree = machine.tree
    if has_queues and not _unread(tree) and not is_thin(machine):
        return 0
    return int(Exit.MISSING if tree.live or tree.denied else Exit.USAGE)


def _unread(tree: Tree) -> list[str]:
    """What of a captured machine could not be read, as a sentence; of the running one each check says what it lacks."""
    if tree.live or not (tree.denied or tree.spent):
        return []
    return [tree.spent or f"no permission to read {some(sorted(tree.denied), 1)} in {tree.root}: read it as root"]


def _examined(path: str, root: Path) -> int:
    """Prints what is wrong with the devices of a path; the exit status of that."""
    tree = open_tree(root)
    machine = gather.machine(tree, COUNTERS_S, lambda _: None)
    names = {device.name for device in resolve_path(machine.stack, path).chain()}
    findings = tuple(finding for finding in examine(machine) if not finding.devices or names & set(finding.devices))
    has_queues = any(device.queue for device in machine.stack.devices.values())
    # What is said of an array fills a screen: there only findings go before it.
    if findings or is_thin(machine) or _unread(tree) or not any(name.startswith("md") for name in names):
        _print(findings, _not_examined(machine), has_queues=has_queues, machine=machine)
        click.echo()
    for line in _unread(tree):
        _output.to_person(f"note: {line}")
    return _status(findings, machine, has_queues=has_queues)


NO_QUEUES = "settings: no device has a folder queue/, so schedulers, read-ahead and caches are not known"


def _not_examined(machine: Machine) -> dict[tuple[str, ...], str]:
    """{checks: why they could not look}."""
    tree, held = machine.tree, {smart: "drive health", discards: "discards"}
    if not tree.live:
        if not tree.is_folder("/sys/fs/cgroup"):
            held |= {io_limits: "limits of control groups"}
        if is_thin(machine):
            held |= {device_state: "states of drives", temperature: "temperatures", ncq: "NCQ", members: "members"}
            # What /proc/mdstat says of arrays is as good.
            if not tree.text("/proc/mdstat"):
                held |= {array_state: "states of arrays"}
        names = tuple(check.NAME for check in held)
        unseen = sorted(diskstats.disks_named(tree) - machine.stack.devices.keys())
        settings = f", nor the settings of {listed(unseen)}, which it names" if unseen else ""
        return {names: f"{', '.join(held.values())}: {_kind(machine)} does not hold them{settings}"}
    # Both at once: who follows the one meets no other.
    lacks = [
        *(["is not installed (package smartmontools)"] if not _has_smartctl() else []),
        *([f"needs root (`{invocation.line('sudo seekwise doctor')}`)"] if os.geteuid() != 0 else []),
    ]
    return {(smart.NAME,): f"drive health: smartctl {' and '.join(lacks)}"} if lacks else {}


def is_thin(machine: Machine) -> bool:
    """Whether a tree holds little more of its devices than their queues."""
    return any(device.is_thin for device in machine.stack.devices.values())


def _kind(machine: Machine) -> str:
    return "a sos report" if machine.tree.is_folder("/sos_commands") else "a capture"


def _has_smartctl() -> bool:
    """Whether it is installed, also where only root's PATH leads to it."""
    return shutil.which("smartctl") is not None or shutil.which("smartctl", path="/usr/sbin:/sbin") is not None


def _print(
    findings: tuple[DoctorFinding, ...], blind: dict[tuple[str, ...], str], *, has_queues: bool, machine: Machine
) -> None:
    # Where what was read lacks too much, it is not said that nothing is wrong.
    only_in = (
        f"what {_kind(machine)} holds" if is_thin(machine) else "what could be read" if _unread(machine.tree) else ""
    )
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
    if only_in:
        found = start if findings else f"{looked} found nothing"
        start = f"In {only_in}: {found}"
    rest = f", {could_not} could not look: {'; '.join(blind.values())}" if blind else ""
    _paragraph(f"{start}{rest}.", width, "", "  ")
    if only_in:
        _paragraph(
            "For the rest, ask for the file of `sudo seekwise capture FILE.tar.gz` from that machine.", width, "", "  "
        )


LONGEST = 1000
"""Characters of what is said of one thing: a value from somebody else's file has no end of its own."""


def _paragraph(text: str, width: int, first: str, rest: str) -> None:
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    click.echo(
        "\n".join(textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False))
    )
