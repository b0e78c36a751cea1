"""fio's JSON as facts of one phase.

fio prints text before its JSON now and then, sums differently with and without grouping, and gives CPU as a share of
runtimes that it has added up over a group. What is done about each is said where it is done.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from seekwise.errors import SeekwiseError
from seekwise.store.operations import Operation, pure
from seekwise.store.record import CpuSeconds, Phase

FioJob = dict[str, Any]
"""A job, or an object within one, of fio's JSON."""


class FioOutputError(SeekwiseError):
    """fio's output is not what fio prints."""


@dataclass(frozen=True)
class Syncs:
    """fsync, fdatasync and sync_file_range calls, timed apart from the writes that they make durable."""

    count: int
    mean_ns: float
    max_ns: int
    bins: dict[int, int]
    percentiles_ns: dict[str, int]
    """Of one job; several jobs' cannot be merged."""


@dataclass(frozen=True)
class FioPhase:
    """Facts of jobs that ran together, all threads added up."""

    operation: str
    elapsed_s: float
    bytes: int
    read_bytes: int
    write_bytes: int
    ios: int
    latency_bins: dict[int, int]
    latency_mean_ns: float
    latency_max_ns: int
    submitter_user_s: float
    submitter_system_s: float
    errors: tuple[int, ...]
    short_ios: int
    depth_share: dict[str, float]
    """{depth: percent of submissions that found this depth}: the levels that fio reports."""
    details: dict[str, object] = field(default_factory=dict)
    syncs: Syncs | None = None
    """Where jobs synced and fio timed it."""

    def as_phase(self, details: dict[str, object] | None = None) -> Phase:
        """The record's phase, as far as fio knows it; `details` go beside fio's."""
        return Phase(
            operation=self.operation,
            elapsed_s=self.elapsed_s,
            bytes=self.bytes,
            ios=self.ios,
            latency_bins=self.latency_bins,
            latency_mean_ns=self.latency_mean_ns,
            latency_max_ns=self.latency_max_ns,
            cpu=CpuSeconds(submitter_user=self.submitter_user_s, submitter_system=self.submitter_system_s),
            details={**self.details, "depth_share_percent": self.depth_share, **(details or {})},
        )


def parse(text: str, source: str = "fio's output") -> FioJob:
    """The JSON document in what fio printed: the first `{` at the start of a line opens it."""
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    if start == 0 and not text.startswith("{"):
        raise FioOutputError(f"{source} has no JSON{sample(text)}", hint="run fio by hand with the job file to see why")
    try:
        document, _ = json.JSONDecoder().raw_decode(text[start:])
    except json.JSONDecodeError as error:
        raise FioOutputError(
            f"{source} breaks off or is damaged: {error.msg} at character {start + error.pos}",
            hint="fio may have died or its disk may be full",
        ) from error
    except (RecursionError, ValueError) as error:
        raise FioOutputError(f"{source} is no JSON that fio writes: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list) or not document["jobs"]:
        raise FioOutputError(f"{source} is JSON, but lists no jobs", hint="did fio end before its first job?")
    if not all(isinstance(job, dict) for job in document["jobs"]):
        raise FioOutputError(f"{source} has a job that is none", hint="is its disk full?")
    document_of_fio: FioJob = document
    return document_of_fio


def sample(text: str) -> str:
    """How a text begins, as the end of a sentence."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"; it begins: {line[:80]!r}" if line else "; it is empty"


def phase(jobs: list[FioJob], operation: str | None = None) -> FioPhase:
    """Adds up jobs that ran at the same time. `operation` None: told from what they did."""
    try:
        found = _phase(jobs, operation)
        _check(found)
        return found
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError) as error:
        raise FioOutputError(f"fio's JSON {garbled(error)}", hint="was it changed or cut off?") from error


def garbled(error: Exception) -> str:
    """What is wrong with a document, from the exception that reading it met: "lacks 'lat_ns'"."""
    match error:
        case KeyError():
            return f"lacks {error}"
        case AttributeError() | TypeError() | IndexError():
            return "has a value of the wrong kind (null, or a list or text where a number belongs)"
    return f"has an impossible value: {error}"


def _check(found: FioPhase) -> None:
    """No figure that fio gives is negative, infinite or not a number: what is would be taken for a measurement."""
    numbers = {
        "runtime": found.elapsed_s,
        "io_bytes": found.bytes,
        "total_ios": found.ios,
        "mean latency": found.latency_mean_ns,
        "latency": found.latency_max_ns,
        "usr_cpu": found.submitter_user_s,
        "sys_cpu": found.submitter_system_s,
        **{f"latency bin {upper}": min(upper, count) for upper, count in found.latency_bins.items()},
        **{f"iodepth_level {depth}": share for depth, share in found.depth_share.items()},
    }
    for name, value in numbers.items():
        if not math.isfinite(value) or value < 0 or value > NUMBER_MAX:
            raise ValueError(f"{name} ({value})")


NUMBER_MAX = 2.0**63


def _phase(jobs: list[FioJob], operation: str | None) -> FioPhase:
    sides = [(job, name, job[name]) for job in jobs for name in sides_of(job)]
    bins: dict[int, int] = {}
    weighted, count, longest_latency = 0.0, 0, 0
    for _, _, side in sides:
        latency = latency_of(side)
        # Each for itself: in a sum a negative one would hide.
        for name, value in (("runtime", side["runtime"]), ("io_bytes", side["io_bytes"]), ("mean", latency["mean"])):
            if not 0 <= float(value) <= NUMBER_MAX:
                raise ValueError(f"{name} ({value})")
        n = int(latency.get("N", side["total_ios"]))
        weighted += float(latency["mean"]) * n
        count += n
        longest_latency = max(longest_latency, int(latency["max"]))
        _add_bins(bins, latency)
    moved = {"read": 0, "write": 0}
    for job, name, side in sides:
        # Sides reported as one count for either where both moved: the operation is told by the pattern.
        moved[name if name in moved else PURE.get(pattern_of(job), "read")] += _io_bytes(side)
    read_bytes, write_bytes = moved["read"], moved["write"]
    user, system = cpu_seconds(jobs)
    return FioPhase(
        operation=operation or operation_of(jobs, read_bytes, write_bytes),
        elapsed_s=max((float(side["runtime"]) for _, _, side in sides), default=0.0) / 1000.0,
        bytes=read_bytes + write_bytes,
        read_bytes=read_bytes,
        write_bytes=write_bytes,
        ios=sum(int(side["total_ios"]) for _, _, side in sides),
        latency_bins=bins,
        latency_mean_ns=weighted / count if count else 0.0,
        latency_max_ns=longest_latency,
        submitter_user_s=user,
        submitter_system_s=system,
        errors=tuple(int(job.get("error", 0)) for job in jobs if job.get("error", 0)),
        short_ios=sum(int(side.get("short_ios", 0)) for _, _, side in sides),
        syncs=_syncs(jobs),
        depth_share=_depth_share(jobs),
        details={
            "context_switches": sum(int(job.get("ctx", 0)) for job in jobs),
            "rate_by_job_bytes_per_s": [float(side.get("bw_bytes", 0)) for _, _, side in sides],
        },
    )


PURE = {
    "read": "read",
    "randread": "read",
    "write": "write",
    "randwrite": "write",
    "trimwrite": "write",
    "randtrimwrite": "write",
}


def sides_of(job: FioJob) -> tuple[str, ...]:
    """The sides of a job that count: `read` and `write`, or `mixed` (`unified_rw_reporting`).

    A job that writes and verifies reads what it wrote back; trims move nothing.
    """
    done = [name for name in ("read", "write", "mixed") if job.get(name, {}).get("total_ios", 0) > 0]
    if "mixed" in done:
        return tuple(name for name in done if name != "mixed") or ("mixed",)
    verifies = PURE.get(pattern_of(job)) == "write" and "write" in done and _verifies(job)
    return ("write",) if verifies else tuple(done)


def _verifies(job: FioJob) -> bool:
    """As far as its options are there."""
    options = job.get("job options", {})
    return not options or any(name.startswith("verify") and value != "0" for name, value in options.items())


def is_of_several_loads(job: FioJob) -> bool:
    """Whether `group_reporting` made one entry of jobs that did different things: it has the name of the first and the
    options of the last."""
    return pattern_of(job) in PURE and {"read", "write"} <= set(sides_of(job))


def pattern_of(job: FioJob) -> str:
    """`randread` of `rw=randread:8`; `rand` where a document without options has a job called so, empty where nothing
    says it."""
    options = job.get("job options", {})
    is_called_random = not options and re.search("rand|rnd", str(job.get("jobname", "")), re.IGNORECASE)
    rw = options.get("rw", options.get("readwrite", "rand" if is_called_random else ""))
    return str(rw).partition(":")[0].strip()


def _add_bins(bins: dict[int, int], latency: FioJob) -> None:
    for value, number in latency.get("bins", {}).items():
        upper = min(bin_upper(int(value)), int(latency["max"]))
        bins[upper] = bins.get(upper, 0) + int(number)


def _syncs(jobs: list[FioJob]) -> Syncs | None:
    timed = [
        (int(latency["N"]), latency)
        for job in jobs
        if (latency := job.get("sync", {}).get("lat_ns", {})).get("N", 0) >= 1
    ]
    if not timed:
        return None
    count, bins = sum(number for number, _ in timed), dict[int, int]()
    for _, latency in timed:
        _add_bins(bins, latency)
    mean_ns = sum(number * float(latency["mean"]) for number, latency in timed) / count
    longest = max(int(latency["max"]) for _, latency in timed)
    if not (0 <= mean_ns <= NUMBER_MAX and 0 <= longest <= NUMBER_MAX and min(bins.values(), default=0) >= 0):
        raise ValueError(f"latency of syncs ({mean_ns}, {longest})")
    return Syncs(count, mean_ns, longest, bins, percentiles_of(timed[0][1]) if len(timed) == 1 else {})


def percentiles_of(latency: FioJob) -> dict[str, int]:
    """{percent: ns}; none where fio did not time requests (`gtod_reduce`) and prints zeros."""
    # Older versions fill the list up with `0.00`.
    found = {
        f"{float(level):g}": int(value) for level, value in latency.get("percentile", {}).items() if float(level) > 0
    }
    if any(not 0 <= float(percent) <= 100 or not 0 <= value <= NUMBER_MAX for percent, value in found.items()):
        raise ValueError("percentiles")
    return found if any(found.values()) else {}


def knows_cpu(jobs: list[FioJob]) -> bool:
    """Whether fio printed how long the threads ran: `job_runtime` came with fio 3.8 (commit bcbb4c6c, 2018)."""
    return all("job_runtime" in job for job in jobs)


def cpu_seconds(jobs: list[FioJob]) -> tuple[float, float]:
    """(user, system) of the job threads; 0 where fio does not print their run time.

    fio divides the summed CPU time of a group by the summed runtime of its threads, and `job_runtime` is that same sum:
    their product is right for one thread, for grouped and for ungrouped jobs alike.
    """
    if not knows_cpu(jobs):
        return 0.0, 0.0
    user = sum(float(job["usr_cpu"]) / 100.0 * float(job["job_runtime"]) / 1000.0 for job in jobs)
    system = sum(float(job["sys_cpu"]) / 100.0 * float(job["job_runtime"]) / 1000.0 for job in jobs)
    return user, system


def latency_of(side: FioJob) -> FioJob:
    """Time from submission to completion; completion alone where fio did not time the whole (`disable_lat`).

    The distribution is that of completions where only those have one (by default).
    """
    total: FioJob = side.get("lat_ns", {})
    completion: FioJob = side.get("clat_ns", {})
    # What is no time is refused with its name, not passed over for the other figure.
    timed = total if float(total.get("mean", 0)) != 0 else completion if float(completion.get("mean", 0)) > 0 else total
    if not timed:
        raise KeyError("lat_ns")
    if timed.get("bins") or not completion.get("bins"):
        return timed
    return {**completion, "mean": timed["mean"], "max": timed["max"]}


def _io_bytes(side: FioJob) -> int:
    # Before fio 3.0 `io_bytes` counted KiB; `io_kbytes` came with the change and tells the two apart.
    return int(side["io_bytes"]) if "io_kbytes" in side else int(side["io_bytes"]) * 1024


# fio 3.33 stat.h: histogram groups double in width, 2^6 bins each; values below 2^7 are exact.
BIN_BITS = 6


def bin_upper(middle_ns: int) -> int:
    """Largest value of the bin whose middle fio prints."""
    if middle_ns < 1 << (BIN_BITS + 1):
        return middle_ns
    width_bits = middle_ns.bit_length() - 1 - BIN_BITS
    return ((middle_ns >> width_bits) + 1 << width_bits) - 1


def operation_of(jobs: list[FioJob], read_bytes: int, write_bytes: int) -> Operation:
    """The operation that jobs carried out, from their options; `mixed` where both directions or patterns occur."""
    patterns = {pattern_of(job) for job in jobs}
    random = {pattern.startswith("rand") for pattern in patterns}
    unified = any("mixed" in sides_of(job) and pattern_of(job) not in PURE for job in jobs)
    if (read_bytes and write_bytes) or len(random) > 1 or unified:
        return "mixed"
    return pure(is_random=random == {True}, is_write=bool(write_bytes))


def _depth_share(jobs: list[FioJob]) -> dict[str, float]:
    """Mean over jobs, each weighted by its requests."""
    share: dict[str, float] = {}
    total = 0
    for job in jobs:
        ios = sum(int(job[name]["total_ios"]) for name in sides_of(job))
        total += ios
        for depth, percent in job.get("iodepth_level", {}).items():
            share[depth] = share.get(depth, 0.0) + float(percent) * ios
    return {depth: value / total for depth, value in share.items()} if total else {}
