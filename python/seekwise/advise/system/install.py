"""Writes the files with a list of what was written, and removes exactly that: files, links, and folders that were made for them.

The list is `usr/lib/seekwise/installed.json`. A file that somebody has edited since stays, and is said. What was there before
under the same name is never overwritten.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from seekwise.control.files import write_whole
from seekwise.errors import MissingError, RefusedError, SeekwiseError

LIST = "usr/lib/seekwise/installed.json"
SCHEMA = "seekwise.installed/1"


@dataclass(frozen=True)
class Planned:
    """`files`: {path below the root: text}; `links`: {path: target}."""

    files: dict[str, str]
    links: dict[str, str]


def install(planned: Planned, root: Path = Path("/")) -> list[str]:
    """Writes everything; an older installation of ours is replaced. Returns the paths."""
    old = read_list(root)
    known = set(old["files"]) | set(old["links"]) if old else set()
    for path in [*planned.files, *planned.links]:
        place = root / path
        if path not in known and (place.exists() or place.is_symlink()):
            raise RefusedError(
                f"/{path} is there already and is not ours", "move it away, or uninstall what put it there"
            )
    if old:
        uninstall(root)
    made: list[str] = []
    document = {"schema": SCHEMA, "files": {}, "links": dict(planned.links), "folders": made}
    document["files"] = {path: _checksum(text.encode()) for path, text in planned.files.items()}
    try:
        for path in [LIST, *planned.files, *planned.links]:
            _make_folders((root / path).parent, root, made)
        # First the list: after a power cut `uninstall` knows what may be there.
        write_whole(root / LIST, (json.dumps(document, indent=2) + "\n").encode(), 0o644)
        for path, text in planned.files.items():
            write_whole(root / path, text.encode(), 0o644)
        for path, target in planned.links.items():
            (root / path).symlink_to(target)
    except OSError as error:
        if isinstance(error, PermissionError) and os.geteuid() != 0:
            raise MissingError(f"{error.filename} cannot be written without root", "run it with sudo") from error
        raise SeekwiseError(f"{error.filename} cannot be written ({error.strerror})") from error
    return [*planned.files, *planned.links]


def uninstall(root: Path = Path("/")) -> list[str]:
    """Removes what `install` wrote; one sentence for everything that is not simply gone."""
    document = read_list(root)
    if document is None:
        return ["nothing is installed"]
    said = []
    try:
        for path, target in document["links"].items():
            place = root / path
            if place.is_symlink() and os.readlink(place) == target:
                place.unlink()
            elif place.exists() or place.is_symlink():
                said.append(f"/{path} has been changed since: it stays")
        for path, checksum in document["files"].items():
            place = root / path
            try:
                content = place.read_bytes()
            except FileNotFoundError:
                continue
            if _checksum(content) == checksum:
                place.unlink()
            else:
                said.append(f"/{path} has been edited since: it stays")
        (root / LIST).unlink(missing_ok=True)
        for folder in sorted(document["folders"], key=len, reverse=True):
            place = root / folder
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()
    except OSError as error:
        if isinstance(error, PermissionError) and os.geteuid() != 0:
            raise MissingError(f"{error.filename} cannot be removed without root", "run it with sudo") from error
        raise SeekwiseError(f"{error.filename} cannot be removed ({error.strerror})") from error
    return said


def read_list(root: Path) -> dict | None:
    try:
        document = json.loads((root / LIST).read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SeekwiseError(
            f"/{LIST} cannot be read: {error}", "it lists what is installed; restore it from a backup"
        ) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise RefusedError(
            f"/{LIST} has a format that this program does not know", "uninstall with the seekwise that wrote it"
        )
    return document


def _make_folders(folder: Path, root: Path, made: list[str]) -> None:
    missing = []
    while folder != root and not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir()
        made.append(str(each.relative_to(root)))


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
