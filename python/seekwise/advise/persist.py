"""Values that outlive a reboot: one small file of ours per way, never an edit of somebody else's.

What is written is a form (`seekwise.advise.forms`); here it is journalled (what was there before, if anything), written, and taken
back by `seekwise revert`, unless somebody has edited it since.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from seekwise.advise.forms import PERSISTENT as WAYS
from seekwise.advise.forms import File
from seekwise.control import interrupt
from seekwise.control.journal import Entry, Journal, write_durably
from seekwise.control.settings import Changes, normalised
from seekwise.errors import MissingError, SeekwiseError
from seekwise.linux.model import Stack


def file_for(way: str, wanted: Changes, stack: Stack) -> File:
    return WAYS[way](normalised(wanted), stack)


def write(files: list[File], journal: Journal | None = None, root: Path = Path("/")) -> Entry | None:
    """Writes the files, journalled; None if all of them were there already."""
    journal = journal if journal is not None else Journal()
    items = []
    for file in files:
        path = root / file.path.relative_to("/")
        before = _text(path)
        if before != file.text:
            items.append({"file": str(path), "before": before, "written": file.text})
    if not items:
        return None
    with interrupt.stoppable(), interrupt.held():
        entry = journal.open("persisted", items)
        try:
            for item in items:
                path = Path(item["file"])
                path.parent.mkdir(parents=True, exist_ok=True)
                write_durably(path, item["written"])
        except OSError as error:
            for item in items:
                take_back(item)
            journal.close(entry)
            if isinstance(error, PermissionError) and os.geteuid() != 0:
                raise MissingError(
                    f"{error.filename or path} cannot be written without root", "run it with sudo"
                ) from error
            raise SeekwiseError(f"{path} cannot be written ({error.strerror})") from error
    return entry


def take_back(item: Mapping[str, object]) -> str:
    """Puts one file back as it was; what somebody has edited since stays, and is said."""
    path, before = Path(str(item["file"])), item["before"]
    now = _text(path)
    if now == before:
        return f"{path} is as before already"
    if now is not None and now != item["written"]:
        return f"{path} has been edited since: it stays as it is"
    if before is None:
        path.unlink(missing_ok=True)
        return f"{path} is removed"
    write_durably(path, str(before))
    return f"{path} is as before"


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None
