"""Capture: what comes out reads exactly like the machine itself, is small, and hides serials when asked."""

from __future__ import annotations

import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from seekwise.errors import SeekwiseError
from seekwise.linux.capture import capture
from seekwise.linux.stack import read_stack

from .conftest import machine_names, machine_path


def unpacked(name: str, tmp_path: Path) -> Path:
    path = machine_path(name)
    if path.is_dir():
        return path
    with tarfile.open(path) as tar:
        tar.extractall(tmp_path / name)
    return tmp_path / name


@pytest.mark.parametrize("name", machine_names())
def test_a_capture_of_a_machine_reads_like_the_machine(name, tmp_path):
    root = unpacked(name, tmp_path)
    capture(tmp_path / "again.tar.gz", root=root)
    assert replace(read_stack(tmp_path / "again.tar.gz"), root=root) == read_stack(root)


def test_a_capture_of_this_machine_reads_like_this_machine(tmp_path):
    def facts(stack):
        return {
            name: (device.kind, device.below, device.major_minor, device.schedulers_offered)
            for name, device in stack.devices.items()
        }

    for _ in range(20):
        here = read_stack()
        size = capture(tmp_path / "here.tar.gz")
        there = read_stack(tmp_path / "here.tar.gz")
        if list(facts(there).items()) == list(facts(here).items()):
            break  # otherwise another test may have set up or removed a loop device meanwhile
        time.sleep(0.5)
    assert size < 200_000
    assert here.kernel == there.kernel
    assert list(facts(here).items()) == list(facts(there).items())


def test_links_in_a_capture_are_relative(tmp_path):
    root = tmp_path / "machine"
    (root / "sys/devices/d0").mkdir(parents=True)
    (root / "sys/devices/d0/size").write_text("8\n")
    (root / "sys/block").mkdir()
    (root / "sys/block/weird0").symlink_to("/sys/devices/d0")
    capture(tmp_path / "c.tar.gz", root=root)
    with tarfile.open(tmp_path / "c.tar.gz") as tar:
        links = {member.name: member.linkname for member in tar if member.issym()}
    assert links == {"sys/block/weird0": "../devices/d0"}


@pytest.mark.parametrize("name", ["lvm-crypt-md", "md-raid10-degraded", "multipath", "nvme", "smart-array-cciss"])
def test_anonymised_captures_hold_no_serial_and_the_same_one_stays_the_same(name, tmp_path):
    root = unpacked(name, tmp_path)
    before = read_stack(root)
    capture(tmp_path / "hidden.tar.gz", anonymise=True, root=root)
    after = read_stack(tmp_path / "hidden.tar.gz")
    serials = {device.serial for device in before.devices.values() if device.serial}
    assert serials
    with tarfile.open(tmp_path / "hidden.tar.gz") as tar:
        content = b"".join(
            member.name.encode()
            + member.linkname.encode()
            + (tar.extractfile(member).read() if member.isfile() else b"")
            for member in tar
        )
    for serial in serials:
        assert serial.encode() not in content
    hidden = {device.serial: after.devices[name].serial for name, device in before.devices.items() if device.serial}
    assert len(set(hidden.values())) == len(serials), "different serials stay different"
    assert all(len(old) == len(new) for old, new in hidden.items())
    for device in before.devices.values():
        same = after.devices[device.name]
        assert hidden.get(device.serial) == same.serial, "equal serials stay equal"
        assert (device.below, device.queue) == (same.below, same.queue)


def test_a_capture_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(SeekwiseError, match="cannot be written"):
        capture(tmp_path / "no" / "such" / "folder.tar.gz")
    (tmp_path / "folder.tar.gz").mkdir()
    with pytest.raises(SeekwiseError):
        capture(tmp_path / "folder.tar.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.tar.gz"]


def test_anonymised_captures_lose_the_host_name_that_md_arrays_bear(builder, tmp_path):
    builder.disk("md0", "virtual", "9:0", 1000, {})
    builder.file("run/udev/data/b9:0", "S:disk/by-id/md-name-nas:0\nS:md/nas:0\nE:MD_NAME=nas:0\nE:MD_DEVNAME=nas:0")
    capture(tmp_path / "c.tar.gz", anonymise=True, root=builder.root)
    links = read_stack(tmp_path / "c.tar.gz").devices["md0"].details["links"]
    assert links == ["/dev/disk/by-id/md-name-host:0", "/dev/md/host:0"]


def test_anonymised_captures_lose_the_servers_of_network_mounts(builder, tmp_path):
    builder.file(
        "proc/self/mountinfo",
        "20 1 8:0 / / rw - ext4 /dev/sda rw,data=ordered\n"
        "21 20 0:50 / /home rw - nfs4 files.example.org:/home rw,addr=192.0.2.7\n"
        "22 20 0:51 / /share ro - cifs //fs/share ro,username=ann",
    )
    capture(tmp_path / "c.tar.gz", anonymise=True, root=builder.root)
    mounts = read_stack(tmp_path / "c.tar.gz").mounts
    assert [(mount.source, mount.options) for mount in mounts] == [
        ("/dev/sda", ("rw", "data=ordered")),
        ("nfs4", ("rw",)),
        ("cifs", ("ro",)),
    ]
