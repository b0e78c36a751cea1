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


def stated(loss, low, high, verdict="worse", metric="done"):
    best = {"setting": "none", "verdict": "best", "loss": 0.0, "low": 0.0, "high": 0.0}
    other = {"setting": "bfq", "verdict": verdict, "loss": loss, "low": low, "high": high}
    return {"uses": [{"use": "database", "metric": metric, "threshold": 0.05, "candidates": [best, other]}]}


def only_line(values, statement):
    (found,) = compare.lines({"cases": {CASE: {"rounds": measured(values)}}}, statement)
    return found


@pytest.mark.parametrize(
    ("real", "loss", "low", "high", "contradicted", "overstated"),
    [
        (70, 0.30, 0.25, 0.35, False, False),  # 30 % stated and real
        (98, 0.30, 0.25, 0.35, True, True),  # next to nothing in truth
        (80, 0.30, 0.20, 0.40, False, False),
        (50, 0.10, 0.06, 0.14, True, False),  # far more in truth
        (96, 0.30, 0.01, 0.60, False, True),  # vague enough to be no lie, but too large
    ],
)
def test_statements_are_held_against_the_programs(real, loss, low, high, contradicted, overstated):
    line = only_line({"none": 100, "bfq": real}, stated(loss, low, high))
    assert (line.contradicted, line.overstated) == (contradicted, overstated), line


def test_that_all_are_within_the_threshold_is_a_statement_too():
    assert not only_line({"none": 100, "bfq": 98}, stated(0.01, 0.0, 0.04, "within")).contradicted
    assert only_line({"none": 100, "bfq": 60}, stated(0.01, 0.0, 0.04, "within")).contradicted


def test_a_loss_of_a_time_and_of_work_done_are_the_same_ratio():
    assert compare.log_of(1.0, "time") == pytest.approx(compare.log_of(0.5, "done"))
    assert compare.share_of(compare.log_of(0.38, "done"), "done") == pytest.approx(0.38)
    assert compare.share_of(compare.log_of(3.2, "time"), "time") == pytest.approx(3.2)


def test_a_measurement_ends_when_every_ratio_is_known_to_five_per_cent():
    few = measured({"none": 100, "bfq": 70}, noise=0.1, count=8)
    many = measured({"none": 100, "bfq": 70}, noise=0.1, count=60)
    assert rounds.half_width(few, "done") > rounds.PRECISION > rounds.half_width(many, "done")
    assert rounds.half_width(few[:3], "done") == math.inf


def test_the_page_is_what_the_recorded_results_say():
    root = Path(__file__).parents[2]
    results = root / "benches/results"
    made = page.text(results / "programs.json", sorted(results.glob("tune*.json")), results / "programs-history.md")
    assert (root / "docs/engineering/programs-measured.md").read_text(encoding="utf-8") == made
