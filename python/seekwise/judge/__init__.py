"""Judgement: observations in, verdicts and choices out. It reads records only; a better rule can judge old records again.

rule.py      the numbers of the rule and its version; thresholds by metric     outcome.py, study_outcome.py   a stored run judged
decision/    one judge: tables of values (`table.py`), statistics, verdicts, one setting for all (`choose.py`)
records.py, observe.py      from records to what is compared        compare.py    two runs of one study
early.py, stopping.py, racing.py   when a run may end               workloads.py  operations weighed by a use
calibration/ how often it errs: `verify judgement`                  printed.py    tables of published texts

Uses: linux, control, workload, store.
Start: `outcome.of` for a stored run, `judge_observations` for any values.
"""

from __future__ import annotations

from collections.abc import Sequence

from seekwise.judge.candidates import Candidates, by_cell
from seekwise.judge.decision.observed import judge_observations, verdicts
from seekwise.judge.observation import Metric, Observation, Verdict, Word
from seekwise.judge.observe import observations
from seekwise.judge.records import judge_records, remarks
from seekwise.judge.rule import CONTROL_SUFFIX, RULE_VERSION
from seekwise.judge.tables import WinnerTable, winner_tables


def judge(observations: Sequence[Observation]) -> list[Verdict]:
    """The verdict of every pair of settings in every cell by every metric."""
    return verdicts(judge_observations(observations))


__all__ = [
    "CONTROL_SUFFIX",
    "RULE_VERSION",
    "Candidates",
    "Metric",
    "Observation",
    "Verdict",
    "WinnerTable",
    "Word",
    "by_cell",
    "judge",
    "judge_observations",
    "judge_records",
    "observations",
    "remarks",
    "winner_tables",
]
