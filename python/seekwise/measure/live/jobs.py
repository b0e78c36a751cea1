"""A use as a load: its programs, and one fio job for the rest: a section per process, each with a log of every
operation.

The log gives each operation its time, latency, direction and size, so that rate and percentiles of any part of a period
can be told afterwards. It is kept in memory and written into a folder in memory when the load has ended.
"""

from __future__ import annotations

from pathlib import Path

from seekwise.measure.kernel import fio, fio_job, user_job
from seekwise.measure.live import team_load
from seekwise.measure.live.fio_load import FioLoad
from seekwise.measure.live.loads import Several, UseLoad
from seekwise.measure.live.prepare import PART_BYTES, PreparedTarget
from seekwise.measure.live.team_load import Count, one
from seekwise.workload.study.uses import Job, Use

FIO_PATTERN = {
    "random read": "randread",
    "random write": "randwrite",
    "random read/write": "randrw",
    "sequential read": "read",
    "sequential write": "write",
    "sequential read/write": "rw",
}


def of_use(
    use: Use, prepared: PreparedTarget, seed: int, runtime_s: float, program: fio.Fio | None = None, count: Count = one
) -> UseLoad:
    """The load of a use for a time; it can be ended before. `program`: the fio to run; `count`: units of programs per
    period where they are long, asked before each."""
    programs = None
    if prepared.programs is not None and prepared.own is not None:
        programs = team_load.of_use(use, prepared.programs, prepared.own, seed, count)
    if programs is None:
        return fio_of_use(use, prepared, seed, runtime_s, program)
    if all(job.program is not None for job in use.job):
        return programs
    return Several((fio_of_use(use, prepared, seed, runtime_s, program), programs))


def fio_of_use(
    use: Use, prepared: PreparedTarget, seed: int, runtime_s: float, program: fio.Fio | None = None
) -> FioLoad:
    """The jobs of a use that fio runs."""
    lines = [
        "[global]",
        *([f"directory={fio_job.directory(prepared.folder)}"] if prepared.folder is not None else []),
        "thread=1",
        "time_based=1",
        f"runtime={max(1, round(runtime_s))}",
        "norandommap=1",
        "randrepeat=0",
        "allrandrepeat=0",
        f"randseed={seed}",
        "fallocate=none",
        "overwrite=0",
        # The processor's own counter would be calibrated at each start, 70 ms in which nothing is measured.
        "clocksource=clock_gettime",
        "log_unix_epoch=1",
        "per_job_logs=1",
        "disable_slat=1",
        "disable_clat=1",
        "group_reporting=0",
        "create_on_open=0",
    ]
    logs: dict[str, list[str]] = {}
    store = 0
    for job in use.job:
        if job.program is not None:
            continue
        if job.fio is not None:
            names, own = _own_sections(job, prepared, runtime_s)
            lines += own
            logs[job.name] = names
            continue
        for number in range(job.jobs):
            name = f"{job.name}.{number}"
            logs.setdefault(job.name, []).append(name)
            lines += ["", f"[{name}]", *_section(job, number, prepared, store), f"write_lat_log={name}"]
            store += job.pattern in ("sequential write", "sequential read/write")
    return FioLoad(
        "\n".join(lines) + "\n",
        {name: tuple(log) for name, log in logs.items()},
        any(not job.direct for job in use.job if job.program is None),
        program,
    )


def _section(job: Job, number: int, prepared: PreparedTarget, store: int) -> list[str]:
    lines = [f"rw={FIO_PATTERN[str(job.pattern)]}", f"direct={int(job.direct)}", *_place(job, number, prepared, store)]
    if len(job.block) == 1:
        lines.append(f"bs={next(iter(job.block))}")
    else:
        lines.append("bssplit=" + ":".join(f"{size}/{share}" for size, share in job.block.items()))
        lines.append("bs_unaligned=0")
    lines.append("ioengine=libaio" if job.depth > 1 else "ioengine=psync")
    if job.depth > 1:
        lines.append(f"iodepth={job.depth}")
    if job.pattern is not None and job.pattern.endswith("read/write"):
        lines.append(f"rwmixread={job.read_share}")
    if job.think_time > 0:
        lines.append(f"thinktime={max(1, round(job.think_time * 1e6))}")
    if job.sync_every == 1:
        # fio times fdatasync apart from the write: O_DSYNC makes one call of both, which is what a commit waits for.
        lines.append("sync=dsync")
    elif job.sync_every > 1:
        lines.append(f"fdatasync={job.sync_every}")
    return lines


def _place(job: Job, number: int, prepared: PreparedTarget, store: int) -> list[str]:
    largest = max(job.block)
    if job.uses_read_ahead:
        # Every process begins at another file, and opens each anew.
        order = [
            (first + number * prepared.parts // max(job.jobs, 1)) % prepared.parts for first in range(prepared.parts)
        ]
        names = ":".join(f"part.{place}" for place in order)
        return [
            f"filename={names}",
            f"filesize={PART_BYTES}",
            f"size={prepared.parts * PART_BYTES}",
            "file_service_type=sequential",
            "openfiles=1",
        ]
    if job.pattern in ("sequential write", "sequential read/write"):
        return [*prepared.region(f"store.{store}"), f"size={prepared.store_bytes - prepared.store_bytes % largest}"]
    if job.pattern == "sequential read":
        share = prepared.data_bytes // job.jobs
        share -= share % largest
        where = prepared.region("data")
        if prepared.device is None:
            return [*where, f"offset={number * share}", f"size={share}"]
        return [where[0], f"offset={prepared.offset_bytes + number * share}", f"size={share}"]
    return [*prepared.region("data"), f"size={prepared.data_bytes - prepared.data_bytes % largest}"]


def _own_sections(job: Job, prepared: PreparedTarget, runtime_s: float) -> tuple[list[str], list[str]]:
    """Sections of a user's own fio job, placed on the test file; the last word in every section is ours."""
    own = user_job.read(Path(str(job.fio)))
    names: list[str] = []
    lines: list[str] = []
    for group in own.groups:
        for _, options in group:
            name = f"{job.name}.{len(names)}"
            names.append(name)
            said = [key if value is None else f"{key}={value}" for key, value in (*own.global_lines, *options)]
            size = own.size_bytes(options, prepared.data_bytes)
            lines += ["", f"[{name}]", f"direct={int(job.direct)}", *said, "offset_increment=0", "nrfiles=1"]
            lines += [*prepared.region("data"), *(["offset=0"] if prepared.device is None else []), f"size={size}"]
            lines += ["time_based=1", f"runtime={max(1, round(runtime_s))}", f"write_lat_log={name}"]
    return names, lines
