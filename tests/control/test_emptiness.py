"""These tests will offer devices that hold something, or that somebody uses, and expect every one to be refused untouched."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from seekwise.control.emptiness import allow_destroy, claimed, prove_empty
from seekwise.errors import MissingError, RefusedError, UsageError
from seekwise.linux.block_device import BlockDevice, Mount, Stack
from seekwise.linux.stack import read_stack

from .conftest import needs_root

SIZE = 8 << 20


def disk(name: str = "sdb", **facts) -> BlockDevice:
    return BlockDevice(
        **{"name": name, "kind": "disk", "size_bytes": SIZE, "major_minor": "8:16", "serial": "S1", **facts}
    )


@pytest.fixture
def root(tmp_path) -> Path:
    """A tree with an empty drive sdb as a plain file."""
    (tmp_path / "dev").mkdir()
    with open(tmp_path / "dev/sdb", "wb") as file:
        file.truncate(SIZE)
    (tmp_path / "sys/class/block/sdb/holders").mkdir(parents=True)
    return tmp_path


def stack_of(*devices: BlockDevice, mounts: tuple[Mount, ...] = (), **facts) -> Stack:
    return Stack(devices={device.name: device for device in devices}, mounts=mounts, **facts)


def refusal(stack: Stack, root: Path, device: str = "sdb") -> str:
    node = root / "dev" / device
    before = hashlib.sha256(node.read_bytes()).digest() if node.exists() else None
    with pytest.raises(RefusedError) as raised:
        prove_empty(stack, device, root)
    assert raised.value.exit_status == 3
    assert before is None or hashlib.sha256(node.read_bytes()).digest() == before
    return raised.value.message


def test_an_empty_unused_drive_proves_empty_and_is_zeroed_where_it_was_used(root):
    with claimed(stack_of(disk()), "sdb", ("S1",), root) as proof:
        assert (proof.test_offset_bytes, proof.test_size_bytes) == (1 << 20, SIZE - (2 << 20))
        with open(root / "dev/sdb", "r+b") as file:
            file.seek(proof.test_offset_bytes)
            file.write(os.urandom(proof.test_size_bytes))
        proof.uses(proof.test_size_bytes)
    prove_empty(stack_of(disk()), "sdb", root)


def test_every_reason_is_listed_at_once(root):
    partition = BlockDevice(name="sdb1", kind="partition", size_bytes=SIZE, major_minor="8:17", below=("sdb",))
    array = BlockDevice(name="md0", kind="md", size_bytes=SIZE, major_minor="9:0", below=("sdb1",))
    mounted = Mount(Path("/srv"), "/dev/md0", "xfs", ("rw",), "9:0")
    with open(root / "dev/sdb", "r+b") as file:
        file.write(b"XFSB")
    (root / "sys/class/block/sdb/holders/dm-3").mkdir()
    message = refusal(stack_of(disk(read_only=True), partition, array, mounts=(mounted,), swaps=("/dev/sdb1",)), root)
    for reason in (
        "is read-only",
        "carries partition sdb1, which is used as swap",
        "carries md md0, which is mounted at /srv",
        "is held by dm-3",
        "holds data without a known signature",
    ):
        assert reason in message


def test_a_member_of_a_btrfs_over_several_drives_is_refused(root):
    assert "btrfs filesystem 1-2" in refusal(stack_of(disk(), btrfs={"1-2": ("sda", "sdb")}), root)


def test_a_partition_that_only_sysfs_knows_is_a_reason(root):
    (root / "sys/class/block/sdb/sdb1").mkdir()
    (root / "sys/class/block/sdb/sdb1/partition").write_text("1\n")
    assert "has the partition sdb1" in refusal(stack_of(disk()), root)


@pytest.mark.parametrize("offset", [0, 4096, (1 << 20) - 1, SIZE - (1 << 20), SIZE - 1])
def test_a_single_byte_in_the_first_or_last_mib_is_data_of_an_unknown_kind(root, offset):
    with open(root / "dev/sdb", "r+b") as file:
        file.seek(offset)
        file.write(b"\x01")
    assert "without a known signature" in refusal(stack_of(disk()), root)


def test_a_device_too_small_to_keep_its_ends_is_refused(root):
    os.truncate(root / "dev/sdb", 1 << 20)
    assert "too small" in refusal(stack_of(disk()), root)


def test_a_device_without_a_node_is_refused(root):
    (root / "dev/sdb").unlink()
    assert "has no node" in refusal(stack_of(disk()), root)


def test_a_device_that_does_not_exist_is_wrong_usage(root):
    with pytest.raises(UsageError):
        prove_empty(stack_of(disk()), "sdz", root)


def gpt() -> bytes:
    """A partition table without partitions (UEFI 2.10, 5.3.2), which wipefs checks by its CRC."""
    header = struct.pack(
        "<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, 0, 0, 1, SIZE // 512 - 1, 34, SIZE // 512 - 34, bytes(range(16)), 2, 128, 128,
        zlib.crc32(bytes(128 * 128)),
    )  # fmt: skip
    return header[:16] + struct.pack("<I", zlib.crc32(header)) + header[20:]


HELD = {
    "gpt": ({512: gpt()}, "gpt"),
    "luks": ({0: b"LUKS\xba\xbe\x00\x01"}, "crypto_LUKS"),
    "xfs log": ({0: b"\xfe\xed\xba\xbe"}, "data"),
    "lvm": ({512: b"LABELONE" + bytes(16) + b"LVM2 001"}, "data"),
    "zfs label": ({(128 << 10) + 5 * 1024: (0x00BAB10C).to_bytes(8, "little")}, "data"),
    "swap": ({4086: b"SWAPSPACE2"}, "data"),
    "ddf at the end": ({SIZE - 512: b"\xde\x11\xde\x11"}, "data"),
}


@pytest.mark.parametrize("held", HELD)
def test_what_formats_leave_is_refused_whether_wipefs_names_it_or_not(root, held):
    pieces, says = HELD[held]
    content = bytearray(SIZE)
    for offset, piece in pieces.items():
        content[offset : offset + len(piece)] = piece
    (root / "dev/sdb").write_bytes(content)
    message = refusal(stack_of(disk()), root)
    assert "holds " in message and (says == "data" or says in message)
    assert (root / "dev/sdb").read_bytes() == content


@pytest.mark.parametrize("words", [["mkfs.ext4", "-q", "-F"], ["mkswap", "-q"]], ids=lambda words: words[0])
def test_what_real_tools_make_is_named(root, words):
    if shutil.which(words[0], path="/usr/sbin:/sbin:/usr/bin") is None:
        pytest.skip(f"{words[0]} is not installed")
    subprocess.run(
        [*words, root / "dev/sdb"], check=True, capture_output=True, env={"PATH": "/usr/sbin:/sbin:/usr/bin"}
    )
    assert f"{'ext4' if 'ext4' in words[0] else 'swap'}, says wipefs" in refusal(stack_of(disk()), root)


@pytest.mark.parametrize("missing", ["wipefs", "blkid"])
def test_one_of_wipefs_and_blkid_is_enough(missing, root, monkeypatch):
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **rest: None if name == missing else which(name, **rest))
    prove_empty(stack_of(disk()), "sdb", root)
    with open(root / "dev/sdb", "r+b") as file:
        file.write(b"XFSB")
    assert "data without a known signature" in refusal(stack_of(disk()), root)


def test_without_wipefs_and_blkid_nothing_proves_empty(root, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(MissingError, match="neither wipefs nor blkid"):
        prove_empty(stack_of(disk()), "sdb", root)


@pytest.mark.parametrize("program", ["exit 1", "exit 8", "echo TYPE=zfs_member; exit 0"])
def test_what_blkid_cannot_rule_out_is_refused(program, root, tmp_path, monkeypatch):
    (tmp_path / "blkid").write_text(f"#!/bin/sh\n{program}\n")
    (tmp_path / "blkid").chmod(0o755)
    which = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda name, **rest: str(tmp_path / "blkid") if name == "blkid" else which(name, **rest)
    )
    assert ", says blkid" in refusal(stack_of(disk()), root)


def test_random_bytes_are_refused_but_zeros_are_not(root):
    with open(root / "dev/sdb", "r+b") as file:
        file.write(os.urandom(1 << 20))
    refusal(stack_of(disk()), root)


# Naming


def test_without_a_name_nothing_is_destroyed_and_the_hint_says_which_name(root):
    with pytest.raises(RefusedError, match="does not name it") as raised:
        allow_destroy(stack_of(disk()), "sdb", (), root)
    assert "--destroy S1" in raised.value.hint
    assert raised.value.exit_status == 3


@pytest.mark.parametrize("wrong", ["sdb", "/dev/sdb", "S", "s1", "S1 ", "", "8:16", "/dev/disk/by-path/x"])
def test_a_name_that_is_not_its_serial_is_refused(root, wrong):
    with pytest.raises(RefusedError):
        allow_destroy(stack_of(disk()), "sdb", (wrong,), root)


def test_a_device_in_use_is_not_told_how_to_be_named(root):
    mounted = Mount(Path("/srv"), "/dev/sdb", "xfs", ("rw",), "8:16")
    for named in ((), ("sdb",)):
        with pytest.raises(RefusedError, match="is mounted at /srv") as raised:
            allow_destroy(stack_of(disk(), mounts=(mounted,)), "sdb", named, root)
        assert "S1" not in raised.value.hint


def test_its_serial_or_its_by_id_path_is_accepted(root):
    allow_destroy(stack_of(disk()), "sdb", ("S1",), root)
    by_id = root / "dev/disk/by-id"
    by_id.mkdir(parents=True)
    (by_id / "ata-X").symlink_to("../../sdb")
    (by_id / "ata-Y").symlink_to("../../sda")
    allow_destroy(stack_of(disk()), "sdb", ("/dev/disk/by-id/ata-X",), root)
    with pytest.raises(RefusedError):
        allow_destroy(stack_of(disk()), "sdb", ("/dev/disk/by-id/ata-Y",), root)


def test_a_serial_of_two_drives_names_neither(root):
    stack = stack_of(disk(), disk("sdc", major_minor="8:32"))
    with pytest.raises(RefusedError, match="the serial S1 is also that of sdc"):
        allow_destroy(stack, "sdb", ("S1",), root)


def test_the_serial_of_the_disk_does_not_name_its_partition(root):
    partition = BlockDevice(name="sdb1", kind="partition", size_bytes=SIZE, major_minor="8:17", below=("sdb",))
    with pytest.raises(RefusedError):
        allow_destroy(stack_of(disk(), partition), "sdb1", ("S1",), root)


def test_a_physical_drive_without_serial_cannot_be_named_by_its_name(root):
    with pytest.raises(RefusedError):
        allow_destroy(stack_of(disk(serial=None)), "sdb", ("sdb",), root)


@pytest.mark.parametrize("kind", ["null", "nbd", "virtio"])
def test_a_virtual_drive_without_serial_is_named_by_its_name(root, kind):
    stack = stack_of(disk("nullb0", kind=kind, serial=None))
    allow_destroy(stack, "nullb0", ("nullb0",), root)
    with pytest.raises(RefusedError):
        allow_destroy(stack, "nullb0", ("nullb1",), root)


def test_a_loop_device_is_named_by_its_backing_file_only(root, tmp_path):
    backing = tmp_path / "a file.img"
    backing.touch()
    stack = stack_of(disk("loop7", kind="loop", serial=None, backing_file=str(backing)))
    allow_destroy(stack, "loop7", (str(backing),), root)
    for wrong in ("loop7", "/dev/loop7", backing.name, str(tmp_path)):
        with pytest.raises(RefusedError):
            allow_destroy(stack, "loop7", (wrong,), root)


def test_an_array_is_named_by_its_uuid_in_either_spelling(root):
    uuid = "4ae103b2-77aa-9d51-0c3e-1f2e3d4c5b6a"
    stack = stack_of(disk("md0", kind="md", serial=None, details={"uuid": uuid}))
    allow_destroy(stack, "md0", (uuid,), root)
    allow_destroy(stack, "md0", ("4ae103b2:77aa9d51:0c3e1f2e:3d4c5b6a",), root)
    for wrong in ("md0", uuid[:-1], uuid.replace("4", "5")):
        with pytest.raises(RefusedError):
            allow_destroy(stack, "md0", (wrong,), root)


def test_a_mapping_is_named_by_its_uuid(root):
    stack = stack_of(disk("dm-0", kind="lvm", serial=None, details={"dm_name": "vg-lv", "dm_uuid": "LVM-AbC"}))
    allow_destroy(stack, "dm-0", ("LVM-AbC",), root)
    for wrong in ("dm-0", "vg-lv", "LVM-abc"):
        with pytest.raises(RefusedError):
            allow_destroy(stack, "dm-0", (wrong,), root)


# Real devices

MAKERS = {
    "ext4": ["mkfs.ext4", "-q"],
    "swap": ["mkswap"],
    "LVM": ["pvcreate", "-qq", "--config", "global{locking_type=0} devices{use_devicesfile=0}"],
    "LUKS": [
        "cryptsetup",
        "luksFormat",
        "-q",
        "--pbkdf",
        "pbkdf2",
        "--pbkdf-force-iterations",
        "1000",
        "--key-file",
        "/etc/hostname",
    ],
}


@needs_root
@pytest.mark.root
class TestRealDevices:
    def test_a_new_loop_device_proves_empty_and_is_ours_alone_meanwhile(self, loop):
        stack = read_stack()
        backing = stack.devices[loop].backing_file
        with claimed(stack, loop, (backing,)) as proof:
            assert proof.size_bytes == 64 << 20
            with pytest.raises(OSError, match="busy"):
                os.close(os.open(f"/dev/{loop}", os.O_RDONLY | os.O_EXCL))
            # The load itself needs no exclusive open.
            descriptor = os.open(f"/dev/{loop}", os.O_WRONLY)
            os.pwrite(descriptor, os.urandom(4096), proof.test_offset_bytes)
            os.close(descriptor)
            assert os.stat(proof.path).st_rdev == os.stat(f"/dev/{loop}").st_rdev
            proof.uses(4096)
        prove_empty(read_stack(), loop)

    def test_a_backing_file_that_another_program_has_open_is_refused(self, loop):
        backing = read_stack().devices[loop].backing_file
        words = [sys.executable, "-c", f"f=open({backing!r},'rb'); print(flush=True); input()"]
        holder = subprocess.Popen(words, stdin=-1, stdout=-1)
        try:
            holder.stdout.readline()
            with pytest.raises(RefusedError, match=f"open in process {holder.pid}"):
                prove_empty(read_stack(), loop)
        finally:
            holder.communicate(b"\n")

    def test_a_backing_file_of_two_loop_devices_is_refused(self, loop):
        backing = read_stack().devices[loop].backing_file
        words = ["losetup", "--find", "--show", backing]
        second = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
        try:
            with pytest.raises(RefusedError, match=f"shares its backing file with {second[5:]}"):
                prove_empty(read_stack(), loop)
        finally:
            subprocess.run(["losetup", "--detach", second], check=True)

    def test_a_link_in_by_id_counts_by_the_device_that_it_leads_to(self, loop):
        by_id = Path("/dev/disk/by-id")
        by_id.mkdir(parents=True, exist_ok=True)
        right, wrong = by_id / f"seekwise-test-{loop}", by_id / f"seekwise-test-not-{loop}"
        elsewhere = Path(f"/dev/shm/{loop}")  # the same last part, another thing
        elsewhere.touch()
        right.symlink_to(f"/dev/{loop}")
        wrong.symlink_to(elsewhere)
        try:
            allow_destroy(read_stack(), loop, (str(right),))
            with pytest.raises(RefusedError):
                allow_destroy(read_stack(), loop, (str(wrong),))
        finally:
            for path in (right, wrong, elsewhere):
                path.unlink()

    @pytest.mark.parametrize("content", MAKERS)
    def test_what_real_tools_make_is_recognised(self, loop, content):
        if shutil.which(MAKERS[content][0]) is None:
            pytest.skip(f"{MAKERS[content][0]} is not installed")
        made = subprocess.run([*MAKERS[content], f"/dev/{loop}"], capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"{MAKERS[content][0]}: {made.stderr.strip()}")
        with pytest.raises(RefusedError, match=content):
            prove_empty(read_stack(), loop)
        subprocess.run(["wipefs", "-qa", f"/dev/{loop}"], check=True)

    def test_a_mounted_device_is_refused_with_all_that_speaks_against_it(self, loop, tmp_path):
        subprocess.run(["mkfs.ext4", "-q", f"/dev/{loop}"], check=True)
        place = tmp_path / "m"
        place.mkdir()
        subprocess.run(["mount", f"/dev/{loop}", str(place)], check=True)
        try:
            with pytest.raises(RefusedError) as raised:
                prove_empty(read_stack(), loop)
        finally:
            subprocess.run(["umount", str(place)], check=True)
        for reason in (f"is mounted at {place}", "held open exclusively"):
            assert reason in raised.value.message

    def test_a_device_that_a_program_has_open_is_refused(self, loop):
        holder = subprocess.Popen(
            [sys.executable, "-c", f"f=open('/dev/{loop}','rb'); print(flush=True); input()"], stdin=-1, stdout=-1
        )
        try:
            holder.stdout.readline()
            with pytest.raises(RefusedError, match=f"is open in process {holder.pid}"):
                prove_empty(read_stack(), loop)
        finally:
            holder.communicate(b"\n")

    def test_a_read_only_device_is_refused(self, loop):
        subprocess.run(["blockdev", "--setro", f"/dev/{loop}"], check=True)
        try:
            with pytest.raises(RefusedError, match="is read-only"):
                prove_empty(read_stack(), loop)
        finally:
            subprocess.run(["blockdev", "--setrw", f"/dev/{loop}"], check=True)

    def test_a_node_that_means_another_device_is_refused(self, loop):
        stack = read_stack()
        wrong = {**stack.devices, loop: replace(stack.devices[loop], major_minor="7:250")}
        with pytest.raises(RefusedError, match="is another device"):
            prove_empty(replace(stack, devices=wrong), loop)

    def test_the_system_disk_is_refused(self):
        status = os.stat("/")
        name = Path(f"/sys/dev/block/{os.major(status.st_dev)}:{os.minor(status.st_dev)}")
        if not name.exists():
            pytest.skip("the root filesystem is on no block device")
        with pytest.raises(RefusedError, match="mounted at /"):
            prove_empty(read_stack(), name.resolve().name)
