"""A trial as a shell script of the guest, and the files that it needs.

    serve drives → the queue as it shall be → array → what is set on top → each phase, between two looks at the counters → all down

An nbd device takes 128 requests at once and calls itself flash. A drive that takes fewer gets as many tags as it has
commands, says that it rotates if it does, and has the limits that Linux gives a SATA drive, unless the study says
otherwise.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from seekwise.errors import UsageError
from seekwise.measure.kernel import fio_job
from seekwise.workload.study import factors
from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import Load, PlannedPhase
from seekwise_proof.testbed import filesystem
from seekwise_proof.testbed.cpio import CpioEntry
from seekwise_proof.testbed.modules import of_scheduler

LEVELS = {"raid0": 2, "raid1": 2, "raid4": 3, "raid5": 3, "raid6": 4, "raid10": 2}
"""Arrays that the guest makes, and the fewest drives of each."""
CHUNK_KIB = 512
"""mdadm's default."""
# Linux v6.1 include/linux/blkdev.h: BLK_DEF_MAX_SECTORS, 2560 sectors; nbd would say 128 KiB.
MAX_SECTORS_KB = 1280
# Linux v6.1 block/blk-mq-sched.h: with a scheduler twice the tags, at most twice 128.
TAGS_MAX = 128
# nbd's worker threads run at nice -20 (its receivers, and kblockd, which sends). On the guest's one processor they and
# the first of fio's threads to be ready kept the others from starting for as long as a short trial lasts: eight writers
# of 64 KiB ran two by two, and fio's rate of the group was twice what the processor can do. Ahead of them all start
# together, and go on as if each had a processor. The drives stay ahead at 50. Disks leave the processor idle: their
# loads run as a user's would.
AHEAD = "chrt -f 10 "
# A thread of a real-time class that names no priority for its requests gets the highest (get_current_ioprio of
# include/linux/ioprio.h); this is what it would get otherwise.
USUAL_PRIORITY = ("prioclass=2", "prio=4")


@dataclass(frozen=True)
class Storage:
    """Drives and what they are joined to."""

    model: str
    drives: int
    depth: int
    rotational: bool
    parameters: dict[str, float]
    level: str | None = None
    chunk_kib: int = CHUNK_KIB
    layout: str | None = None
    missing: tuple[int, ...] = ()
    """Members that have failed."""
    md: dict[str, int] = field(default_factory=dict)
    """Settings of the array by their files in sysfs."""
    start_bytes: int = 0
    whole_drive: bool = False
    filesystem: str | None = None
    """The threads' files lie on it; on the device itself when None."""
    tags: int | None = None
    """Of the host that the drive stands for, which `queue_depth` does not change; as many as the depth when None."""
    cgroup: bool = False
    """The load runs in a cgroup of its own that the io controller is on for; the kernel's threads stay in the root."""

    @property
    def requests(self) -> int:
        """nr_requests of a scheduler."""
        return 2 * min(self.tags or self.depth, TAGS_MAX)

    @property
    def top(self) -> str:
        """The device that the load uses: `md0` with a RAID level, else the single drive."""
        return "md0" if self.level else "nbd0"

    @property
    def leaves(self) -> list[str]:
        """Kernel names of the virtual drives in the guest, which are NBD devices."""
        return [f"nbd{number}" for number in range(self.drives)]

    @property
    def modules(self) -> list[str]:
        """In the order of loading; RAID 4, 5 and 6 are one module."""
        names = {"raid4": "raid456", "raid5": "raid456", "raid6": "raid456"}
        return ["nbd", *([names.get(self.level, self.level)] if self.level else [])]


def trial(
    number: int, storage: Storage, load: Load, values: dict[str, Value], seed: int
) -> tuple[str, dict[str, CpioEntry]]:
    """The lines that carry out one trial, and the files they use; results lie in /out/NUMBER."""
    out, group = f"/out/{number}", f"t{number}"
    lines, files = up(number, storage, values, seed)
    if storage.filesystem:
        filled = fio_job.layout(filesystem.place(load.size_bytes), load.threads)
        files[f"cell/{group}.layout"] = CpioEntry.file(
            filled.replace("[global]", "[global]\nzero_buffers=1", 1).encode()
        )
        lines += filesystem.made(storage.top, f"fio --output=/run/layout /cell/{group}.layout")
    lines.append(f"seen {' '.join(dict.fromkeys([*storage.leaves, storage.top]))} > {out}/seen")
    for index, step in enumerate(load.phases):
        name = f"{group}.{index}.fio"
        files[f"cell/{name}"] = CpioEntry.file(job(load, step, storage, seed + index).encode())
        if not load.direct or storage.filesystem:
            lines.append("sync; put 3 /proc/sys/vm/drop_caches")
        lines += [
            f"counted {out}/before.{index}",
            f"{_starter(load, storage)}fio --output-format=json+ --output={out}/fio.{index} --eta=never /cell/{name}",
            f"counted {out}/after.{index}",
        ]
    lines += down(number, storage)
    return "\n".join(lines) + "\n", files


def up(number: int, storage: Storage, values: dict[str, Value], seed: int) -> tuple[list[str], dict[str, CpioEntry]]:
    """Drives served, their queues set, the array made."""
    out, group = f"/out/{number}", f"t{number}"
    scheduler = str(values.get("scheduler", "none"))
    lines = [
        f"# trial {number}",
        f"mkdir {out}",
        f"modules {' '.join([*storage.modules, *of_scheduler(scheduler)])}",
        f"serve {group} {storage.drives} 0",
    ]
    for leaf in storage.leaves:
        lines += _queue(leaf, storage, scheduler, values)
    if storage.level:
        lines += _array(storage)
    lines += _top(storage, values)
    return lines, {f"cell/{group}.json": CpioEntry.file(_drives(storage, group, seed))}


def down(number: int, storage: Storage) -> list[str]:
    """All of it taken away, and the settings at the end kept."""
    out, group = f"/out/{number}", f"t{number}"
    lines = [f"seen {' '.join(storage.leaves)} > {out}/seen.after"]
    if storage.filesystem:
        lines += filesystem.unmade()
    if storage.level:
        lines += ["cat /proc/mdstat", "mdadm --stop --quiet /dev/md0"]
    return [*lines, f"unserve {group} {storage.drives} 0 {out}/drives"]


def _drives(storage: Storage, group: str, seed: int) -> bytes:
    return json.dumps({
        "model": storage.model,
        "parameters": storage.parameters,
        "sockets": [f"/run/{group}.{number}" for number in range(storage.drives)],
        "control": f"/run/{group}.control",
        "seed": seed % 2**32,
    }).encode()  # fmt: skip


def _queue(leaf: str, storage: Storage, scheduler: str, values: dict[str, Value]) -> list[str]:
    queue = f"/sys/block/{leaf}/queue"
    depth = int(values.get("queue_depth", storage.depth))
    requests = int(values.get("nr_requests", storage.requests))
    lines = [
        f"put none {queue}/scheduler",
        # Without a scheduler this is the number of the driver's own tags, and it stays when a scheduler comes.
        f"put {depth} {queue}/nr_requests",
        f"put {int(storage.rotational)} {queue}/rotational",
        f"put {values.get('max_sectors_kb', MAX_SECTORS_KB)} {queue}/max_sectors_kb",
        # -1: the default, which depends on what the drive says of itself.
        f"[ ! -e {queue}/wbt_lat_usec ] || put -1 {queue}/wbt_lat_usec",
    ]
    if scheduler != "none":
        lines += [
            f"put {scheduler} {queue}/scheduler",
            # Twice: Linux 6.1's mq-deadline takes its limit of asynchronous requests from the number before.
            f"put {requests - 1} {queue}/nr_requests",
            f"put {requests} {queue}/nr_requests",
        ]
    for name, value in factors.ordered(values).items():
        row = factors.factor(name)
        if name in ("scheduler", "nr_requests", "queue_depth", "max_sectors_kb") or row is None or row.where != "leaf":
            continue
        lines.append(f"put {shlex.quote(str(value))} /sys/block/{leaf}/{row.attribute}")
    return lines


def _array(storage: Storage) -> list[str]:
    words = [
        "mdadm --create /dev/md0 --run --quiet --metadata=1.2",
        f"--level={str(storage.level).removeprefix('raid')}",
    ]
    if storage.level != "raid1":
        words.append(f"--chunk={storage.chunk_kib}")
    if storage.level != "raid0":
        # The drives are new and read as zeros: mirrors are equal and parity is right.
        words += ["--assume-clean", "--bitmap=none"]
    if storage.layout:
        words.append(f"--layout={storage.layout}")
    members = ["missing" if n in storage.missing else f"/dev/{leaf}" for n, leaf in enumerate(storage.leaves)]
    words += [f"--raid-devices={storage.drives}", *members]
    return [" ".join(words), *(f"put {value} /sys/block/md0/md/{name}" for name, value in storage.md.items())]


def _top(storage: Storage, values: dict[str, Value]) -> list[str]:
    lines = []
    for name, value in values.items():
        row = factors.factor(name)
        if row is not None and row.where == "top" or row is not None and row.where == "md" and storage.level:
            lines.append(f"put {shlex.quote(str(value))} /sys/block/{storage.top}/{row.attribute}")
    return lines


def job(load: Load, step: PlannedPhase, storage: Storage, seed: int) -> str:
    """fio's job of one phase, on the top device or the files above it."""
    if storage.filesystem:
        place = filesystem.place(load.size_bytes)
    else:
        place = fio_job.FioTarget(
            device=Path("/dev", storage.top), offset_bytes=storage.start_bytes, region_bytes=load.size_bytes
        )
    lines = fio_job.phase(load, step, place, seed).splitlines()
    if storage.whole_drive:
        lines = [line for line in lines if not line.startswith(("offset_increment=", "size="))]
    # Zeros where nothing but zeros was need no memory of the guest, which is where the drives' content lies.
    priority = USUAL_PRIORITY if _is_ahead(load, storage) else ()
    return "\n".join([lines[0], "zero_buffers=1", *priority, *lines[1:]]) + "\n"


def _is_ahead(load: Load, storage: Storage) -> bool:
    return load.direct and not storage.rotational


def _starter(load: Load, storage: Storage) -> str:
    grouped = "grouped io " if storage.cgroup else ""
    # Through the page cache a program is held back by the kernel and its flusher, which have to get their turn.
    if _is_ahead(load, storage):
        return grouped + AHEAD
    limited = "" if load.direct or load.memory_limit_bytes is None else f"limited {load.memory_limit_bytes} "
    return grouped + limited


def check(storage: Storage, name: str) -> None:
    """Raises for an array that mdadm would refuse, and for a file system that the guest does not make."""
    if storage.filesystem is not None and storage.filesystem not in filesystem.KNOWN:
        raise UsageError(
            f"system {name}: the VM testbed makes no file system `{storage.filesystem}`",
            hint="known: " + ", ".join(filesystem.KNOWN),
        )
    if storage.level is None:
        if storage.drives > 1:
            raise UsageError(f"system {name} has {storage.drives} drives and no `raid_level`")
        return
    least = LEVELS.get(storage.level)
    if least is None:
        raise UsageError(
            f"system {name}: the VM testbed makes no `{storage.level}`", hint="levels: " + ", ".join(LEVELS)
        )
    if storage.drives < least:
        raise UsageError(f"system {name}: {storage.level} needs at least {least} drives, not {storage.drives}")
    chunk = storage.chunk_kib
    # RAID 0 takes any whole number of 4 KiB (mdadm(8), --chunk).
    if storage.level != "raid1" and (chunk < 4 or chunk % 4 or (storage.level != "raid0" and chunk & (chunk - 1))):
        of = "a whole number of 4 KiB" if storage.level == "raid0" else "a power of two from 4 KiB"
        raise UsageError(f"system {name}: a chunk of {storage.level} is {of}, not {chunk} KiB")


def settings(values: dict[str, Value]) -> None:
    """Raises for a setting that the guest cannot make."""
    for name in values:
        row = factors.factor(name)
        if name == "filesystem" or row is None:
            raise UsageError(f"the VM testbed does not set `{name}`")
