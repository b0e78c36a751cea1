"""These tests will find, in plain configuration files, every line that sets an attribute of a disk, and who wins."""

from __future__ import annotations

import pytest

from seekwise.linux.setters import find_setters, owner, tuned
from seekwise.linux.setters.pattern import matches
from seekwise.linux.setters.udev_syntax import lines
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import open_tree
from seekwise.settings import conflicts
from settings.machine import machine_names, machine_path, two_disks


def found(files) -> list[tuple[str, str, str, str, bool]]:
    """In the order in which they act; the disks of one line as the line finds them."""
    return [
        (setter.device, setter.attribute, setter.value, setter.place, setter.certain)
        for setter in find_setters(files.tree(), files.stack())
    ]


def test_a_udev_rule_is_named_with_file_and_line_for_the_disks_it_matches(tmp_path):
    files = two_disks(tmp_path).add({
        "/etc/udev/rules.d/60-io.rules": '# comment\nACTION=="add|change", KERNEL=="sd[a-z]*", ATTR{queue/rotational}=="1", \\\n'
        '  ATTR{queue/scheduler}="bfq"\nKERNEL=="nvme[0-9]*", ATTR{queue/scheduler}="none"\n'
    })  # fmt: skip
    assert found(files) == [
        ("sda", "queue/scheduler", "bfq", "/etc/udev/rules.d/60-io.rules:2", True),
        ("nvme0n1", "queue/scheduler", "none", "/etc/udev/rules.d/60-io.rules:4", True),
    ]


def test_a_rule_file_in_etc_hides_the_package_s_file_of_the_same_name(tmp_path):
    files = two_disks(tmp_path).add({
        "/usr/lib/udev/rules.d/60-io.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="bfq"\n',
        "/etc/udev/rules.d/60-io.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="kyber"\n',
    })  # fmt: skip
    assert [each[2] for each in found(files)] == ["kyber"]


def test_later_file_names_come_later_wherever_they_lie(tmp_path):
    files = two_disks(tmp_path).add({
        "/usr/lib/udev/rules.d/90-late.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="none"\n',
        "/etc/udev/rules.d/10-early.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="bfq"\n',
    })  # fmt: skip
    assert [each[2] for each in found(files)] == ["bfq", "none"]


def test_goto_skips_the_rules_up_to_its_label(tmp_path):
    text = (
        'SUBSYSTEM!="block", GOTO="end"\nKERNEL=="sda", GOTO="end"\nATTR{queue/nomerges}="2"\nLABEL="end"\n'
        'KERNEL=="sda", ATTR{queue/nomerges}="1"\n'
    )
    files = two_disks(tmp_path).add({"/etc/udev/rules.d/60-io.rules": text})
    assert [(each[0], each[2]) for each in found(files)] == [("nvme0n1", "2"), ("sda", "1")]


def test_what_only_a_program_can_know_makes_a_rule_uncertain(tmp_path):
    rule = 'KERNEL=="sda", PROGRAM=="/bin/is-fast", ATTR{queue/scheduler}="none"\n'
    files = two_disks(tmp_path).add({"/etc/udev/rules.d/60-io.rules": rule})
    assert found(files)[0][4] is False


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('ENV{ID_SERIAL_SHORT}=="WD-1", ATTR{queue/nr_requests}="128"', [("sda", "queue/nr_requests", "128")]),
        ('ENV{ID_SERIAL_SHORT}!="?*", ATTR{queue/nr_requests}="128"', []),
        ('KERNEL=="sda", RUN+="/bin/sh -c \'echo none > /sys/block/%k/queue/scheduler\'"', [("sda", "queue/scheduler", "none")]),
        ('KERNEL=="sda", RUN+="/sbin/blockdev --setra 8192 /dev/%k"', [("sda", "queue/read_ahead_kb", "4096")]),
        ('KERNEL=="sda", ATTR{bdi/read_ahead_kb}="512"', [("sda", "queue/read_ahead_kb", "512")]),
        ('SUBSYSTEM=="scsi", ENV{DEVTYPE}=="scsi_device", ATTR{queue_depth}="1"', [("sda", "device/queue_depth", "1")]),
        ('ATTRS{vendor}=="ATA", ATTR{queue/nomerges}="1"', [("sda", "queue/nomerges", "1")]),
        ('KERNEL=="sda", ATTR{queue/rotational}=="0", ATTR{queue/scheduler}="none"', []),
        ('SUBSYSTEM=="net", ATTR{queue/scheduler}="none"', []),
        ('ACTION=="remove", ATTR{queue/scheduler}="none"', []),
    ],
)  # fmt: skip
def test_matches_of_udev_rules(tmp_path, rule, expected):
    files = two_disks(tmp_path).add({"/etc/udev/rules.d/60-io.rules": rule + "\n"})
    certain = [each[:3] for each in found(files) if each[0] == "sda"]
    assert certain == expected


# As distributions write them: conditions on what earlier lines found, tests of files, exclusions by the boot line.
SELECTION = """\
ACTION!="add|change", GOTO="scheduler_end"
SUBSYSTEM!="block", GOTO="scheduler_end"
IMPORT{cmdline}="elevator"
ENV{elevator}=="?*", GOTO="scheduler_end"
TEST!="%S%p/queue/scheduler", GOTO="scheduler_end"
ATTR{queue/rotational}=="0", ENV{.IO}="none"
ATTR{queue/rotational}!="0", ENV{.IO}="bfq"
ENV{.IO}=="?*", ATTR{queue/scheduler}="$env{.IO}"
ENV{.IO}=="bfq", ATTR{queue/nr_requests}="%s{queue/nr_requests}"
LABEL="scheduler_end"
"""


def test_rules_that_build_on_what_earlier_lines_have_found(tmp_path):
    files = two_disks(tmp_path).add({"/usr/lib/udev/rules.d/60-io-scheduler.rules": SELECTION})
    place = "/usr/lib/udev/rules.d/60-io-scheduler.rules"
    assert set(found(files)) == {
        ("sda", "queue/scheduler", "bfq", f"{place}:8", True),
        ("sda", "queue/nr_requests", "64", f"{place}:9", True),
        ("nvme0n1", "queue/scheduler", "none", f"{place}:8", True),
    }
    files.add({"/proc/cmdline": "quiet elevator=mq-deadline\n"})
    assert found(files) == [], "the boot line excludes them"


def test_a_property_that_a_program_decides_makes_what_follows_uncertain(tmp_path):
    text = 'KERNEL=="sda", PROGRAM=="/bin/pick", ENV{.IO}="%c"\nENV{.IO}=="none", ATTR{queue/scheduler}="none"\n'
    files = two_disks(tmp_path).add({"/etc/udev/rules.d/60-io.rules": text})
    assert [(each[0], each[2], each[4]) for each in found(files)] == [("sda", "none", False)]


def test_udev_patterns_are_globs_with_alternatives():
    assert matches("sd[a-z]|nvme*", "nvme0n1") and not matches("sd[!a]", "sda") and matches("A", "a", ignore_case=True)


def test_a_comment_inside_a_continued_rule_does_not_swallow_it():
    (rule,) = lines('KERNEL=="sda", \\\n  ATTR{queue/nomerges}="1"\n', "f")
    assert (rule.line, len(rule.tokens)) == (1, 2)


def test_hdparm_conf_acts_after_our_udev_rule(tmp_path):
    text = "quiet\nread_ahead_sect = 1024\n#/dev/sda {\n/dev/sda {\n\twrite_cache = off\n}\n/dev/sdq {\n write_cache = on\n}\n"
    files = two_disks(tmp_path).add({"/etc/hdparm.conf": text})
    assert found(files) == [
        ("sda", "queue/read_ahead_kb", "512", "/etc/hdparm.conf:2", False),
        ("sda", "queue/write_cache", "write through", "/etc/hdparm.conf:5", False),
    ]
    files.add({"/usr/lib/udev/rules.d/85-hdparm.rules": 'RUN+="/lib/udev/hdparm"\n'})
    assert all(each[4] for each in found(files))
    for way, loses in (("udev", [True]), ("sysfs.conf", [False])):
        seen = conflicts.find({"sda": {"queue/read_ahead_kb": "128"}}, [way], files.tree(), files.stack())
        assert [each.overrides_ours for each in seen] == loses, way


def test_sysfs_conf_tmpfiles_and_scripts(tmp_path):
    files = two_disks(tmp_path).add({
        "/etc/sysfs.conf": "# block/sda/queue/nomerges = 9\nblock/sda/queue/nr_requests = 32\n",
        "/etc/tmpfiles.d/io.conf": "w /sys/block/sda/queue/read_ahead_kb - - - - 256\n",
        "/etc/rc.local": "#!/bin/sh\necho kyber > /sys/block/nvme0n1/queue/scheduler\n",
        "/etc/systemd/system/io.service": "[Service]\nExecStart=/bin/sh -c 'for d in sda; do echo 2 > /sys/block/$d/queue/nomerges; done'\n",
    })  # fmt: skip
    assert found(files) == [
        ("sda", "queue/nr_requests", "32", "/etc/sysfs.conf:2", True),
        ("sda", "queue/read_ahead_kb", "256", "/etc/tmpfiles.d/io.conf:1", True),
        ("nvme0n1", "queue/scheduler", "kyber", "/etc/rc.local:2", True),
        # Which disks the loop means, the line does not say.
        ("nvme0n1", "queue/nomerges", "2", "/etc/systemd/system/io.service:2", False),
        ("sda", "queue/nomerges", "2", "/etc/systemd/system/io.service:2", False),
    ]


def test_a_unit_of_a_package_counts_if_it_is_enabled_and_the_scripts_that_are_started_too(tmp_path):
    unit = "[Service]\nExecStart=-/bin/sh /usr/local/sbin/set-io --all\n"
    files = two_disks(tmp_path).add({
        "/usr/lib/systemd/system/io.service": unit,
        "/usr/local/sbin/set-io": "#!/bin/sh\n# echo 1 > /sys/block/sda/queue/nomerges\necho kyber > /sys/block/sda/queue/scheduler\n",
        "/etc/cron.d/io": "*/5 * * * * root /opt/io.sh\n",
        "/opt/io.sh": "#!/bin/bash\nblockdev --setra 1024 /dev/nvme0n1\n",
    })  # fmt: skip
    cron = ("nvme0n1", "queue/read_ahead_kb", "512", "/opt/io.sh:2", False)
    assert found(files) == [cron]
    files.link("/etc/systemd/system/multi-user.target.wants/io.service", "/usr/lib/systemd/system/io.service")
    assert found(files) == [cron, ("sda", "queue/scheduler", "kyber", "/usr/local/sbin/set-io:3", False)]
    # A masked unit does nothing.
    files.link("/etc/systemd/system/io.service", "/dev/null")
    assert found(files) == [cron]


def test_the_boot_line_sets_the_scheduler_of_old_kernels_only(tmp_path):
    for kernel, count in (("3.16.0-4-amd64", 2), ("6.1.0-18-amd64", 0)):
        files = two_disks(tmp_path / kernel, kernel=kernel).add({
            "/proc/cmdline": "quiet elevator=deadline\n",
            "/etc/default/grub": 'GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX="elevator=deadline"\n',
        })  # fmt: skip
        setters = [each for each in find_setters(files.tree(), files.stack()) if each.kind == "boot"]
        assert len(setters) == count
        assert all(each.place == "/etc/default/grub:2" for each in setters)


TUNED = {
    "/etc/tuned/active_profile": "storage\n",
    "/etc/systemd/system/multi-user.target.wants/tuned.service": "",
    "/usr/lib/tuned/base/tuned.conf": "[variables]\nahead=4096\n\n[disk]\nreadahead=>${ahead}\n",
    "/etc/tuned/storage/tuned.conf": "[main]\ninclude=base\n\n[disk-sas]\ntype=disk\ndevices=sd*\nelevator = none\n\n"
    "[sysfs]\n/sys/block/nvme*/queue/nomerges=1\n",
}


def test_a_tuned_unit_takes_only_disks_that_no_earlier_unit_has_taken(tmp_path):
    files = two_disks(tmp_path).add(TUNED)
    # [disk] of the included profile comes first and takes every disk, so [disk-sas] gets none: no elevator is set.
    assert [each[:3] for each in found(files)] == [
        ("nvme0n1", "queue/read_ahead_kb", "4096"),
        ("sda", "queue/read_ahead_kb", "4096"),
        ("nvme0n1", "queue/nomerges", "1"),
    ]
    files.add({"/usr/lib/tuned/base/tuned.conf": "[disk]\ndevices=nvme*\nreadahead=8192 s\n"})
    assert [each[:4] for each in found(files)][:2] == [
        ("nvme0n1", "queue/read_ahead_kb", "4096", "/usr/lib/tuned/base/tuned.conf:3"),
        ("sda", "queue/scheduler", "none", "/etc/tuned/storage/tuned.conf:7"),
    ]


def test_tuned_read_ahead_is_in_kib_unless_it_says_sectors():
    assert tuned.read_ahead_kib("4096") == ("4096", False)
    assert tuned.read_ahead_kib(">4096") == ("4096", True)
    assert tuned.read_ahead_kib("8192 s") == tuned.read_ahead_kib("8192 sectors") == ("4096", False)
    assert tuned.read_ahead_kib("8192s") is None, "TuneD takes the number and its unit for one word, and refuses it"
    assert tuned.read_ahead_kib("lots") is None


def test_a_file_belongs_to_the_package_whose_list_names_it(tmp_path):
    files = two_disks(tmp_path).add({"/var/lib/dpkg/info/io-rules:amd64.list": "/.\n/lib/udev/rules.d/60-io.rules\n"})
    assert owner(files.tree(), "/usr/lib/udev/rules.d/60-io.rules") == "io-rules"
    assert owner(files.tree(), "/usr/lib/udev/rules.d/61-io.rules") is None


@pytest.mark.parametrize("name", machine_names())
def test_no_captured_machine_has_somebody_who_sets_something(name):
    tree = open_tree(machine_path(name))
    assert find_setters(tree, read_stack(tree)) == ()
