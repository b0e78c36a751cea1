"""A stretch: a load that goes on while settings are switched under it.

    start the load ─ wait for it ─┬─ switch ─ period ─┬─ switch ─ period ─┬ … ─ end the load ─ read its logs
                                  └ counters          └ counters          └

Nothing is written to the measured device meanwhile but the load itself: job, logs and results lie in memory, the
journal was written before the first switch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from seekwise.control.switching import switching
from seekwise.errors import SeekwiseError
from seekwise.linux import diskstats, page_cache
from seekwise.linux.diskstats import DiskCounters
from seekwise.measure.kernel import cpu, memory
from seekwise.measure.live import fio_load, logs
from seekwise.measure.live.loads import UseLoad
from seekwise.workload.live_plan import Candidate

PASS_THROUGH_S = 0.03
UNIT_MOST_S = 30.0
"""A unit that takes longer is left alone: it counts with the time that it has taken."""
LATE_S = 3.0
"""So much past the end of the measuring time it may end."""

Turn = tuple[Candidate, int, float]
"""(candidate, round, seconds) of one period to come."""


@dataclass(frozen=True)
class Counters:
    """What the kernel counted up to one instant."""

    monotonic_s: float
    clock_s: float
    """Seconds since 1970: fio's logs count so."""
    devices: dict[str, DiskCounters]
    cpu_ticks: dict[str, int]
    unwritten_bytes: int | None = None
    """Dirty and under write-back on the whole machine; None where the kernel does not say."""


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
    lead_s: float = 0.0
    """Seconds from its start until the first unit of the foreground began; 0 where the load knows no units."""

    @property
    def length_s(self) -> float:
        """Seconds by the wall clock, which the logs use; the cut at its start is still inside."""
        return self.after.clock_s - self.before.clock_s


@dataclass(frozen=True)
class Stretch:
    """What one stretch brought. `ended_early`: the load ended before the schedule did, with what it said."""

    periods: tuple[Period, ...]
    operations: dict[str, logs.Operations]
    job_text: str
    ended_early: str | None = None
    stopped: KeyboardInterrupt | None = None
    """The run was ended meanwhile. The periods before that are whole; the caller keeps them and raises it again."""


def run(
    load: UseLoad,
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
    if _has_more(schedule[0][0]):
        # Its scheduler may still carry another candidate's options.
        switch.through_another_scheduler(PASS_THROUGH_S)
    switch_to(switch, schedule[0][0])
    periods: list[Period] = []
    with ExitStack() as stack:
        groups = () if memory_limit_bytes is None else (stack.enter_context(memory.limited(memory_limit_bytes)),)
        running = stack.enter_context(load.started(work, leaves, [group.processes_file for group in groups]))
        running.wait_running()
        now, last, ended, stopped = counters(leaves), schedule[0][0], None, None
        try:
            for number, (candidate, turn, seconds) in enumerate(_turns(schedule, periods, more)):
                if deadline_s is not None and time.monotonic() + seconds > deadline_s and number:
                    break
                took = 0.0
                if number:
                    took = _switch(switch, last, candidate)
                    now = counters(leaves)
                tell(candidate.label)
                seen = switch.read_back()
                lead = running.period(max(0.0, seconds - (time.time() - now.clock_s)), _patience_s(deadline_s))
                then = counters(leaves)
                ended = running.ended()
                if ended is not None:
                    break
                last = candidate
                if switch.was_reset(seen):
                    tell(f"{candidate.label}: discarded, the driver has set the queue up anew")
                    continue
                periods.append(Period(candidate.label, turn, took, now, then, seen, lead))
        except KeyboardInterrupt as error:
            if not periods:
                raise
            stopped = error
        ended = running.finish() or ended
    if not periods:
        raise SeekwiseError(
            f"the load ended before anything was measured: {ended or 'no reason given'}", fio_load.hint(ended)
        )
    return Stretch(tuple(periods), load.operations(work), load.text, None if stopped else ended, stopped)


def _patience_s(deadline_s: float | None) -> float:
    if deadline_s is None:
        return UNIT_MOST_S
    return min(UNIT_MOST_S, max(LATE_S, deadline_s + LATE_S - time.monotonic()))


def _turns(
    schedule: Sequence[Turn], periods: Sequence[Period], more: Callable[[Sequence[Period]], Sequence[Turn]]
) -> Iterator[Turn]:
    yield from schedule
    yield from more(periods)


def switch_to(switch: switching, candidate: Candidate) -> float:
    """Switches to a setting, or back to what was in force; seconds that it took."""
    return switch.to_original() if candidate.in_force else switch.to(candidate.changes)


def _switch(switch: switching, last: Candidate, candidate: Candidate) -> float:
    """Seconds of a real switch. Writing the scheduler that is set does nothing, so equal schedulers pass through
    another one.

    So do candidates of one scheduler with other options: only a scheduler that is chosen anew has the kernel's own
    values.
    """
    through = 0.0
    if last.label != candidate.label and _is_scheduler_kept(last, candidate):
        through = switch.through_another_scheduler(PASS_THROUGH_S)
    return through + switch_to(switch, candidate)


def _has_more(candidate: Candidate) -> bool:
    return len(candidate.values) > 1


def _is_scheduler_kept(last: Candidate, candidate: Candidate) -> bool:
    kept = "scheduler" in last.values and last.values["scheduler"] == candidate.values.get("scheduler")
    return kept and (last.values == candidate.values or _has_more(last) or _has_more(candidate))


def counters(leaves: tuple[str, ...]) -> Counters:
    """Counters of the drives and processors at this moment."""
    by_device = diskstats.read()
    devices = {name: by_device[name] for name in leaves if name in by_device}
    return Counters(time.monotonic(), time.time(), devices, cpu.read_stat(), page_cache.unwritten_bytes())
