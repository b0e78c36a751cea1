"""The simulated backend behind the same protocol as the kernel's."""

from __future__ import annotations

import json

import pytest

from seekwise import _core
from seekwise.errors import UsageError
from seekwise.simulate.protocol import Options
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.workload.study import planning
from seekwise.workload.study.study import Study


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
    plan = planning.make(given, backend.describe(given))
    with backend.session(plan, "run", lambda _: None) as session:
        return list(session.run(list(plan.trials), {}))


def test_every_trial_gives_a_record_with_the_provenance_and_the_models():
    made = records(study())
    assert {record.provenance for record in made} == {"simulated"}
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
        ({"settings": {"write_cache": ["write back", "write through"]}}, "does not model `write_cache`"),
        (
            {"workload": [{"operations": ["rand_write"], "end_fsync": True, "runtime": "200ms"}]},
            "`end_fsync` on a bare drive or array is not modelled",
        ),
        (
            {"workload": [{"operations": ["rand_write"], "sync": True, "runtime": "200ms"}]},
            "`sync` on a bare drive or array is not modelled",
        ),
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


def array(**changes: object) -> Study:
    """A small study on a modelled array with page cache."""
    text: dict[str, object] = {
        "name": "small array",
        "backend": "simulated",
        "system": [{"name": "r1", "drive": "st3250620ns", "drives": 2, "raid_level": "raid1", "kernel": "2.6.24"}],
        "settings": {"scheduler": ["deadline", "cfq"]},
        "workload": [
            {"operations": ["seq_read"], "threads": [2], "direct": False, "memory_limit": "64m", "size": "512m"}
        ],
        "design": {"blocks": 2, "control": False, "sentinel": False},
    }
    return Study.model_validate({**text, **changes})


def test_an_array_behind_the_page_cache_gives_records_like_any_other():
    made = records(array())
    assert len(made) == 4
    assert {record.factors["memory_bytes"] for record in made} == {64 * 2**20}
    for record in made:
        (phase,) = record.phases
        assert phase.operation == "seq_read"
        assert 30e6 < phase.rate_bytes_per_s < 200e6


def test_memory_sizes_are_combinations():
    given = array(
        workload=[
            {
                "operations": ["seq_read"],
                "direct": False,
                "memory_limit": ["16m", "32m"],
                "size": "256m",
            }
        ]
    )
    plan = planning.make(given, SimulatedBackend().describe(given))
    assert [combination.key for combination in plan.combinations] == [
        "system=r1 threads=1 memory=16m",
        "system=r1 threads=1 memory=32m",
    ]


def test_what_is_not_modelled_has_no_number_and_is_said():
    from seekwise.report.outcome import not_modelled_notes

    given = array(
        system=[{"name": "r9", "drive": "st3250620ns", "drives": 2, "raid_level": "raid9", "kernel": "2.6.24"}]
    )
    made = records(given)
    assert all(not record.phases for record in made)
    (note,) = not_modelled_notes(made)
    assert "4 of 4 operations have no answer" in note
    assert "raid9" in note


def test_an_unknown_option_of_an_array_is_named():
    given = array(
        system=[{"name": "r1", "drive": "st3250620ns", "drives": 2, "raid_level": "raid1", "options": {"nqc": "on"}}]
    )
    with pytest.raises(UsageError, match="unknown option `nqc`"):
        SimulatedBackend().describe(given)


def on_laboratory(**options: object) -> Study:
    system = {
        "name": "disk",
        "drive": "wd2500ys",
        "kernel": "6.1",
        "options": {"budget": False, "processors": 1, **options},
    }
    load = {"operations": ["seq_read"], "threads": [2], "block_bytes": "128k", "size": "4g", "runtime": "1s"}
    return study(system=[system], settings={"scheduler": ["none"]}, workload=[load], design={"blocks": 1})


def test_a_host_model_says_what_a_request_costs():
    light, laboratory = (records(on_laboratory(**options))[0].phases[0] for options in ({}, {"host": "laboratory"}))
    assert laboratory.cpu.system_cpu / laboratory.ios > 2 * light.cpu.system_cpu / light.ios


@pytest.mark.parametrize(
    ("options", "said"), [({"host": "abacus"}, "abacus"), ({"host": "laboratory", "wake_ns": 1}, "no other costs")]
)
def test_a_host_that_cannot_be_is_said_before_the_first_trial(options, said):
    given = on_laboratory(**options)
    with pytest.raises(UsageError, match=said):
        SimulatedBackend().describe(given)


def test_a_drive_that_has_just_been_attached_gives_its_first_reader_a_head_start():
    plain, scanned = (records(on_laboratory(**options)) for options in ({}, {"partition_scan": True}))
    for record in (*plain, *scanned):
        assert [phase.operation for phase in record.phases] == ["seq_read"]

    def ahead(given: list) -> int:
        spec = {**given[0].load["spec"], "trace_events_max": 1000}
        (result,) = json.loads(_core.simulate_cells(json.dumps([spec]), 1))
        start = result["phases"][-1]["started_ns"]
        rows = [row for row in result["trace"]["rows"] if row[1] == "complete" and row[0] >= start][:40]
        return sum(1 if row[5] == 1 else -1 for row in rows)

    assert ahead(scanned) > ahead(plain)


@pytest.mark.parametrize(("kernel", "waits"), [("5.10", True), ("6.12", False)])
def test_programs_in_a_group_of_their_own_are_waited_for_by_bfq_up_to_6_1(kernel, waits):
    """Linux 6.1 block/bfq-iosched.c: with any group but the root every queue is idled for, from 6.2 on only with two."""
    rates = {}
    for scheduler in ("bfq", "mq-deadline"):
        for cgroup in (False, True):
            system = {"name": "ssd", "drive": "intel_p3700", "kernel": kernel, "options": {"cgroup": cgroup}}
            workload = [{"operations": ["rand_read"], "threads": [8], "runtime": "500ms"}]
            settings = (
                {"scheduler": [scheduler], "iosched.low_latency": [0]}
                if scheduler == "bfq"
                else {"scheduler": [scheduler]}
            )
            made = records(study(system=[system], settings=settings, workload=workload))
            rates[scheduler, cgroup] = made[0].phases[0].ios
    assert rates["mq-deadline", True] == rates["mq-deadline", False]
    assert (rates["bfq", True] < 0.95 * rates["bfq", False]) == waits
    assert waits or rates["bfq", True] == rates["bfq", False]
