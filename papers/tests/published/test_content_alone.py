"""A result depends on what a study's file says: not on its name, its place or the order of its systems."""

from __future__ import annotations

import pytest

from seekwise.simulate.simulated import SimulatedBackend
from seekwise.workload.study import parse, planning, starters
from seekwise.workload.study.study import Study

SMALL = {"threads": [1, 2], "operations": ["rand_read", "seq_write"], "size": 32 * 2**20, "random_ios": 40}


def small(name: str, *systems: str) -> Study:
    """Some systems of a published study, briefly loaded."""
    given = starters.open_study(name)[0]
    load = given.workload[0].model_copy(update=SMALL)
    chosen = [system for system in given.system if system.name in systems]
    assert len(chosen) == len(systems)
    design = given.design.model_copy(update={"blocks": 2})
    return given.model_copy(update={"system": chosen, "workload": [load], "design": design})


def results(given: Study) -> dict:
    backend = SimulatedBackend()
    made = planning.make(given, backend.describe(given), seed=5)
    with backend.session(made, "run", lambda _: None) as session:
        records = list(session.run(list(made.trials), {}))
    found = {
        (each.combination, each.setting, each.repetition, each.conditions["role"]): each.phases for each in records
    }
    assert len(found) == len(records)
    return found


@pytest.mark.parametrize(
    ("name", "systems"), [("article-2008", ("S1", "S5", "B")), ("nvme-page", ("NVME", "T430s-SSD"))]
)
def test_another_name_and_another_order_of_systems_give_the_same_bits(name, systems):
    given = small(name, *systems)
    usual = results(given)
    assert results(given.model_copy(update={"name": "mine"})) == usual
    assert results(given.model_copy(update={"system": list(reversed(given.system))})) == usual
    alone = results(given.model_copy(update={"system": given.system[:1]}))
    assert alone == {key: phases for key, phases in usual.items() if key[0] in {each for each, *_ in alone}}


def test_the_host_is_the_one_that_the_file_names():
    given = small("article-2008", "S1")
    (system,) = given.system
    plain = system.model_copy(update={"options": {k: v for k, v in system.options.items() if k != "host"}})
    assert results(given.model_copy(update={"system": [plain]})) != results(given)


def test_a_published_study_is_read_the_same_from_anywhere(tmp_path):
    text = starters.open_study("tiobench-comparison")[1]
    moved = tmp_path / "other.toml"
    moved.write_text(text.replace('name = "tiobench-comparison"', 'name = "other"'), encoding="utf-8")
    there = parse.load_with_text(moved)[0]
    assert [system.options["host"] for system in there.system] == ["opteron_2212", "opteron_2212"]
