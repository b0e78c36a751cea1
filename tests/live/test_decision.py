"""The decision of a live-switched run: what is to be expected, in which words, and one setting for each purpose."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from seekwise.document import printed
from seekwise.judge.decision import choose, document, posterior, priors, verdicts
from seekwise.judge.decision.effects import Observed, estimate, with_trades
from seekwise.judge.decision.periods import JobPeriod, Merged, dense, histogram, jain, quantile_ns, upper_bound_ns
from seekwise.judge.decision.priors import FLAT, PROGRAMS, SET_UPS, usual_of
from seekwise.judge.decision.records import _number
from seekwise.judge.decision.table import UseFigure, rounds_of, values_of
from seekwise.workload.live_plan import CONTROL_SUFFIX


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


def test_settings_are_better_or_worse_than_what_is_in_force():
    (judged,) = verdicts.judge([entry({"a": 100, "b": 60, "c": 150})], "a")
    assert words(judged) == {"a": "same", "b": "worse", "c": "better"}
    assert judged.standing("b").ratio == pytest.approx(0.6, abs=0.03)
    assert judged.standing("b").low < 0.6 < judged.standing("b").high
    assert judged.standing("b").p_worse > 0.99 and judged.standing("b").p_better < 0.01
    assert judged.best == ("c",)


def test_equal_settings_are_the_same_within_a_bound_that_is_said():
    (judged,) = verdicts.judge([entry({"a": 100, "b": 100, "c": 100})], "a")
    assert set(words(judged).values()) == {"same"}
    assert judged.standing("b").bound == 0.05


def test_a_latency_twice_as_long_has_the_ratio_two_and_is_worse():
    (judged,) = verdicts.judge([entry({"a": 1.0, "b": 2.0}, metric="p99", more=False, threshold=0.1)], "a")
    assert judged.standing("b").ratio == pytest.approx(2.0, abs=0.1)
    assert words(judged)["b"] == "worse"


def test_noise_as_large_as_the_difference_is_unknown_with_an_interval():
    (judged,) = verdicts.judge([entry({"a": 100, "b": 90}, noise=0.3, rounds=4)], "a")
    assert words(judged)["b"] == "unknown"
    assert judged.standing("b").low < 0.9 < judged.standing("b").high


def test_two_rounds_say_nothing():
    (judged,) = verdicts.judge([entry({"a": 100, "b": 10}, rounds=2)], "a")
    assert words(judged)["b"] == "unknown"


def test_the_same_records_are_judged_the_same_in_any_order():
    entries = [entry({"a": 100, "b": 104}, use=f"use {i}", noise=0.05, seed=i) for i in range(4)]
    forth, back = verdicts.judge(entries, "a"), verdicts.judge(entries[::-1], "a")[::-1]
    assert [each.standings for each in forth] == [each.standings for each in back]


def test_two_rounds_and_one_of_a_true_difference_of_a_fifth_outweigh_the_prior():
    ratios = []
    for prior in (SET_UPS, PROGRAMS, FLAT):
        (judged,) = verdicts.judge([entry({"a": 100, "b": 80, "c": 100}, rounds=3)], "a", prior)
        ratios.append(judged.standing("b").ratio)
        assert words(judged)["b"] == "worse"
    assert ratios == pytest.approx([0.8, 0.8, 0.8], abs=0.03)


def test_the_usual_sizes_of_effects_are_those_of_programs_that_were_measured():
    """Maximum likelihood of a mixture of scales with known errors; the table of NVMe drives counts as eight values."""
    seen = [one for program in priors._programs() for one in priors._against_middle(program)]
    y, error = np.array([one.log for one in seen]), np.array([one.variance for one in seen])
    many_cores = np.array(SET_UPS.shares)
    shares, variance = many_cores, posterior.SCALES_LOG**2 + error[:, None]
    for _ in range(500):
        of_scale = shares * np.exp(-0.5 * y[:, None] ** 2 / variance) / np.sqrt(variance)
        found = (of_scale / of_scale.sum(axis=1, keepdims=True)).sum(axis=0)
        shares = (found + 8 * many_cores) / (len(y) + 8)
    assert PROGRAMS.shares == pytest.approx(shares, abs=0.02)


def test_what_a_setting_does_in_other_uses_tells_of_a_use_that_was_measured_badly():
    sure = [entry({"a": 100, "b": 80, "c": 100}, use=f"use {i}", rounds=20, seed=i) for i in range(4)]
    unsure = entry({"a": 100, "b": 80, "c": 100}, use="last", rounds=4, noise=0.1, seed=9)
    alone, together = verdicts.judge([unsure], "a")[0], verdicts.judge([*sure, unsure], "a")[-1]
    assert abs(math.log(together.standing("b").ratio / 0.8)) < abs(math.log(alone.standing("b").ratio / 0.8))
    assert together.standing("b").p_worse > alone.standing("b").p_worse


def waiting(values, **kwargs):
    """An entry of programs that a person waits for while other work goes on."""
    made = entry(values, **kwargs)
    return replace(made, conditions=replace(made.conditions, work="waiting"))


def test_programs_elsewhere_tell_of_a_program_that_was_measured_badly():
    figures = waiting({"mq-deadline": 100, "none": 100, "kyber": 100, "bfq": 100}, rounds=4, noise=0.2, seed=5)
    without, told = (
        verdicts.judge([figures], "mq-deadline", prior)[0].standing("bfq") for prior in (PROGRAMS, usual_of("virtio"))
    )
    assert told.p_better > without.p_better


def test_two_rounds_and_one_of_a_true_difference_of_a_fifth_outweigh_programs_elsewhere():
    figures = waiting({"mq-deadline": 100, "none": 100, "kyber": 100, "bfq": 80}, rounds=3)
    (judged,) = verdicts.judge([figures], "mq-deadline", usual_of("virtio"))
    assert judged.standing("bfq").verdict == "worse"
    assert judged.standing("bfq").ratio == pytest.approx(0.8, abs=0.03)


def test_programs_of_the_same_kind_of_drive_are_asked_first_and_all_where_they_are_few():
    drives = {drive: {one.program for one in usual_of(drive).elsewhere} for drive in ("virtio", "nvme", "rotational")}
    assert not any("gnome-terminal" in name for name in drives["virtio"])
    assert drives["nvme"] == drives["rotational"] > drives["virtio"]
    assert usual_of(None) is PROGRAMS


def test_a_large_effect_in_one_use_stays_large_among_many_equal_ones():
    level = [entry({"a": 100, "b": 100}, use=f"use {i}", seed=i) for i in range(12)]
    (*_, judged) = verdicts.judge([*level, entry({"a": 100, "b": 30}, use="one", seed=99)], "a")
    assert judged.standing("b").ratio == pytest.approx(0.3, abs=0.02)


def test_a_rate_that_is_all_but_zero_is_surely_worse_though_its_logarithm_scatters():
    figures = Merged(["a", "b"], "rate")
    for number in range(12):
        figures.add("a", number, JobPeriod(0.5, 1000, 500_000_000 + 10_000_000 * (number % 3), 1.0))
        figures.add("b", number, JobPeriod(0.5, int(number == 5), 1_000_000 * (number == 5), 1.0))
    (judged,) = verdicts.judge([UseFigure("u", "rate", "MB/s", True, 0.05, figures)], "a")
    assert words(judged)["b"] == "worse"
    assert judged.standing("b").high < 0.1


def _stalling(share, seed=1, rounds=40):
    """b stands still in a share of its periods."""
    rng = np.random.default_rng(seed)
    periods = []
    for _ in range(rounds):
        for name in rng.permutation(["a", "b", "c"]):
            stands = name == "b" and rng.random() < share
            periods.append((str(name), 100 * math.exp(rng.normal(0, 0.03)) * (0.02 if stands else 1)))
    return UseFigure("u", "rate", "MB/s", True, 0.05, values_of(periods))


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_a_setting_that_stands_still_in_some_periods_is_worse_and_its_stalls_are_counted(share):
    (judged,) = verdicts.judge([_stalling(share)], "a")
    assert words(judged)["b"] == "worse"
    assert judged.standing("b").low <= 1 - share * 0.98 <= judged.standing("b").high or share > 0.5
    assert judged.standing("a").stalls == 0
    if share < 0.5:
        assert judged.standing("b").stalls == pytest.approx(40 * share, abs=5)


def test_what_strikes_every_setting_alike_makes_none_of_them_worse():
    rng = np.random.default_rng(4)
    periods = [
        (str(name), 100 * math.exp(rng.normal(0, 0.03)) * (0.1 if rng.random() < 0.1 else 1))
        for _ in range(40)
        for name in rng.permutation(["a", "b", "c"])
    ]
    (judged,) = verdicts.judge([UseFigure("u", "rate", "MB/s", True, 0.05, values_of(periods))], "a")
    assert set(words(judged).values()) <= {"same", "unknown"}


def test_what_a_copy_loses_while_a_start_gains_is_no_stall():
    """Seen under bfq: in one period of five a start took half of its usual time and the copy a third of its usual rate."""
    rng = np.random.default_rng(6)
    count, setting = 10, np.tile([0, 1], 5)
    noise = rng.normal(0, 0.02, (2, count))
    copy, start = noise
    copy[1] -= math.log(3)

    def stalled(start_gain_log):
        gained = start.copy()
        gained[1] += start_gain_log
        both = [
            Observed(("a", "bfq"), setting, np.arange(count) // 2, y, np.zeros(count, int), np.full(count, -1))
            for y in (gained, copy)
        ]
        return [estimate(one).stalls.tolist() for one in with_trades(both, ["u", "u"], ["start", "copy"])]

    assert stalled(math.log(2)) == [[0, 0], [0, 0]]
    assert stalled(0.0) == [[0, 0], [0, 1]]


def test_what_the_setting_before_leaves_behind_is_taken_out():
    rng = random.Random(3)
    names, sequence = ["a", "b", "c", "d"], []
    for _ in range(12):
        rng.shuffle(names)
        sequence += names
    values = [math.exp(rng.gauss(0, 0.01) - (0.2 if i and sequence[i - 1] == "d" else 0)) for i in range(len(sequence))]
    (judged,) = verdicts.judge(
        [UseFigure("u", "rate", "MB/s", True, 0.05, values_of(list(zip(sequence, values, strict=True))))], "a"
    )
    assert set(words(judged).values()) == {"same"}


def test_what_was_known_before_a_period_explains_its_scatter():
    rng = np.random.default_rng(2)
    count = 48
    unwritten = rng.uniform(0, 10, count)
    setting = np.tile([0, 1], count // 2)
    y = -0.05 * unwritten + rng.normal(0, 0.01, count)

    def made(known):
        return Observed(("a", "b"), setting, np.arange(count) // 2, y, np.zeros(count, int), np.full(count, -1), known)

    with_it, without = estimate(made(unwritten[:, None])), estimate(made(None))
    assert with_it.variance.max() < 0.2 * without.variance.max()
    assert with_it.mean[0] - with_it.mean[1] == pytest.approx(0, abs=0.02)


def _served(metric_kind, unit, more, operations, slow_ns):
    """Queries of a (steady) and b, which serves some rounds and is starved in the others."""
    figures = Merged(["a", "b", "c"], metric_kind)
    for number in range(36):
        for name in figures.settings:
            count = operations[name] if name != "b" or number % 6 == 0 else 2
            latencies = np.full(count, slow_ns[name]) * (1 + 0.05 * np.sin(number + np.arange(count)))
            figures.add(name, number, JobPeriod(0.1, count, count * 4096, latencies.sum(), histogram(latencies)))
    return UseFigure("u", metric_kind, unit, more, 0.05, figures, job="queries")


def test_no_setting_is_better_by_the_latency_of_a_job_that_it_starves():
    operations, latency_ns = {"a": 500, "b": 500, "c": 500}, {"a": 1e6, "b": 5e5, "c": 1e6}
    rate = _served("rate", "MB/s", True, operations, latency_ns)
    tail = _served("p99", "ms", False, operations, latency_ns)
    _, by_tail = verdicts.judge([rate, tail], "a")
    assert words(by_tail)["b"] != "better"
    # Without the rate of the same job nothing tells that b was starved.
    (alone,) = verdicts.judge([tail], "a")
    assert words(alone)["b"] == "better"


@pytest.mark.parametrize("autocorrelation", [0.0, 0.9])
def test_a_rare_candidate_that_is_equal_is_seldom_called_worse_or_better(autocorrelation):
    rng = np.random.default_rng(5)
    named = 0
    for _ in range(60):
        noise = np.zeros(80)
        for t in range(1, 80):
            noise[t] = autocorrelation * noise[t - 1] + 0.1 * rng.normal()
        periods = []
        for n in range(80):
            periods.append(("a", math.exp(noise[n] + 0.1 * rng.normal())))
            if n % 10 == 0:
                periods.append(("b", math.exp(noise[n] + 0.03 * rng.normal())))
        (judged,) = verdicts.judge([UseFigure("u", "rate", "MB/s", True, 0.05, values_of(periods))], "a")
        named += words(judged)["b"] in ("better", "worse")
    assert named <= 5, f"{named} of 60"


def _again(gap, rounds=10, seed=1):
    """What is in force twice in each round, its second run off by `gap`."""
    rng = np.random.default_rng(seed)
    periods = []
    for _ in range(rounds):
        for name in rng.permutation(["a", "b", "a" + CONTROL_SUFFIX]):
            value = 100 * math.exp(rng.normal(0, 0.03) + (gap if name.endswith(CONTROL_SUFFIX) else 0))
            periods.append((str(name), value))
    return UseFigure("u", "rate", "MB/s", True, 0.05, values_of(periods))


def test_a_setting_that_differs_from_itself_is_found_and_one_that_does_not_is_left_alone():
    assert not verdicts.control([_again(0.0)], "a")
    ((found, known),) = verdicts.control([_again(-0.3)], "a")
    assert found.use == "u" and math.exp(known.mean) == pytest.approx(0.74, abs=0.05)


def test_both_runs_of_what_is_in_force_count_for_it():
    (judged,) = verdicts.judge([_again(0.0)], "a")
    assert set(words(judged)) == {"a", "b"}


def test_a_run_on_unsteady_storage_advises_nothing():
    judged = verdicts.judge([entry({"a": 100, "b": 200})], "a")
    assert choose.choose(judged, "a", ["a", "b"]).setting == "b"
    vetoed = choose.choose(judged, "a", ["a", "b"], is_vetoed=True)
    assert (vetoed.setting, vetoed.changes, vetoed.is_vetoed) == ("a", False, True)


def test_rounds_end_when_every_setting_that_still_runs_was_seen():
    assert rounds_of(list("abcbacacac")) == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert rounds_of(list("abcacbab")) == [0, 0, 0, 1, 1, 1, 2, 2]


def test_merged_percentiles_are_those_of_all_operations():
    figures = Merged(["a"], "p50")
    import numpy as np

    fast, slow = np.full(900, 1e5), np.full(100, 1e7)
    figures.add("a", 0, JobPeriod(1.0, 900, 0, fast.sum(), histogram(fast)))
    figures.add("a", 1, JobPeriod(1.0, 100, 0, slow.sum(), histogram(slow)))
    assert math.exp(figures.log_value("a", [0, 1])) == pytest.approx(0.1, rel=0.02)
    assert math.exp(figures.log_value("a", [1])) == pytest.approx(10.0, rel=0.02)


def test_a_period_whose_requests_nobody_timed_has_no_percentile():
    figures = Merged(["a", "b"], "p99")
    for number in range(3):
        figures.add("a", number, JobPeriod(1.0, 900, 0, 9e8, histogram(np.full(900, 1e6))))
        figures.add("b", number, JobPeriod(1.0, 900, 0, 9e8, {} if number else histogram(np.full(900, 1e6))))
    assert (figures.rounds("a"), figures.rounds("b")) == ((0, 1, 2), (0,))
    assert np.isfinite(figures.observed(-1.0).y).all()


def test_quantiles_agree_with_those_of_the_values():
    import numpy as np

    values = np.random.default_rng(1).lognormal(12, 1, 20_000)
    for q in (0.5, 0.9, 0.99):
        assert quantile_ns(dense(histogram(values)), q) == pytest.approx(np.quantile(values, q), rel=0.012)


@pytest.mark.parametrize("number", [500, 641, 1000, 1501, 2400])
def test_bins_come_back_from_their_bounds(number):
    assert _number(upper_bound_ns(number)) == number


def test_an_idle_device_that_ends_only_flushes_has_a_rate_all_the_same():
    figures = Merged(["a", "b"], "rate")
    for turn in range(4):
        figures.add("a", turn, JobPeriod(1.0, 3, 3 * 4096, 0.0, {}))
        figures.add("b", turn, JobPeriod(1.0, 2, 0, 0.0, {}))  # requests without bytes
    (judged,) = verdicts.judge([UseFigure("u", "rate", "MB/s", True, 0.05, figures)])
    assert judged.standing("b").value == pytest.approx(0.5 * 4096 / 4 / 1e6)


def test_the_setting_in_force_stays_among_equals():
    judged = verdicts.judge([entry({"a": 100, "b": 100})], "b")
    choice = choose.choose(judged, "b", ["a", "b"])
    assert (choice.setting, choice.changes) == ("b", False)
    assert choice.expected_regret < 0.01


def test_a_setting_that_is_best_everywhere_is_set_and_its_gains_are_named():
    judged = verdicts.judge([entry({"a": 100, "b": 50}), entry({"a": 100, "b": 100}, use="other")], "b")
    choice = choose.choose(judged, "b", ["a", "b"])
    assert (choice.setting, choice.changes) == ("a", True)
    assert [gain.use for gain in choice.gains] == ["desktop"]
    assert choice.p_harm < 0.01 and choice.expected_regret < 0.01


def test_a_change_of_which_more_is_to_be_expected_names_its_price():
    judged = verdicts.judge([entry({"a": 100, "b": 1}, use="one"), entry({"a": 80, "b": 100}, use="two")], "b")
    choice = choose.choose(judged, "b", ["a", "b"])
    assert choice.setting == "a"
    assert [cost.use for cost in choice.costs] == ["two"]
    assert choice.costs[0].ratio == pytest.approx(0.8, abs=0.03)


def test_a_trade_off_of_equal_weight_changes_nothing():
    judged = verdicts.judge([entry({"a": 100, "b": 50}, use="one"), entry({"a": 49, "b": 100}, use="two")], "a")
    assert not choose.choose(judged, "a", ["a", "b"]).changes


def test_the_document_has_the_keys_of_the_contract():
    judged = verdicts.judge([entry({"a": 100, "b": 60})], "b")
    (use,) = printed(document.uses(judged))
    assert {"use", "metric", "unit", "candidates"} <= set(use)
    assert {"setting", "verdict", "value", "ratio", "low", "high", "p_better", "p_worse"} <= set(use["candidates"][0])
    decision = printed(choose.choose(judged, "b", ["a", "b"]))
    assert decision["setting"] == "a" and decision["changes"] is True
    assert {"expected_regret", "regret_high", "p_harm", "gains", "costs"} <= set(decision)


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
        entries = [entry({"a": 100, "b": 100 / factor}, use="one"), entry({"a": 100 / 15, "b": 100}, use="two")]
        for now in "ab":
            assert not chosen(verdicts.judge(entries, now), now).changes, "both starve a use: what is in force stays"


def test_a_gain_that_is_worth_no_change_leaves_what_is_in_force():
    judged = verdicts.judge([entry({"a": 100, "b": 104}, rounds=20)], "a")
    assert not chosen(judged, "a").changes


def test_a_setting_that_is_probably_better_is_named_where_it_is_not_advised():
    judged = verdicts.judge([entry({"a": 100, "b": 103.5}, rounds=12, noise=0.02)], "a")
    choice = chosen(judged, "a")
    assert not choice.changes
    assert choice.alternative is not None and choice.alternative.setting == "b" and choice.alternative.p_better >= 0.7
    assert choice.regret_high > choice.expected_regret > 0


def test_each_purpose_has_its_own_setting_and_limits_have_no_say():
    fast = replace(entry({"a": 100, "b": 400}, use="start"), purpose="responsive")
    much = entry({"a": 100, "b": 60}, use="copy")
    judged = verdicts.judge([fast, much], "a")
    found = choose.by_purpose(judged, "a", ["a", "b"])
    assert {name: each.setting for name, each in found.items()} == {"responsive": "b", "throughput": "a"}
    assert [each.use for each in found["responsive"].costs] == ["copy"]
    limits = verdicts.judge([replace(fast, group="limits"), entry({"a": 100, "b": 100}, use="copy")], "a")
    assert not chosen(limits, "a").changes
    assert not chosen(verdicts.judge([replace(fast, group="limits")], "a"), "a").changes


def test_a_purpose_pays_for_what_the_other_one_loses_on_average():
    start = replace(entry({"a": 100, "b": 130}, use="start"), purpose="responsive")

    def found(*losses):
        copies = [entry({"a": 100, "b": left}, use=f"copy {i}", seed=i) for i, left in enumerate(losses)]
        return choose.by_purpose(verdicts.judge([start, *copies], "a"), "a", ["a", "b"])["responsive"].setting

    assert found(80, 100, 100) == "b"
    assert found(60, 60, 60) == "a"


def test_a_setting_that_all_but_stops_the_other_purpose_is_not_advised_for_one():
    start = replace(entry({"a": 100, "b": 150}, use="start"), purpose="responsive")
    level = [entry({"a": 100, "b": 100}, use=f"use {i}", seed=i) for i in range(9)]
    found = choose.by_purpose(
        verdicts.judge([start, *level, entry({"a": 100, "b": 20}, use="copy")], "a"), "a", ["a", "b"]
    )
    assert found["responsive"].setting == "a"


def test_a_use_that_was_asked_for_does_not_count_without_its_background():
    start = replace(entry({"a": 100, "b": 300}, use="desktop"), purpose="responsive")
    copy = entry({"a": 100, "b": 10}, use="desktop", metric="background_done", role="background")
    judged = verdicts.judge([start, copy], "a")
    assert choose.choose(judged[:1], "a", ["a", "b"]).setting == "b"
    assert choose.choose(judged[:1], "a", ["a", "b"], others=judged[1:]).setting == "a"


def test_ties_are_not_given_to_the_value_that_was_typed_first():
    judged = verdicts.judge([entry({"first": 100, "now": 50, "best": 130}, noise=0.02)], "now")
    assert chosen(judged, "now", ["now", "first", "best"]).setting == "best"


def test_regret_falls_with_more_rounds():
    few, many = (
        chosen(verdicts.judge([entry({"a": 100, "b": 103}, rounds=rounds, noise=0.1, seed=5)], "a"), "a").regret_high
        for rounds in (4, 60)
    )
    assert many < few
