"""fio's JSON (`--output-format=json` and `json+`), from 3.0 on: every load that a run holds is a result of its own.

Jobs of one group ran at the same time. Those of the same options are one load of several threads; others ran beside each other. Groups
(`stonewall`) ran one after the other.

Percentiles are those that fio printed, where one side of one (grouped) job made up the load. Over several jobs, or reads
and writes, they cannot be merged; the histograms of json+ can, and without those p99 is left out, with a note.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from seekwise.errors import SeekwiseError
from seekwise.grouping import grouped
from seekwise.importing import fio_documents, fio_result
from seekwise.importing.fio_documents import NO_LATENCIES, FioDocument, depth_of
from seekwise.importing.fio_result import FioJob
from seekwise.importing.result import (
    PAGE_CACHE,
    ForeignError,
    Format,
    Given,
    Result,
    Source,
    as_one,
    is_rare,
    ms,
    times,
)
from seekwise.store.percentiles import percentiles
from seekwise.store.record import Phase
from seekwise.workload.study.quantity import parse_bytes

LOAD_OPTIONS = (
    "ioengine", "direct", "buffered", "sync", "fsync", "fdatasync", "sync_file_range", "end_fsync", "fsync_on_close", "bssplit", "bsrange",
    "rwmixread", "rwmixwrite", "percentage_random", "random_distribution", "rate", "rate_iops", "thinktime", "latency_target",
    "iodepth_batch_submit", "thread_cpus_allowed", "zonemode", "ioprio", "prioclass",
)  # fmt: skip
"""Options that tell loads apart, besides pattern, request size, depth and threads; fio's HOWTO says what each does."""
OF_MIXED = ("rwmixread", "rwmixwrite")
SYNCS = ("fsync", "fdatasync", "sync_file_range")
LIMITS = ("rate", "rate_iops", "thinktime")
WAITS = frozenset({"stonewall", "wait_for_previous", "wait_for"})
"""Options that let a group wait for the one before."""
FLUSHES = ("end_fsync", "fsync_on_close")
BLOCK_BYTES = 4096
"""fio's default."""
LEAST_S = 1e-4
"""fio counts whole milliseconds."""
SHORT_S = 0.9
"""fio's runtimes are whole seconds, and threads end up to some milliseconds early."""
SIZE_SLACK = 0.02
"""Requests at the end of a file, and short ones, are smaller than asked for."""


def _recognises(source: Source) -> bool:
    return '"fio version"' in source.text and ('"jobs"' in source.text or '"client_stats"' in source.text)


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    try:
        runs, notes = fio_documents.runs(source.text, str(source.path))
        results = []
        for number, run in enumerate(runs):
            if (version := re.match(r"fio-([12])\.\d", run.version)) and version[0] != "fio-2.99":
                raise source.error(
                    f"was written by {run.version}, whose latencies are in µs and amounts in KiB: not read",
                    hint="fio 3.0 or newer writes what is read",
                )
            results += _of_run(source, run, number, notes, given)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise source.error(
            f"fio's JSON {fio_result.garbled(error)}", hint="was it changed or cut off after fio wrote it?"
        ) from error
    except ForeignError:
        raise
    except SeekwiseError as error:
        where = "" if error.message.startswith(str(source.path)) else f"{source.path}: "
        raise ForeignError(f"{where}{error.message}", error.hint) from error
    return results


def _of_run(source: Source, run: FioDocument, number: int, notes: Sequence[str], given: Given) -> list[Result]:
    results = []
    if not any(name in job for job in run.jobs for name in fio_documents.SIDES):
        raise KeyError("read")
    groups = _groups(run.jobs)
    everything = _loads(run.jobs) if _overlapped(groups) else []
    for group in groups:
        loads = _loads(group)
        for jobs in loads:
            # The same load in another group is compared with this one, not set beside it.
            beside = [
                _name(other)
                for other in everything or loads
                if _load(other[0]) != _load(jobs[0]) and not _apart(other, jobs)
            ]
            result = _result(run, jobs, number, notes, given, beside)
            results += [result] if result else []
    if not results:
        if failed := next((job["error"] for job in run.jobs if job.get("error")), None):
            raise source.error(f"fio ended with error {failed} before anything was moved", hint=_errno_words(failed))
        if any(
            job.get(name, {}).get("iops") and "total_ios" not in job[name]
            for job in run.jobs
            for name in fio_documents.SIDES
        ):
            raise KeyError("total_ios")
        trimmed = any(job.get("trim", {}).get("total_ios", 0) for job in run.jobs)
        raise source.error(
            "its jobs only trimmed, which is not compared" if trimmed else "every job did nothing: no reads, no writes",
            hint=None if trimmed else "did fio stop before its jobs began, or with an error? Its messages say why",
        )
    return results


def _errno_words(error: object) -> str | None:
    """fio's errors are those of the system."""
    return os.strerror(error).lower() if isinstance(error, int) and 0 < error < 200 else None


def _groups(jobs: list[FioJob]) -> list[list[FioJob]]:
    """Jobs that ran together: fio counts their group; `stonewall` and `new_group` raise it."""
    groups = grouped((str(job.get("groupid", 0)), job) for job in jobs)
    return list(groups.values())


def _overlapped(groups: list[list[FioJob]]) -> bool:
    """Whether groups ran at once (`new_group` without `stonewall`): one by one they would have taken longer than fio ran.

    fio prints whole seconds since its start, rounded up.
    """
    if len(groups) < 2 or any(WAITS & job["job options"].keys() for group in groups for job in group):
        return False
    one_by_one_ms = sum(
        max((float(job[name].get("runtime", 0)) for job in group for name in fio_result.sides_of(job)), default=0.0)
        for group in groups
    )
    elapsed_s = max(float(job.get("elapsed", 0)) for group in groups for job in group)
    return 0 < elapsed_s * 1e3 < one_by_one_ms


def _apart(one: list[FioJob], other: list[FioJob]) -> bool:
    """Whether `startdelay` or `wait_for` let one of them begin when the other had ended."""
    if any(a[0]["job options"].get("wait_for") == b[0].get("jobname") for a, b in ((one, other), (other, one))):
        return True
    (start, end), (then, later) = _span_s(one), _span_s(other)
    return start >= later * SHORT_S > 0 or then >= end * SHORT_S > 0


def _span_s(jobs: list[FioJob]) -> tuple[float, float]:
    """When they began and ended, in seconds since the start of their group."""
    delay = re.fullmatch(r"(\d{1,9})s?", jobs[0]["job options"].get("startdelay", "0"))
    start = float(delay[1]) if delay else 0.0
    return start, start + fio_result.phase(jobs).elapsed_s


def _loads(group: list[FioJob]) -> list[list[FioJob]]:
    """The jobs of a group by what they do."""
    loads = grouped((_load(job), job) for job in group)
    return list(loads.values())


def _load(job: FioJob) -> tuple[object, ...]:
    """Pattern, sizes, depth and the options that tell loads apart."""
    options = job["job options"]
    asked = (fio_result.pattern_of(job), options.get("bs"), options.get("iodepth"))
    return (*asked, tuple(options.get(name) for name in LOAD_OPTIONS))


def _name(jobs: list[FioJob]) -> str:
    """`reader`; `reader1, reader2` of jobs that did the same."""
    return ", ".join(dict.fromkeys(str(job.get("jobname", "")) for job in jobs))


def _result(
    run: FioDocument, jobs: list[FioJob], number: int, notes: Sequence[str], given: Given, beside: list[str]
) -> Result | None:
    found = fio_result.phase(jobs, given.operation)
    if found.ios == 0 or (found.errors and found.bytes == 0):
        return None
    if found.elapsed_s < LEAST_S:
        raise ValueError(f"runtime (0 for {found.ios} requests)")
    options = jobs[0]["job options"]
    several = fio_result.is_of_several_loads(jobs[0])
    block, sizes = (given.block_bytes, {}) if several else _block(options, found, given)
    # What fio saw decides where the engine is not named: its default is synchronous on Linux and is not elsewhere.
    alone = found.syncs is None and found.depth_share.get("1", 0.0) >= 99.9
    depth, depth_note = (given.iodepth, "") if several or not options else depth_of(options, given, alone=alone)
    more = {name: options[name] for name in LOAD_OPTIONS if name in options} | sizes
    if found.operation != "mixed":
        more = {name: value for name, value in more.items() if name not in OF_MIXED}
    if beside:
        more["beside"] = "; ".join(beside)
    timed = jobs
    if run.sum_of_clients is not None and len(jobs) == len(run.jobs):
        timed = [{**run.sum_of_clients, "job options": options}]
    reported = _percentiles(timed)
    phase = replace(
        found.as_phase({"sides": _sides(jobs)} if found.operation == "mixed" else None),
        reported_percentiles_ns=reported,
    )
    errors = [job for job in jobs if job.get("error")]
    seed = str(options.get("randseed", ""))
    return Result(
        phases=(*_synced(jobs, phase, found, options), phase),
        tool=run.version,
        threads=given.threads or _threads(jobs),
        block_bytes=block,
        iodepth=depth,
        more=more,
        options=run.shared | {"jobs": [job["job options"] for job in jobs]},
        seed=int(seed) if seed.isdecimal() and len(seed) < 20 else 0,
        started_at=datetime.fromtimestamp(run.ended_s, UTC).isoformat() if run.ended_s else "unknown",
        leads=_leads(jobs, options, found, phase),
        notes=(*notes, *_notes(jobs, found, reported, depth_note, asked=given.operation is not None)),
        invalid_reason=f"fio reports error {errors[0]['error']} in job {_name(jobs)}" if errors else None,
        job=_name(jobs),
        document=number,
        setting=run.name or None,
        keeps_depth=not several and _keeps_depth(options, found),
        spans_s=(run.ended_s - run.runtime_s, run.ended_s) if run.ended_s else None,
    )


def _keeps_depth(options: Mapping[str, str], found: fio_result.FioPhase) -> bool:
    """Not where requests wait for syncs, where a flush at the end is part of the time, or where the page cache takes them one at a time."""
    on = {name for name in (*SYNCS, *FLUSHES) if options.get(name, "0") not in ("0", "")}
    cached = _is_buffered(options) and (bool(found.write_bytes) or options.get("iodepth", "1") != "1")
    limited = any(name in options for name in LIMITS)
    return found.syncs is None and not on and (limited or not cached)


def _is_buffered(options: Mapping[str, str]) -> bool:
    return options.get("direct", "0") in ("0", "") and options.get("buffered", "1") != "0"


def _waits_for_the_drive(options: Mapping[str, str]) -> bool:
    """O_SYNC or O_DSYNC: each write returns when it is durable."""
    return options.get("sync", "0") not in ("0", "none", "")


def _is_rare(jobs: list[FioJob], found: fio_result.FioPhase) -> bool:
    syncs = found.syncs
    return syncs is not None and is_rare(syncs.count, syncs.mean_ns, found.ios, found.elapsed_s * _threads(jobs))


def _synced(
    jobs: list[FioJob], phase: Phase, found: fio_result.FioPhase, options: Mapping[str, str]
) -> tuple[Phase, ...]:
    """The phase of the syncs: what was made durable by them, and how long each took; none where writes do not wait for them."""
    if found.syncs is None or _is_rare(jobs, found):
        return ()
    asked = [name for name in SYNCS if options.get(name, "0") not in ("0", "")]
    return (
        Phase(
            operation=asked[0] if len(asked) == 1 else "sync",
            elapsed_s=phase.elapsed_s,
            bytes=found.write_bytes or phase.bytes,
            ios=found.syncs.count,
            latency_bins=found.syncs.bins,
            latency_mean_ns=found.syncs.mean_ns,
            latency_max_ns=found.syncs.max_ns,
            cpu=phase.cpu,
            details={"syncs": True},
            reported_percentiles_ns=found.syncs.percentiles_ns,
        ),
    )


def _sides(jobs: list[FioJob]) -> dict[str, dict[str, float]]:
    """Reads and writes of a mixed load, each by itself."""
    sides: dict[str, dict[str, float]] = {}
    for name in ("read", "write"):
        mine = [job[name] for job in jobs if name in fio_result.sides_of(job)]
        if ios := sum(int(side["total_ios"]) for side in mine):
            mean = sum(float(fio_result.latency_of(side)["mean"]) * int(side["total_ios"]) for side in mine) / ios
            sides[name] = {"bytes": sum(int(side["io_bytes"]) for side in mine), "ios": ios, "latency_mean_ns": mean}
    return sides


def _percentiles(jobs: list[FioJob]) -> dict[str, int]:
    """{percent: ns} of a load that one side of one job made up; `unified_rw_reporting=both` has one over both sides."""
    sides = [(job, name) for job in jobs for name in fio_result.sides_of(job)]
    if len(jobs) == 1 and len(sides) == 2 and jobs[0].get("mixed", {}).get("total_ios", 0) > 0:
        sides = [(jobs[0], "mixed")]
    if len(sides) != 1:
        return {}
    job, name = sides[0]
    for latency in ("lat_ns", "clat_ns"):
        if found := fio_result.percentiles_of(job[name].get(latency, {})):
            return found
    return {}


def _notes(
    jobs: list[FioJob], found: fio_result.FioPhase, reported: dict[str, int], depth_note: str, *, asked: bool
) -> list[str]:
    said = [depth_note] if depth_note else []
    said += [as_one(_name(jobs))] if fio_result.is_of_several_loads(jobs[0]) else []
    options = jobs[0]["job options"]
    # fio's default pattern reads; of clients it prints the options of one job alone.
    lacks = not options or found.write_bytes > 0 or "hostname" in jobs[0]
    if lacks and not fio_result.pattern_of(jobs[0]) and not asked and found.operation != "mixed":
        said.append(
            f"{_name(jobs)}: the file does not have this job's pattern (`rw`), so not whether access was random: sequential was taken "
            f"(`--given operation=rand_{found.operation.rpartition('_')[2]}`)"
        )
    elif not options and fio_result.pattern_of(jobs[0]) and not asked:
        said.append(f"{_name(jobs)}: the file has no options; random was taken from the job's name")
    if found.elapsed_s < SHORT_S:
        said.append(
            f"{_name(jobs)} ran for {ms(found.elapsed_s * 1e9)} only, too short to mean anything: `--time_based --runtime=60`"
        )
    if (
        options
        and _is_buffered(options)
        and found.syncs is None
        and not _asked_syncs(options)
        and not _waits_for_the_drive(options)
    ):
        said.append(
            f"jobs without `direct=1` went through the {PAGE_CACHE}: memory may have answered instead of the drive"
        )
    if not fio_result.knows_cpu(jobs):
        said.append(
            "CPU time is left out: the file does not say how long threads ran, which fio before 3.8 does not print"
        )
    if found.latency_mean_ns == 0:
        said.append(NO_LATENCIES)
    elif not found.latency_bins and not reported:
        apart = len(jobs) > 1 or len(fio_result.sides_of(jobs[0])) > 1
        said.append(
            "p99 is absent where several jobs, or reads and writes, were reported apart: percentiles cannot be merged "
            "(json+ has histograms, which can)"
            if apart
            else "p99 is absent: fio wrote no percentiles (`disable_clat`, `clat_percentiles=0`)"
        )
    elif not found.latency_bins and "99" not in reported:
        said.append(f"p99 is absent: fio was asked for other percentiles (`percentile_list`): {', '.join(reported)}")
    if any(
        "read" in job and "read" not in fio_result.sides_of(job) and job["read"].get("total_ios", 0)
        for job in jobs
        if "mixed" not in job
    ):
        said.append(f"{_name(jobs)}: reads that verified what was written are left out")
    if any(job.get("trim", {}).get("total_ios", 0) for job in jobs):
        said.append(f"{_name(jobs)}: trims are left out")
    return said


def _leads(jobs: list[FioJob], options: Mapping[str, str], found: fio_result.FioPhase, phase: Phase) -> str:
    """How long durable writes took; empty where a job makes none."""
    if found.syncs:
        return "" if _is_rare(jobs, found) else _of_syncs(jobs, found, found.syncs)
    if found.read_bytes or not found.write_bytes:
        return ""
    if _waits_for_the_drive(options):
        return _of_durable_writes(jobs, phase)
    return _of_untimed_syncs(jobs, found) if _asked_syncs(options) else ""


def _of_syncs(jobs: list[FioJob], found: fio_result.FioPhase, syncs: fio_result.Syncs) -> str:
    asked = _asked_syncs(jobs[0]["job options"]) or "sync"
    levels = syncs.percentiles_ns or percentiles(syncs.bins)
    return (
        f"durable writes of {_name(jobs)} ({asked}): each sync took {times(syncs.mean_ns, levels, syncs.max_ns)}; the writes before it "
        f"{ms(_sides(jobs).get('write', {}).get('latency_mean_ns', found.latency_mean_ns))} on average"
    )


def _asked_syncs(options: Mapping[str, str]) -> str:
    """`fsync=1`; empty where a job does not sync."""
    return " and ".join(f"{name}={options[name]}" for name in SYNCS if options.get(name, "0") not in ("0", ""))


def _of_untimed_syncs(jobs: list[FioJob], found: fio_result.FioPhase) -> str:
    """Of a fio that times writes alone: what a write and its syncs take together is in its rate."""
    each_ns = found.elapsed_s * _threads(jobs) / found.ios * 1e9
    return (
        f"durable writes of {_name(jobs)} ({_asked_syncs(jobs[0]['job options'])}): this fio did not time the syncs; a write with its "
        f"share of them took {ms(each_ns)} on average"
    )


def _of_durable_writes(jobs: list[FioJob], phase: Phase) -> str:
    """Of writes that each return when they are durable."""
    took = times(phase.latency_mean_ns, phase.percentiles_ns, phase.latency_max_ns)
    return f"durable writes of {_name(jobs)} (sync={jobs[0]['job options']['sync']}): each write took {took}"


def _threads(jobs: list[FioJob]) -> int:
    """fio prints each thread, or with `group_reporting` one job for all of a group, whose `job_runtime` is the sum over its threads."""
    printed: dict[tuple[str, str, str], list[int]] = {}
    for job in jobs:
        asked = str(job["job options"].get("numjobs", "1"))
        key = (str(job.get("hostname", "")), str(job.get("port", "")), str(job.get("jobname", "")))
        printed.setdefault(key, []).append(int(asked) if asked.isdecimal() and len(asked) < 10 else 1)
    asked_for = sum(max(len(counts), max(counts)) for counts in printed.values())
    return max(asked_for, _threads_that_ran(jobs[0])) if len(jobs) == 1 else asked_for


WHOLE = 0.03
"""How near to a whole number the summed run time of a group's threads is, in shares of it, where all of them ran to the end."""


def _threads_that_ran(job: FioJob) -> int:
    """Of a group that is printed as one job; 0 where that cannot be told, as when what was written is read back afterwards."""
    sides = fio_result.sides_of(job)
    longest_ms = max((float(job[name]["runtime"]) for name in sides), default=0.0)
    others = [name for name in ("read", "write", "trim") if name not in sides and job.get(name, {}).get("total_ios")]
    options = job["job options"]
    is_group = options.get("numjobs", "1") != "1" or "group_reporting" in options or fio_result.is_of_several_loads(job)
    if not is_group or longest_ms < 1e3 * SHORT_S or ("mixed" not in sides and others):
        return 0
    summed_ms = float(job.get("job_runtime", 0))
    # Threads side by side ran longer in all than fio did.
    if summed_ms <= 1e3 * float(job.get("elapsed", 0)):
        return 0
    ratio = summed_ms / longest_ms
    return round(ratio) if abs(ratio - round(ratio)) <= WHOLE * ratio else 0


def _block(options: Mapping[str, str], found: fio_result.FioPhase, given: Given) -> tuple[int | None, dict[str, str]]:
    """(request size, factors in its place): none where sizes vary (`bssplit`, `bsrange`) or differ between reads and writes."""
    if given.block_bytes:
        return given.block_bytes, {}
    if any(name in options for name in ("bssplit", "bsrange")):
        return None, {}
    moved = found.bytes / found.ios
    text = str(options.get("bs", BLOCK_BYTES))
    # `bs=4k,64k`: of reads and of writes; what is missing is as the one before.
    reads, _, rest = text.partition(",")
    writes = rest.partition(",")[0] or reads
    both = bool(found.read_bytes and found.write_bytes) or found.operation == "mixed"
    if both and writes != reads:
        return None, {"bs": text}
    try:
        asked = parse_bytes(reads if found.read_bytes else writes)
    except ValueError:
        asked = 0
    if (
        asked
        and moved <= asked * (1 + SIZE_SLACK)
        and (moved >= asked * (1 - SIZE_SLACK) or found.short_ios or found.bytes < 64 * asked)
    ):
        return asked, {}
    return (round(moved), {}) if moved == round(moved) and "bs" not in options and round(moved) % 512 == 0 else (None, {})  # fmt: skip


FORMAT = Format(
    "fio-json", "fio JSON (json, json+)", _recognises, _read, takes=("operation", "threads", "block", "iodepth")
)
