"""Shell lines that set values and take them back, ready to copy.

    shell_lines({"sda": {"queue/scheduler": "bfq"}}, {"sda": {"queue/scheduler": "none", "queue/nr_requests": "64"}})
    set:  echo bfq | sudo tee /sys/block/sda/queue/scheduler
    undo: echo none | sudo tee /sys/block/sda/queue/scheduler
          echo 64 | sudo tee /sys/block/sda/queue/nr_requests

Lines stand in the order in which the kernel needs them. What a scheduler switch resets on the way is in the undo lines,
if `old` knows it and the kernel would not come back to it by itself: 64 would not stand there if it were what this
drive gets with none.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seekwise import schedulers
from seekwise.control import attributes, sysfs
from seekwise.control.settings import Changes, normalised
from seekwise.errors import UsageError

# What the kernel sets when it switches to a scheduler. A tunable that is not listed is always written back.
TUNABLE_DEFAULTS: dict[str, dict[str, tuple[str, ...]]] = {
    row.name: row.reset_to for row in schedulers.registry().values()
}

# Linux v6.12 block/blk-wbt.c wbt_default_latency_nsec: 75 ms for rotating drives, 2 ms for others.
WBT_DEFAULTS_USEC = ("75000", "2000")

BLKDEV_DEFAULT_RQ = 128
"""Linux v6.12 include/linux/blkdev.h."""


@dataclass(frozen=True)
class ShellLines:
    set: tuple[str, ...]
    undo: tuple[str, ...]


def shell_lines(wanted: Changes, old: Changes, *, sudo: bool | None = None, root: Path = Path("/")) -> ShellLines:
    """`old`: values as they are (or were) before; more than is wanted does no harm. `sudo` None: unless this is
    root."""
    wanted = normalised(wanted)
    # `old` may hold facts that are no settings (rotational, …): those cannot be restored and need not.
    old = normalised(
        {device: {name: value for name, value in values.items() if _is_setting(name)} for device, values in old.items()}
    )
    set_lines: list[str] = []
    undo_lines: list[str] = []
    for device, values in wanted.items():
        before = old.get(device, {})
        usual = _usual_requests(device, before.get("queue/scheduler", ""), root)
        kept = {}
        if attributes.READ_AHEAD in before and _is_moved(attributes.READ_AHEAD, before, values):
            # These writes set read-ahead to its default: who does not ask for that keeps what he has.
            kept = {attributes.READ_AHEAD: before[attributes.READ_AHEAD]}
        for name in sorted({**kept, **values}, key=attributes.order):
            set_lines.append(_line(device, name, {**kept, **values}[name], sudo, root))
        for name in sorted(before, key=attributes.order):
            is_moved = _is_moved(name, before, values) and (name != "queue/nr_requests" or before[name] != usual)
            if (name in values or is_moved) and attributes.in_force(name, before):
                undo_lines.append(_line(device, name, before[name], sudo, root))
    return ShellLines(tuple(set_lines), tuple(undo_lines))


def _usual_requests(device: str, scheduler: str, root: Path) -> str | None:
    """What nr_requests is after a switch to this scheduler; None where the drive's own depth cannot be read.

    Linux v4.12 to v6.17 block/blk-mq-sched.c blk_mq_init_sched, later blk_mq_default_nr_requests: without a scheduler
    as many as the drive has tags, with one twice that, and at most twice BLKDEV_DEFAULT_RQ.
    """
    try:
        tags = int((sysfs.device_folder(device, root) / "mq/0/nr_tags").read_text())
    except (OSError, ValueError, UsageError):
        return None
    return str(tags if scheduler == "none" else 2 * min(tags, BLKDEV_DEFAULT_RQ))


def _is_setting(name: str) -> bool:
    try:
        return bool(attributes.canonical(name))
    except UsageError:
        return False


def _is_moved(name: str, before: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether setting `wanted` and then going back to the scheduler of `before` leaves `name` at another value."""
    scheduler = before.get("queue/scheduler")
    if name in attributes.TWINS:
        return attributes.TWINS[name] in wanted
    if name == attributes.READ_AHEAD:
        return bool(attributes.RESETS_READ_AHEAD & set(wanted))
    if name.endswith("/async_depth"):
        depth = before.get("queue/nr_requests", "")
        # mq-deadline ties it to nr_requests: all of it (6.18) or three quarters (until then).
        follows = {depth, str(max(1, 3 * int(depth) // 4)) if depth.isdigit() else ""}
        return {"queue/scheduler", "queue/nr_requests"} & set(wanted) != set() and before[name] not in follows
    # Also for the scheduler that is set already: writing `none` over `none` sets nr_requests anew (seen on 6.18).
    if "queue/scheduler" not in wanted:
        return False
    if name == "queue/nr_requests":
        return True
    if name == "queue/wbt_lat_usec":
        # bfq switches it off; leaving bfq brings the default back. What a scheduler does that no table knows is not
        # known.
        switched = (scheduler, wanted["queue/scheduler"])
        touched = "bfq" in switched or any(name and name not in TUNABLE_DEFAULTS for name in switched)
        return touched and before[name] not in (("0",) if scheduler == "bfq" else WBT_DEFAULTS_USEC)
    if name.startswith(attributes.IOSCHED):
        known = TUNABLE_DEFAULTS.get(scheduler or "", {}).get(name.removeprefix(attributes.IOSCHED), ())
        return before[name] not in known
    return False


def _line(device: str, name: str, value: str, sudo: bool | None, root: Path) -> str:
    return echo(value, str(sysfs_path(device, name, root)), sudo=sudo)


def echo(value: str, path: str, *, sudo: bool | None = None) -> str:
    """The line that writes a value. `sudo` None: unless this is root, who may have no sudo."""
    text, place = shlex.quote(value), shlex.quote(path)
    with_sudo = os.geteuid() != 0 if sudo is None else sudo
    return f"echo {text} | sudo tee {place}" if with_sudo else f"echo {text} > {place}"


def sysfs_path(device: str, name: str, root: Path = Path("/")) -> Path:
    """Where a value is written, as an absolute path of the machine (without `root`).

    The write cache is switched at the drive where that is possible. A device of another machine gets the usual place.
    """
    try:
        folder = sysfs.device_folder(device, root)
    except UsageError:
        return Path("/sys/block") / device.replace("/", "!") / name
    file = attributes.path(name, folder)
    if name == "queue/write_cache" and (drive := attributes.path(attributes.CACHE_TYPE, folder)).exists():
        file = drive
    return Path("/") / file.relative_to(root)
