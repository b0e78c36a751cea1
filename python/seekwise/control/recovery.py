"""What a killed run left behind is put back.

At the start of every command (cheap: one directory read when there is nothing) and by `seekwise revert`. An entry belongs
to the process that opened it: while that one lives, nobody else touches it. After a reboot the kernel has its own
defaults again and a name may mean another drive, so only what a drive keeps itself is looked at; the rest is closed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from seekwise.control import attributes, child, interrupt, scratch, settings, sysfs, virtual
from seekwise.control.journal import Entry, Journal
from seekwise.control.lock import devices_locked
from seekwise.control.state import SYSTEM_STATE
from seekwise.errors import SeekwiseError, UsageError

UNTIL_REVERTED = frozenset({"applied", "persisted"})
"""Kinds that a user asked for and that stay until `seekwise revert`."""


@dataclass(frozen=True)
class Outcome:
    """What became of one entry. `state`: restored, closed (nothing to restore), busy (its run lives), failed."""

    entry: Entry
    state: str
    sentences: tuple[str, ...]


def at_start(say: Callable[[str], None]) -> None:
    """Restores what dead runs left; `say` gets one sentence per thing done. Never stops the command that starts."""
    try:
        journal = Journal()
        if not journal.is_empty():
            for outcome in restore_left_behind(journal):
                for sentence in outcome.sentences if outcome.state != "busy" else ():
                    say(sentence)
        elif os.geteuid() != 0 and any(_is_left_behind(entry) for entry in Journal(SYSTEM_STATE).entries()):
            say("a killed run left settings changed: `sudo seekwise revert` puts them back")
    except SeekwiseError as error:
        say(f"warning: {error.message}" + (f" ({error.hint})" if error.hint else ""))


def restore_left_behind(journal: Journal) -> list[Outcome]:
    """Entries of dead processes, newest first. Applied settings stay, unless a reboot has undone them."""
    if not any(_is_left_behind(entry) for entry in journal.entries()):
        return []
    with interrupt.stoppable(), interrupt.held(), journal.being_restored():
        return [restore(entry, journal) for entry in journal.entries() if _is_left_behind(entry)]


def revert_all(journal: Journal) -> list[Outcome]:
    """Everything, what was applied on purpose included."""
    if journal.is_empty():
        return []
    with interrupt.stoppable(), interrupt.held(), journal.being_restored():
        return [restore(entry, journal) for entry in journal.entries()]


def _is_left_behind(entry: Entry) -> bool:
    if entry.kind == "persisted":
        return False
    if entry.kind == "applied":
        return not entry.owner.of_this_boot
    return not entry.owner.alive


def restore(entry: Entry, journal: Journal) -> Outcome:
    """Puts one entry back and closes it."""
    if not journal.is_open(entry):
        return Outcome(entry, "closed", ())
    if entry.kind not in UNTIL_REVERTED and entry.owner.alive:
        return Outcome(entry, "busy", (f"process {entry.owner.pid} still runs and will restore its own settings",))
    if entry.kind == "unreadable":
        journal.close(entry)
        where = journal.folder / f"{entry.id}.damaged"
        return Outcome(entry, "failed", (f"a journal entry cannot be read ({entry.damage}): it is kept as {where}",))
    if entry.kind not in _RESTORERS:
        return Outcome(entry, "failed", (f"a journal entry is of the unknown kind {entry.kind}: {entry.id}",))
    try:
        state, sentences = _RESTORERS[entry.kind](entry)
    except SeekwiseError as error:
        return Outcome(entry, "failed", (error.message,))
    if state != "failed":
        if entry.damage:
            sentences.append(
                f"a journal entry was damaged ({entry.damage}): kept as {journal.folder / entry.id}.damaged"
            )
        journal.close(entry)
    return Outcome(entry, state, tuple(sentences))


def _restore_settings(entry: Entry) -> tuple[str, list[str]]:
    failures: list[str] = []
    sentences: list[str] = []
    for item in entry.items:
        device, root = str(item["device"]), Path(str(item["root"]))
        try:
            folder = sysfs.device_folder(device, root)
        except UsageError:
            sentences.append(f"{device} is gone, and its settings with it")
            continue
        only = _still_to_restore(entry, item, folder)
        before = {name: attributes.current(name, folder) for name in item["old"]}
        if only is None or only:
            with devices_locked([device], root):
                failures += settings.restore_item(item, only)
        done = [
            f"{name} {before[name]} → {old}"
            for name, old in item["old"].items()
            if before[name] != old and attributes.current(name, folder) == old
        ]
        if done:
            sentences.append(f"{device} is as before: {', '.join(done)}")
        elif only is not None and entry.kind == "applied":
            sentences.append(f"{device}: what was applied on {entry.started_at} has gone with the restart")
        elif only is not None:
            sentences.append(f"{device} has been set up anew by the kernel since: nothing to put back")
        elif not failures:
            sentences.append(f"{device} was as before already")
    if failures:
        return "failed", [settings.could_not_restore(failures).message]
    return "restored", sentences


def _still_to_restore(entry: Entry, item: dict, folder: Path) -> frozenset[str] | None:
    """None: all of it. Else the names that outlive the kernel's own state, if it is still the same drive."""
    then, now = item["identity"], settings.identity(folder)
    if entry.owner.of_this_boot and then["inode"] == now["inode"]:
        return None
    if then.get("serial") is None or then.get("serial") != now.get("serial"):
        return frozenset()
    return frozenset(name for name in item["old"] if attributes.row(name).survives_boot)


def _end_load(entry: Entry) -> tuple[str, list[str]]:
    sentences = []
    if entry.owner.of_this_boot:
        for item in entry.items:
            if killed := child.kill_marked(str(item["mark"])):
                sentences.append(f"{killed} processes of {item['program']} were still running and have been ended")
    return "restored", sentences


def _remove_scratch(entry: Entry) -> tuple[str, list[str]]:
    return "restored", [scratch.remove_left_behind(item) for item in entry.items]


def _take_back_files(entry: Entry) -> tuple[str, list[str]]:
    from seekwise.advise import persist

    try:
        return "restored", [persist.take_back(item) for item in entry.items]
    except OSError as error:
        raise SeekwiseError(f"{error.filename} cannot be put back ({error.strerror})") from error


def _take_down_virtual(entry: Entry) -> tuple[str, list[str]]:
    if not entry.owner.of_this_boot:
        return "closed", []
    for item in entry.items:
        virtual.take_down(item)
    return "restored", [virtual.describe(item) for item in entry.items]


_RESTORERS: dict[str, Callable[[Entry], tuple[str, list[str]]]] = {
    "changed": _restore_settings,
    "applied": _restore_settings,
    "child": _end_load,
    "scratch": _remove_scratch,
    "persisted": _take_back_files,
    "virtual": _take_down_virtual,
}


def preview(journal: Journal) -> list[Outcome]:
    """What `revert_all` would put back, without doing it."""
    outcomes = []
    for entry in journal.entries():
        alive = entry.kind not in UNTIL_REVERTED and entry.owner.alive
        sentences = [describe(item) for item in entry.items] or [f"journal entry {entry.id}: {entry.damage or 'empty'}"]
        if alive:
            sentences = [f"process {entry.owner.pid} still runs and will do itself: {each}" for each in sentences]
        outcomes.append(Outcome(entry, "busy" if alive else "open", tuple(sentences)))
    return outcomes


def describe(item: dict) -> str:
    """One item of the journal as a sentence."""
    if "members" in item:
        return virtual.describe(item)
    if "old" in item:
        back = ", ".join(f"{name} = {item['old'].get(name, '(kernel default)')}" for name in item.get("asked", {}))
        return f"{item['device']}: {back}"
    if "file" in item:
        return f"{item['file']}: {'removed' if item['before'] is None else 'as it was'}"
    if "mark" in item:
        return f"{item['program']}: ended, if anything of it still runs"
    return f"{item.get('path', item)}: removed"
