"""These tests will tell who set a value, notice when it is no longer what was applied, and find who would override a file of ours."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from click.testing import CliRunner

from control.conftest import needs_root
from seekwise.cli.main import cli
from seekwise.cli.status import _ranked_rows
from seekwise.control.lock import devices_locked
from seekwise.control.settings import read_settings
from seekwise.settings import conflicts, history, status
from seekwise.settings.forms import FORMS
from seekwise.settings.history import Evidence
from settings.machine import two_disks

from .test_apply import seekwise


def values(files, state=None) -> dict[tuple[str, str], status.Value]:
    found = status.read(files.tree(), files.stack(), state=state)
    return {(device.device.name, value.attribute): value for device in found.devices for value in device.settings}


def applied(files, wanted, state, **details):
    stack = files.stack()
    before = {name: {"queue/scheduler": "none"} for name in wanted}
    history.remember(history.application_of(wanted, before, stack, reason="run r1: set bfq", **details), state)


def test_a_value_is_attributed_to_the_rule_the_package_and_the_kernel(tmp_path):
    files = two_disks(tmp_path).add({
        "/usr/lib/udev/rules.d/60-io.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="mq-deadline"\n',
        "/var/lib/dpkg/info/io.list": "/usr/lib/udev/rules.d/60-io.rules\n",
    })  # fmt: skip
    found = values(files)
    assert found["sda", "queue/scheduler"].set_by == "udev rule /usr/lib/udev/rules.d/60-io.rules:1, package io"
    assert found["sda", "queue/read_ahead_kb"].source == "kernel"
    assert found["nvme0n1", "queue/scheduler"].source == "kernel"


def test_a_value_that_no_file_explains_is_nobody_s(tmp_path):
    files = two_disks(tmp_path, scheduler="kyber")
    found = values(files)["sda", "queue/scheduler"]
    assert (found.source, found.setter) == ("unknown", None)
    assert "set by hand" in found.set_by


def test_what_seekwise_applied_is_seekwise_s_while_it_is_set_and_drift_when_not(tmp_path):
    files = two_disks(tmp_path / "m", scheduler="bfq")
    applied(files, {"sda": {"queue/scheduler": "bfq"}}, tmp_path)
    before = values(files, tmp_path)["sda", "queue/scheduler"]
    assert before.source == "seekwise" and not before.drift
    files.add({
        "/sys/block/sda/queue/scheduler": "[none] mq-deadline kyber bfq\n",
        "/etc/udev/rules.d/90-other.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="none"\n',
    })  # fmt: skip
    after = values(files, tmp_path)["sda", "queue/scheduler"]
    assert after.drift and after.setter.place == "/etc/udev/rules.d/90-other.rules:1"
    told = " ".join(" ".join(rows) for _, rows in _ranked_rows(_device(files, tmp_path), 80, 2))
    assert "udev rule /etc/udev/rules.d/90-other.rules:1; seekwise applied bfq" in " ".join(told.split())


def _device(files, state):
    return next(device for device in status.read(files.tree(), files.stack(), state=state).devices if device.drift)


def test_what_a_run_sets_while_it_measures_is_neither_another_s_nor_drift(tmp_path):
    files = two_disks(tmp_path / "m", scheduler="kyber")
    applied(files, {"sda": {"queue/scheduler": "bfq"}}, tmp_path)
    assert values(files, tmp_path)["sda", "queue/scheduler"].drift
    with devices_locked(["sda"], files.root):
        found = status.read(files.tree(), files.stack(), state=tmp_path)
        assert {device.name: device.measured_by for device in found.devices} == {"sda": os.getpid(), "nvme0n1": None}
        value = values(files, tmp_path)["sda", "queue/scheduler"]
        assert (value.source, value.drift, found.drift) == ("seekwise", False, False)
    assert values(files, tmp_path)["sda", "queue/scheduler"].drift


def test_a_word_that_the_kernel_answers_with_a_figure_is_no_drift(tmp_path):
    """`-1` written to wbt_lat_usec gives the kernel's default, and that is what it shows: 75 ms of a disk, 2 ms of flash."""
    files = two_disks(tmp_path / "m")
    applied(files, {"sda": {"queue/wbt_lat_usec": "-1"}, "nvme0n1": {"queue/wbt_lat_usec": "-1"}}, tmp_path)
    files.add({"/sys/block/nvme0n1/queue/wbt_lat_usec": "75000\n"})
    found = values(files, tmp_path)
    disk, flash = found["sda", "queue/wbt_lat_usec"], found["nvme0n1", "queue/wbt_lat_usec"]
    assert (disk.source, disk.drift) == ("seekwise", False)
    assert flash.drift


@pytest.mark.parametrize(
    ("kernel", "shown", "source"),
    [("6.18.4", "0", "kernel"), ("6.18.4", "75000", "unknown"), ("6.1.0", "75000", "unknown")],
)
def test_bfq_switches_write_back_throttling_off(tmp_path, kernel, shown, source):
    files = two_disks(tmp_path / "m", scheduler="bfq", kernel=kernel)
    files.add({"/sys/block/sda/queue/wbt_lat_usec": f"{shown}\n"})
    assert values(files, tmp_path)["sda", "queue/wbt_lat_usec"].source == source


def test_a_drive_is_found_again_by_its_serial_when_its_name_moved(tmp_path):
    files = two_disks(tmp_path / "m")
    applied(files, {"sda": {"queue/scheduler": "bfq"}}, tmp_path)
    moved = two_disks(tmp_path / "n", serial="OTHER")
    found = status.read(moved.tree(), moved.stack(), state=tmp_path)
    assert found.missing == ("sda",) and not found.drift


def test_revert_ends_what_is_expected(tmp_path):
    files = two_disks(tmp_path / "m")
    applied(files, {"sda": {"queue/scheduler": "bfq"}}, tmp_path)
    assert status.read(files.tree(), files.stack(), state=tmp_path).drift
    history.reverted(tmp_path)
    assert not status.read(files.tree(), files.stack(), state=tmp_path).drift


def test_evidence_is_stale_once_the_kernel_or_the_firmware_has_changed(tmp_path):
    files = two_disks(tmp_path / "m", scheduler="bfq")
    evidence = Evidence("r1", "2026-01-01T00:00:00+00:00", "6.1.0-17-amd64", {"sda": "A1"})
    applied(files, {"sda": {"queue/scheduler": "bfq"}}, tmp_path, evidence=evidence)
    (device,) = [
        each for each in status.read(files.tree(), files.stack(), state=tmp_path).devices if each.device.name == "sda"
    ]
    assert "measured under kernel 6.1.0-17-amd64" in device.stale[0]


def test_the_firmware_of_the_evidence_is_that_of_the_drive_and_not_of_its_name(tmp_path):
    """Measured as nvme0n1 with firmware A1; the drive is nvme1n1 now, and another one has its name."""
    files = two_disks(tmp_path / "m")
    nvme = "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0"
    files.add({f"{nvme}/firmware_rev": "A1\n"})
    evidence = Evidence("r1", "2026-01-01T00:00:00+00:00", None, {"nvme0n1": "B7", "nvme9n1": "A1"})
    stack = files.stack()
    application = history.application_of(
        {"nvme0n1": {"queue/scheduler": "none"}}, {}, stack, reason="r", evidence=evidence
    )
    # As it was written when the drive was called nvme9n1.
    then = replace(
        application, wanted={"nvme9n1": {"queue/scheduler": "none"}}, drives={"nvme9n1": application.drives["nvme0n1"]}
    )
    history.remember(then, tmp_path)
    (device,) = [
        each for each in status.read(files.tree(), stack, state=tmp_path).devices if each.device.name == "nvme0n1"
    ]
    assert device.device.firmware == "A1" and device.applied
    assert not [line for line in device.stale if "firmware" in line]


def test_a_damaged_line_of_the_history_costs_that_line_only(tmp_path):
    files = two_disks(tmp_path / "m")
    applied(files, {"sda": {"queue/scheduler": "bfq"}}, tmp_path)
    with history.path(tmp_path).open("a") as file:
        file.write('{"half": \n[1]\n')
    applied(files, {"nvme0n1": {"queue/scheduler": "none"}}, tmp_path)
    assert set(history.expected(files.stack(), tmp_path)) == {"sda", "nvme0n1"}


# Conflicts before --persist. The case of CachyOS-Settings issue 228: a udev rule sets one scheduler, then a TuneD profile another.

RULE = {
    "/usr/lib/udev/rules.d/60-ioschedulers.rules": 'ACTION=="add|change", KERNEL=="sd[a-z]*", ATTR{queue/scheduler}="bfq"\n'
}
PROFILE = {
    "/etc/tuned/active_profile": "desktop\n",
    "/etc/systemd/system/multi-user.target.wants/tuned.service": "",
    "/usr/lib/tuned/desktop/tuned.conf": "[disk]\nelevator=mq-deadline\n",
}


@pytest.mark.parametrize(
    ("way", "value", "loses"),
    [
        ("udev", "kyber", {"/usr/lib/udev/rules.d/60-ioschedulers.rules": False, "/usr/lib/tuned/desktop/tuned.conf": True}),
        ("udev", "mq-deadline", {"/usr/lib/udev/rules.d/60-ioschedulers.rules": False}),
        ("sysfs.conf", "bfq", {"/usr/lib/tuned/desktop/tuned.conf": True}),
        # The rule comes back at each change of the device, which TuneD does not hear of.
        ("tuned", "kyber", {"/usr/lib/udev/rules.d/60-ioschedulers.rules": True}),
        ("udev tuned", "kyber", {"/usr/lib/udev/rules.d/60-ioschedulers.rules": False}),
        ("boot", "bfq", {}),
    ],
)  # fmt: skip
def test_a_udev_rule_and_a_tuned_profile_that_disagree_are_both_found(tmp_path, way, value, loses):
    files = two_disks(tmp_path, scheduler="bfq").add({**RULE, **PROFILE})
    found = conflicts.find({"sda": {"queue/scheduler": value}}, way.split(), files.tree(), files.stack())
    assert {conflict.file: conflict.overrides_ours for conflict in found} == loses


@pytest.mark.parametrize(("theirs", "ours"), [("add|change", "add|change"), ("add", "add")])
def test_our_rule_acts_at_a_change_where_an_earlier_one_does(tmp_path, theirs, ours):
    rule = f'ACTION!="{theirs}", GOTO="end"\nKERNEL=="sd[a-z]", ATTR{{queue/scheduler}}="none"\nLABEL="end"\n'
    files = two_disks(tmp_path).add({"/usr/lib/udev/rules.d/60-io.rules": rule})
    wanted = {"sda": {"queue/scheduler": "bfq"}, "nvme0n1": {"queue/scheduler": "bfq"}}
    text = FORMS["udev"](wanted, files.stack()).text
    assert f'ACTION=="{ours}", SUBSYSTEM=="block", ENV{{DEVTYPE}}=="disk", ENV{{ID_SERIAL_SHORT}}=="WD-1"' in text
    assert 'ACTION=="add", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL_SHORT}=="N 1"' in text
    (found,) = conflicts.find(wanted, ["udev"], files.tree(), files.stack())
    assert not found.overrides_ours
    (found,) = conflicts.find(wanted, ["sysfs.conf"], files.tree(), files.stack())
    assert found.overrides_ours is (theirs != "add")


def test_a_udev_rule_with_a_later_name_would_override_ours(tmp_path):
    files = two_disks(tmp_path).add({"/etc/udev/rules.d/99-z.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="none"\n'})
    (found,) = conflicts.find({"sda": {"queue/scheduler": "bfq"}}, ["udev"], files.tree(), files.stack())
    assert found.overrides_ours and "/etc/udev/rules.d/99-z.rules:1" in found.text


def test_two_ways_count_as_the_later_one(tmp_path):
    files = two_disks(tmp_path).add(PROFILE)
    wanted = {"sda": {"queue/scheduler": "bfq"}}
    assert not conflicts.find(wanted, ["udev", "tuned"], files.tree(), files.stack())


def test_our_own_file_is_no_conflict(tmp_path):
    files = two_disks(tmp_path).add({
        "/etc/udev/rules.d/65-seekwise.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="kyber"\n'
    })  # fmt: skip
    assert not conflicts.find({"sda": {"queue/scheduler": "bfq"}}, ["udev"], files.tree(), files.stack())


def test_a_file_that_seekwise_has_written_in_another_way_is_a_conflict_like_any_other(tmp_path):
    files = two_disks(tmp_path).add({"/etc/sysfs.d/seekwise.conf": "block/sda/queue/scheduler = kyber\n"})
    wanted = {"sda": {"queue/scheduler": "bfq"}}
    (found,) = conflicts.find(wanted, ["udev"], files.tree(), files.stack())
    assert found.overrides_ours and found.is_ours
    for ways in (["sysfs.conf"], ["udev", "sysfs.conf"]):
        assert not conflicts.find(wanted, ways, files.tree(), files.stack())


# The command


@needs_root
@pytest.mark.root
def test_status_tells_drift_by_its_exit_status_on_a_real_device(loop, tmp_path):
    before = read_settings(loop)["queue/read_ahead_kb"]
    done = seekwise("apply", "--device", f"/dev/{loop}", "--set", "read_ahead_kb=64", state=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = seekwise("status", f"/dev/{loop}", state=tmp_path)
    assert shown.returncode == 0 and "No drift" in shown.stdout
    with open(f"/sys/block/{loop}/queue/read_ahead_kb", "w") as file:
        file.write("256")
    drifted = seekwise("status", f"/dev/{loop}", "--json", state=tmp_path)
    document = json.loads(drifted.stdout)
    assert drifted.returncode == 5 and document["drift"] is True
    (value,) = [each for each in document["devices"][0]["settings"] if each["attribute"] == "queue/read_ahead_kb"]
    assert (value["expected"], value["value"], value["source"]) == ("64", "256", "unknown")
    # The command that is named brings it back, and only it.
    named = seekwise("status", f"/dev/{loop}", state=tmp_path).stderr.splitlines()[-1].split()
    assert named[0] == "seekwise"  # for root without sudo
    assert seekwise(*named[1:], state=tmp_path).returncode == 0
    assert seekwise("status", f"/dev/{loop}", state=tmp_path).returncode == 0
    with open(f"/sys/block/{loop}/queue/read_ahead_kb", "w") as file:
        file.write("256")
    assert seekwise("revert", state=tmp_path).returncode == 0
    assert read_settings(loop)["queue/read_ahead_kb"] != "64"
    assert seekwise("status", f"/dev/{loop}", state=tmp_path).returncode == 0
    # What somebody else has set meanwhile is his: `revert` leaves it, so the test takes it away.
    with open(f"/sys/block/{loop}/queue/read_ahead_kb", "w") as file:
        file.write(before)


def test_status_of_a_captured_machine_fits_80_columns(tmp_path):
    files = two_disks(tmp_path / "m")
    files.add(
        {
            "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/model": "A MODEL WITH AS LONG A NAME AS SOME MAKERS WRITE INTO THEIR DRIVES\n"
        }
    )
    done = seekwise("status", "--root", str(files.root), state=tmp_path)
    assert done.returncode == 0 and "WRITE INTO" in done.stdout and max(map(len, done.stdout.splitlines())) <= 80


# The first screen


def screen(root, *words: str) -> list[str]:
    done = CliRunner().invoke(cli, ["status", "--root", str(root), *words])
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


def stacked(root):
    """An array of three disks in which a file sets one value, and that names another."""
    files = two_disks(root)
    for number, name in enumerate("bcd"):
        files.add({f"/sys/block/sd{name}/{key}": f"{value}\n" for key, value in {
            "dev": f"8:{16 * number + 16}", "size": "1000", "queue/scheduler": "[none] bfq", "queue/nr_requests": "64", "queue/rotational": "1", "queue/read_ahead_kb": "128",
        }.items()})  # fmt: skip
    return files.add({
        "/sys/block/md0/dev": "9:0\n", "/sys/block/md0/size": "1000\n", "/sys/block/md0/md/level": "raid5\n", "/sys/block/md0/queue/read_ahead_kb": "8192\n",
        "/etc/udev/rules.d/60-md.rules": 'KERNEL=="md0", ATTR{queue/read_ahead_kb}="8192"\nKERNEL=="sdb1", ATTR{queue/scheduler}="bfq"\n',
        "/etc/tune.sh": "blockdev --setra 64 /dev/sda\n",
    })  # fmt: skip


def test_the_first_screen_has_twelve_rows_with_what_somebody_set_first_and_the_next_command_last(tmp_path):
    rows = screen(stacked(tmp_path).root)
    assert len(rows) <= 12 and max(map(len, rows[:-1])) <= 80
    assert rows[0] == "seekwise has applied nothing here."
    assert any(row.startswith("  md0  read_ahead_kb 8192 (udev rule /etc/udev/rules.d/60-md.rules:1") for row in rows)
    # One line for those that are alike; the files that were read stand in --all.
    assert len([row for row in rows if row.startswith("  sdb, sdc, sdd  scheduler ")]) == 1
    assert not any("not evaluated" in row for row in rows)
    more = " ".join(" ".join(screen(tmp_path, "--all")).split())
    assert "not evaluated: /etc/tune.sh:1: names a setting, and what starts it is not known" in more
    assert rows[-1] == f"next: seekwise status --root {tmp_path} --all"


def test_our_own_sources_are_no_place_that_sets_anything(tmp_path):
    line = "echo 64 > /sys/block/sda/queue/read_ahead_kb\n"
    files = two_disks(tmp_path).add({"/opt/x/python/seekwise/a": "", "/opt/x/tests/a.sh": line, "/opt/y/a.sh": line})
    left = status.read(files.tree(), files.stack()).not_evaluated
    assert any("/opt/y/a.sh" in note for note in left) and not any("/opt/x" in note for note in left)


def test_disks_that_are_alike_share_their_rows(tmp_path):
    files = stacked(tmp_path)
    for name in ("sda", "nvme0n1", "md0"):
        (files.root / "sys/block" / name).rename(tmp_path / name)
    rows = screen(files.root)
    assert rows[1].startswith("sdb, sdc, sdd  ") and len([row for row in rows if "scheduler" in row]) == 1


def test_all_shows_every_setting_and_the_places_that_are_not_there(tmp_path):
    rows = screen(stacked(tmp_path).root, "--all")
    said = " ".join(" ".join(rows).split())
    assert len(rows) > 12 and "not there: " in said and "60-md.rules:2" not in said
    assert all(f"{name}  " in "\n".join(rows) for name in ("md0", "sda", "sdb", "sdc", "sdd", "nvme0n1"))


def test_a_dead_line_and_a_long_path_fit_the_first_screen(tmp_path):
    files = two_disks(tmp_path).add({"/proc/cmdline": "elevator=bfq\n", "/etc/udev/rules.d/60-a-file-with-quite-a-long-name-as-some-have.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="mq-deadline"\n'})  # fmt: skip
    said = "".join(row.strip() for row in screen(files.root))
    assert "60-a-file-with-quite-a-long-name-as-some-have.rules:1" in said and "/proc/cmdline does not act" in said


def test_drives_of_zfs_and_volumes_of_lvm_say_what_sets_them(tmp_path):
    files = two_disks(tmp_path, scheduler="none").add({
        "/run/udev/data/b8:0": "E:ID_FS_TYPE=zfs_member\n", "/sys/block/md0/dev": "9:0\n", "/sys/block/md0/size": "1000\n", "/sys/block/md0/md/level": "raid5\n",
        "/sys/block/md0/queue/read_ahead_kb": "4096\n", "/sys/block/dm-0/dev": "253:0\n", "/sys/block/dm-0/size": "1000\n", "/sys/block/dm-0/dm/uuid": "LVM-x\n",
        "/sys/block/dm-0/dm/name": "vg-a\n", "/sys/block/dm-0/queue/read_ahead_kb": "4096\n",
    }).link("/sys/block/dm-0/slaves/md0", "../../md0")  # fmt: skip
    found = {(device.name, value.attribute): value for device in status.read(files.tree(), files.stack()).devices for value in device.settings}  # fmt: skip
    assert found["sda", "queue/scheduler"].why == "ZFS sorts and limits its requests itself"
    assert found["dm-0", "queue/read_ahead_kb"].set_by == "LVM, which takes that of md0 below"
    assert found["nvme0n1", "queue/scheduler"].why == ""
