"""Judgement: observations in, verdicts out. Reads records only; a better rule can judge old records again.

judge_records(records)           records of a study judged (what commands call)
judge_observations(observations) the same of any values
judge(observations)              their verdicts, a pair of settings each
winner_tables(verdicts)          the articles' table, as data
candidates, by_cell              more than two: the set not beaten, and groups
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
