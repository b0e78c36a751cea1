"""`seekwise record DEVICE|MOUNT --for 10m`: the block requests of a device, as the kernel saw them."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise import files, invocation
from seekwise.cli import _options, _output, _shown
from seekwise.errors import MissingError, UsageError
from seekwise.linux import failure
from seekwise.workload.study.quantity import time_text

SECONDS_MOST = 86_400


@dataclass(frozen=True)
class TraceRecording:
    """`record DEVICE --json`."""

    SCHEMA: ClassVar = "seekwise.recording/1"

    file: Path
    device: str
    seconds: float
    requests: int
    dropped_events: int
    cpu_share: float
    """Share of all processors that recording took."""
    notes: Sequence[str]


@click.command()
@click.argument("target", metavar="DEVICE|MOUNT")
@click.option(
    "--for",
    "seconds",
    type=_options.Duration(),
    default="1m",
    show_default=True,
    help="How long, at most 24h, e.g. 30s, 10m; Ctrl-C ends it earlier.",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Trace file; default: ./DEVICE-TIME.swt."
)
@click.option(
    "--anonymise", is_flag=True, help="No names of processes or devices; offsets relative to the first one used."
)
@_options.as_json()
def command(target: str, seconds: float, output: Path | None, anonymise: bool, as_json: bool) -> None:
    """Record the requests to DEVICE, or the device under MOUNT.

    Uses the kernel's block trace events; needs root. While it runs, only the kernel's trace pages are moved into
    memory, at most 2 GiB of them. Nothing is written to the device. Events that the kernel had no room for are counted
    and reported.
    """
    from seekwise.trace.record import recorder

    if seconds > SECONDS_MOST:
        raise UsageError(f"--for {time_text(seconds)} is more than 24 h", "record in parts, or use `--for 24h`")
    if output is not None:
        files.refuse_special(output)
    if os.geteuid() != 0:
        raise MissingError("recording needs root: only root may read the kernel's trace events", invocation.with_sudo())
    device = recorder.device_of(_name(target))
    out = output or Path(f"{device.name}-{time.strftime('%Y%m%d-%H%M%S')}.swt")
    if not out.parent.is_dir():
        raise UsageError(f"the folder {out.parent} does not exist", "create it, or choose another with `--output`")
    storage = failure.watched(Path("/dev") / device.name, [device.name], is_device=True)
    _output.progress(f"recording {device.name} for {time_text(seconds)}; Ctrl-C ends it earlier")
    taken = recorder.record(device, seconds, out, anonymise=anonymise, tell=_output.progress)
    share = taken.cpu_seconds / max(taken.seconds, 1e-9) / (os.cpu_count() or 1)
    if as_json:
        shown = "" if anonymise else device.name
        _shown.echo_json(
            TraceRecording(
                out,
                shown,
                round(taken.seconds, 3),
                taken.requests,
                taken.dropped,
                round(share, 5),
                taken.notes.sentences,
            )
        )
        storage.check("")
        return
    click.echo(
        f"{taken.requests:,} requests in {taken.seconds:.1f} s; recording took {100 * share:.2f} % of the processors"
    )
    for sentence in taken.notes.sentences:
        click.echo(sentence)
    if taken.dropped:
        click.echo(f"warning: the kernel dropped {taken.dropped:,} events; some requests are incomplete", err=True)
    shows = f"next: {invocation.line(f'seekwise trace show {shlex.quote(str(out))}')}"
    click.echo(f"{out}\n\n{shows if taken.requests else 'Nothing used it: record again under load.'}")
    storage.check("")


def _name(target: str) -> str:
    """The device's name: as it is, as a path, or under a mount point."""
    path = Path(target)
    if not path.exists():
        if Path("/sys/class/block", target).exists():
            return target
        raise UsageError(f"{target}: there is no such device or folder", "`seekwise devices` lists the devices")
    if path.is_block_device():
        return path.resolve().name
    number = os.stat(path).st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not entry.exists():
        raise UsageError(
            f"{target}: does not lie on one block device", "name the device itself; `seekwise devices` lists them"
        )
    return entry.resolve().name
