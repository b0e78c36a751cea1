"""The account of `benches/programs.py`: what counts as contradicted, what as overstated, and when a measurement ends."""

import math
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))

from real_programs import compare, page, rounds

CASE = "pgbench, alone"


def measured(values, noise=0.02, count=20, figure="done"):
    rng = random.Random(1)
    return [
        {"order": list(values), "values": {name: {figure: value * math.exp(rng.gauss(0, noise))} for name, value in values.items()}}
        for _ in range(count)
    ]  # fmt: skip


def stated(ratio, low, high, verdict="worse", metric="done"):
    base = {"setting": "none", "verdict": "same", "ratio": 1.0, "low": 1.0, "high": 1.0}
    other = {"setting": "bfq", "verdict": verdict, "ratio": ratio, "low": low, "high": high}
    uses = [{"use": "database", "metric": metric, "threshold": 0.05, "candidates": [base, other]}]
    return {"in_force": "none", "uses": uses, "purposes": [{"purpose": "throughput", "setting": "bfq"}]}


def only_line(values, statement):
    (found,) = compare.lines({"cases": {CASE: {"rounds": measured(values)}}}, statement)
    return found


@pytest.mark.parametrize(
    ("real", "ratio", "low", "high", "contradicted", "overstated"),
    [
        (70, 0.70, 0.65, 0.75, False, False),  # 30 % less stated and real
        (98, 0.70, 0.65, 0.75, True, True),  # next to nothing in truth
        (80, 0.70, 0.60, 0.80, False, False),
        (50, 0.90, 0.86, 0.94, True, False),  # far more in truth
        (96, 0.70, 0.40, 0.99, False, True),  # vague enough to be no lie, but too large
    ],
)
def test_statements_are_held_against_the_programs(real, ratio, low, high, contradicted, overstated):
    line = only_line({"none": 100, "bfq": real}, stated(ratio, low, high))
    assert (line.contradicted, line.overstated) == (contradicted, overstated), line


def test_that_nothing_differs_is_a_statement_too():
    assert not only_line({"none": 100, "bfq": 98}, stated(0.99, 0.96, 1.02, "same")).contradicted
    assert only_line({"none": 100, "bfq": 60}, stated(0.99, 0.96, 1.02, "same")).contradicted


def test_twice_the_time_and_half_of_the_work_are_the_same_ratio():
    assert compare.log_of(2.0, "time") == pytest.approx(compare.log_of(0.5, "done"))
    assert compare.ratio_of(compare.log_of(0.62, "done"), "done") == pytest.approx(0.62)


@pytest.mark.parametrize(("bfq", "good"), [(100, True), (97, True), (80, False)])
def test_advice_is_held_against_every_program_of_its_purpose(bfq, good):
    results = {"cases": {CASE: {"rounds": measured({"none": 100, "bfq": bfq}, noise=0.005)}}}
    (line,) = compare.advice(results, stated(1.0, 1.0, 1.0), {"pgbench": "done"})
    assert (line.purpose, line.setting, line.is_good) == ("throughput", "bfq", good)


def test_a_measurement_ends_when_every_ratio_is_known_to_five_per_cent():
    few = measured({"none": 100, "bfq": 70}, noise=0.1, count=8)
    many = measured({"none": 100, "bfq": 70}, noise=0.1, count=60)
    assert rounds.half_width(few, "done") > rounds.PRECISION > rounds.half_width(many, "done")
    assert rounds.half_width(few[:3], "done") == math.inf


def test_the_page_is_what_the_recorded_results_say():
    root = Path(__file__).parents[2]
    results = root / "benches/results"
    made = page.text(results / "programs.json", sorted(results.glob("tune*.json")), results / "programs-history.md")
    assert (root / "proof/docs/programs-measured.md").read_text(encoding="utf-8") == made


def test_a_program_is_held_against_what_was_said_of_the_next_one_of_its_kind():
    told = {"low": 0.3, "high": 0.8, "p_gain": 0.95, "p_loss": 0.01, "word": "gain"}
    uses = [{"kind": "command", "background": "4 readers", "value_unit": "ms",
             "candidates": [{"setting": "none", "next": None}, {"setting": "bfq", "next": told}]}]  # fmt: skip
    stated = {"in_force": "none", "uses": uses}

    def found(bfq, mode="beside cat"):
        cases = {f"checksums, {mode}": {"rounds": measured({"none": 1.0, "bfq": bfq}, figure="time")}}
        return compare.foretold({"cases": cases}, stated, {"checksums": "time"})

    (inside,), (outside,), (near,) = found(0.5), found(1.5), found(0.84)
    assert inside.is_inside and not inside.is_far_off
    assert not outside.is_inside and outside.is_far_off and outside.is_surely_outside
    assert not near.is_inside and not near.is_far_off
    assert not found(0.5, "alone"), "nothing was said of it alone"


def test_twelve_programs_and_more_of_all_kinds_are_there_and_half_of_them_set_no_spread():
    from real_programs.loads import PROGRAMS

    assert set(PROGRAMS) == set(compare.KINDS) and len(PROGRAMS) >= 12
    young = [name for name, kind in compare.KINDS.items() if kind in ("command", "save")]
    assert len(young) >= 5 and len(compare.KINDS) / 3 < len(compare.HELD_OUT) < len(compare.KINDS)
