"""Steady state by the rule of five windows."""

from __future__ import annotations

from seekwise.verdict.steady import directions, is_steady, phase_steadiness, steadiness, window_seconds


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


def test_rate_and_access_time_must_both_hold() -> None:
    state = phase_steadiness([(100.0, 1.0 + 0.2 * i) for i in range(6)])
    assert not state.steady


def test_reads_may_be_steady_while_writes_are_not() -> None:
    flat, rising = [(100.0, 1.0)] * 6, [(100.0 + 30 * i, 1.0) for i in range(6)]
    found = directions({"read": flat, "write": rising})
    assert found["read"].steady and not found["write"].steady


def test_too_few_windows_are_not_steady() -> None:
    assert not steadiness([100.0] * 4).steady
    assert not steadiness().steady


def test_a_window_has_two_hundred_operations_and_five_seconds() -> None:
    assert window_seconds(10_000) == 5
    assert window_seconds(20) == 10
    assert window_seconds(0) == 5
