"""The simulated backend behind the same protocol as the kernel's."""

from __future__ import annotations

import json

import pytest

from seekwise import _core
from seekwise.backend.protocol import Options
from seekwise.backend.simulated import SimulatedBackend
from seekwise.errors import UsageError
from seekwise.study import plan as plans
from seekwise.study.model import Study


def study(**changes: object) -> Study:
    """A small study on a modelled disk."""
    text: dict[str, object] = {
        "name": "small",
        "backend": "simulated",
        "system": [{"name": "disk", "drive": "generic_1tb_sata", "kernel": "4.4"}],
        "settings": {"scheduler": ["noop", "deadline"]},
        "workload": [{"operations": ["rand_read"], "threads": [4], "runtime": "200ms"}],
        "design": {"blocks": 2},
    }
    return Study.model_validate({**text, **changes})


def records(given: Study) -> list:
    backend = SimulatedBackend()
    plan = plans.make(given, backend.describe(given))
    with backend.session(plan, "run", lambda _: None) as session:
        return list(session.run(list(plan.trials), {}))


def test_every_trial_gives_a_record_with_the_badge_and_the_models():
    made = records(study())
    assert {record.badge for record in made} == {"simulated"}
    for record in made:
        assert record.load["model_version"] == _core.model_version()
        assert record.load["seed"] == record.seed
        assert record.load["models"]["scheduler"] == record.factors["scheduler"]
        phase = record.phases[0]
        assert phase.ios == sum(phase.latency_bins.values()) > 0
        assert phase.bytes == phase.device_bytes == phase.ios * 4096
        assert phase.cpu.system_cpu > 0


def test_the_same_study_gives_the_same_numbers_and_repeats_differ_by_their_seed():
    first, again = records(study()), records(study())
    assert [each.phases for each in first] == [each.phases for each in again]
    noop = [each for each in first if each.setting == "noop"]
    assert len({each.phases[0].latency_mean_ns for each in noop}) == len(noop) > 1
    assert len({each.seed for each in first}) == len(first)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"settings": {"scheduler": ["mq-deadline"]}}, "Linux 4.4 has no mq-deadline"),
        ({"settings": {"nr_requests": [1]}}, "nr_requests is 1 requests, outside 4 to 65536 requests"),
        ({"system": [{"name": "x", "drive": "no such drive"}]}, "no drive model is called"),
        ({"system": [{"name": "x"}]}, "has no `drive`"),
    ],
)
def test_what_cannot_be_simulated_is_said_before_the_first_trial(changes, said):
    with pytest.raises(UsageError, match=said):
        SimulatedBackend().describe(study(**changes))


def test_a_target_replaces_the_drive_and_nothing_can_be_destroyed():
    facts = SimulatedBackend(Options(target="wd2500ys")).describe(study())
    assert "WD2500YS" in facts[0].target
    with pytest.raises(UsageError, match="touches none"):
        SimulatedBackend(Options(destroy=("x",)))


def test_progress_is_told_and_its_exception_stops_the_run():
    spec = {
        "seed": 1,
        "device": {"model": "null"},
        "queue": {"scheduler": "none", "kernel": "6.1"},
        "phases": [
            {"operation": "rand_read", "jobs": [{"pattern": "random", "block_bytes": 4096, "ios": 10, "threads": 2}]}
        ],
    }
    told: list[tuple[int, int]] = []
    results = json.loads(_core.simulate_cells(json.dumps([spec] * 5), 2, lambda done, of: told.append((done, of))))
    assert told == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    assert [each["phases"][0]["ios"] for each in results] == [20] * 5

    def stop(done: int, of: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        _core.simulate_cells(json.dumps([spec] * 5), 1, stop)
    with pytest.raises(ValueError, match="missing field `seed`"):
        _core.simulate_cells("[{}]")
