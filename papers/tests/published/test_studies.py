"""The published studies as files, and what the simulator is asked for them."""

from __future__ import annotations

import pytest

from seekwise.errors import UsageError
from seekwise.simulate import storage_trials
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.workload.study import parse, planning, starters
from seekwise_papers.systems import published, setup_of


@pytest.mark.parametrize("name", starters.names_of("published"))
def test_a_published_study_opens_by_its_name_alone(name):
    study, text = starters.open_study(name)
    assert study.name == name
    assert parse.loads(text, name) == study
    assert starters.open_study(f"published/{name}")[0] == study


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('operations = ["seq_read", "seq_write"]', 'operations = ["rand_read"]', "takes samples in order"),
        ("threads = 1\nblock", "threads = [1, 2]\nblock", "with one thread"),
        (
            "direct = true",
            'direct = false\nmemory_limit = "64m"',
            "with one thread, one request at a time and direct I/O",
        ),
    ],
)
def test_gnome_disks_is_asked_for_nothing_that_it_does_not_do(old, new, says):
    with pytest.raises(UsageError, match=says):
        parse.loads(starters.text("ssd-raid10-gnome-disks").replace(old, new), "study.toml")


def test_a_combination_of_a_study_and_a_question_to_the_world_are_the_same_run():
    study = published()["article-2008"]
    backend = SimulatedBackend()
    plan = planning.make(study, backend.describe(study))
    combination = next(each for each in plan.combinations if each.key == "system=S5 threads=4")
    setting = next(each for each in plan.settings if each.label == "deadline")
    phase_requests = storage_trials.phase_requests(study, backend.systems["S5"], combination, setting, 7)
    asked = next(request for request in phase_requests if request.operation == "seq_read")
    assert asked.spec == setup_of("S5").trial("seq_read", "deadline", 4, 7)
