"""Writes the files with a list of what was written, and removes exactly that: files, links, and folders that were made for them.

The list is `usr/lib/seekwise/installed.json`. A file that somebody has edited since stays, and is said. What was there before
under the same name is never overwritten.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from seekwise.errors import MissingError, RefusedError, SeekwiseError
from seekwise.files import write_whole

OURS = "usr/lib/seekwise"
LIST = f"{OURS}/installed.json"
SCHEMA = "seekwise.installed/1"


@dataclass(frozen=True)
class InstallPlan:
    """`files`: {path below the root: text}; `links`: {path: target}."""

    files: dict[str, str]
    links: dict[str, str]


def check(planned: InstallPlan, root: Path = Path("/")) -> None:
    """Refuses to overwrite what is not ours, or what somebody has made his own since. Changes nothing."""
    old = read_list(root) or {"files": {}, "links": {}}
    for path in [*planned.files, *planned.links]:
        place = root / path
        if not (place.exists() or place.is_symlink()):
            continue
        if path not in old["files"] and path not in old["links"]:
            raise RefusedError(
                f"/{path} is there already and is not ours", "move it away, or uninstall what put it there"
            )
        if not _as_written(place, path, old):
            raise RefusedError(f"/{path} has been edited since it was installed", "move it away, then install again")


def install(planned: InstallPlan, root: Path = Path("/")) -> list[str]:
    """Writes everything; an older installation of ours is replaced. Returns the paths."""
    check(planned, root)
    if read_list(root):
        uninstall(root)
    paths = [*planned.files, *planned.links]
    document = {
        "schema": SCHEMA,
        "files": {path: _checksum(text.encode()) for path, text in planned.files.items()},
        "links": dict(planned.links),
        "folders": list(dict.fromkeys(each for path in [LIST, *paths] for each in _missing_folders(path, root))),
    }
    try:
        # First the list: after a power cut `uninstall` knows what may be there.
        _make_folders([each for each in document["folders"] if LIST.startswith(each)], root)
        write_whole(root / LIST, (json.dumps(document, indent=2) + "\n").encode(), 0o644)
        _make_folders([each for each in document["folders"] if not LIST.startswith(each)], root)
        for path, text in planned.files.items():
            write_whole(root / path, text.encode(), 0o644)
        for path, target in planned.links.items():
            (root / path).symlink_to(target)
    except OSError as error:
        if isinstance(error, PermissionError) and os.geteuid() != 0:
            raise MissingError(f"{error.filename} cannot be written without root", "run it with sudo") from error
        raise SeekwiseError(f"{error.filename} cannot be written ({error.strerror})") from error
    return paths


def uninstall(root: Path = Path("/")) -> list[str]:
    """Removes what `install` wrote; one sentence for everything that is not simply gone."""
    document = read_list(root)
    if document is None:
        return ["nothing is installed"]
    said = []
    try:
        for path in document["links"]:
            place = root / path
            if _as_written(place, path, document):
                place.unlink()
            elif place.exists() or place.is_symlink():
                said.append(f"/{path} has been changed since: it stays")
        for path in document["files"]:
            place = root / path
            _remove_drafts(place)
            if _as_written(place, path, document):
                place.unlink()
            elif place.exists() or place.is_symlink():
                said.append(f"/{path} has been edited since: it stays")
        _remove_folders([each for each in document["folders"] if not LIST.startswith(each)], root)
        # Last the list: until then a second `uninstall` ends what a power cut has interrupted.
        _remove_drafts(root / LIST)
        (root / LIST).unlink(missing_ok=True)
        _remove_folders([*(each for each in document["folders"] if LIST.startswith(each)), OURS], root)
    except OSError as error:
        if isinstance(error, PermissionError) and os.geteuid() != 0:
            raise MissingError(f"{error.filename} cannot be removed without root", "run it with sudo") from error
        raise SeekwiseError(f"{error.filename} cannot be removed ({error.strerror})") from error
    return said


def read_list(root: Path) -> dict | None:
    """What was installed, by the list that `system install` left; None where nothing was. SeekwiseError for a list that is no list."""
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


def _as_written(place: Path, path: str, document: dict) -> bool:
    """Whether a file or a link is what the list says that we wrote. OSError where it cannot be read."""
    if path in document["links"]:
        return place.is_symlink() and os.readlink(place) == document["links"][path]
    return place.is_file() and _checksum(place.read_bytes()) == document["files"][path]


def _missing_folders(path: str, root: Path) -> list[str]:
    """Folders that have to be made for a path, the outermost first."""
    above = [str(each) for each in Path(path).parents if each != Path()]
    return [each for each in reversed(above) if not (root / each).is_dir()]


def _make_folders(folders: list[str], root: Path) -> None:
    for folder in folders:
        (root / folder).mkdir()
        # Whatever the umask of the shell: man and completions are for every user.
        (root / folder).chmod(0o755)


def _remove_folders(folders: list[str], root: Path) -> None:
    """Those that are empty, the innermost first."""
    for folder in sorted(folders, key=len, reverse=True):
        place = root / folder
        if place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def _remove_drafts(place: Path) -> None:
    """What a writer that was killed had begun."""
    for draft in place.parent.glob(f".{glob.escape(place.name)}.*"):
        if draft.name.rpartition(".")[2].isdecimal():
            draft.unlink(missing_ok=True)


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
