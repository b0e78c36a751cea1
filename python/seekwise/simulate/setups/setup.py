"""Systems of a study as the simulator takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from seekwise import _core
from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import Load
from seekwise.workload.study.study import System, Workload

MIB = 2**20
# Memory of a machine about which nothing is said (range 0.5 to 4 GiB; what matters is how much smaller than the files
# it is).
MEMORY_BYTES = 2**30
# Samples that gnome-disks takes when nobody says otherwise (num-samples of its settings, from memory; rates hardly
# depend on it).
GNOME_DISKS_SAMPLES = 100


class NotModelled(Exception):
    """The simulator has no answer; the message names what is missing."""


@dataclass(frozen=True)
class Setup:
    """One system under a load, ready to be asked: everything that decides a number, without operation and seed."""

    system: System
    workload: Workload
    """Of the study, its profile filled in: the program, and how many random calls it makes when the load does not say."""
    load: Load
    values: Mapping[str, Value] = field(default_factory=dict)
    """Settings in place of the kernel's and the system's own."""

    @property
    def level(self) -> Value | None:
        """RAID level, of md or of a controller's unit."""
        return self.values.get("raid_level", self.system.raid_level)

    @property
    def filesystem(self) -> str | None:
        """None where the load goes to the bare storage, or a volume stands for it."""
        return cast("str | None", self.system.options.get("filesystem"))

    @property
    def is_on_volume(self) -> bool:
        """The file lies on a logical volume, not on a bare partition."""
        return self.system.options.get("volume") == "lvm_ext4"

    @property
    def memory_bytes(self) -> int:
        """What the page cache may hold."""
        return self.load.memory_limit_bytes or MEMORY_BYTES

    @property
    def runtime_s(self) -> float | None:
        """How long a phase lasts; once through the files, or so many random calls, when None."""
        return next((phase.runtime_s for phase in self.load.phases), None)

    @property
    def random_ios(self) -> int | None:
        """Random calls of a thread."""
        given = (phase.ios_per_thread for phase in self.load.phases if phase.ios_per_thread)
        return next(given, self.workload.random_ios)


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
