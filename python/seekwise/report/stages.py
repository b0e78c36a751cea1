"""What a staged run (`tune --also`) tried and pruned, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise.judge.outcome import LiveOutcome
from seekwise.number_text import listed, percent, some
from seekwise.report.metric_words import amount, metric_name
from seekwise.workload.live_plan import Pruned
from seekwise.workload.study.quantity import counted

NAMED_MOST = 3


def sentences(outcome: LiveOutcome) -> list[str]:
    """Two or three sentences; none for a run of one stage."""
    if len(outcome.plan.stages) < 2:
        return []
    first, second = outcome.plan.stages[:2]
    said = [f"Of {counted(len(first.tried), 'scheduler')} {listed(first.kept)} went on{_why(first.pruned, outcome)}"]
    text = f"With {'it' if len(first.kept) == 1 else 'them'} {counted(len(second.tried), 'further value')}"
    if second.combinations:
        text += f" ({second.combinations} combinations in all)"
    text += f" in {counted(second.periods or 0, 'period')}: "
    text += (
        f"{listed(second.kept)} gained, and the last stage compared {'it' if len(second.kept) == 1 else 'them'} directly"
        if second.kept
        else "none gained"
    )
    if not second.periods:
        text = f"There was no time for the {counted(len(second.tried), 'further value')}"
    said.append(text + _why([pruned for pruned in second.pruned if pruned.why == "worse"], outcome))
    late = [pruned for pruned in second.pruned if pruned.why in ("no time", "open")]
    if late:
        wanted = (second.seconds_wanted or 0.0) / 0.3
        said.append(
            f"{counted(len(late), 'value')} could not be told in this time; --budget {max(2, math.ceil(wanted / 60))}m is about enough"
        )
    refused = [pruned.setting for pruned in second.pruned if pruned.why == "refused"]
    if refused:
        said.append(f"The kernel refuses {some(refused, NAMED_MOST)}")
    return said


def reason(pruned: Pruned, outcome: LiveOutcome) -> str:
    """Why one setting was pruned, in a few words."""
    match pruned.why:
        case "worse":
            more = any(
                metric.name == pruned.metric and metric.more_is_better
                for use in outcome.plan.uses
                for metric in use.metrics
            )
            return f"{amount(pruned.share or 0.0, more)} {metric_name(pruned.metric or '')} in {pruned.use}"
        case "less":
            return f"{pruned.than} gains more"
        case "alike":
            return f"no gain; within {percent(pruned.share or 0.0)} of the kernel's own value"
        case "refused":
            return pruned.said or ""
        case _:
            return "not enough time to tell"


def _why(pruned: Sequence[Pruned], outcome: LiveOutcome) -> str:
    if not pruned:
        return ""
    parts = [f"{dropped.setting}: {reason(dropped, outcome)}" for dropped in pruned[:NAMED_MOST]]
    more = f" and {len(pruned) - NAMED_MOST} more" if len(pruned) > NAMED_MOST else ""
    return f". Pruned: {'; '.join(parts)}{more}"
