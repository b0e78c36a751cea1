"""A stretch: one fio that keeps running while settings are switched under it.

    start fio ─ wait for I/O ─┬─ switch ─ period ─┬─ switch ─ period ─┬ … ─ end fio ─ read its logs
                              └ counters          └ counters          └

Nothing is written to the measured device meanwhile but the load itself: job, logs and results lie in memory, the journal was written
before the first switch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seekwise.backend.kernel import cpu, disk, fio, memory
from seekwise.control import attributes, child, sysfs
from seekwise.control.switching import switching
from seekwise.errors import SeekwiseError
from seekwise.run.live import logs
from seekwise.run.live.candidates import Candidate
from seekwise.run.live.jobs import FioLoad

START_TIMEOUT_S = 20.0
POLL_S = 0.02
LEAD_IN_S = 0.4
"""After the first I/O is seen: threads start one after the other."""
PASS_THROUGH_S = 0.03
END_MARGIN_S = 1.0
STALL_FACTOR = 20.0
END_TIMEOUT_S = 60.0
FIO_ENDED_BY_SIGNAL = (0, 128)
"""fio ends with 128 when a signal told it to."""

Turn = tuple[Candidate, int, float]
"""(candidate, round, seconds) of one period to come."""


@dataclass(frozen=True)
class Counters:
    """What the kernel counted up to one instant."""

    monotonic_s: float
    clock_s: float
    """Seconds since 1970: fio's logs count so."""
    devices: dict[str, disk.DiskCounters]
    cpu_ticks: dict[str, int]
    programs: dict[int, tuple[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Period:
    """One candidate in force, from after its switch to before the next one."""

    candidate: str
    round: int
    switch_s: float
    """Seconds that the kernel took for the switch before this period."""
    before: Counters
    after: Counters
    settings_seen: dict[str, dict[str, str]]

    @property
    def length_s(self) -> float:
        return self.after.clock_s - self.before.clock_s


@dataclass(frozen=True)
class Stretch:
    """What one stretch brought. `ended_early`: the load ended before the schedule did, with what it said."""

    periods: tuple[Period, ...]
    operations: dict[str, logs.Operations]
    job_text: str
    ended_early: str | None = None


def run(
    program: fio.Fio,
    load: FioLoad,
    schedule: Sequence[Turn],
    switch: switching,
    work: Path,
    leaves: tuple[str, ...],
    *,
    memory_limit_bytes: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
    deadline_s: float | None = None,
    more: Callable[[Sequence[Period]], Sequence[Turn]] = lambda _: (),
) -> Stretch:
    """Runs a load under a schedule of (candidate, round, seconds). `deadline_s` (monotonic): no period begins after it.

    `more` is asked once when the schedule is done, with its periods, for further turns under the same load.
    """
    for old in work.glob("*.log"):
        old.unlink()
    job_file = work / "job.fio"
    job_file.write_text(load.text)
    if _has_more(schedule[0][0]):
        # Its scheduler may still carry another candidate's options.
        _pass_through(switch)
    _put(switch, schedule[0][0])
    if memory_limit_bytes is None:
        return _run(program, load, schedule, switch, work, leaves, (), tell, deadline_s, more)
    with memory.limited(memory_limit_bytes) as group:
        return _run(program, load, schedule, switch, work, leaves, (group.processes_file,), tell, deadline_s, more)


def _run(program, load, schedule, switch, work, leaves, cgroup_files, tell, deadline_s, more) -> Stretch:
    output, errors = work / "fio.txt", work / "fio.err"
    command = [program.path, "--eta=never", "--output-format=terse", f"--output={output}", str(work / "job.fio")]
    periods: list[Period] = []
    ended: str | None = None
    with (
        errors.open("wb") as said,
        child.started(command, stdout=said, stderr=said, cwd=work, cgroup_files=cgroup_files) as running,
    ):
        _wait_for_io(running, leaves, errors)
        now = counters(leaves)
        last = schedule[0][0]
        for number, (candidate, turn, seconds) in enumerate(_turns(schedule, periods, more)):
            if deadline_s is not None and time.monotonic() + seconds > deadline_s and number:
                break
            took = 0.0
            if number:
                took = _switch(switch, last, candidate)
                now = counters(leaves)
            tell(candidate.label)
            seen = switch.read_back()
            status = running.wait(max(0.0, seconds - (time.time() - now.clock_s)))
            then = counters(leaves)
            if status is not None:
                ended = _said(errors, output) or f"fio ended with status {status}"
                break
            periods.append(Period(candidate.label, turn, took, now, then, seen))
            last = candidate
        running.terminate(patient=True)
        status = running.wait(END_TIMEOUT_S)
        if status is None:
            running.kill()
            raise SeekwiseError("fio did not end within a minute after it was told to", hint="is the device stuck?")
    if status not in FIO_ENDED_BY_SIGNAL and ended is None:
        ended = _said(errors, output) or f"fio ended with status {status}"
    if not periods:
        raise SeekwiseError(f"fio ended before anything was measured: {ended or 'no reason given'}", _hint(ended))
    files = logs.in_folder(work)
    operations = {job: logs.read(files, prefixes) for job, prefixes in load.logs.items()}
    return Stretch(tuple(periods), operations, load.text, ended)


def _turns(
    schedule: Sequence[Turn], periods: Sequence[Period], more: Callable[[Sequence[Period]], Sequence[Turn]]
) -> Iterator[Turn]:
    yield from schedule
    yield from more(periods)


def _put(switch: switching, candidate: Candidate) -> float:
    return switch.to_original() if candidate.in_force else switch.to(candidate.changes)


def _switch(switch: switching, last: Candidate, candidate: Candidate) -> float:
    """Seconds of a real switch. Writing the scheduler that is set does nothing, so equal values pass through another one.

    So do candidates of one scheduler with other options: only a scheduler that is chosen anew has the kernel's own values.
    """
    through = 0.0
    if last.label != candidate.label and (last.values == candidate.values or _is_other_option(last, candidate)):
        through = _pass_through(switch)
    return through + _put(switch, candidate)


def _has_more(candidate: Candidate) -> bool:
    return "scheduler" in candidate.values and len(candidate.values) > 1


def _is_other_option(last: Candidate, candidate: Candidate) -> bool:
    same = last.values.get("scheduler") == candidate.values.get("scheduler")
    return same and (_has_more(last) or _has_more(candidate))


def _pass_through(switch: switching) -> float:
    started = time.monotonic()
    for device, old in switch.read_back().items():
        folder = sysfs.device_folder(device)
        other = next(
            (name for name in attributes.schedulers_offered(folder) if name != old.get("queue/scheduler")), None
        )
        if other is not None:
            sysfs.write(attributes.path("queue/scheduler", folder), other)
    time.sleep(PASS_THROUGH_S)
    switch.to_original()
    return time.monotonic() - started


def counters(leaves: tuple[str, ...], *, programs: bool = False) -> Counters:
    found = disk.read_diskstats()
    return Counters(
        time.monotonic(),
        time.time(),
        {name: found[name] for name in leaves if name in found},
        cpu.read_stat(),
        disk.read_program_io() if programs else {},
    )


def _wait_for_io(running: child.Load, leaves: tuple[str, ...], errors: Path) -> None:
    """Returns when the load has begun: the devices moved something since, and the last thread has had time to start."""
    before = disk.total(disk.moved({}, disk.read_diskstats(), leaves))
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        status = running.wait(POLL_S)
        if status is not None:
            said = errors.read_text(errors="replace")
            raise SeekwiseError(f"fio ended with status {status}: {' '.join(said.split())[:300]}", _hint(said))
        now = disk.total(disk.moved({}, disk.read_diskstats(), leaves))
        if now.reads + now.writes > before.reads + before.writes + 20:
            break
    else:
        raise SeekwiseError(f"the load did not start within {START_TIMEOUT_S:g} s", hint="is the device stuck?")
    running.wait(LEAD_IN_S)


def _said(errors: Path, output: Path) -> str | None:
    text = errors.read_text(errors="replace") if errors.exists() else ""
    words = [line for line in text.splitlines() if line.startswith("fio:") and "terminating on signal" not in line]
    return " ".join(" ".join(words).split())[:300] or None


def _hint(said: str | None) -> str | None:
    if said and ("No space left" in said or "ENOSPC" in said):
        return "make room on the file system"
    if said and "Invalid argument" in said:
        return "this file system has no direct I/O: choose a folder on another one, or an empty device"
    return None
