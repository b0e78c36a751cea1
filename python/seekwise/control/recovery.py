"""What a killed run left behind is restored.

At the start of every command (cheap: a few directory reads when there is nothing) and by `seekwise revert`. An entry
belongs to the process that opened it: while that process lives, no other touches it. After a reboot the kernel has its
own defaults again and a name may mean another drive, so only what a drive keeps itself is looked at; the rest is
closed. Where files set the values again at each start, the entry stays open with its file, and `revert` restores both.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from seekwise import temporary
from seekwise.control import attributes, child, interrupt, persisted, scratch, settings, sysfs, tracefs
from seekwise.control.journal import Entry, Item, Journal
from seekwise.control.lock import DeviceBusy, devices_locked
from seekwise.control.state import SUFFIX
from seekwise.errors import SeekwiseError, UsageError, reason

UNTIL_REVERTED = frozenset({"applied", "persisted"})
"""Kinds that a user asked for and that stay until `seekwise revert`."""

UNUSABLE = frozenset({"unreadable", "newer", "untrusted"})


@dataclass(frozen=True)
class Outcome:
    """What became of one entry. `state`: restored, closed (nothing to restore), busy (its run lives or is elsewhere,
    another has the device, or a later change stands on it), failed."""

    entry: Entry
    state: str
    sentences: tuple[str, ...]


def at_start(say: Callable[[str], None]) -> None:
    """Restores what dead runs left; `say` gets one sentence per thing done. Never stops the command that starts.

    Silent about a journal of another user: nothing in it can be restored by this one, and each command would say so.
    """
    try:
        temporary.remove_left_behind()
        if os.geteuid() == 0:
            # Only root mounts it.
            tracefs.remove_left_behind()
        journal = Journal()
        if not journal.is_ours():
            return
        journal.remove_drafts()
        if not journal.is_empty():
            for outcome in restore_left_behind(journal):
                for sentence in outcome.sentences if outcome.state != "busy" else ():
                    say(sentence)
    except SeekwiseError as error:
        say(f"warning: {error.message}" + (f" ({error.hint})" if error.hint else ""))
    except OSError as error:
        say(f"warning: the journal cannot be looked at ({error.strerror})")


def restore_left_behind(journal: Journal) -> list[Outcome]:
    """Entries of dead processes, newest first. Applied settings stay, unless a reboot has undone them."""
    if not _left_behind(journal):
        return []
    with interrupt.stoppable(), interrupt.held(), journal.being_restored():
        return _restore_all(_left_behind(journal), journal)


def revert_all(journal: Journal) -> list[Outcome]:
    """Everything, what was applied on purpose included."""
    if journal.is_empty():
        return []
    with interrupt.stoppable(), interrupt.held(), journal.being_restored():
        entries = journal.entries()
        marker = _decided(entries, journal)
        return _restore_all(entries, journal, marker)


def _decided(entries: list[Entry], journal: Journal) -> Entry | None:
    """Writes down what will be reverted before anything of it is: if we are killed half-way, the next start ends it.

    What a half-way restored device shows could not be told from what somebody else has set. None: nothing needs it, or
    the journal cannot be written; then it is restored all the same.
    """
    if any(entry.kind == "reverting" for entry in entries):
        return None  # one that was begun says it already
    items = []
    ahead: dict[str, dict[str, str]] = {}
    for entry in entries:
        if entry.elsewhere:
            continue
        decided = entry.kind in UNTIL_REVERTED and not journal.is_pending(entry)
        names = {}
        for item in entry.items:
            with contextlib.suppress(SeekwiseError, KeyError, TypeError, ValueError, AttributeError):
                if "old" in item:
                    names[str(item["device"])] = _names_of(item, ahead, settled=decided)
        if decided:
            items.append({"entry": entry.id, "names": names})
    try:
        return journal.open("reverting", items) if items else None
    except SeekwiseError:
        return None


def _names_of(item: Item, ahead: dict[str, dict[str, str]], *, settled: bool) -> list[str]:
    """Names to restore of one device. `ahead`: its values once the newer entries are restored, which come first."""
    device, old = str(item["device"]), dict(item["old"])
    if device not in ahead:
        root = Path(str(item["root"]))
        with devices_locked([device], root):
            ahead[device] = attributes.remembered(sysfs.device_folder(device, root))
    now = ahead[device]
    names = _ours(item, {name: now.get(name) for name in old}, settled=settled)[0]
    if "queue/scheduler" in names and old["queue/scheduler"] != now.get("queue/scheduler"):
        now = {name: text for name, text in now.items() if not name.startswith(attributes.IOSCHED)}
    ahead[device] = {**now, **{name: old[name] for name in names}}
    return sorted(names)


def _now(item: Item, folder: Path) -> dict[str, str | None]:
    """Values of one device as they are now. One that cannot be read is an error: it is not one that somebody else has
    set."""
    return {
        name: attributes.value(name, sysfs.read_or_raise(attributes.path(name, folder), "it stays as it is"))
        for name in item["old"]
    }


def _restore_all(entries: list[Entry], journal: Journal, marker: Entry | None = None) -> list[Outcome]:
    """Each entry stands alone; only one that decides about another (`pending`) waits until that one is restored."""
    outcomes: list[Outcome] = []
    waiting: set[str] = set()
    markers = [entry for entry in entries if entry.kind == "reverting" and not entry.held]
    markers += [marker] if marker else []
    names = {
        item["entry"]: item["names"]
        for marking in markers
        for item in marking.items
        if isinstance(item.get("names"), dict) and isinstance(item.get("entry"), str)
    }
    for entry in (opened for opened in entries if opened.kind != "reverting"):
        if entry.id in waiting:
            sentence = "files that belong to settings which could not be restored stay with them"
            outcomes.append(Outcome(entry, "failed", (sentence,)))
            continue
        outcome = restore(entry, journal, names.get(entry.id))
        if outcome.state in ("failed", "busy") and isinstance(entry.details.get("pending"), str):
            waiting.add(str(entry.details["pending"]))
        outcomes.append(outcome)
    unfinished = {outcome.entry.id for outcome in outcomes if outcome.state in ("failed", "busy")}
    for marking in markers:
        if not unfinished & {item.get("entry") for item in marking.items}:
            journal.close(marking)
    return outcomes


def _left_behind(journal: Journal) -> list[Entry]:
    """Entries to restore at a start, newest first: of dead runs, and those that a killed `revert` was restoring."""
    entries = journal.entries()
    begun = {
        item.get("entry")
        for entry in entries
        if entry.kind == "reverting" and not entry.alive and not entry.elsewhere
        for item in entry.items
    }
    return [entry for entry in entries if entry.id in begun or _is_left_behind(entry, journal)]


def _is_left_behind(entry: Entry, journal: Journal) -> bool:
    if entry.kind in UNUSABLE:
        return not entry.held
    if entry.elsewhere:
        return False
    if entry.kind in UNTIL_REVERTED and not journal.is_pending(entry):
        return entry.kind == "applied" and not entry.owner.of_this_boot and not journal.is_kept_by_files(entry)
    return not entry.alive


def restore(entry: Entry, journal: Journal, names: Item | None = None, *, own: bool = False) -> Outcome:
    """Restores one entry and closes it. Whatever is wrong with it is said, and never keeps another one from being
    restored.

    `own`: the caller is the process that opened the entry, so no other process is changing it.
    """
    if not journal.is_open(entry):
        return Outcome(entry, "closed", ())
    if entry.kind in UNUSABLE:
        return _unusable(entry, journal)
    if entry.elsewhere:
        return Outcome(
            entry, "busy", (f"what {entry.machine.split()[-1]} has changed is left to that machine: {entry.id}",)
        )
    if not own and entry.alive and (entry.kind not in UNTIL_REVERTED or journal.is_pending(entry)):
        return Outcome(entry, "busy", (f"process {entry.owner.pid} still runs and will restore its own settings",))
    if entry.kind not in _RESTORERS:
        return Outcome(entry, "failed", (f"a journal entry is of the unknown kind {entry.kind}: {entry.id}",))
    if above := journal.above(entry):
        # Restored first, it would take the value that the later one captured for the user's.
        targets = ", ".join(sorted(name for name, _ in entry.targets & above.targets))
        return Outcome(entry, "busy", (f"{targets}: what was changed later ({above.id}) is undone first",))
    try:
        if "old" in (entry.items[0] if entry.items else {}) and (names is not None or own):
            state, sentences = _restore_settings(entry, journal, names, own=own)
        else:
            state, sentences = _RESTORERS[entry.kind](entry, journal)
    except DeviceBusy as error:
        return Outcome(entry, "busy", (error.message,))
    except SeekwiseError as error:
        return Outcome(entry, "failed", (error.message,))
    except OSError as error:
        return Outcome(entry, "failed", (f"{entry.id} cannot be restored ({error})",))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return Outcome(entry, "failed", (f"the journal entry {entry.id} lacks or garbles {error}",))
    if state != "failed":
        if entry.damage:
            state = "failed"
            kept = journal.folder / f"{entry.id}.damaged"
            sentences.append(
                f"a journal entry was damaged ({entry.damage}), so something may not be as before: kept as {kept}"
            )
        if problem := journal.close(entry):
            sentences.append(problem)
    return Outcome(entry, state, tuple(sentences))


def _unusable(entry: Entry, journal: Journal) -> Outcome:
    path = journal.folder / f"{entry.id}{SUFFIX}"
    if entry.held:
        return Outcome(entry, "busy", (f"{path} is in use by another process",))
    if entry.kind == "newer":
        sentence = f"{path} {entry.damage}: a newer seekwise wrote it, restore with that one"
    elif entry.kind == "untrusted":
        sentence = f"{path} {entry.damage}: it is no entry of seekwise and is ignored; look at it, and remove it"
    else:
        kept = journal.folder / f"{entry.id}.damaged"
        problem = journal.close(entry)
        sentence = problem or f"a journal entry cannot be read ({entry.damage}): it is kept as {kept}"
    return Outcome(entry, "failed", (sentence,))


def _restore_settings(
    entry: Entry, journal: Journal, names: Item | None = None, *, own: bool = False
) -> tuple[str, list[str]]:
    # The process that opened the entry knows that it was written completely and that no part of it has been restored.
    pending = journal.is_pending(entry) and not own
    failures: list[str] = []
    sentences: list[str] = []
    for item in entry.items:
        chosen = (names or {}).get(str(item["device"]))
        decided = None if chosen is None else frozenset(chosen)
        done, failed = _restore_device(entry, item, pending, decided, journal.is_kept_by_files(entry))
        sentences += done
        failures += failed
    if failures:
        return "failed", [settings.could_not_restore(failures).message, *sentences]
    return "restored", sentences


def _restore_device(
    entry: Entry, item: Item, pending: bool, decided: frozenset[str] | None, kept: bool
) -> tuple[list[str], list[str]]:
    """What was done to one device, and what could not be done, as sentences. `decided`: the names to restore, if that
    is known.

    `kept`: files set the values again at each start.
    """
    device, root = str(item["device"]), Path(str(item["root"]))
    try:
        folder = sysfs.device_folder(device, root)
    except UsageError:
        return [f"{device} is gone, and its settings with it"], []
    # A process that still waits for the drive keeps its lock, and reading might wait as well.
    with devices_locked([device], root):
        return _restore_locked(entry, item, folder, pending, decided, kept)


def _restore_locked(
    entry: Entry, item: Item, folder: Path, pending: bool, decided: frozenset[str] | None, kept: bool
) -> tuple[list[str], list[str]]:
    device = str(item["device"])
    outlived = _still_to_restore(entry, item, folder, kept)
    before = _now(item, folder)
    only, foreign = _ours(item, before, settled=entry.kind == "applied" and not pending)
    only = only if decided is None else decided & set(item["old"])
    only = only if outlived is None else only & outlived
    failures: list[str] = []
    if only and (failures := settings.restore_item(item, only)) and sysfs.waits(folder):
        return [], failures
    back = {
        name: f"{name} {before[name] or 'absent'} → {old}"
        for name, old in item["old"].items()
        if name in only and before[name] != old and attributes.current(name, folder) == old
    }
    # A scheduler brings its tunables along.
    done = [
        text for name, text in back.items() if not ("queue/scheduler" in back and name.startswith(attributes.IOSCHED))
    ]
    sentences = []
    if done:
        sentences.append(f"{device} restored: {', '.join(done)}")
    elif settings.has_another_file(item["identity"], settings.identity(folder)):
        file = item["identity"]["file"]
        sentences.append(f"{device} has another file than {file} since: its settings stay as they are")
    elif outlived is not None and entry.kind == "applied":
        sentences.append(f"{device}: what was applied on {entry.started_at} has gone with the restart")
    elif outlived is not None:
        sentences.append(f"{device} has been set up anew by the kernel since: nothing to restore")
    elif not failures and not foreign:
        sentences.append(f"{device} had its previous settings already")
    if foreign and outlived is None:
        sentences.append(f"{device}: {'; '.join(foreign)}")
    return sentences, failures


def _ours(item: Item, now: dict[str, str | None], *, settled: bool) -> tuple[frozenset[str], list[str]]:
    """The names to restore, and sentences about what somebody else has set since and what therefore stays.

    `settled`: the values after our writes are in the journal (`left`), and only what still has them is ours to restore.
    """
    old, left = dict(item["old"]), item.get("left") if settled else None
    mine = settings.touched(item, left)
    if left is None:
        others = [f"{name} is {now[name]} and was {old[name]}: not asked for, so it stays" for name in old
                  if name not in mine and now[name] is not None and now[name] != old[name]]  # fmt: skip
        return mine, others
    scheduler = "queue/scheduler"
    switches_back = scheduler in mine and now[scheduler] == left.get(scheduler) != old[scheduler]
    restored, foreign = set(), []
    for name in mine:
        if name.startswith(attributes.IOSCHED) and switches_back:
            restored.add(name)
        elif name.startswith(attributes.IOSCHED) and now.get(scheduler) != old.get(scheduler):
            continue  # a tunable of a scheduler that does not come back
        elif now[name] in (left.get(name), old[name]):
            restored.add(name)
        else:
            foreign.append(f"{name} has been set to {now[name]} since: it stays")
    return frozenset(restored), sorted(foreign)


def _still_to_restore(entry: Entry, item: Item, folder: Path, kept: bool) -> frozenset[str] | None:
    """None: all of it. Else the names that outlive the kernel's own state, if it is still the same drive."""
    then, now = item["identity"], settings.identity(folder)
    if settings.has_another_file(then, now):
        return frozenset()
    if entry.owner.of_this_boot and then["inode"] == now["inode"]:
        return None
    # Where a drive has no serial, the files name it as we do.
    if then.get("serial") != now.get("serial") or (then.get("serial") is None and not kept):
        return frozenset()
    if kept:
        return None
    return frozenset(name for name in item["old"] if attributes.row(name).survives_boot)


def _end_load(entry: Entry, _: Journal) -> tuple[str, list[str]]:
    sentences = []
    if entry.owner.of_this_boot:
        for item in entry.items:
            if killed := child.kill_marked(str(item["mark"])):
                sentences.append(f"{killed} processes of {item['program']} were still running and have been ended")
    return "restored", sentences


def _remove_scratch(entry: Entry, _: Journal) -> tuple[str, list[str]]:
    same_boot = entry.owner.of_this_boot
    return "restored", [scratch.remove_left_behind(item, same_boot=same_boot) for item in entry.items]


def _take_back_files(entry: Entry, _: Journal) -> tuple[str, list[str]]:
    try:
        return "restored", [persisted.take_back(item) for item in reversed(entry.items)]
    except OSError as error:
        raise SeekwiseError(f"{error.filename} cannot be restored ({reason(error)})") from error


_RESTORERS: dict[str, Callable[[Entry, Journal], tuple[str, list[str]]]] = {
    "changed": _restore_settings,
    "applied": _restore_settings,
    "child": _end_load,
    "scratch": _remove_scratch,
    "persisted": _take_back_files,
}


def preview(journal: Journal) -> list[Outcome]:
    """What `revert_all` would restore, without doing it."""
    outcomes = []
    for entry in journal.entries():
        alive = entry.alive and (entry.kind not in UNTIL_REVERTED or journal.is_pending(entry))
        sentences = [_described(item) for item in entry.items]
        if entry.damage or not sentences:
            sentences.append(f"journal entry {entry.id}: {entry.damage or 'empty'}")
        if entry.elsewhere:
            alive, sentences = True, [f"left to {entry.machine.split()[-1]}: {sentence}" for sentence in sentences]
        elif alive:
            sentences = [
                f"process {entry.owner.pid} still runs and will do itself: {sentence}" for sentence in sentences
            ]
        state = "busy" if alive else "failed" if entry.damage else "open"
        outcomes.append(Outcome(entry, state, tuple(sentences)))
    return outcomes


def _described(item: Item) -> str:
    try:
        return describe(item)
    except (KeyError, TypeError, ValueError, AttributeError):
        return "an item that lacks something"


def describe(item: Item) -> str:
    """One item of the journal as a sentence."""
    if "old" in item:
        names = [name for name in item["old"] if name in settings.touched(item, item.get("left"))
                 and (name in item["asked"] or item.get("left", {}).get(name) != item["old"][name])]  # fmt: skip
        names += [name for name in item["asked"] if name not in item["old"]]
        back = ", ".join(f"{name} = {item['old'].get(name, '(kernel default)')}" for name in names)
        return f"{item['device']}: {back}"
    if "file" in item:
        return f"{item['file']}: {'removed' if item['before'] is None else 'as it was'}"
    if "mark" in item:
        return f"{item['program']}: ended, if anything of it still runs"
    return f"{item.get('path', item)}: removed"
