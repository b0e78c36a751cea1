"""A kernel that offers schedulers that no table of ours knows: read, measured, set, restored and shown like any other.

The stand-in tree shows what ADIOS 3 shows (block/adios.c of github.com/firelzrd/adios, read in 2026: names and permissions of its
attributes), and a second scheduler as one in BPF would: a name, and no attributes at all.
"""

from __future__ import annotations

import os

import pytest

from report import sample_live
from seekwise.control import recovery, settings, sysfs
from seekwise.control.switching import switching
from seekwise.errors import UsageError
from seekwise.linux.document import devices_document
from seekwise.linux.resolve import resolve_path
from seekwise.measure.kernel.target import Target
from seekwise.measure.live import candidates
from seekwise.report.device_words import settings_lines
from seekwise.report.explain import _offered_here
from seekwise.report.looks import Looks
from seekwise.report.outcome import content_of
from seekwise.report.page import render
from seekwise.settings import apply, status
from seekwise.settings.forms import boot

from .machine import two_disks

OFFERED = ("none", "mq-deadline", "adios", "ufq")
SETTINGS = {"lat_target_read": "1000000", "read_priority": "-7", "global_latency_window": "16000000"}
LEARNED = {"lat_model_read": "base : 21483 ns\nslope: 3129 ns/KiB", "batch_actual_max": "Total:   3\nRead:    3"}
"""Two lines each; `lat_model_read` may be written, in another form than it is shown in."""
VERSION, SWITCH, COUNTER = "adios_version", "reset_lat_model", "batch_order"


def fill(folder, scheduler: str) -> None:
    (folder / "queue/scheduler").write_text(
        " ".join(f"[{name}]" if name == scheduler else name for name in OFFERED) + "\n"
    )
    (folder / "queue/nr_requests").write_text("64\n" if scheduler == "none" else "256\n")
    tunables = folder / "queue/iosched"
    tunables.mkdir(exist_ok=True)
    for old in tunables.iterdir():
        old.unlink()
    shown = {"read_expire": "500"} if scheduler == "mq-deadline" else {}
    if scheduler == "adios":
        (folder / "queue/wbt_lat_usec").write_text("0\n")
        shown = {**SETTINGS, **LEARNED, VERSION: "3.1.9", SWITCH: "", COUNTER: "0"}
    for name, text in shown.items():
        (tunables / name).write_text(text + "\n")
    if scheduler == "adios":
        os.chmod(tunables / VERSION, 0o444)
        os.chmod(tunables / SWITCH, 0o200)


@pytest.fixture
def machine(kernel, monkeypatch):
    """Two disks; `sda` runs under ADIOS. The kernel switches as Linux does, and ADIOS goes on learning at every write."""
    files = two_disks(kernel.root)
    folder = kernel.root / "sys/block/sda"
    fill(folder, "adios")

    def write(path, value):
        name = str(path.relative_to(folder))
        kernel.written.append((name, value))
        if name == "queue/scheduler":
            if value not in OFFERED:
                raise OSError(22, "Invalid argument")
            if f"[{value}]" not in path.read_text():
                fill(folder, value)
            return
        assert not name.endswith((VERSION, SWITCH)), "what cannot be restored is not written"
        if name.endswith(COUNTER):
            raise OSError(
                5, "Input/output error"
            )  # as old ADIOS: may be written by its mode, and has no function for it
        kernel.real_write(path, value)

    monkeypatch.setattr(sysfs, "write", write)
    real = sysfs.device_folder
    monkeypatch.setattr(sysfs, "device_folder", lambda device, root=kernel.root: real(device, kernel.root))
    return files


def learn(folder) -> None:
    (folder / "queue/iosched/lat_model_read").write_text("base : 99 ns\nslope: 1 ns/KiB\n")
    (folder / "queue/iosched" / COUNTER).write_text("7\n")


def test_it_is_read_and_shown(machine):
    stack = machine.stack()
    disk = stack.devices["sda"]
    assert (disk.scheduler, disk.schedulers_offered) == ("adios", OFFERED)
    assert disk.iosched["lat_target_read"] == "1000000" and not set(LEARNED) & set(disk.iosched)
    lines = dict(settings_lines(disk))
    assert lines["scheduler"] == "adios   offered: none, mq-deadline, ufq" and "read_priority -7" in lines["tunables"]
    (shown,) = (each for each in devices_document(stack).devices if each.name == "sda")
    assert shown.schedulers_offered == OFFERED
    explained = _offered_here("adios", machine.root)
    assert explained.kind == "scheduler" and "lat_target_read 1000000" in explained.text
    assert "offered by sda" in _offered_here("ufq", machine.root).text and _offered_here("nope", machine.root) is None


def test_status_does_not_claim_to_know_the_default_of_a_patched_kernel(machine):
    (disk,) = (each for each in status.read(machine.tree(), machine.stack()).devices if each.device.name == "sda")
    values = {value.attribute: value for value in disk.settings}
    assert values["queue/scheduler"].value == "adios" and values["queue/scheduler"].source == "unknown"
    assert values["queue/scheduler"].set_by == values["queue/wbt_lat_usec"].set_by == "the default, or set by hand"


def target(machine) -> Target:
    return Target(machine.root, resolve_path(machine.stack(), "/dev/sda"))


def test_each_is_a_candidate_and_is_switched_to_under_load_and_everything_comes_back(machine, kernel, journal):
    folder = kernel.root / "sys/block/sda"
    (folder / "queue/iosched/lat_target_read").write_text("777\n")
    before = settings.read_settings("sda", kernel.root)
    found = candidates.of_schedulers(target(machine))
    assert [each.label for each in found.all] == ["adios", "none", "mq-deadline", "ufq"] and found.all[0].in_force
    with switching([each.changes for each in found.all], kernel.root, journal) as switch:
        for each in (*found.all, *reversed(found.all)):
            switch.to(each.changes)
            assert switch.read_back()["sda"]["queue/scheduler"] == each.values["scheduler"]
            if each.values["scheduler"] == "adios":
                assert switch.read_back()["sda"]["queue/iosched/lat_target_read"] == "777"
                learn(folder)
    assert settings.read_settings("sda", kernel.root) == before | {f"queue/iosched/{COUNTER}": "7"}
    assert journal.is_empty()


def test_a_tunable_of_it_is_varied(machine, kernel, journal):
    wanted = candidates.parse_vary(["iosched.lat_target_read=1000000,2000000"])
    found = candidates.of_factors(target(machine), wanted)
    assert [each.in_force for each in found.all] == [True, False]
    with switching([each.changes for each in found.all], kernel.root, journal) as switch:
        switch.to(found.all[1].changes)
        assert switch.read_back()["sda"]["queue/iosched/lat_target_read"] == "2000000"
    assert (kernel.root / "sys/block/sda/queue/iosched/lat_target_read").read_text() == "1000000\n"


@pytest.mark.parametrize("there, back", [("adios", "ufq"), ("ufq", "adios"), ("mq-deadline", "adios")])
def test_it_is_applied_reverted_and_undone_by_hand(machine, kernel, journal, there, back):
    folder = kernel.root / "sys/block/sda"
    fill(folder, back)
    before = settings.read_settings("sda", kernel.root)
    done = apply.apply({"sda": {"scheduler": there}}, kernel.root, journal)
    assert f"[{there}]" in (folder / "queue/scheduler").read_text()
    undo = " ".join(done.lines.undo)
    assert f"echo {back}" in undo and VERSION not in undo and SWITCH not in undo and "lat_model" not in undo
    assert ("wbt_lat_usec" in undo) == ("queue/wbt_lat_usec" in before)
    assert all(outcome.state != "failed" for outcome in recovery.revert_all(journal))
    assert settings.read_settings("sda", kernel.root) == before


def test_a_scheduler_that_goes_away_meanwhile_is_said_and_not_passed_over(machine, kernel, journal):
    """A scheduler in BPF leaves with the program that loaded it."""
    folder = kernel.root / "sys/block/sda"
    fill(folder, "ufq")
    apply.apply({"sda": {"scheduler": "none"}}, kernel.root, journal)
    (folder / "queue/scheduler").write_text("[none] mq-deadline adios\n")
    global OFFERED
    offered, OFFERED = OFFERED, ("none", "mq-deadline", "adios")
    try:
        (outcome,) = recovery.revert_all(journal)
    finally:
        OFFERED = offered
    assert outcome.state == "failed" and 'queue/scheduler should be "ufq"' in " ".join(outcome.sentences)
    with pytest.raises(UsageError, match='does not offer scheduler "ufq"'):
        settings.check_values({"sda": {"scheduler": "ufq"}}, kernel.root)


def test_its_module_is_loaded_at_boot_where_it_has_one(machine):
    with pytest.raises(UsageError, match="no module is needed at boot for adios"):
        boot.file({"sda": {"queue/scheduler": "adios"}}, machine.stack())
    machine.add({"/sys/module/adios/initstate": "live\n"})
    assert boot.file({"sda": {"queue/scheduler": "adios"}}, machine.stack()).text.endswith("\nadios\n")


def test_its_run_is_shown_in_colours_of_its_own(monkeypatch):
    monkeypatch.setattr(sample_live, "SPEED", {"mq-deadline": 1.0, "adios": 1.4, "ufq": 0.6, "none": 0.9})
    found = sample_live.live_outcome.__wrapped__(count=4)
    page = render(content_of(found))
    fastest = [each.standing("adios").verdict for each in found.decided.judged if each.metric == "rate"]
    assert fastest and set(fastest) == {"better"} and page.count("adios") > 4 and page.count("ufq") > 4
    colours = [look.colour for look in Looks().by_label(["adios", "ufq", "none", "mq-deadline"]).values()]
    assert len(set(colours)) == 4
