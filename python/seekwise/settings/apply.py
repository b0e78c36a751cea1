"""Sets values until `seekwise revert`.

The same ladder as for a trial (read, journal, write, read back), but the entry stays open: kind `applied`. Where one
value is refused, or one file cannot be written, everything of this call is restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seekwise.control import attributes, interrupt, notice, persisted, settings, sysfs
from seekwise.control.journal import Entry, Journal
from seekwise.control.lines import ShellLines, shell_lines
from seekwise.control.lock import devices_locked
from seekwise.settings import persist
from seekwise.settings.forms import File


@dataclass(frozen=True)
class Applied:
    """`entry` None: everything was set already. `before`, `seen`: all settings of the devices, as the kernel tells.

    `written`: the entry of the files; of `apply(undecided=True)` the one that decides, and its files are still to be
    written.
    """

    entry: Entry | None
    wanted: dict[str, dict[str, str]]
    before: dict[str, dict[str, str]]
    seen: dict[str, dict[str, str]]
    lines: ShellLines
    written: Entry | None = None

    def moved(self, device: str) -> tuple[str, ...]:
        """Names of settings that the kernel moved although it was not asked to; the tunables of a scheduler come and go with
        it."""
        before, seen, wanted = self.before[device], self.seen[device], self.wanted[device]
        switched = before.get("queue/scheduler") != seen.get("queue/scheduler")
        return tuple(
            name
            for name in sorted(before.keys() | seen.keys(), key=attributes.order)
            if name not in wanted
            and before.get(name) != seen.get(name)
            and not (switched and name.startswith(attributes.IOSCHED))
        )


def preview(wanted: settings.Changes, root: Path = Path("/")) -> Applied:
    """What `apply` would do, checked as far as is possible without writing."""
    wanted = settings.normalised(wanted)
    # What is in force while another run has the device is not what was set.
    with devices_locked(wanted, root):
        Journal().check(wanted, root)
        before = {device: settings.read_settings(device, root) for device in wanted}
    settings.check_values(wanted, root)
    return Applied(None, wanted, before, before, shell_lines(wanted, before, root=root))


def apply(
    wanted: settings.Changes,
    root: Path = Path("/"),
    journal: Journal | None = None,
    files: Sequence[File] = (),
    undecided: bool = False,
    **details: str,
) -> Applied:
    """Sets the values and leaves them, and writes `files`: all of it or nothing. `details` (run, reason) stay in the
    journal.

    Until the last step both entries are pending: whatever ends us before, an error or a kill, everything is taken back.
    `undecided` leaves that step to the caller (`decide`), and the writing of the files: should it die before, the next
    start of any command takes everything back. Settings that are so already leave nothing to decide.
    """
    journal = journal if journal is not None else Journal()
    wanted = settings.normalised(wanted)
    undo = _Undo(journal)
    with interrupt.stoppable(), interrupt.held(), devices_locked(wanted, root):
        settings.check(wanted, root)
        journal.check(wanted, root)
        before = {device: attributes.remembered(sysfs.device_folder(device, root)) for device in wanted}
        try:
            written = persist.open_entry(files, journal, root) if files else None
            undo.remember(written)
            decided_by = written.id if written is not None else True
            entry = settings.write_journalled(
                "applied", wanted, root, journal, undo.remember, pending=decided_by, **details
            )
            if written is not None and not undecided:
                persisted.write_items(written)
            if entry is not None:
                entry = journal.update(entry, settings.left_by(entry.items))
            seen = {device: attributes.remembered(sysfs.device_folder(device, root)) for device in wanted}
            done = Applied(entry, wanted, before, seen, shell_lines(wanted, before, root=root), written)
            if undecided and entry is not None:
                return done
            # The last step: from here on all of it stays.
            if written is not None:
                if undecided:
                    persisted.write_items(written)
                journal.update(written, pending=None)
            elif entry is not None:
                done = replace(done, entry=journal.update(entry, pending=None))
        except BaseException:
            undo.everything()
            raise
    return done


def decide(done: Applied, journal: Journal, files: Sequence[File] = (), root: Path = Path("/")) -> None:
    """From here on what was applied undecided stays, and `files` with it: one step for both.

    `files` are those that `apply` was given, made anew if need be: what somebody has written to them meanwhile is kept.
    """
    entry, written = done.entry, done.written
    assert entry is not None
    if written is None:
        journal.update(entry, pending=None)
        return
    written = journal.update(written, persist.items_for(files, root))
    persisted.write_items(written)
    journal.update(written, pending=None)


class _Undo:
    """Takes back what was begun, newest first."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.entries: list[Entry] = []

    def remember(self, entry: Entry | None) -> None:
        self.entries += [entry] if entry is not None else []

    def everything(self) -> None:
        for entry in reversed(self.entries):
            for item in reversed(entry.items):
                if "file" in item:
                    persisted.take_back(item)
            settings.restore_own(item for item in reversed(entry.items) if "file" not in item)
            notice.warn(self.journal.close(entry))
