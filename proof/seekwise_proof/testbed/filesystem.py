"""ext4 in the guest: made by Debian's own mke2fs, filled by fio, then loaded as any folder.

The programs travel with a boot that needs them rather than in the image: what others measure stays the same to the
byte.
"""

from __future__ import annotations

from pathlib import Path

from seekwise.measure.kernel import fio_job
from seekwise_proof.testbed import debian
from seekwise_proof.testbed.cpio import CpioEntry
from seekwise_proof.testbed.debian import Package, Say

KNOWN = ("ext4",)
FOLDER = Path("/tmp/data")
PACKAGES = tuple(
    Package("debian/pool/main/" + path, sha256)
    for path, sha256 in (
        ("e/e2fsprogs/e2fsprogs_1.47.0-2+b2_amd64.deb", "fedd424691c08ef0739729026be298e7be8236337bf8e031b3c7ec66794e6fc2"),
        ("e/e2fsprogs/libext2fs2_1.47.0-2+b2_amd64.deb", "dff731f2318df99da4b8bf5f330f415f95b94c609bac29e7b2edba0a38f22a98"),
        ("e/e2fsprogs/libcom-err2_1.47.0-2+b2_amd64.deb", "a2bac7015e78fbc0c504df3e441f3a22292f1d2d77f9ccda760057f3690e22f2"),
        ("u/util-linux/libblkid1_2.38.1-5+deb12u3_amd64.deb", "5a083377f29191cafcdf0f91ec124349b4a7895b531556633a136e43c6d53943"),
        ("u/util-linux/libuuid1_2.38.1-5+deb12u3_amd64.deb", "5fff398321da62d28a842bcbabd193d72ae21724962c029dc32b1dc6b2deaeaf"),
    )
)  # fmt: skip
WANTED = ("mke2fs", "mke2fs.conf")
LIBRARIES = ("libext2fs.so.2", "libe2p.so.2", "libcom_err.so.2", "libblkid.so.1", "libuuid.so.1")
"""As the programs ask for them."""


def programs(say: Say) -> dict[str, CpioEntry]:
    """mke2fs with its libraries and defaults, below /cell."""
    entries: dict[str, CpioEntry] = {}
    for package in PACKAGES:
        for name, entry, get in debian.files(debian.fetch(package, say)):
            file = name.rsplit("/", 1)[-1]
            if not entry.isfile():
                continue
            if file in WANTED and "share" not in name:
                entries[f"cell/{file}"] = CpioEntry.file(get(), executable=True)
            for library in LIBRARIES:
                if file.startswith(library):
                    entries[f"cell/lib/{library}"] = CpioEntry.file(get(), executable=True)
    return entries


def made(top: str, filled: str) -> list[str]:
    """Lines that make and mount it and fill it by the command `filled`. What a new file system does lazily in the
    background would lie beside the load."""
    mounted = f"/dev/{top} {FOLDER}"
    options = "lazy_itable_init=1,lazy_journal_init=1,nodiscard"
    return [
        "modules ext4",
        f"mkdir -p {FOLDER}",
        "export LD_LIBRARY_PATH=/cell/lib MKE2FS_CONFIG=/cell/mke2fs.conf",
        f"/cell/mke2fs -q -F -t ext4 -E {options} /dev/{top}",
        "unset LD_LIBRARY_PATH",
        # Since 5.18 a thread reads every group's bitmap within seconds of the mount, half a second of a disk's time;
        # before, the option is unknown.
        f"mount -t ext4 -o noinit_itable,no_prefetch_block_bitmaps {mounted} 2>/dev/null || mount -t ext4 -o noinit_itable {mounted}",
        filled,
        "sync",
    ]


def unmade() -> list[str]:
    """Shell lines that take the guest's file system away again."""
    return [f"umount {FOLDER}"]


def place(region_bytes: int) -> fio_job.FioTarget:
    """Where each thread's own file lies."""
    return fio_job.FioTarget(folder=FOLDER, region_bytes=region_bytes)
