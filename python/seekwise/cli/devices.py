"""`seekwise devices`: the storage stack from mount point to drive, with every setting as it is."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise import invocation
from seekwise.cli import _options, _output, _shown
from seekwise.linux import kernel_log
from seekwise.linux.document import devices_document
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import need_devices, read_stack
from seekwise.report.devices import show_stack
from seekwise.report.layout import wrapped


@dataclass(frozen=True)
class Ncq:
    """`devices --ncq --json`."""

    SCHEMA: ClassVar = "seekwise.ncq/1"

    source: str
    ports: list[kernel_log.NcqState]


class OlderBoots(click.Command):
    """Where a value may be left out, click takes what begins with a dash for another option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`--ncq -1` and `--ncq=-1` with a blank before the number."""
        told = [re.sub(r"^--ncq=(?=-\d)", "--ncq= ", word) for word in args]
        for place, word in enumerate(told[1:], 1):
            if told[place - 1] == "--ncq" and re.fullmatch(r"-\d{1,4}", word):
                told[place] = f" {word}"
        return super().parse_args(ctx, told)


@click.command(cls=OlderBoots)
@click.argument("path", required=False, metavar="[PATH|DEVICE]")
@_options.as_json("seekwise.devices/1")
@_options.captured("Read a captured machine: the archive of `seekwise capture`, or the folder it unpacks to.")
@click.option(
    "--ncq",
    "boot",
    is_flag=False,
    flag_value="0",
    metavar="[BOOT|FILE]",
    help="Show NCQ as the kernel log states it: of this boot, of an older one (-1, -2 …), or in a file.",
)
def command(path: str | None, as_json: bool, root: Path, boot: str | None) -> None:
    """Show mounts, arrays, drives and their I/O settings.

    With PATH or DEVICE only what lies below it, and where each setting would go.
    """
    if boot is not None:
        _ncq(boot.strip(), as_json)
        return
    stack = read_stack(root)
    need_devices(stack)
    resolved = resolve_path(stack, path) if path else None
    if as_json:
        _shown.echo_json(devices_document(stack, resolved))
        return
    show_stack(_output.console(highlight=False), stack, resolved)
    if stack.root == Path("/"):
        tune = invocation.line(f"sudo seekwise tune {shlex.quote(path or '/')}")
        click.echo(f"\nmeasure which settings suit it: `{tune}`", err=True)


def _ncq(boot: str, as_json: bool) -> None:
    log = kernel_log.read(boot)
    states = kernel_log.states(log)
    if as_json:
        _shown.echo_json(Ncq(boot, states))
        return
    others = kernel_log.other_faults(log)
    if not states:
        click.echo("The kernel log names no SATA disk." if not others else "The kernel log says nothing of NCQ, but:")
    for controller in states:
        depth = f", depth {controller.used} of {controller.offered}" if controller.offered is not None else ""
        since = f" since {controller.since_s:.1f} s" if controller.since_s is not None else ""
        # "NCQ off by libata.force", "NCQ off since 207.6 s, given up after errors", "NCQ refused: …".
        reason = controller.reason or ""
        reason = reason and (f" {reason}" if reason.startswith("by ") else f", {reason}" if since else f": {reason}")
        failed = f"{', but' if controller.state == 'on' else ';'} {controller.failures}" if controller.failed else ""
        known = f"NCQ {controller.state}{depth}{since}{reason}{failed}"
        _wrapped(f"{controller.port}: {controller.failures if controller.state == 'unknown' else known}")
    if cost := next((controller.cost for controller in states if controller.cost), None):
        click.echo()
        _wrapped(f"Off or refused means {cost}.")
    for said in others:
        _wrapped(said)


def _wrapped(text: str) -> None:
    click.echo("\n".join(wrapped(text, min(_shown.out().width, 80), then="  ")))
