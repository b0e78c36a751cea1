"""`seekwise doctor ARRAY`: why it is no faster than one drive; with `--watch`, by what it does now."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from seekwise.cli import _output, _request_times, _shown
from seekwise.errors import UsageError
from seekwise.linux import diskstats
from seekwise.linux.block_device import BlockDevice
from seekwise.linux.resolve import ResolvedPath, resolve_path
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import open_tree
from seekwise.report.layout import wrapped
from seekwise.settings import array_speed
from seekwise.workload.study.quantity import time_text

WIDTH = 80


def show(target: str, watch_s: float | None, root: Path, *, as_json: bool) -> bool:
    """Says it of an md array; False where the target lies on none. UsageError where a captured machine is to be
    watched."""
    tree = open_tree(root)
    stack = read_stack(tree)
    path = resolve_path(stack, target)
    device = array_speed.array_of(path)
    if device is None:
        return False
    if watch_s is not None and not tree.live:
        raise UsageError("a captured machine has no requests to watch", "leave out --root, or leave out --watch")
    seen, times = _watched(path, device, watch_s) if watch_s is not None else ("", None)
    try:
        bounds = array_speed.bounds(path, device, stack.kernel, seen)
    except UsageError as error:
        if not seen:
            raise
        # What it did was seen all the same.
        _print([seen, error.message])
        return True
    if as_json:
        _shown.echo_json(bounds)
        return True
    _print([*([seen, ""] if seen else []), bounds.headline])
    click.echo()
    for line in array_speed.table(bounds):
        click.echo(line)
    click.echo()
    _print([f"{bounds.array}: {bounds.what}. Simulated with {bounds.drive_model} for each member."])
    if line := array_speed.advice_of(bounds, array_speed.spec_of(device)):
        click.echo(f"\nnext: {line}")
    if times is not None:
        click.echo()
        _request_times.show(times, as_json=False)
    return True


def _print(texts: list[str]) -> None:
    for text in texts:
        click.echo("\n".join(wrapped(text, min(_shown.out().width, WIDTH))))


def _watched(path: ResolvedPath, device: BlockDevice, seconds: float) -> tuple[str, _request_times.Times | None]:
    """What it did, by its counters; as root also the times of each request."""
    members = [leaf.name for leaf in path.leaves]
    before, busy, then = diskstats.read(), _thread_s(device.name), time.monotonic()
    times = None
    if os.geteuid() == 0:
        times = _request_times.seen(path, seconds)
    else:
        _output.progress(f"watching {device.name} and its members for {time_text(seconds)}")
        time.sleep(seconds)
    took = time.monotonic() - then
    moved = diskstats.moved(before, diskstats.read(), [device.name, *members])
    seen = array_speed.counted(device.name, members, moved, _thread_s(device.name) - busy, took)
    if seen is None:
        return f"{device.name} had no requests in {time_text(seconds)}: nothing can be said of your load.", times
    return array_speed.measured_line(device.name, moved[device.name], seen, array_speed.spec_of(device), took), times


def _thread_s(array: str) -> float:
    """Processor time so far of md's thread, `md0_raid5` (/proc/PID/stat, fields 14 and 15)."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        name = text[text.find("(") + 1 : text.rfind(")")]
        if name.startswith(f"{array}_raid"):
            words = text[text.rfind(")") + 2 :].split()
            return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0
