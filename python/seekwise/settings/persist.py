"""Values that outlive a reboot: one small file of ours per way, never an edit of somebody else's.

What is written is a form (`seekwise.settings.forms`). What an earlier call wrote stays (`merge`). Each file is
journalled before it is written, with everything that it was (`exact`), and
taken back by `seekwise revert`, unless somebody has edited it since (`control.persisted`). `apply.apply` writes files
and settings as one.

Not done: the boot parameter `elevator=` of kernels before 5.0 where the boot loader reads no file beside its own; it is
only said.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seekwise import invocation
from seekwise.control import exact
from seekwise.control.journal import Entry, Item, Journal
from seekwise.control.settings import Changes, normalised
from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.linux.block_device import Stack
from seekwise.settings import merge
from seekwise.settings.forms import PERSISTENT, File

# Neither quotes nor what a reader would take for a pattern, a variable or a new line.
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:+/=@#-]*")


def file_for(way: str, wanted: Changes, stack: Stack) -> File:
    """The file of a way with what `wanted` says and what it says already of other devices and settings. Changes
    nothing."""
    values = normalised(wanted)
    for device, settings in values.items():
        for name, value in settings.items():
            if not _PLAIN.fullmatch(value) or not _PLAIN.fullmatch(device):
                raise UsageError(f"{device} {name} = {value!r} cannot be written to a configuration file")
    file = PERSISTENT[way](values, stack)
    there = exact.text(stack.root / file.path.relative_to("/"))
    return replace(file, text=merge.WAYS[way](there, file.text) if there else file.text, merged_with=there)


def open_entry(files: Sequence[File], journal: Journal, root: Path = Path("/")) -> Entry | None:
    """Journals what is there, unless it is so already; `pending` until somebody says that it is done."""
    items = items_for(files, root)
    return journal.open("persisted", items, pending=True) if items else None


def items_for(files: Sequence[File], root: Path = Path("/")) -> list[Item]:
    """Looks whether the files can be written; what the journal keeps of each that is not so already."""
    items = []
    for file in files:
        path = root / file.path.relative_to("/")
        before = exact.state(path)
        if exact.content(before) == file.text.encode():
            continue
        if file.merged_with and root == Path("/") and exact.text(path) != file.merged_with:
            raise SeekwiseError(f"{path} has just been changed by somebody else", "try again")
        missing = _missing_folders(path)
        above = (missing[0] if missing else path).parent
        if not os.access(above, os.W_OK | os.X_OK):
            if os.geteuid() != 0:
                raise MissingError(f"{path} cannot be written without root", invocation.with_sudo())
            raise SeekwiseError(f"{path} cannot be written: {above} is read-only", "nothing was changed")
        items.append({"file": str(path), "before": before, "written": file.text, "made": list(map(str, missing))})
    return items


def _missing_folders(path: Path) -> list[Path]:
    """Folders that have to be made for a file, the outermost first."""
    return [parent for parent in reversed(path.parents) if not os.path.lexists(parent)]
