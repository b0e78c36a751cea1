"""Files of ours on a live machine: written as one, and taken back unless somebody has edited them since.

What they say is decided by `seekwise.settings`; what they were is in the journal (`exact`), so that a killed call can
be taken back, too.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from seekwise import files, invocation
from seekwise.control import exact
from seekwise.control.journal import Entry, Item
from seekwise.errors import MissingError, SeekwiseError, reason


def write_items(entry: Entry) -> None:
    """Writes the files of an entry that is open."""
    for item in entry.items:
        path, before = Path(item["file"]), item["before"] or {}
        try:
            for folder in item["made"]:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, 0o755)
            owner = (before["uid"], before["gid"]) if "bytes" in before else None
            files.write_whole(path, item["written"].encode(), before.get("mode", 0o644), owner=owner)
        except OSError as error:
            if isinstance(error, PermissionError) and os.geteuid() != 0:
                raise MissingError(f"{path} cannot be written without root", invocation.with_sudo()) from error
            raise SeekwiseError(f"{path} cannot be written ({reason(error)})", "nothing was changed") from error


def take_back(item: Item) -> str:
    """Makes one file what it was; what somebody has edited since stays, and is said."""
    path, before = Path(str(item["file"])), item["before"]
    for draft in path.parent.glob(f".{path.name}.*"):
        # What a killed writer had begun.
        if draft.name.rpartition(".")[2].isdecimal():
            draft.unlink(missing_ok=True)
    now = exact.state(path)
    said = f"{path} is as before"
    if exact.same(now, before):
        said += " already"
    elif now is not None and exact.content(now) != str(item["written"]).encode():
        return f"{path} has been edited since: it stays as it is"
    elif before is None:
        path.unlink(missing_ok=True)
        said = f"{path} is removed"
    elif now is None and "bytes" in before and not path.parent.is_dir():
        said = f"{path} has gone with its folder"
    else:
        exact.restore(path, before)
    for folder in reversed(item.get("made", [])):
        try:
            os.rmdir(folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.EBUSY):
                raise  # else somebody uses it by now
    return said
