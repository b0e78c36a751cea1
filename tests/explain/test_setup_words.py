"""What the published texts name of settings and programs is explained."""

from __future__ import annotations

import pytest

from seekwise.report.explain import explain


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("elevator=", "elevator=deadline"),
        ("mem=", "mem=256M"),
        ("single", "without services"),
        ("grub", "GRUB_CMDLINE_LINUX"),
        ("sysfs.conf", "block/sda/queue/scheduler = mq-deadline"),
        ("modules-load.d", "/etc/modules-load.d/bfq.conf"),
        ("dmesg", "NCQ (depth 31/32)"),
        ("permission denied", "has no way to change the depth"),
        ("tw_cli", "set qpolicy=on"),
        ("3ware", "show NCQ"),
        ("mdadm", "--layout=n2"),
        ("fake RAID", "CPU efficiency"),
        ("SATA 1", "150 MB/s"),
        ("DDR3", "12800 MB/s"),
        ("gnome-disks", "come out low"),
        ("phoronix", "pts/tiobench"),
        ("file server", "--for file-server"),
    ],
)
def test_settings_and_programs_of_the_texts_are_explained(word: str, part: str):
    assert part in explain(word).text.replace("\n", " ")
