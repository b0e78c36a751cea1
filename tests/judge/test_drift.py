"""Drift is read from the sentinels and said beside the verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from seekwise.judge import judge_records, pairs, remarks
from seekwise.judge.drift import drifts
from seekwise.store.record import CpuSeconds, Phase, Record


def record(trial: int, repetition: int, setting: str, throughput: float, role: str) -> Record:
    phase = Phase("seq_read", 1.0, round(throughput), 4000, {1000: 4000}, 1e14 / throughput, 1000, CpuSeconds(0.0, 0.1))
    return Record(
        "r",
        trial,
        repetition,
        "disk=x threads=1",
        setting,
        {},
        "measured",
        1,
        "2026-01-01T00:00:00Z",
        (phase,),
        conditions={"role": role},
    )


def run(drift: float, repetitions: int = 5) -> list[Record]:
    """Two settings that differ by 10 %, a sentinel at both ends of each repetition, everything slowing down by `drift`."""
    rng = np.random.default_rng(3)
    made: list[Record] = []
    total = repetitions * 4
    for repetition in range(repetitions):
        for setting, role in (
            ("a (drift check)", "sentinel"),
            ("a", "candidate"),
            ("b", "candidate"),
            ("a (drift check)", "sentinel"),
        ):
            trial = len(made)
            effect = 0.1 if setting == "b" else 0.0
            throughput = 1e8 * float(np.exp(effect + np.log1p(drift) * trial / (total - 1) + rng.normal(0, 0.003)))
            made.append(record(trial, repetition, setting, throughput, role))
    return made


def test_drift_is_measured_by_the_sentinels() -> None:
    found = {d.metric: d for d in drifts(run(-0.2))}
    assert found["rate"].ratio == pytest.approx(0.8, rel=0.02)
    assert found["rate"].ratio_low < 0.8 < found["rate"].ratio_high
    assert found["rate"].counts and found["rate"].sentinels == 10


def test_no_drift_is_no_remark() -> None:
    assert not any(d.counts for d in drifts(run(0.0)))
    assert remarks(run(0.0)) == []


def test_drift_is_said_and_does_not_choose_the_winner() -> None:
    records = run(-0.2)
    assert any("drift: rate" in line for line in remarks(records))
    (throughput,) = pairs([each for each in judge_records(records) if each.metric == "rate"])
    assert throughput.winner == "b"
    assert {*throughput.settings} == {"a", "b"}


def test_three_sentinels_say_nothing() -> None:
    assert drifts(run(-0.5)[:4]) == []
