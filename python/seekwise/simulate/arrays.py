"""Arrays of a study for the simulated backend: md over modelled drives, with direct I/O
(`crates/sim/src/spec/array.rs`).

An array is a system's `drives`, `raid_level`, `chunk_kib` and `layout`, each of which `[settings]` may vary, and the
options `missing`, `resync_kib_s`, `sync_action` with `sync_speed_max`, `stripe_cache_size`, `rmw_level`, `bitmap` and
`bitmap_chunk_kib`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from seekwise.errors import UsageError
from seekwise.simulate.spec import Spec
from seekwise.workload.study.factors import Value
from seekwise.workload.study.study import ARRAY_OPTIONS, Study, System

MIN_KIB_S = 1000
"""What md gives a rebuild beside any load, as far as the drives can (Linux drivers/md/md.c: sysctl_speed_limit_min)."""
FACTORS = ("raid_level", "drives", "chunk_kib", "layout", *ARRAY_OPTIONS)
"""What describes an array, by the names of a study."""
ACTIONS = ("recover", "resync", "check")
UNPROTECTED = ("raid0",)
# Levels without chunks.
UNSTRIPED = ("raid1",)


def is_array(system: System, study: Study) -> bool:
    """Whether a system is, or becomes by a setting, md over drives."""
    if system.controller is not None:
        return False
    return system.drives > 1 or system.raid_level is not None or "raid_level" in study.factor_names()


def combinations(study: Study) -> list[dict[str, Value]]:
    """Every array that the settings make of a system."""
    if study.candidate:
        return [{name: value for name, value in values.items() if name in FACTORS} for values in study.candidate]
    names = [name for name in study.settings if name in FACTORS]
    return [
        dict(zip(names, values, strict=True)) for values in itertools.product(*(study.settings[name] for name in names))
    ]


def array_spec(system: System, values: Mapping[str, Value]) -> Spec | None:
    """The array of one trial; None for a drive alone. Raises UsageError for what nobody could mean."""
    level = values.get("raid_level", system.raid_level)
    drives = int(values.get("drives", system.drives))
    if level in (None, "none", "single"):
        if drives > 1:
            raise UsageError(
                f"system {system.name} has {drives} drives and no `raid_level`",
                hint="one of raid0, raid1, raid5, raid6, raid10",
            )
        return None
    if len(system.chunk_kib) > 1:
        raise UsageError(
            f"system {system.name} has {len(system.chunk_kib)} chunk sizes, but an array has one",
            hint="write them under `[settings]` as chunk_kib = [...]",
        )
    spec: Spec = {"level": str(level), "members": drives}
    if "chunk_kib" in values:
        # A level without chunks in a sweep over chunks stays as it is.
        if level not in UNSTRIPED:
            spec["chunk_kib"] = values["chunk_kib"]
    elif system.chunk_kib and not (level in UNSTRIPED and system.raid_level not in UNSTRIPED):
        spec["chunk_kib"] = system.chunk_kib[0]
    layout = values.get("layout", system.layout)
    if layout is not None:
        spec["layout"] = layout
    limit = values.get("sync_speed_max", system.options.get("sync_speed_max"))
    action = values.get("sync_action", system.options.get("sync_action"))
    if action is not None and limit != 0 and level not in UNPROTECTED:
        spec |= _at_work(spec, str(action), None if limit is None else int(limit))
    for name in ARRAY_OPTIONS:
        value = values.get(name, system.options.get(name))
        if value is not None:
            _option(spec, name, value)
    return spec


def _at_work(array: Mapping[str, object], action: str, limit: int | None) -> Spec:
    """A rebuild, resync or check that takes at most `limit` KiB/s of a drive."""
    if action not in ACTIONS:
        raise UsageError(f"sync_action is {action!r}", hint=f"one of {', '.join(ACTIONS)}")
    speed: dict[str, object] = {} if limit is None else {"max_kib_s": limit, "min_kib_s": min(limit, MIN_KIB_S)}
    if action == "check":
        speed["check"] = True
    return {"resync": speed, **({"missing": [0]} if action == "recover" else {})}


def _option(array: Spec, name: str, value: Value) -> None:
    match name:
        case "missing":
            # The drives that have failed, apart from each other as far as they can be: copies of RAID 10 lie side by
            # side.
            count, members = int(value), int(array["members"])
            if count > members:
                raise UsageError(f"{count} drives of an array of {members} cannot be missing")
            array["missing"] = sorted({place * members // max(count, 1) for place in range(count)})
        case "resync_kib_s":
            if int(value) > 0:
                array["resync"] = {**array.get("resync", {}), "min_kib_s": int(value)}
        case "bitmap" if str(value) == "internal-1g":
            # Internal, with bits of a GiB: fewer pages to write, more to bring in line after a crash.
            array |= {"bitmap": "internal", "bitmap_chunk_kib": 1 << 20}
        case "sync_action" | "sync_speed_max":
            # Both together say what runs.
            pass
        case _:
            array[name] = value
