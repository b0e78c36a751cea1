"""What the judge says of values that no measurement should give: nothing, or a clear sentence; never a claim, never an exception."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from report.sample_live import live_outcome
from seekwise.judge import outcome
from seekwise.judge.decision.observed import judge_observations
from seekwise.judge.decision.pairs import pairs
from seekwise.judge.decision.records import Decided, with_choices
from seekwise.judge.decision.table import UseFigure, values_of
from seekwise.judge.decision.verdicts import judge
from seekwise.judge.observation import Observation
from seekwise.judge.outcome import LiveOutcome

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
NAMES = ["a", "b", "c"]


def decided(value, rounds: int = 6, names: list[str] = NAMES, candidates: list[str] = NAMES) -> Decided:
    """`value`: (setting, round) → the value of a period."""
    rng = np.random.default_rng(5)
    periods = [(name, value(name, number)) for number in range(rounds) for name in rng.permutation(names).tolist()]
    judged = judge([UseFigure("u", "rate", "MB/s", True, 0.05, values_of(periods), group="u")], "a")
    return with_choices(judged, "a", candidates)


def scattered(name: str, number: int) -> float:
    return 100 * math.exp(0.05 * math.sin(7 * number + ord(name)))


@pytest.mark.parametrize(
    "found",
    [
        lambda: decided(scattered, rounds=0),
        lambda: decided(scattered, rounds=1),
        lambda: decided(scattered, rounds=2),
        lambda: decided(lambda name, number: 100.0),
        lambda: decided(lambda name, number: 0.0),
        lambda: decided(lambda name, number: math.nan if name == "b" else math.inf if name == "c" else 100.0),
        lambda: decided(lambda name, number: 0.0 if name == "a" else scattered(name, number)),
        lambda: decided(lambda name, number: 1e12 if (name, number) == ("b", 3) else scattered(name, number)),
        lambda: decided(lambda name, number: 1e-12 if (name, number) == ("b", 3) else scattered(name, number)),
        lambda: decided(lambda name, number: 1e-9 * scattered(name, number)),
        lambda: decided(lambda name, number: 1e9 * scattered(name, number)),
        lambda: decided(scattered, names=["b", "c"]),
        lambda: decided(scattered, names=["a"]),
        lambda: decided(scattered, names=["a"], candidates=["a"]),
    ],
)
def test_nothing_is_advised_or_called_better_by_values_that_do_not_tell(found):
    known = found()
    assert not any(each.named for each in known.judged)
    assert known.choice is None or not known.choice.changes


def test_a_ratio_beyond_all_numbers_is_said_as_one():
    known = decided(lambda name, number: 1e300 if name == "b" else 1e-300)
    (standing,) = known.judged[0].named
    assert (standing.setting, standing.verdict) == ("b", "better") and math.isfinite(standing.ratio)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("odd", [0.0, -1.0, math.nan, math.inf])
def test_a_study_says_nothing_of_a_setting_without_usable_values(odd, exact):
    rows = [
        Observation("t", "c", number, name, "rate", odd if name == "b" else 100.0)
        for number in range(5)
        for name in NAMES
    ]
    found = {pair.settings: pair.verdict for pair in pairs(judge_observations(rows, exact=exact))}
    assert found == {("a", "b"): "unknown", ("b", "c"): "unknown", ("a", "c"): "same"}


def run_of(keep) -> LiveOutcome:
    """The run of three uses with each record as `keep` gives it; None leaves it out."""
    usual = live_outcome(3, rounds=5)
    return outcome.judged(usual.run, usual.plan, [each for record in usual.records if (each := keep(record))])


def test_where_nothing_moved_under_any_setting_they_are_not_called_alike():
    def nothing(record):
        empty = {"bytes": 0, "ios": 0, "latency_bins": {}, "latency_mean_ns": 0.0}
        return replace(record, phases=tuple(replace(phase, **empty) for phase in record.phases))

    found = run_of(nothing)
    assert found.choice is None and not found.decided.judged


def test_a_job_that_moves_nothing_under_one_setting_alone_is_worse_there():
    def starved(record):
        ios = {"bytes": 0, "ios": 0, "latency_bins": {}}
        phases = tuple(replace(phase, **ios) for phase in record.phases)
        return replace(record, phases=phases) if record.setting == "bfq" else record

    rates = [each for each in run_of(starved).decided.judged if each.is_rate]
    assert rates and all(each.standing("bfq").verdict == "worse" for each in rates)


def test_a_setting_that_never_ran_is_named_and_without_another_nothing_is_said_of_the_others():
    without = run_of(lambda record: record if record.setting != "bfq" else None)
    assert without.choice is not None
    assert any(each.startswith("Nothing is known of bfq:") for each in outcome.notes(without))
    alone = run_of(lambda record: record if record.setting == "mq-deadline" else None)
    assert alone.choice is None


def test_a_setting_that_measured_worse_is_neither_advised_nor_called_probably_better():
    """At load 25 kyber took 12.1 s, what was in force 12.0 s: programs elsewhere had led to expect more of it."""

    def advised(seen: float) -> Decided:
        (entry,) = decided(lambda name, number: seen * scattered(name, number) if name == "b" else 100.0).judged
        draws = entry.draws.copy()
        draws[:, entry.figures.settings.index("b")] = draws[:, entry.figures.settings.index("a")] + 0.2
        return with_choices([replace(entry, draws=draws)], "a", NAMES)

    better, worse = advised(1.05).choice, advised(0.95).choice
    assert better is not None and better.setting == "b"
    assert worse is not None and not worse.changes and worse.alternative is None
