"""The two programs that the guest gets from source: fio, and our own drive server. Both static, so that they bring
nothing along.

Debian's fio package brings some sixty libraries (80 MB, Ceph and Gluster among them), which would have to be unpacked
at every boot.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from seekwise import temporary
from seekwise.errors import MissingError, SeekwiseError
from seekwise.files import write_product
from seekwise_proof.testbed import debian
from seekwise_proof.testbed.debian import Package, Say

FIO = Package(
    "debian/pool/main/f/fio/fio_3.33.orig.tar.gz", "d2410e13e0f379d061d077cc5ae325835bb7c6186aa7bafc1df954cbc9b014fc"
)
LIBAIO = Package(
    "debian/pool/main/liba/libaio/libaio-dev_0.3.113-4_amd64.deb",
    "2d5a31e04e7471e71288832e004a8f8db78c2017ba11fa202f3e36e3ea21b2eb",
)
FIO_VERSION = "fio-3.33"
WITHOUT = ("native", "numa", "rdma", "rados", "rbd", "http", "gfapi", "pmem", "lex", "libnfs", "tcmalloc", "shm")
"""Parts of fio that need libraries or this machine's own processor."""
TARGET = "x86_64-unknown-linux-gnu"


def fio(say: Say) -> bytes:
    """fio, built once from Debian's source package."""
    kept = debian.cache() / FIO_VERSION
    if not kept.exists():
        for program in ("gcc", "make"):
            if shutil.which(program) is None:
                raise MissingError(
                    f"the VM testbed builds its fio, and {program} is not installed", hint="apt-get install gcc make"
                )
        source, library = debian.fetch(FIO, say), debian.fetch(LIBAIO, say)
        say("building fio, about half a minute")
        with temporary.private("fio") as work:
            _build_fio(Path(work), source, library)
            built = Path(work) / FIO_VERSION / "fio"
            write_product(kept, built.read_bytes())
    return kept.read_bytes()


def _build_fio(work: Path, source: Path, library: Path) -> None:
    with tarfile.open(source) as archive:
        archive.extractall(work, filter="data")
    for name, entry, get in debian.files(library):
        if entry.isfile() and name.endswith(("libaio.h", "libaio.a")):
            (work / Path(name).name).write_bytes(get())
    folder = work / FIO_VERSION
    environment = {**os.environ, "LDFLAGS": f"-L{work}"}
    options = ["--build-static", f"--extra-cflags=-I{work}", *(f"--disable-{part}" for part in WITHOUT)]
    jobs = str(min(2, os.cpu_count() or 1))
    for command in (["./configure", *options], ["make", "-j", jobs, "fio"], ["strip", "fio"]):
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise SeekwiseError(f"fio cannot be built ({command[0]}): {said[-1] if said else 'no message'}")


def drive(say: Say) -> bytes:
    """Our drive server, built from this checkout."""
    checkout = Path(__file__).resolve().parents[3]
    if not (checkout / "proof/crates/drive/Cargo.toml").exists() or shutil.which("cargo") is None:
        raise MissingError(
            "the VM testbed builds its drive server with cargo, from a checkout of Seekwise",
            hint="install Rust and run it from a clone of the repository",
        )
    folder = checkout / "target" / "lab"
    built = folder / TARGET / "release" / "seekwise-drive"
    if not built.exists():
        say("building the drive server for the guest, about half a minute")
    # `--target` keeps the flags away from build scripts and macros, which cannot be static.
    done = subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--package", "seekwise-drive", "--bin", "seekwise-drive",
         "--target", TARGET, "--target-dir", str(folder)],
        cwd=checkout, env={**os.environ, "RUSTFLAGS": "-C target-feature=+crt-static -C strip=debuginfo"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SeekwiseError(
            f"the drive server cannot be built: {(done.stderr.strip().splitlines() or ['no message'])[0]}"
        )
    return built.read_bytes()
