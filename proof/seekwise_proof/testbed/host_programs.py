"""This machine's programs for the guest: Python with what the workers of a use import, cp, tar and the like, and the data that they work on.

Two tar archives, made once and kept: times of files are in them, which Python compares with those of its compiled modules. The guest
unpacks the programs into memory, from where workers run in a root folder of their own, and the data onto the virtual drive.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from seekwise.control import child
from seekwise.errors import MissingError, SeekwiseError
from seekwise.workload import data
from seekwise_proof.testbed import debian
from seekwise_proof.testbed.debian import Say

TOOLS = ("cp", "cat", "tar", "find", "grep", "sort", "dd")
MODULES = ("seekwise.workload.crew", "seekwise.workload.log", "sqlite3", "compileall", "encodings.idna")
DATA_BYTES = 256 * 2**20
"""Of a data set that can have any size: what lies on the drive is in the guest's memory."""
DATA_S = 60.0
LISTING = """
import importlib, json, sys
for name in sys.argv[2:]:
    importlib.import_module(name)
modules = [each for each in list(sys.modules.values()) if each is not None]
files = [getattr(each, name, None) for each in modules for name in ("__file__", "__cached__")]
maps = [line.split(None, 5)[5].rstrip() for line in open("/proc/self/maps") if line.count("/")]
print(json.dumps(sorted({each for each in [*files, *maps] if each and each[0] == "/"})))
"""
STARTER = "import sys; sys.path[:] = sys.argv.pop(1).split(':')"
_LIBRARY = re.compile(r"(/\S+) \(0x")


def command(script: str, *words: str) -> list[str]:
    """What runs a Python script in the guest as it would run here."""
    return [os.path.realpath(sys.executable), "-I", "-S", script, ":".join(sys.path), *words]


def tree(say: Say) -> Path:
    """The archive of the programs. Raises MissingError when a tool is not there."""
    paths = {*_python(), *_system_libraries()}
    for name in TOOLS:
        found = shutil.which(name)
        if found is None:
            raise MissingError(f"{name} is not installed", hint="the guest's workers run this machine's programs")
        real = os.path.realpath(found)
        paths |= {f"/usr/bin/{name}={real}", *_libraries(real)}
    stamp = [(each, *_stat(each.rpartition("=")[2])) for each in sorted(paths)]
    kept = debian.cache() / f"programs-{_digest(stamp)}.tar"
    if not kept.exists():
        say("packing this machine's Python for the guest")
        _packed(kept, "programs-*.tar", sorted(paths))
    return kept


def data_set(name: str, say: Say) -> Path:
    """The archive of one data set, a folder: a guest gets those of its own use alone, since what it gets lies in its memory."""
    source = Path(data.__file__).parent
    stamp = [name, sys.version, DATA_BYTES, *(_stat(str(path)) for path in sorted(source.glob("*.py")))]
    kept = debian.cache() / f"data-{name}-{_digest(stamp)}.tar"
    if kept.exists():
        return kept
    say(f"laying out data for the guest: {name}")
    with tempfile.TemporaryDirectory(prefix="seekwise-lab-", dir=debian.cache()) as folder:
        data.laid_out(name, Path(folder), data.DataBudget(DATA_BYTES, time.monotonic() + DATA_S))
        _packed(kept, f"data-{name}-*.tar", [f"/{name}={folder}/{name}"])
    return kept


def _python() -> list[str]:
    """Everything that the interpreter opens for the workers' imports, and the folders that it looks for."""
    code = f"{STARTER}\nsys.argv.insert(0, '')\n{LISTING}"
    argv = [os.path.realpath(sys.executable), "-I", "-S", "-c", code, ":".join(sys.path), *MODULES]
    done = child.run(argv, timeout_s=120.0)
    if done.returncode:
        raise SeekwiseError(f"the workers' modules cannot be listed: {done.stderr.strip()[-200:]}")
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    needed = [stdlib / "os.py", stdlib / "encodings/__init__.py", Path("/lib64/ld-linux-x86-64.so.2")]
    compiled = stdlib.glob("encodings/__pycache__/*.pyc")
    return [each for each in [*json.loads(done.stdout), *map(str, needed), *map(str, compiled)] if os.path.exists(each)]


def _system_libraries() -> set[str]:
    """Those of the system that Python's modules of a start need, by the names under which they are asked for."""
    folders = [Path(sysconfig.get_paths()["stdlib"]) / "lib-dynload"]
    folders += [Path(str(importlib.import_module(name).__file__)).parent for name in ("numpy", "scipy")]
    modules = [str(path) for folder in folders for path in folder.rglob("*.so")]
    found = _libraries(os.path.realpath(sys.executable), *modules)
    return {each for each in found if each.startswith(("/lib", "/usr/lib"))} | set(found[:1])


def _libraries(*programs: str) -> list[str]:
    done = subprocess.run(["ldd", *programs], check=False, capture_output=True, text=True)
    return _LIBRARY.findall(done.stdout)


def _stat(path: str) -> list[object]:
    found = os.stat(path)
    return [os.path.basename(path), found.st_size, found.st_mtime_ns]


def _digest(of: object) -> str:
    return hashlib.sha256(json.dumps(of).encode()).hexdigest()[:16]


def _packed(target: Path, older: str, paths: Iterable[str]) -> None:
    """`PATH` or `NAME=PATH`. Bytes that are the same for the same files."""
    for old in target.parent.glob(older):
        old.unlink()
    part = target.with_suffix(f".{os.getpid()}")
    with tarfile.open(part, "w", format=tarfile.GNU_FORMAT) as archive:
        for each in paths:
            name, _, path = each.rpartition("=") if "=" in each else (each, "", each)
            archive.add(os.path.realpath(path), name.lstrip("/"), filter=_anonymous)
        for name in ("dev", "proc", "tmp", "out", "mnt"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder, io.BytesIO())
    part.rename(target)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = int(entry.mtime)
    return entry
