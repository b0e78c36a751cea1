"""The rule on small studies whose right answer is known beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from seekwise.judge import RULE_VERSION, Observation, Verdict, judge, judge_observations
from seekwise.judge.candidates import by_combination


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


def only(verdicts: list[Verdict]) -> Verdict:
    assert len(verdicts) == 1
    return verdicts[0]


def test_one_combination_is_a_paired_t_test_on_the_log_scale() -> None:
    observations = study([{"a": 0.02, "b": 0.0}], noise=0.03, repetitions=6)
    v = only(judge(observations))
    a = np.log([o.value for o in observations if o.setting == "a"])
    b = np.log([o.value for o in observations if o.setting == "b"])
    expected = stats.ttest_rel(a, b)
    # The jackknife is of the relative difference, which is the logarithm up to its curvature.
    assert v.p_value == pytest.approx(expected.pvalue, rel=1e-3)
    interval = expected.confidence_interval(0.95)
    assert (v.ratio_low, v.ratio_high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)), rel=1e-5)
    assert v.ratio == pytest.approx(math.exp(np.mean(a - b)))


def test_large_difference_is_clear_and_names_the_better() -> None:
    for metric, better in (("rate", "fast"), ("cpu_efficiency", "fast"), ("access_time", "slow"), ("p99", "slow")):
        v = only(judge(study([{"fast": 0.5, "slow": 0.0}], noise=0.02, repetitions=5, metric=metric)))
        assert (v.word, v.winner) == ("clear", better)
        assert v.repetitions_more is None
        assert v.rule_version == RULE_VERSION


def test_quiet_equality_is_a_tie() -> None:
    v = only(judge(study([{"a": 0.0, "b": 0.0}], noise=0.003, repetitions=5)))
    assert (v.word, v.winner) == ("tie", None)


def test_shown_but_below_the_threshold_is_small_and_has_no_winner() -> None:
    v = only(judge(study([{"a": 0.01, "b": 0.0}], noise=0.001, repetitions=5)))
    assert (v.word, v.winner) == ("small", None)


def test_noisy_equality_is_undecided_with_its_price() -> None:
    v = only(judge(study([{"a": 0.0, "b": 0.0}], noise=0.10, repetitions=5)))
    assert v.word == "undecided"
    assert v.repetitions_more is not None and v.repetitions_more >= 1


def test_fewer_than_three_common_repetitions_never_decide() -> None:
    observations = study([{"a": 1.0, "b": 0.0}], noise=0.001, repetitions=2)
    v = only(judge(observations))
    assert (v.word, v.winner, v.q_value, v.repetitions_more) == ("undecided", None, None, 1)
    lone = [
        o for o in study([{"a": 1.0, "b": 0.0}], noise=0.001, repetitions=5) if o.setting == "a" or o.repetition == 0
    ]
    assert only(judge(lone)).word == "undecided"


def test_drift_common_to_a_repetition_does_not_hide_a_difference() -> None:
    v = only(judge(study([{"a": 0.10, "b": 0.0}], noise=0.005, repetitions=5, drift=0.2)))
    assert v.winner == "a"


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_value_without_logarithm_is_left_out_and_said(bad: float) -> None:
    observations = study([{"a": 0.3, "b": 0.0}], noise=0.01, repetitions=5)
    v = only(judge([*observations, Observation("t", "cell 0", 5, "a", "rate", bad)]))
    assert (v.winner, v.repetitions) == ("a", 5)
    assert "left out" in v.reason


def test_missing_trials_reduce_the_repetitions_of_their_pair_only() -> None:
    observations = [
        o
        for o in study([{"a": 0.3, "b": 0.0, "c": 0.0}], noise=0.01, repetitions=5)
        if (o.setting, o.repetition) != ("c", 2)
    ]
    repetitions = {(v.setting_a, v.setting_b): v.repetitions for v in judge(observations)}
    assert repetitions == {("a", "b"): 5, ("a", "c"): 4, ("b", "c"): 4}


def test_no_observations_no_verdicts() -> None:
    assert judge([]) == []
    assert judge([Observation("t", "c", 0, "only", "rate", 1.0)]) == []


def test_order_of_observations_does_not_matter() -> None:
    observations = study([{"a": 0.05 * (i % 2), "b": 0.0} for i in range(12)], noise=0.02, repetitions=4)
    key = {(v.combination, v.setting_a): v for v in judge(observations)}
    shuffled = [observations[i] for i in np.random.default_rng(0).permutation(len(observations))]
    for v in judge(shuffled):
        same = key.get((v.combination, v.setting_a))
        if same is None:
            same = key[v.combination, v.setting_b]
            assert v.ratio == pytest.approx(1 / same.ratio)
        assert (v.word, v.winner) == (same.word, same.winner)
        assert v.q_value == pytest.approx(same.q_value)


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
    assert {(v.setting_a, v.setting_b) for v in judged} == {("a", "b")}
    assert {v.word for v in judged} == {"undecided"}
    assert "A/A noise" in judged[0].reason


def test_three_settings_give_the_set_not_beaten_and_groups() -> None:
    effects = {"noop": 0.0, "anticipatory": -0.21, "deadline": 0.001, "cfq": -0.2}
    (found,) = by_combination(judge(study([effects], noise=0.004, repetitions=5)))
    assert set(found.best) == {"noop", "deadline"}
    assert [set(group) for group in found.groups] == [{"noop", "deadline"}, {"anticipatory", "cfq"}]
    assert set(found.text.split(" / ")) == {"noop", "deadline"}
    assert found.groups_text.count(" against ") == 1


def test_with_few_combinations_the_other_pairs_of_the_combination_lend_degrees_of_freedom() -> None:
    four = study([{"a": 0.08, "b": 0.0, "c": 0.0, "d": 0.0}], noise=0.01, repetitions=3)
    two = [o for o in four if o.setting in "ab"]
    alone, among_others = (next(v for v in judge(o) if (v.setting_a, v.setting_b) == ("a", "b")) for o in (two, four))
    assert alone.ratio == pytest.approx(among_others.ratio)
    width = [math.log(v.ratio_high / v.ratio_low) for v in (alone, among_others)]
    # Two degrees of freedom of its own take t = 4.3; with what six pairs know of the noise it is below 3.
    assert width[1] < 0.7 * width[0]


def test_combinations_of_a_table_lend_each_other_what_they_know_of_the_noise() -> None:
    def p_of(combinations: int) -> float:
        found = judge(study([{"a": 0.05, "b": 0.0}] * combinations, noise=0.01, repetitions=3))
        return float(np.median([v.p_value for v in found]))

    assert p_of(12) < p_of(4) / 3


def test_one_exact_repetition_decides_by_its_numbers() -> None:
    observations = study([{"a": 0.2, "b": 0.0}, {"a": 0.01, "b": 0.0}], noise=0.0, repetitions=1)
    assert [v.word for v in judge(observations)] == ["undecided"] * 2
    far, near = judge_observations(observations, exact=True)
    assert [each.verdict for each in far.standings] == ["best", "worse"]
    assert [each.verdict for each in near.standings] == ["within", "within"]
    assert far.verdicts[0].winner == "a" and far.counts
    assert "needs no statistics" in far.verdicts[0].reason


def test_runs_without_any_noise_decide() -> None:
    # A deterministic simulator gives the same number in every repetition.
    verdicts = judge(study([{"a": 0.05 * (i % 2), "b": 0.0} for i in range(12)], noise=0.0, repetitions=3))
    assert [v.word for v in verdicts] == ["tie", "clear"] * 6
