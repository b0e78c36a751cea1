"""What does not fit on the modelled storage is refused before the first trial, (by the VM testbed, too: proof/tests/testbed)."""

import pytest

from seekwise.errors import UsageError
from seekwise.simulate.protocol import Options
from seekwise.simulate.room import needed_bytes
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.simulate.trial_spec import phase_spec
from seekwise.workload.study import parse
from seekwise.workload.study.plan import Load, PlannedPhase
from seekwise.workload.study.planning import make

STUDY = """
name = "room"
question = "does it fit?"
backend = "simulated"

[[system]]
name = "one"
drive = "wd2500ys"
kernel = "6.1"
options = {{ {options} }}

[settings]
scheduler = ["none"]
{settings}

[[workload]]
name = "load"
operations = ["rand_read"]
threads = [1, 4]
size = "{size}"
"""


def checked(backend, *, size="50g", settings="", options=""):
    study = parse.loads(STUDY.format(size=size, settings=settings, options=options), "room.toml")
    facts = backend.describe(study)
    backend.check(make(study, facts, seed=1))


def test_regions_of_all_threads_have_to_fit():
    checked(SimulatedBackend(Options()))
    with pytest.raises(
        UsageError, match="4 × 75.16 GB of load load do not fit on the 250.1 GB of system one"
    ) as caught:
        checked(SimulatedBackend(Options()), size="70g")
    assert "smaller `size`" in caught.value.hint


def test_each_array_of_a_sweep_is_looked_at():
    stripes, mirror = 'drives = [2]\nraid_level = ["raid0"]', 'drives = [2]\nraid_level = ["raid0", "raid1"]'
    checked(SimulatedBackend(Options()), size="70g", settings=stripes)
    with pytest.raises(UsageError, match="raid_level = raid1"):
        checked(SimulatedBackend(Options()), size="70g", settings=mirror)


def test_a_load_with_a_region_of_its_own_is_the_simulators_to_check():
    checked(SimulatedBackend(Options()), size="70g", options="region_bytes = 1000000")


def test_where_threads_reach_the_whole_drive_those_beside_them_do_too():
    log = Load("log", threads=2, size_bytes=10**12, phases=(PlannedPhase("seq_write"),))
    jobs = phase_spec(Load("web", size_bytes=10**12, beside=(log,)), {"whole_drive": True}, PlannedPhase("rand_read"))[
        "jobs"
    ]
    assert [(job["own_regions"], job.get("region_bytes"), job.get("region_start_bytes")) for job in jobs] == [
        (False, None, None)
    ] * 2


def test_background_jobs_need_room_too():
    background = Load("log", threads=2, size_bytes=10)
    assert needed_bytes(Load("web", threads=3, size_bytes=100, beside=(background,))) == 320
