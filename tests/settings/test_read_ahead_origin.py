"""Who set the read-ahead, and why it is what it is: six distributions as trees of files; and what bounds the requests in flight."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.errors import NotMetError
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import open_tree
from seekwise.settings import status
from seekwise.settings.doctor import absurd_read_ahead
from seekwise.settings.doctor.check import Machine
from settings.machine import Files, machine_names, machine_path, two_disks

SDA = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
NVME = "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1"
AHEAD = "queue/read_ahead_kb"


def debian_12(root) -> Files:
    return two_disks(root, kernel="6.1.0-18-amd64").add({f"{SDA}/queue/max_sectors_kb": "1280\n"})


def fedora_43(root) -> Files:
    return two_disks(root, kernel="6.17.8-300.fc43.x86_64").add({
        f"{SDA}/queue/max_sectors_kb": "4096\n", f"{SDA}/{AHEAD}": "8192\n", f"{NVME}/queue/max_sectors_kb": "4096\n",
    })  # fmt: skip


def rocky_9(root) -> Files:
    return two_disks(root, kernel="5.14.0-427.el9.x86_64").add({
        "/etc/tuned/active_profile": "throughput-performance\n",
        "/usr/lib/tuned/throughput-performance/tuned.conf": "[main]\nsummary=x\n\n[disk]\nreadahead=>4096\n",
        f"{SDA}/{AHEAD}": "4096\n", f"{NVME}/{AHEAD}": "4096\n",
    })  # fmt: skip


def ubuntu_24_usb(root) -> Files:
    """A USB bridge that states the largest request of its protocol, 65,535 sectors, as its optimum."""
    return two_disks(root, kernel="6.8.0-45-generic").add({
        f"{SDA}/queue/optimal_io_size": "33553920\n", f"{SDA}/{AHEAD}": "65534\n",
    })  # fmt: skip


def arch(root) -> Files:
    rule = 'ACTION=="add|change", KERNEL=="sd[a-z]*", ATTR{queue/rotational}=="1", ATTR{queue/read_ahead_kb}="1024"\n'
    return two_disks(root, kernel="6.18.2-arch1-1").add({
        "/etc/udev/rules.d/60-ioschedulers.rules": f"# HDD\n{rule}",
        f"{SDA}/queue/max_sectors_kb": "4096\n", f"{SDA}/{AHEAD}": "1024\n",
    })  # fmt: skip


def cloud_image(root) -> Files:
    """An image whose rule gives 64 MiB to every NVMe volume."""
    rule = 'SUBSYSTEM=="block", KERNEL=="nvme*", ATTR{queue/read_ahead_kb}="65536"\n'
    return two_disks(root, kernel="6.6.44-54.amzn2023.x86_64").add({
        "/usr/lib/udev/rules.d/53-cloud-read-ahead.rules": rule, f"{NVME}/{AHEAD}": "65536\n",
    })  # fmt: skip


CASES = [
    (debian_12, "sda", "128", "kernel", "kernel's default", "no optimal_io_size", False),
    (fedora_43, "sda", "8192", "kernel", "kernel's default", "twice max_sectors_kb 4096 on a rotating disk, since Linux 6.17", False),
    (fedora_43, "nvme0n1", "128", "kernel", "kernel's default", "no optimal_io_size", False),
    (rocky_9, "sda", "4096", "tuned", "throughput-performance/tuned.conf:5", "default is 128", False),
    (ubuntu_24_usb, "sda", "65534", "kernel", "kernel's default", "optimal_io_size, stated by the drive", True),
    (arch, "sda", "1024", "udev", "/etc/udev/rules.d/60-ioschedulers.rules:2", "default is 8192 (twice max_sectors_kb", False),
    (cloud_image, "nvme0n1", "65536", "udev", "/usr/lib/udev/rules.d/53-cloud-read-ahead.rules:1", "default is 128", True),
]  # fmt: skip


@pytest.mark.parametrize(("made", "name", "value", "source", "by", "why", "absurd"), CASES)
def test_the_origin_of_a_read_ahead_is_told(tmp_path, made, name, value, source, by, why, absurd):
    files = made(tmp_path)
    found = status.read(files.tree(), files.stack())
    (shown,) = [
        each
        for device in found.devices
        if device.device.name == name
        for each in device.settings
        if each.attribute == AHEAD
    ]
    assert (shown.value, shown.source) == (value, source)
    assert by in shown.set_by and why in shown.why
    said = [each for each in absurd_read_ahead.check(Machine(files.stack(), files.tree())) if name in each.devices]
    assert bool(said) == absurd
    if absurd:
        assert said[0].mend and (by in said[0].text or why in said[0].text)


def test_the_read_ahead_of_mappings_and_multipath_has_a_reason_too():
    seen = set()
    for name in machine_names():
        tree = open_tree(machine_path(name))
        for device in status.read(tree, read_stack(tree)).devices:
            for value in device.settings:
                if value.attribute == AHEAD and value.why:
                    seen.add(device.device.kind)
    assert {"md", "lvm", "multipath"} <= seen


def test_two_captures_say_what_an_upgrade_has_changed_and_why(tmp_path):
    debian_12(tmp_path / "old")
    fedora_43(tmp_path / "new")
    words = ["compare", str(tmp_path / "old"), str(tmp_path / "new")]
    shown = CliRunner().invoke(cli, words, catch_exceptions=False).stdout
    joined = " ".join(shown.split())
    assert joined.startswith("On 2 devices that both captures have, 1 setting differs (kernel 6.1.0-18-amd64 → 6.17.8")
    assert (
        "sda read_ahead_kb: 128 → 8192" in joined and "now: the kernel's default; twice max_sectors_kb 4096" in joined
    )
    document = json.loads(CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False).stdout)
    assert [(each["device"], each["attribute"]) for each in document["changes"]] == [("sda", AHEAD)]
    with pytest.raises(NotMetError):
        CliRunner().invoke(cli, [*words, "--fail-if", "difference"], catch_exceptions=False, standalone_mode=False)


def test_captures_of_two_machines_are_not_said_to_be_equal(tmp_path):
    two_disks(tmp_path / "one")
    (tmp_path / "other").mkdir()
    two_disks(tmp_path / "other", serial="WD-2").add(
        {"/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/serial": "N 2\n"}
    )
    words = ["compare", str(tmp_path / "one"), str(tmp_path / "other")]
    shown = " ".join(CliRunner().invoke(cli, words, catch_exceptions=False).stdout.split())
    assert shown.startswith("These captures have no drive in common") and "no setting differs" not in shown


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"mq/0/nr_tags": "32\n", "queue/nr_requests": "64\n"}, "at most 32 in flight, bound by queue_depth"),
        ({"mq/0/nr_tags": "32\n", "../../queue_depth": "1\n"}, "at most 1 in flight, bound by queue_depth"),
        ({"mq/0/nr_tags": "16\n"}, "at most 16 in flight, bound by the driver's tags"),
        (
            {"queue/scheduler": "[none] mq-deadline\n", "queue/nr_requests": "8\n", "mq/0/nr_tags": "32\n"},
            "at most 8 in flight, bound by nr_requests",
        ),
    ],
)
def test_what_bounds_the_requests_in_flight(tmp_path, files, expected):
    made = two_disks(tmp_path).add({f"{SDA}/{name}": text for name, text in files.items()})
    found = status.read(made.tree(), made.stack())
    (why,) = [
        each.why
        for device in found.devices
        if device.device.name == "sda"
        for each in device.settings
        if each.attribute == "queue/nr_requests"
    ]
    assert why == expected
