"""Noise that is not normal makes no host unlike its twins, and hides none that is (`benches/fleets.py` counts both over many fleets)."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from seekwise.report.fleet import rows
from seekwise.report.fleet.figures import figures, over_loads
from seekwise.report.fleet.two_groups import probabilities, weighed
from seekwise.report.fleet.unlike import unlike

FILE = Path(__file__).parents[2] / "benches" / "fleets.py"
spec = importlib.util.spec_from_file_location("fleets", FILE)
assert spec is not None and spec.loader is not None
fleets = importlib.util.module_from_spec(spec)
sys.modules["fleets"] = fleets
spec.loader.exec_module(fleets)


def counted(family: str, seed: int, **words) -> tuple[int, int, int]:
    """(planted disks that are named, planted disks, names that are false)."""
    made = fleets.fleet(family, seed=seed, **words)
    found = fleets.named(made.summary)
    disks = {each for each in made.wanted if each[0] == "sdb"}
    return len(disks & found), len(disks), len(found - made.wanted - fleets.planted(found))


@pytest.mark.parametrize("family", ["t5", "revisions-tenth", "loads-differ", "slow-trials", "t3-trials"])
def test_a_slow_disk_is_found_in_200_hosts_of_any_noise(family) -> None:
    made = fleets.fleet(family, 200, 3)
    found = fleets.named(made.summary)
    assert made.wanted <= found and len(found - made.wanted) <= 1


def test_slow_disks_do_not_hide_one_another() -> None:
    assert counted("normal", 1, hosts=20, slow_hosts=3, slow=0.4) == (3, 3, 0)
    hit, of, false = counted("normal", 2, hosts=200, slow_hosts=10, slow=0.3)
    assert hit == of and false <= 1


@pytest.mark.slow
@pytest.mark.parametrize("family", fleets.FAMILIES)
def test_over_many_fleets_of_500_hosts_few_names_are_false(family) -> None:
    counts = [counted(family, seed, hosts=500) for seed in range(2000, 2008)]
    found, false = sum(hit for hit, _, _ in counts), [wrong for _, _, wrong in counts]
    # Skewed noise reaches as far as what is planted in every fourth fleet.
    assert found >= (4 if family == "lognormal" else 7), counts
    assert sum(false) <= 8 and (family != "normal" or max(false) <= 1), counts


def one_far(noise: np.ndarray, far: float) -> float:
    """The probability of a unit so far on the worse side of the noise."""
    return float(probabilities(np.append(noise, -far), -1.0)[-1])


def test_what_a_far_unit_means_depends_on_the_noise() -> None:
    chosen = np.random.default_rng(1)
    normal, heavy = chosen.normal(0, 0.03, 500), 0.03 * chosen.standard_t(3, 500) / math.sqrt(3)
    assert one_far(normal, 0.25) > 0.95 > 0.5 > one_far(heavy, 0.25)
    assert one_far(heavy, 0.9) > 0.9


def test_a_faster_unit_needs_more_than_a_slower_one() -> None:
    noise = np.random.default_rng(2).normal(0, 0.03, 300)
    slower, faster = (float(probabilities(np.append(noise, sign * 0.15), -1.0)[-1]) for sign in (-1, 1))
    assert slower > faster
    assert float(probabilities(np.append(noise, 0.4), 1.0)[-1]) > 0.95, "for a latency more is worse"


def test_few_units_say_little_about_how_far_is_far() -> None:
    chosen = np.random.default_rng(3)
    few = np.mean([one_far(chosen.normal(0, 0.03, 9), 0.2) for _ in range(20)])
    many = np.mean([one_far(chosen.normal(0, 0.03, 400), 0.2) for _ in range(20)])
    assert few < 0.8 < 0.9 < many


def test_equal_units_are_alike() -> None:
    assert probabilities(np.zeros(20), -1.0).max() < 0.05
    assert probabilities(np.full(20, 1e-9), -1.0).max() < 0.05


def test_the_odds_of_several_looks_are_counted() -> None:
    assert weighed(np.array([0.5, 1.0, 0.0]), 0.1) == pytest.approx([1 / 11, 1.0, 0.0])


def fleet_of(trials) -> rows.FleetSums:
    """`trials`: {(host, load): logarithms}."""
    summary = rows.FleetSums()
    for (host, load), logs in trials.items():
        unit = rows.Unit(host, "sda", "m", "A", "6.1", "single")
        for log in logs:
            summary.add(rows.OperationRow(unit, load, "none", {"rate": math.exp(18 + log)}))
    return summary


def alike(chosen: np.random.Generator, loads=("rand_read", "seq_write")) -> dict[tuple[str, str], np.ndarray]:
    own = chosen.normal(0, 0.02, 40)
    return {(f"h{at}", load): own[at] + chosen.normal(0, 0.02, 4) for at in range(40) for load in loads}


def test_a_unit_whose_repeats_disagree_is_not_called_slow() -> None:
    trials = alike(np.random.default_rng(4))
    trials["h7", "rand_read"] = trials["h7", "rand_read"] + np.array([0.0, -1.2, 0.0, 0.0])
    outliers, _ = unlike(fleet_of(trials))
    assert outliers == []
    trials["h7", "rand_read"] = trials["h8", "rand_read"] - 0.3
    ((outlier,), _) = unlike(fleet_of(trials))
    assert outlier.host == "h7" and outlier.load == "rand_read" and outlier.ratio == pytest.approx(0.74, abs=0.05)


def test_what_each_load_says_weakly_all_say_together() -> None:
    chosen = np.random.default_rng(5)
    loads = tuple(f"load{at}" for at in range(6))
    trials = {(f"h{at}", load): chosen.normal(0, 0.08, 2) for at in range(60) for load in loads}
    for load in loads:
        trials["h5", load] = trials["h5", load] - 0.2
    summary = fleet_of(trials)
    own = figures(summary)
    over = over_loads(own)
    assert over.scale < 0.6 * own[0].scale
    ((outlier,), _) = unlike(summary)
    assert outlier.host == "h5"
    few, _ = unlike(fleet_of({key: logs for key, logs in trials.items() if key[1] == "load0"}))
    assert few == []


def test_hosts_with_different_loads_are_compared_under_what_they_share() -> None:
    chosen = np.random.default_rng(6)
    trials = {(f"h{at}", f"load{at % 2}"): chosen.normal(0, 0.03, 4) for at in range(60)}
    trials["h9", "load1"] = trials["h9", "load1"] - 0.4
    ((outlier,), _) = unlike(fleet_of(trials))
    assert outlier.host == "h9" and outlier.twins == 29
