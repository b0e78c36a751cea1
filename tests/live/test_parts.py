"""Order, cuts, logs and job texts of live switching."""

import collections
import contextlib
import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from live.helpers import entry_of
from seekwise.errors import SeekwiseError, UsageError
from seekwise.judge.decision.verdicts import judge
from seekwise.linux.diskstats import DiskCounters
from seekwise.measure.live import carry, execute, jobs, loads, logs, own, passive, prepare, progress, race, stretch
from seekwise.measure.live.session import LiveSession
from seekwise.workload.live_plan import Candidate
from seekwise.workload.study import uses
from seekwise.workload.study.rounds import Order

NAMES = ["none", "mq-deadline", "kyber", "bfq"]
PREPARED = prepare.PreparedTarget(Path("/srv/x"), 2**30, 2**29, 2, 16, 2**28)


def test_each_round_holds_every_candidate_once_and_nobody_follows_himself():
    made = Order(5)
    sequence = []
    for _ in range(60):
        turn = made.round(NAMES)
        assert sorted(turn) == sorted(NAMES)
        sequence += turn
    assert all(a != b for a, b in itertools.pairwise(sequence))


def test_neighbours_are_balanced_and_orders_are_random():
    made = Order(6)
    sequence = [name for _ in range(120) for name in made.round(NAMES)]
    counts = collections.Counter(itertools.pairwise(sequence))
    assert max(counts.values()) < 1.4 * min(counts.values())
    assert len({tuple(Order(seed).round(NAMES)) for seed in range(60)}) > 15


def test_a_start_that_differs_is_cut_and_an_even_period_is_not():
    rng = np.random.default_rng(1)
    even = [list(100 + rng.normal(0, 3, 20)) for _ in range(5)]
    late = [list(np.where(np.arange(20) < 7, 100, 60) + rng.normal(0, 3, 20)) for _ in range(5)]
    assert carry.cut_s(even) == carry.CUT_LEAST_S
    assert carry.cut_s(late) == pytest.approx(7 * carry.BIN_S, abs=2 * carry.BIN_S)


def drifting(rng, level=1.0, periods=4, bins=20):
    """Profiles whose noise lasts as long as a period: 7 % at every length, as real ones."""
    steps = rng.normal(0, 0.02, (periods, bins)).cumsum(axis=1) + rng.normal(0, 0.07, (periods, 1))
    return [list(100 * level * np.exp(each)) for each in steps]


def test_noise_that_looks_like_a_start_is_not_cut_and_a_real_one_is():
    rng = np.random.default_rng(4)
    false = 0
    for _ in range(100):
        profiles = {name: drifting(rng) for name in ("none", "mq-deadline", "kyber")}
        false += sum(cut > 0.05 for cut in carry.cuts_s(profiles, dict.fromkeys(profiles, 0.05)).values())
    assert false <= 9  # of 300
    profiles = {name: drifting(rng) for name in ("none", "mq-deadline", "bfq")}
    for values in profiles["bfq"]:
        values[10:] = [0.6 * each for each in values[10:]]
    found = carry.cuts_s(profiles, dict.fromkeys(profiles, 0.05))
    assert found["bfq"] == pytest.approx(10 * carry.BIN_S, abs=3 * carry.BIN_S)


def candidates_of(*labels):
    return tuple(Candidate(label, {"scheduler": label}, {}) for label in labels)


def test_short_periods_are_for_schedulers_that_learn_nothing_under_loads_that_leave_nothing_behind():
    streams, copy = uses.chosen("direct-streams")[0], uses.chosen("reads-beside-writer")[0]
    none, bfq, unknown = candidates_of("none", "bfq", "adios")
    state = progress.UseState(streams, (none, bfq, unknown))
    assert state.is_short(none) and not state.is_short(bfq) and not state.is_short(unknown)
    assert not progress.UseState(copy, (none,)).is_short(none)
    assert not state.is_short(Candidate("none 64", {"scheduler": "none", "nr_requests": 64}, {}))
    assert state.can_be_quick(10_000) and not state.can_be_quick(100)


def test_a_slow_disk_gets_periods_that_hold_enough_operations():
    state = progress.UseState(uses.chosen("random-read")[0], candidates_of("none", "bfq"))
    seen = [progress.LongPeriods(each, ([1.0] * 12,), 100.0, 0.4) for each in state.candidates]
    progress.learn(state, seen)
    assert all(state.length_s(each) >= progress.OPERATIONS_MIN / 100 for each in state.candidates)
    seen = [progress.LongPeriods(each, ([1.0] * 12,), 50_000.0, 0.001) for each in state.candidates]
    progress.learn(state, seen)
    none, bfq = state.candidates
    assert state.length_s(none) < progress.SHORT_S < state.length_s(bfq)


def test_who_has_long_periods_runs_in_few_rounds_and_long_first_periods_weigh_no_more():
    state = progress.UseState(uses.chosen("random-read")[0], candidates_of("none", "kyber", "bfq"))
    assert state.in_round(1) == state.candidates
    progress.learn(state, [progress.LongPeriods(each, ([1.0] * 30,), 50_000.0, 0.001) for each in state.candidates])
    assert state.in_round(0) == state.candidates and len(state.in_round(1)) == 2
    none, _, bfq = state.candidates
    assert state.counted_s(none, 0.3, state.cut_s(none)) == pytest.approx(progress.QUICK_COUNTED_S)
    assert state.counted_s(bfq, 0.75, state.cut_s(bfq)) <= 0.75 - carry.LEARNING_CUT_S


def test_a_change_at_the_end_of_the_search_asks_for_a_longer_period():
    late = [[100.0] * 12 + [20.0] * 8]
    assert carry.too_short(carry.cut_s(late), 20 * carry.BIN_S)


def log(rows):
    return "".join(f"{end}, {latency}, 0, {size}, 0\n" for end, latency, size in rows).encode()


def operations(rows):
    table = logs.parse(log(rows), "x")
    return logs.Operations(table[:, 0] / 1e3, table[:, 1], table[:, 3], np.zeros(len(table), dtype=int))


def test_bytes_count_when_complete_and_latencies_when_begun_under_the_setting():
    found = logs.within(operations([(1000, 5e5, 4096), (1500, 6e8, 4096), (1900, 1e6, 8192)]), 1.2, 2.0, 1.1)
    assert (found.ops, found.bytes) == (2, 12288)
    assert sum(found.bins.values()) == 1  # the one of 600 ms began before the setting was in force


def test_a_stall_that_outlasts_the_period_counts_with_its_age():
    found = logs.within(operations([(1000, 1e5, 4096), (5000, 3.9e9, 4096)]), 1.2, 2.0, 1.05)
    assert found.ops == 0
    assert found.latency_sum_ns == pytest.approx(0.9e9, rel=0.01)


def test_the_copy_of_a_file_counts_in_each_period_for_its_time_there():
    rows = operations([(3000, 2e9, 4000), (3500, 0.5e9, 600), (9000, 1e9, 500)])
    units = replace(rows, waited_share=np.ones(3), cached_share=np.zeros(3))
    first, second = logs.within(units, 0.0, 2.0), logs.within(units, 2.0, 4.0)
    assert (first.ops, first.bytes) == (0, 2000) and (second.ops, second.bytes) == (2, 2600)
    assert logs.within(units, 10.0, 12.0).bytes == 0
    assert (
        logs.shares(units, 2.0, 4.0) == {"waiting_share": 1.0, "cached_share": 0.0}
        and logs.shares(rows, 2.0, 4.0) == {}
    )


def test_a_log_that_was_cut_short_is_read_up_to_its_last_line():
    text = log([(1, 2, 3), (4, 5, 6)]) + b"7, 8"
    assert len(logs.parse(text, "x")) == 2
    assert len(logs.parse(b"", "x")) == 0
    with pytest.raises(SeekwiseError):
        logs.parse(b"1, 2\n", "x")


@pytest.mark.parametrize("use", [use for use in uses.shipped() if not use.runs_programs], ids=lambda use: use.name)
def test_every_use_of_fio_becomes_a_job_with_a_log_per_process_and_stays_in_its_files(use):
    load = jobs.of_use(use, PREPARED, 1, 10)
    assert load.text.count("write_lat_log=") == sum(job.jobs for job in use.job)
    for line in load.text.splitlines():
        if line.startswith("filename="):
            assert all(name.split(".")[0] in ("data", "store", "part") for name in line[9:].split(":"))
    assert load.buffered == any(not job.direct for job in use.job)


@pytest.mark.parametrize("use", [use for use in uses.shipped() if use.runs_programs], ids=lambda use: use.name)
def test_every_use_of_programs_becomes_workers_whose_foreground_is_told_when(use):
    prepared = replace(PREPARED, programs=Path("/srv/x/programs"), own=Path("/srv/x/own"))
    load = jobs.of_use(use, prepared, 1, 10)
    programs = load.loads[-1] if isinstance(load, loads.Several) else load
    assert {task.name: task.workers for task in programs.tasks} == {
        job.name: job.jobs for job in use.job if job.program is not None
    }
    assert set(programs.foreground) == {job.name for job in use.foreground if job.program is not None}
    assert prepare.data_sets([use]), "a program works on data that was laid out"


def test_periods_of_long_units_hold_the_same_number_of_them_and_last_as_long_as_they_take():
    state = progress.UseState(uses.chosen("desktop-copy")[0], candidates_of("none", "bfq"))
    progress.learn_units(state, {"none": 0.1, "bfq": 0.3})
    assert state.units == 3
    none, bfq = (state.length_s(each) - carry.LEARNING_CUT_S for each in state.candidates)
    assert (none, bfq) == (pytest.approx(0.3), pytest.approx(0.9))


def test_periods_of_processes_that_compete_for_seconds_outlast_what_a_switch_makes_new():
    mq, bfq, unknown = candidates_of("mq-deadline", "bfq", "adios")
    for name in ("long-readers", "database-backup"):
        state = progress.UseState(uses.chosen(name)[0], (mq, bfq, unknown))
        assert state.cut_s(bfq) == state.cut_s(unknown) == carry.RAISED_S > 3
        assert state.length_s(bfq) * carry.CUT_SHARE_MAX >= state.cut_s(bfq)
        assert state.cut_s(mq) < 0.5 < progress.AGED_COUNTED_S <= state.length_s(mq) - state.cut_s(mq)
    for name in ("commands-readers", "streams", "database"):
        assert progress.UseState(uses.chosen(name)[0], (bfq,)).cut_s(bfq) < carry.RAISED_S, name


class Places:
    """A session that has measured new processes alone, of which the race asks."""

    def __init__(self, setting, group=None):
        in_force, *others = candidates_of("mq-deadline", "none", "bfq")
        in_force = replace(in_force, in_force=True)
        control = replace(in_force, label="mq-deadline (control)")
        self.plan = SimpleNamespace(
            group=group, levels=(), in_force=in_force, control=control, candidates=(in_force, *others)
        )
        self.records, self.setting = [], setting

    def decided(self, *_):
        choice = SimpleNamespace(setting=self.setting, changes=self.setting != "mq-deadline", alternative=None)
        return SimpleNamespace(by_purpose={"responsive": choice})


@pytest.mark.parametrize(
    ("setting", "group", "left"),
    [
        ("bfq", None, ["mq-deadline", "mq-deadline (control)", "bfq"]),
        ("mq-deadline", None, []),
        ("mq-deadline", "desktop", ["mq-deadline", "none", "bfq"]),
    ],
)
def test_the_price_is_measured_of_the_one_setting_that_would_be_advised(monkeypatch, setting, group, left):
    session = Places(setting, group)
    monkeypatch.setattr(race, "decided", session.decided)
    state = progress.UseState(uses.chosen("long-readers")[0], session.plan.candidates)
    race.narrow(session, state)
    assert [each.label for each in state.candidates] == left


@pytest.mark.parametrize(("took_s", "waits"), [(0.105, False), (0.3, True)])
def test_other_settings_run_only_where_new_processes_wait(took_s, waits):
    session = Places("bfq")
    alone, beside = (
        progress.UseState(uses.chosen(name)[0], session.plan.candidates) for name in ("commands", "commands-copy")
    )
    progress.learn_units(alone, {"mq-deadline": 0.1})
    period = SimpleNamespace(length_s=carry.LEARNING_CUT_S + took_s * beside.units, lead_s=carry.LEARNING_CUT_S)
    assert race._waits(session, [alone, beside], alone) is None
    assert race._waits(session, [alone, beside], beside)([period, period]) is waits
    beside.rounds, beside.is_idle = 1, not waits
    assert progress.is_idle([alone, beside]) is not waits


@pytest.mark.parametrize(("took_s", "units"), [(0.05, 9), (0.4, 2)])
def test_what_is_in_force_tells_how_many_units_the_other_visits_hold(took_s, units):
    candidates = [Candidate(name, {"scheduler": name}, {}, name == "none") for name in ("none", "bfq", "kyber")]
    state = progress.UseState(uses.chosen("commands-copy")[0], tuple(candidates))
    told = []
    session = SimpleNamespace(
        order_of=lambda _: Order(1), stretch=lambda _, schedule, learn, more: told.append((schedule, more))
    )
    LiveSession.rounds(session, state, 2)
    looks, more = told[0]
    assert [(each.label, turn) for each, turn, _ in looks] == [("none", 0)]
    length_s = carry.LEARNING_CUT_S + took_s * state.units
    period = SimpleNamespace(candidate="none", length_s=length_s, lead_s=carry.LEARNING_CUT_S)
    further = more([period])
    assert state.units == units
    assert sorted((each.label, turn) for each, turn, _ in further) == [
        ("bfq", 0), ("bfq", 1), ("kyber", 0), ("kyber", 1), ("none", 1)
    ]  # fmt: skip
    LiveSession.rounds(session, state, 2)
    assert len(told[1][0]) == 6, "then it is known"


def test_a_budget_that_cannot_be_kept_is_refused_with_the_least_that_works():
    with pytest.raises(UsageError) as error:
        execute.check_budget(5, 4)
    assert f"{execute.least_budget_s(4):.0f}s" in error.value.hint
    execute.check_budget(execute.least_budget_s(4), 4)


def test_a_larger_budget_takes_more_uses_and_names_those_left_out():
    all_uses = uses.chosen(None)
    counts = [len(progress.uses_that_fit(all_uses, 4, seconds)[0]) for seconds in (20, 110, 1500)]
    assert counts == sorted(counts) and counts[0] >= 1 and counts[-1] == len(all_uses)
    fit, left = progress.uses_that_fit(all_uses, 4, 110)
    assert [*fit, *left] == all_uses


def states_of(names, *labels):
    found = [progress.UseState(uses.chosen(name)[0], candidates_of(*labels)) for name in names]
    for each in found:
        each.rounds = 8
    return found


def test_time_goes_to_the_use_whose_comparisons_are_known_least():
    names = ("desktop-copy", "desktop-search")
    unsure = entry_of({"a": 100, "b": 97}, noise=0.2, use=names[0])
    sure = entry_of({"a": 100, "b": 50}, noise=0.01, use=names[1])
    judged, states = judge([unsure, sure], "a"), states_of(names, "a", "b")
    state, rounds = progress.next_use(states, judged, "a", 60.0, is_enough=False)
    assert state.use.name == names[0] and rounds >= 2
    assert progress.next_use(states, judged, "a", 1.0, is_enough=False) is None


def test_a_good_enough_answer_ends_a_run_that_has_nothing_left_to_tell():
    (state,) = states_of(["desktop-copy"], "a", "b")
    sure = judge([entry_of({"a": 100, "b": 50}, noise=0.01, use="desktop-copy", rounds=20)], "a")
    assert progress.next_use([state], sure, "a", 60.0, is_enough=True) is None
    unsure = judge([entry_of({"a": 100, "b": 97}, noise=1.0, use="desktop-copy")], "a")
    assert progress.next_use([state], unsure, "a", 60.0, is_enough=True) is not None


@pytest.mark.parametrize(("others", "spent_s", "goes_on"), [(2, 25.0, True), (2, 70.0, False), (7, 25.0, False)])
def test_no_use_takes_more_than_a_quarter_of_the_time_of_many_or_half_of_it_of_three(others, spent_s, goes_on):
    names = (
        "desktop-copy",
        *(
            use.name
            for use in uses.shipped()
            if use.name != "desktop-copy" and use.group != uses.LIMITS and not use.in_turn
        ),
    )[: 1 + others]
    entries = [entry_of({"a": 100, "b": 97}, noise=0.3 if name == names[0] else 0.1, use=name) for name in names]
    judged, states = judge(entries, "a"), states_of(names, "a", "b")
    assert progress.next_use(states, judged, "a", 60.0, is_enough=False)[0].use.name == names[0]
    states[0].spent_s = spent_s
    assert (progress.next_use(states, judged, "a", 60.0, is_enough=False)[0].use.name == names[0]) is goes_on


def test_limits_take_no_time_of_their_own():
    entry = replace(entry_of({"a": 100, "b": 160}, noise=0.1, use="random-read", rounds=4), group=uses.LIMITS)
    assert (
        progress.next_use(states_of(["random-read"], "a", "b"), judge([entry], "a"), "a", 60.0, is_enough=False) is None
    )


def test_a_setting_that_cannot_win_runs_no_more():
    (state,) = states_of(["desktop-copy"], "a", "b", "c", "d", "e")
    state.candidates = (replace(state.candidates[0], in_force=True), *state.candidates[1:])
    found = {"a": 100, "b": 10, "c": 100, "d": 120, "e": 99}
    judged = judge([entry_of(found, noise=0.01, use="desktop-copy")], "a")
    progress.drop_hopeless(state, judged)
    assert [each.label for each in state.candidates] == ["a", "d"]
    (state,) = states_of(["desktop-copy"], "a", "b")
    progress.drop_hopeless(state, judge([entry_of({"a": 100, "b": 97}, noise=0.4, use="desktop-copy")], "a"))
    assert "b" in [each.label for each in state.candidates], "nothing is known of it yet"


def test_a_guard_ends_a_period_and_says_how_many_times_the_usual_wait_it_was(monkeypatch):
    seen = itertools.count()

    def counters(_) -> passive.Sample:
        number = next(seen)
        return passive.Sample(
            0.1 * number, DiskCounters(reads=10 * number, read_ms=80 * number, in_flight=1)
        )  # 8 ms each

    monkeypatch.setattr(passive, "sample", counters)
    monkeypatch.setattr(passive.time, "sleep", lambda _: None)
    assert passive._watch(("sda",), 5.0, 1.0, 3.0)[1] == pytest.approx(8.0)
    assert passive._watch(("sda",), 0.05, 1.0, 9.0)[1] == 0.0
    assert passive._watch(("sda",), 0.05, None, 3.0)[1] == 0.0


def test_a_metric_needs_a_group_and_a_number():
    with pytest.raises(UsageError):
        own.pattern_of("tps = [0-9]+")
    with pytest.raises(UsageError):
        own.pattern_of("(")
    assert own.number_of(own.pattern_of(r"tps = ([0-9.]+)"), "x tps = 41.5 y") == 41.5
    with pytest.raises(SeekwiseError):
        own.number_of(own.pattern_of(r"tps = ([0-9.]+)"), "nothing")


@pytest.mark.parametrize("whole", [0, 2])
def test_periods_that_were_whole_outlast_ctrl_c(whole, tmp_path):
    """Of a load that ends in the third period; in the first one nothing is to be kept."""
    candidates = [Candidate(name, {"scheduler": name}, {}, True) for name in ("none", "bfq")]
    running = SimpleNamespace(wait_running=lambda: None, ended=lambda: None, finish=lambda: "a worker was interrupted")
    begun = []

    def period(seconds, patience_s):
        if len(begun) == whole:
            raise KeyboardInterrupt
        begun.append(seconds)
        return 0.0

    running.period = period
    load = SimpleNamespace(started=lambda *_: contextlib.nullcontext(running), operations=lambda _: {}, text="[]")
    switch = SimpleNamespace(read_back=dict, to_original=lambda: 0.0, was_reset=lambda _: False)
    schedule = [(candidates[number % 2], number, 0.01) for number in range(4)]
    if not whole:
        with pytest.raises(KeyboardInterrupt):
            stretch.run(load, schedule, switch, tmp_path, ())
        return
    done = stretch.run(load, schedule, switch, tmp_path, ())
    assert [each.candidate for each in done.periods] == ["none", "bfq"]
    assert isinstance(done.stopped, KeyboardInterrupt) and done.ended_early is None
