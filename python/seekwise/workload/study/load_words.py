"""A use's load in words: pattern, sizes, depth, processes."""

from __future__ import annotations

from seekwise.workload.study.quantity import bytes_text, time_text
from seekwise.workload.study.uses import NOT_OURS, Job, Use


def job_text(job: Job) -> str:
    """`random read/write, 70 % reads, 8 KiB, 16 at a time, direct`."""
    program = job.runs
    if program is not None:
        several = f", {job.jobs} processes" if job.jobs > 1 else ""
        return f"{program.title}{several}"
    if job.pattern is None:
        return f"fio job file {job.fio}"
    parts = [str(job.pattern)]
    if "read/write" in job.pattern:
        parts.append(f"{job.read_share} % reads")
    if len(job.block) == 1:
        parts.append(bytes_text(next(iter(job.block))))
    else:
        parts.append("sizes " + ", ".join(f"{bytes_text(size)} ({share} %)" for size, share in job.block.items()))
    parts.append("one at a time" if job.depth == 1 else f"{job.depth} at a time")
    if job.jobs > 1:
        parts.append(f"{job.jobs} processes")
    parts.append("past the page cache (direct)" if job.direct else "through the page cache")
    if job.think_time:
        parts.append(
            f"pauses of {time_text(job.think_time) if job.think_time >= 1 else f'{1000 * job.think_time:.3g} ms'}"
        )
    if job.sync_every:
        parts.append("commits after each write" if job.sync_every == 1 else f"commits after {job.sync_every} writes")
    return ", ".join(parts)


def use_rows(use: Use) -> list[tuple[str, str, str]]:
    """(job, role, load in words); none of a use whose load is not ours: a command, or what ran already, whose title
    says all that is known."""
    if use.group == NOT_OURS:
        return []
    return [(job.name, job.role, job_text(job)) for job in use.job]
