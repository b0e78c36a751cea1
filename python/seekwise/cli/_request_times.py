"""`seekwise doctor DEVICE --watch 30s`: time in the queue against time in the device, request by request."""

from __future__ import annotations

import contextlib
import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import click

from seekwise import invocation
from seekwise.cli import _display, _output, _shown
from seekwise.errors import Exit, MissingError
from seekwise.linux import diskstats
from seekwise.linux.block_device import BlockDevice
from seekwise.linux.resolve import ResolvedPath, resolve_path
from seekwise.linux.stack import read_stack
from seekwise.report.device_words import identity
from seekwise.report.metric_words import value_text
from seekwise.trace import in_queue
from seekwise.trace.in_queue import Level
from seekwise.workload.study.quantity import time_text

WIDTH = 80


@dataclass(frozen=True)
class Waiting:
    """How long one program waited for its requests, from their arrival to their end."""

    process: str
    requests: int
    mean_s: float
    p99_s: float


@dataclass(frozen=True)
class Watched:
    """`doctor DEVICE --json`."""

    SCHEMA: ClassVar = "seekwise.request-times/1"

    headline: str
    seconds: float
    dropped_events: int
    devices: tuple[Level, ...]
    """From the named device down to its drives."""
    waits: tuple[Waiting, ...]
    """Programs whose requests waited on the named device, the longest total first."""


@dataclass(frozen=True)
class Times:
    """What was seen of the requests of some devices."""

    levels: list[Level]
    devices: list[BlockDevice]
    seconds: float
    dropped: int
    waits: list[tuple[str, int, float, float]]
    """As `in_queue.waits`, on the named device."""


WAITING_SHOWN = 3


@contextlib.contextmanager
def _counting(names: Sequence[str], seconds: float) -> Iterator[Callable[[float], None]]:
    """What the devices do, in one line on a terminal, each second while they are watched."""
    with _display.moving() as (_, live):
        before, due = diskstats.read(), seconds - 1.0

        def tell(left: float) -> None:
            nonlocal before, due
            if live is None or left > due:
                return
            now = diskstats.read()
            moved = {name: now[name] - before[name] for name in names if name in now and name in before}
            before, due = now, left - 1.0
            each = [f"{name} {each.ios:,}/s, {each.bytes / 1e6:.3g} MB/s" for name, each in moved.items()]
            live.update(f"{left:.0f} s left; {'; '.join(each)}", refresh=True)

        yield tell


def watch(target: str, seconds: float, *, as_json: bool) -> None:
    """Watches the device of `target` and everything below it; status 5 when a device is slow, stalls or has a long
    queue."""
    show(seen(resolve_path(read_stack(), target), seconds), as_json=as_json)


def seen(path: ResolvedPath, seconds: float) -> Times:
    """Requests of the device and everything below it. MissingError (exit status 4) without root."""
    from seekwise.trace.record import levels, recorder

    if os.geteuid() != 0:
        raise MissingError(
            "watching requests needs root: only root may read the kernel's trace events", invocation.with_sudo()
        )
    devices = [device for device in path.chain() if device.kind != "partition"]
    watched = [recorder.device_of(device.name) for device in devices]
    _output.progress(
        f"watching {', '.join(device.name for device in watched)} for {time_text(seconds)}; Ctrl-C ends it"
    )
    with _counting([device.name for device in watched], seconds) as tell:
        taken = levels.record(watched, seconds, tell)
    made = [
        in_queue.level(
            seen.name, medium(device), taken.rows[seen.name], has_requests=seen.has_requests, seconds=taken.seconds
        )
        for device, seen in zip(devices, watched, strict=True)
    ]
    # The named device is where programs wait; a partition's requests are its disk's.
    top = watched[0]
    waits = in_queue.waits(taken.rows[top.name], taken.processes)
    return Times(made, devices, taken.seconds, taken.dropped, waits)


def show(times: Times, *, as_json: bool) -> None:
    """Ends with status 5 when a device is slow, stalls or has a long queue."""
    made = times.levels
    if as_json:
        waits = tuple(Waiting(*each) for each in times.waits)
        _shown.echo_json(Watched(headline(made), round(times.seconds, 3), times.dropped, tuple(made), waits))
    else:
        _print(made, times.devices, times.seconds)
        _print_waits(times)
        if times.dropped:
            click.echo(f"warning: the kernel dropped {times.dropped:,} events; some requests are missing", err=True)
    if any(device.verdict in ("stalls", "slow", "queue", "own queue") for device in made):
        raise SystemExit(int(Exit.NOT_MET))


def medium(device: BlockDevice) -> str:
    """Key of `in_queue.MEDIA`."""
    if device.kind == "nvme" and device.transport == "nvme":
        return "NVMe SSD"
    if device.kind == "disk" and device.transport in ("sata", "ata", "sas", "usb"):
        return "hard disk" if device.rotational else "SSD"
    return "device"


def headline(levels: list[Level]) -> str:
    """What the times say of the devices, the worst first."""
    order = ("stalls", "slow", "queue", "own queue", "quick", "bios", "idle")
    drives = [level for level in levels if level.has_requests] or levels
    worst = min(drives, key=lambda drive: order.index(drive.verdict))
    return _sentence(worst)


def _sentence(level: Level) -> str:
    name, service = level.name, _time(level.service_s)
    match level.verdict:
        case "idle":
            return f"{name} had no requests: nothing can be said."
        case "stalls":
            times = "once" if level.stalls == 1 else f"{level.stalls} times"
            return (
                f"{name} stalls: it had requests and completed none, {times}, for {_time(level.longest_s)} at the longest. "
                "No scheduler changes that: look at the drive, its cable or what lies behind it (`dmesg`, `smartctl`)."
            )
        case "slow":
            return (
                f"{name} is slow: it completes a request every {service} while it has any, and a healthy {level.medium} "
                f"needs less than {_time(level.limit_s)}. The wait in the queue ({_time(level.queue_s)}) is its consequence."
                if level.service_s > level.limit_s
                else f"{name} is slow to flush its cache; other requests are not slow."
            )
        case "queue":
            return (
                f"The queue is long, {name} is not slow: a request waits {_time(level.queue_s)} in the queue and "
                f"{_time(level.device_s)} in the device, which completes one every {service}. "
                f"Fewer requests at once or a faster device shorten it; who goes first, a scheduler decides (`{invocation.line('sudo seekwise tune PATH')}`)."
            )
        case "own queue":
            return (
                f"The queue is inside {name}: it works on {level.in_device:.0f} requests at once, so each takes {_time(level.device_s)}, "
                f"but it completes one every {service}. A smaller queue_depth leaves the choice to the scheduler."
            )
        case _:
            queue = f"{_time(level.queue_s)} in the queue and " if level.has_requests else ""
            return f"{name} is not slow and its queue is not long: a request takes {queue}{_time(level.device_s)} in the device."


def _print(levels: list[Level], devices: list[BlockDevice], seconds: float) -> None:
    width = min(_shown.out().width, WIDTH)
    for line in textwrap.wrap(headline(levels), width, break_on_hyphens=False):
        click.echo(line)
    for level, device in zip(levels, devices, strict=True):
        head = f"{level.name}: {identity(device)}" + (f", {device.scheduler}" if device.scheduler else "")
        click.echo(f"\n{textwrap.shorten(head, width)}")
        if not level.requests:
            click.echo(f"  no request in {time_text(seconds)}")
            continue
        above = "In the queue" if level.has_requests else ""
        below = "In the device" if level.has_requests else "From arrival to the end"
        click.echo(f"  {'':10} {'':>9}  {above:>21}  {below:>21}")
        head = f"{'median':>10} {'p99':>10}"
        click.echo(f"  {'':10} {'requests':>9}  {head if level.has_requests else '':21}  {head}")
        for request in level.requests:
            queue = _times(request.queue) if request.queue is not None else ""
            click.echo(f"  {request.kind:10} {request.count:>9,}  {queue:21}  {_times(request.device)}")
        if level.unfinished:
            click.echo(f"  {level.unfinished:,} not complete at the end")


def _print_waits(times: Times) -> None:
    if not times.waits:
        return
    click.echo(f"\n{'Who waits':20} {'requests':>9}  {'mean':>10} {'p99':>10}")
    for name, count, mean, tail in times.waits[:WAITING_SHOWN]:
        click.echo(f"{name[:20]:20} {count:>9,}  {_time(mean):>10} {_time(tail):>10}")


def _times(pair: tuple[float, float]) -> str:
    return f"{_time(pair[0]):>10} {_time(pair[1]):>10}"


def _time(seconds: float) -> str:
    return value_text(1000 * seconds, "ms")
