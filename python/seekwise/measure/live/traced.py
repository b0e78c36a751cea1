"""Why settings differ, of a measured run: after the last period, a short stretch of each setting with the kernel's
block events.

    measuring … decided ─► fio once more ─┬─ switch ─ settle ─ stretch ─┬ … ─► everything restored
                                          └── block events of the disk ─┘

Nothing here counts in a verdict, and nothing is traced while periods are measured: taking an event costs about a
microsecond of the load's processor time. Needs root and the kernel's tracefs; where it is missing the plan says so, and
the page repeats it.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seekwise.control import tracefs
from seekwise.errors import SeekwiseError
from seekwise.judge.decision.records import Decided
from seekwise.judge.decision.verdicts import Judged
from seekwise.measure.live import progress
from seekwise.measure.live.session import LiveSession
from seekwise.trace import excerpt
from seekwise.trace.record import meanwhile, recorder
from seekwise.workload.live_plan import Candidate, LivePlan
from seekwise.workload.study.uses import Use

SHARE_MOST = 0.06
"""Of the budget: a run that is too short for it measures instead."""
USES_MOST = 2
SETTINGS_LEAST = 2
SETTLE_S = 0.3


@dataclass(frozen=True)
class Cost:
    """Of tracing one use: how many settings, and seconds of each that are kept."""

    settings_most: int
    span_s: float

    def seconds(self, settings: int) -> float:
        """Seconds for `settings` settings, of which at most `settings_most` are traced."""
        return progress.STRETCH_OVERHEAD_S + min(settings, self.settings_most) * (SETTLE_S + self.span_s)


AT_ONCE = Cost(4, 0.5)
BUFFERED = Cost(3, 1.2)
"""Written data reaches the disk in bursts, about one in a second."""


def cost(use: Use) -> Cost:
    """How much of this use is recorded, and for how long: data written through the cache reaches the disk in bursts."""
    return AT_ONCE if not any(job.writes and job.is_buffered for job in use.job) else BUFFERED


def seconds_of_a_use(plan: LivePlan) -> float:
    """Of the dearest one: which use it will be is known when all are measured."""
    return max((cost(use).seconds(len(plan.candidates)) for use in plan.uses), default=0.0)


def uses_within(plan: LivePlan) -> int:
    """How many uses are traced in the plan's budget."""
    return min(USES_MOST, int(SHARE_MOST * plan.budget_s / max(seconds_of_a_use(plan), 1e-9)))


def why_not(plan: LivePlan) -> str | None:
    """Why nothing is traced, in one sentence without a period; None where it is."""
    if len(plan.leaves) != 1:
        return "requests are traced on a single disk, and this target lies on several"
    try:
        tracefs.root()
    except SeekwiseError as error:
        return error.message + (f" ({error.hint})" if error.hint else "")
    if uses_within(plan) < 1:
        least = math.ceil(seconds_of_a_use(plan) / SHARE_MOST)
        return f"the budget is too short; requests are traced from --budget {least}s on"
    return None


def reserved_s(plan: LivePlan) -> float:
    """Seconds of the budget that are kept for it."""
    return 0.0 if why_not(plan) else uses_within(plan) * seconds_of_a_use(plan)


def measure(session: LiveSession, decision: Decided) -> None:
    """Traces the uses in which settings differ most, and writes it into the run's plan. What fails here costs the
    picture, not the run."""
    document: dict[str, object] = {"uses": {}}
    if reason := why_not(session.plan):
        document["why_not"] = reason
    else:
        end_s = session.deadline_s + reserved_s(session.plan)
        for name, all_settings in chosen(decision, session.plan):
            fit = _that_fit(session, name, all_settings, end_s)
            settings = [candidate for candidate in session.plan.candidates if candidate in fit]
            if len(settings) < SETTINGS_LEAST:
                document["why_not"] = f"a unit of {name} takes too long to trace it in this budget"
                continue
            session.watch.say(f"recording requests of {name} for the report")
            try:
                document["uses"][name] = _of_use(session, name, settings, end_s)  # type: ignore[index]
            except (SeekwiseError, OSError, ValueError) as error:
                document["why_not"] = error.message if isinstance(error, SeekwiseError) else str(error)
                break
    session.plan.extra[excerpt.KEY] = document
    with contextlib.suppress(SeekwiseError):
        session.change_plan(session.plan)


def chosen(decision: Decided, plan: LivePlan) -> list[tuple[str, list[Candidate]]]:
    """(use, settings) to trace: where one is shown to be worse, the largest loss first; best, worst, chosen and present
    settings first."""
    worst: dict[str, Judged] = {}
    for judged in decision.judged:
        if judged.named and (judged.use not in worst or _gap(judged) > _gap(worst[judged.use])):
            worst[judged.use] = judged
    order = sorted(worst.values(), key=_gap, reverse=True)[: uses_within(plan)]
    by_label = {candidate.label: candidate for candidate in plan.candidates}
    choice = (decision.stated if plan.group is not None else decision.choice) or decision.choice
    picked = []
    for judged in order:
        behind = {name: known[0] for name in judged.figures.settings if (known := judged.behind_best(name))}
        ranked = sorted(judged.standings, key=lambda standing: behind.get(standing.setting, 1.0))
        labels = [ranked[0].setting, ranked[-1].setting, *([choice.setting] if choice else []), plan.in_force.label]
        labels += [standing.setting for standing in ranked]
        most = cost(next(use for use in plan.uses if use.name == judged.use)).settings_most
        settings = [by_label[label] for label in dict.fromkeys(labels) if label in by_label][:most]
        picked.append((judged.use, settings))
    return picked


def _gap(judged: Judged) -> float:
    """How many times the best is better than the last one."""
    return max((known[0] for name in judged.figures.settings if (known := judged.behind_best(name))), default=1.0)


def _that_fit(session: LiveSession, name: str, settings: Sequence[Candidate], end_s: float) -> list[Candidate]:
    """As many of these as there is time for: a period of programs lasts as long as its units, as those did that were
    measured."""
    left_s = end_s - time.monotonic() - progress.STRETCH_OVERHEAD_S
    state = progress.UseState(next(use for use in session.plan.uses if use.name == name), ())
    fit = []
    for setting in settings:
        lengths = [
            float(record.conditions["length_s"])
            for record in session.records
            if record.setting == setting.label and record.factors.get("use") == name
        ]
        long = float(np.median(lengths)) if lengths and state.long_unit_s is not None else 0.0
        left_s -= max(SETTLE_S + cost(state.use).span_s, long) + progress.SWITCH_S
        if left_s < 0:
            break
        fit.append(setting)
    return fit


def _of_use(session: LiveSession, name: str, settings: Sequence[Candidate], end_s: float) -> dict[str, object]:
    use: Use = next(known for known in session.plan.uses if known.name == name)
    disk = recorder.device_of(session.plan.leaves[0])
    schedule = [(setting, number, SETTLE_S + cost(use).span_s) for number, setting in enumerate(settings)]
    with meanwhile.recording(disk) as recorded:
        done = session.under_load(use, schedule, end_s)
    if done.stopped is not None:
        raise done.stopped
    traced: dict[str, object] = {"dropped": recorded.dropped, "settings": {}}
    for period in done.periods:
        end = round(period.after.monotonic_s * 1e9) - recorded.start_ns
        begin = round((period.before.monotonic_s + SETTLE_S) * 1e9) - recorded.start_ns
        traced["settings"][period.candidate] = excerpt.packed(recorded.rows, begin, end)  # type: ignore[index]
    return traced
