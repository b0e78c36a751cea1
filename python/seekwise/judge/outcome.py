"""A stored run judged, whichever way it was measured: the one place that asks which way that was."""

from __future__ import annotations

from seekwise.errors import UsageError
from seekwise.judge import live_outcome, study_outcome
from seekwise.judge.live_outcome import LiveOutcome
from seekwise.judge.study_outcome import StudyOutcome, study_of
from seekwise.store import damage
from seekwise.store.database import Run, Store
from seekwise.store.record import Record
from seekwise.workload.live_plan import LivePlan, stored
from seekwise.workload.study.study import Study

Outcome = StudyOutcome | LiveOutcome


def of(store: Store, *runs: Run, brief: bool = False) -> Outcome:
    """Judges a stored run again from its records, or several of one study as one. UsageError where they cannot be one.

    `brief`: for the words alone, with records shortened to what they need (`codec.Brief`), a tenth of the memory.
    """
    with damage.reading("+".join(run.run_id for run in runs)):
        found = [_one(store, run, brief=brief) for run in runs]
        if len(found) == 1:
            return found[0]
        parts = [each for each in found if isinstance(each, StudyOutcome)]
        if len(parts) < len(found):
            raise UsageError("runs of `tune` cannot be merged", hint="`seekwise compare RUN RUN` compares two runs")
        return study_outcome.merged(parts)


def _one(store: Store, run: Run, *, brief: bool) -> Outcome:
    study = study_of(run)
    # Short records have neither the histograms that tell a prediction, which no study made, nor what it takes to see an array with a failed drive.
    whole = study is None or _has_arrays(study)
    return from_records(run, list(store.records(run.run_id, brief=brief and not whole)), study)


def from_records(run: Run, records: list[Record], study: Study | None = None) -> Outcome:
    """The outcome of a run whose records are at hand. SeekwiseError where its plan cannot be read."""
    plan = stored(run.plan)
    if isinstance(plan, LivePlan):
        return live_outcome.judged(run, plan, records)
    found = StudyOutcome(run, plan, records, study if study is not None else study_of(run))
    found.decided  # noqa: B018  judged here, where what is garbled is an error about this run
    return found


def _has_arrays(study: Study) -> bool:
    return "raid_level" in study.factor_names() or any(system.raid_level for system in study.system)
