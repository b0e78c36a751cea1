"""Judgement: observations in, verdicts and choices out. It reads records only; a better rule can judge old records
again.

rule.py                           the numbers of the rule and its version; thresholds by metric
outcome.py, study_outcome.py      a stored run judged
decision/                         one judge: tables of values (`table.py`), statistics, verdicts, one setting for all
                                  (`choose.py`)
records.py, observe.py            from records to what is compared
compare.py                        whether two runs compare
repeats.py                        values of single repeats
system_choices.py, array_choice.py, predicted.py, for_use.py  what to set, build or expect
changes.py                        what `apply` writes of it

Uses: linux, control, trace, workload, store, simulate.
Start: `outcome.of_runs` for a stored run, `judge_observations` for any values.
"""

from __future__ import annotations

from collections.abc import Sequence

from seekwise.judge.decision.observed import judge_observations
from seekwise.judge.decision.pairs import Pair, pairs
from seekwise.judge.observation import Observation
from seekwise.judge.observe import observations
from seekwise.judge.records import judge_records, remarks
from seekwise.judge.rule import RULE_VERSION


def judge(observations: Sequence[Observation]) -> list[Pair]:
    """Every pair of settings in every combination by every metric."""
    return pairs(judge_observations(observations))


__all__ = [
    "RULE_VERSION",
    "Observation",
    "Pair",
    "judge",
    "judge_observations",
    "judge_records",
    "observations",
    "pairs",
    "remarks",
]
