"""Mounts: mountinfo is decoded, and the mount that a path lies on is the one the kernel would step onto."""

from __future__ import annotations

from pathlib import PurePosixPath

from seekwise.linux.mounts import mount_of, read_mounts, read_swaps
from seekwise.linux.tree import open_tree


def mounts_of(builder, *lines: str, file: str = "proc/self/mountinfo"):
    builder.file(file, "\n".join(lines))
    return read_mounts(open_tree(builder.root))


def point(mounts, path: str) -> str:
    return mount_of(mounts, PurePosixPath(path)).source


def test_octal_escapes_optional_fields_and_options(builder):
    (mount,) = mounts_of(
        builder, r"36 25 8:3 /sub\040vol /mnt/a\011b rw,noatime shared:1 master:2 - ext4 /dev/sda3 rw,data=ordered"
    )
    assert str(mount.mount_point) == "/mnt/a\tb"
    assert mount.root_within == "/sub vol"
    assert mount.options == ("rw", "noatime", "data=ordered")
    assert (mount.mount_id, mount.parent_id, mount.major_minor) == (36, 25, "8:3")


def test_a_read_only_filesystem_under_a_writable_mount_is_read_only(builder):
    (mount,) = mounts_of(builder, "36 25 8:3 / /mnt rw - ext4 /dev/sda3 ro")
    assert mount.read_only


def test_prefixes_end_at_folder_borders(builder):
    mounts = mounts_of(builder, "20 1 8:1 / / rw - ext4 root rw", "21 20 8:2 / /srv rw - ext4 srv rw")
    assert point(mounts, "/srv/x") == "srv"
    assert point(mounts, "/srv2/x") == "root"


def test_a_later_mount_at_the_same_place_hides_the_earlier(builder):
    mounts = mounts_of(
        builder,
        "20 1 8:1 / / rw - ext4 root rw",
        "21 20 8:2 / /srv rw - ext4 first rw",
        "22 21 8:3 / /srv rw - ext4 second rw",
    )
    assert point(mounts, "/srv/x") == "second"


def test_a_mount_over_the_parent_hides_the_children(builder):
    mounts = mounts_of(
        builder,
        "20 1 8:1 / / rw - ext4 root rw",
        "21 20 8:2 / /a/b rw - ext4 child rw",
        "22 20 8:3 / /a rw - ext4 over rw",
    )
    assert point(mounts, "/a/b/c") == "over"


def test_the_order_of_lines_does_not_matter(builder):
    mounts = mounts_of(
        builder,
        "30 20 8:3 / /a/b rw - ext4 child rw",
        "20 1 8:1 / / rw - ext4 root rw",
        "22 20 8:2 / /x rw - ext4 other rw",
    )
    assert point(mounts, "/a/b/c") == "child"


def test_without_mountinfo_proc_mounts_is_read_and_the_longest_prefix_wins(builder):
    mounts = mounts_of(
        builder,
        "rootfs / rootfs rw 0 0",
        "/dev/sda1 / ext3 rw 0 0",
        "/dev/sdb1 /srv xfs rw,noatime 0 0",
        file="proc/mounts",
    )
    assert point(mounts, "/srv/data") == "/dev/sdb1"
    assert point(mounts, "/home") == "/dev/sda1"


def test_broken_lines_are_passed_over(builder):
    assert len(mounts_of(builder, "", "nonsense", "20 1 8:1 / / rw - ext4 root rw", "1 2 3")) == 1


def test_swaps(builder):
    builder.file(
        "proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 8 0 -2\n/swap\\040file file 8 0 -3"
    )
    assert read_swaps(open_tree(builder.root)) == ("/dev/sda2", "/swap file")
