"""Which results are repeats of each other, and which were measured with another set-up: asked of the data.

A repeat has the same load and the same set-up. A set-up is named by `--setting`, by what the file itself calls it (a
table's heading, a system of Phoronix), by the folder where files of one name lie in several, else by the file's name up
to its first dot. Results of one load within one file are told apart by their job's name: jobs that ran one after the
other in one run are never repeats.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seekwise.grouping import grouped
from seekwise.importing.result import Result, ms
from seekwise.store import operations
from seekwise.store.percentiles import merged
from seekwise.store.record import CpuSeconds, Phase

REPEAT = re.compile(
    r"(?:rep|repeat|repetition|run|iter|iteration|trial|pass|round|try|sample)[-_ ]?\d{1,6}", re.IGNORECASE
)
NAMED_MOST = 4
"""File names in one note."""


@dataclass(frozen=True)
class Measured:
    """A result with what is known of its set-up."""

    result: Result
    path: Path
    """The first file of those that it was read from."""
    files: str
    load: str
    """Key of the load: two results of one key did the same."""
    stem: str
    setting: str | None = None
    """Given with `--setting`, or what the file calls it."""


def labels(measured: Sequence[Measured]) -> list[str]:
    """The set-up of each result, in words."""
    named = _by_path([entry for entry in measured if entry.setting is None])
    first = [entry.setting or named[entry.path] for entry in measured]
    return _by_options(measured, _by_job(measured, first))


HOW = ("ioscheduler", "hipri", "fixedbufs", "registerfiles", "sqthread_poll", "nonvectored", "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete",
       "iodepth_low", "nice", "prio", "prioclass", "cmdprio_percentage", "cpus_allowed", "numa_cpu_nodes", "numa_mem_policy", "fadvise_hint", "invalidate",
       "thinktime", "cgroup")  # fmt: skip
"""Options of fio(1) that say how the same load is made: files that differ in one are no repeats."""


def _by_options(measured: Sequence[Measured], first: Sequence[str]) -> list[str]:
    """Set-ups with the options, and the raw device, in which results of one load differ, whatever their files are
    called."""
    given = [{} if entry.setting is not None else _how(entry.result.options) for entry in measured]
    alike = list(zip(first, (entry.load for entry in measured), strict=True))
    values = grouped(zip(alike, given, strict=True))
    labelled = []
    for key, options in zip(alike, given, strict=True):
        varied = [name for name, value in options.items() if any(other.get(name) != value for other in values[key])]
        labelled.append(" ".join([key[0], *(f"{name}={options[name]}" for name in varied)]))
    return labelled


def _how(options: dict[str, Any]) -> dict[str, str]:
    """The first job's options that make set-ups. A file of its own for each repeat makes none."""
    every = {**options, **(options.get("jobs") or [{}])[0]}
    device = str(every.get("filename", ""))
    return {name: str(every[name]) for name in HOW if name in every} | (
        {"filename": device} if device.startswith("/dev/") else {}
    )


def _by_path(measured: Sequence[Measured]) -> dict[Path, str]:
    """{file: its set-up}: the folder where one file name occurs in several, the stem of the name else."""
    paths = list(dict.fromkeys(entry.path for entry in measured))
    stems = {entry.path: entry.stem for entry in measured}
    if len({path.name for path in paths}) == len(paths):
        return _counted(stems, {path: {entry.load for entry in measured if entry.path == path} for path in paths})
    folders = _folders(measured, paths)
    # Within a folder, names that differ by more than a number are set-ups of their own.
    seen: dict[tuple[str, str], set[str]] = {}
    for entry in measured:
        seen.setdefault((folders[entry.path], entry.load), set()).add(_without_numbers(entry.stem))
    if any(len(names) > 1 for names in seen.values()):
        if all(REPEAT.fullmatch(folder) for folder in folders.values()):
            return stems
        return {path: f"{folders[path]}/{stems[path]}".strip("/") for path in paths}
    return folders


def _counted(stems: dict[Path, str], loads: dict[Path, set[str]]) -> dict[Path, str]:
    """{file: its set-up}: `a1 a2 b1 b2` of the same loads, counted from 1 or 0, are repeats of a and b; elsewhere the
    stems, as a number may be a setting's."""
    parts = {path: re.fullmatch(r"(.*?[^\d_. -])[_. -]*(\d{1,3})", stem) for path, stem in stems.items()}
    counts = grouped((match[1] if match else "", int(match[2]) if match else -1) for match in parts.values())
    first, *others = [sorted(each) for each in counts.values()] or [[]]
    counted = first in ([0, *range(1, len(first))], [*range(1, len(first) + 1)]) and len(first) > 1
    if not counted or not others or any(each != first for each in others) or len({*map(frozenset, loads.values())}) > 1:
        return stems
    return {path: match[1] for path, match in parts.items() if match}


def _folders(measured: Sequence[Measured], paths: Sequence[Path]) -> dict[Path, str]:
    """{file: its folder, as far as set-ups differ by it}: a folder for each depth or request size says nothing of the
    set-up."""
    parents = {path: path.absolute().parent for path in paths}
    common = os.path.commonpath(list(parents.values()))
    parts = {path: Path(os.path.relpath(parent, common)).parts for path, parent in parents.items()}
    used = tuple(range(max(map(len, parts.values()))))
    # Where others name the set-up, `run1` and `run2` within it are repeats.
    counting = [at for at in used if all(len(found) > at and REPEAT.fullmatch(found[at]) for found in parts.values())]
    others = tuple(at for at in used if at not in counting)
    used = others if len(set(_names(parts, others).values())) > 1 else used
    for place in reversed(used):
        fewer = tuple(other for other in used if other != place)
        if fewer and not _merges(measured, _names(parts, fewer), _names(parts, used)):
            used = fewer
    return {path: name or parents[path].name or "." for path, name in _names(parts, used).items()}


def _names(parts: dict[Path, tuple[str, ...]], places: Sequence[int]) -> dict[Path, str]:
    return {path: "/".join(found[place] for place in places if place < len(found)) for path, found in parts.items()}


def _merges(measured: Sequence[Measured], shorter: dict[Path, str], longer: dict[Path, str]) -> bool:
    """Whether the shorter names make repeats of what the longer ones tell apart."""
    seen: dict[tuple[str, str], str] = {}
    return any(
        seen.setdefault((shorter[entry.path], entry.load), longer[entry.path]) != longer[entry.path]
        for entry in measured
    )


def _without_numbers(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _by_job(measured: Sequence[Measured], first: Sequence[str]) -> list[str]:
    """Set-ups with the job's name where one load was measured under several names."""
    within: dict[tuple[str, str, Path, int], list[str]] = {}
    across: dict[tuple[str, str], set[str]] = {}
    for entry, label in zip(measured, first, strict=True):
        within.setdefault((label, entry.load, entry.path, entry.result.document), []).append(entry.result.job)
        across.setdefault((label, entry.load), set()).add(entry.result.job)
    split = {label for (label, *_), jobs in within.items() if len(set(jobs)) > 1}
    given = {label for entry, label in zip(measured, first, strict=True) if entry.setting is not None}
    split |= {
        label for (label, _), jobs in across.items() if label not in given and len({_without_numbers(job) for job in jobs}) > 1
    }  # fmt: skip
    alone = len(set(first)) == 1
    return [
        (entry.result.job if alone else f"{label} {entry.result.job}") if label in split and entry.result.job else label
        for entry, label in zip(measured, first, strict=True)
    ]


def by_depth(measured: Sequence[Measured], names: Sequence[str]) -> tuple[list[Measured], list[str], str]:
    """Where files share no load and differ in their queue depth alone, depth is what is compared: (results, set-ups,
    the sentence)."""
    unchanged = (list(measured), list(names), "")
    sources = {entry.path for entry in measured}
    # Names that the user gave are what is to be compared.
    are_given = len({entry.setting for entry in measured if entry.setting is not None}) > 1
    if len(sources) < 2 or are_given or shared_loads(measured, names):
        return unchanged
    depths: dict[str, dict[int, set[str]]] = {}
    without = [re.sub(r" iodepth=\S+", "", entry.load) for entry in measured]
    for entry, load, label in zip(measured, without, names, strict=True):
        depths.setdefault(load, {}).setdefault(entry.result.iodepth or 1, set()).add(label)
    # A load that was measured at one depth alone stands by itself.
    if all(len(found) < 2 for found in depths.values()) or any(
        len(labels_there) > 1 for found in depths.values() for labels_there in found.values()
    ):
        return unchanged
    every = sorted({depth for found in depths.values() for depth in found})
    which = {depth: sorted(label for found in depths.values() for label in found.get(depth, ())) for depth in every}
    said = "; ".join(
        f"depth {depth} ({_listed(list(dict.fromkeys(labels)))}): {_figures(measured, depth)}"
        for depth, labels in which.items()
    )
    return (
        [replace(entry, load=load) for entry, load in zip(measured, without, strict=True)],
        [f"depth {entry.result.iodepth or 1}" for entry in measured],
        f"no two files share a load; they differ in their queue depth alone, so the depths are compared: {said}",
    )


def _figures(measured: Sequence[Measured], depth: int) -> str:
    """`random read 200 IOPS, 40 ms`, of each load at one depth."""
    figures = [
        f"{operations.name(phase.operation).lower()} {phase.iops:,.0f} IOPS, {ms(phase.latency_mean_ns)}"
        for entry in measured
        if (entry.result.iodepth or 1) == depth
        for phase in entry.result.phases
    ]
    return _listed(figures)


def shared_loads(measured: Sequence[Measured], names: Sequence[str]) -> bool:
    """Whether any load was measured with two set-ups."""
    by_load: dict[str, set[str]] = {}
    for entry, label in zip(measured, names, strict=True):
        by_load.setdefault(entry.load, set()).add(label)
    return any(len(labels) > 1 for labels in by_load.values())


def together(
    measured: Sequence[Measured], names: Sequence[str], load_of: Callable[[Result], str]
) -> tuple[list[Measured], list[str], list[str]]:
    """(results, set-ups, sentences): processes that did the same at the same time, each with a file of its own (Ceph's
    CBT), are one run of all of them."""
    clusters: dict[int, list[int]] = {}
    heads: list[int] = []
    for number, (entry, label) in enumerate(zip(measured, names, strict=True)):
        head = next(
            (
                head
                for head in heads
                if (names[head], measured[head].load) == (label, entry.load)
                and measured[head].path != entry.path
                and measured[head].result.phases != entry.result.phases
                and _overlap(measured[head], entry)
            ),
            None,
        )
        if head is None:
            heads.append(number)
        clusters.setdefault(number if head is None else head, []).append(number)
    kept, said = [], []
    for head in heads:
        members = [measured[number] for number in clusters[head]]
        if len(members) == 1:
            kept.append(members[0])
            continue
        result = _sum([member.result for member in members])
        files = list(dict.fromkeys(member.files for member in members))
        kept.append(replace(members[0], result=result, files=", ".join(files), load=load_of(result)))
        said.append(f"{_listed(_within_one_folder(files))} ran at the same time: counted as one run, their rates added")
    if len(said) > NAMED_MOST:
        said = [*said[:NAMED_MOST], f"so were the files of {len(said) - NAMED_MOST} more runs"]
    return kept, [names[head] for head in heads], said


def _within_one_folder(files: Sequence[str]) -> list[str]:
    """`folder/a`, `b` of files that lie in one folder."""
    folders = {os.path.dirname(file) for file in files}
    return [*files[:1], *(os.path.basename(file) if len(folders) == 1 else file for file in files[1:])]


def _overlap(one: Measured, other: Measured) -> bool:
    """Whether the shorter one ran for at least half of its time while the other did."""
    first, second = one.result.spans_s, other.result.spans_s
    if first is None or second is None:
        return False
    least = min(first[1] - first[0], second[1] - second[0])
    return min(first[1], second[1]) - max(first[0], second[0]) > least / 2 > 0


def _sum(results: Sequence[Result]) -> Result:
    """All of them as one: amounts and CPU time added, latencies over all requests. Percentiles that were printed cannot
    be merged."""
    first = results[0]
    phases = tuple(_sum_phases(alike) for alike in zip(*(result.phases for result in results), strict=True))
    notes = dict.fromkeys(note for result in results for note in result.notes)
    if any(phase.reported_percentiles_ns for result in results for phase in result.phases):
        notes["p99 is absent where several processes ran at once: percentiles cannot be merged (json+ has histograms, which can)"] = None  # fmt: skip
    reasons = [result.invalid_reason for result in results if result.invalid_reason]
    return replace(
        first,
        phases=phases,
        threads=sum(result.threads or 1 for result in results),
        notes=tuple(notes),
        leads=first.leads if all(result.leads == first.leads for result in results) else "",
        invalid_reason=reasons[0] if reasons else None,
    )


def _sum_phases(phases: Sequence[Phase]) -> Phase:
    ios = sum(phase.ios for phase in phases)
    elapsed_s = max(phase.elapsed_s for phase in phases)
    mean = sum(phase.latency_mean_ns * phase.ios for phase in phases) / ios if ios else 0.0
    has_bins = all(phase.latency_bins for phase in phases)
    return replace(
        phases[0],
        elapsed_s=elapsed_s,
        # Each at its own rate: processes that end a little later than others would lower the sum.
        bytes=round(sum(phase.rate_bytes_per_s for phase in phases) * elapsed_s),
        ios=round(sum(phase.iops for phase in phases) * elapsed_s),
        latency_bins=merged(phase.latency_bins for phase in phases) if has_bins else {},
        latency_mean_ns=mean,
        latency_max_ns=max(phase.latency_max_ns for phase in phases),
        cpu=CpuSeconds(
            sum(phase.cpu.submitter_user for phase in phases), sum(phase.cpu.submitter_system for phase in phases)
        ),
        details={},
        reported_percentiles_ns={},
    )


def notes(measured: Sequence[Measured], names: Sequence[str]) -> list[str]:
    """What was taken for repeats, in sentences."""
    groups = grouped(((label, entry.load), entry) for entry, label in zip(measured, names, strict=True))
    repeats: dict[str, dict[str, None]] = {}
    for (label, _), members in groups.items():
        if len(members) > 1:
            repeats.setdefault(label, {}).update(dict.fromkeys(_place(member) for member in members))
    more = f"; and of {len(repeats) - NAMED_MOST} more set-ups" if len(repeats) > NAMED_MOST else ""
    named = "; ".join(f"of {label}, {_listed(list(files))}" for label, files in list(repeats.items())[:NAMED_MOST])
    said = [f"taken for repeats (same load, same set-up): {named}{more}"] if repeats else []
    copies = [
        f"{_place(one)} and {_place(other)} hold the same figures: is one a copy of the other?"
        for members in groups.values()
        for one, other in itertools.pairwise(members)
        if one.path != other.path and one.result.phases == other.result.phases
    ]
    alone = list(dict.fromkeys(label for entry, label in zip(measured, names, strict=True) if entry.setting is None))
    if not repeats and len(alone) > 2 and shared_loads(measured, names):
        said = [
            f"nothing in these files tells repeats from configurations, so {_listed(alone)} count as one each: `--setting LABEL` for each FILE decides"
        ]
    return [*said, *copies[:1]]


def _place(measured: Measured) -> str:
    return f"{measured.files} (run {measured.result.document + 1})" if measured.result.document else measured.files


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED_MOST} more" if len(names) > NAMED_MOST else ""
    return f"{', '.join(names[:NAMED_MOST])}{more}"
