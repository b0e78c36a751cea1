"""What is expected of a setting before anything was measured: shares of the sizes of its effect, and what it did to
programs that were measured elsewhere (`elsewhere.toml`). Printed with every report; `tune --no-prior` does without.

Sizes are standard deviations of ln goodness about what most settings do: 0.3 %, 1 %, 3 %, 10 %, 30 %, and a factor of e
(`posterior.SCALES_LOG`).
"""

from __future__ import annotations

import math
import statistics
import tomllib
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from seekwise.judge.decision.posterior import Elsewhere, Prior

MANY_CORES = (
    "schedulers on NVMe drives with many cores (Ren and others, ICPE 2024, table of ratios to none): 19 % of kyber's ratios, 40 % of "
    "mq-deadline's and 66 % of bfq's lie beyond 30 %"
)
SET_UPS = Prior((0.15, 0.15, 0.25, 0.25, 0.12, 0.08), 8.0, MANY_CORES)
"""Of whole set-ups in a study, which differ in more than a scheduler. Worth eight entries: two rounds of a true
difference of 20 % outweigh it."""
PROGRAMS = Prior(
    (0.34, 0.27, 0.20, 0.09, 0.06, 0.04),
    8.0,
    f"the sizes of what schedulers did to 24 programs that were measured under several of them, and, for eight values more, {MANY_CORES}",
)
"""Of `tune`. Fitted to `elsewhere.toml` with the errors that stand there (`tests/live/test_decision.py` does it
again)."""

FLAT = Prior((0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 0.0, "none: every difference is taken as it was measured")
"""For `--no-prior`: one scale so wide that it says nothing."""
PROGRAMS_LEAST = 3
"""Of one kind of drive, below which programs on all drives are asked."""


def usual_of(drive: str | None) -> Prior:
    """What `tune` expects, with what schedulers did to programs on drives of this kind (virtio, nvme, …); without a
    kind, the sizes alone."""
    if drive is None:
        return PROGRAMS
    rows = programs_on(drive)
    on = ", ".join(dict.fromkeys(program["drive"] for program in rows))
    source = f"{PROGRAMS.source}; {len(rows)} programs measured under several schedulers on {on} (listed with their sources in elsewhere.toml)"
    return replace(
        PROGRAMS, source=source, elsewhere=tuple(one for program in rows for one in _against_middle(program))
    )


def programs_on(drive: str | None) -> list[dict[str, Any]]:
    """Programs that were measured elsewhere, on drives of this kind; where these are too few, on all."""
    known = _programs()
    rows: list[dict[str, Any]] = []
    for kind in dict.fromkeys(program["kind"] for program in known):
        mine = [program for program in known if program["kind"] == kind]
        own = [program for program in mine if program["drive"] == drive]
        rows += own if len(own) >= PROGRAMS_LEAST else mine
    return rows


def _against_middle(program: dict[str, Any]) -> list[Elsewhere]:
    """Each scheduler against the middle one."""
    sign = 1 if program["more"] else -1
    logs = {name: sign * math.log(value) for name, value in program["values"].items()}
    middle = statistics.median(logs.values())
    return [
        Elsewhere(program["kind"], name, program["program"], log - middle, program["known_to"] ** 2)
        for name, log in logs.items()
    ]


@cache
def _programs() -> list[dict[str, Any]]:
    document = tomllib.loads((resources.files(__package__) / "elsewhere.toml").read_text(encoding="utf-8"))
    programs: list[dict[str, Any]] = document["program"]
    return programs
