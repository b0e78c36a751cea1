"""Sets values until `seekwise revert`.

The same ladder as for a trial (read, journal, write, read back), but the entry stays open: kind `applied`. Where one value
is refused, everything of this call is put back.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seekwise.advise.lines import Lines, shell_lines
from seekwise.control import interrupt, settings
from seekwise.control.journal import Entry, Journal
from seekwise.control.lock import devices_locked


@dataclass(frozen=True)
class Applied:
    """`entry` None: everything was set already. `before`, `seen`: all settings of the devices, as the kernel tells."""

    entry: Entry | None
    wanted: dict[str, dict[str, str]]
    before: dict[str, dict[str, str]]
    seen: dict[str, dict[str, str]]
    lines: Lines


def preview(wanted: settings.Changes, root: Path = Path("/")) -> Applied:
    """What `apply` would do, checked as far as is possible without writing."""
    wanted = settings.normalised(wanted)
    before = {device: settings.read_settings(device, root) for device in wanted}
    settings.check_values(wanted, root)
    return Applied(None, wanted, before, before, shell_lines(wanted, before, root=root))


def apply(wanted: settings.Changes, root: Path = Path("/"), journal: Journal | None = None, **details: str) -> Applied:
    """Sets the values and leaves them; `details` (run, reason) are kept in the journal."""
    journal = journal if journal is not None else Journal()
    wanted = settings.normalised(wanted)
    opened: list[Entry] = []
    with interrupt.stoppable(), interrupt.held(), devices_locked(wanted, root):
        settings.check(wanted, root)
        journal.entries()  # refuses if a newer seekwise left something open
        before = {device: settings.read_settings(device, root) for device in wanted}
        try:
            entry = settings.write_journalled("applied", wanted, root, journal, opened.append, **details)
        except BaseException:
            for unfinished in opened:
                failures = [failure for item in unfinished.items for failure in settings.restore_item(item)]
                if failures:
                    raise settings.could_not_restore(failures) from None
                journal.close(unfinished)
            raise
        seen = {device: settings.read_settings(device, root) for device in wanted}
    return Applied(entry, wanted, before, seen, shell_lines(wanted, before, root=root))
