"""The short form of the laboratory: one kernel, a few combinations, the same bytes twice, and the simulator beside it."""

from __future__ import annotations

import pytest

from seekwise.simulate import backends
from seekwise.simulate.protocol import Options
from seekwise.workload.study import parse, planning
from seekwise_proof.testbed import machine
from seekwise_proof.testbed.cpio import CpioEntry

# Booting takes seconds; making the image the first time fetches 75 MB and compiles fio and the drive server.
pytestmark = pytest.mark.timeout(1500)

STUDY = """
name = "short form"
[[system]]
name = "disk"
drive = "wd2500ys"
kernel = "6.1"
options = { budget = false, hz = 250 }
[[system]]
name = "array"
drive = "wd2500ys"
drives = 2
raid_level = "raid1"
kernel = "6.1"
[[candidate]]
scheduler = "mq-deadline"
[[candidate]]
scheduler = "bfq"
iosched.low_latency = 0
[[workload]]
operations = ["rand_read", "rand_write"]
threads = [8]
size = "8g"
runtime = "4s"
end_fsync = false
[design]
blocks = 1
control = false
sentinel = false
"""


def run(name: str, text: str, study: str = STUDY) -> list:
    study = parse.loads(study, "here").model_copy(update={"backend": name})
    backend = backends.get(name, Options())
    made = planning.make(study, backend.describe(study))
    with backend.session(made, text, print) as session:
        return list(session.run(list(made.trials), {}))


@pytest.fixture(scope="module")
def twice(guest):
    guest("6.1")
    return run("lab", "first"), run("lab", "second")


def test_two_runs_are_the_same_to_the_last_bin(twice):
    first, second = twice
    assert [r.phases for r in first] == [r.phases for r in second]
    assert [r.settings_seen for r in first] == [r.settings_seen for r in second]


def test_records_are_ordinary_ones_with_the_provenance_virtual(twice):
    for record in twice[0]:
        assert record.provenance == "virtual" and record.valid, record.invalid_reason
        assert all(phase.ios > 100 and phase.device_bytes >= phase.bytes for phase in record.phases)
        assert record.settings_seen["nbd0"]["queue/scheduler"] == record.factors["scheduler"]
        assert record.settings_seen["nbd0"]["queue/rotational"] == "1"
        assert record.load["jobs"]


def test_a_mirror_writes_twice_and_reads_once(twice):
    array = [record for record in twice[0] if record.factors["system"] == "array"]
    for record in array:
        read, write = record.phases
        assert read.device_bytes == pytest.approx(read.bytes, rel=0.05)
        assert write.device_bytes == pytest.approx(2 * write.bytes, rel=0.05)


def test_the_simulator_predicts_a_disk_in_the_laboratory(twice):
    alone = STUDY.split('[[system]]\nname = "array"')[0] + "[[candidate]]" + STUDY.split("[[candidate]]", 1)[1]
    simulated = {(r.combination, r.setting): r for r in run("simulated", "third", alone)}
    compared = 0
    for record in twice[0]:
        for other in (r for (_, setting), r in simulated.items() if setting == record.setting):
            if record.factors["system"] != "disk":
                continue
            read, predicted = record.phases[0], other.phases[0]
            compared += 1
            # Some 450 requests each, of other addresses: two standard deviations of their mean.
            assert predicted.iops == pytest.approx(read.iops, rel=0.1)
    assert compared == 2


def test_a_script_that_fails_says_so_and_what_it_said_last(guest):
    boot = machine.Boot(guest("6.1"), {"cell/run.sh": CpioEntry.file(b"echo it is broken\nfalse\n")}, 300)
    with pytest.raises(machine.GuestError, match="script failed; last it said: it is broken"):
        machine.boot(boot)


def test_a_guest_that_does_not_end_is_stopped(guest):
    boot = machine.Boot(guest("6.1"), {"cell/run.sh": CpioEntry.file(b"while :; do :; done\n")}, 15)
    with pytest.raises(machine.GuestError, match="did not end within 15 s"):
        machine.boot(boot)
