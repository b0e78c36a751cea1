"""The rule on small studies whose right answer is known beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from seekwise.judge import Observation, Pair, judge, judge_observations, pairs
from seekwise.judge.decision.pairs import unbeaten


def study(
    effects: list[dict[str, float]],
    *,
    noise: float,
    repetitions: int,
    metric: str = "rate",
    drift: float = 0.0,
    seed: int = 1,
) -> list[Observation]:
    """One combination per dict of true ln values by setting."""
    rng = np.random.default_rng(seed)
    made = []
    for i, settings in enumerate(effects):
        for repetition in range(repetitions):
            luck = drift * repetition + rng.normal(0, drift / 2)
            for name, effect in settings.items():
                made.append(
                    Observation(
                        "t", f"cell {i}", repetition, name, metric, 1e8 * math.exp(effect + luck + rng.normal(0, noise))
                    )
                )
    return made


def only(found: list[Pair]) -> Pair:
    (pair,) = found
    return pair


def test_the_ratio_of_one_combination_is_that_of_its_repetitions() -> None:
    observations = study([{"a": 0.12, "b": 0.0}], noise=0.01, repetitions=12)
    v = only(judge(observations))
    a = np.log([o.value for o in observations if o.setting == "a"])
    b = np.log([o.value for o in observations if o.setting == "b"])
    interval = stats.ttest_rel(a, b).confidence_interval(0.90)
    ratio, low, high = v.interval("a")
    assert math.log(ratio) == pytest.approx(np.mean(a - b), abs=0.01)
    assert v.interval("b") == pytest.approx((1 / ratio, 1 / high, 1 / low))
    assert math.log(high / low) == pytest.approx(interval.high - interval.low, abs=0.025)


def test_large_difference_is_clear_and_names_the_better() -> None:
    for metric, better in (("rate", "fast"), ("cpu_efficiency", "fast"), ("access_time", "slow"), ("p99", "slow")):
        v = only(judge(study([{"fast": 0.5, "slow": 0.0}], noise=0.02, repetitions=5, metric=metric)))
        assert v.winner == better


def test_quiet_equality_is_a_tie() -> None:
    v = only(judge(study([{"a": 0.0, "b": 0.0}], noise=0.003, repetitions=5)))
    assert (v.verdict, v.winner) == ("same", None)


def test_a_difference_below_the_threshold_has_no_winner() -> None:
    v = only(judge(study([{"a": 0.015, "b": 0.0}], noise=0.0005, repetitions=12)))
    assert v.verdict == "same" and v.winner is None
    assert v.standing.p_better is not None and v.standing.p_better > 0.9


def test_of_noisy_equality_nothing_is_known() -> None:
    v = only(judge(study([{"a": 0.0, "b": 0.0}], noise=0.10, repetitions=5)))
    assert v.verdict == "unknown" and v.standing.p_better is not None


def test_fewer_than_three_common_repetitions_never_decide() -> None:
    observations = study([{"a": 1.0, "b": 0.0}], noise=0.001, repetitions=2)
    v = only(judge(observations))
    assert (v.verdict, v.winner) == ("unknown", None)
    lone = [
        o for o in study([{"a": 1.0, "b": 0.0}], noise=0.001, repetitions=5) if o.setting == "a" or o.repetition == 0
    ]
    assert only(judge(lone)).verdict == "unknown"


def test_drift_common_to_a_repetition_does_not_hide_a_difference() -> None:
    v = only(judge(study([{"a": 0.10, "b": 0.0}], noise=0.005, repetitions=5, drift=0.2)))
    assert v.winner == "a"


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_value_without_logarithm_is_left_out(bad: float) -> None:
    observations = study([{"a": 0.3, "b": 0.0}], noise=0.01, repetitions=5)
    v = only(judge([*observations, Observation("t", "cell 0", 5, "a", "rate", bad)]))
    assert (v.winner, v.standing.rounds) == ("a", 5)


def test_missing_trials_reduce_the_repetitions_of_their_pair_only() -> None:
    observations = [
        o
        for o in study([{"a": 0.3, "b": 0.0, "c": 0.0}], noise=0.01, repetitions=5)
        if (o.setting, o.repetition) != ("c", 2)
    ]
    repetitions = {v.settings: v.standing.rounds for v in judge(observations)}
    assert repetitions == {("a", "b"): 5, ("a", "c"): 4, ("b", "c"): 4}


def test_no_observations_no_verdicts() -> None:
    assert judge([]) == []
    assert judge([Observation("t", "c", 0, "only", "rate", 1.0)]) == []


def test_order_of_observations_does_not_matter() -> None:
    observations = study([{"a": 0.05 * (i % 2), "b": 0.0} for i in range(12)], noise=0.02, repetitions=4)
    key = {v.figure.use: v for v in judge(observations)}
    shuffled = [observations[i] for i in np.random.default_rng(0).permutation(len(observations))]
    for v in judge(shuffled):
        same = key[v.figure.use]
        assert v.interval("a")[0] == pytest.approx(same.interval("a")[0])
        assert v.winner == same.winner and (v.verdict == "same") == (same.verdict == "same")


def test_control_raises_the_threshold_of_a_win_but_not_of_equality() -> None:
    rng = np.random.default_rng(4)
    observations = study([{"a": 0.06, "b": 0.0} for _ in range(12)], noise=0.004, repetitions=5)
    assert {v.winner for v in judge(observations)} == {"a"}
    # A control whose labels differ by 10 % between combinations, though they are one setting: 6 % is no win any more.
    labels = {i: rng.choice([-0.1, 0.1]) for i in range(12)}
    control = [
        Observation(
            o.table,
            o.combination,
            o.repetition,
            "b (control)",
            o.metric,
            o.value * math.exp(labels[int(o.combination.split()[1])]),
        )
        for o in observations
        if o.setting == "b"
    ]
    judged = judge(observations + control)
    assert {v.settings for v in judged} == {("a", "b")}
    assert {v.verdict for v in judged} == {"unknown"}


def test_of_many_settings_those_that_the_best_does_not_beat_are_named() -> None:
    effects = {"noop": 0.0, "anticipatory": -0.21, "deadline": 0.001, "cfq": -0.2}
    for metric, best in (("rate", {"noop", "deadline"}), ("access_time", {"anticipatory", "cfq"})):
        found = judge(study([effects], noise=0.002, repetitions=5, metric=metric))
        assert {*unbeaten(found)} == best
    assert unbeaten(judge(study([effects], noise=0.5, repetitions=5))) == (), "little is known"
    alike = dict.fromkeys(effects, 0.0)
    assert {*unbeaten(judge(study([alike], noise=0.001, repetitions=5)))} == {*effects}


def test_combinations_of_a_table_lend_each_other_what_they_know() -> None:
    def width(v: Pair) -> float:
        _, low, high = v.interval("a")
        return math.log(high / low)

    table = study([{"a": 0.05, "b": 0.0}] * 12, noise=0.02, repetitions=3)
    together = [width(v) for v in judge(table)]
    alone = [width(only(judge([o for o in table if o.combination == f"cell {i}"]))) for i in range(12)]
    assert np.std(together) < np.std(alone)


def test_one_exact_repetition_decides_by_its_numbers() -> None:
    observations = study([{"a": 0.2, "b": 0.0}, {"a": 0.01, "b": 0.0}], noise=0.0, repetitions=1)
    assert [v.verdict for v in judge(observations)] == ["unknown"] * 2
    far, near = judge_observations(observations, exact=True)
    assert [each.verdict for each in far.standings] == ["same", "worse"]
    assert [each.verdict for each in near.standings] == ["same", "same"]
    assert pairs([far])[0].winner == "a" and far.counts


def test_runs_without_any_noise_decide() -> None:
    # A deterministic simulator gives the same number in every repetition.
    found = judge(study([{"a": 0.05 * (i % 2), "b": 0.0} for i in range(12)], noise=0.0, repetitions=3))
    assert [v.verdict for v in found] == ["same", "better"] * 6
