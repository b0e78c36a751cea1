"""What a system's options may be: of its host, its array, or parameters of its drive."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from seekwise import _core, suggestion
from seekwise.errors import UsageError
from seekwise.simulate import arrays
from seekwise.workload.study.factors import Value
from seekwise.workload.study.study import ARRAY_OPTIONS, Study, System

SWITCHES = frozenset({"cgroup", "synchronous_dispatch", "whole_drive", "partition_scan", "budget", "rotational"})
COUNTS = frozenset({
    "cores", "processors", "drives_beside", "hz", "partition_gib", "missing", "resync_kib_s", "sync_speed_max", "stripe_cache_size", "rmw_level",
    "bitmap_chunk_kib", "trace_events_max",
})  # fmt: skip
PARITY = frozenset({"raid4", "raid5", "raid6"})
OF_PARITY = ("stripe_cache_size", "rmw_level")


def check(system: System, study: Study) -> None:
    """UsageError for a value of another kind, and for an option that nothing here heeds."""
    place, options = f"system {system.name}", system.options
    for name, value in options.items():
        if name in SWITCHES and not isinstance(value, bool):
            raise UsageError(f"{place}: `{name}` is {value!r}; it is true or false")
        if name in COUNTS and (isinstance(value, bool | str) or value != int(value) or value < 0):
            raise UsageError(f"{place}: `{name}` is {value!r}; it is a whole number")
        if name == "ncq" and value not in (True, False, "on", "off"):
            raise UsageError(f"{place}: `ncq` is {value!r}; it is on or off")
    if "partition_gib" in options:
        own = json.loads(_core.drive_model(str(system.drive)))["parameters"]["capacity_sectors"]["value"]
        most = int(options.get("capacity_sectors", own)) >> 21
        if not 1 <= int(options["partition_gib"]) <= most:
            raise UsageError(f"{place}: `partition_gib` lies between 1 and {most}, what the drive has")
    if "drives_beside" in options and "cores" not in options:
        raise UsageError(f"{place}: `drives_beside` needs `cores`", hint="for example: cores = 4, drives_beside = 4")
    if system.controller is not None:
        return
    check_depth(str(system.drive), study.factor_names())
    ignored = [name for name in ARRAY_OPTIONS if options.get(name) not in (None, "none", 0)]
    levels = {values.get("raid_level", system.raid_level) for values in arrays.combinations(study)}
    if ignored and not arrays.is_array(system, study):
        raise UsageError(f"{place}: `{ignored[0]}` is about an array, and it is one drive", hint="name a `raid_level`")
    if "sync_action" in options and levels <= {*arrays.UNPROTECTED}:
        raise UsageError(f"{place}: RAID 0 has no copies, so nothing rebuilds or checks it", hint="name another level")
    for name in OF_PARITY:
        if name in options and not levels & PARITY:
            raise UsageError(f"{place}: `{name}` is about RAID 5 and 6", hint="leave it out, or name such a level")


def has_depth(drive: str) -> bool:
    """Whether the kernel has a `device/queue_depth` of it, which is SCSI's: not of NVMe."""
    return drive.endswith("/virtio") or json.loads(_core.drive_model(drive))["attachment"] != "nvme"


def check_depth(drive: str, varied: Collection[str]) -> None:
    """UsageError where a depth is varied that the drive does not have."""
    if "queue_depth" in varied and not has_depth(drive):
        raise UsageError(
            f"{drive} is an NVMe drive, which has no `queue_depth`",
            hint="how many requests it gets at once the program decides: `iodepth` of a study's load",
        )


def drive_parameters(system: str, options: Mapping[str, Value], others: Collection[str]) -> dict[str, float]:
    """The options of a system that are not among `others`, which mean something else than the drive.

    Raises UsageError for one that is no number, as a drive's parameters are; the model itself refuses numbers that it
    does not know.
    """
    parameters = {}
    for key, value in options.items():
        if key in others:
            continue
        if isinstance(value, bool | str):
            raise UsageError(
                f"system {system} has the unknown option `{key}`",
                hint=suggestion.hint(key, others, "parameters of a drive model are numbers"),
            )
        parameters[key] = float(value)
    return parameters
