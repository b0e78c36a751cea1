"""What was applied with --persist, after suspend, when a drive comes back under another name, and under a new kernel."""

from __future__ import annotations

import pytest

from seekwise.linux.setters import find_setters
from seekwise.settings import history, persist, status
from seekwise.settings.history import Evidence
from settings.machine import Files, two_disks

KERNEL = "6.1.0-18-amd64"
WANTED = {"sda": {"queue/scheduler": "bfq", "queue/read_ahead_kb": "512"}}
RULES = "/etc/udev/rules.d/65-seekwise.rules"


def kept(files: Files) -> str:
    """The rule that `apply --persist udev` writes for this machine."""
    short = {name: {key.partition("/")[2]: value for key, value in each.items()} for name, each in WANTED.items()}
    return persist.file_for("udev", short, files.stack()).text


@pytest.fixture
def before(tmp_path) -> Files:
    """A machine on which a run was applied and persisted, with its values in force."""
    files = two_disks(tmp_path / "before", scheduler="bfq", kernel=KERNEL)
    files.add({RULES: kept(files), "/sys/block/sda/queue/read_ahead_kb": "512\n"})
    was = {"sda": {"queue/scheduler": "mq-deadline", "queue/read_ahead_kb": "128"}}
    details = {"persisted": [RULES], "evidence": Evidence("r1", "2026-01-01T00:00:00+00:00", KERNEL)}
    history.remember(history.application_of(WANTED, was, files.stack(), reason="run r1", **details), tmp_path)
    return files


def of(files: Files, state, name: str) -> status.DeviceStatus:
    found = status.read(files.tree(), files.stack(), state=state)
    return next(each for each in found.devices if each.device.name == name)


def ours(files: Files, name: str) -> dict[str, str]:
    """What the persisted rule sets on this device when it appears."""
    found = find_setters(files.tree(), files.stack())
    return {each.attribute: each.value for each in found if each.device == name and each.is_ours}


def test_what_is_still_there_after_resume_is_no_drift(before, tmp_path):
    device = of(before, tmp_path, "sda")
    assert not device.drift and not device.stale
    assert {each.source for each in device.settings if each.expected is not None} == {"seekwise"}


def test_a_value_that_suspend_has_lost_is_drift_and_the_file_that_keeps_it_is_not_blamed(before, tmp_path):
    """A controller that is reset gives the kernel's read-ahead again, and no uevent makes udev apply its rule."""
    before.add({"/sys/block/sda/queue/read_ahead_kb": "128\n"})
    device = of(before, tmp_path, "sda")
    lost = {each.attribute: each for each in device.settings if each.drift}
    assert set(lost) == {"queue/read_ahead_kb"}
    value = lost["queue/read_ahead_kb"]
    assert (value.value, value.expected, value.source) == ("128", "512", "kernel")
    assert not value.others, "our own rule is no rival"
    assert ours(before, "sda")["queue/read_ahead_kb"] == "512", "the next start sets it again"


def test_a_drive_that_comes_back_under_another_name_gets_its_values_by_its_serial(before, tmp_path):
    again = two_disks(tmp_path / "again", disk="sdb", scheduler="bfq")
    again.add({RULES: before.tree().text(RULES), "/sys/block/sdb/queue/read_ahead_kb": "512\n"})
    assert ours(again, "sdb") == WANTED["sda"]
    found = status.read(again.tree(), again.stack(), state=tmp_path)
    assert found.missing == () and not found.drift
    assert of(again, tmp_path, "sdb").applied, "status follows the drive, not the name"


def test_another_drive_under_the_old_name_is_left_alone(before, tmp_path):
    other = two_disks(tmp_path / "other", serial="WD-2").add({RULES: before.tree().text(RULES)})
    assert ours(other, "sda") == {}
    found = status.read(other.tree(), other.stack(), state=tmp_path)
    assert found.missing == ("sda",) and not found.drift


def test_a_drive_that_comes_back_without_its_values_is_drift(before, tmp_path):
    """As when the file was removed in between."""
    again = two_disks(tmp_path / "again", disk="sdb")
    device = of(again, tmp_path, "sdb")
    assert {each.attribute for each in device.settings if each.drift} == set(WANTED["sda"])


def test_a_new_kernel_makes_the_evidence_old_and_keeps_the_values(before, tmp_path):
    before.add({"/proc/sys/kernel/osrelease": "6.18.2-amd64\n"})
    device = of(before, tmp_path, "sda")
    assert not device.drift and ours(before, "sda") == WANTED["sda"]
    assert device.stale == (f"run r1 was measured under kernel {KERNEL}, this is 6.18.2-amd64",)


def test_a_scheduler_that_the_new_kernel_does_not_have_is_drift(before, tmp_path):
    new = two_disks(tmp_path / "new", kernel="6.18.2-amd64", offered=("none", "mq-deadline", "kyber"))
    new.add({RULES: before.tree().text(RULES), "/sys/block/sda/queue/read_ahead_kb": "512\n"})
    device = of(new, tmp_path, "sda")
    (value,) = [each for each in device.settings if each.drift]
    assert (value.attribute, value.value, value.source) == ("queue/scheduler", "mq-deadline", "kernel")
