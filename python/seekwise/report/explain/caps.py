"""Where the lock of a scheduler caps a fast drive, by published figures; what a run tells of it:
`report/insights/locks.py`."""

from __future__ import annotations

from collections.abc import Mapping

from seekwise import invocation
from seekwise.number_text import thousands

NOTHING = 0.05
"""Less than this share of the rate is nothing: as near are ties."""
WITHOUT = "none"
PUBLISHED: Mapping[str, float] = {"mq-deadline": 475_000, "bfq": 274_000}
"""Requests per second through the lock of one drive on ten cores (Ren and others, ICPE 2024)."""
PUBLISHED_WITHOUT = 780_000


def sentence(scheduler: str) -> str:
    """What is known of one scheduler; empty for one of which nothing is."""
    if scheduler not in PUBLISHED:
        return ""
    return (
        f"On ten cores {scheduler} ended at about {thousands(PUBLISHED[scheduler])} requests per second, {WITHOUT} at {thousands(PUBLISHED_WITHOUT)} "
        f"(Ren and others, ICPE 2024). `{invocation.line('sudo seekwise tune DEVICE --for limits')}` measures it on an NVMe drive here."
    )
