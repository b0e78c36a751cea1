"""The guest's files: one initramfs per kernel, the same bytes from the same packages and programs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import time
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from seekwise import schedulers, temporary
from seekwise.files import write_product
from seekwise_proof.testbed import cpio, debian, modules, programs
from seekwise_proof.testbed.cpio import CpioEntry
from seekwise_proof.testbed.debian import Package, Say
from seekwise_proof.testbed.kernels import Kernel
from seekwise_proof.testbed.modules import of_scheduler

# Debian 12. What each is for: busybox the shell and its tools, mdadm arrays, nbd-client attaches drives, util-linux
# chrt; the rest are the libraries of these.
PACKAGES = tuple(
    Package(f"debian/pool/main/{path}", sha256)
    for path, sha256 in (
        ("b/busybox/busybox-static_1.35.0-4+deb12u1+b1_amd64.deb", "3d3fdbe91d4660c873e14b092c213fe81c1da6362daa236eb25d0171eb108744"),
        ("m/mdadm/mdadm_4.2-5_amd64.deb", "93ac76fa9aa5b97256688e067b0a31c11aadf63321d6dbdf486e37de2338d454"),
        ("s/systemd/libudev1_252.39-1~deb12u2_amd64.deb", "6f7e08f11c4809d2e5998c775f7b423ab5ec2ce0309494b4a2615037052245e2"),
        ("g/glibc/libc6_2.36-9+deb12u14_amd64.deb", "ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf"),
        ("n/nbd/nbd-client_3.24-1.1_amd64.deb", "84324aea87faeebeaa346318c3b39c224e5651ecffc4ab979153065b7e440c56"),
        ("libn/libnl3/libnl-3-200_3.7.0-0.2+b1_amd64.deb", "d1fc3e9eb8e79b4c96b0a64c3d8c9e068ae2f665cab71bd19f417ffd0453a890"),
        ("libn/libnl3/libnl-genl-3-200_3.7.0-0.2+b1_amd64.deb", "1f7b198f5d87659f815140ed41c1517b2fe41ba62c5b15b0bafdcc2d61801871"),
        ("g/gnutls28/libgnutls30_3.7.9-2+deb12u7_amd64.deb", "30abec8c824feb1d2d7e9000a34083cccd19d139625e1b21547e3ac53b922f8e"),
        ("g/gmp/libgmp10_6.2.1+dfsg1-1.1_amd64.deb", "187aedef2ed763f425c1e523753b9719677633c7eede660401739e9c893482bd"),
        ("n/nettle/libhogweed6_3.8.1-2_amd64.deb", "ed8185c28b2cb519744a5a462dcd720d3b332c9b88a1d0002eac06dc8550cb94"),
        ("n/nettle/libnettle8_3.8.1-2_amd64.deb", "45922e6e289ffd92f0f92d2bb9159e84236ff202d552a461bf10e5335b3f0261"),
        ("libi/libidn2/libidn2-0_2.3.3-1+b1_amd64.deb", "d50716d5824083d667427817d506b45d3f59dc77e1ca52de000f3f62d4918afa"),
        ("p/p11-kit/libp11-kit0_0.24.1-2_amd64.deb", "251330faddbf013f060fcdb41f4b0c037c8a6e89ba7c09b04bfcc4e3f0807b22"),
        ("libf/libffi/libffi8_3.4.4-1_amd64.deb", "6d9f6c25c30efccce6d4bceaa48ea86c329a3432abb360a141f76ac223a4c34a"),
        ("libt/libtasn1-6/libtasn1-6_4.19.0-2+deb12u1_amd64.deb", "2c27c613b69be248d09432839ea3d3382f6ee27fabaa65987aa2d884cd00afda"),
        ("libu/libunistring/libunistring2_1.0-2_amd64.deb", "d466bbfe011d764d793c1d9d777cad9c7cf65b938e11598f27408171ad95a951"),
        ("u/util-linux/util-linux_2.38.1-5+deb12u3_amd64.deb", "8eb241ff24b2e1ee9c0373f4fc9bc728b85bf5966c1496154df7da01c0e42f34"),
    )
)  # fmt: skip
# Files of the packages that the guest needs: programs, and the libraries that lie directly in a library folder.
WANTED = re.compile(
    r"bin/busybox|sbin/mdadm|(usr/)?sbin/nbd-client|usr/bin/chrt"
    r"|(usr/)?lib/x86_64-linux-gnu/lib(udev|c|m|dl|pthread|rt|nl-3|nl-genl-3|gnutls|gmp|hogweed|nettle|idn2|p11-kit|ffi|tasn1|unistring)"
    r"\.so\.[\d.]+|(usr/)?lib(64)?/(x86_64-linux-gnu/)?ld-linux-x86-64\.so\.2"
)
MODULES = (
    "nbd",
    "md_mod",
    "raid0",
    "raid1",
    "raid10",
    "raid456",
    *(module for name in schedulers.registry() for module in of_scheduler(name)),
    "null_blk",
    "scsi_debug",
    "ext4",
    "xfs",
)
"""What scripts may load; everything else stays in the package."""
KEPT_S = 7 * 86400.0
GUEST = resources.files("seekwise_proof.testbed") / "guest"


@dataclass(frozen=True)
class Image:
    """A kernel and its initramfs, ready to boot."""

    kernel: Path
    initramfs: Path
    release: str
    digest: str
    """Of everything that the guest consists of: same digest, same run."""


def build(kernel: Kernel, say: Say) -> Image:
    """The image of a kernel, from the cache if nothing has changed."""
    package = debian.fetch(kernel.package, say)
    release = package.name.removeprefix("linux-image-").split("_")[0]
    vmlinuz, base = _fixed(kernel, package, say)
    parts = [
        base.read_bytes(),
        cpio.pack({
            "usr/bin/fio": CpioEntry.file(programs.fio(say), executable=True),
            "usr/bin/seekwise-drive": CpioEntry.file(programs.drive(say), executable=True),
            "init": CpioEntry.file((GUEST / "init").read_bytes(), executable=True),
            "lab/functions.sh": CpioEntry.file((GUEST / "functions.sh").read_bytes()),
        }),
    ]  # fmt: skip
    digest = hashlib.sha256(b"".join(parts) + vmlinuz.read_bytes()).hexdigest()[:16]
    kept = debian.cache() / f"image-{release}-{digest}.cpio"
    if kept.exists():
        os.utime(kept)
    else:
        _remove_unused(debian.cache(), f"image-{release}-*.cpio")
        _write(kept, b"".join(parts))
    return Image(vmlinuz, kept, release, digest)


def _fixed(kernel: Kernel, package: Path, say: Say) -> tuple[Path, Path]:
    """What comes from packages alone, unpacked once: the kernel, and a cpio archive."""
    packages = [package, *(debian.fetch(word, say) for word in PACKAGES)]
    recipe = " ".join([*(fetched.name for fetched in packages), WANTED.pattern, *MODULES])
    name = f"{kernel.series}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    vmlinuz, base = debian.cache() / f"vmlinuz-{name}", debian.cache() / f"base-{name}.cpio"
    if vmlinuz.exists() and base.exists():
        return vmlinuz, base
    say(f"making the guest of kernel {kernel.series}")
    contents = {name: get for name, entry, get in debian.files(package) if entry.isfile()}
    _write(vmlinuz, next(get for name, get in contents.items() if name.startswith("boot/vmlinuz-"))())
    entries = _modules({name: get for name, get in contents.items() if "lib/modules/" in name})
    for further in packages[1:]:
        entries |= _programs(further)
    entries |= {name: CpioEntry.link("usr/" + name) for name in ("bin", "sbin", "lib", "lib64")}
    entries |= _applets(entries["usr/bin/busybox"].data)
    entries |= {name: CpioEntry.folder() for name in ("proc", "sys", "dev", "tmp", "run", "root", "etc", "var/lock")}
    _write(base, cpio.pack(entries))
    return vmlinuz, base


def _modules(contents: dict[str, modules.Content]) -> dict[str, CpioEntry]:
    packed = modules.of_package(contents)
    entries: dict[str, CpioEntry] = {}
    for name in MODULES:
        order = packed.ordered((name,))
        entries[f"lab/modules/{name}.order"] = CpioEntry.file("\n".join(order).encode() + b"\n")
        entries |= {f"lab/modules/{module}.ko": CpioEntry.file(packed.content(module)) for module in order}
    return entries


def _programs(package: Path) -> dict[str, CpioEntry]:
    """Under /usr, into which the guest's /bin, /sbin, /lib and /lib64 lead."""
    entries = {}
    for name, entry, get in debian.files(package):
        if WANTED.fullmatch(name):
            inside = "usr/" + name.removeprefix("usr/")
            entries[inside] = (
                CpioEntry.link(entry.linkname) if entry.issym() else CpioEntry.file(get(), executable=True)
            )
    return entries


def _applets(busybox: bytes) -> dict[str, CpioEntry]:
    """A link for every tool that busybox is, but for those that the guest has in full."""
    with temporary.private("lab") as folder:
        program = Path(folder) / "busybox"
        program.write_bytes(busybox)
        program.chmod(0o755)
        names = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    return {f"usr/bin/{name}": CpioEntry.link("busybox") for name in names if name not in ("busybox", "nbd-client")}


def _remove_unused(folder: Path, pattern: str) -> None:
    """Images that nobody has asked for in a week; a younger one may be another checkout's, in use at this moment."""
    for old in folder.glob(pattern):
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > KEPT_S:
                old.unlink()


def _write(path: Path, data: bytes) -> None:
    write_product(path, data)
