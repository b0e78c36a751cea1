"""Arrays of a simulated run: what each offers and survives, how long a rebuild takes, beside the rates that it gave."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seekwise.grouping import grouped
from seekwise.number_text import natural
from seekwise.simulate import degraded
from seekwise.simulate.trial_spec import LOG
from seekwise.store.operations import OPERATIONS, place
from seekwise.store.record import Record
from seekwise.workload.study import combination_key
from seekwise.workload.study.quantity import bytes_text, capacity_text, counted, parse_bytes, time_text


@dataclass(frozen=True)
class ArrayRow:
    """One array and what it gave under the load of most requests at once, with its best setting: the mean of its
    repetitions."""

    name: str
    """`RAID 5 of 4, chunk 64 KiB`."""
    capacity_bytes: int
    survives_failures: int
    """Drives that may fail for certain without loss of data."""
    rebuild_s: float | None
    """Time to rebuild one drive with nothing else to do; None where no failure is survived."""
    rates_mb_s: dict[str, float]
    """By operation, in MB/s."""
    settings: dict[str, str]
    """By operation, the setting and combination that gave it."""
    best: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By operation, the label of the setting and the key of the combination that gave its rate."""
    combination_throughputs: dict[str, float] = field(default_factory=dict)
    """By operation and load, the best setting's mean in MB/s."""
    spreads: dict[str, float] = field(default_factory=dict)
    """By operation and load, how far its repetitions lie from that mean, as a share of it: half of their range."""
    block_bytes: dict[str, set[int]] = field(default_factory=dict)
    """Request sizes of each operation."""
    is_degraded: bool = False
    """A drive is missing, or one is being rebuilt."""
    is_rebuilding: bool = False
    whole: str | None = None
    """Name of the same array with every drive, of a state that was simulated beside it."""
    members: int = 0
    """Drives that it is made of."""
    row_kib: int = 0
    """Data of one row of chunks with parity; 0 without parity."""
    beyond_study: bool = False
    """Simulated beside the study, which does not vary `missing`."""
    rebuild_loaded_s: float | None = None
    """Time to rebuild one drive beside database transactions at md's own limits; None where it was not simulated."""
    is_log_full: bool = False
    """Drives that gather small writes in zones of their own have none left (`trial_spec.with_full_log`)."""
    reach_bytes: int = 0
    """How much of the array random requests go over; 0 where each thread has a file of its own."""

    @property
    def capacity_text(self) -> str:
        """Usable capacity with its unit, as drives are sold (powers of ten)."""
        return capacity_text(self.capacity_bytes)

    @property
    def survives_text(self) -> str:
        """`no failure`, `1 failure`, `2 failures`: for certain, whichever drives fail."""
        return self.failures_text.replace("drive ", "")

    @property
    def failures_text(self) -> str:
        """`no drive failure`, `1 drive failure`, `2 drive failures`."""
        count = self.survives_failures
        return "no drive failure" if count == 0 else counted(count, "drive failure")

    @property
    def exposure_text(self) -> str:
        """What is survived while a drive is rebuilt."""
        if self.rebuild_s is None:
            return "–"
        left = self.survives_failures - 1
        return "no further failure" if left <= 0 else f"{left} more"

    @property
    def rebuild_text(self) -> str:
        """Of one drive without load; a dash where no failure is survived."""
        return "–" if self.rebuild_s is None else time_text(self.rebuild_s)

    @property
    def loaded_text(self) -> str:
        """The same beside database transactions."""
        return "–" if self.rebuild_loaded_s is None else long_text(self.rebuild_loaded_s)

    @property
    def rebuild_loaded_text(self) -> str:
        """`3 days with transactions`; empty where it is not known."""
        return "" if self.rebuild_loaded_s is None else f"{long_text(self.rebuild_loaded_s)} with transactions"


DAYS_FROM_S = 48 * 3600


def long_text(seconds: float) -> str:
    """`8 h`, `12 days`."""
    return f"{seconds / 86400:.0f} days" if seconds >= DAYS_FROM_S else time_text(seconds)


def rows(records: Sequence[Record]) -> list[ArrayRow]:
    """A row per array in the order of the run, empty when there is none."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.valid and "array" in record.load:
            array = record.load["array"]
            groups.setdefault(json.dumps([record.factors.get("system"), array], sort_keys=True), []).append(record)
    many = len({record.factors.get("system") for members in groups.values() for record in members}) > 1
    return sorted((_row(members, many) for members in groups.values()), key=lambda row: natural(row.name))


def with_states(records: Sequence[Record]) -> list[ArrayRow]:
    """`rows`, and below each array the same one with a drive failed and while it is rebuilt, unless the study has such
    states itself."""
    groups = grouped(
        (rows([record])[0].name if len(_systems(records)) < 2 else _named(record), record)
        for record in records
        if record.valid and degraded.can(record) and record.role != "sentinel"
    )
    arrays = []
    own = rows(records)
    studied = any(row.is_degraded for row in own)
    for row in own:
        made = [] if studied or row.name not in groups else _states(row, groups[row.name])
        loaded_s = None
        if made and row.rebuild_s is not None:
            record = groups[row.name][0]
            pace = degraded.rebuild_kib_s(record)
            loaded_s = None if pace is None else rebuilt_s(record.load["array"], pace)
        arrays += [
            replace(row, rebuild_loaded_s=loaded_s),
            *(replace(each, rebuild_loaded_s=loaded_s) for each in made),
        ]
    return arrays


def rebuilt_s(array: Mapping[str, Any], kib_per_s: float) -> float:
    """Seconds in which md goes through a member at this speed; no less than with nothing else to do."""
    return max((int(array["member_bytes"]) >> 10) / max(kib_per_s, 1.0), float(array["rebuild_s"] or 0.0))


def _systems(records: Sequence[Record]) -> set[object]:
    return {record.factors.get("system") for record in records if record.valid and "array" in record.load}


def _named(record: Record) -> str:
    return f"{record.factors.get('system')}: {name_of(record.load['array'])}"


def _states(row: ArrayRow, records: Sequence[Record]) -> list[ArrayRow]:
    """The array in its other states, under the load and setting that gave each operation's best rate."""
    throughputs: dict[str, dict[str, float]] = {}
    arrays: dict[str, dict[str, object]] = {}
    for operation, (setting, combination) in row.best.items():
        mine = [record for record in records if (record.setting, record.combination) == (setting, combination)]
        for state, result in degraded.results(mine, operation).items() if mine else ():
            throughputs.setdefault(state, {})[operation] = result.rate_bytes_per_s / 1e6
            arrays[state] = result.array
    system = row.name.removesuffix(name_of(records[0].load["array"]))
    states = []
    for state, array in arrays.items():
        states.append(
            ArrayRow(
                name=system + name_of(array),
                capacity_bytes=row.capacity_bytes,
                survives_failures=int(str(array["survives_failures"])),
                rebuild_s=None,
                rates_mb_s=throughputs[state],
                settings={name: text for name, text in row.settings.items() if name in throughputs[state]},
                best={name: key for name, key in row.best.items() if name in throughputs[state]},
                is_degraded=True,
                is_rebuilding=array.get("state") == "rebuild",
                whole=row.name,
                members=row.members,
                beyond_study=True,
            )
        )
    return states


def operations(arrays: Sequence[ArrayRow]) -> list[str]:
    """The operations that any array has a rate for."""
    return [name for name in OPERATIONS if any(name in row.rates_mb_s for row in arrays)]


def alone_text(arrays: Sequence[ArrayRow]) -> str:
    """How long a rebuild takes with nothing else to do, of all of them; empty where none is known."""
    times = sorted(row.rebuild_s for row in arrays if row.rebuild_s is not None)
    texts = dict.fromkeys(map(time_text, times[:1] + times[-1:]))
    return f"Rebuild alone: {' to '.join(texts)}" if texts else ""


STATE_WORDS = {"resync": "resyncing", "rebuild": "rebuilding"}


def name_of(array: dict[str, Any]) -> str:
    """`raid5 of 4, chunk 64 KiB, 1 missing` of an array as a record has it."""
    parts = [f"{array['level']} of {array['members']}"]
    parts += [str(array["layout"])] if array.get("layout") else []
    parts += [f"chunk {array['chunk_kib']} KiB"] if array["chunk_kib"] else []
    # A drive whose replacement is being filled is missing, too; that it is being rebuilt says so.
    parts += [f"{len(array['missing'])} missing"] if array["missing"] and array.get("state") != "rebuild" else []
    parts += ["bitmap"] if array.get("bitmap", "none") != "none" else []
    parts += [STATE_WORDS[str(array["state"])]] if array.get("state") in STATE_WORDS else []
    return ", ".join(parts)


def _row(records: list[Record], many_systems: bool) -> ArrayRow:
    array = records[0].load["array"]
    throughputs: dict[str, dict[tuple[str, str], list[float]]] = {}
    for record in records:
        for phase in record.phases:
            key = (record.setting, record.combination)
            throughput = phase.rate_bytes_per_s / 1e6
            throughputs.setdefault(phase.operation, {}).setdefault(key, []).append(throughput)
    best: dict[str, float] = {}
    where: dict[str, str] = {}
    keys: dict[str, tuple[str, str]] = {}
    combinations: dict[str, float] = {}
    spreads: dict[str, float] = {}
    for operation, by_setting in throughputs.items():
        means = {key: sum(values) / len(values) for key, values in by_setting.items()}
        for key, mean in means.items():
            name = f"{operation} {combination_key.without(key[1], *ARRAY_WORDS)}"
            if mean >= combinations.get(name, 0.0):
                values = by_setting[key]
                combinations[name], spreads[name] = mean, (max(values) - min(values)) / 2 / mean if mean else 0.0
        # One load for all arrays: rates of different ones do not compare.
        most = max(map(requests_at_once, (combination for _, combination in means)))
        key = max((place for place in means if requests_at_once(place[1]) == most), key=lambda place: means[place])
        best[operation], where[operation], keys[operation] = means[key], load_words(key[1]), key
    system = f"{records[0].factors.get('system')}: " if many_systems else ""
    best = dict(sorted(best.items(), key=lambda item: place(item[0])))
    return ArrayRow(
        name=system + name_of(array),
        capacity_bytes=int(array["capacity_bytes"]),
        survives_failures=int(array["survives_failures"]),
        rebuild_s=array["rebuild_s"],
        rates_mb_s=best,
        settings=where,
        best=keys,
        combination_throughputs=combinations,
        spreads=spreads,
        block_bytes={
            operation: {
                int(record.factors["block_bytes"])
                for record in records
                if "block_bytes" in record.factors and any(phase.operation == operation for phase in record.phases)
            }
            for operation in throughputs
        },
        is_degraded=bool(array["missing"]) or array.get("state") in ("resync", "rebuild"),
        is_rebuilding=array.get("state") == "rebuild",
        members=int(array["members"]),
        is_log_full=any(
            record.load.get("spec", {}).get("device", {}).get("parameters", {}).get(LOG) == 0 for record in records
        ),
        reach_bytes=max(map(_reach_bytes, records)),
        row_kib=int(array["chunk_kib"] or 0) * max(int(array["members"]) - PARITIES.get(str(array["level"]), 10**6), 0),
    )


def _reach_bytes(record: Record) -> int:
    jobs = [job for phase in record.load.get("spec", {}).get("phases", ()) for job in phase["jobs"]]
    return max(
        (int(j["region_bytes"]) for j in jobs if j["pattern"] == "random" and not j.get("own_regions", True)), default=0
    )


PARITIES = {"RAID 5": 1, "RAID 6": 2}
SENT_KIB = 1024
"""What the block layer sends to md at once at most (Linux 6.1 on: 256 stripes of 4 KiB)."""


def rows_note(arrays: Sequence[ArrayRow]) -> str:
    """Why an array with more data drives writes streams slower than one with fewer; empty where none does."""
    written = [row for row in arrays if row.row_kib and not row.is_degraded and row.rates_mb_s.get("seq_write")]
    for row in written:
        whole = [
            o for o in written if o.row_kib < row.row_kib and o.rates_mb_s["seq_write"] > row.rates_mb_s["seq_write"]
        ]
        if whole and SENT_KIB % row.row_kib and not SENT_KIB % whole[0].row_kib:
            first, other = row.name.partition(",")[0], whole[0].name.partition(",")[0]
            return f"{first} writes streams slower than {other}: {SENT_KIB // 1024} MiB requests end inside its {row.row_kib} KiB rows, so md reads first."
    return ""


def requests_at_once(combination: str) -> tuple[int, int, str]:
    """Sort key of a load: how many requests it has under way, by its combination."""
    values = combination_key.parse(combination_key.without(combination, *ARRAY_WORDS))[1]
    threads, depth = int(values.get("threads", 1)), int(values.get("iodepth", 1))
    return threads * depth, threads, combination_key.without(combination, *ARRAY_WORDS)


def by_load(arrays: Sequence[ArrayRow]) -> list[dict[str, str]]:
    """[{operation: key of `combination_throughputs`}]: the loads that every array did, from few requests at once to
    many; where operations have several, each with the one of its place."""
    common = set.intersection(*(set(row.combination_throughputs) for row in arrays)) if arrays else set()
    loads: dict[str, list[str]] = {}
    for key in sorted(common, key=lambda each: requests_at_once(each.partition(" ")[2])):
        loads.setdefault(key.partition(" ")[0], []).append(key)
    most = max(map(len, loads.values()), default=0)
    return [
        {name: keys[min(at, len(keys) - 1)] for name, keys in loads.items()}
        for at in dict.fromkeys((0, most - 1) if most else ())
    ]


def load_conditions(load: str) -> dict[str, str]:
    """Of a key of `combination_throughputs`: `threads`, `block` and what else the load has."""
    return combination_key.parse(load.partition(" ")[2])[1]


def threads_text(load: str) -> str:
    """`16`, `4 × 32` (threads × depth)."""
    values = load_conditions(load)
    return " × ".join(values[name] for name in ("threads", "iodepth") if name in values)


def sizes_text(arrays: Sequence[ArrayRow]) -> str:
    """`sequential 128 KiB, random 8 KiB`: the request sizes; one size where all have the same; empty where none is
    known."""
    sizes: dict[str, set[int]] = {}
    for operation, block_bytes in (sizes for row in arrays for sizes in row.block_bytes.items()):
        sizes.setdefault(operation.partition("_")[0], set()).update(block_bytes)
    words = {kind: " and ".join(map(bytes_text, sorted(blocks))) for kind, blocks in sizes.items() if blocks}
    reach = max((row.reach_bytes for row in arrays), default=0)
    full = ", the drives' log of small writes full" if any(row.is_log_full for row in arrays) else ""
    over = f" over {capacity_text(reach)}{full}" if reach else ""
    if len(set(words.values())) == 1:
        return f"{next(iter(words.values()))} requests{over if 'rand' in words else ''}"
    if "rand" in words:
        words["rand"] += over
    return ", ".join(f"{SEQUENCES.get(kind, kind)} {text}" for kind, text in words.items())


SEQUENCES = {"seq": "sequential", "rand": "random"}
ARRAY_WORDS = ("system", "chunk_kib", "raid_level", "drives", "layout", "missing")
LOAD_WORDS = {"threads": "{} threads", "iodepth": "depth {}", "load": "{}"}


def load_words(combination: str) -> str:
    """`system=array load=files threads=4 block=1m` as `files, 4 threads, 1m`."""
    words = []
    for name, value in combination_key.parse(combination_key.without(combination, *ARRAY_WORDS))[1].items():
        if name == "block":
            with contextlib.suppress(ValueError):
                value = bytes_text(parse_bytes(value))
            words.append(value)
            continue
        text = LOAD_WORDS.get(name, f"{name.replace('_', ' ')} {{}}").format(value)
        words.append("1 thread" if text == "1 threads" else text)
    return ", ".join(words)
