"""Tables with a known structure: what is said of them is true, complete at its strongest, and free of contradictions."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from insights.test_insights import record
from seekwise.report import insights
from seekwise.report.insights import schedulers
from seekwise.report.insights.means import Means
from seekwise.workload.study.study import System

OPERATIONS = ("seq_read", "seq_write", "rand_read", "rand_write")
NAMES = ("noop", "deadline", "anticipatory", "cfq")


@st.composite
def tables(draw):
    """(records, systems, {(system, operation, size): factor of each setting}): every rate is base × factor / threads^fall."""
    names = [f"S{i}" for i in range(draw(st.integers(1, 4)))]
    sizes = draw(st.sampled_from([(4096,), (4096, 65536), (8192, 65536, 2**20)]))
    threads = draw(st.sampled_from([(1,), (1, 8), (1, 2, 4, 8)]))
    operations = draw(st.sampled_from([OPERATIONS[:1], OPERATIONS[:2], OPERATIONS]))
    made, truth = [], {}
    for system in names:
        for operation in operations:
            for size in sizes:
                base, fall = draw(st.floats(1, 200)), draw(st.sampled_from([0.0, 0.1, 0.3]))
                factors = {name: draw(st.sampled_from([1.0, 1.02, 1.4, 2.0])) for name in NAMES}
                truth[system, operation, size] = factors
                made += [
                    record(system, name, operation, t, base * factor / t**fall, size=size)
                    for name, factor in factors.items()
                    for t in threads
                ]
    return made, [System(name=name, drive="wd2500ys") for name in names], truth


@settings(max_examples=25, deadline=None)
@given(tables())
def test_what_is_said_is_what_was_built_in(table):
    made, systems, truth = table
    everything = insights.everything(made, systems)
    said: dict[tuple[str, str, int], str] = {}
    for each in everything:
        if each.kind not in ("groups", "level"):
            continue
        for system in each.numbers["systems"]:
            place = (system, each.numbers["operation"], each.numbers["size_bytes"])
            assert place not in said, "two sentences about one table"
            said[place] = each.kind
            factors = truth[place]
            apart = max(factors.values()) / min(factors.values())
            assert (each.kind == "level") == (apart <= 1.1), each.text
            if each.kind == "groups":
                groups = {min(factors[name] for name in members): set(members) for members in each.numbers["groups"]}
                for low, members in groups.items():
                    assert members == {name for name in NAMES if low <= factors[name] <= 1.1 * low}
                averages = [
                    sum(factors[n] for n in members) / len(members)
                    for members in (each.numbers["groups"][0], each.numbers["groups"][-1])
                ]
                assert each.numbers["factors"][system] == pytest.approx(averages[0] / averages[1], rel=1e-3)
    assert set(said) == set(truth)


@settings(max_examples=25, deadline=None)
@given(tables())
def test_a_dozen_at_most_the_strongest_first_with_size_and_jobs_in_the_sentence(table):
    made, systems, truth = table
    shown = insights.find(made, systems)
    assert len(shown) <= 12
    strengths = [each.strength for each in shown]
    assert strengths == sorted(strengths, reverse=True)
    assert len({each.text for each in shown}) == len(shown)
    sizes = {size for _, _, size in truth}
    for each in shown:
        if each.kind in ("groups", "level", "slope", "cpu_efficiency", "cpu_equal") and len(sizes) > 1:
            assert re.search(r", \d+[km]? requests", each.text), each.text
    strongest = max(insights.everything(made, systems), key=lambda each: each.strength)
    assert strongest.strength == strengths[0]


@settings(max_examples=25, deadline=None)
@given(tables())
def test_the_spread_is_a_range_over_every_request_size(table):
    """A later size does not replace an earlier one."""
    made, systems, truth = table
    for each in insights.everything(made, systems):
        if each.kind == "spread":
            for operation, shares in each.numbers["spread"].items():
                factors = [f for (_, op, _), f in truth.items() if op == operation]
                built = sorted(1 - min(f.values()) / max(f.values()) for f in factors)
                assert sorted(shares) == pytest.approx(built, abs=1e-3)


def test_a_pair_is_told_by_request_size_and_not_summed_over_them():
    """Equal sums, opposite at both ends: a sum over the sizes would say level."""
    systems = [System(name=name, drive="wd2500ys", options={"ncq": name}) for name in ("on", "off")]
    throughputs = {"on": {4096: 20, 65536: 180}, "off": {4096: 100, 65536: 100}}
    made = [
        record(name, "cfq", "seq_read", 1, throughput, size=size)
        for name, by in throughputs.items()
        for size, throughput in by.items()
    ]
    (pair,) = [each for each in insights.find(made, systems) if each.kind == "pair"]
    minus = "\N{MINUS SIGN}"
    assert f"from {minus}80 % (4k requests) to +80 % (64k requests) in sequential reading" in pair.text


def test_settings_that_are_chained_but_not_level_are_no_group():
    """Each is within 10 % of the next, the ends are 25 % apart: neither level nor groups."""
    throughputs = {"a": 100.0, "b": 92.0, "c": 84.0, "d": 76.0}
    made = [record("S", name, "seq_read", t, throughput) for name, throughput in throughputs.items() for t in (1, 2)]
    (each,) = [f for f in insights.find(made, ()) if f.kind in ("groups", "level")]
    assert "no clear groups; a reaches 1.32 times the rate of d" in each.text
    (known,) = schedulers.comparisons(Means.from_records(made))
    assert not known.is_level
    assert any(schedulers.difference(known.curves[x], known.curves[y]) > 0.1 for x, y in combinations(throughputs, 2))
