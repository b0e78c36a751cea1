"""Damage: whatever is missing from a captured machine or wrong in it, reading it never raises and never hangs."""

from __future__ import annotations

import random
import string

import pytest

from seekwise.errors import RefusedError, UsageError
from seekwise.linux.document import devices_document
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import ArchiveTree, open_tree

from .conftest import machine_names, machine_path, reconstruct

SEEDS = range(12)


class DamagedTree(ArchiveTree):
    """A captured machine from which a seeded part of files and links is gone or holds nonsense."""

    def __init__(self, archive, seed: int) -> None:
        super().__init__(archive)
        chance = random.Random(seed)
        share = chance.choice((0.02, 0.2, 0.7))
        for path in sorted(self._files):
            if chance.random() < share:
                self._files[path] = nonsense(chance)
        for path in sorted(self._links):
            if chance.random() < share / 2:
                self._links[path] = chance.choice(
                    ("../nowhere", ".", "/", self._links[chance.choice(sorted(self._links))])
                )
        for path in sorted(self._files):
            if chance.random() < share:
                del self._files[path]


def nonsense(chance: random.Random) -> bytes:
    kind = chance.randrange(4)
    if kind == 0:
        return b""
    if kind == 1:
        return chance.randbytes(chance.randrange(200))
    if kind == 2:
        return str(chance.randrange(-5, 1 << 70)).encode()
    return " ".join("".join(chance.choices(string.printable, k=6)) for _ in range(20)).encode()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in machine_names() if machine_path(name).is_file()])
def test_a_damaged_tree_is_read_without_an_exception(name, seed):
    stack = read_stack(DamagedTree(machine_path(name), seed))
    devices_document(stack)
    for device in stack.devices:
        assert all(below in stack.devices for below in stack.devices[device].below)
        assert resolve_path(stack, device).leaves
    for mount in stack.mounts:
        try:
            assert resolve_path(stack, mount.mount_point).leaves
        except (RefusedError, UsageError):
            pass


def test_devices_that_stand_on_each_other_do_not_hang(builder):
    for name in ("md0", "md1", "md2"):
        place = builder.disk(name, "virtual", f"9:{name[2]}", 1000, {})
        builder.link(f"{place}/slaves/md{(int(name[2]) + 1) % 3}", "sys/block")
    stack = read_stack(builder.root)
    assert [leaf.name for leaf in resolve_path(stack, "md0").leaves] == ["md2"]


def test_a_loop_mounted_over_the_folder_of_its_own_file_stands_on_the_disk_below(builder):
    builder.disk("sda", "pci0000:00/0000:00:1f.2", "8:0", 1000, reconstruct.QUEUE_MQ)
    place = builder.disk("loop0", "virtual", "7:0", 100, reconstruct.QUEUE_MQ)
    builder.file(f"{place}/loop/backing_file", "/images/a.img")
    builder.mount("/", "/dev/sda", "8:0", "ext4")
    builder.mount("/images", "/dev/loop0", "7:0", "ext4")
    stack = read_stack(builder.root)
    assert stack.devices["loop0"].below == ("sda",)
    assert [leaf.name for leaf in resolve_path(stack, "/images/x").leaves] == ["loop0"]


def test_a_loop_straight_on_a_partition(builder):
    disk = builder.disk("sda", "pci0000:00/0000:00:1f.2", "8:0", 1000, reconstruct.QUEUE_MQ)
    builder.partition(disk, "sda1", 1, "8:1", 63, 900)
    place = builder.disk("loop0", "virtual", "7:0", 100, reconstruct.QUEUE_MQ)
    builder.file(f"{place}/loop/backing_file", "/dev/sda1")
    assert read_stack(builder.root).devices["loop0"].below == ("sda1",)


def test_devices_known_only_by_number_are_found(builder):
    place = builder.disk("sda", "pci0000:00/0000:00:1f.2", "8:0", 1000, reconstruct.QUEUE_MQ)
    builder.partition(place, "sda1", 1, "8:1", 63, 900)
    (builder.root / "sys/block/sda").unlink()
    builder.link("sys/dev/block/8:0", place)
    builder.link("sys/dev/block/8:1", f"{place}/sda1")
    stack = read_stack(builder.root)
    assert list(stack.devices) == ["sda", "sda1"]
    assert stack.devices["sda1"].below == ("sda",)


def test_the_mounts_of_any_process_serve_when_self_was_not_copied(builder):
    builder.disk("sda", "pci0000:00/0000:00:1f.2", "8:0", 1000, reconstruct.QUEUE_MQ)
    builder.file("proc/812/mountinfo", "20 1 8:0 / / rw - ext4 /dev/sda rw")
    (builder.root / "proc/self").symlink_to("4711")
    assert resolve_path(read_stack(open_tree(builder.root)), "/srv").device == "sda"


def test_members_of_firmware_raid_that_nothing_assembles_are_named(builder):
    builder.disk("sda", "pci0000:00/0000:00:1f.2", "8:0", 1000, reconstruct.QUEUE_MQ)
    builder.file("run/udev/data/b8:0", "E:ID_FS_TYPE=isw_raid_member\nE:ID_FS_USAGE=raid")
    assert any(
        "sda: carries firmware" in text and "Intel IMSM" in text
        for text in (each.line for each in read_stack(builder.root).warnings)
    )
