"""Systems as the published studies set them up, and what an option of a question changes.

A drive asked for by name stands alone, with NCQ on, on the host and with the program of the 2008 article.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from seekwise.simulate.setups import trials
from seekwise.simulate.setups.setup import MIB, NotModelled, Setup
from seekwise.workload.study import starters
from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import Load
from seekwise.workload.study.profiles import resolve
from seekwise.workload.study.study import Study, System
from seekwise_papers.queries import Option

ARTICLE = "article-2008"
HZ_DEFAULT = 250
REPEATS_LEAST = 5
"""One seed leaves it to chance on which side of a tie's 3 % a figure falls."""
# Names of drives in the language (names of devices.toml); the program's models go by the same ids.
DRIVES = ("wd2500ys", "st3250620ns", "st31000340sv", "samsung_850_evo", "samsung_970_evo_plus", "generic_1tb_sata")


@dataclass(frozen=True, kw_only=True)
class PublishedSystem(Setup):
    """A system with what its study measures on it."""

    repeats: int
    wait_s: float
    threads: tuple[int, ...]
    schedulers: tuple[str, ...]
    repeat: int | None = None

    @classmethod
    def from_study(cls, study: Study, system: System) -> PublishedSystem:
        """A system under the first workload of its study."""
        workload = resolve(study.workload[0])
        load = Load(
            name="published",
            block_bytes=workload.block_bytes[0],
            direct=workload.direct,
            size_bytes=workload.size,
            memory_limit_bytes=workload.memory_limit[0] if workload.memory_limit else None,
        )
        return cls(
            system=system,
            workload=workload,
            load=load,
            repeats=max(study.design.blocks, REPEATS_LEAST),
            wait_s=study.design.wait,
            threads=tuple(workload.threads),
            schedulers=tuple(str(scheduler) for scheduler in study.settings.get("scheduler", ())),
        )

    def trial(self, operation: str, scheduler: str, threads: int, seed: int) -> str:
        """The simulator's trial as text. Raises NotModelled."""
        return trials.spec(replace(self.under(threads=threads), values={"scheduler": scheduler}), operation, seed)

    def under(self, **load: Any) -> PublishedSystem:
        """With another load."""
        return replace(self, load=replace(self.load, **load))

    def of(self, **system: Any) -> PublishedSystem:
        """As another system."""
        return replace(self, system=self.system.model_copy(update=system))

    def where(self, **options: Value) -> PublishedSystem:
        """With other options of the system."""
        return self.of(options={**self.system.options, **options})

    @property
    def chunk_kib(self) -> int | None:
        """None for a level without stripes, and where no size is given."""
        return self.system.chunk_kib[0] if self.system.chunk_kib else None

    @property
    def ncq(self) -> bool:
        """Whether drives take several commands."""
        return self.system.options.get("ncq", "on") == "on"

    @property
    def hz(self) -> int:
        """Ticks of the kernel per second."""
        return int(self.system.options.get("hz", HZ_DEFAULT))


@cache
def published() -> dict[str, Study]:
    """The published studies by name."""
    return {name: starters.open_shipped(name)[0] for name in starters.names_of("published")}


@cache
def systems() -> dict[str, PublishedSystem]:
    """Every system of the published studies, and every drive alone, by name."""
    setups: dict[str, PublishedSystem] = {}
    for study in published().values():
        for system in study.system:
            setups[system.name] = PublishedSystem.from_study(study, system)
    article = published()[ARTICLE]
    host = article.system[0]
    for drive in DRIVES:
        alone = System(name=drive, drive=drive, kernel=host.kernel, options=dict(host.options))
        setups[drive] = PublishedSystem.from_study(article, alone)
    return setups


def setup_of(name: str, options: tuple[Option, ...] = ()) -> PublishedSystem:
    """A system or drive by its name, changed by the options; NotModelled where there is none."""
    try:
        setup = systems()[name]
    except KeyError:
        raise NotModelled(f"there is no system or drive `{name[:40]}`") from None
    for option, value in options:
        setup = _with(setup, option, value)
    return setup


def _with(setup: PublishedSystem, option: str, value: str | float) -> PublishedSystem:
    match option:
        case "ncq":
            return setup.where(ncq=value)
        case "bs":
            return setup.under(block_bytes=round(float(value) * 1024))
        case "chunk":
            if setup.level not in ("raid0", "raid5", "raid10"):
                raise NotModelled("a chunk size means nothing without stripes")
            return setup.of(chunk_kib=[_whole(option, value)])
        case "ram":
            return setup.under(memory_limit_bytes=round(float(value) * MIB))
        case "drive":
            if value not in DRIVES:
                raise NotModelled(f"there is no drive `{str(value)[:40]}`")
            return setup.of(drive=str(value))
        case "kernel":
            return setup.of(kernel=str(value))
        case "controller":
            return setup.of(controller=str(value))
        case "storage":
            return setup.where(volume=value)
        case "tool":
            if setup.workload.engine is None:
                raise NotModelled(f"{value} on this system is not modelled")
            return setup.under(program=str(value))
        case "repeat":
            return replace(setup, repeat=_whole(option, value))
    raise NotModelled(f"the option `{option}` is not modelled")


def _whole(option: str, value: str | float) -> int:
    if float(value) != int(value):
        raise NotModelled(f"{option} {value} is no whole number")
    return int(value)
