"""From the records of a run to its verdicts and the remarks that belong beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seekwise.judge.decision.observed import judge_observations
from seekwise.judge.decision.verdicts import Judged
from seekwise.judge.drift import drifts
from seekwise.judge.observe import observations
from seekwise.judge.outliers import outliers
from seekwise.judge.rule import ROUNDS_MIN, threshold_log
from seekwise.judge.steady import unsteady
from seekwise.store.record import Record

NAMED_MAX = 3


def judge_records(records: Sequence[Record], base: str | None = None) -> list[Judged]:
    """Judges the trials that compete (drift checks are left out). `base`: the setting that the others are held
    against."""
    compared = competing(records)
    return judge_observations(
        observations(compared),
        base=base,
        unsteady=unsteady(compared),
        exact=is_exact(compared),
    )


def is_exact(records: Sequence[Record]) -> bool:
    """Whether no chance touched the values: the same simulation gives the same numbers again."""
    return bool(records) and all(record.provenance == "simulated" for record in records)


def competing(records: Sequence[Record]) -> list[Record]:
    """Without the drift checks."""
    return [record for record in records if record.role != "sentinel"]


def remarks(records: Sequence[Record]) -> list[str]:
    """Sentences that a reader of the verdicts must know: drift, unsteady combinations, outliers."""
    said = [
        f"drift: {d.metric} of the drift check ended at {d.ratio:.2f} times its first value "
        f"({d.ratio_low:.2f} to {d.ratio_high:.2f}); settings are compared within each repetition"
        for d in drifts(records)
        if d.counts
    ]
    compared = competing(records)
    if restless := unsteady(compared):
        named = ", ".join(f"{setting} in {combination}" for combination, setting in list(restless)[:NAMED_MAX])
        said.append(f"not steady, so never a winner: {named}{_more(len(restless))}")
    # In a simulator values agree to a hair, and what stands apart of them by less than counts is nothing to look for.
    flagged = [
        outlier
        for outlier in outliers(observations(compared, over_threads=False))
        if abs(math.log(outlier.ratio)) >= threshold_log(outlier.metric)
    ]
    if flagged:
        named = ", ".join(
            f"{o.metric} of {o.setting} in {o.combination}, repetition {o.repetition}, {o.ratio:.2f} times the median"
            for o in flagged[:NAMED_MAX]
        )
        said.append(f"outliers (kept): {named}{_more(len(flagged))}")
    return said


def _more(count: int) -> str:
    return f" and {count - NAMED_MAX} more" if count > NAMED_MAX else ""


def invalid_note(records: list[Record]) -> str | None:
    """One sentence about trials that did not count, or None."""
    invalid = [record for record in records if not record.valid]
    if not invalid:
        return None
    causes: dict[str, int] = {}
    for record in invalid:
        cause = (record.invalid_reason or "").split(":")[0]
        causes[cause] = causes.get(cause, 0) + 1
    listed = ", ".join(f"{count} × {cause}" for cause, count in sorted(causes.items(), key=lambda pair: -pair[1]))
    return f"{len(invalid)} of {len(records)} trials discarded, and repeated where possible ({listed})"


def exact_note(judged: Sequence[Judged]) -> list[str]:
    """Why so few repetitions decide; nothing where there are enough, or where something was measured."""
    is_alone = any(entry.conditions.exact and len(entry.standings) > 1 for entry in judged)
    if not is_alone or max(entry.rounds for entry in judged) >= ROUNDS_MIN:
        return []
    return ["A deterministic simulation gives the same numbers every time, so they decide without statistics"]
