"""A tree from which Python starts: the interpreter with all that importing these libraries loads, copied from the one
that runs.

Copied is what an interpreter really opened while it imported them, each file under the same place below a prefix of its
own. So the tree holds nothing that a start does not touch.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from seekwise.control import child
from seekwise.errors import SeekwiseError
from seekwise.workload.program import synced

IMPORTS = (
    "numpy, numpy.polynomial, numpy.testing, pydantic.dataclasses, rich.console, rich.live, rich.progress, rich.table"
    ", jinja2, json, logging, argparse, xml.etree.ElementTree, http.client, sqlite3"
)
"""430 files, 95 MB, 0.65 s of processor time, as NumPy with SciPy (460 files, 130 MB) with which the rest was measured:
starts in 0.3 to 0.5 s from memory here, beside a copy in one or two seconds. A quarter and a half of these
modules were tried, for more rounds in the same time: bfq then took 0.47 and 0.46 of mq-deadline's time beside a copy,
where all of them take 0.84 and LibreOffice 0.7 to 0.9 (virtio disk): a short start lives in the first moments of bfq's
weight-raising. Up to 28 November 2026 the list named SciPy, which the product no longer installs: figures of the use `start` that were
recorded with it are of a start a third larger, and not comparable with those since."""
COMPILED = 60
"""Modules that it compiles anew, as a program works on its own configuration and documents when it starts: computing is
then more than half of a start from a quiet device, as it is of LibreOffice's. Seen without it beside copies: settings
differed twice as much as they did for LibreOffice."""
PROGRAM = (
    f"import sys; sys.path.append(sys.argv[1]); import {IMPORTS}"
    "; names = sorted({each.__file__ for each in list(sys.modules.values()) if str(getattr(each, '__file__', '')).endswith('.py')})"
    f"; [compile(open(name, encoding='utf-8').read(), name, 'exec') for name in names[:{COMPILED}]]"
)
LISTING = (
    PROGRAM
    + "; import json; files = [getattr(each, '__file__', None) for each in list(sys.modules.values())]"
    + "; maps = [line.split(None, 5)[5].rstrip() for line in open('/proc/self/maps') if line.count('/') > 0]"
    + "; print(json.dumps([each for each in files if each] + [each for each in maps if each[0] == '/']))"
)
START_TIMEOUT_S = 120.0
SYSTEM = ("/lib/", "/lib64/", "/usr/lib/x86_64", "/usr/lib/aarch64", "/etc/", "/dev/", "/memfd:")
"""Libraries that every program of the machine shares: they are in memory whatever starts."""


def command(tree: Path) -> list[str]:
    """Starts the copied interpreter. Isolated: nothing of the user's is read."""
    return [str(tree / "bin/python3"), "-I", "-S", "-B", "-c", PROGRAM, str(tree / "site")]


def environment(tree: Path) -> dict[str, str]:
    """Variables for a copied Python: its own libraries, one thread of OpenBLAS."""
    return {"LD_LIBRARY_PATH": str(tree / "lib"), "OPENBLAS_NUM_THREADS": "1", "LC_ALL": "C.UTF-8", "PATH": os.defpath}


def files(tree: Path) -> list[str]:
    """Every file of a copied Python, sorted."""
    return sorted(str(Path(folder) / name) for folder, _, names in os.walk(tree) for name in names)


def build(folder: Path) -> int:
    """Copies the tree into a folder and starts it once; its bytes. Raises SeekwiseError when it does not start from
    there."""
    site = Path(sysconfig.get_paths()["platlib"])
    numpy = Path(str(__import__("numpy").__file__)).parent.parent
    listing = _started([os.path.realpath(sys.executable), "-I", "-S", "-B", "-c", LISTING, str(numpy)], None)
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    # Where the interpreter looks for its modules, from its own place on (CPython's Modules/getpath.py): lib, or lib64
    # on some distributions.
    library = f"{sys.platlibdir}/python{sys.version_info.major}.{sys.version_info.minor}"
    _copy(Path(os.path.realpath(sys.executable)), folder / "bin/python3")
    for name in dict.fromkeys(json.loads(listing)):
        path = Path(name)
        real = Path(os.path.realpath(name))
        for base, place in ((numpy, "site"), (site, "site"), (stdlib, library)):
            if path.is_relative_to(base):
                _copy(path, folder / place / path.relative_to(base))
                break
        else:
            if ".so" in path.name and not name.startswith(SYSTEM):
                _copy(real, folder / "lib" / path.name)
    for needed in ("os.py", "encodings/__init__.py"):
        _copy(stdlib / needed, folder / library / needed)
    (folder / library / "lib-dynload").mkdir(parents=True, exist_ok=True)
    # Writes the compiled modules: an installed program has them.
    _started([word for word in command(folder) if word != "-B"], environment(folder))
    synced(folder)
    return sum(os.path.getsize(name) for name in files(folder))


def _copy(source: Path, target: Path) -> None:
    if not target.exists() and source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755)


def _started(argv: list[str], env: dict[str, str] | None) -> str:
    try:
        done = child.run(argv, timeout_s=START_TIMEOUT_S, env=env)
    except SeekwiseError as error:
        raise SeekwiseError(f"Python does not start from a copy on the target: {error.message}", _HINT) from error
    if done.returncode:
        said = " ".join(done.stderr.split())[-200:]
        raise SeekwiseError(f"Python does not start from a copy on the target: {said}", _HINT)
    return done.stdout


_HINT = "programs cannot run from this file system (is it mounted with noexec?): choose uses that start none with --for"
