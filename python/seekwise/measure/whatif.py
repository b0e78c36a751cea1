"""A recorded load on storage that is not there: settings, their trials in the simulator, and records as a study has
them.

Each setting is one storage of the simulator's own language. A trial plays the whole load once; its records are one for
each group of programs and one for all that somebody waits for (`foreground`). Repeats differ by where the platters
stand. Settings are ranked without statistics: all play the same load from the same starts, and those within 5 % of the
best are named together.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from seekwise import _core, drive_names, schedulers, suggestion
from seekwise.errors import SeekwiseError, UsageError
from seekwise.judge.predicted import Recorded
from seekwise.release import release
from seekwise.simulate.spec import Described
from seekwise.simulate.trial_spec import KERNEL_DEFAULT, default_scheduler, describe, probe_phase, spec_of_trial
from seekwise.store.database import Run, now
from seekwise.store.percentiles import merged
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.trace.columns import Notes
from seekwise.trace.load import FOREGROUND, MAIN_SHARE, RECORDED, Group, TracedLoad, recorded_percentile_ns
from seekwise.workload.study import factors
from seekwise.workload.study.factors import Value
from seekwise.workload.study.plan import Combination, Load, Plan, PlannedPhase, Setting, SystemFacts, Trial, trial_seed
from seekwise.workload.study.quantity import parse_bytes
from seekwise.workload.study.study import System

STUDY_HEAD = "# what-if of "
"""How the text begins that stands where other runs have their study."""
SYSTEM = "trace"
SETTINGS_MAX = 1000
KEYS = {
    "model": "drive",
    "scheduler": "scheduler",
    "level": "raid_level",
    "drives": "drives",
    "chunk": "chunk_kib",
    "layout": "layout",
    "depth": "queue_depth",
    "kernel": "kernel",
    "host": "host",
}
"""What is asked for, by the names of a study."""
FEWEST = {"raid0": 2, "raid1": 2, "raid5": 3, "raid6": 4, "raid10": 2}
SINGLE = ("none", "single")
OF_SYSTEM = ("drive", "kernel", "host")


@dataclass(frozen=True)
class CandidateStorage:
    """One storage: its name in tables, and its values by the names of a study."""

    label: str
    values: dict[str, Value]
    spec: dict[str, object]
    """The trial without its phases."""
    described: Described


def parse_vary(words: Sequence[str]) -> dict[str, list[str]]:
    """`scheduler=none,bfq,level=raid5,raid10` and several of these: {key: values} in the order of their writing."""
    values: dict[str, list[str]] = {}
    for word in words:
        key = ""
        for part in word.split(","):
            name, is_key, value = part.partition("=")
            if is_key:
                key = _known_key(name.strip())
                if key in values:
                    raise UsageError(f"`--vary` names {key} twice", f"write {key}=VALUE,VALUE")
                values[key] = []
            elif not key:
                raise UsageError(
                    f"`--vary {word}` names no setting", f"write {next(iter(KEYS))}=VALUE; known: {_names_text()}"
                )
            else:
                value = part
            if not value.strip():
                raise UsageError(f"`--vary {key}` has an empty value", f"write {key}=VALUE,VALUE")
            if value.strip() in values[key]:
                raise UsageError(f"`--vary {key}` names {value.strip()} twice")
            values[key].append(value.strip())
    return values


def _names_text() -> str:
    return ", ".join([*KEYS, "nr_requests", "iosched.NAME", "…"])


def _known_key(name: str) -> str:
    row = factors.factor(name)
    if name in KEYS or row is not None and row.name not in ("read_ahead_kb", "filesystem", "resync_kib_s"):
        return next((key for key, own in KEYS.items() if own == name), name)
    if row is not None:
        raise UsageError(
            f"`{name}` changes nothing for recorded requests: they come from behind the page cache and file system"
        )
    near = difflib.get_close_matches(name, [*KEYS, *factors.FACTORS], 1)
    raise UsageError(
        f"`--vary` has no setting `{name}`", f"did you mean `{near[0]}`?" if near else f"known: {_names_text()}"
    )


def candidate_storages(vary: dict[str, list[str]], base: dict[str, str]) -> list[CandidateStorage]:
    """Every combination, each checked by building it. `base`: what holds where `vary` does not say."""
    table = {key: [value] for key, value in base.items() if key not in vary} | vary
    if "model" not in table:
        raise UsageError(
            "which drive? the trace does not say on what it was recorded",
            "add --vary model=NAME; `seekwise explain models` lists the names",
        )
    combinations = [dict(zip(table, values, strict=True)) for values in itertools.product(*table.values())]
    if len(combinations) > SETTINGS_MAX:
        raise UsageError(f"`--vary` makes {len(combinations):,} settings; at most {SETTINGS_MAX:,} are simulated")
    shown = [key for key in table if len(table[key]) > 1]
    storages: dict[str, CandidateStorage] = {}
    for combination in combinations:
        values = _values(combination)
        label = _label(combination, values, shown)
        spec = _spec(values)
        key = json.dumps(spec, sort_keys=True)
        # A drive alone is the same storage whatever the sweep over arrays says.
        if key not in storages:
            storages[key] = CandidateStorage(label, values, spec, describe({**spec, "phases": [probe_phase()]}))
    return list(storages.values())


def _values(combination: dict[str, str]) -> dict[str, Value]:
    """Text as the values of a study; what is meaningless for a level is left out."""
    values: dict[str, Value] = {}
    for key, text in combination.items():
        name = KEYS.get(key, key)
        values[name] = _value(key, name, text)
    level = values.get("raid_level")
    if level is None:
        if "chunk_kib" in values or "layout" in values:
            raise UsageError("a chunk or layout needs an array", "add level=raid5 (or raid0, raid10 …) and drives=N")
        if int(values.get("drives", 1)) > 1:
            raise UsageError(f"{values['drives']} drives need a `level`", "add level=raid1 (or raid5, raid10 …)")
        return values
    if level in SINGLE:
        return {
            name: value for name, value in values.items() if name not in ("raid_level", "drives", "chunk_kib", "layout")
        }
    if "drives" not in values:
        raise UsageError(f"level={level} does not say how many drives", f"add drives={max(FEWEST[str(level)], 4)}")
    if int(values["drives"]) < FEWEST[str(level)]:
        raise UsageError(f"{level} needs at least {FEWEST[str(level)]} drives, not {values['drives']}")
    return values


def _value(key: str, name: str, text: str) -> Value:
    if name == "raid_level":
        level = text.lower().replace("raid-", "raid")
        level = f"raid{level}" if level.isdigit() else level
        if level not in (*FEWEST, *SINGLE):
            raise UsageError(f"there is no level `{text}`", "levels: none, " + ", ".join(FEWEST))
        return level
    if name == "chunk_kib":
        try:
            size = int(text) * 1024 if text.isdigit() else parse_bytes(text)
        except ValueError:
            raise UsageError(f"chunk `{text}` is no size", "write it in KiB, or as 64k") from None
        if size < 4096 or size % 1024:
            raise UsageError(f"a chunk is at least 4 KiB, not {size} bytes", "write it in KiB, or as 64k")
        return size // 1024
    row = factors.factor(name)
    if row is not None and row.kind == "number":
        if not re.fullmatch(r"\d{1,12}", text):
            raise UsageError(f"{key}={text}: must be {row.allowed}")
        value = int(text)
        try:
            row.check(value)
        except ValueError as error:
            raise UsageError(f"{key}={text}: {error}") from None
        return value
    return text


def _label(combination: dict[str, str], values: dict[str, Value], shown: list[str]) -> str:
    words = []
    for key in shown:
        name = KEYS.get(key, key)
        if name not in values and name in ("drives", "chunk_kib", "layout"):
            continue
        value = values.get(name, "single drive")
        words.append(str(value) if key in ("scheduler", "level", "model") else f"{key}={combination[key]}")
    return " ".join(words) or str(combination.get("scheduler") or combination["model"])


def _spec(values: dict[str, Value]) -> dict[str, object]:
    drive, kernel = drive_names.find(str(values["drive"])), str(values.get("kernel", KERNEL_DEFAULT))
    if "scheduler" not in values:
        values = {**values, "scheduler": default_scheduler(kernel, drive)}
    elif str(values["scheduler"]) not in schedulers.registry():
        known = list(schedulers.registry())
        asked = str(values["scheduler"])
        raise UsageError(
            f"there is no scheduler `{asked}`", suggestion.hint(asked, known, f"known: {', '.join(known)}")
        )
    options: dict[str, Value] = {"host": values["host"]} if "host" in values else {}
    system = System(name=SYSTEM, drive=drive, kernel=kernel, options=options)
    setting = {name: value for name, value in values.items() if name not in OF_SYSTEM}
    return spec_of_trial(system, setting, seed=0, phases=[])


def play(
    load: TracedLoad,
    settings: Sequence[CandidateStorage],
    seeds: Sequence[int],
    *,
    threads: int,
    replay_open: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> list[list[dict[str, Any]]]:
    """The simulator's result of each setting under each seed. SeekwiseError if one cannot be."""
    phase = {"operation": "mixed", "traced": load.spec(replay_open=replay_open)}
    specs = [{**setting.spec, "seed": seed, "phases": [phase]} for setting in settings for seed in seeds]
    results = json.loads(_core.simulate_cells(json.dumps(specs), threads, progress))
    for result in results:
        if "error" in result:
            raise SeekwiseError(f"the load cannot be simulated: {result['error']}")
    return [results[first : first + len(seeds)] for first in range(0, len(results), len(seeds))]


@dataclass(frozen=True)
class WhatIfRun:
    """A run with its records, and the settings that it compares."""

    run: Run
    records: list[Record]


def run_of(
    name: str,
    trace: str,
    load: TracedLoad,
    settings: Sequence[CandidateStorage],
    results: Sequence[Sequence[dict[str, Any]]],
    seeds: Sequence[int],
    notes: Sequence[str],
) -> WhatIfRun:
    """The records of what was played, and the run that holds them."""
    run = Run.begun(name, "simulated", {}, seed=seeds[0], study=f"{STUDY_HEAD}{trace}\n")
    groups = list(load.groups)
    shown = [group for group in groups if group.requests]
    keys = [FOREGROUND, *(group.name for group in shown)]
    combinations = [_combination(key, _operation(groups, key), load) for key in keys]
    recorded = asdict(recorded_of(load))
    records: list[Record] = []
    trials: list[Trial] = []
    for repetition, seed in enumerate(seeds, 1):
        for place, (setting, outcomes) in enumerate(zip(settings, results, strict=True)):
            phase = outcomes[repetition - 1]["phases"][0]
            for number, key in enumerate(keys):
                index = len(trials)
                trials.append(Trial(index, repetition, number, place, "candidate", seed))
                recorded_phase = phase_of(phase, groups, key)
                records.append(
                    Record(
                        run_id=run.run_id, trial=index, repetition=repetition, combination=combinations[number].key, setting=setting.label,
                        factors=combinations[number].factors(Setting(setting.label, setting.values)), provenance="simulated",
                        seed=seed, started_at=now(), phases=(recorded_phase,) if recorded_phase.ios else (),
                        settings_seen={SYSTEM: _seen(outcomes[repetition - 1]["settings"])},
                        environment={
                            "model": release(), "model_version": _core.model_version(),
                            "device_model": outcomes[repetition - 1]["models"]["device"], "trace": trace,
                        },
                        load={"recording": trace, "program": key, "requests": load.requests, RECORDED: recorded},
                        conditions={"role": "candidate"},
                    )
                )  # fmt: skip
    system = SystemFacts(SYSTEM, f"{trace} (simulated)", stack=tuple(stack_lines(settings)), scheduler=None)
    compared = tuple(Setting(asked.label, asked.values) for asked in settings)
    plan = Plan.of_records(
        name, run.backend, run.seed, system, tuple(combinations), compared, tuple(trials), tuple(notes)
    )
    return WhatIfRun(replace(run, plan=plan.to_document()), records)


def recorded_of(load: TracedLoad) -> Recorded:
    """The foreground in the trace."""
    front = [load.groups[number] for number in members(load.groups, FOREGROUND)]
    timed = [load.groups[number] for number in timed_members(load.groups, FOREGROUND)]
    elapsed_s = max(max(group.last_ns for group in timed) - min(group.first_ns for group in timed), 1) / 1e9
    count = sum(group.requests for group in front)
    waiting = sum(sum(group.hows.values()) for group in front)
    return Recorded(
        recorded_percentile_ns(front, 50),
        recorded_percentile_ns(front, 99),
        sum(group.bytes for group in front) / elapsed_s,
        count / elapsed_s,
        elapsed_s,
        sum(group.hows.get("open", 0) for group in front) / max(waiting, 1),
    )


def stack_lines(settings: Sequence[CandidateStorage]) -> list[str]:
    """Each storage once, in words."""
    from seekwise.simulate.drive_trials import stack_lines

    return list(dict.fromkeys(line for setting in settings for line in stack_lines(setting.described)))


def seeds_of(seed: int, count: int) -> list[int]:
    """Seeds of the repeats."""
    return [trial_seed(seed, index, 1) for index in range(count)]


def _combination(key: str, operation: str, load: TracedLoad) -> Combination:
    own = [program for program in load.programs if key in (FOREGROUND, load.groups[program.group].name)]
    name = re.sub(r"\s+", "_", key)
    return Combination(
        f"program={name}", SYSTEM, Load(name, phases=(PlannedPhase(operation),), threads=max(len(own), 1))
    )


def members(groups: Sequence[Group], key: str) -> list[int]:
    """Groups that a name stands for; the foreground is everything where nothing is."""
    if key != FOREGROUND:
        return [number for number, group in enumerate(groups) if group.name == key]
    front = [number for number, group in enumerate(groups) if group.is_foreground and group.requests]
    return front or list(range(len(groups)))


def timed_members(groups: Sequence[Group], key: str) -> list[int]:
    """Of these groups those whose requests say when the load began and ended: not the single one that came before it."""
    own = members(groups, key)
    most = max(groups[number].requests for number in own)
    return [number for number in own if groups[number].requests * MAIN_SHARE >= most]


def _operation(groups: Sequence[Group], key: str) -> str:
    kinds = {groups[number].operation for number in members(groups, key) if groups[number].requests}
    return kinds.pop() if len(kinds) == 1 else "mixed"


def phase_of(result: dict[str, Any], groups: Sequence[Group], key: str) -> Phase:
    """What programs of one group saw, as a phase of a record."""
    own, timed = members(groups, key), timed_members(groups, key)
    jobs = [result["jobs"][number] for number in own]
    bins = merged({int(upper): count for upper, count in job["latency_bins"].items()} for job in jobs)
    ios = sum(job["ios"] for job in jobs)
    ended = max(
        (thread["ended_ns"] for thread in result["threads"] if thread["job"] in timed), default=result["elapsed_ns"]
    )
    began = min(groups[number].first_ns for number in timed)
    cpu = result["cpu"]
    return Phase(
        operation=_operation(groups, key),
        elapsed_s=max(ended - began, 1) / 1e9,
        bytes=sum(job["bytes"] for job in jobs),
        ios=ios,
        latency_bins=bins,
        latency_mean_ns=sum(job["latency_mean_ns"] * job["ios"] for job in jobs) / max(ios, 1),
        latency_max_ns=max((job["latency_max_ns"] for job in jobs), default=0),
        # The machine's processor time is nobody's alone.
        cpu=CpuSeconds(cpu["user_s"], cpu["system_s"] + cpu["irq_s"]) if key == FOREGROUND else CpuSeconds(0.0, 0.0),
        device_bytes=result["device_bytes"],
        details={"merges": result["merges"], "device_busy_ns": result["device_busy_ns"]},
    )


def _seen(settings: dict[str, Any]) -> dict[str, str]:
    return {f"queue/{name}": str(value) for name, value in settings.items() if name != "iosched"}


def recorded_on(notes: Notes) -> dict[str, str]:
    """What the trace says of the machine that it was recorded on, as far as there is a model of it."""
    facts = {}
    model = notes.machine.get("model", "")
    if model:
        try:
            facts["model"] = json.loads(_core.drive_model(model))["id"]
        except ValueError:
            pass
    return facts


def beyond(load: TracedLoad, settings: Sequence[CandidateStorage]) -> list[str]:
    """Storage that is smaller than what the load used."""
    small = [setting.label for setting in settings if int(setting.described["capacity_bytes"]) < load.end_sector * 512]
    if not small:
        return []
    what = small[0] if len(small) == 1 else f"{len(small)} of the settings"
    return [f"{what}: smaller than what was recorded; requests beyond the end are folded back onto it"]
