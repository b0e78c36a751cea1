"""Systems of a study as the simulator takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from seekwise import _core
from seekwise.workload.study.profiles import resolve
from seekwise.workload.study.study import Study, System, Workload

MIB = 2**20
# Samples that gnome-disks takes when nobody says otherwise (num-samples of its settings, from memory; rates hardly
# depend on it).
GNOME_DISKS_SAMPLES = 100
HZ_DEFAULT = 250


class NotModelled(Exception):
    """The simulator has no answer; the message names what is missing."""


@dataclass(frozen=True)
class Setup:
    """One system ready to be asked: everything that decides a number, without the four dimensions of a question."""

    drive: str
    drives: int
    level: str | None
    chunk_kib: int | None
    controller: str | None
    kernel: str
    hz: int
    ncq: bool
    filesystem: str | None
    partition_bytes: int | None
    on_volume: bool
    """The file lies on a logical volume, not on a bare partition."""
    direct: bool
    engine: str | None
    block_bytes: int
    file_bytes: int
    memory_bytes: int | None
    random_ios: int | None
    read_ahead_kib: int | None = None
    """The kernel's own choice when None."""
    samples: int | None = None
    """The program is gnome-disks, which takes so many samples of the block size; None: it is not."""
    iodepth: int = 1
    """Calls of a thread under way; more than one only past the page cache."""
    sync: bool = False
    end_fsync: bool = True
    runtime_s: float | None = None
    """How long a phase lasts; once through the files, or so many random calls, when None."""
    queue_depth: int | None = None
    """Commands that the host keeps outstanding on a drive; the drive's own when None."""
    queue: Mapping[str, object] = field(default_factory=dict)
    """Settings of the queues other than the kernel's own, by the compiled simulator's names."""
    processors: int | None = None
    host: str | None = None
    """A host model; none for a usual machine."""
    job: Mapping[str, object] = field(default_factory=dict)
    """Pace and priority of the threads, by the compiled simulator's names."""
    background: tuple[Mapping[str, object], ...] = ()
    """Jobs that work for as long as each phase, as the compiled simulator takes them."""
    drive_parameters: Mapping[str, float] = field(default_factory=dict)
    """Of each drive, other than its model's own."""
    array: Mapping[str, object] = field(default_factory=dict)
    """Layout, missing members, resync, bitmap and stripe cache of an array, by the compiled simulator's names."""


def of_system(study: Study, system: System) -> Setup:
    """A system under the first workload of its study."""
    workload: Workload = resolve(study.workload[0])
    options = dict(system.options)
    partition = options.get("partition_gib")
    return Setup(
        drive=str(system.drive),
        drives=system.drives,
        level=system.raid_level,
        chunk_kib=system.chunk_kib[0] if system.chunk_kib else None,
        controller=system.controller,
        kernel=str(system.kernel),
        hz=int(options.get("hz", HZ_DEFAULT)),
        ncq=options.get("ncq", "on") == "on",
        filesystem=str(options["filesystem"]) if "filesystem" in options else None,
        partition_bytes=int(partition) * 2**30 if partition is not None else None,
        on_volume=options.get("volume") == "lvm_ext4",
        direct=workload.direct,
        engine=workload.engine,
        block_bytes=workload.block_bytes[0],
        file_bytes=workload.size,
        memory_bytes=workload.memory_limit[0] if workload.memory_limit else None,
        random_ios=workload.random_ios,
        processors=int(options["processors"]) if "processors" in options else None,
        host=str(options["host"]) if "host" in options else None,
    )


@cache
def drive_model(name: str) -> Mapping[str, Any]:
    """Parameters of a drive model, defaults filled in; empty when there is no such model."""
    try:
        document = json.loads(_core.drive_model(name))
    except ValueError:
        return {}
    parameters = {known["key"]: known["default"] for known in document["known_parameters"]}
    return {
        **parameters,
        **{key: parameter["value"] for key, parameter in document["parameters"].items()},
        "kind": document["kind"],
    }
