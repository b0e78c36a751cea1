"""Workload profiles that ship with the program, as TOML beside this package: `seekwise/profiles/NAME.toml`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from seekwise import bounds
from seekwise.workload.study.study import Workload


@cache
def names() -> list[str]:
    """Profiles that ship with the program."""
    return sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml"))


def resolve(workload: Workload) -> Workload:
    """The workload with its profile's values filled in; what the study itself says wins."""
    if workload.profile is None:
        return workload
    table = table_of(workload.profile)
    table.pop("description", None)
    own = workload.model_dump(exclude_unset=True, exclude={"profile"})
    if "random_ios" in own and "runtime" not in own:
        # A study that bounds a phase by amount replaces the profile's bound by time.
        table.pop("runtime", None)
    return Workload.model_validate({"name": workload.profile, **table, **own})


def table_of(name: str) -> dict[str, object]:
    """A profile as its TOML has it."""
    return bounds.toml((_folder() / f"{name}.toml").read_text(encoding="utf-8"))


def _folder() -> Traversable:
    return files("seekwise") / "profiles"
