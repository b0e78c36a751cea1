"""Machines that we could not boot, written by hand in the layout of their kernels: reconstructed, not captured.

    python3 tests/machines/reconstruct.py [FOLDER]      writes every machine of `RECONSTRUCTED` below FOLDER

`MachineBuilder` also makes the small machines inside the tests. Each reconstruction says where its facts come from.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

QUEUE_2_6_32 = {
    # Files of queue/ in Linux 2.6.32, block/blk-sysfs.c; values are that kernel's defaults for a disk.
    "hw_sector_size": "512",
    "iostats": "1",
    "logical_block_size": "512",
    "max_hw_sectors_kb": "128",
    "max_sectors_kb": "128",
    "minimum_io_size": "512",
    "nomerges": "0",
    "nr_requests": "128",
    "optimal_io_size": "0",
    "physical_block_size": "512",
    "read_ahead_kb": "128",
    "rotational": "1",
    "rq_affinity": "1",
    "scheduler": "noop anticipatory deadline [cfq]",
}
CFQ_2_6_32 = {
    # block/cfq-iosched.c, attributes and defaults at HZ=1000.
    "back_seek_max": "16384",
    "back_seek_penalty": "2",
    "fifo_expire_async": "250",
    "fifo_expire_sync": "124",
    "low_latency": "1",
    "quantum": "4",
    "slice_async": "40",
    "slice_async_rq": "2",
    "slice_idle": "8",
    "slice_sync": "100",
}
QUEUE_MQ = {
    "hw_sector_size": "512",
    "logical_block_size": "512",
    "nomerges": "0",
    "nr_requests": "256",
    "physical_block_size": "4096",
    "read_ahead_kb": "128",
    "rotational": "1",
    "rq_affinity": "1",
    "scheduler": "[mq-deadline] kyber bfq none",
    "wbt_lat_usec": "75000",
    "write_cache": "write back",
}
MQ_DEADLINE = {
    "fifo_batch": "16",
    "front_merges": "1",
    "read_expire": "500",
    "write_expire": "5000",
    "writes_starved": "2",
}


class MachineBuilder:
    """Writes a tree of files as a kernel would show them."""

    def __init__(self, root: Path, kernel: str) -> None:
        self.root = root
        self.file("proc/sys/kernel/osrelease", kernel)
        self.mount_count = 0
        (root / "sys/block").mkdir(parents=True, exist_ok=True)

    def file(self, path: str, content: str | bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())

    def files(self, folder: str, contents: dict[str, str]) -> None:
        for name, content in contents.items():
            self.file(f"{folder}/{name}", content)

    def link(self, path: str, target: str) -> None:
        """A symbolic link to a path of the tree, written relative as sysfs does."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(self.root / target, place.parent))

    def mount(
        self, mount_point: str, source: str, major_minor: str, filesystem: str, options: str = "rw,relatime"
    ) -> None:
        self.mount_count += 1
        number, parent = 20 + self.mount_count, 1 if self.mount_count == 1 else 21
        kept = self.root / "proc/self/mountinfo"
        before = kept.read_text() if kept.exists() else ""
        line = f"{number} {parent} {major_minor} / {mount_point} {options} - {filesystem} {source} rw"
        self.file("proc/self/mountinfo", f"{before}{line}")

    def disk(
        self,
        name: str,
        folder: str,
        major_minor: str,
        sectors: int,
        queue: dict[str, str],
        iosched: dict[str, str] | None = None,
    ) -> str:
        """A whole disk in `/sys/devices/…/block/NAME`, linked from `/sys/block`."""
        place = f"sys/devices/{folder}/block/{name}"
        self.files(place, {"dev": major_minor, "size": str(sectors), "ro": "0", "removable": "0"})
        self.files(f"{place}/queue", queue)
        self.files(f"{place}/queue/iosched", iosched or {})
        for empty in ("slaves", "holders"):
            # git keeps no empty folders, and the reader needs none.
            (self.root / place / empty).mkdir(parents=True, exist_ok=True)
        self.link(f"{place}/device", f"sys/devices/{folder}")
        self.link(f"sys/block/{name}", place)
        return place

    def partition(self, disk_place: str, name: str, number: int, major_minor: str, start: int, sectors: int) -> None:
        self.files(
            f"{disk_place}/{name}",
            {"dev": major_minor, "size": str(sectors), "start": str(start), "partition": str(number), "ro": "0"},
        )

    def pci(self, folder: str, driver: str, vendor: str, device: str, device_class: str) -> None:
        self.files(f"sys/devices/{folder}", {"vendor": vendor, "device": device, "class": device_class})
        (self.root / f"sys/bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
        self.file(f"sys/bus/pci/drivers/{driver}/bind", "")
        self.link(f"sys/devices/{folder}/driver", f"sys/bus/pci/drivers/{driver}")

    def scsi(self, folder: str, address: str, facts: dict[str, str], proc_name: str) -> str:
        """A SCSI device below a PCI folder; returns the folder to hang the disk on."""
        host, channel, target, _ = address.split(":")
        place = f"{folder}/host{host}/target{host}:{channel}:{target}/{address}"
        self.files(f"sys/devices/{place}", facts)
        self.file(f"sys/devices/{folder}/host{host}/scsi_host/host{host}/proc_name", proc_name)
        link = f"sys/class/scsi_host/host{host}"
        if not (self.root / link).is_symlink():
            self.link(link, f"sys/devices/{folder}/host{host}/scsi_host/host{host}")
        return place


def threeware(root: Path) -> None:
    """3ware 9650SE with one RAID 5 unit and one RAID 1 unit under 2.6.32.

    Names and numbers: drivers/scsi/3w-9xxx.[ch] of 2.6.32 (vendor AMCC, PCI ID 13c1:1004, 254 commands for a unit).
    """
    machine = MachineBuilder(root, "2.6.32-5-amd64")
    card = "pci0000:00/0000:00:03.0/0000:02:00.0"
    machine.pci(card, "3w-9xxx", "0x13c1", "0x1004", "0x010400")
    for name, target, number, sectors in (("sda", 0, "8:0", 312479744), ("sdb", 1, "8:16", 5859311616)):
        facts = {"vendor": "AMCC", "model": "9650SE-8LP DISK", "rev": "4.10", "state": "running", "queue_depth": "254"}
        unit = machine.scsi(card, f"0:0:{target}:0", {**facts, "type": "0"}, "3w-9xxx")
        place = machine.disk(name, unit, number, sectors, QUEUE_2_6_32, CFQ_2_6_32)
        if name == "sda":
            machine.partition(place, "sda1", 1, "8:1", 63, 312479681)
    machine.mount("/", "/dev/sda1", "8:1", "ext3", "rw,relatime,errors=remount-ro")
    machine.mount("/srv", "/dev/sdb", "8:16", "xfs", "rw,noatime")


def smart_array_cciss(root: Path) -> None:
    """HP Smart Array P400 under 2.6.32: block driver cciss, names with a `!`, partitions `c0d0p1`.

    Layout: drivers/block/cciss.c of 2.6.32 (sysfs attributes vendor, model, rev, raid_level of a logical drive).
    """
    machine = MachineBuilder(root, "2.6.32-71.el6.x86_64")
    card = "pci0000:00/0000:00:04.0/0000:06:00.0"
    machine.pci(card, "cciss", "0x103c", "0x3230", "0x010400")
    unit = f"{card}/cciss0/c0d0"
    facts = {"vendor": "HP", "model": "LOGICAL VOLUME", "rev": "7.24", "raid_level": "RAID 5"}
    machine.files(f"sys/devices/{unit}", {**facts, "unique_id": "600508B100104A395056433830350003"})
    place = machine.disk("cciss!c0d0", unit, "104:0", 1172058032, QUEUE_2_6_32, CFQ_2_6_32)
    machine.partition(place, "cciss!c0d0p1", 1, "104:1", 2048, 1024000)
    machine.partition(place, "cciss!c0d0p2", 2, "104:2", 1026048, 1171031984)
    machine.mount("/", "/dev/cciss/c0d0p2", "104:2", "ext4")
    machine.mount("/boot", "/dev/cciss/c0d0p1", "104:1", "ext4")


def smartpqi(root: Path) -> None:
    """HPE Smart Array Gen10 under 5.14: two logical volumes and one drive passed through.

    Attributes: drivers/scsi/smartpqi of 5.14 (`raid_level` is N/A for a drive that is passed through).
    """
    machine = MachineBuilder(root, "5.14.0-284.el9.x86_64")
    card = "pci0000:5c/0000:5c:00.0/0000:5d:00.0"
    machine.pci(card, "smartpqi", "0x9005", "0x028f", "0x010700")
    rows = (
        ("sda", "1:1:0:0", "8:0", 937637552, "HPE", "LOGICAL VOLUME", "RAID-1", "1009"),
        ("sdb", "1:1:0:1", "8:16", 23441235968, "HPE", "LOGICAL VOLUME", "RAID-6", "1009"),
        ("sdc", "1:0:2:0", "8:32", 15628053168, "ATA", "MB008000GWWQU", "N/A", "9"),
    )
    for name, address, number, sectors, vendor, model, level, depth in rows:
        facts = {"vendor": vendor, "model": model, "rev": "4.11", "state": "running", "queue_depth": depth}
        place = machine.scsi(card, address, {**facts, "raid_level": level, "type": "0"}, "smartpqi")
        machine.disk(name, place, number, sectors, QUEUE_MQ, MQ_DEADLINE)
    machine.mount("/", "/dev/sda", "8:0", "xfs")
    machine.mount("/srv", "/dev/sdb", "8:16", "xfs")
    machine.mount("/backup", "/dev/sdc", "8:32", "ext4")


RECONSTRUCTED = {"3ware-9650se": threeware, "smart-array-cciss": smart_array_cciss, "smartpqi-gen10": smartpqi}


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, build in RECONSTRUCTED.items():
        build(target / name)
