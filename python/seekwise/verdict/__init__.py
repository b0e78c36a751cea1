"""Judgement: observations in, verdicts out. Reads records only; a better rule can judge old records again."""

from __future__ import annotations

from seekwise.verdict.judge import judge
from seekwise.verdict.model import Metric, Observation, Verdict, Word
from seekwise.verdict.rule import CONTROL_SUFFIX, RULE, RULE_VERSION, Rule

__all__ = ["CONTROL_SUFFIX", "RULE", "RULE_VERSION", "Metric", "Observation", "Rule", "Verdict", "Word", "judge"]
