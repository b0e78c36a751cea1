"""Debian packages by address and checksum, unpacked without dpkg and without root.

A pinned package that the mirror has replaced is looked up by name in the suite's index; the VM testbed then runs, but
not to the same bytes as with the pinned one, and says so. The cache is `$SEEKWISE_LAB`, else `~/.cache/seekwise/lab`.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import re
import subprocess
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from seekwise.errors import MissingError, SeekwiseError
from seekwise.files import make_folders, write_product

TIMEOUT_S = 60
Say = Callable[[str], None]


@dataclass(frozen=True)
class Package:
    path: str
    """Below the mirror: `debian/pool/…` or `debian-security/pool/…`."""
    sha256: str
    suites: tuple[str, ...] = ("debian/dists/bookworm", "debian-security/dists/bookworm-security")
    pattern: str = ""
    """Names of the packages that may stand in for it; by default the package's own."""

    @property
    def name(self) -> str:
        """Of the binary package: what comes before the first `_` of the file name."""
        return self.path.rsplit("/", 1)[1].split("_")[0]

    @property
    def file(self) -> str:
        """With version and architecture: `NAME_VERSION_ARCH.deb`."""
        return self.path.rsplit("/", 1)[1]


def cache() -> Path:
    """Where packages, images and the guest's programs are kept; made when it is asked for."""
    named = os.environ.get("SEEKWISE_LAB")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(named) if named else home / "seekwise" / "lab"
    try:
        make_folders(folder)
    except OSError as error:
        raise SeekwiseError(
            f"the folder of the VM testbed {folder} cannot be made: {error.strerror}",
            hint="name another with SEEKWISE_LAB",
        ) from error
    return folder


def fetch(package: Package, say: Say) -> Path:
    """The package's file, from the cache or from the mirror."""
    folder = cache() / "packages"
    make_folders(folder)
    kept = folder / package.file
    if kept.exists() and _sha256(kept.read_bytes()) == package.sha256:
        return kept
    stands_in = next(iter(sorted(folder.glob(f"{package.name}.instead/*"))), None)
    if stands_in is not None:
        return stands_in
    say(f"fetching {package.file}")
    try:
        data = _get(package.path)
    except FileNotFoundError:
        return _instead(package, folder, say)
    if _sha256(data) != package.sha256:
        raise SeekwiseError(
            f"{_address(package.path)} is not the file it was: its checksum differs", hint="try another mirror"
        )
    return _keep(kept, data)


def _instead(package: Package, folder: Path, say: Say) -> Path:
    """The newest package of the suites that may stand in for one that is gone."""
    wanted = re.compile(package.pattern or re.escape(package.name))
    packages = [
        (_version(fields["Version"]), suite.split("/")[0], fields)
        for suite in package.suites
        for fields in _index(suite)
        if wanted.fullmatch(fields.get("Package", ""))
    ]
    if not packages:
        raise MissingError(
            f"the mirror has neither {package.file} nor a successor", hint="name another one with SEEKWISE_DEBIAN"
        )
    _, archive, fields = max(packages, key=lambda each: each[0])
    data = _get(f"{archive}/{fields['Filename']}")
    if _sha256(data) != fields["SHA256"]:
        raise SeekwiseError(f"{fields['Filename']} does not match the mirror's own index", hint="try again later")
    say(f"{package.file} is no longer offered; {Path(fields['Filename']).name} stands in")
    instead = folder / f"{package.name}.instead"
    make_folders(instead)
    return _keep(instead / Path(fields["Filename"]).name, data)


def _version(text: str) -> tuple[int, ...]:
    """Good enough to find the newest of one package in one suite."""
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _index(suite: str) -> Iterator[dict[str, str]]:
    try:
        text = lzma.decompress(_get(f"{suite}/main/binary-amd64/Packages.xz")).decode()
    except FileNotFoundError:
        return
    for block in text.split("\n\n"):
        yield dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != " ")


def _address(path: str) -> str:
    """Where a file lies: below SEEKWISE_DEBIAN, else where this machine's own apt fetches Debian from."""
    archive, _, rest = path.partition("/")
    named = os.environ.get("SEEKWISE_DEBIAN")
    if named:
        return f"{named}/{path}"
    words = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    try:
        shown = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    except OSError:
        shown = ""
    for each in (line.rstrip("/") for line in shown.splitlines()):
        if each.endswith(f"/{archive}"):
            return f"{each}/{rest}"
    raise MissingError(
        "the VM testbed needs packages of Debian, and this machine's apt knows no mirror of it",
        hint="`apt-get update` first, or name one with SEEKWISE_DEBIAN (https://www.debian.org/mirror/list)",
    )


def _get(path: str) -> bytes:
    address = _address(path)
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer:
            content: bytes = answer.read()
            return content
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise FileNotFoundError(path) from error
        raise MissingError(f"{address} answers {error.code} {error.reason}", hint="try again later") from error
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise MissingError(
            f"the packages of the VM testbed cannot be fetched from {address}: {reason}",
            hint="`make lab` needs the network once; another mirror is named with SEEKWISE_DEBIAN",
        ) from error


def _keep(path: Path, data: bytes) -> Path:
    """Whole or not at all."""
    try:
        write_product(path, data)
    except OSError as error:
        raise SeekwiseError(
            f"{path} cannot be written: {error.strerror}", hint="SEEKWISE_LAB names another folder"
        ) from error
    return path


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def files(deb: Path) -> Iterator[tuple[str, tarfile.TarInfo, Callable[[], bytes]]]:
    """Name, entry and content of everything in a package that is a file or a link."""
    # In memory and not closed: contents are read when they are asked for.
    archive = tarfile.open(fileobj=io.BytesIO(_data(deb)))  # noqa: SIM115
    for entry in archive:
        if entry.isfile() or entry.issym() or entry.islnk():
            yield entry.name.removeprefix("./"), entry, partial(_content, archive, entry)


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    opened = archive.extractfile(entry)
    assert opened is not None
    return opened.read()


def _data(deb: Path) -> bytes:
    """The member `data.tar.*` of a package, which is an `ar` archive: deb(5)."""
    raw = deb.read_bytes()
    at = 8
    while raw[:8] == b"!<arch>\n" and at + 60 <= len(raw):
        name, size = raw[at : at + 16].decode().strip().rstrip("/"), int(raw[at + 48 : at + 58])
        if name.startswith("data.tar"):
            return raw[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    raise SeekwiseError(f"{deb} is not a Debian package", hint=f"remove {deb}, it is fetched again")
