"""Storage that is no local disk or SSD: what `devices`, `doctor` and `advise --device` say of it, from a tree of its kind."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.errors import UsageError
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack

from .machine import reconstruct

RECONSTRUCT = reconstruct()
QUEUE = RECONSTRUCT.QUEUE_MQ
SATA = "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0"
VMBUS = "ACPI0004:00/VMBUS:00/f8b3781a"


@pytest.fixture
def builder(tmp_path):
    return RECONSTRUCT.MachineBuilder(tmp_path / "machine", "6.1.0")


def sata(builder, queue=(), words=None, model="DISK"):
    builder.files(f"sys/devices/{SATA}", {"vendor": "ATA", "model": model, "rev": "1", "queue_depth": "32"})
    builder.disk("sda", SATA, "8:0", 10**9, {**QUEUE, **dict(queue)})
    if words is not None:
        builder.file("sys/class/ata_device/dev1.0/id", " ".join(f"{word:04x}" for word in words))


def zoned(kind, scheduler="mq-deadline"):
    offered = " ".join(f"[{name}]" if name == scheduler else name for name in ("none", "mq-deadline", "bfq"))
    return lambda builder: sata(builder, {"zoned": kind, "scheduler": offered})


def device_managed(builder):
    words = [0] * 256
    words[69] = 0b10
    sata(builder, words=words)


def hyper_v(builder):
    place = f"{VMBUS}/host0/target0:0:0/0:0:0:0"
    builder.files(f"sys/devices/{place}", {"vendor": "Msft", "model": "Virtual Disk", "rev": "1.0"})
    builder.file("sys/bus/vmbus/drivers/hv_storvsc/bind", "")
    builder.link(f"sys/devices/{VMBUS}/driver", "sys/bus/vmbus/drivers/hv_storvsc")
    builder.disk("sda", place, "8:0", 10**9, {**QUEUE, "scheduler": "[none] mq-deadline"})


def usb(driver):
    def build(builder):
        above = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0"
        place = f"{above}/host6/target6:0:0/6:0:0:0"
        builder.files(f"sys/devices/{place}", {"vendor": "JMicron", "model": "Tech", "rev": "1", "queue_depth": "1"})
        builder.file(f"sys/bus/usb/drivers/{driver}/bind", "")
        builder.link(f"sys/devices/{above}/driver", f"sys/bus/usb/drivers/{driver}")
        builder.disk("sda", place, "8:0", 10**9, QUEUE)

    return build


def named(name, **queue):
    return lambda builder: builder.disk(name, f"virtual/{name}", "250:0", 10**9, {**QUEUE, **queue})


def bare(builder):
    builder.files("sys/block/sda", {"size": "1000", "dev": "8:0"})


KINDS = {
    "host-managed": (zoned("host-managed", "none"), "sda", ("host-managed zones",), ("refused by the drive",), ("before Linux 6.10 mq-deadline",)),
    "host-managed in order": (zoned("host-managed"), "sda", (), ("Nothing wrong",), ("writes of a zone in order only",)),
    "host-aware": (zoned("host-aware"), "sda", ("host-aware zones",), ("rewrites overlapping tracks",), ("hard disk",)),
    "device-managed": (device_managed, "sda", ("device-managed zones (SMR)",), ("rewrites overlapping tracks",), ("hard disk",)),
    **{
        f"listed as SMR: {model}": (lambda builder, model=model: sata(builder, model=model), "sda", ("device-managed zones (SMR)",), ("rewrites overlapping tracks",), ("hard disk",))
        for model in ("ST8000DM004-2CX1", "WDC WD40EFAX-68J", "TOSHIBA HDWD240")
    },
    "not listed: WD40EFZX": (lambda builder: sata(builder, model="WDC WD40EFZX-68A"), "sda", ("SATA hard disk",), ("Nothing wrong",), ("hard disk",)),
    "not zoned": (zoned("none"), "sda", ("SATA hard disk",), ("Nothing wrong",), ("hard disk",)),
    "hyper-v": (hyper_v, "sda", ("Hyper-V disk",), ("schedules these requests once more",), ("sda (Hyper-V disk)", "disk of a guest")),
    "xen": (named("xvda"), "xvda", ("Xen disk",), ("the host (Xen) schedules",), ("xvda (Xen disk)", "disk of a guest")),
    "usb": (usb("usb-storage"), "sda", ("USB disk",), ("one command at a time",), ("one command at a time",)),
    "uas": (usb("uas"), "sda", ("USB disk",), ("Nothing wrong",), ("takes several commands",)),
    "sd card": (named("mmcblk0", rotational="0"), "mmcblk0", ("SD card or eMMC",), ("Nothing wrong",), ("mmcblk0 (SD card or eMMC)",)),
    "nbd": (named("nbd0"), "nbd0", ("of another machine",), ("Nothing wrong",), ("of another machine",)),
    "pmem": (named("pmem0", rotational="0"), "pmem0", ("pmem0",), ("Nothing wrong",), ("it is memory",)),
    "aoe": (named("etherd!e0.0"), "etherd!e0.0", ("of another machine",), ("Nothing wrong",), ("ATA over Ethernet",)),
    "zvol": (named("zd0", rotational="0"), "zd0", ("zd0",), ("Nothing wrong",), ("a volume of ZFS",)),
    "zram": (named("zram0", rotational="0"), "zram0", ("zram0",), ("Nothing wrong",), ("it is memory",)),
    "no queue": (bare, "sda", ("sda",), ("Nothing can be said of the settings",), ("its queue is not known",)),
}  # fmt: skip
"""What is built, its device, and words of `devices`, `doctor` and `advise --device`."""


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_named_examined_and_advised_as_what_it_is(builder, kind, tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path / "state"))
    build, device, *expected = KINDS[kind]
    build(builder)
    root = ["--root", str(builder.root)]
    said = [
        " ".join(CliRunner().invoke(cli, [*words, *root]).output.split())
        for words in (["devices"], ["doctor"], ["advise", "--device", device])
    ]
    for output, words in zip(said, expected, strict=True):
        assert all(word in output for word in words), output
    devices, doctor, advise = said
    assert ("Nothing wrong" in doctor) == ("refused" not in doctor and kind != "no queue")
    # What cannot act is not advised: bfq where zones need an order, a measurement of memory.
    assert "bfq" not in advise if "host-managed" in kind else True
    assert ("`sudo seekwise tune" in advise) == (kind not in ("zram", "pmem"))


def test_a_zoned_disk_without_an_order_is_one_finding(builder):
    zoned("host-managed", "none")(builder)
    shown = CliRunner().invoke(cli, ["doctor", "--root", str(builder.root)]).stdout
    assert shown.count("WRONG") == 1


def test_a_new_kernel_keeps_zones_in_order_under_any_scheduler(builder):
    """Only what an arm gains by a scheduler is left to say."""
    zoned("host-managed", "none")(builder)
    builder.file("proc/sys/kernel/osrelease", "6.12.0")
    shown = CliRunner().invoke(cli, ["doctor", "--root", str(builder.root)]).stdout
    assert "refused" not in shown and "hard disk without an I/O scheduler" in shown


@pytest.mark.parametrize(("schedulers", "wrong"), [(("mq-deadline", "mq-deadline"), 0), (("mq-deadline", "bfq"), 1)])
@pytest.mark.parametrize("filesystem", ["btrfs", "bcachefs"])
def test_a_file_system_over_several_drives_stands_on_all_of_them(builder, filesystem, schedulers, wrong):
    for number, scheduler in enumerate(schedulers):
        place = SATA.replace("ata1/host0/target0:0:0/0:", f"ata{number + 1}/host{number}/target{number}:0:0/{number}:")
        builder.files(f"sys/devices/{place}", {"vendor": "ATA", "model": "DISK", "rev": "1", "queue_depth": "32"})
        offered = " ".join(f"[{name}]" if name == scheduler else name for name in ("none", "mq-deadline", "bfq"))
        builder.disk(f"sd{'ab'[number]}", place, f"8:{16 * number}", 10**9, {**QUEUE, "scheduler": offered})
        builder.link(f"sys/fs/btrfs/1-2/devices/sd{'ab'[number]}", f"sys/block/sd{'ab'[number]}")
    builder.mount("/data", "/dev/sda:/dev/sdb" if filesystem == "bcachefs" else "/dev/sda", "0:31", filesystem)
    assert {leaf.name for leaf in resolve_path(read_stack(builder.root), "/data").leaves} == {"sda", "sdb"}
    shown = CliRunner().invoke(cli, ["doctor", "--root", str(builder.root)]).stdout
    assert shown.count("WRONG") == wrong


def test_a_network_block_device_shows_who_set_it(builder):
    named("nbd0")(builder)
    shown = CliRunner().invoke(cli, ["status", "--root", str(builder.root)]).stdout
    assert "nbd0  network block device" in shown and "scheduler" in shown


def test_a_captured_machine_is_asked_by_device(builder):
    sata(builder)
    root = ["--root", str(builder.root)]
    assert "sda (hard disk)" in CliRunner().invoke(cli, ["advise", "--device", "sda", *root]).stdout
    with pytest.raises(UsageError, match="--root belongs to --device"):
        CliRunner().invoke(cli, ["advise", "--classes", *root], catch_exceptions=False)


def test_bcachefs_over_a_disk_and_an_ssd_may_set_them_differently(builder):
    for number, queue in enumerate(
        ({}, {"rotational": "0", "wbt_lat_usec": "2000", "scheduler": "[none] mq-deadline"})
    ):
        place = SATA.replace("ata1/host0/target0:0:0/0:", f"ata{number + 1}/host{number}/target{number}:0:0/{number}:")
        builder.files(f"sys/devices/{place}", {"vendor": "ATA", "model": "DISK", "rev": "1", "queue_depth": "32"})
        builder.disk(f"sd{'ab'[number]}", place, f"8:{16 * number}", 10**9, {**QUEUE, **queue})
    builder.mount("/data", "/dev/sda:/dev/sdb", "0:31", "bcachefs")
    assert "Nothing wrong" in CliRunner().invoke(cli, ["doctor", "--root", str(builder.root)]).stdout


def test_a_drive_of_zfs_keeps_none(builder):
    sata(builder, {"scheduler": "[none] mq-deadline bfq"})
    builder.file("run/udev/data/b8:0", "E:ID_FS_TYPE=zfs_member")
    shown = " ".join(CliRunner().invoke(cli, ["advise", "--device", "sda", "--root", str(builder.root)]).stdout.split())
    assert "keep `none`" in shown and "mq-deadline" not in shown
