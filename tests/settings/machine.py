"""A small machine of files: two disks (SATA, NVMe) with udev's database, to which a test adds configuration files."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from seekwise.linux.block_device import Stack
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import FolderTree, Tree

MACHINES = Path(__file__).resolve().parents[1] / "machines"


def machine_names() -> list[str]:
    archives = [path.name.removesuffix(".tar.gz") for path in MACHINES.glob("*.tar.gz")]
    return sorted(archives + [path.name for path in MACHINES.iterdir() if (path / "sys").is_dir()])


def machine_path(name: str) -> Path:
    archive = MACHINES / f"{name}.tar.gz"
    return archive if archive.exists() else MACHINES / name


def reconstruct():
    specification = importlib.util.spec_from_file_location("reconstruct", MACHINES / "reconstruct.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


class Files:
    """Writes files below a root; `stack()` and `tree()` read them as a captured machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, files: dict[str, str]) -> Files:
        for name, text in files.items():
            path = self.root / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            # A script is there to be started.
            path.chmod(0o755 if text.startswith("#!") or name.endswith("/rc.local") else 0o644)
        return self

    def link(self, name: str, target: str) -> Files:
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        return self

    def tree(self) -> Tree:
        return FolderTree(self.root)

    def stack(self) -> Stack:
        return read_stack(self.tree())


QUEUE = {
    "nr_requests": "64",
    "read_ahead_kb": "128",
    "wbt_lat_usec": "75000",
    "nomerges": "0",
    "rq_affinity": "1",
    "rotational": "1",
    "write_cache": "write back",
    "logical_block_size": "512",
    "physical_block_size": "4096",
    "optimal_io_size": "0",
}


def two_disks(
    root: Path,
    *,
    serial: str = "WD-1",
    scheduler: str = "mq-deadline",
    kernel: str = "6.1.0-18-amd64",
    disk: str = "sda",
    offered: tuple[str, ...] = ("none", "mq-deadline", "kyber", "bfq"),
) -> Files:
    """`disk`: the kernel's name of the SATA disk."""
    files = Files(root)
    listed = " ".join(f"[{name}]" if name == scheduler else name for name in offered)
    sata = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0"
    nvme = "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0"
    for name, folder, number, queue in (
        (disk, f"{sata}/block/{disk}", "8:0", {}),
        ("nvme0n1", f"{nvme}/nvme0n1", "259:0", {"rotational": "0", "wbt_lat_usec": "2000", "nr_requests": "256"}),
    ):
        files.add({f"{folder}/queue/{key}": f"{value}\n" for key, value in {**QUEUE, **queue}.items()})
        files.add({
            f"{folder}/queue/scheduler": f"{listed}\n",
            f"{folder}/dev": f"{number}\n",
            f"{folder}/size": "1953525168\n",
            f"{folder}/removable": "0\n",
            f"{folder}/mq/0/cpu_list": "0\n",
        })  # fmt: skip
        files.link(f"/sys/block/{name}", f"..{folder.removeprefix('/sys')}")
    files.link(f"{sata}/block/{disk}/device", "../..").link(f"{nvme}/nvme0n1/device", "..")
    files.add({f"{sata}/vendor": "ATA\n", f"{sata}/model": "TEST DISK\n", f"{sata}/queue_depth": "32\n"})
    files.add({f"{nvme}/model": "TEST NVME\n", f"{nvme}/serial": "N 1\n", f"{nvme}/cntlid": "1\n"})
    files.add({
        "/run/udev/data/b8:0": f"E:ID_SERIAL_SHORT={serial}\nE:ID_BUS=ata\nE:ID_ATA_SATA=1\n",
        "/run/udev/data/b259:0": "E:ID_SERIAL_SHORT=N 1\n",
        "/proc/sys/kernel/osrelease": f"{kernel}\n",
        "/proc/cmdline": "root=/dev/sda1 quiet\n",
        "/etc/init.d/sysfsutils": "#!/bin/sh\n",
    })  # fmt: skip
    return files
