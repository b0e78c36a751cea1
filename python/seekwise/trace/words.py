"""A trace in words: what it holds, who asked for what, and what is a reply to what."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from seekwise.trace.columns import Kind, Notes
from seekwise.trace.depend import Process
from seekwise.trace.summary import KINDS, Summary

PROCESSES_SHOWN = 6
WIDTH, HOW_FROM = 80, 42
SURE = 0.99
"""Below that, how sure it is that a process waits for its requests is said."""


def lines(summary: Summary, notes: Notes, processes: Sequence[Process]) -> list[str]:
    """What is printed, at most 80 columns wide."""
    seconds = summary.seconds
    devices = ", ".join(notes.devices[:4]) + (f" and {len(notes.devices) - 4} more" if len(notes.devices) > 4 else "")
    said = [
        f"{summary.requests:,} requests"
        + (f" in {_time(seconds)}" if summary.has_times else " without times")
        + (f" on {devices}" if devices else "")
        + f", from {notes.source}"
    ]
    if notes.truncated:
        said.append(f"The trace is incomplete: {notes.truncated}")
    if notes.dropped:
        said.append(f"The recorder dropped {notes.dropped:,} events; some requests are missing or incomplete")
    said += [*notes.sentences, ""]
    for kind, name in enumerate(KINDS):
        if not summary.kinds[kind]:
            continue
        count, moved = int(summary.kinds[kind]), int(summary.bytes[kind])
        rates = f"{count / seconds:8,.0f} IOPS  {moved / 1e6 / seconds:7.3g} MB/s  " if summary.has_times else ""
        line = f"{name:7} {count:10,}  {rates}mean {moved / count / 1024:.3g} KiB"
        half, tail = summary.percentile_ms(kind, 0.5), summary.percentile_ms(kind, 0.99)
        if half is not None and tail is not None:
            line += f"\n{'':7} p50 {half:.3g} ms, p99 {tail:.3g} ms"
        said.append(line)
    for kind, name in ((Kind.FLUSH, "flushes"), (Kind.DISCARD, "discards")):
        if summary.kinds[kind]:
            said.append(f"{name:7} {int(summary.kinds[kind]):10,}")
    said.append(
        f"{_percent(summary.sequential / max(summary.requests, 1))} go on where the process's last request ended"
    )
    if summary.outstanding_ns.any():
        said.append(
            f"{summary.outstanding_ns.sum() / max(summary.last_ns - summary.first_ns, 1):.3g} requests outstanding on average"
        )
    said += ["", *_processes(processes)]
    return said


def answer(summary: Summary, notes: Notes, processes: Sequence[Process]) -> str:
    """What the load is, in a sentence: its kind, rate, times and who makes most of it."""
    kind = max(range(len(KINDS)), key=lambda kind: int(summary.kinds[kind]))
    count, moved = int(summary.kinds[kind]), int(summary.bytes[kind])
    if not count:
        return f"No reads or writes in {_time(summary.seconds)}."
    order = "in order" if summary.sequential * 2 > summary.requests else "at random"
    said = f"{_percent(count / summary.requests)} {KINDS[kind]} of {moved / count / 1024:.3g} KiB, most {order}"
    if summary.has_times:
        said += f": {count / summary.seconds:,.0f} a second, {moved / 1e6 / summary.seconds:.3g} MB/s"
    half, tail = summary.percentile_ms(kind, 0.5), summary.percentile_ms(kind, 0.99)
    if half is not None and tail is not None:
        said += f"; half take at most {half:.3g} ms, one in a hundred over {tail:.3g} ms"
    busiest = max(processes, key=lambda process: process.requests, default=None)
    return f"{said}; most are of {busiest.name}." if busiest else f"{said}."


def _processes(processes: Sequence[Process]) -> list[str]:
    if not processes:
        return []
    said = [f"{'process':20} {'role':10} {'requests':>9}  how its requests come"]
    for process in processes[:PROCESSES_SHOWN]:
        how = textwrap.wrap(loop_words(process), WIDTH - HOW_FROM, break_on_hyphens=False)
        said.append(f"{process.name[:20]:20} {process.role:10} {process.requests:9,}  {how[0]}")
        said += [f"{'':{HOW_FROM}}{line}" for line in how[1:]]
        for wait in process.waits:
            said.append(
                f"{'':4}waits for {wait.on[:20]}: {_percent(wait.share)} of its commits, by chance {_percent(wait.by_chance)}"
            )
        if process.flushes and process.flushes.count >= 5:
            flushes = process.flushes
            said.append(
                f"{'':4}{flushes.count:,} flushes: {_percent(flushes.after_writes)} sent after all writes, "
                f"{_percent(flushes.holds_back)} waited for"
            )
    if len(processes) > PROCESSES_SHOWN:
        said.append(f"and {len(processes) - PROCESSES_SHOWN} more (--json lists them)")
    return said


def loop_words(process: Process) -> str:
    """One phrase: closed at a depth, open, or not known, and how sure."""
    loop = process.loop
    if loop is None:
        return "unknown: too few requests with completion times"
    if loop.closed:
        think = loop.think_ns[1] / 1e6
        doubt = f", {100 * loop.sure:.0f} % sure" if loop.sure < SURE else ""
        return f"closed, depth {loop.depth}, {think:.3g} ms think time{doubt}"
    if loop.is_paced:
        return "open: sends at even times (a rate limit?), so that the storage is always done by then"
    if loop.expected < 10:
        return "unknown: hardly ever busy"
    return f"open: {loop.came:,} came while one was outstanding, {loop.expected:,.0f} by chance"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
