#!/usr/bin/env python3
"""Boots a Debian kernel in qemu's software emulation once per machine and brings `seekwise capture` of it back.

    apt-get download linux-image-6.1.0-56-amd64 btrfs-progs bcache-tools     # any Debian kernel
    for deb in *.deb; do dpkg-deb -x $deb system; done
    python3 tests/machines/capture/lab.py --system system [--out tests/machines] [NAME …]

Needs on the host: qemu-system-x86, busybox-static, kmod, udev, e2fsprogs, fdisk, mdadm, lvm2, cryptsetup, python3.
Machines are rows of `machines.py`. Nothing on the host is touched but the output folder and a temporary one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from machines import MACHINES, Machine

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]

PROGRAMS = (
    "/usr/bin/busybox",
    "/usr/bin/udevadm",
    "/usr/bin/kmod",
    "/usr/sbin/mdadm",
    "/usr/sbin/mdmon",
    "/usr/sbin/lvm",
    "/usr/sbin/dmsetup",
    "/usr/sbin/cryptsetup",
    "/sbin/mke2fs",
    "/sbin/sfdisk",
    "/usr/bin/python3.11",
    "/usr/lib/udev/ata_id",
    "/usr/lib/udev/scsi_id",
)
OPTIONAL = ("/sbin/mkfs.btrfs", "/bin/btrfs", "/usr/sbin/make-bcache", "/lib/udev/probe-bcache")
"""Only the btrfs and bcache machines need these."""
MODULES = (
    "drivers/md",
    "drivers/ata",
    "drivers/nvme",
    "drivers/block",
    "drivers/virtio",
    "drivers/scsi",
    "drivers/message",
    "drivers/hwmon/drivetemp.ko",
    "drivers/hid",
    "drivers/usb/host",
    "drivers/usb/core",
    "drivers/usb/common",
    "drivers/usb/storage",
    "drivers/dax",
    "drivers/cdrom",
    "drivers/hwmon/hwmon.ko",
    "fs/ext4",
    "fs/jbd2",
    "fs/btrfs",
    "fs/mbcache.ko",
    "fs/configfs",
    "lib",
    "crypto",
    "arch/x86/crypto",
    "mm",
    "block",
)
NOT_MODULES = re.compile(
    r"lpfc|qla2xxx|qla4xxx|bfa|bnx2|qed|csiostor|cxgbi|be2iscsi|snic|fnic|elx|drbd|/hid/hid-[a-z]+.ko|test"
)
NOT_PYTHON = (
    "test",
    "tkinter",
    "idlelib",
    "ensurepip",
    "lib2to3",
    "turtledemo",
    "distutils",
    "pydoc_data",
    "__pycache__",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", type=Path, required=True, help="folder with an unpacked linux-image package")
    parser.add_argument("--out", type=Path, default=HERE.parent)
    parser.add_argument("--work", type=Path, help="keep images and the initramfs here")
    parser.add_argument("names", nargs="*", metavar="NAME", default=[])
    options = parser.parse_args()
    options.system = options.system.resolve()
    work = options.work or Path(tempfile.mkdtemp(prefix="seekwise-lab-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        kernel = next((options.system / "boot").glob("vmlinuz-*"))
        base = work / "base.cpio"
        if not base.exists():
            pack(guest(options.system, kernel.name.removeprefix("vmlinuz-"), work / "guest"), base)
        failed = [
            name for name in options.names or MACHINES if not boot(MACHINES[name], kernel, base, work, options.out)
        ]
    finally:
        if options.work is None:
            shutil.rmtree(work)
    sys.exit(f"not captured: {', '.join(failed)}" if failed else 0)


def guest(system: Path, release: str, root: Path) -> Path:
    """The guest's files: programs with their libraries, udev's rules, modules, Python and seekwise."""
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc/lvm", "proc", "sys", "dev", "root", "seekwise"):
        (root / folder).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    for program in (*PROGRAMS, *OPTIONAL):
        # From the host, or from a package unpacked beside the kernel.
        source = next((path for path in (Path(program), system / program.lstrip("/")) if path.exists()), None)
        if source is not None:
            install(source.resolve(), root, program, system)
        elif program in PROGRAMS:
            sys.exit(f"{program} is missing: install its package, or unpack it into {system}")
    (root / "usr/lib/systemd").mkdir(parents=True)
    (root / "usr/lib/systemd/systemd-udevd").symlink_to("/usr/bin/udevadm")
    for name in ("modprobe", "insmod", "depmod"):
        (root / "usr/sbin" / name).symlink_to("/usr/bin/kmod")
    for name in ("vgcreate", "pvcreate", "lvcreate", "vgchange"):
        (root / "usr/sbin" / name).symlink_to("lvm")
    for name in [
        "sh",
        "mount",
        "umount",
        "mkdir",
        "cat",
        "sleep",
        "echo",
        "printf",
        "ls",
        "rm",
        "mkswap",
        "swapon",
        "losetup",
        "truncate",
        "chroot",
        "true",
        "dd",
        "ln",
        "sync",
        "grep",
        "dmesg",
    ]:
        (root / "usr/bin" / name).symlink_to("busybox")
    shutil.copytree("/usr/lib/udev/rules.d", root / "usr/lib/udev/rules.d")
    for rules in (system / "lib/udev/rules.d").glob("*") if (system / "lib/udev/rules.d").exists() else ():
        shutil.copy(rules, root / "usr/lib/udev/rules.d")
    (root / "etc/lvm/lvm.conf").write_text("devices { use_devicesfile = 0 }\nglobal { event_activation = 0 }\n")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\ndisk:x:6:\n")
    modules(system, release, root)
    version = "usr/lib/python3.11"
    shutil.copytree(
        f"/{version}", root / version, ignore=shutil.ignore_patterns(*NOT_PYTHON, "config-*", "dist-packages")
    )
    for library in (root / version / "lib-dynload").glob("*.so"):
        libraries(library, root, system)
    package = REPOSITORY / "python/seekwise"
    (root / "seekwise/seekwise").mkdir()
    for name in ("__init__.py", "errors.py"):
        shutil.copy(package / name, root / "seekwise/seekwise")
    shutil.copytree(package / "linux", root / "seekwise/seekwise/linux", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "guest_capture.py", root)
    shutil.copy(HERE / "init.sh", root / "init")
    (root / "init").chmod(0o755)
    return root


def install(program: Path, root: Path, target: str, system: Path) -> None:
    # The guest's /bin, /sbin and /lib are links into /usr, as on Debian.
    destination = root / "usr" / target.lstrip("/").removeprefix("usr/")
    destination.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, destination)
    destination.chmod(0o755)
    libraries(program, root, system)


def libraries(program: Path, root: Path, system: Path) -> None:
    found = {**os.environ, "LD_LIBRARY_PATH": f"{system}/lib/x86_64-linux-gnu:{system}/usr/lib/x86_64-linux-gnu"}
    listed = subprocess.run(["ldd", program], check=False, capture_output=True, text=True, env=found).stdout
    for path in re.findall(r"(/\S+\.so\S*)", listed):
        inside = path.removeprefix(str(system))
        destination = root / "usr" / inside.lstrip("/").removeprefix("usr/")
        if not destination.exists():
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(path), destination)


def modules(system: Path, release: str, root: Path) -> None:
    source = system / "lib/modules" / release
    target = root / "usr/lib/modules" / release
    for entry in MODULES:
        for module in (
            [source / "kernel" / entry] if entry.endswith(".ko") else (source / "kernel" / entry).rglob("*.ko")
        ):
            relative = module.relative_to(source)
            if module.exists() and not NOT_MODULES.search(str(relative)):
                (target / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(module, target / relative)
    for name in ("modules.builtin", "modules.order", "modules.builtin.modinfo"):
        shutil.copy(source / name, target)
    subprocess.run(["depmod", "-b", root / "usr", "-m", "/lib/modules", release], check=False, capture_output=True)
    if not (target / "modules.dep").exists():
        subprocess.run(["depmod", "-b", root, release], check=True)


def pack(root: Path, archive: Path, names: bytes | None = None) -> None:
    listed = names or subprocess.run(["find", ".", "-print0"], cwd=root, check=True, capture_output=True).stdout
    with archive.open("wb") as out:
        subprocess.run(
            ["cpio", "--null", "--create", "--format=newc", "--quiet", "--owner=0:0"],
            cwd=root,
            input=listed,
            stdout=out,
            check=True,
        )


def boot(machine: Machine, kernel: Path, base: Path, work: Path, out: Path) -> bool:
    folder = work / machine.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "machine.sh").write_text(machine.script)
    pack(folder, folder / "script.cpio", b"machine.sh\0")
    initrd = folder / "initrd"
    with initrd.open("wb") as joined:
        for part in (base, folder / "script.cpio"):
            joined.write(part.read_bytes())
    images = []
    for index, size in enumerate(machine.drives):
        image = folder / f"drive{index}.raw"
        subprocess.run(["truncate", "-s", size, image], check=True)
        images.append(str(image))
    result = folder / "captured.tar.gz"
    command = [
        "qemu-system-x86_64",
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        "-M",
        "q35",
        "-accel",
        "tcg",
        "-cpu",
        "max",
        "-smp",
        "1",
        "-m",
        "1536",
        "-serial",
        f"file:{folder / 'console.log'}",
        "-serial",
        f"file:{result}",
        "-kernel",
        str(kernel),
        "-initrd",
        str(initrd),
        "-append",
        "console=ttyS0 quiet panic=-1 mitigations=off rdinit=/init scsi_mod.scan=sync sd_mod.async_probe=0 log_buf_len=1M",
        *(word.format(*images) for word in machine.qemu),
    ]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=300, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        print(f"{machine.name}: {error}", file=sys.stderr)
    for image in images:
        os.unlink(image)
    initrd.unlink()
    if not result.exists() or result.stat().st_size == 0:
        print(f"{machine.name}: nothing came back, see {folder / 'console.log'}", file=sys.stderr)
        return False
    shutil.copy(result, out / f"{machine.name}.tar.gz")
    print(f"{machine.name}: {result.stat().st_size} bytes")
    return True


if __name__ == "__main__":
    main()
