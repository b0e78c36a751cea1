"""The decision of a live-switched run: losses, bounds, words, one setting."""

import math
import random

import numpy as np
import pytest
from seekwise.judge.decision.statistics import NEIGHBOURS_MOST, pair, spent_at, together

from seekwise.document import printed
from seekwise.judge.decision import choose, document, verdicts
from seekwise.judge.decision.periods import JobPeriod, Merged, dense, histogram, jain, quantile_ns, upper_bound_ns
from seekwise.judge.decision.records import _number
from seekwise.judge.decision.table import UseFigure, Values, carried_over, rounds_of, values_of


def entry(
    values,
    *,
    use="desktop",
    metric="rate",
    more=True,
    threshold=0.05,
    rounds=8,
    noise=0.01,
    seed=1,
    group="g",
    role="foreground",
):
    """One entry: {setting: true value}, in random rounds."""
    rng = random.Random(seed)
    periods = []
    for _ in range(rounds):
        names = list(values)
        rng.shuffle(names)
        periods += [(name, values[name] * math.exp(rng.gauss(0, noise))) for name in names]
    return UseFigure(use, metric, "MB/s", more, threshold, values_of(periods), role, group)


def words(judged):
    return {each.setting: each.verdict for each in judged.standings}


def test_a_clear_winner_is_best_and_the_others_are_worse():
    (judged,) = verdicts.judge([entry({"a": 100, "b": 60, "c": 50})])
    assert words(judged) == {"a": "best", "b": "worse", "c": "worse"}
    assert judged.of("b").loss == pytest.approx(0.4, abs=0.03)
    assert judged.of("b").low < 0.4 < judged.of("b").high
    assert judged.of("a").loss == 0


def test_equal_settings_are_within_the_threshold_and_nobody_is_named_best():
    (judged,) = verdicts.judge([entry({"a": 100, "b": 100, "c": 100})])
    assert set(words(judged).values()) == {"within"}


def test_a_latency_twice_as_long_is_a_loss_of_one():
    (judged,) = verdicts.judge([entry({"a": 1.0, "b": 2.0}, metric="p99", more=False, threshold=0.1)])
    assert judged.of("b").loss == pytest.approx(1.0, abs=0.1)
    assert words(judged)["b"] == "worse"


def test_noise_as_large_as_the_difference_stays_undecided_with_a_bound():
    (judged,) = verdicts.judge([entry({"a": 100, "b": 97}, noise=0.2)])
    assert "undecided" in words(judged).values()
    assert all(each.high is not None for each in judged.standings)


def test_two_rounds_decide_nothing_and_bound_nothing():
    (judged,) = verdicts.judge([entry({"a": 100, "b": 10}, rounds=2)])
    assert set(words(judged).values()) == {"undecided"}
    assert judged.of("b").high is None


def test_looking_often_spends_the_error_rate_and_no_more():
    for looks in (1, 3, 6):
        assert sum(spent_at(look, looks, final=False) for look in range(1, looks + 1)) == pytest.approx(1.0)
    assert spent_at(2, 4, final=True) == pytest.approx(1 - (1 / 4) ** 4)


def test_a_rate_that_is_all_but_zero_is_surely_worse_though_its_logarithm_scatters():
    figures = Merged(["a", "b"], "rate")
    for number in range(12):
        figures.add("a", number, JobPeriod(0.5, 1000, 500_000_000 + 10_000_000 * (number % 3), 1.0))
        figures.add("b", number, JobPeriod(0.5, int(number == 5), 1_000_000 * (number == 5), 1.0))
    (judged,) = verdicts.judge([UseFigure("u", "rate", "MB/s", True, 0.05, figures)])
    assert words(judged) == {"a": "best", "b": "worse"}
    assert judged.of("b").low > 0.9


def test_rounds_that_both_ran_in_are_compared_one_by_one():
    assert together([0, 1, 2, 4], [0, 1, 2, 3]) == ([[0], [1], [2]], [[0], [1], [2]])


def test_a_candidate_that_runs_in_every_tenth_round_is_compared_with_all_rounds_around_its_own():
    often, rarely = together(range(30), [0, 10, 20])
    assert rarely == [[0], [10], [20]]
    assert [sorted(group) for group in often] == [[*range(6)], [*range(6, 16)], [*range(16, 30)]]


def test_rounds_after_a_candidate_ran_no_more_are_none_of_its_neighbours():
    often, _ = together(range(200), [0, 10, 20])
    assert max(number for group in often for number in group) == 20 + NEIGHBOURS_MOST


def _rounds(ratio_of_round, rounds=40, noise=0.03, seed=1):
    rng = np.random.default_rng(seed)
    logs = {name: {n: float(rng.normal(0, noise)) for n in range(rounds)} for name in ("a", "b")}
    for number in range(rounds):
        for name, effect in ratio_of_round(number, rng).items():
            logs[name][number] += effect
    return UseFigure("u", "rate", "MB/s", True, 0.05, Values(("a", "b"), logs))


def test_what_strikes_both_alike_costs_little_certainty():
    # A tenth of the rounds of each is lost to a neighbour.
    struck = pair(_rounds(lambda n, rng: {"a": -2.0} if n % 10 == 3 else {"b": -2.0} if n % 10 == 7 else {}), "a", "b")
    calm = pair(_rounds(lambda n, rng: {}), "a", "b")
    assert struck.s_squared < 9 * calm.s_squared
    assert abs(struck.mean) < 0.05


def test_stalls_of_one_candidate_are_part_of_its_figure():
    stalls = pair(_rounds(lambda n, rng: {"b": -2.0} if n % 10 == 3 else {}), "a", "b")
    assert stalls.mean == pytest.approx(-0.2, abs=0.05)


def _served(metric_kind, unit, more, operations, slow_ns):
    """Queries of a (steady) and b, which serves some rounds and is starved in the others."""
    figures = Merged(["a", "b", "c"], metric_kind)
    for number in range(36):
        for name in figures.settings:
            count = operations[name] if name != "b" or number % 6 == 0 else 2
            latencies = np.full(count, slow_ns[name]) * (1 + 0.05 * np.sin(number + np.arange(count)))
            figures.add(name, number, JobPeriod(0.1, count, count * 4096, latencies.sum(), histogram(latencies)))
    return UseFigure("u", metric_kind, unit, more, 0.05, figures, job="queries")


def test_a_candidate_that_serves_little_is_no_yardstick_for_latency():
    operations, latency_ns = {"a": 500, "b": 500, "c": 500}, {"a": 1e6, "b": 5e5, "c": 1e6}
    rate = _served("rate", "MB/s", True, operations, latency_ns)
    tail = _served("p99", "ms", False, operations, latency_ns)
    _, by_tail = verdicts.judge([rate, tail])
    assert words(by_tail)["a"] == words(by_tail)["c"] == "within"
    # Without the rate of the same job nothing tells that b was starved.
    (alone,) = verdicts.judge([tail])
    assert words(alone)["a"] == "worse"


@pytest.mark.parametrize("autocorrelation", [0.0, 0.9])
def test_a_rare_candidate_that_is_equal_is_seldom_called_worse_or_better(autocorrelation):
    rng = np.random.default_rng(5)
    shown = 0
    for _ in range(200):
        noise = np.zeros(80)
        for t in range(1, 80):
            noise[t] = autocorrelation * noise[t - 1] + rng.normal()
        often = {n: float(noise[n] + rng.normal()) for n in range(80)}
        rarely = {n: float(noise[n] + 0.3 * rng.normal()) for n in range(0, 80, 10)}
        entry_ = UseFigure("u", "rate", "MB/s", True, 0.05, Values(("a", "b"), {"a": often, "b": rarely}))
        (judged,) = verdicts.judge([entry_])
        shown += "worse" in words(judged).values()
    assert shown <= 14, f"{shown} of 200"


def test_an_early_look_is_wider_than_the_final_one():
    made = entry({"a": 100, "b": 98}, noise=0.03)
    early = UseFigure(**{**made.__dict__, "looks": (1, 3)})
    wide, narrow = verdicts.judge([early], final=False)[0], verdicts.judge([made])[0]
    assert max(each.high for each in wide.standings) > max(each.high for each in narrow.standings)


def test_rounds_end_when_every_setting_that_still_runs_was_seen():
    assert rounds_of(list("abcbacacac")) == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert rounds_of(list("abcacbab")) == [0, 0, 0, 1, 1, 1, 2, 2]


def test_what_a_setting_leaves_behind_is_taken_out():
    rng = random.Random(3)
    names, sequence = ["a", "b", "c", "d"], []
    for _ in range(12):
        rng.shuffle(names)
        sequence += names
    logs = [1 + rng.gauss(0, 0.01) + (-0.2 if i and sequence[i - 1] == "d" else 0) for i in range(len(sequence))]
    import numpy as np

    carried = carried_over(sequence, rounds_of(sequence), np.array(logs))
    after_d = [carried.effect[i] for i in range(1, len(sequence)) if sequence[i - 1] == "d"]
    after_a = [carried.effect[i] for i in range(1, len(sequence)) if sequence[i - 1] == "a"]
    assert after_a[0] - after_d[0] == pytest.approx(0.2, abs=0.03)


def test_merged_percentiles_are_those_of_all_operations():
    figures = Merged(["a"], "p50")
    import numpy as np

    fast, slow = np.full(900, 1e5), np.full(100, 1e7)
    figures.add("a", 0, JobPeriod(1.0, 900, 0, fast.sum(), histogram(fast)))
    figures.add("a", 1, JobPeriod(1.0, 100, 0, slow.sum(), histogram(slow)))
    assert math.exp(figures.log_value("a", [0, 1])) == pytest.approx(0.1, rel=0.02)
    assert math.exp(figures.log_value("a", [1])) == pytest.approx(10.0, rel=0.02)


def test_quantiles_agree_with_those_of_the_values():
    import numpy as np

    values = np.random.default_rng(1).lognormal(12, 1, 20_000)
    for q in (0.5, 0.9, 0.99):
        assert quantile_ns(dense(histogram(values)), q) == pytest.approx(np.quantile(values, q), rel=0.012)


@pytest.mark.parametrize("number", [500, 641, 1000, 1501, 2400])
def test_bins_come_back_from_their_bounds(number):
    assert _number(upper_bound_ns(number)) == number


def test_a_job_that_moved_nothing_has_a_rate_below_half_a_request():
    figures = Merged(["a", "b"], "rate")
    for turn in range(4):
        figures.add("a", turn, JobPeriod(1.0, 100, 100 * 4096, 0.0, {}))
        figures.add("b", turn, JobPeriod(1.0, 0, 0, 0.0, {}))
    judged = verdicts.judge([UseFigure("u", "rate", "MB/s", True, 0.05, figures)])[0]
    assert judged.of("b").loss > 0.99
    assert words(judged)["b"] == "worse"


def test_an_idle_device_that_ends_only_flushes_has_a_rate_all_the_same():
    figures = Merged(["a", "b"], "rate")
    for turn in range(4):
        figures.add("a", turn, JobPeriod(1.0, 3, 3 * 4096, 0.0, {}))
        figures.add("b", turn, JobPeriod(1.0, 2, 0, 0.0, {}))  # requests without bytes
    (judged,) = verdicts.judge([UseFigure("u", "rate", "MB/s", True, 0.05, figures)])
    assert judged.of("b").value == pytest.approx(0.5 * 4096 / 4 / 1e6)


def test_the_setting_in_force_stays_among_equals():
    judged = verdicts.judge([entry({"a": 100, "b": 100})])
    choice = choose.choose(judged, "b", ["a", "b"])
    assert (choice.setting, choice.changes, choice.basis) == ("b", False, "safe")


def test_a_setting_that_is_best_everywhere_is_set_and_its_gains_are_named():
    judged = verdicts.judge([entry({"a": 100, "b": 50}), entry({"a": 100, "b": 100}, use="other")])
    choice = choose.choose(judged, "b", ["a", "b"])
    assert (choice.setting, choice.changes, choice.basis) == ("a", True, "safe")
    assert [gain.use for gain in choice.gains] == ["desktop"]


def test_where_uses_disagree_the_least_worst_loss_wins():
    judged = verdicts.judge([
        entry({"a": 100, "b": 1}, use="one"),
        entry({"a": 80, "b": 100}, use="two"),
    ])  # fmt: skip
    choice = choose.choose(judged, "b", ["a", "b"])
    assert (choice.setting, choice.basis) == ("a", "least-loss")
    assert choice.worst_loss.use == "two"
    assert [cost.use for cost in choice.costs] == ["two"]


def test_a_trade_off_of_equal_weight_changes_nothing():
    judged = verdicts.judge([entry({"a": 100, "b": 50}, use="one"), entry({"a": 49, "b": 100}, use="two")])
    assert not choose.choose(judged, "a", ["a", "b"]).changes


def test_the_document_has_the_keys_of_the_contract():
    judged = verdicts.judge([entry({"a": 100, "b": 60})])
    (use,) = printed(document.uses(judged))
    assert {"use", "metric", "unit", "candidates"} <= set(use)
    assert {"setting", "verdict", "value", "loss", "low", "high"} == set(use["candidates"][0])
    decision = printed(choose.choose(judged, "b", ["a", "b"]))
    assert decision["setting"] == "a" and decision["changes"] is True
    assert {"use", "metric", "share", "high"} == set(decision["worst_loss"])


def test_processor_time_and_fairness_are_judged_where_a_use_names_them():
    cost = Merged(("a",), "cpu")
    cost.add("a", 0, JobPeriod(1.0, 50, 4096, 1.0, cpu_s=0.02, use_ops=100))
    cost.add("a", 1, JobPeriod(1.0, 50, 4096, 1.0, cpu_s=0.04, use_ops=200))
    assert math.exp(cost.log_value("a", cost.rounds("a"))) == pytest.approx(200.0)  # µs per operation
    assert jain([4.0, 4.0, 4.0]) == pytest.approx(1.0)
    assert jain([9.0, 0.0, 0.0]) == pytest.approx(1 / 3)
    assert math.isnan(jain([5.0]))
    even = Merged(("a",), "fairness")
    even.add("a", 0, JobPeriod(1.0, 50, 4096, 1.0))
    assert even.rounds("a") == ()


def units(milliseconds, seconds=1.0):
    """A period with units of these times."""
    ns = np.array(milliseconds, float) * 1e6
    return JobPeriod(seconds, len(ns), 0, float(ns.sum()), histogram(ns))


def test_units_of_work_are_judged_by_their_mean_time_and_by_how_many_get_done():
    time, done = Merged(("a",), "time"), Merged(("a",), "done")
    for number, each in enumerate(([1000, 3000], [2000], [], [6000])):
        time.add("a", number, units(each))
        done.add("a", number, units(each))
    assert time.rounds("a") == (0, 1, 3)
    assert math.exp(time.log_value("a", time.rounds("a"))) == pytest.approx(3000)
    assert done.rounds("a") == (0, 1, 2, 3), "a period in which nothing was done says so"
    assert math.exp(done.log_value("a", done.rounds("a"))) == pytest.approx(1.0)


@pytest.mark.parametrize(("count", "quantile"), [(199, None), (200, 0.95), (1000, 0.99)])
def test_the_slow_tail_is_as_far_out_as_the_setting_with_the_fewest_units_allows(count, quantile):
    tail = Merged(("a", "b"), "tail")
    tail.add("a", 0, units(np.linspace(1, 100, count)))
    tail.add("b", 0, units(np.linspace(1, 100, 5000)))
    assert tail.tail == quantile
    assert tail.rounds("b") == ((0,) if quantile else ())
    if quantile:
        assert math.exp(tail.log_value("b", [0])) == pytest.approx(100 * quantile, rel=0.02)


def chosen(judged, in_force, names=("a", "b")):
    return choose.choose(judged, in_force, list(names))


def test_the_choice_does_not_hang_on_how_large_a_huge_ratio_is():
    for factor in (12, 120, 12000):
        judged = verdicts.judge([
            entry({"a": 100, "b": 100 / factor}, use="one"), entry({"a": 100 / 15, "b": 100}, use="two"),
        ])  # fmt: skip
        assert not chosen(judged, "a").changes and not chosen(judged, "b").changes, (
            "both starve a use: what is in force stays"
        )


def test_one_great_gain_does_not_outvote_losses_in_most_uses():
    judged = verdicts.judge([
        entry({"a": 100, "b": 2000}, use="start", metric="time"),
        *(entry({"a": 100, "b": 70}, use=f"use {i}") for i in range(5)),
    ])  # fmt: skip
    assert not chosen(judged, "a").changes
    assert chosen(judged, "b").setting == "b", "nor does it the other way round: it would starve a use"


def test_a_gain_that_is_worth_no_change_leaves_what_is_in_force():
    judged = verdicts.judge([entry({"a": 100, "b": 107}, rounds=20)])
    assert words(judged[0])["a"] == "worse"
    assert chosen(judged, "a").basis == "kept"


def test_a_setting_that_loses_nowhere_needs_a_clear_gain_in_one_use_only():
    level = [entry({"a": 100, "b": 100}, use=f"use {i}", rounds=12) for i in range(6)]
    assert chosen(verdicts.judge([*level, entry({"a": 100, "b": 130}, use="one")]), "a").changes
    assert not chosen(verdicts.judge([*level, entry({"a": 100, "b": 112}, use="one")]), "a").changes


def test_what_is_open_is_inconclusive_and_not_kept():
    judged = verdicts.judge([entry({"a": 100, "b": 97}, noise=0.3, rounds=4)])
    assert chosen(judged, "a").basis == "inconclusive"


def test_a_loss_that_is_not_bounded_keeps_what_is_in_force():
    judged = verdicts.judge([entry({"a": 100, "b": 300}, use="one"), entry({"a": 100, "b": 100}, use="two", rounds=2)])
    assert not chosen(judged, "a").changes


def test_each_purpose_has_its_own_setting_and_limits_have_no_say():
    from dataclasses import replace

    fast = entry({"a": 100, "b": 400}, use="start", metric="p99", more=True)
    much = entry({"a": 100, "b": 60}, use="copy")
    judged = verdicts.judge([replace(fast, purpose="responsive"), much])
    found = choose.by_purpose(judged, "a", ["a", "b"])
    assert {name: each.setting for name, each in found.items()} == {"responsive": "b", "throughput": "a"}
    limits = verdicts.judge([replace(fast, group="limits"), entry({"a": 100, "b": 100}, use="copy")])
    assert chosen(limits, "a").basis == "safe"
    assert not chosen(verdicts.judge([replace(fast, group="limits")]), "a").changes


def test_one_use_alone_does_not_change_a_purpose_that_several_serve():
    from dataclasses import replace

    def found(*uses):
        starts = [
            replace(entry({"a": 100, "b": better}, use=f"start {i}"), purpose="responsive")
            for i, better in enumerate(uses)
        ]
        return choose.by_purpose(verdicts.judge([*starts, entry({"a": 100, "b": 8}, use="copy")]), "a", ["a", "b"])

    assert found(400)["responsive"].setting == "b"
    assert found(400, 100)["responsive"].setting == "a"
    assert found(400, 300, 100)["responsive"].setting == "b"


def test_what_is_set_for_everything_is_set_for_a_purpose():
    from dataclasses import replace

    start = replace(entry({"a": 100, "b": 200}, use="start"), purpose="responsive")
    other = replace(entry({"a": 100, "b": 100}, use="commit"), purpose="responsive")
    judged = verdicts.judge([start, other, entry({"a": 100, "b": 100}, use="copy")])
    assert chosen(judged, "a").setting == "b"
    assert choose.by_purpose(judged, "a", ["a", "b"])["responsive"].setting == "b"


def test_of_equal_settings_the_first_is_named_in_every_run():
    named = {
        chosen(verdicts.judge([entry({"a": 50, "b": 100, "c": 100}, seed=seed, noise=0.03)]), "a", "abc").setting
        for seed in range(20)
    }
    assert named == {"b"}


def test_a_starved_job_has_no_latency_to_be_ahead_by():
    from dataclasses import replace

    rate = replace(entry({"a": 100, "b": 10}, use="u", metric="rate"), job="j")
    tail = replace(entry({"a": 10.0, "b": 1.0}, use="u", metric="p99", more=False, threshold=0.1), job="j", unit="ms")
    judged = verdicts.judge([rate, tail])
    assert judged[1].ahead["b", "a"].mean == 0
    assert not chosen(judged, "a").changes
