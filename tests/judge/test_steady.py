"""Steady state by the rule of five windows."""

from __future__ import annotations

from seekwise.judge import Observation, judge, judge_observations
from seekwise.judge.decision.pairs import pairs
from seekwise.judge.steady import (
    is_steady,
    regrouped,
    steadiness,
    unsteady,
    window_seconds,
)
from seekwise.store.record import CpuSeconds, Phase, Record


def test_range_of_twenty_percent_is_steady_and_more_is_not() -> None:
    assert is_steady([110, 90, 100, 110, 90])
    assert not is_steady([111, 90, 100, 110, 90])


def test_a_trend_of_more_than_ten_percent_is_not_steady() -> None:
    # Slope 2.5 per window: the line moves 10 over five windows, 10 % of the mean.
    assert is_steady([95, 97.5, 100, 102.5, 105])
    assert not is_steady([94.5, 97.25, 100, 102.75, 105.5])


def test_warm_up_is_what_comes_before() -> None:
    state = steadiness([300, 250, 180, 101, 99, 100, 100, 100])
    assert (state.steady, state.first_window, state.left_again) == (True, 3, False)


def test_never_steady_within_twenty_five_windows() -> None:
    series = [100.0 * 1.1**i for i in range(25)] + [1000.0] * 10
    state = steadiness(series)
    assert not state.steady
    assert "25 windows" in state.reason


def test_leaving_steady_state_is_seen() -> None:
    state = steadiness([100, 100, 100, 100, 100, 100, 60, 60, 60])
    assert state.steady and state.left_again


def test_throughput_and_latency_must_both_hold() -> None:
    state = steadiness([100.0] * 6, [1.0 + 0.2 * i for i in range(6)])
    assert not state.steady


def test_too_few_windows_are_not_steady() -> None:
    assert not steadiness([100.0] * 4).steady
    assert not steadiness().steady


def test_a_window_has_two_hundred_operations_and_five_seconds() -> None:
    assert window_seconds(10_000) == 5
    assert window_seconds(20) == 10
    assert window_seconds(0) == 5


def phase(throughputs: list[float], seconds_each: float, ios: int = 100_000) -> Phase:
    return Phase(
        operation="rand_write",
        elapsed_s=seconds_each * len(throughputs),
        bytes=10**9,
        ios=ios,
        latency_bins={},
        latency_mean_ns=1e6,
        latency_max_ns=10**7,
        cpu=CpuSeconds(0.0, 0.1),
        windows=tuple((throughput, 1e9 / throughput) for throughput in throughputs),
    )


def record(setting: str, of: Phase) -> Record:
    return Record("r", 0, 0, "disk=x threads=8", setting, {}, "measured", 1, "2026-01-01T00:00:00Z", (of,))


def test_short_windows_are_joined_to_five_seconds() -> None:
    made = regrouped(phase([90.0, 110.0] * 25, 1.0))
    assert len(made) == 10
    assert all(94 <= throughput <= 106 for throughput, _ in made)


def test_few_operations_make_longer_windows() -> None:
    # 20 operations a second: 200 of them take 10 s.
    assert len(regrouped(phase([100.0] * 60, 1.0, ios=1200))) == 6


def test_a_trial_too_short_for_five_windows_says_nothing() -> None:
    assert unsteady([record("a", phase([100.0, 50.0, 25.0, 12.0, 6.0], 1.0))]) == {}


def test_what_never_becomes_steady_never_wins() -> None:
    falling = record("a", phase([100.0 * 0.7**i for i in range(8)], 5.0))
    flat = record("b", phase([100.0] * 8, 5.0))
    restless = unsteady([falling, flat])
    assert set(restless) == {("rand_write disk=x threads=8", "a"), ("rand_write disk=x", "a")}
    combination = "rand_write disk=x threads=8"
    observations = [
        Observation("r", combination, repetition, setting, "rate", value * (1 + 0.001 * ((repetition * 7) % 3)))
        for repetition in range(5)
        for setting, value in (("a", 2e8), ("b", 1e8))
    ]
    assert judge(observations)[0].winner == "a"
    (pair,) = pairs(judge_observations(observations, unsteady=restless))
    assert (pair.winner, pair.verdict) == (None, "unknown")
    # It may lose.
    (judged,) = judge_observations(observations, unsteady={(combination, "b"): "not steady"})
    assert pairs([judged])[0].winner == "a"
    assert [each.verdict for each in judged.standings] == ["same", "worse"]


def test_reads_may_be_steady_while_writes_are_not() -> None:
    from dataclasses import replace

    reads = replace(phase([100.0] * 8, 5.0), operation="rand_read")
    writes = phase([100.0 * 0.7**i for i in range(8)], 5.0)
    both = replace(record("a", reads), phases=(reads, writes))
    assert {combination.split()[0] for combination, _ in unsteady([both])} == {"rand_write"}
