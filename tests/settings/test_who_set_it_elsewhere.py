"""Further places and programs that set a disk's values, lines there that do nothing, and files that nothing known starts.

The files are written here after forms that distributions and people publish: hooks of initial RAM disks, OpenRC's and Android's services,
options of modules, iSCSI records, programs that switch a drive's cache.
"""

from __future__ import annotations

import pytest

from seekwise.linux.setters import survey
from seekwise.settings import status
from settings.test_who_set_it import NVME, RC, RULE, SDA, UNIT, ineffective, machine, set_by

WRITE = "echo bfq > /sys/block/sda/queue/scheduler"
WANTS = "/etc/systemd/system/multi-user.target.wants"
STORE = "/nix/store/abc-unit-script-io-start/bin/io-start"
PLACES = {
    "/etc/initcpio/hooks/io": ({"/etc/mkinitcpio.conf": "HOOKS=(base udev io filesystems)\n"}, "#!/usr/bin/ash\nrun_hook() {{\n {}\n}}\n"),
    "/usr/lib/dracut/modules.d/99io/io.sh": ({}, "#!/bin/sh\n{}\n"),
    "/usr/share/initramfs-tools/scripts/init-premount/io": ({}, "#!/bin/sh\n{}\n"),
    STORE: ({UNIT: f"[Service]\nExecStart={STORE}\n"}, "#!/nix/store/q-bash-5.2/bin/bash\n{}\n"),
    "/etc/systemd/system-generators/io": ({}, "#!/bin/sh\n{}\n"),
    "/etc/s6-rc/source/io/up": ({}, "redirfd -w 1 /sys/block/sda/queue/scheduler\necho bfq\n"),
    "/etc/s6/adminsv/io/run": ({}, "#!/bin/execlineb -P\n# io\nredirfd -w 1 /sys/block/sda/queue/scheduler\necho bfq\n"),
    "/etc/config/autorun.sh": ({}, "#!/bin/sh\n{}\n"),
    "/etc/crontabs/root": ({}, "@reboot {}\n"),
    "/data/adb/modules/io/post-fs-data.sh": ({}, "#!/system/bin/sh\n{}\n"),
    "/product/etc/init/io.rc": ({}, "on boot\n    write /sys/block/sda/queue/scheduler bfq\n"),
    "/vendor/bin/io.sh": ({"/vendor/etc/init/io.rc": "service io /vendor/bin/io.sh\n    oneshot\n"}, "#!/vendor/bin/sh\n{}\n"),
    "/etc/dhcp/dhclient-exit-hooks.d/io": ({}, "{}\n"),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_place_where_scripts_lie_is_read(place, tmp_path):
    others, text = PLACES[place]
    made = machine(tmp_path, {**others, place: text.format(WRITE)}, scheduler="bfq")
    found = set_by(made, "sda")
    assert f" {place}:" in found or f" of {place} writes scheduler (" in found, found


def test_an_init_script_of_openwrt_is_started_by_its_link(tmp_path):
    made = machine(tmp_path, {"/etc/init.d/io": f"#!/bin/sh /etc/rc.common\nSTART=99\nstart() {{ {WRITE}; }}\n"}, scheduler="bfq")  # fmt: skip
    made.link("/etc/rc.d/S99io", "../init.d/io")
    assert set_by(made, "sda") == "line 3 of /etc/init.d/io writes scheduler (in a function: look there)"


def test_a_hook_that_mkinitcpio_does_not_name_sets_nothing_and_is_still_shown(tmp_path):
    hook = "/etc/initcpio/hooks/io"
    made = machine(tmp_path, {hook: f"run_hook() {{\n {WRITE}\n}}\n", "/etc/mkinitcpio.conf": "HOOKS=(base udev)\n"}, scheduler="bfq")  # fmt: skip
    assert "none of the places" in set_by(made, "sda")
    found = status.read(made.tree(), made.stack())
    assert found.not_evaluated == (f"{hook}:2: names a setting, and what starts it is not known",)


@pytest.mark.parametrize("file", ["/etc/66/service/io", "/etc/cont-init.d/10-io", "/share/D1/.qpkg/autorun/autorun.sh", "/opt/tune.sh"])  # fmt: skip
def test_a_file_of_which_nobody_knows_what_starts_it_is_named(file, tmp_path):
    made = machine(tmp_path, {file: f"#!/bin/sh\n{WRITE}\n", f"{file}.bak": WRITE, "/etc/notes.md": WRITE, "/etc/io/own": f"# {WRITE}\n"})  # fmt: skip
    assert survey(made.tree(), made.stack()).not_evaluated == (
        f"{file}:2: names a setting, and what starts it is not known",
    )


PROGRAMS = {
    "tee /sys/block/sda/queue/scheduler <<EOF\nbfq\nEOF": ("queue/scheduler", "?"),
    "S=bfq\ncat > /sys/block/sda/queue/scheduler <<EOF\n$S\nEOF": ("queue/scheduler", "?"),
    "pushd /sys/block/sda/queue\necho bfq > scheduler": ("queue/scheduler", "bfq"),
    "blockdev --setra $((2 * 1024)) /dev/sda": ("queue/read_ahead_kb", "?"),
    "hdparm -a $AHEAD /dev/sda": ("queue/read_ahead_kb", "?"),
    "blockdev --setra 4096 /dev/sd?": ("queue/read_ahead_kb", "2048"),
    "cat > /etc/io <<EOF\necho none > /sys/block/nvme0n1/queue/scheduler\nEOF\necho bfq > /sys/block/sda/queue/scheduler": ("queue/scheduler", "bfq"),
    "cat /sys/block/sda/queue/scheduler > /tmp/x; [ -w /sys/block/sda/queue/nomerges ]; hdparm -a 256 /dev/sda": ("queue/read_ahead_kb", "128"),
    "blockdev --setra 4096 /dev/sda1": ("queue/read_ahead_kb", "2048"),
    "hdparm -qW0A1 /dev/sda": ("queue/write_cache", "write through"),
    "sdparm --set=WCE=0 /dev/sda": ("queue/write_cache", "write through"),
    "sdparm -s WCE /dev/sda": ("queue/write_cache", "write back"),
    "smartctl -s wcache,off /dev/sda": ("queue/write_cache", "write through"),
}  # fmt: skip


@pytest.mark.parametrize("command", PROGRAMS)
def test_what_a_program_writes_is_read_from_its_command(command, tmp_path):
    made = machine(tmp_path, {RC: f"#!/bin/bash\n{command}\n"})
    setters = survey(made.tree(), made.stack()).setters
    assert {(each.device, each.attribute, each.value) for each in setters} == {("sda", *PROGRAMS[command])}


def test_the_write_cache_of_an_nvme_drive_and_the_read_ahead_of_a_volume(tmp_path):
    text = "nvme set-feature /dev/nvme0n1 -f 0x06 -v 0\nlvchange -r 4096 vg/data\n"
    volume = {"/sys/block/dm-0/dev": "253:0\n", "/sys/block/dm-0/size": "1000\n", "/sys/block/dm-0/queue/read_ahead_kb": "128\n",
              "/sys/block/dm-0/dm/uuid": "LVM-x\n", "/run/udev/data/b253:0": "E:DM_VG_NAME=vg\nE:DM_LV_NAME=data\n"}  # fmt: skip
    made = machine(tmp_path, {RC: f"#!/bin/bash\n{text}", **volume})
    assert {(each.device, each.value) for each in survey(made.tree(), made.stack()).setters} == {
        ("nvme0n1", "write through"), ("dm-0", "2048")}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("[ -x /bin/foo ] || { echo no; exit 0; }", "under a condition"),
        ("[ -x /bin/foo ] || exit 0", "under a condition"),
        ("if [ $1 = stop ]; then\n exit\nfi", "under a condition"),
        ("f() {\n exit 1\n}", ""),
        ("(sleep 5; true) &", ""),
        ("echo 'if [ a' > /tmp/x", ""),
    ],
)
def test_a_line_behind_an_exit_under_a_condition_is_one_to_look_at(before, said, tmp_path):
    made = machine(tmp_path, {RC: f"#!/bin/sh\n{before}\n{WRITE}\n"}, scheduler="bfq")
    (setter,) = survey(made.tree(), made.stack()).setters
    assert (setter.look, setter.certain) == (said, not said)


def test_a_text_for_an_interpreter_in_a_here_document_is_called_left_out(tmp_path):
    made = machine(
        tmp_path, {RC: "#!/bin/sh\npython3 - <<EOF\nopen('/sys/block/sda/queue/scheduler', 'w').write('bfq')\nEOF\n"}
    )
    assert survey(made.tree(), made.stack()).not_evaluated == (f"{RC}:2: a here-document that names a setting",)


OPENRC = {"/etc/conf.d/hdparm": 'sda_args="-W0 -S 60"\n', "/etc/runlevels/default/hdparm": ""}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (OPENRC, "hdparm.conf /etc/conf.d/hdparm:1"),
        ({"/run/udev/data/b8:0": "E:ID_SERIAL_SHORT=WD_1\n", "/etc/udisks2/TEST-DISK-WD-1.conf": "[ATA]\nWriteCacheEnabled=false\n"}, "udisks2 /etc/udisks2/TEST-DISK-WD-1.conf:2, probably"),
    ],
)  # fmt: skip
def test_a_drive_s_own_file_of_options_is_named(files, said, tmp_path):
    made = machine(tmp_path, {f"{SDA}/queue/write_cache": "write through\n", **files})
    assert set_by(made, "sda", "queue/write_cache") == said


def test_options_of_modules_set_the_queue_depth(tmp_path):
    file = "/etc/modprobe.d/libata.conf"
    made = machine(tmp_path, {file: "# NCQ\noptions libata force=noncq\n"})
    (setter,) = survey(made.tree(), made.stack()).setters
    assert (setter.text, setter.device, setter.attribute, setter.value) == (f"module option {file}:2", "sda", "device/queue_depth", "1")  # fmt: skip


def lun(made, above: str, driver: str):
    place = f"/sys/devices/{above}/target3:0:0/3:0:0:1"
    made.add({f"{place}/vendor": "PURE\n", f"{place}/model": "FlashArray\n", f"{place}/queue_depth": "64\n", f"{place}/block/sdq/dev": "65:0\n",
              f"{place}/block/sdq/size": "1000\n", f"{place}/block/sdq/queue/scheduler": "[none] mq-deadline\n", "/sys/class/scsi_host/host3/proc_name": f"{driver}\n"})  # fmt: skip
    made.link("/sys/block/sdq", f"..{place.removeprefix('/sys')}/block/sdq").link(f"{place}/block/sdq/device", "../..")
    return made


def test_the_depth_of_a_lun_comes_from_its_adapter_or_its_session(tmp_path):
    option = {"/etc/modprobe.d/q.conf": "options qla2xxx ql2xmaxqdepth=64\n"}
    made = lun(machine(tmp_path / "fc", option), "pci0000:00/0000:00:06.0/host3/rport-3:0-0", "qla2xxx")
    assert set_by(made, "sdq", "device/queue_depth") == "module option /etc/modprobe.d/q.conf:1"
    record = "/var/lib/iscsi/nodes/iqn.2010-06.com.pure:a/10.0.0.1,3260,1/default"
    files = {record: "node.name = x\nnode.session.queue_depth = 64\n", "/etc/iscsi/iscsid.conf": "node.session.queue_depth = 32\n"}  # fmt: skip
    made = lun(machine(tmp_path / "iscsi", files), "platform/host3/session1", "iscsi_tcp")
    assert set_by(made, "sdq", "device/queue_depth") == f"open-iscsi {record}:2"


# What does not act

IDLE = {
    "sysctl /etc/sysctl.d/9.conf:1 does not act: sysctl sets what lies below /proc/sys, and this is a file of sysfs": {"/etc/sysctl.d/9.conf": "block/sda/queue/scheduler = bfq\n"},
    "module option /etc/modprobe.d/zfs.conf:1 does not act: since OpenZFS 0.8.3 ZFS sets no scheduler": {"/etc/modprobe.d/zfs.conf": "options zfs zfs_vdev_scheduler=deadline\n"},
    "TuneD profile /etc/tuned/mine/tuned.conf:2 does not act: TuneD's active profile is base": {
        "/etc/tuned/mine/tuned.conf": "[disk]\nelevator=bfq\n", "/etc/tuned/active_profile": "base\n", "/usr/lib/tuned/base/tuned.conf": "[vm]\nx=1\n"},
    f"script or unit {UNIT}:2 does not act: nothing starts the unit": {UNIT: f"[Service]\nExecStart=/bin/sh -c '{WRITE}'\n[Install]\nWantedBy=multi-user.target\n"},
    "script or unit /usr/lib/systemd/system/io.service:2 does not act: nothing starts the unit": {"/usr/lib/systemd/system/io.service": f"[Service]\nExecStart=/bin/sh -c '{WRITE}'\n"},
    **{
        f"udev rule {RULE}:1 does not act: {reason}": {RULE: f"{rule}\n"}
        for rule, reason in {
            'KERNEL=="sd[a-z][0-9]", ATTR{queue/scheduler}="bfq"': "it meets partitions alone, and they have no queue",
            'ENV{DEVTYPE}=="partition", ATTR{queue/read_ahead_kb}="64"': "it meets partitions alone, and they have no queue",
            'KERNEL=="sda", ATTR="queue/scheduler=bfq"': "udev wants ATTR{NAME}, and ignores the line without the name",
            'KERNEL=="sda", ATTR{queue/scheduler}=="bfq"': "every part of it compares, and none sets: `==` compares, `=` assigns",
            'KERNEL=="sda", ATTR{scheduler}="bfq"': "a disk's folder has no file scheduler",
            'SUBSYSTEM=="nvme", ATTR{queue/scheduler}="bfq"': "a device of subsystem nvme has no queue; its disk is one of subsystem block",
            'ACTION=="add,change", KERNEL=="sda", ATTR{queue/scheduler}="bfq"': 'there is no action "add,change"',
            'KERNEL=="sd[a-z]+", ATTR{queue/scheduler}="bfq"': 'udev takes patterns of the shell, no regular expressions: KERNEL=="sd[a-z]+" meets no name',
            'KERNEL=="nvme[0-9]", ATTR{queue/scheduler}="none"': 'KERNEL=="nvme[0-9]" meets the controller nvme0, and the disk is nvme0n1',
        }.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("said", IDLE)
def test_a_line_that_cannot_act_is_called_so(said, tmp_path):
    made = machine(tmp_path, {**IDLE[said], f"{WANTS}/other.service": ""}, scheduler="bfq")
    assert ineffective(made) == [said]
    assert survey(made.tree(), made.stack()).setters == ()


def test_a_masked_unit_is_called_so(tmp_path):
    unit = "/usr/lib/systemd/system/io.service"
    made = machine(tmp_path, {unit: f"[Service]\nExecStart=/bin/sh -c '{WRITE}'\n"})
    made.link(f"{WANTS}/io.service", unit).link("/etc/systemd/system/io.service", "/dev/null")
    assert ineffective(made) == [f"script or unit {unit}:2 does not act: the unit is masked"]


def test_zfs_before_it_left_schedulers_alone_set_those_of_its_disks(tmp_path):
    made = machine(tmp_path, {"/etc/modprobe.d/zfs.conf": "options zfs zfs_vdev_scheduler=bfq\n", "/sys/module/zfs/version": "0.7.13-1\n"}, scheduler="bfq")  # fmt: skip
    assert set_by(made, "sda") == "module option /etc/modprobe.d/zfs.conf:1"


def test_rules_for_disks_of_another_machine_are_no_findings(tmp_path):
    rules = 'KERNEL=="vd[a-z]", ATTR{queue/scheduler}="none"\nKERNEL=="nvme0n1", ENV{DEVTYPE}=="disk", ATTR{queue/rotational}=="1", ATTR{queue/scheduler}="bfq"\n'
    made = machine(tmp_path, {RULE: rules})
    assert ineffective(made) == [] and survey(made.tree(), made.stack()).setters == ()
    assert NVME in made.tree().resolve("/sys/block/nvme0n1")
