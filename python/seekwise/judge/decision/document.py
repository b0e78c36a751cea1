"""The documented JSON of a decision: `tune --json`, `results --json` of a live-switched run, `verify judgement FILE --json`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from seekwise.judge.decision.choose import Choice, Loss
from seekwise.judge.decision.verdicts import Judged, Standing
from seekwise.workload.study.uses import Purpose

SCHEMA = "seekwise.tune/1"
REQUEST = "request"
"""The unit of work of fio."""


def decision_document(choice: Choice | None) -> dict[str, object] | None:
    """{"setting", "changes", "basis", "worst_loss"}; None when nothing was measured."""
    if choice is None:
        return None
    return {
        "setting": choice.setting,
        "changes": choice.changes,
        "basis": choice.basis,
        "worst_loss": _loss(choice.worst),
        "in_force_worst_loss": _loss(choice.in_force_worst),
        "gains": [_loss(each) for each in choice.gains],
        "costs": [_loss(each) for each in choice.costs],
    }


def purpose_documents(by_purpose: Mapping[Purpose, Choice], asked: Choice | None) -> list[dict[str, object]]:
    """[{"purpose", "setting", "changes", "worst_loss"}]; `asked`: for the uses that were named, if any were."""
    found: list[tuple[str, Choice]] = [*by_purpose.items(), *([("asked", asked)] if asked is not None else [])]
    return [
        {"purpose": name, "setting": each.setting, "changes": each.changes, "worst_loss": _loss(each.worst)}
        for name, each in found
    ]


def _loss(loss: Loss | None) -> dict[str, object] | None:
    if loss is None:
        return None
    return {"use": loss.use, "metric": loss.metric, "share": _number(loss.share), "high": _number(loss.high)}


def use_documents(judged: Sequence[Judged]) -> list[dict[str, object]]:
    """One document per judged metric of a use; losses are shares against the best of that use and metric.

    For a rate 0.35 means 35 % less than the best; for a latency, 35 % more than the best.
    """
    return [
        {
            "use": each.use,
            "metric": each.metric,
            "unit": each.work or REQUEST,
            "value_unit": each.unit,
            "purpose": each.purpose,
            "group": each.group,
            "role": each.role,
            "threshold": each.threshold,
            "rounds": each.rounds,
            "candidates": [_candidate(standing) for standing in each.standings],
        }
        for each in judged
    ]


def _candidate(standing: Standing) -> dict[str, object]:
    return {
        "setting": standing.setting,
        "verdict": standing.verdict,
        "value": _number(standing.value),
        "loss": _number(standing.loss),
        "low": _number(standing.low),
        "high": _number(standing.high),
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
