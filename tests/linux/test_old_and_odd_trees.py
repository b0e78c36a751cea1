"""Trees from old kernels and thin captures: holes never raise, and what is left is still right."""

from __future__ import annotations

import pytest

from seekwise.linux import ata, dm, md
from seekwise.linux.capture import _identify_without_serial
from seekwise.linux.resolve import resolve_path
from seekwise.linux.scsi import vpd_serial
from seekwise.linux.stack import read_stack

from .conftest import reconstruct


def test_sysfs_with_folders_instead_of_links(builder):
    """CONFIG_SYSFS_DEPRECATED and copies that followed every link."""
    folder = "sys/block/sda"
    builder.files(folder, {"dev": "8:0", "size": "1953525168", "ro": "0"})
    builder.files(f"{folder}/queue", reconstruct.QUEUE_2_6_32)
    builder.files(f"{folder}/device", {"vendor": "ATA", "model": "ST31000340NS", "rev": "SN06", "queue_depth": "31"})
    builder.file(f"{folder}/device/scsi_disk:0:0:0:0/cache_type", "write back")
    builder.files(f"{folder}/sda1", {"dev": "8:1", "size": "1000", "start": "63"})
    stack = read_stack(builder.root)
    disk = stack.devices["sda"]
    assert (disk.model, disk.transport, disk.queue_depth, disk.write_cache) == (
        "ST31000340NS",
        "sata",
        31,
        "write back",
    )
    assert disk.details["ncq"]["state"] == "on"
    assert stack.devices["sda1"].below == ("sda",)


def test_a_disk_with_nothing_but_its_name(builder):
    (builder.root / "sys/block/sda").mkdir()
    disk = read_stack(builder.root).devices["sda"]
    assert (disk.size_bytes, disk.major_minor, disk.scheduler, disk.queue) == (0, "", None, {})


def test_unknown_kinds_are_disks(builder):
    builder.disk("weird0", "platform/weird", "253:0", 100, {"scheduler": "none"})
    device = read_stack(builder.root).devices["weird0"]
    assert (device.kind, device.scheduler) == ("disk", "none")


def test_members_that_the_tree_lacks_are_named_and_warned_about(builder):
    place = builder.disk("md0", "virtual", "9:0", 1000, {"scheduler": "none"})
    builder.files(f"{place}/md", {"level": "raid1", "raid_disks": "2"})
    builder.files(f"{place}/md/dev-sdq1", {"state": "in_sync", "slot": "0"})
    stack = read_stack(builder.root)
    assert stack.devices["md0"].details["missing"] == ["sdq1"]
    assert [leaf.name for leaf in stack.leaves("md0")] == ["md0"]
    assert any("md0: stands on sdq1" in text for text in (each.line for each in stack.warnings))


def test_md_without_its_folder_is_read_from_mdstat(builder):
    for name, number in (("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")):
        builder.disk(name, f"pci0000:00/{name}", number, 1000, reconstruct.QUEUE_2_6_32)
    builder.disk("md0", "virtual", "9:0", 2000, {})
    builder.file(
        "proc/mdstat",
        "Personalities : [raid6] [raid5] [raid4]\n"
        "md0 : active raid5 sdc[2](F) sdb[1] sda[0]\n"
        "      1000 blocks level 5, 64k chunk, algorithm 2 [3/2] [UU_]\n"
        "      [=>...................]  recovery =  8.5% (1/2) finish=1.0min speed=1K/sec\n",
    )
    array = read_stack(builder.root).devices["md0"]
    assert array.below == ("sda", "sdb", "sdc")
    assert (array.details["level"], array.details["chunk_bytes"], array.details["degraded"]) == ("raid5", 65536, 1)
    assert array.details["members"][2]["state"] == "faulty"
    assert (array.details["sync_action"], array.details["sync_fraction"]) == ("recover", 0.085)


@pytest.mark.parametrize(
    ("uuid", "kind"),
    [
        ("LVM-" + "a" * 64, "lvm"),
        ("CRYPT-LUKS1-0123-root", "crypt"),
        ("mpath-360000", "multipath"),
        ("DMRAID-isw_abc_Volume0", "dmraid"),
        ("part1-mpath-360000", "partition"),
        ("", "dm"),
        ("SOMETHING-else", "dm"),
    ],
)
def test_mappings_are_told_apart_by_their_uuid(builder, uuid, kind):
    builder.disk("sda", "pci0000:00/0000:00:1f.2", "8:0", 1000, reconstruct.QUEUE_MQ)
    place = builder.disk("dm-0", "virtual", "253:0", 1000, {"scheduler": "none"})
    builder.files(f"{place}/dm", {"name": "some-name", "uuid": uuid, "suspended": "0"})
    builder.link(f"{place}/slaves/sda", "sys/block/sda")
    stack = read_stack(builder.root)
    assert stack.devices["dm-0"].kind == kind
    assert [leaf.name for leaf in stack.leaves("dm-0")] == ["sda"]
    if kind == "dmraid":
        assert stack.devices["dm-0"].details["firmware_raid"] == "dmraid: isw"
        assert any("firmware" in text for text in (each.line for each in stack.warnings))


def test_bio_based_multipath_leaves_scheduling_to_its_paths(builder):
    place = builder.disk("dm-0", "virtual", "253:0", 1000, {"scheduler": "none"})
    builder.files(f"{place}/dm", {"name": "mpatha", "uuid": "mpath-36000"})
    for name, number in (("sda", "8:0"), ("sdb", "8:16")):
        builder.disk(name, f"pci0000:00/{name}", number, 1000, reconstruct.QUEUE_MQ)
        builder.link(f"{place}/slaves/{name}", f"sys/block/{name}")
    found = resolve_path(read_stack(builder.root), "dm-0")
    assert [device.name for device in found.devices_for("scheduler")] == ["sda", "sdb"]
    assert found.notes == ()


def test_doubled_hyphens_in_volume_names():
    names = dm._lvm("my--group-my--volume", "LVM-" + "a" * 64)
    assert (names["volume_group"], names["logical_volume"]) == ("my-group", "my-volume")
    assert dm._lvm("vg-lv_tdata", "LVM-" + "a" * 64 + "-tdata")["lvm_layer"] == "tdata"


@pytest.mark.parametrize(
    ("layout", "words"),
    [(0x102, "near=2"), (0x201, "far=2"), (0x10201, "offset=2"), (0x103, "near=3"), (0x202, "far=2,near=2")],
)
def test_raid10_layouts_have_mdadms_names(layout, words):
    assert md.raid10_layout(layout) == words


def test_a_nested_array_reaches_every_drive(builder):
    for index, name in enumerate(("sda", "sdb", "sdc", "sdd")):
        builder.disk(name, f"pci0000:00/{name}", f"8:{index * 16}", 1000, reconstruct.QUEUE_MQ)
    for array, members in (("md1", ("sda", "sdb")), ("md2", ("sdc", "sdd")), ("md3", ("md1", "md2"))):
        place = builder.disk(array, "virtual", f"9:{array[2]}", 1000, {})
        builder.files(f"{place}/md", {"level": "raid0" if array == "md3" else "raid1"})
        for member in members:
            builder.link(f"{place}/slaves/{member}", f"sys/block/{member}")
    builder.mount("/", "/dev/md3", "9:3", "ext4")
    found = resolve_path(read_stack(builder.root), "/")
    assert [leaf.name for leaf in found.leaves] == ["sda", "sdb", "sdc", "sdd"]
    assert [device.name for device in found.chain()] == ["md3", "md1", "md2", "sda", "sdb", "sdc", "sdd"]


def test_many_disks_are_in_the_order_people_count_them(builder):
    for index, name in enumerate(("sdaa", "sdb", "sdz", "sda", "nvme10n1", "nvme2n1")):
        builder.disk(name, f"pci0000:00/{name}", f"65:{index}", 1000, {})
    assert list(read_stack(builder.root).devices) == ["nvme2n1", "nvme10n1", "sda", "sdb", "sdz", "sdaa"]


def test_old_udev_database_gives_serials(builder):
    builder.disk("sda", "pci0000:00/0000:00:1f.2/host0/target0:0:0/0:0:0:0", "8:0", 1000, reconstruct.QUEUE_2_6_32)
    builder.file(
        "dev/.udev/db/block:sda",
        "N:sda\nS:disk/by-id/ata-X_Y\nE:ID_BUS=ata\nE:ID_SERIAL_SHORT=9QJ0\nE:ID_REVISION=SN06",
    )
    disk = read_stack(builder.root).devices["sda"]
    assert (disk.serial, disk.firmware, disk.details["links"]) == ("9QJ0", "SN06", ["/dev/disk/by-id/ata-X_Y"])


def test_vital_product_data_gives_the_unit_serial():
    assert vpd_serial(b"\x00\x80\x00\x08  S1234 ") == "S1234"
    assert vpd_serial(b"\x00\x83\x00\x04abcd") is None
    assert vpd_serial(b"\x00") is None
    assert vpd_serial(None) is None


def test_identify_words_are_decoded_and_can_lose_their_serial():
    words = [0] * 256
    words[10:20] = [int.from_bytes(b"  SERIAL1234567890  "[at : at + 2], "big") for at in range(0, 20, 2)]
    words[75], words[76], words[217] = 31, 1 << 8, 5400
    drive = ata.identity(words)
    assert (drive.serial, drive.ncq_depth, drive.rotation_rpm) == ("SERIAL1234567890", 32, 5400)
    changed = ata.parse(_identify_without_serial(words, b"key").decode())
    assert len(ata.string(changed, 10, 19)) == 16
    assert ata.string(changed, 10, 19) != "SERIAL1234567890"
    assert changed[20:] == words[20:]


def test_an_ssd_has_no_rotation_rate_and_a_drive_without_ncq_says_so():
    words = [1] * 256
    words[76], words[217] = 0, 1
    drive = ata.identity(words)
    assert drive.ncq_supported is False
    assert drive.rotation_rpm is None
