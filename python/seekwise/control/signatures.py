"""What a block device says it holds: well-known magic bytes, looked for where their formats put them.

The first and last MiB are read and every row is compared; `blkid -p`, where installed, is asked as a second opinion (it
knows more formats and checks checksums). Offsets and magic bytes are those of the formats' own definitions, collected in
util-linux 2.38 libblkid/src/superblocks and partitions.

An offset below zero counts from the end of the device. Not looked for: formats whose header lies deeper than 1 MiB, and
data without any header: `emptiness` asks for zeros in both windows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

WINDOW_BYTES = 1 << 20
SECTOR_BYTES = 512
PAGE_SIZES = (4096, 8192, 16384, 65536)


@dataclass(frozen=True)
class Signature:
    """`offsets` in bytes. `kind` says in a reason what the device would be part of."""

    kind: str
    magic: bytes
    offsets: tuple[int, ...]


def _from_end(*sectors: int) -> tuple[int, ...]:
    return tuple(-sector * SECTOR_BYTES for sector in sectors)


SIGNATURES: tuple[Signature, ...] = (
    Signature("a GPT partition table", b"EFI PART", (512, 4096, -512, -4096)),
    Signature("an MBR partition table or boot sector", b"\x55\xaa", (510,)),
    Signature("an Apple partition map", b"PM\x00\x00", (512,)),
    Signature("a BSD disk label", b"\x57\x45\x56\x82", (64, 512)),
    Signature("an SGI disk label", b"\x0b\xe5\xa9\x41", (0,)),
    Signature("a Sun disk label", b"\xda\xbe", (508,)),
    Signature("a DASD label", b"\xe5\xd6\xd3\xf1", (8192,)),
    # md 1.1, 1.2 at fixed places; 1.0 and 0.90 near the end, rounded: see `_md_offsets`.
    Signature("a member of an md array", b"\xfc\x4e\x2b\xa9", (0, 4096)),
    Signature("a member of Intel firmware RAID (IMSM)", b"Intel Raid ISM Cfg Sig. ", _from_end(2)),
    Signature("a member of firmware RAID (DDF)", b"\xde\x11\xde\x11", _from_end(1, 257)),
    Signature("a member of firmware RAID (NVIDIA)", b"NVIDIA", _from_end(2)),
    Signature("a member of firmware RAID (Promise)", b"Promise Technology, Inc.", _from_end(63, 255, 256, 16, 399)),
    Signature("a member of firmware RAID (HighPoint)", b"\xf0\x16\x78\x5a", (4608,)),
    Signature("a member of firmware RAID (Adaptec)", b"\x37\xfc\x4d\x1e", _from_end(1)),
    *(Signature("an LVM physical volume", b"LABELONE", (offset,)) for offset in (0, 512, 1024, 1536)),
    Signature("a LUKS container", b"LUKS\xba\xbe", (0,)),
    Signature("a LUKS container", b"SKUL\xba\xbe", (0x4000, 0x8000, 0x10000, 0x20000, 0x40000, 0x80000)),
    Signature("a BitLocker volume", b"-FVE-FS-", (3,)),
    Signature("a bcache device", bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81"), (4096 + 24,)),
    Signature("a bcachefs filesystem", bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef"), (4096 + 24,)),
    Signature("a btrfs filesystem", b"_BHRfS_M", (0x10040,)),
    Signature("a Stratis pool member", b"!Stra0tis\x86\xff\x02^\x41rh", (512 + 4, 4608 + 4)),
    Signature("a VDO volume", b"dmvdo001", (0,)),
    Signature("a DRBD device", b"\x83\x74\x02\x6b", (-4096 + 60,)),
    Signature("dm-integrity data", b"integrt\x00", (0,)),
    Signature("dm-verity data", b"verity\x00\x00", (0,)),
    Signature("a Ceph OSD", b"bluestore block device", (0,)),
    Signature("an Oracle ASM disk", b"ORCLDISK", (32,)),
    *(Signature("swap space", magic, (size - 10,)) for size in PAGE_SIZES for magic in (b"SWAPSPACE2", b"SWAP-SPACE")),
    *(Signature("a hibernation image", b"S1SUSPEND", (size - 10,)) for size in PAGE_SIZES),
    Signature("an ext2, ext3 or ext4 filesystem", b"\x53\xef", (0x438,)),
    Signature("an XFS filesystem", b"XFSB", (0,)),
    Signature("an XFS log", b"\xfe\xed\xba\xbe", (0,)),
    Signature("an F2FS filesystem", b"\x10\x20\xf5\xf2", (1024,)),
    Signature("a JFS filesystem", b"JFS1", (0x8000,)),
    Signature("a ReiserFS filesystem", b"ReIsEr", (0x2034, 0x10034)),
    Signature("a Reiser4 filesystem", b"ReIsEr4", (0x10000,)),
    Signature("a NILFS2 filesystem", b"\x34\x34", (1024 + 6,)),
    Signature("a GFS2 filesystem", b"\x01\x16\x19\x70", (0x10000,)),
    Signature("an OCFS2 filesystem", b"OCFSV2", (1024, 2048, 4096, 8192)),
    Signature("an NTFS filesystem", b"NTFS    ", (3,)),
    Signature("an exFAT filesystem", b"EXFAT   ", (3,)),
    Signature("a FAT filesystem", b"FAT", (54, 82)),
    Signature("an ISO 9660 filesystem", b"CD001", (0x8001,)),
    Signature("a UDF filesystem", b"BEA01", (0x8001,)),
    Signature("an HFS+ filesystem", b"H+\x00\x04", (1024,)),
    Signature("an HFSX filesystem", b"HX\x00\x05", (1024,)),
    Signature("an HFS filesystem", b"BD", (1024,)),
    Signature("an APFS container", b"NXSB", (32,)),
    Signature("a UFS filesystem", b"\x54\x19\x01\x00", (8192 + 1372, 0x10000 + 1372)),
    Signature("a SquashFS filesystem", b"hsqs", (0,)),
    Signature("an EROFS filesystem", b"\xe2\xe1\xf5\xe0", (1024,)),
    Signature("a cramfs filesystem", b"\x45\x3d\xcd\x28", (0, 512)),
    Signature("a ZoneFS filesystem", b"SFOZ", (0,)),
)

# One label is 256 KiB, two at each end; in it the uberblocks begin at 128 KiB, each at least 1 KiB (OpenZFS on-disk format).
_ZFS_LABEL_BYTES = 256 << 10
_ZFS_UBERBLOCKS_AT = 128 << 10
_ZFS_MAGIC = (b"\x0c\xb1\xba\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\xba\xb1\x0c")


@dataclass(frozen=True)
class Windows:
    """The beginning and the end of a device."""

    first: bytes
    last: bytes
    size_bytes: int

    def at(self, offset: int, length: int) -> bytes:
        """Bytes at an absolute offset, as far as they lie in one of the windows."""
        if offset < 0 or offset + length > self.size_bytes:
            return b""
        if offset + length <= len(self.first):
            return self.first[offset : offset + length]
        start = self.size_bytes - len(self.last)
        return self.last[offset - start : offset - start + length] if offset >= start else b""

    @property
    def all_zero(self) -> bool:
        """Of the two windows alone; nothing in between was read."""
        return not any(self.first) and not any(self.last)


def read_windows(descriptor: int, size_bytes: int) -> Windows:
    """The first and last bytes of a device, where formats leave their signatures."""
    length = min(WINDOW_BYTES, size_bytes)
    return Windows(_read(descriptor, 0, length), _read(descriptor, size_bytes - length, length), size_bytes)


def _read(descriptor: int, offset: int, length: int) -> bytes:
    parts = []
    while length:
        part = os.pread(descriptor, length, offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        length -= len(part)
    return b"".join(parts)


def found_in(windows: Windows) -> list[str]:
    """Kinds whose signature is there, each once, in the table's order."""
    found = [
        signature.kind
        for signature in SIGNATURES
        for offset in signature.offsets
        if windows.at(offset if offset >= 0 else windows.size_bytes + offset, len(signature.magic)) == signature.magic
    ]
    if any(windows.at(offset, 4) == b"\xfc\x4e\x2b\xa9" for offset in _md_offsets(windows.size_bytes)):
        found.append("a member of an md array")
    if _is_zfs(windows):
        found.append("a member of a ZFS pool")
    return list(dict.fromkeys(found))


def _md_offsets(size_bytes: int) -> tuple[int, int]:
    """Superblock 1.0: 8 KiB before the end, down to 4 KiB. 0.90: 64 KiB before the end rounded down to 64 KiB (md(4))."""
    sectors = size_bytes // SECTOR_BYTES
    version_1_0 = (sectors - 16) // 8 * 8 * SECTOR_BYTES
    version_0_90 = size_bytes // (64 << 10) * (64 << 10) - (64 << 10)
    return version_1_0, version_0_90


def _is_zfs(windows: Windows) -> bool:
    # The labels at the end start at a multiple of 256 KiB.
    end = windows.size_bytes // _ZFS_LABEL_BYTES * _ZFS_LABEL_BYTES
    labels = (0, _ZFS_LABEL_BYTES, end - 2 * _ZFS_LABEL_BYTES, end - _ZFS_LABEL_BYTES)
    return any(
        windows.at(label + offset, 8) in _ZFS_MAGIC
        for label in labels
        for offset in range(_ZFS_UBERBLOCKS_AT, _ZFS_LABEL_BYTES, 1024)
    )


def second_opinion(node: str) -> list[str]:
    """What blkid sees, or nothing if it is not installed."""
    blkid = shutil.which("blkid") or shutil.which("blkid", path="/usr/sbin:/sbin")
    if blkid is None:
        return []
    done = subprocess.run([blkid, "-p", "-o", "export", node], capture_output=True, text=True, check=False, timeout=60)
    # Exit status 2: nothing found; 8: several formats at once (blkid(8)).
    if done.returncode == 8:
        return ["several formats at once, says blkid"]
    tags = dict(line.partition("=")[::2] for line in done.stdout.splitlines() if "=" in line)
    return [
        f"{tags[key]} ({what}), says blkid"
        for key, what in (("TYPE", "content"), ("PTTYPE", "partition table"))
        if key in tags
    ]
