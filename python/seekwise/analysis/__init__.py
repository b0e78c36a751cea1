"""Judgement: observations in, verdicts out. Reads records only; a better rule can judge old records again.

judge_records(records)           records of one run or several → verdicts   (what commands call)
judge(observations)              the rule itself
winner_tables(verdicts)          the articles' table, as data
candidates, by_cell              more than two: the set not beaten, and groups
"""

from __future__ import annotations

from seekwise.analysis.candidates import Candidates, by_cell
from seekwise.analysis.judge import judge
from seekwise.analysis.model import Metric, Observation, Verdict, Word
from seekwise.analysis.observe import observations
from seekwise.analysis.records import judge_records, remarks
from seekwise.analysis.rule import CONTROL_SUFFIX, RULE, RULE_VERSION, Rule
from seekwise.analysis.tables import WinnerTable, winner_tables

__all__ = [
    "CONTROL_SUFFIX",
    "RULE",
    "RULE_VERSION",
    "Candidates",
    "Metric",
    "Observation",
    "Rule",
    "Verdict",
    "WinnerTable",
    "Word",
    "by_cell",
    "judge",
    "judge_records",
    "observations",
    "remarks",
    "winner_tables",
]
