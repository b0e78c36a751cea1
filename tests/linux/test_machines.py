"""Whole machines: what the reader must see in trees from running kernels and in reconstructed ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import schemas
from seekwise.document import printed
from seekwise.linux.document import devices_document
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack

from .conftest import machine_names, machine_path, reconstruct


@pytest.mark.parametrize("name", machine_names())
def test_every_machine_gives_a_document_that_meets_the_published_schema(name):
    stack = read_stack(machine_path(name))
    schemas.check(json.loads(json.dumps(printed(devices_document(stack)))))
    schemas.check(json.loads(json.dumps(printed(devices_document(stack, resolve_path(stack, "/"))))))


@pytest.mark.parametrize("name", machine_names())
def test_every_mounted_filesystem_on_a_device_resolves_to_leaves_that_have_a_scheduler(name):
    stack = read_stack(machine_path(name))
    mounted = [mount for mount in stack.mounts if mount.filesystem in ("ext3", "ext4", "xfs", "btrfs")]
    assert mounted
    for mount in mounted:
        for leaf in resolve_path(stack, mount.mount_point).leaves:
            assert leaf.scheduler in leaf.schedulers_offered


@pytest.mark.parametrize("name", machine_names())
def test_every_machine_says_how_it_was_made(name):
    text = (machine_path(name).parent / "README.md").read_text()
    assert f"`{name}`" in text


@pytest.mark.parametrize("name", sorted(reconstruct.RECONSTRUCTED))
def test_reconstructed_machines_are_what_their_script_writes(name, tmp_path):
    reconstruct.RECONSTRUCTED[name](tmp_path / name)
    assert devices_of(tmp_path / name) == devices_of(machine_path(name))


def devices_of(path: Path) -> dict[str, object]:
    return printed(devices_document(read_stack(path))) | {"root": ""}


def names(devices) -> list[str]:
    return [device.name for device in devices]


def test_sata_disk_with_ncq(machine):
    stack = machine("sata-ncq")
    disk = stack.devices["sda"]
    assert (disk.kind, disk.transport, disk.driver) == ("disk", "sata", "ahci")
    assert (disk.model, disk.firmware, disk.serial) == ("ST1000NM0011", "SN03", "Z1X0QEM0")
    assert disk.queue_depth == 32
    assert disk.details["ncq"]["state"] == "on"
    assert disk.details["ncq_depth"] == 32
    assert disk.details["rotation_rpm"] == 7200
    assert disk.size_bytes == 1 << 40
    assert (disk.scheduler, disk.schedulers_offered) == ("mq-deadline", ("mq-deadline", "none"))
    assert disk.iosched["read_expire"] == "500"
    assert disk.write_cache == "write back"
    assert "/dev/disk/by-id/ata-ST1000NM0011_Z1X0QEM0" in disk.details["links"]
    assert stack.devices["sda2"].below == ("sda",)
    assert stack.swaps == ("/dev/sda2",)
    assert stack.kernel == "6.1.0-56-amd64"


def test_mount_points_with_spaces_are_decoded(machine):
    stack = machine("sata-ncq")
    found = resolve_path(stack, "/srv/data set/pictures")
    assert (found.device, found.mount.mount_point) == ("sda3", Path("/srv/data set"))
    assert "noatime" in found.mount.options


def test_queue_depth_one_means_that_ncq_is_off(machine):
    devices = machine("sata-ncq-off").devices
    assert devices["sdb"].queue_depth == 1
    assert devices["sdb"].details["ncq"]["state"] == "off"
    assert devices["sdb"].scheduler == "none"
    assert devices["sdb"].queue["read_ahead_kb"] == "4096"
    assert devices["sda"].scheduler == "bfq"
    assert devices["sda"].iosched["low_latency"] == "0"


def test_nvme(machine):
    drive = machine("nvme").devices["nvme0n1"]
    assert (drive.kind, drive.transport, drive.driver) == ("nvme", "nvme", "nvme")
    assert (drive.model, drive.serial) == ("QEMU NVMe Ctrl", "S4EVNX0QEMU")
    assert drive.firmware
    assert drive.details["queue_entries"] == 1024
    assert drive.details["io_queue_count"] == 1
    assert drive.queue_depth is None
    assert drive.rotational is False
    assert names(machine("nvme").leaves("nvme0n1p2")) == ["nvme0n1"]


def test_nvme_native_multipath_settings_go_to_the_hidden_paths(machine):
    stack = machine("nvme-multipath")
    found = resolve_path(stack, "/srv")
    assert found.device == "nvme1n1"
    assert names(found.leaves) == ["nvme1c1n1", "nvme1c2n1"]
    assert names(found.devices_for("scheduler")) == ["nvme1c1n1", "nvme1c2n1"]
    assert names(found.devices_for("read_ahead_kb")) == ["nvme1n1"]
    assert stack.devices["nvme1n1"].schedulers_offered == ("none",)
    assert stack.devices["nvme1c1n1"].scheduler == "mq-deadline"
    assert stack.devices["nvme1c1n1"].details["hidden_path"]
    assert "hidden paths" in found.notes[0]
    assert names(resolve_path(stack, "/").leaves) == ["nvme0n1"]


def test_md_raid1_on_partitions_of_two_disks(machine):
    stack = machine("md-raid1")
    array = stack.devices["md1"]
    assert array.details["level"] == "raid1"
    assert array.below == ("sda2", "sdb2")
    assert [member["state"] for member in array.details["members"]] == ["in_sync", "in_sync"]
    assert names(resolve_path(stack, "/boot").leaves) == ["sda", "sdb"]
    assert names(resolve_path(stack, "/boot").devices_for("read_ahead_kb")) == ["md0"]


def test_md_raid5_with_chunk_members_and_running_synchronisation(machine):
    stack = machine("md-raid5")
    array = stack.devices["md0"]
    assert (array.details["level"], array.details["chunk_bytes"], array.details["raid_disks"]) == ("raid5", 65536, 4)
    assert [member["name"] for member in array.details["members"]] == ["sdb", "sdc", "sdd", "sde"]
    assert array.details["sync_action"] == "resync"
    assert 0 <= array.details["sync_fraction"] < 1
    assert any(text.startswith("md0: resync in progress") for text in (each.line for each in stack.warnings))
    found = resolve_path(stack, "/srv")
    assert found.device == "md0p1"
    assert names(found.leaves) == ["sdb", "sdc", "sdd", "sde"]
    assert names(found.devices_for("stripe_cache_size")) == ["md0"]
    assert names(found.devices_for("read_ahead_kb")) == ["md0"], "a partition's read-ahead is its disk's"
    assert array.details["stripe_cache_size"] == 4096


def test_md_raid10_far_layout_and_a_failed_member(machine):
    stack = machine("md-raid10-degraded")
    array = stack.devices["md127"]
    assert array.details["level"] == "raid10"
    assert array.details["layout_name"] == "far=2"
    assert array.details["chunk_bytes"] == 512 * 1024
    assert array.details["degraded"] == 1
    states = {member["name"]: member["state"] for member in array.details["members"]}
    assert states == {"sdb": "in_sync", "sdc": "in_sync", "sdd": "faulty", "sde": "in_sync"}
    assert any("md127: degraded" in text for text in (each.line for each in stack.warnings))
    found = resolve_path(stack, "/var/lib/postgresql/15/main")
    assert not found.devices_for("stripe_cache_size")


def test_lvm_on_crypt_on_md_reaches_both_disks(machine):
    stack = machine("lvm-crypt-md")
    found = resolve_path(stack, "/srv")
    assert [device.kind for device in found.chain()][:3] == ["lvm", "crypt", "md"]
    assert names(found.leaves) == ["sda", "sdb"]
    volume = stack.devices[found.device]
    assert (volume.details["volume_group"], volume.details["logical_volume"]) == ("vg0", "srv-data")
    crypt = found.chain()[1]
    assert (crypt.details["crypt_type"], crypt.details["dm_name"]) == ("LUKS2", "md0_crypt")
    assert names(found.devices_for("read_ahead_kb")) == [found.device]


@pytest.mark.parametrize(
    "asked",
    ["/dev/mapper/vg0-srv--data", "/dev/vg0/srv-data", "/dev/dm-3", "dm-3"],
    ids=["mapper", "lvm", "path", "name"],
)
def test_logical_volumes_are_found_by_each_of_their_names(machine, asked):
    assert resolve_path(machine("lvm-crypt-md"), asked).device == "dm-3"


def test_request_based_multipath_schedules_itself_and_its_paths_take_the_depth(machine):
    stack = machine("multipath")
    found = resolve_path(stack, "/srv/san")
    mapping = stack.devices[found.device]
    assert (mapping.kind, mapping.details["request_based"]) == ("multipath", True)
    assert mapping.details["wwid"] == "3600a098000aa0001"
    assert names(found.leaves) == ["sda", "sdb"]
    assert names(found.devices_for("scheduler")) == [found.device, "sda", "sdb"]
    assert names(found.devices_for("device/queue_depth")) == ["sda", "sdb"]
    assert "request-based" in found.notes[0]


def test_virtual_machine_with_virtio_disks(machine):
    stack = machine("virtio-vm")
    data = stack.devices["vdb"]
    assert (data.kind, data.driver, data.serial) == ("virtio", "virtio_blk", "data-volume-01")
    assert data.write_cache == "write through"
    assert data.details["pci_driver"] == "virtio-pci"
    assert resolve_path(stack, "/dev/disk/by-id/virtio-data-volume-01").device == "vdb"


def test_megaraid_units_warn_that_members_are_hidden(machine):
    stack = machine("megaraid")
    unit = stack.devices["sda"]
    assert unit.driver == "megaraid_sas"
    assert unit.details["controller"]["driver"] == "megaraid_sas"
    assert unit.details["controller"]["members_hidden"] is True
    assert any("sda: hardware RAID" in text and "hidden" in text for text in (each.line for each in stack.warnings))


def test_controllers_are_listed_by_driver(machine):
    (controller,) = devices_document(machine("megaraid")).controllers
    assert (controller.driver, controller.hardware_raid) == ("megaraid_sas", True)
    assert controller.devices == ["sda", "sdb"]
    assert [row.driver for row in devices_document(machine("sata-ncq")).controllers] == ["ahci"]
    assert [row.hardware_raid for row in devices_document(machine("nvme-multipath")).controllers] == [False] * 3


def test_loop_is_a_leaf_and_names_the_device_that_holds_its_file(machine):
    stack = machine("loop-file")
    loop = stack.devices["loop0"]
    assert loop.backing_file == "/images/with space.img"
    assert loop.below == ("sda1",)
    assert names(stack.leaves("loop0")) == ["loop0"]
    assert names(stack.drives("loop0")) == ["sda"]
    found = resolve_path(stack, "/mnt/loop")
    assert names(found.devices_for("scheduler")) == ["loop0"]
    assert "sda is left alone" in found.notes[0]


def test_loop_on_a_deleted_file_and_loop_on_a_loop(machine):
    stack = machine("loop-file")
    gone = stack.devices["loop1"]
    assert (gone.backing_file, gone.details["deleted"]) == ("/images/gone.img", True)
    assert any("loop1: its backing file" in text for text in (each.line for each in stack.warnings))
    inner = stack.devices["loop2"]
    assert inner.below == ("loop0",)
    assert inner.details["offset_bytes"] == 1 << 20
    assert names(stack.drives("loop2")) == ["sda"]


def test_intel_imsm_is_called_firmware_raid(machine):
    stack = machine("imsm")
    volume, container = stack.devices["md126"], stack.devices["md127"]
    assert container.details["container_of"] == "imsm"
    assert volume.details["container"] == "md127"
    assert "Intel IMSM" in volume.details["firmware_raid"]
    assert volume.details["level"] == "raid1"
    assert names(resolve_path(stack, "/home").leaves) == ["sdb", "sdc"]
    assert any(text.startswith("md126: firmware") for text in (each.line for each in stack.warnings))


def test_btrfs_over_two_disks_gives_both_though_its_device_number_names_neither(machine):
    stack = machine("btrfs-two")
    found = resolve_path(stack, "/tank/some/file")
    assert found.mount.major_minor.startswith("0:")
    assert found.devices == ("sdb", "sdc")
    assert names(found.leaves) == ["sdb", "sdc"]
    assert found.devices_for("read_ahead_kb") == ()
    assert any("reads ahead by a figure of its own" in note for note in found.notes)
    assert resolve_path(stack, "/home/user").devices == ("sdb", "sdc"), "a subvolume is on the same disks"


def test_bind_mounts_resolve_to_the_device_behind_them(machine):
    found = resolve_path(machine("btrfs-two"), "/exported/queue")
    assert (found.device, found.mount.root_within) == ("sda", "/var/spool")


def test_bcache_stands_on_backing_and_cache_device(machine):
    stack = machine("bcache")
    cached = stack.devices["bcache0"]
    assert cached.details["cache_mode"] == "writeback"
    assert cached.details["backing_device"] == "sda"
    assert cached.details["cache_devices"] == ["sdb"]
    assert names(resolve_path(stack, "/srv").leaves) == ["sda", "sdb"]


def test_usb_4kn_zram_null_blk_and_scsi_debug(machine):
    devices = machine("usb-zram-null").devices
    assert devices["vda"].details["logical_block_bytes"] == 4096
    assert devices["vda"].size_bytes == 64 << 30, "size counts 512-byte sectors whatever the sector size"
    assert devices["zram0"].kind == "zram"
    assert devices["nullb0"].kind == "null"
    assert {devices[name].transport for name in ("sda", "sdb")} == {"usb", "scsi-debug"}


def test_3ware_units_under_a_kernel_of_its_time(machine):
    stack = machine("3ware-9650se")
    unit = stack.devices["sdb"]
    assert unit.driver == "3w-9xxx"
    assert (unit.scheduler, unit.queue_depth) == ("cfq", 254)
    assert unit.schedulers_offered == ("noop", "anticipatory", "deadline", "cfq")
    assert unit.details["controller"]["family"] == "3ware 9000"
    assert unit.size_bytes == 5859311616 * 512
    assert names(resolve_path(stack, "/srv").leaves) == ["sdb"]


def test_names_with_a_slash_in_dev(machine):
    stack = machine("smart-array-cciss")
    unit = stack.devices["cciss!c0d0"]
    assert unit.details["controller"]["level"] == "RAID 5"
    for asked in ("/dev/cciss/c0d0p2", "cciss!c0d0p2", "/home/user"):
        assert resolve_path(stack, asked).device == "cciss!c0d0p2"
    assert names(resolve_path(stack, "/boot").leaves) == ["cciss!c0d0"]


def test_a_drive_passed_through_by_a_raid_controller_is_no_hidden_unit(machine):
    devices = machine("smartpqi-gen10").devices
    assert devices["sdb"].details["controller"]["level"] == "RAID-6"
    assert "controller" not in devices["sdc"].details
