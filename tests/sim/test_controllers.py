"""Studies with a hardware controller: run and record, facts beside the result, what is refused, the test for fake RAID."""

from __future__ import annotations

import pytest

from seekwise.errors import UsageError
from seekwise.report.insights import find
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.workload.study import planning, starters
from seekwise.workload.study.study import Study

from . import studies


def study(settings: dict | None = None, **system: object) -> Study:
    unit = {"name": "u", "drive": "st3250620ns", "drives": 3, "raid_level": "raid5", "controller": "9650SE-4LPML"}
    load = {"operations": ["rand_read", "rand_write"], "threads": 8, "random_ios": 60}
    return studies.study({**unit, **system}, load, settings)


@pytest.mark.parametrize("kernel", ["2.6.24", "4.4", "6.12"])
def test_a_unit_of_a_controller_is_simulated_under_every_block_layer(kernel: str) -> None:
    scheduler = "mq-deadline" if kernel == "6.12" else "deadline"
    (record,) = studies.carried_out(study({"scheduler": [scheduler]}, kernel=kernel))
    assert [phase.operation for phase in record.phases] == ["rand_read", "rand_write"]
    assert all(phase.bytes == 8 * 60 * 4096 for phase in record.phases)


def test_facts_of_the_controller_stand_with_the_result() -> None:
    given = study(options={"ncq": "off"})
    backend = SimulatedBackend()
    (facts,) = backend.describe(given)
    shown = "\n".join(facts.stack)
    for fact in ("3w-9xxx 2.26.02.010", "224 MB", "FE9X 3.08.00.016", "4 lanes", "mode Performance"):
        assert fact in shown
    (record,) = studies.carried_out(given)
    card = record.environment["controller"]
    assert card["firmware"] == "FE9X 3.08.00.016"
    assert card["ncq"] == "False"


def test_settings_sweep_level_and_chunk_of_a_unit() -> None:
    made = studies.carried_out(
        study({"raid_level": ["raid0", "raid5"], "chunk_kib": [64, 256], "scheduler": ["none"]}, drives=4)
    )
    assert len(made) == 4
    assert len({record.phases[0].latency_mean_ns for record in made}) == 4


def test_ncq_inside_is_the_units_own_setting() -> None:
    throughputs = []
    for ncq in ("on", "off"):
        (record,) = studies.carried_out(study(options={"ncq": ncq}))
        throughputs.append(record.phases[0].rate_bytes_per_s)
    assert throughputs[0] > 1.05 * throughputs[1]


@pytest.mark.parametrize(
    ("system", "word"),
    [
        ({"controller": "9999"}, "9999"),
        ({"controller": "9650SE-2LP"}, "2 ports"),
        ({"drives": 2}, "3 or more"),
        ({"raid_level": "raid10"}, "4 or more"),
    ],
)
def test_what_a_controller_cannot_be_is_refused_in_a_sentence(system: dict, word: str) -> None:
    given = study(**system)
    with pytest.raises(UsageError) as caught:
        planning.make(given, SimulatedBackend().describe(given))
    assert word in str(caught.value)


def test_the_starter_study_tells_hardware_from_fake_raid() -> None:
    given, _ = starters.open_study("fake-raid")
    small = [each.model_copy(update={"runtime": 0.5, "threads": [2]}) for each in given.workload]
    design = given.design.model_copy(update={"blocks": 1, "control": False})
    made = studies.carried_out(given.model_copy(update={"workload": small, "design": design}))
    kinds = {
        unit: finding.numbers["kind"]
        for finding in find(made, given.system)
        if finding.kind == "controller"
        for unit, _ in finding.numbers["pairs"]
    }
    assert kinds == {"hardware": "hardware", "fake": "fake"}
