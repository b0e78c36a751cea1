"""Which setting for each system of a study: overall, by use and by number of threads.

Every choice is judged by the one rule of `seekwise.judge` (through `workloads.weigh`): the settings of one system
compete by their rates, weighed over the operations. Of those that the best does not beat the fastest is named, unless
it loses much more than another one in the combination where it is worst.

A chunk size competes like a setting. Systems that differ in their chunk alone are one family, and a study that varies
`chunk_kib` in its settings is the same family written differently: both end in the same choice. Simulated chunks are
named together if each stays within the error of the model of the best one under every load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from seekwise.errors import UsageError
from seekwise.judge.model_error import model_error
from seekwise.judge.rule import ROUNDS_MIN, THRESHOLD_SHARE
from seekwise.judge.workloads import OperationMix, Weighed, find, weigh
from seekwise.number_text import either
from seekwise.simulate.gain_error import gain_error
from seekwise.store.operations import OPERATIONS
from seekwise.store.record import Record
from seekwise.workload.study import combination_key
from seekwise.workload.study.factors import Value
from seekwise.workload.study.study import Answer, Study, System

OVERALL = OperationMix("overall", "all operations and thread counts alike", "all", dict.fromkeys(OPERATIONS, 1.0))
LEVEL_THROUGHPUT = 0.01
"""A setting that the best does not beat is named beside it if its estimated rate is at most this share lower …"""
LEVEL_LOSS = 0.10
"""… and its worst loss at most this much greater. Otherwise the first is only preferred: `rather X`."""
CHUNK = "chunk_kib"
CHUNK_DEFAULT = "512 KiB"
"""mdadm's own, since 3.1."""

NOT_LONG_ENOUGH = "not measured long enough"
LITTLE_KNOWN = f"({NOT_LONG_ENOUGH})"
"""After a setting that is the fastest so far, where another one may be as good."""


@dataclass(frozen=True)
class SystemChoice:
    """What to set on one system for one kind of work."""

    SHOWN: ClassVar = ("text",)
    HIDDEN: ClassVar = ("is_simulated", "is_sure")
    system: str
    kind: str
    """`hardware RAID 1`, `software RAID 5, NCQ off`: systems of one kind are named together."""
    use: str
    """`overall` or the name of a use."""
    threads: tuple[int, ...]
    """Thread counts that it holds for; empty: all."""
    named: tuple[str, ...]
    """What to set; empty: not measured long enough."""
    unbeaten: tuple[str, ...]
    """Settings that the best does not beat, `named` first."""
    settings: tuple[str, ...]
    rates: Mapping[str, float]
    """Rate of each setting relative to the first of `named`, weighed over the operations."""
    loss: float
    """Share of the best rate that the first of `named` loses where it is worst."""
    loss_combination: str
    repeats: int
    is_simulated: bool = False
    is_sure: bool = True
    """Of what is not beaten it is known how far it is from what is named."""
    error: float = 0.0
    """Of what is simulated: the model's, as a share of the rate."""
    losses: Mapping[str, float] = field(default_factory=dict)
    """Of each setting, as `loss`."""

    @property
    def are_chunks(self) -> bool:
        """Chunk sizes compete."""
        return all(label.endswith(" KiB") for label in self.settings)

    @property
    def is_level(self) -> bool:
        """Every setting is as good."""
        return len(self.named) == len(self.settings) > 1

    @property
    def is_little_known(self) -> bool:
        """Another setting may be as good as what is named."""
        return bool(self.named) and not self.is_level and not self.is_sure

    @property
    def short(self) -> str:
        """Without saying how little is known."""
        if not self.named:
            return NOT_LONG_ENOUGH
        named = [name.removeprefix("scheduler=") for name in self.named]
        if not self.are_chunks:
            return "no difference" if self.is_level else either(named)
        if self.is_level:
            return f"no difference from {named[0]} to {named[-1]}; keep mdadm's default of {CHUNK_DEFAULT}"
        first = self.settings.index(self.named[0])
        is_range = len(named) > 2 and self.settings[first : first + len(named)] == self.named
        return f"{named[0]} to {named[-1]}" if is_range else either(named)

    @property
    def text(self) -> str:
        """The choice in words; `not measured long enough` where another setting may be as good."""
        return f"{self.short} {LITTLE_KNOWN}" if self.is_little_known else self.short


def choices(study: Study | None, records: Sequence[Record]) -> tuple[SystemChoice, ...]:
    """Overall, then by use and load as the study asks; none where one system is all there is and the study asks for no
    answer of its own."""
    if study is None or (len(study.system) == 1 and study.answer is None and CHUNK not in study.factor_names()):
        return ()
    asked = study.answer or Answer()
    grouped = list(competitions(study, records))
    chosen = [choose(system, kind, mine, OVERALL) for system, kind, mine in grouped]
    if not any(chosen):
        return ()
    for name in asked.uses:
        chosen += [choose(system, kind, mine, find(name)) for system, kind, mine in grouped]
    if asked.by_threads:
        chosen += [choice for system, kind, mine in grouped for choice in by_threads(system, kind, mine)]
    return tuple(choice for choice in chosen if choice is not None)


def competitions(study: Study, records: Sequence[Record]) -> Iterator[tuple[str, str, list[Record]]]:
    """(system or family, kind, records whose `setting` competes)."""
    valid = [record for record in records if record.valid and record.role == "candidate"]
    by_name = {system.name: system for system in study.system}
    present = dict.fromkeys(str(record.factors.get("system", study.system[0].name)) for record in valid)
    # In the order of the study; trials run in another one.
    order = [name for name in by_name if name in present]
    chunks = _as_chunks(by_name, valid)
    if chunks:
        yield from chunks
        return
    schedulers = [str(scheduler) for scheduler in study.settings.get("scheduler", [])]
    for name in order:
        mine = [record for record in valid if record.factors.get("system", name) == name]
        # Settings in the order of the study; trials run in a random one.
        mine.sort(key=lambda r: schedulers.index(r.setting) if r.setting in schedulers else len(schedulers))
        if len({record.setting for record in mine}) > 1:
            yield name, kind_of(by_name[name]), mine


ArrayKey = tuple[object, ...]
"""Everything of an array but its chunk."""


def _as_chunks(systems: Mapping[str, System], records: Sequence[Record]) -> list[tuple[str, str, list[Record]]]:
    """Families of arrays that differ in their chunk alone, the chunk as what competes; none where schedulers compete
    too."""
    families: dict[ArrayKey, dict[str, list[Record]]] = {}
    arrays: dict[ArrayKey, System] = {}
    schedulers: dict[ArrayKey, set[str]] = {}
    for record in records:
        system = _as_varied(systems[str(record.factors.get("system", next(iter(systems))))], record)
        chunk = record.factors.get(CHUNK) or (system.chunk_kib[0] if system.chunk_kib else None)
        if chunk is None:
            continue
        key: ArrayKey = (
            *(system.drive, system.drives, system.raid_level, system.layout, system.kernel, system.controller),
            *(tuple(sorted(system.options.items())), system.target),
        )
        arrays.setdefault(key, system)
        label = f"{chunk} KiB"
        family = families.setdefault(key, {})
        # Combinations are named by their system and by whatever else is varied; both are the same for every chunk of a
        # family.
        combination = combination_key.without(record.combination, "system", CHUNK)
        family.setdefault(label, []).append(replace(record, setting=label, combination=combination))
        schedulers.setdefault(key, set()).add(str(record.factors.get("scheduler")))
    groups = []
    kinds = [kind_of(array) for array in arrays.values()]
    for key, family in families.items():
        if len(family) < 2 or len(schedulers[key]) > 1:
            continue
        members = [
            record for label in sorted(family, key=lambda word: int(word.split()[0])) for record in family[label]
        ]
        first = arrays[key]
        kind = kind_of(first)
        if kinds.count(kind) > 1:
            kind += f" of {first.drives}"
        kernel = f", Linux {first.kernel}" if first.kernel else ""
        groups.append((f"{kind}{kernel}", kind, members))
    return groups


def _as_varied(system: System, record: Record) -> System:
    """The system with what the settings of a record put in place of its level, drives and layout."""
    varied: dict[str, Value] = {
        name: record.factors[name] for name in ("raid_level", "drives", "layout") if name in record.factors
    }
    return system.model_copy(update=varied) if varied else system


def kind_of(system: System) -> str:
    """`hardware RAID 1`, `software RAID 5`, `single drive`."""
    if system.controller is None and system.raid_level is None:
        kind = "single drive" if is_single_drive(system) else f"{system.drives} drives"
    else:
        level = (system.raid_level or "").removeprefix("raid")
        kind = f"{'hardware' if system.controller else 'software'} RAID {level}"
    return f"{kind} without NCQ" if system.options.get("ncq") == "off" else kind


def is_single_drive(system: System) -> bool:
    """No array and no controller."""
    return system.controller is None and system.raid_level is None and system.drives == 1


def system_title(name: str, systems: Sequence[System]) -> str:
    """`A: hardware RAID 1, 9650-2LP`: what a system's name stands for, without what all have; the name alone where that
    is nothing."""
    system = next((listed for listed in systems if listed.name == name), None)
    if system is None:
        return name
    others = [_parts(listed) for listed in systems if listed.name != name]
    parts = [part for part in _parts(system) if not others or not all(part in other for other in others)]
    return f"{name}: {', '.join(parts)}" if parts else name


def _parts(system: System) -> list[str]:
    """Kind, controller, chunk and drives of a system."""
    chunk = f"chunk {system.chunk_kib[0]} KiB" if system.chunk_kib else None
    drives = f"{system.drives} × {system.drive}" if system.drives > 1 else system.drive
    parts = [None if drives == system.drive else kind_of(system), system.controller, chunk, drives]
    return [part for part in parts if part]


def choose(
    system: str, kind: str, records: Sequence[Record], use: OperationMix, threads: tuple[int, ...] = ()
) -> SystemChoice | None:
    """None where the records hold nothing of that use."""
    chosen = [record for record in records if not threads or int(record.factors.get("threads", 1)) in threads]
    settings = tuple(dict.fromkeys(record.setting for record in chosen))
    if len(settings) < 2:
        return None
    try:
        weighed = weigh(chosen, use, settings[0])
    except UsageError:
        return None
    repetitions = len({record.repetition for record in chosen})
    standings = {standing.setting: standing for standing in weighed.standings}
    # No chance touches what is simulated: it needs no repeats.
    enough = weighed.is_simulated or repetitions >= ROUNDS_MIN
    unbeaten = weighed.best if enough else _by_estimate(weighed)
    error, is_chunk = _error(chosen)
    # The model cannot tell them apart, whatever is asked of them.
    alike = tuple(n for n in settings if standings[n].regret <= error) if weighed.is_simulated and is_chunk else ()
    unbeaten = alike or unbeaten
    order = sorted(unbeaten, key=lambda name: -_throughput(weighed, name))
    if not order:
        return SystemChoice(
            system, kind, use.name, threads, (), (), settings, {}, 0.0, "", repetitions, weighed.is_simulated
        )
    # The fastest of them, unless it loses much more where it is worst than another one does.
    least = min(standings[name].regret for name in order)
    first = next(name for name in order if standings[name].regret - least <= LEVEL_LOSS)
    throughputs = {name: _throughput(weighed, name) / _throughput(weighed, first) for name in standings}
    named = alike or tuple(
        name
        for name in settings
        if name in order
        and throughputs[name] >= 1 - LEVEL_THROUGHPUT
        and standings[name].regret - standings[first].regret <= LEVEL_LOSS
    )
    rest = tuple(name for name in order if name not in named)
    loss = standings[named[0]]
    return SystemChoice(
        system,
        kind,
        use.name,
        threads,
        named,
        (*named, *rest),
        settings,
        throughputs,
        loss.regret,
        loss.regret_combination,
        repetitions,
        weighed.is_simulated,
        enough and not _is_open(weighed, first, rest),
        error,
        {name: standing.regret for name, standing in standings.items()},
    )


def _error(records: Sequence[Record]) -> tuple[float, bool]:
    """Error of the model as a share of the rate, and whether chunk sizes compete."""
    arrays: list[Any] = [record.load["array"] for record in records if "array" in record.load]
    is_chunk = len({array.get(CHUNK) for array in arrays}) > 1
    return gain_error((CHUNK,)) if is_chunk else model_error("rate"), is_chunk


def _is_open(weighed: Weighed, first: str, others: Sequence[str]) -> bool:
    """Whether it is not known of some setting how far its rate is from that of the first."""
    asked = [{first, other} for other in others]
    return any(
        pair.verdict == "unknown" and pair.figure.metric == "rate" and {*pair.settings} in asked
        for pair in weighed.pairs
    )


def _throughput(weighed: Weighed, setting: str) -> float:
    standing = next((s for s in weighed.standings if s.setting == setting), None)
    return standing.ratios.get("rate", (1.0, 1.0, 1.0))[0] if standing else 1.0


def _by_estimate(weighed: Weighed) -> tuple[str, ...]:
    """Too few repeats to judge: what is within the rule's threshold of the best estimate."""
    best = max(_throughput(weighed, standing.setting) for standing in weighed.standings)
    least = best / (1 + THRESHOLD_SHARE["rate"])
    return tuple(s.setting for s in weighed.standings if _throughput(weighed, s.setting) >= least)


def by_threads(system: str, kind: str, records: Sequence[Record]) -> list[SystemChoice]:
    """A choice for each thread count; neighbours with the same choice are one."""
    counts = sorted({int(record.factors.get("threads", 1)) for record in records})
    chosen: list[SystemChoice] = []
    for count in counts if len(counts) > 1 else []:
        choice = choose(system, kind, records, OVERALL, (count,))
        if choice is None:
            continue
        if chosen and chosen[-1].text == choice.text:
            choice = replace(choice, threads=(*chosen.pop().threads, count))
        chosen.append(choice)
    return chosen
