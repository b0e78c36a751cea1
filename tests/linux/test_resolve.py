"""Paths: what has a disk resolves to every leaf, everything else is refused in one sentence."""

from __future__ import annotations

import os

import pytest

from seekwise.errors import RefusedError, UsageError
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack

from .conftest import reconstruct


@pytest.fixture
def stack_on(builder):
    """A stack with root on sda1 and one more mount at /x of the given filesystem."""

    def build(filesystem: str, source: str = "none", options: str = "rw"):
        place = builder.disk("sda", "pci0000:00/0000:00:1f.2", "8:0", 1000, reconstruct.QUEUE_MQ)
        builder.partition(place, "sda1", 1, "8:1", 63, 900)
        builder.mount("/", "/dev/sda1", "8:1", "ext4")
        builder.mount("/x", source, "0:44", filesystem, options)
        return read_stack(builder.root)

    return build


@pytest.mark.parametrize(
    ("filesystem", "words"),
    [
        ("tmpfs", "memory"),
        ("overlay", "overlay"),
        ("nfs4", "NFS"),
        ("nfs", "NFS"),
        ("9p", "9p"),
        ("cifs", "SMB"),
        ("zfs", "ZFS"),
        ("fuse.sshfs", "fuse.sshfs"),
        ("proc", "makes up"),
        ("cgroup2", "makes up"),
        ("btrfs", "no block device"),
    ],
)
def test_folders_without_a_disk_are_refused_by_name(stack_on, filesystem, words):
    with pytest.raises(RefusedError, match=words) as caught:
        resolve_path(stack_on(filesystem), "/x/y")
    assert caught.value.hint
    assert not caught.value.message.endswith(".")


def test_overlay_names_the_folder_that_takes_its_writes(stack_on):
    with pytest.raises(RefusedError) as caught:
        resolve_path(stack_on("overlay", options="rw,lowerdir=/l,upperdir=/var/lib/docker/u,workdir=/w"), "/x")
    assert "/var/lib/docker/u" in caught.value.hint


def test_bcachefs_over_two_devices(stack_on, builder):
    builder.disk("sdb", "pci0000:00/0000:00:1f.3", "8:16", 1000, reconstruct.QUEUE_MQ)
    stack = stack_on("bcachefs", "/dev/sda:/dev/sdb")
    found = resolve_path(stack, "/x")
    assert [leaf.name for leaf in found.leaves] == ["sda", "sdb"]
    assert [each.name for each in found.devices_for("scheduler")] == ["sda", "sdb"]
    # Its superblock has a read-ahead of its own.
    assert found.devices_for("read_ahead_kb") == () and "bcachefs reads ahead by a figure of its own" in found.notes[0]


def test_the_root_device_called_dev_root_is_found_by_its_number(builder):
    builder.disk("sda", "pci0000:00/0000:00:1f.2", "8:0", 1000, reconstruct.QUEUE_MQ)
    builder.mount("/", "/dev/root", "8:0", "ext4")
    assert resolve_path(read_stack(builder.root), "/anything").device == "sda"


def test_proc_mounts_alone_resolves_by_source(builder):
    builder.disk("sda", "pci0000:00/0000:00:1f.2", "8:0", 1000, reconstruct.QUEUE_MQ)
    builder.file("proc/mounts", "/dev/sda / ext3 rw 0 0")
    assert resolve_path(read_stack(builder.root), "/anything").device == "sda"


def test_unknown_devices_of_a_captured_machine(stack_on):
    stack = stack_on("tmpfs")
    for asked in ("/dev/sdz", "/dev/disk/by-id/none", "/dev/mapper/none"):
        with pytest.raises(UsageError, match="no device of this captured machine"):
            resolve_path(stack, asked)


# On the running machine:


@pytest.mark.parametrize(
    "asked", ["/no/such/folder", "", "a" * 5000, "nul\0inside"], ids=["missing", "empty", "long", "nul"]
)
def test_a_path_that_does_not_exist_is_wrong_usage(asked):
    with pytest.raises(UsageError, match=r"does not exist|cannot be looked at"):
        resolve_path(read_stack(), asked)


def test_a_character_device_is_wrong_usage():
    with pytest.raises(UsageError, match="neither a folder"):
        resolve_path(read_stack(), "/dev/null")


def test_memory_of_this_machine_is_refused():
    if not os.path.ismount("/dev/shm"):
        pytest.skip("/dev/shm is not mounted here")
    with pytest.raises(RefusedError, match="memory"):
        resolve_path(read_stack(), "/dev/shm")


def test_links_are_followed_on_the_running_machine(tmp_path):
    stack = read_stack()
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to("target")
    try:
        direct = resolve_path(stack, tmp_path / "target")
    except RefusedError as error:
        pytest.skip(f"the temporary folder has no disk here: {error.message}")
    assert resolve_path(stack, tmp_path / "link").leaves == direct.leaves
