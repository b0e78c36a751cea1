"""Restores at boot what a crash left, while the root file system may still be read-only.

Restoring needs a folder that can be written, for its lock and to close what is done; so a copy of the journal in /run
is worked off. The journal itself is closed by the next seekwise that runs, which finds everything as it should be.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from seekwise.control import recovery
from seekwise.control.journal import Journal
from seekwise.control.state import state_folder

COPY = Path("/run/seekwise-restore")


def restore(copy: Path = COPY) -> list[str]:
    """One sentence per thing that was restored."""
    journal = Journal()
    if journal.is_empty():
        return []
    if not os.access(state_folder(), os.W_OK) or _read_only(state_folder()):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(journal.folder, copy / "journal")
        journal = Journal(copy)
    try:
        return [sentence for outcome in recovery.restore_left_behind(journal) for sentence in outcome.sentences]
    finally:
        if journal.folder.is_relative_to(copy):
            shutil.rmtree(copy, ignore_errors=True)


def _read_only(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
