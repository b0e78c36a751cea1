"""Where a scheduler's lock ends what a drive can do: up to which rate it costs nothing, and from where it caps the
drive.

Rests on trials that tell how long processors waited for locks (hosts whose cores are simulated one by one).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.grouping import grouped
from seekwise.number_text import thousands
from seekwise.report.explain.caps import NOTHING, WITHOUT
from seekwise.report.insights.finding import Finding, means
from seekwise.store.record import Record

CAPPED = 0.5
"""From this share of the processors' time on that is spent waiting for it, a lock decides the rate."""


@dataclass(frozen=True)
class LockMeans:
    """Means over the repeats of one load under one setting."""

    iops: float
    waited: float
    """Share of the processors' working time that went into waiting for locks."""
    cpu_us: float
    """Processor time of a request."""


def _numbers(record: Record) -> LockMeans | None:
    # Jobs that differ compete for the drive as well: what they lose says nothing of the lock.
    if not record.phases or "group_threads" in record.phases[0].details:
        return None
    phase = record.phases[0]
    waited, busy = phase.details.get("lock_wait_s"), phase.cpu.system_cpu
    if not isinstance(waited, float) or busy <= 0 or phase.ios <= 0:
        return None
    ios = sum(part.ios for part in record.phases)
    return LockMeans(sum(part.iops for part in record.phases), waited / busy, 1e6 * busy / ios)


def find(records: Sequence[Record]) -> list[Finding]:
    """Schedulers whose lock bounds the operations per second where `none` goes on rising."""
    findings = []
    by_system = grouped(
        (system, settings) for (system, _), settings in means(records, _numbers).items() if WITHOUT in settings
    )
    for system, combinations in sorted(by_system.items()):
        for setting in sorted({name for combination in combinations for name in combination if name != WITHOUT}):
            pairs = [
                (combination[WITHOUT], combination[setting]) for combination in combinations if setting in combination
            ]
            if pairs:
                findings.append(_finding(system, setting, pairs))
    return findings


def summary(records: Sequence[Record]) -> str | None:
    """`Each drive has one lock: mq-deadline costs less than 5 % up to 204,000 requests per second and caps at 476,000 …`; None where no lock binds."""
    parts = []
    capped = [finding for finding in find(records) if finding.numbers["cap_iops"]]
    for setting in dict.fromkeys(str(finding.numbers["setting"]) for finding in capped):
        # The system on which the lock binds most tightly: the same cap with more processors waiting for it.
        worst = max(
            (finding for finding in capped if finding.numbers["setting"] == setting),
            key=lambda finding: float(str(finding.numbers["waited"])),
        )
        free, cap = worst.numbers["free_iops"], worst.numbers["cap_iops"]
        said = f"{setting} caps {worst.numbers['system']} at {thousands(float(str(cap)))} requests per second"
        if free:
            said += f" (up to {thousands(float(str(free)))} it costs less than {100 * NOTHING:.0f} %)"
        parts.append(said)
    return f"Locks: {'; '.join(parts)}" if parts else None


def _finding(system: str, setting: str, pairs: Sequence[tuple[LockMeans, LockMeans]]) -> Finding:
    lossy = [without.iops for without, own in pairs if own.iops < (1 - NOTHING) * without.iops]
    free = [without.iops for without, _ in pairs if not lossy or without.iops < min(lossy)]
    capped = [own for _, own in pairs if own.waited >= CAPPED]
    parts = []
    if free:
        parts.append(
            f"costs less than {100 * NOTHING:.0f} % of the rate up to {thousands(max(free))} requests per second"
        )
    if capped:
        most = max(own.iops for _, own in pairs)
        waited = max(own.waited for own in capped)
        parts.append(
            f"its lock caps the drives at {thousands(most)}, where processors spend {100 * waited:.0f} % of their time waiting for it"
        )
    elif lossy:
        without, worst = min(pairs, key=lambda pair: pair[1].iops / pair[0].iops)
        cause = (
            f"with {100 * worst.waited:.0f} % of the processors' time spent waiting for its lock"
            if worst.waited >= NOTHING
            else "to the processor time of its own work"
        )
        parts.append(f"loses up to {100 * (1 - worst.iops / without.iops):.0f} % beyond, {cause}")
    extra = min(own.cpu_us - without.cpu_us for without, own in pairs)
    parts.append(f"a request takes at least {extra:.1f} us of processor time more than under {WITHOUT}")
    numbers: dict[str, object] = {
        "system": system,
        "setting": setting,
        "free_iops": max(free) if free else None,
        "cap_iops": max(own.iops for _, own in pairs) if capped else None,
        "waited": max(own.waited for _, own in pairs),
    }
    strength = max(math.log(without.iops / own.iops) for without, own in pairs if own.iops > 0)
    return Finding("lock", f"{setting} on {system}: {'; '.join(parts)}", numbers, max(strength, 0.0))
