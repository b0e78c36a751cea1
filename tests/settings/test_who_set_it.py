"""These tests will name who set a value, in the forms in which distributions, vendors and people write such files.

The files are written here after those forms: `60-ioschedulers.rules` of the Arch wiki and of CachyOS, SUSE's `60-io-scheduler.rules`, RHEL 8's
`40-elevator.rules`, rules of storage vendors, the ZFS module of nixpkgs, TLP, mdadm.conf(5), TuneD of Red Hat, StarlingX and TiDB, saptune notes,
start scripts, units and cron tables. The first six are cases of the issue on files and answers.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pytest

from seekwise.linux.setters import survey
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import FolderTree
from seekwise.settings import conflicts, status
from seekwise.settings.doctor import Machine, examine
from settings.machine import two_disks

SDA = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
NVME = "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1"
RULE = "/etc/udev/rules.d/60-x.rules"
RC = "/etc/rc.local"
UNIT = "/etc/systemd/system/io.service"


def machine(tmp_path, files: dict[str, str], **options):
    made = two_disks(tmp_path, **options)
    made.add({
        f"{SDA}/sda1/dev": "8:1\n", f"{SDA}/sda1/start": "2048\n", f"{SDA}/sda1/partition": "1\n", f"{SDA}/sda1/size": "1000\n",
        "/run/udev/data/b8:1": "E:ID_FS_TYPE=zfs_member\n", "/run/udev/data/b8:0": "E:ID_SERIAL=TEST_1\nE:ID_VENDOR=PURE\nE:ID_BUS=ata\n",
    })  # fmt: skip
    return made.add(files)


def set_by(made, device: str, attribute: str = "queue/scheduler") -> str:
    found = status.read(made.tree(), made.stack(), frozenset({device}))
    return next(each.set_by for each in found.devices[0].settings if each.attribute == attribute)


UDEV = {
    "negated by a caret": 'ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="sd*[^0-9]", ATTR{queue/scheduler}="bfq"',
    "class in a bracket": 'KERNEL=="sd[[:alpha:]]", ATTR{queue/scheduler}="bfq"',
    "partition sets its disk": 'ACTION=="add|change", KERNEL=="sd[a-z]*[0-9]*|mmcblk[0-9]*p[0-9]*", ENV{ID_FS_TYPE}=="zfs_member", ATTR{../queue/scheduler}="bfq"',
    "partition by its parent's name": 'KERNEL=="sd?1", ENV{DEVTYPE}=="partition", RUN+="/bin/sh -c \'echo bfq > /sys/block/%P/queue/scheduler\'"',
    "/sys$devpath": 'ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="sd?", RUN+="/bin/sh -c \'echo bfq > /sys$devpath/queue/scheduler\'"',
    "/sys%p": 'SUBSYSTEM=="block", KERNEL=="sda", RUN+="/bin/sh -c \'/bin/echo bfq > /sys%p/queue/scheduler\'"',
    "%S%p": 'SUBSYSTEM=="block", KERNEL=="sda", RUN+="/bin/sh -c \'echo bfq >%S%p/queue/scheduler\'"',
    "the environment's DEVPATH": 'SUBSYSTEMS=="scsi", ATTRS{vendor}=="ATA", RUN+="/bin/sh -c \'echo bfq >/sys$DEVPATH/queue/scheduler\'"',
    "the property DEVPATH": 'KERNEL=="sda", RUN+="/bin/sh -c \'echo bfq > /sys$env{DEVPATH}/queue/scheduler\'"',
    "another device's file": 'KERNEL=="nvme0n1", ATTR{[block/sda]queue/scheduler}="bfq"',
    "by a property": 'ACTION=="add|change", KERNEL=="sd*[!0-9]", SUBSYSTEM=="block", ENV{ID_VENDOR}=="PURE", ATTR{queue/scheduler}="bfq"',
    "matches what it sets": 'KERNEL=="sda", ATTR{queue/rotational}=="0", ATTR{queue/rotational}="1", ATTR{queue/scheduler}="bfq"',
    "several in one, continued": 'KERNEL=="sd*",ACTION=="add|change",ATTRS{model}=="TEST DISK",\\\n   ATTR{queue/nomerges}="2",\\\n  ATTR{queue/scheduler}="bfq"',
    "an escaped string": 'KERNEL=="sda", ATTR{queue/scheduler}=e"\\x62fq"',
    "case ignored": 'KERNEL==i"SDA", ATTR{queue/scheduler}="bfq"',
    "a comment behind it": 'KERNEL=="sda", ATTR{queue/scheduler}="bfq" # for the disk',
    "tee in a shell": 'KERNEL=="sda", RUN+="/usr/bin/bash -c \'echo bfq | tee /sys/block/%k/queue/scheduler\'"',
    "an answer that only a run knows": 'KERNEL=="sda", PROGRAM="/usr/local/bin/which-scheduler %k", ATTR{queue/scheduler}="%c"',
    "a property of the same line": 'KERNEL=="sda", ATTR{queue/scheduler}="$env{IO}", ENV{IO}="bfq"',
    "properties in a file": 'KERNEL=="sda", IMPORT{file}="/etc/default/io", ATTR{queue/scheduler}="%E{SCHEDULER}"',
    "bash with two writes": 'KERNEL=="sda", RUN+="/bin/bash -c \'echo bfq > /sys/block/%k/queue/scheduler; echo 2 > /sys/block/%k/queue/nomerges\'"',
    "a program of udev's own folder": 'KERNEL=="sd?", RUN+="set-io.sh %k bfq"',
    "a program that is asked": 'KERNEL=="sd?", PROGRAM=="/bin/sh -c \'echo bfq > /sys/block/%k/queue/scheduler\'"',
    "systemd-run": 'KERNEL=="sd?", RUN+="/usr/bin/systemd-run --no-block /bin/sh -c \'echo bfq > /sys/block/%k/queue/scheduler\'"',
    "labels": 'KERNEL!="sd*", GOTO="end"\nATTR{queue/rotational}=="0", GOTO="ssd"\nATTR{queue/scheduler}="bfq"\nGOTO="end"\nLABEL="ssd"\nATTR{queue/scheduler}="none"\nLABEL="end"',
    "a loop of doubled dollars": 'KERNEL=="sda", RUN+="/bin/sh -c \'for i in /sys/block/sd*/queue/scheduler; do echo bfq > $$i; done\'"',
    "by number": 'KERNEL=="sda", RUN+="/bin/sh -c \'echo bfq > /sys/dev/block/$major:$minor/queue/scheduler\'"',
}  # fmt: skip


@pytest.mark.parametrize("form", UDEV)
def test_a_udev_rule_is_named(form, tmp_path):
    own = {"/usr/lib/udev/set-io.sh": "#!/bin/sh\necho $2 > /sys/block/$1/queue/scheduler\n"}
    made = machine(tmp_path, {RULE: UDEV[form] + "\n", "/etc/default/io": "SCHEDULER=bfq\n", **own}, scheduler="bfq")
    assert set_by(made, "sda").startswith(f"udev rule {RULE}:")
    assert ineffective(made) == []
    if "KERNEL" in UDEV[form]:
        assert "none of the places" in set_by(made, "nvme0n1")


CACHYOS = """\
ACTION=="add|change", KERNEL=="sd[a-z]*", ATTR{queue/rotational}=="1", ATTR{queue/scheduler}="bfq"
ACTION=="add|change", KERNEL=="sd[a-z]*|mmcblk[0-9]*", ATTR{queue/rotational}=="0", ATTR{queue/scheduler}="adios"
ACTION=="add|change", KERNEL=="nvme[0-9]*", ATTR{queue/rotational}=="0", ATTR{queue/scheduler}="adios"
"""
SUSE = """\
SUBSYSTEM!="block", GOTO="scheduler_end"
ACTION!="add|change", GOTO="scheduler_end"
ENV{DEVTYPE}!="disk", GOTO="scheduler_end"
TEST!="%S%p/queue/scheduler", GOTO="scheduler_end"
ACTION!="change", KERNEL=="dm-*", GOTO="scheduler_end"
ATTR{queue/scheduler}=="none", GOTO="scheduler_end"
ENV{DM_MULTIPATH_DEVICE_PATH}=="1", ATTR{queue/scheduler}="none", GOTO="scheduler_end"
KERNEL=="loop[0-9]*", ATTR{queue/scheduler}="none", GOTO="scheduler_end"
IMPORT{cmdline}="elevator"
ENV{elevator}=="?*", GOTO="scheduler_end"
ATTR{queue/rotational}=="0", ENV{.IO_SCHEDULER}="none"
ATTR{queue/rotational}!="0", ENV{.IO_SCHEDULER}="bfq"
ENV{.IO_SCHEDULER}!="", ATTR{queue/scheduler}="$env{.IO_SCHEDULER}"
LABEL="scheduler_end"
"""


def test_the_rules_of_distributions_are_followed_line_by_line(tmp_path):
    made = machine(
        tmp_path,
        {
            "/usr/lib/udev/rules.d/60-ioschedulers.rules": CACHYOS,
            f"{NVME}/queue/scheduler": "none mq-deadline [adios]\n",
        },
        scheduler="bfq",
    )
    assert (set_by(made, "sda"), set_by(made, "nvme0n1")) == (
        "udev rule /usr/lib/udev/rules.d/60-ioschedulers.rules:1", "udev rule /usr/lib/udev/rules.d/60-ioschedulers.rules:3")  # fmt: skip
    made = machine(
        tmp_path / "suse",
        {"/usr/lib/udev/rules.d/60-io-scheduler.rules": SUSE, f"{NVME}/queue/scheduler": "[none] mq-deadline\n"},
        scheduler="bfq",
    )
    assert set_by(made, "sda") == set_by(made, "nvme0n1") == "udev rule /usr/lib/udev/rules.d/60-io-scheduler.rules:13"


SCRIPTS = {
    "a loop over globs": "for d in /sys/block/sd?; do\n  echo bfq > $d/queue/scheduler\ndone\n",
    "a loop over letters": 'for d in a b c\ndo\n echo bfq > "/sys/block/sd${d}/queue/scheduler"\ndone\n',
    "a loop over braces": "for drive in {a..z}; do echo bfq >/sys/block/sd$drive/queue/scheduler; done\n",
    "a loop over files": 'for f in /sys/block/*/queue/scheduler; do echo "bfq" > "$f"; done\n',
    "ls in backticks": "for disk in `\\ls -d /sys/block/sd*`; do\n sched=\"$disk/queue/scheduler\"\n echo bfq | run-as-root tee $sched\ndone\n",
    "ls through grep": "for disk in `ls /sys/block/ | grep ^sd | sort`; do echo bfq > /sys/block/$disk/queue/scheduler; done\n",
    "while read": "ls /sys/block | grep sd | while read dev; do echo bfq > /sys/block/$dev/queue/scheduler; done\n",
    "basename": "for p in /sys/block/sd*; do d=$(basename $p); echo bfq > /sys/block/$d/queue/scheduler; done\n",
    "a prefix cut off": "for p in /dev/sd?; do echo bfq > /sys/block/${p##*/}/queue/scheduler; done\n",
    "a variable with a list": 'DISKS="sda sdb"\nSCHED=bfq\nfor d in $DISKS; do echo $SCHED > /sys/block/$d/queue/scheduler; done\n',
    "an array": 'DISKS=(sda "sdb")\nfor d in "${DISKS[@]}"; do\n echo bfq > "/sys/block/$d/queue/scheduler"\ndone\n',
    "a link below /dev that is not there": "dev=$(basename $(readlink -f /dev/disk/by-id/ata-X))\necho bfq > /sys/block/$dev/queue/scheduler\n",
    "a function": "function update {\n what=$1\n val=$2\n for p in /sys/block/sd*/$what\n do\n  echo \"$val\" > $p\n done\n}\nupdate queue/scheduler bfq\n",
    "another form of function": "set_sched() { echo $2 > /sys/block/$1/queue/scheduler; }\nset_sched sda bfq\n",
    "cases": "for d in /sys/block/*; do\n case ${d##*/} in\n nvme*) echo none > $d/queue/scheduler ;;\n sd*|hd*) echo bfq > $d/queue/scheduler ;;\n esac\ndone\n",
    "a condition": "for d in /sys/block/sd*; do\n if [ \"$(cat $d/queue/rotational)\" = 1 ]; then echo bfq > $d/queue/scheduler; else echo none > $d/queue/scheduler; fi\ndone\n",
    "grep before it": "for DISK in /sys/block/sd*; do grep -q 1 \"${DISK}\"/queue/rotational && echo bfq > \"${DISK}\"/queue/scheduler; done\n",
    "a here-string": "tee /sys/block/sda/queue/scheduler <<< bfq\n",
    "escapes in echo": "echo -e 'bfq\\n' > /sys/block/sda/queue/scheduler\n",
    "busybox": "B=/sbin/busybox\n$B echo bfq > /sys/block/sda/queue/scheduler\n",
    "letters counted": "for i in 0 1; do c=$(printf \"\\\\x$(printf %x $((97+i)))\"); echo bfq > /sys/block/sd$c/queue/scheduler; done\n",
    "printf": "printf '%s\\n' bfq > /sys/block/sda/queue/scheduler\n",
    "a folder changed into": "cd /sys/block/sda/queue\necho bfq > scheduler\n",
    "find": "find /sys/block -name 'sd*' -exec sh -c 'echo bfq > {}/queue/scheduler' \\;\n",
    "xargs": "ls /sys/block | grep sd | xargs -I{} sh -c 'echo bfq > /sys/block/{}/queue/scheduler'\n",
    "a name that only a run knows": "ROOT=$(findmnt -n -o SOURCE / | sed 's/[0-9]*$//')\nNAME=$(basename \"$ROOT\")\necho bfq > \"/sys/block/$NAME/queue/scheduler\"\n",
    "a configuration file read in": ". /etc/default/io\necho $SCHEDULER > /sys/block/sda/queue/scheduler\n",
    "a script started": "/usr/local/sbin/set-io sda bfq\n",
    "arguments shifted": "set -- sdb sda\nwhile [ $# -gt 0 ]; do echo bfq > /sys/block/$1/queue/scheduler; shift; done\n",
    "the redirection first": "> /sys/block/sda/queue/scheduler echo bfq\n",
    "find by path": "find /sys/devices -path '*block/sd*/queue/scheduler' | while read -r f; do echo bfq > \"$f\"; done\n",
    "find by name": "find /sys/devices -name scheduler | while read f; do echo bfq > $f; done\n",
    "su": "su -c 'echo bfq > /sys/block/sda/queue/scheduler' root\n",
    "xargs with $0": "ls -d /sys/block/sd* | xargs -n1 sh -c 'echo bfq > $0/queue/scheduler'\n",
    "nice with a number": "nice -n 19 sh -c 'echo bfq > /sys/block/sda/queue/scheduler'\n",
    "folders of SCSI disks": "for f in /sys/class/scsi_disk/*/device/block/*/queue/scheduler; do echo bfq > $f; done\n",
    "hardware folders": "for f in /sys/devices/pci0000:00/*/ata1/*/*/*/block/*/queue/scheduler; do echo bfq > $f; done\n",
    "an exit behind a condition": "[ -x /bin/foo ] || { echo no; exit 0; }\necho bfq > /sys/block/sda/queue/scheduler\n",
    "an exit in a branch": "case $1 in\nstart) true ;;\n*) exit 1 ;;\nesac\necho bfq > /sys/block/sda/queue/scheduler\n",
    "the place of find as an argument": "find /sys/block/sd* -maxdepth 0 -exec sh -c 'echo bfq > $1/queue/scheduler' _ {} \\;\n",
    "a folder of scripts": "run-parts /etc/io.d\n",
    "each script of a folder": "for part in /etc/io.d/*; do . $part; done\n",
    "a script by its name": "set-io sda bfq\n",
    "a script from its folder": "cd /opt/io && ./tune.sh\n",
    "sudo": "echo bfq | sudo tee -a /sys/block/sda/queue/scheduler >/dev/null 2>&1\n",
}  # fmt: skip
MORE = {
    "/etc/default/io": "# which\nSCHEDULER=bfq\n",
    "/usr/lib/udev/set-io.sh": "#!/bin/sh\necho $2 > /sys/block/$1/queue/scheduler\n",
    "/etc/io.d/10-sda": "#!/bin/sh\necho bfq > /sys/block/sda/queue/scheduler\n",
    "/opt/io/tune.sh": "#!/bin/sh\necho bfq > /sys/block/sda/queue/scheduler\n",
    "/usr/local/sbin/set-io": '#!/bin/sh\necho "$2" > /sys/block/"$1"/queue/scheduler\n',
}


PLAIN = {
    "a here-string", "escapes in echo", "busybox", "printf", "a folder changed into", "the redirection first", "su", "nice with a number", "a folder of scripts",
    "each script of a folder", "a script from its folder", "sudo",
}  # fmt: skip
"""Straight lines: told with their value. All others depend on a variable, a loop or a condition: told as a line to look
at."""
LOOK = r"line \d+ of ({files}) writes {what} \((?:in a loop|in a function|under a condition|behind a variable|its value stands elsewhere): look there\)"


@pytest.mark.parametrize("form", SCRIPTS)
def test_a_start_script_is_named(form, tmp_path):
    made = machine(tmp_path, {RC: "#!/bin/bash\n" + SCRIPTS[form], **MORE}, scheduler="bfq")
    found = set_by(made, "sda")
    if form == "find by name":
        assert "none of the places" in found, "no line names the setting"
    elif form in PLAIN:
        assert found.startswith(tuple(f"script or unit {file}:" for file in (RC, *MORE))), found
    else:
        assert re.fullmatch(LOOK.format(files="|".join((RC, *MORE)), what="scheduler"), found), found
    values = {each.value for each in survey(made.tree(), made.stack()).setters}
    assert values <= {"bfq", "none", "?"}, "no value is invented"


def test_a_line_to_look_at_is_no_setter_of_a_value_that_it_does_not_give(tmp_path):
    script = "#!/bin/sh\nfor d in /sys/block/*; do\n echo kyber > $d/queue/scheduler\ndone\n"
    made = machine(tmp_path, {RC: script}, scheduler="bfq")
    assert "none of the places" in set_by(made, "sda")
    (other,) = status.read(made.tree(), made.stack(), frozenset({"sda"})).devices[0].settings[0].others
    assert other.text == f"line 3 of {RC} writes scheduler (in a loop: look there)"
    (conflict,) = conflicts.find({"sda": {"queue/scheduler": "none"}}, ["udev"], made.tree(), made.stack())
    assert conflict.text.startswith(f"{other.text}, perhaps queue/scheduler of sda, after us")


UNITS = {
    "a loop": "ExecStart=/bin/bash -c 'for d in /sys/block/sd*; do echo bfq > $d/queue/scheduler; done'",
    "dollars doubled": "ExecStart=/bin/sh -c 'for d in sda sdb; do echo bfq > /sys/block/$$d/queue/scheduler; done'",
    "continued": "ExecStart=/bin/sh -c '\\\n  for d in sda; do \\\n  echo bfq > /sys/block/$d/queue/scheduler; done'",
    "tee with a glob": 'ExecStart=/bin/sh -c "echo bfq | tee /sys/block/sd*/queue/scheduler"',
    "the environment": 'Environment=SCHED=bfq\nExecStart=-/bin/sh -c "echo ${SCHED} > /sys/block/sda/queue/scheduler"',
    "a script": "ExecStart=/usr/local/sbin/set-io sda bfq",
}


@pytest.mark.parametrize("form", UNITS)
def test_a_unit_is_named(form, tmp_path):
    made = machine(tmp_path, {UNIT: f"[Service]\nType=oneshot\n{UNITS[form]}\n", **MORE}, scheduler="bfq")
    if form == "tee with a glob":
        assert set_by(made, "sda") == f"script or unit {UNIT}:3, probably"
    else:
        assert re.fullmatch(LOOK.format(files=f"{UNIT}|/usr/local/sbin/set-io", what="scheduler"), set_by(made, "sda"))


def test_a_drop_in_of_the_administrator_counts_though_its_unit_is_started_by_another(tmp_path):
    drop_in = "/etc/systemd/system/multipathd.service.d/io.conf"
    made = machine(tmp_path, {
        "/usr/lib/systemd/system/multipathd.service": "[Service]\nExecStart=/sbin/multipathd\n",
        drop_in: "[Service]\nExecStartPost=/bin/sh -c 'echo bfq > /sys/block/sda/queue/scheduler'\n",
    }, scheduler="bfq")  # fmt: skip
    assert set_by(made, "sda") == f"script or unit {drop_in}:2, probably"


def test_text_for_an_interpreter_that_names_queue_files_is_called_left_out(tmp_path):
    made = machine(tmp_path, {RC: "#!/bin/sh\npython3 -c \"open('/sys/block/sda/queue/scheduler','w').write('bfq')\"\n"}, scheduler="bfq")  # fmt: skip
    assert "none of the places" in set_by(made, "sda")
    assert survey(made.tree(), made.stack()).not_evaluated == (f"{RC}:2: text for python3 that names queue files",)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("io.service", {RULE: 'KERNEL=="sda", TAG+="systemd", ENV{SYSTEMD_WANTS}+="io.service"\n'}),
        ("io@.service", {RULE: 'KERNEL=="sda", TAG+="systemd", ENV{SYSTEMD_WANTS}+="io@%k.service"\n'}),
        ("io.service", {RULE: 'KERNEL=="sda", RUN+="/usr/bin/systemctl start --no-block io.service"\n'}),
        ("io.service", {"/etc/systemd/system/multi-user.target.wants/io.path": ""}),
    ],
)
def test_a_package_s_unit_that_a_rule_or_a_path_starts_is_named(name, files, tmp_path):
    unit = f"/usr/lib/systemd/system/{name}"
    text = "[Service]\nExecStart=/bin/sh -c 'echo bfq > /sys/block/sda/queue/scheduler'\n"
    made = machine(tmp_path, {unit: text, **files}, scheduler="bfq")
    assert set_by(made, "sda").startswith(f"script or unit {unit}:2")


def test_sysfsutils_takes_no_whole_paths(tmp_path):
    made = machine(tmp_path, {"/etc/sysfs.conf": "/sys/block/sda/queue/scheduler = bfq\n"}, scheduler="bfq")
    assert ineffective(made) == ["sysfs.conf /etc/sysfs.conf:1 does not act: sysfsutils looks for the path below /sys"]


def test_an_instance_of_a_package_s_unit_is_for_its_device(tmp_path):
    made = machine(
        tmp_path,
        {
            "/usr/lib/systemd/system/io@.service": "[Service]\nExecStart=/bin/sh -c 'echo bfq > /sys/block/%i/queue/scheduler'\n"
        },
        scheduler="bfq",
    )
    made.link("/etc/systemd/system/multi-user.target.wants/io@sda.service", "/usr/lib/systemd/system/io@.service")
    assert "io@.service:2" in set_by(made, "sda")


TUNED_ON = {"/etc/systemd/system/multi-user.target.wants/tuned.service": "", "/etc/tuned/active_profile": "mine\n"}
TUNED = {
    "an included profile": {"/etc/tuned/mine/tuned.conf": "[main]\ninclude=base\n[cpu]\ngovernor=performance\n", "/usr/lib/tuned/base/tuned.conf": "[disk]\nelevator=bfq\n"},
    "included twice over": {
        "/etc/tuned/mine/tuned.conf": "[main]\ninclude = a\n", "/usr/lib/tuned/a/tuned.conf": "[main]\ninclude=b\n", "/usr/lib/tuned/b/tuned.conf": "[disk]\nelevator=bfq\n"},
    "two included": {"/etc/tuned/mine/tuned.conf": "[main]\ninclude=a, b\n", "/usr/lib/tuned/a/tuned.conf": "[vm]\nx=1\n", "/usr/lib/tuned/b/tuned.conf": "[disk]\nelevator=bfq\n"},
    "chosen by a function": {
        "/proc/cpuinfo": "flags\t: fpu\n", "/etc/tuned/mine/tuned.conf": "[main]\ninclude=${f:virt_check:guest:metal}\n", "/usr/lib/tuned/metal/tuned.conf": "[disk]\nelevator=bfq\n"},
    "a serial number": {"/etc/tuned/mine/tuned.conf": "[disk]\ndevices_udev_regex=(ID_SERIAL=OTHER)|(ID_SERIAL=TEST_1)\nelevator=bfq\n"},
    "variables in a file": {
        "/etc/tuned/mine/tuned.conf": "[variables]\ninclude=/etc/tuned/mine-variables.conf\n[disk]\nelevator=${sched}\n", "/etc/tuned/mine-variables.conf": "sched=bfq\n"},
    "its script": {
        "/etc/tuned/mine/tuned.conf": "[script]\nscript=${i:PROFILE_DIR}/script.sh\n",
        "/etc/tuned/mine/script.sh": "#!/bin/bash\n. /usr/lib/tuned/functions\nstart() {\n for i in /sys/block/sd?/queue/scheduler; do echo bfq > $i; done\n}\nprocess $@\n"},
    "its script by a name alone": {
        "/etc/tuned/mine/tuned.conf": "[script]\nscript=script.sh\n", "/etc/tuned/mine/script.sh": "#!/bin/sh\necho bfq > /sys/block/sda/queue/scheduler\n"},
    "loaded after the others": {
        "/etc/tuned/active_profile": "\n", "/etc/tuned/post_loaded_profile": "late\n", "/usr/lib/tuned/late/tuned.conf": "[disk]\nelevator=bfq\n"},
    "paths of sysfs": {"/etc/tuned/mine/tuned.conf": "[sysfs]\n/sys/block/sd*/queue/scheduler=bfq\n"},
}  # fmt: skip


@pytest.mark.parametrize("form", TUNED)
def test_a_tuned_profile_is_named(form, tmp_path):
    made = machine(tmp_path, {**TUNED_ON, **TUNED[form]}, scheduler="bfq")
    expected = "line 4 of /etc/tuned/mine/script.sh writes " if form == "its script" else "TuneD profile /"
    assert set_by(made, "sda").startswith(expected), set_by(made, "sda")


def test_tlp_sets_one_scheduler_for_each_of_its_disks(tmp_path):
    made = machine(
        tmp_path,
        {"/etc/tlp.conf": 'TLP_ENABLE=1\nDISK_DEVICES="sda nvme0n1"\nDISK_IOSCHED="bfq none"\n'},
        scheduler="bfq",
    )
    made.link("/etc/systemd/system/multi-user.target.wants/tlp.service", "/usr/lib/systemd/system/tlp.service")
    assert set_by(made, "sda") == "TLP /etc/tlp.conf:3"
    (conflict,) = conflicts.find({"sda": {"queue/scheduler": "none"}}, ["udev"], made.tree(), made.stack())
    assert conflict.overrides_ours and conflict.place == "/etc/tlp.conf:3"
    made.add({"/etc/tlp.d/10-mine.conf": 'DISK_IOSCHED="keep keep"\n', "/etc/tlp.conf": "TLP_ENABLE=1\n"})
    assert survey(made.tree(), made.stack()).setters == ()


def test_tlp_before_it_had_a_list_of_disks_means_sda(tmp_path):
    made = machine(tmp_path, {"/etc/default/tlp": 'DISK_IOSCHED="bfq"\n'}, scheduler="bfq")
    assert set_by(made, "sda") == "TLP /etc/default/tlp:1, probably"


ARRAY = {
    "/sys/block/md0/dev": "9:0\n", "/sys/block/md0/size": "1000\n", "/sys/block/md0/md/level": "raid5\n", "/sys/block/md0/md/stripe_cache_size": "8192\n",
    "/run/udev/data/b9:0": "E:MD_UUID=01234567:89abcdef:01234567:89abcdef\nE:MD_DEVNAME=data\nE:MD_NAME=host:data\n",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", ["name=/dev/md0", "name=/dev/md/data", "name=data", "uuid=01234567:89abcdef:01234567:89abcdef"]
)
def test_mdadm_conf_sets_what_lies_below_md(name, tmp_path):
    text = f"ARRAY /dev/md0 metadata=1.2\nSYSFS {name} stripe_cache_size=8192\n   group_thread_cnt=4\n"
    made = machine(tmp_path, {**ARRAY, "/etc/mdadm/mdadm.conf": text})
    assert set_by(made, "md0", "md/stripe_cache_size") == "mdadm.conf /etc/mdadm/mdadm.conf:2"
    found = status.read(made.tree(), made.stack(), frozenset({"md0"})).devices[0].settings
    assert next(each.why for each in found if each.attribute == "md/stripe_cache_size") == "the kernel's default is 256"


def test_a_saptune_note_sets_the_first_scheduler_that_a_disk_offers(tmp_path):
    made = machine(tmp_path, {
        "/etc/sysconfig/saptune": 'TUNE_FOR_NOTES="1680803"\nNOTE_APPLY_ORDER="941735 1680803"\n',
        "/usr/share/saptune/notes/1680803": "[version]\nVERSION=27\n[block]\nIO_SCHEDULER=noop, kyber, none\nNRREQ=1024\n",
        "/etc/saptune/override/1680803": "[block]\nNRREQ=\n",
    }, scheduler="kyber")  # fmt: skip
    assert set_by(made, "sda") == "saptune note /usr/share/saptune/notes/1680803:4, probably"
    assert [each.attribute for each in survey(made.tree(), made.stack()).setters if each.device == "sda"] == [
        "queue/scheduler"
    ]


def test_crontabs_and_init_scripts_are_read(tmp_path):
    made = machine(tmp_path, {
        "/var/spool/cron/crontabs/root": "@reboot echo bfq > /sys/block/sda/queue/scheduler\n",
        "/etc/crontab": "*/5 * * * * root echo 64 > /sys/block/sda/queue/nr_requests\n",
        "/etc/init.d/io": "#!/bin/sh\ncase \"$1\" in\nstart) echo 2 > /sys/block/sda/queue/nomerges ;;\nstop) echo 1 > /sys/block/sda/queue/nomerges ;;\nesac\n",
    }, scheduler="bfq")  # fmt: skip
    made.link("/etc/rc3.d/S20io", "../init.d/io")
    found = {(each.attribute, each.value, each.look) for each in survey(made.tree(), made.stack()).setters}
    assert found == {
        ("queue/scheduler", "bfq", ""), ("queue/nr_requests", "64", ""),
        ("queue/nomerges", "2", "under a condition"), ("queue/nomerges", "1", "under a condition"),
    }  # fmt: skip


PLACES = {
    "/etc/cron.weekly/io": "#!/bin/sh\n{}\n",
    "/etc/anacrontab": "1\t5\tio.job\t{}\n",
    "/etc/crontab": "@reboot\troot\t{}\n",
    "/etc/NetworkManager/dispatcher.d/pre-up.d/io": "#!/bin/sh\n{}\n",
    "/etc/network/if-up.d/io": "#!/bin/sh\n{}\n",
    "/etc/initramfs-tools/scripts/init-top/io": "#!/bin/sh\n{}\n",
    "/etc/profile.d/io.sh": "{}\n",
    "/boot/config/go": "#!/bin/bash\n{}\n",
    "/usr/local/etc/rc.d/io.sh": "#!/bin/sh\ncase $1 in start) {};; esac\n",
    "/etc/rc.local.d/io.sh": "#!/bin/sh\n{}\n",
    "/etc/ktune.d/tunedadm.sh": "#!/bin/sh\nstart() {{\n {}\n}}\nprocess $@\n",
    "/etc/hotplug.d/block/20-io": '[ "$ACTION" = add ] && {}\n',
    "/etc/init/io.conf": "start on startup\nscript\n  {}\nend script\n",
    "/etc/init/other.conf": "task\nexec {}\n",
    "/etc/cloud/cloud.cfg.d/99-io.cfg": "bootcmd:\n  - {}\n",
    "/var/lib/cloud/instance/user-data.txt": '#cloud-config\nbootcmd:\n - [sh, -c, "{}"]\n',
    "/etc/cloud/cloud.cfg.d/97-shell.cfg": 'runcmd:\n - [ bash, -lc, "{}" ]\n',
    "/var/lib/cloud/scripts/per-boot/io": "#!/bin/sh\n{}\n",
    "/etc/dinit.d/io": "type = scripted\ncommand = sh -c '{}'\n",
    "/etc/sv/io/run": "#!/bin/sh\n{}\n",
    "/usr/lib/systemd/system-sleep/io": "#!/bin/sh\ncase $1 in post) {};; esac\n",
    "/data/adb/service.d/io.sh": "#!/system/bin/sh\n{}\n",
    "/data/adb/modules/io/service.sh": "#!/system/bin/sh\n{}\n",
    "/boot/config/plugins/user.scripts/scripts/io/script": "#!/bin/bash\n{}\n",
    "/etc/init.d/S99io": '#!/bin/sh\ncase "$1" in start) {};; esac\n',
    "/etc/init.d/rcS": "#!/bin/sh\n{}\n",
    "/etc/rc.d/rc.M": "#!/bin/sh\n{}\n",
    "/etc/runit/1": "#!/bin/sh\n{}\n",
    "/etc/inittab": "::sysinit:/bin/sh -c '{}'\n",
    "/etc/mdev.conf": "sd[a-z] root:disk 660 @/bin/sh -c '{}'\n",
    "/etc/network/interfaces": "iface eth0 inet dhcp\n  post-up {}\n",
    "/etc/supervisor/conf.d/io.conf": "[program:io]\ncommand=/bin/sh -c '{}'\n",
    "/etc/modprobe.d/io.conf": "install bfq /sbin/modprobe --ignore-install bfq; {}\n",
    "/etc/elogind/system-sleep/io": "#!/bin/sh\ncase $1 in post) {};; esac\n",
    "/var/lib/cloud/instance/scripts/part-001": "#!/bin/bash\n{}\n",
    "/etc/cloud/cloud.cfg.d/98-block.cfg": "runcmd:\n  - |\n    {}\n",
}


@pytest.mark.parametrize("place", PLACES)
def test_places_where_scripts_lie(place, tmp_path):
    made = machine(
        tmp_path, {place: PLACES[place].format("echo bfq > /sys/block/sda/queue/scheduler")}, scheduler="bfq"
    )
    found = set_by(made, "sda")
    assert f" {place}:" in found or f" of {place} writes scheduler (" in found, found


def test_android_writes_in_its_own_language(tmp_path):
    made = machine(
        tmp_path,
        {"/vendor/etc/init/hw/init.x.rc": "on boot\n    write /sys/block/sda/queue/scheduler bfq\n"},
        scheduler="bfq",
    )
    assert set_by(made, "sda") == "script or unit /vendor/etc/init/hw/init.x.rc:2, probably"


SYSCONFIG = {
    "ktune": ("/etc/sysconfig/ktune", 'X=1\nELEVATOR="bfq"\nELEVATOR_TUNE_DEVS="/sys/block/{sd,cciss}*/queue/scheduler"\n', "queue/scheduler"),
    "sapconf": ("/etc/sysconfig/sapconf", '# first that is offered\nIO_SCHEDULER="noop bfq none"\n', "queue/scheduler"),
    "laptop-mode": ("/etc/laptop-mode/laptop-mode.conf", 'HD="/dev/[hs]d[abc]"\nNOLM_READAHEAD=4096\nCONTROL_READAHEAD=1\n', "queue/read_ahead_kb"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SYSCONFIG)
def test_services_with_a_file_of_variables_are_named(kind, tmp_path):
    file, text, attribute = SYSCONFIG[kind]
    made = machine(tmp_path, {file: text, f"{SDA}/queue/read_ahead_kb": "4096\n"}, scheduler="bfq")
    assert set_by(made, "sda", attribute) == f"{kind} {file}:2, probably"


def test_ktune_takes_the_file_of_the_active_profile(tmp_path):
    made = machine(tmp_path, {
        "/etc/tune-profiles/active-profile": "mine\n", "/etc/sysconfig/ktune": "ELEVATOR=none\nELEVATOR_TUNE_DEVS=/sys/block/sd*/queue/scheduler\n",
        "/etc/tune-profiles/mine/ktune.sysconfig": "ELEVATOR=bfq\nELEVATOR_TUNE_DEVS=/sys/block/sd*/queue/scheduler\n", "/etc/rc3.d/S27ktune": "",
    }, scheduler="bfq")  # fmt: skip
    assert set_by(made, "sda") == "ktune /etc/tune-profiles/mine/ktune.sysconfig:1"


@pytest.mark.parametrize(
    "command",
    [
        "echo 1 > /sys/class/scsi_device/0:0:0:0/device/queue_depth",
        "hdparm -Q1 /dev/sda",
        "hdparm -Q 1 /dev/sda",
    ],
)
def test_the_queue_depth_by_other_ways(command, tmp_path):
    made = machine(tmp_path, {RC: f"#!/bin/sh\n{command}\n"})
    assert {(each.device, each.attribute, each.value) for each in survey(made.tree(), made.stack()).setters} == {
        ("sda", "device/queue_depth", "1")}  # fmt: skip


def test_the_argument_of_tmpfiles_is_taken_as_it_stands_with_its_escapes(tmp_path):
    file = "/etc/tmpfiles.d/io.conf"
    made = machine(tmp_path, {file: "w /sys/block/sda/queue/scheduler - - - - bfq\\n\n"}, scheduler="bfq")
    assert set_by(made, "sda") == f"tmpfiles.d {file}:1"
    made.add({file: 'w /sys/block/sda/queue/scheduler - - - - "bfq"\n'})
    assert ineffective(made) == [
        f'tmpfiles.d {file}:1 does not act: sda does not offer "bfq" (none mq-deadline kyber bfq)'
    ]


# What does not act


def test_a_line_behind_the_exit_of_a_start_script_is_called_dead(tmp_path):
    made = machine(tmp_path, {RC: "#!/bin/sh\nexit 0\necho bfq > /sys/block/sda/queue/scheduler\n"}, scheduler="bfq")
    assert "none of the places" in set_by(made, "sda")
    assert ineffective(made) == [f"script or unit {RC}:3 does not act: the script ends in line 2 (`exit`)"]
    (finding,) = [each for each in examine(Machine(made.stack(), made.tree())) if each.check == "no-effect"]
    assert "above" in finding.mend[0]


def ineffective(made) -> list[str]:
    return [each.text for each in survey(made.tree(), made.stack()).ineffective]


def test_a_dead_boot_parameter_is_called_so_with_what_would_act(tmp_path):
    made = machine(
        tmp_path,
        {"/proc/cmdline": "ro elevator=bfq\n", "/etc/default/grub": 'X=1\nGRUB_CMDLINE_LINUX="elevator=bfq"\n'},
        kernel="5.14.0-362.el9.x86_64",
    )
    (text,) = ineffective(made)
    assert text == "boot line /etc/default/grub:2 does not act: since Linux 5.0 the kernel ignores elevator="
    (finding,) = [each for each in examine(Machine(made.stack(), made.tree())) if each.check == "no-effect"]
    assert finding.severity == "look" and "udev rule" in finding.mend[0]


RHEL_8 = """\
ACTION!="add", GOTO="out"
SUBSYSTEM!="block", GOTO="out"
ATTR{queue/scheduler}=="none", GOTO="out"
IMPORT{cmdline}="elevator"
ENV{elevator}!="", ATTR{queue/scheduler}="$env{elevator}"
LABEL="out"
"""


def test_a_boot_parameter_that_a_rule_reads_acts_through_the_rule_and_deadline_is_another_name(tmp_path):
    made = machine(
        tmp_path,
        {"/usr/lib/udev/rules.d/40-elevator.rules": RHEL_8, "/proc/cmdline": "ro elevator=deadline\n"},
        kernel="4.18.0-553.el8_10.x86_64",
    )
    assert (
        set_by(made, "sda")
        == "udev rule /usr/lib/udev/rules.d/40-elevator.rules:5 (deadline is another name of mq-deadline)"
    )
    (text,) = ineffective(made)
    assert "acts through udev rule /usr/lib/udev/rules.d/40-elevator.rules:5 alone" in text
    assert not [each for each in examine(Machine(made.stack(), made.tree())) if each.check == "no-effect"]


def test_the_boot_parameter_of_a_kernel_with_a_single_queue_still_acts(tmp_path):
    made = machine(
        tmp_path,
        {"/proc/cmdline": "ro elevator=deadline\n"},
        kernel="4.15.0",
        scheduler="deadline",
        offered=("noop", "deadline", "cfq"),
    )
    assert set_by(made, "sda") == "boot line /proc/cmdline" and ineffective(made) == []


@pytest.mark.parametrize(
    ("rule", "reason", "instead"),
    [
        ('KERNEL=="sda", ATTR{queue/scheduler}="noop"', "the multi-queue kernel has no noop", "write none"),
        ('KERNEL=="sda", ATTR{queue/scheduler}="cfq"', "the multi-queue kernel has no cfq", "write bfq"),
        ('KERNEL=="sda", ATTR{queue/scheduler}="kyber"', "it has not run since it was written, or this kernel has no such module", "udevadm trigger"),
        ('KERNEL=="sda", DEVTYPE=="disk", ATTR{queue/scheduler}="none"', "udev knows no key DEVTYPE", "mend the line"),
        ('KERNEL="sda", ATTR{queue/scheduler}="none"', "refuses KERNEL= and ignores the line", "mend the line"),
        ('KERNEL=="sda", ATTRS{queue/scheduler}="none"', "refuses ATTRS= and ignores the line", "mend the line"),
        ('BUS=="scsi", KERNEL=="sda", ATTR{queue/scheduler}="none"', "udev knows no key BUS", "mend the line"),
        ("ACTION=='add|change', ATTR{queue/scheduler}='none'", "udev cannot read", "mend the line"),
        ('KERNEL=="sda", ATTR{queue/scheduler}="none', "closing quote", "mend the line"),
        ('KERNEL=="sda", ATTR{queue/scheduler}=e"\\xzz"', "escape", "mend the line"),
        ('KERNEL=="sda", ATTR{queue/schedular}="none"', "sda has no queue/schedular", "write to queue/scheduler"),
        ('KERNEL=="sda", ATTR{queue/read_ahead_kb}="1M"', "'1M' is none", "the number alone"),
        ('KERNEL=="/dev/sda", ATTR{queue/scheduler}="none"', "never a path", "mend the line"),
        ('KERNEL=="sda", ATTR{/sys/block/sda/queue/scheduler}="none"', "below the folder of the device", 'ATTR{queue/scheduler}="none"'),
        ('KERNEL=="sda", RUN+="/bin/echo none > /sys/block/sda/queue/scheduler"', "without a shell", "sh -c"),
    ],
)  # fmt: skip
def test_a_rule_that_the_kernel_or_udev_refuses_is_called_so(rule, reason, instead, tmp_path):
    made = machine(tmp_path, {RULE: f"{rule}\n"}, offered=("none", "mq-deadline", "bfq"))
    found = survey(made.tree(), made.stack())
    assert found.setters == ()
    (idle,) = {(each.reason, each.instead) for each in found.ineffective if each.device in (None, "sda")}
    assert reason in idle[0] and instead in idle[1]
    assert [each for each in examine(Machine(made.stack(), made.tree())) if each.check == "no-effect"]


def test_a_rule_that_a_later_one_overrides_is_named_with_it(tmp_path):
    rules = {
        "/etc/udev/rules.d/60-a.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="bfq"\n',
        "/usr/lib/udev/rules.d/90-b.rules": 'KERNEL=="sd?", ATTR{queue/scheduler}="none"\n',
    }
    made = machine(tmp_path, rules, scheduler="none")
    assert set_by(made, "sda") == "udev rule /usr/lib/udev/rules.d/90-b.rules:1"
    (finding,) = [each for each in examine(Machine(made.stack(), made.tree())) if each.check == "no-effect"]
    assert (
        "60-a.rules:1 sets scheduler of sda to bfq, and the later udev rule /usr/lib/udev/rules.d/90-b.rules:1 overrides it with none"
        in finding.text
    )


def test_where_nobody_is_found_the_places_that_were_read_are_named(tmp_path):
    made = machine(
        tmp_path, {RULE: 'KERNEL=="sdq", ATTR{queue/scheduler}="bfq"\n', RC: "#!/bin/sh\nexit 0\n"}, scheduler="bfq"
    )
    assert set_by(made, "sda") == "set by hand or by a program: none of the places that were read sets it"
    found = status.read(made.tree(), made.stack())
    assert RULE in found.read and RC in found.read and "mdadm.conf, multipath.conf, hdparm.conf" in found.read
    assert found.places["udev"] == [RULE]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("/etc/udev/rules.d/60-io.rule", "udev reads files named *.rules alone"),
        ("/etc/udev/rules.d/60-io.conf", "udev reads files named *.rules alone"),
        ("/etc/udev/60-io.rules", "udev reads files in its rules.d folders alone"),
        ("/etc/udev/rules.d/60-io.rules.rpmsave", None),
    ],
)
def test_a_file_that_udev_does_not_read_is_called_so_unless_it_was_put_aside(file, reason, tmp_path):
    made = machine(tmp_path, {file: '# io\nKERNEL=="sd?", ATTR{queue/scheduler}="bfq"\n'}, scheduler="bfq")
    assert "none of the places" in set_by(made, "sda")
    assert ineffective(made) == ([f"udev rule {file}:2 does not act: {reason}"] if reason else [])
    if reason:
        (finding,) = [each for each in examine(Machine(made.stack(), made.tree())) if each.check == "no-effect"]
        assert finding.mend[0].endswith("name it /etc/udev/rules.d/60-io.rules")


def test_keys_of_udev_before_systemd_act_with_its_kernel(tmp_path):
    rule = 'BUS=="scsi", KERNEL=="sda", ATTR{queue/scheduler}="deadline"\n'
    made = machine(
        tmp_path,
        {RULE: rule},
        kernel="2.6.32-754.el6.x86_64",
        scheduler="deadline",
        offered=("noop", "deadline", "cfq"),
    )
    assert ineffective(made) == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("/etc/modprobe.d/io.conf", "# io\noptions scsi_mod scan=sync use_blk_mq=0\n"),
        ("/etc/default/grub", '# io\nGRUB_CMDLINE_LINUX="scsi_mod.use_blk_mq=0"\n'),
    ],
)
def test_the_choice_of_the_single_queue_is_called_gone(file, text, tmp_path):
    line = "ro scsi_mod.use_blk_mq=0\n" if file.endswith("grub") else "ro\n"
    made = machine(tmp_path, {file: text, "/proc/cmdline": line}, kernel="6.1.0")
    (said,) = ineffective(made)
    assert f"{file}:2 does not act: since Linux 5.0 every disk is multi-queue, and scsi_mod ignores use_blk_mq" in said
    made = machine(tmp_path / "old", {file: text, "/proc/cmdline": line}, kernel="4.9.0")
    assert ineffective(made) == []


def test_a_parameter_that_the_running_kernel_was_started_without_is_called_so(tmp_path):
    made = machine(
        tmp_path,
        {"/proc/cmdline": "ro quiet\n", "/etc/default/grub": 'GRUB_CMDLINE_LINUX="elevator=bfq"\n'},
        kernel="6.1.0",
    )
    assert ineffective(made) == [
        "boot line /etc/default/grub:1 does not act: the running kernel was started without it"
    ]


@pytest.mark.parametrize(
    "command",
    ["/bin/echo bfq > /sys/block/sda/queue/scheduler", "/bin/echo bfq | /usr/bin/tee /sys/block/sda/queue/scheduler"],
)
def test_a_unit_without_a_shell_writes_nothing(command, tmp_path):
    made = machine(tmp_path, {UNIT: f"[Service]\nExecStart={command}\n"}, scheduler="bfq")
    assert "none of the places" in set_by(made, "sda")
    assert ineffective(made) == [
        f"script or unit {UNIT}:2 does not act: systemd starts programs without a shell, so `>` and `|` are arguments like any other"
    ]


@pytest.mark.parametrize(
    ("kind", "file", "text"),
    [
        ("tmpfiles.d", "/etc/tmpfiles.d/io.conf", "w /sys/block/sdX/queue/scheduler - - - - bfq\n"),
        ("sysfs.conf", "/etc/sysfs.conf", "block/sdX/queue/scheduler = bfq\n"),
        ("script or unit", RC, "echo bfq > /sys/block/sdX/queue/scheduler\n"),
    ],
)
def test_a_line_for_a_disk_that_is_not_there_is_called_so(kind, file, text, tmp_path):
    made = machine(tmp_path, {file: text}, scheduler="bfq")
    assert ineffective(made) == [f"{kind} {file}:1 does not act: there is no sdX on this machine"]
    made.add({file: text.replace("sdX", "sda")})
    assert ineffective(made) == []


def test_a_table_of_cron_that_lacks_the_user_starts_nothing(tmp_path):
    line = "@reboot echo bfq > /sys/block/sda/queue/scheduler\n"
    made = machine(tmp_path, {"/etc/cron.d/io": line}, scheduler="bfq")
    assert ineffective(made) == [
        "script or unit /etc/cron.d/io:1 does not act: a line of this table names the user before the command"
    ]
    assert survey(made.tree(), made.stack()).setters == ()


def test_a_line_of_tmpfiles_with_too_few_columns_writes_nothing(tmp_path):
    made = machine(tmp_path, {"/etc/tmpfiles.d/io.conf": "w /sys/block/sda/queue/scheduler - - - bfq\n"})
    assert ineffective(made) == [
        "tmpfiles.d /etc/tmpfiles.d/io.conf:1 does not act: the value belongs in the seventh column"
    ]


def test_a_label_that_is_not_there_leads_nowhere(tmp_path):
    rules = 'KERNEL!="sda", GOTO="end"\nATTR{queue/scheduler}="bfq"\n'
    made = machine(tmp_path, {RULE: rules})
    assert {each.device for each in survey(made.tree(), made.stack()).setters} == {"sda", "nvme0n1"}


def test_a_start_script_that_may_not_be_executed_is_started_by_nothing(tmp_path):
    made = machine(tmp_path, {RC: "#!/bin/sh\necho bfq > /sys/block/sda/queue/scheduler\n"}, scheduler="bfq")
    assert set_by(made, "sda") == f"script or unit {RC}:2"
    (made.root / RC.lstrip("/")).chmod(0o644)
    assert ineffective(made) == [f"script or unit {RC}:2 does not act: {RC} is not executable, so nothing starts it"]
    assert "set by hand" in set_by(made, "sda")


def test_a_variable_in_braces_is_taken_by_systemd_before_the_shell_sees_it(tmp_path):
    unit = "[Service]\nExecStart=/bin/sh -c 'for d in sda; do echo bfq > /sys/block/{}/queue/scheduler; done'\n"
    for form, acts in (("${d}", False), ("$d", True), ("$${d}", True)):
        made = machine(tmp_path / form, {UNIT: unit.format(form)}, scheduler="bfq")
        assert any("systemd itself replaces ${d}" in line for line in ineffective(made)) != acts, form
        assert ("look there" in set_by(made, "sda")) == acts, form


@pytest.mark.parametrize(
    "line", ["echo 50000 > /proc/sys/dev/raid/speed_limit_max", "sysctl -q -w dev.raid.speed_limit_max=50000"]
)
def test_a_script_that_limits_rebuilds_is_named(line, tmp_path):
    made = machine(
        tmp_path, {**ARRAY, "/sys/block/md0/md/sync_speed_max": "50000 (system)\n", RC: f"#!/bin/sh\n{line}\n"}
    )
    assert set_by(made, "md0", "md/sync_speed_max") == f"script or unit {RC}:2"


def test_more_than_a_drive_takes_is_called_so(tmp_path):
    """A SATA disk of 32 commands as it was captured."""
    with tarfile.open(Path(__file__).parents[1] / "machines" / "sata-ncq-off.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    rules = tmp_path / "etc/udev/rules.d/60-x.rules"
    rules.parent.mkdir(parents=True)
    rules.write_text(
        'KERNEL=="sda", ATTR{queue/max_sectors_kb}="65535"\nKERNEL=="sda", ATTR{device/queue_depth}="64"\n'
    )
    (tmp_path / "sys/block/sda").resolve().joinpath("queue/max_hw_sectors_kb").write_text("32767\n")
    tree = FolderTree(tmp_path)
    found = [each.text for each in survey(tree, read_stack(tree)).ineffective]
    assert found == [
        f"udev rule {RULE}:1 does not act: sda takes at most 32767", f"udev rule {RULE}:2 does not act: sda takes at most 32",
    ]  # fmt: skip


NBD = """#!/bin/sh
for dev in $(awk '{{print $1}}' /etc/nbdtab)
do
  if {condition} >/dev/null; then
    echo none > "/sys/block/${{dev}}/queue/scheduler"
  fi
done
{joined} /sys/block/$base/queue/scheduler && echo none > /sys/block/$base/queue/scheduler
"""
"""The two forms of Debian's nbd-client 3.24 (its init script, its script in the initial RAM disk)."""


@pytest.mark.parametrize(
    ("condition", "joined", "lines"),
    [
        ("grep '\\[cfq\\]' \"/sys/block/${dev}/queue/scheduler\"", "grep -q '\\[cfq\\]'", set()),
        ("! grep '\\[cfq\\]' \"/sys/block/${dev}/queue/scheduler\"", "grep -qv '\\[cfq\\]'", {5, 8}),
        ("grep '\\[bfq\\]' \"/sys/block/${dev}/queue/scheduler\"", "grep -q cfq", {5, 8}),
        ("grep '\\[cfq\\]' \"/sys/block/${dev}/queue/scheduler\" || true", "head '\\[cfq\\]'", {5, 8}),
    ],
)
def test_a_line_for_a_scheduler_that_the_kernel_does_not_have_concerns_nobody(tmp_path, condition, joined, lines):
    """nbd-client writes where cfq is selected: a kernel without cfq never gets there, so nothing is refused for it."""
    made = machine(tmp_path, {RC: NBD.format(condition=condition, joined=joined)})
    found = survey(made.tree(), made.stack())
    assert {setter.line for setter in found.setters if setter.device == "sda"} == lines
    wanted = {"sda": {"queue/scheduler": "mq-deadline"}}
    assert {each.line for each in conflicts.find(wanted, ["udev"], made.tree(), made.stack())} == lines


def test_a_condition_ends_where_its_block_ends(tmp_path):
    text = "#!/bin/sh\nif grep -q '\\[cfq\\]' /sys/block/sda/queue/scheduler; then\n echo 1 > /sys/block/sda/queue/nomerges\nelse\n echo 2 > /sys/block/sda/queue/nomerges\nfi\necho 0 > /sys/block/sda/queue/nomerges\n"
    made = machine(tmp_path, {RC: text})
    assert {each.line for each in survey(made.tree(), made.stack()).setters} == {5, 7}
