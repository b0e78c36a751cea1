"""What a guard and a change that waits for its confirmation have in common: a process of their own that keeps or rolls
back. No statistics.

Everything it knows stands in `STATE/guard/ID.json`, written after each step.
"""

from __future__ import annotations

import json
import math
import secrets
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from seekwise.control import kernel_faults, recovery, settings
from seekwise.control.journal import ACCEPTED, Journal
from seekwise.control.lock import users_kept_out
from seekwise.control.process import this_process
from seekwise.errors import RefusedError, SeekwiseError, reason
from seekwise.files import read_text
from seekwise.linux.block_device import Stack
from seekwise.settings import apply as applying
from seekwise.settings import guard_log, history, persist
from seekwise.settings.forms import File
from seekwise.settings.guard_log import GuardDocument

if TYPE_CHECKING:
    from seekwise.settings.asked import Asked

DONE = guard_log.DONE


class GuardStopped(Exception):
    """Somebody ended it: it goes back to what was."""


Work = Callable[[GuardDocument, Journal, Path], None]


def check(what: Asked) -> None:
    """Raises what setting the values would be refused with."""
    applying.preview(what.wanted)
    settings.check(what.wanted)


def begun(what: Asked, ways: tuple[str, ...], seconds: float, limit: float | None = None) -> str:
    """Writes down what is asked, once it is known that it can be set; the identity of the job."""
    check(what)
    identity = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"
    guard_log.write({
        "id": identity,
        "started_at": history.now(),
        "devices": list(what.wanted),
        "wanted": what.wanted,
        "ways": list(ways),
        "seconds": seconds,
        "limit": limit,
        "reason": what.reason,
        "evidence": what.evidence and asdict(what.evidence),
        ACCEPTED: sorted(kernel_faults.accepted),
        "outcome": "starting",
        "headline": "",
        **({} if limit is not None else {"until": ""}),
    })  # fmt: skip
    return identity


def main(words: list[str], work: Work, usage: str | None) -> int:
    """Exit status of the process: of the work to its end, or with `--settle` of what is left when that process died."""
    if len(words) == 2 and words[0] == "--settle":
        settle(words[1])
        return 0
    if len(words) != 1:
        print(usage, file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    # A closed terminal is no reason to stop watching.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    document = job(words[0])
    if not guard_log.is_marked_ended(words[0]):
        carry_out(document, work, Path("/"))
    return 0


def _stop(*_: object) -> None:
    raise GuardStopped


def carry_out(document: GuardDocument, work: Work, root: Path) -> GuardDocument:
    """Does the work; undecided means back. The returned document says how it ended."""
    journal = Journal()
    document["process"] = asdict(this_process())
    kernel_faults.accept(document.get(ACCEPTED, ()))
    try:
        with users_kept_out(document["wanted"], root):
            work(document, journal, root)
    except GuardStopped:
        roll_back(document, journal)
        why = guard_log.why_ended(document["id"]) or "it was stopped before it could decide"
        note(document, "rolled back", why)
    except SeekwiseError as error:
        roll_back(document, journal)
        document["refused"] = isinstance(error, RefusedError)
        note(document, "failed", error.message)
    except Exception as error:
        # A drive that is gone, a full disk: undecided means back, and the fault is written down.
        roll_back(document, journal)
        note(document, "failed", f"the guard met {type(error).__name__}: {error}")
        raise
    return document


def failure(document: GuardDocument) -> SeekwiseError:
    """The error that a failed one ended with, for the command that waits."""
    return (RefusedError if document.get("refused") else SeekwiseError)(str(document["headline"]))


def go_on(document: GuardDocument) -> None:
    """Raises GuardStopped if somebody has ended this one. Our process is noted by now, so he waits until we are
    gone."""
    if guard_log.is_marked_ended(document["id"]):
        raise GuardStopped


def job(identity: str) -> GuardDocument:
    """What it was started with, as JSON. FileNotFoundError where there is no such guard."""
    path = guard_log.folder() / f"{identity}.json"
    try:
        document = json.loads(read_text(path))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise SeekwiseError(
            f"{path} cannot be read ({reason(error)})", "`seekwise revert` undoes what was set"
        ) from error
    return guard_log.checked(document if isinstance(document, dict) else {})


def set_undecided(
    document: GuardDocument, journal: Journal, root: Path, machine: Stack, reason: str
) -> applying.Applied | None:
    """Sets what is wanted, to be kept or rolled back later; None, with the outcome noted, where nothing changed."""
    files = _files(document, machine)
    done = applying.apply(document["wanted"], root, journal, files, undecided=True, reason=reason)
    if done.entry is None:
        if done.written is not None:
            _remember(document, done.before, machine, files)
        note(document, "nothing to set", "everything was set already")
        return None
    document["entries"] = [done.entry.id, *([done.written.id] if done.written else [])]
    document["before"] = done.before
    return done


def keep(
    document: GuardDocument, done: applying.Applied, journal: Journal, root: Path, machine: Stack, why: str
) -> None:
    """What was set stays, and is written to the files that keep it over a restart."""
    files = _files(document, machine)
    applying.decide(done, journal, files, root)
    _remember(document, done.before, machine, files)
    note(document, "kept", why)


def _files(document: GuardDocument, machine: Stack) -> list[File]:
    return [persist.file_for(way, document["wanted"], machine) for way in document["ways"]]


def _remember(document: GuardDocument, before: GuardDocument, stack: Stack, files: list[File]) -> None:
    """Writes into the history what stays."""
    evidence = document.get("evidence")
    history.remember(
        history.application_of(
            document["wanted"],
            before,
            stack,
            reason=document["reason"],
            persisted=tuple(str(file.path) for file in files),
            evidence=history.Evidence(**evidence) if evidence else None,
            guard={"id": document["id"], "word": document.get("comparison", {}).get("word", document["outcome"])},
        )
    )


LOOK_S = 0.1
BUSY_S = 30.0
"""So long others wait for a device to become free; the process that has set the values does so until it is."""


def roll_back(document: GuardDocument, journal: Journal, patience_s: float = math.inf) -> None:
    """Restores what this guard applied, if it has; the journal's own entries say how, the settings before the files.

    While another process has the device, or what was set later still stands on it, it is tried again.
    """
    until = time.monotonic() + patience_s
    while True:
        own = [entry for entry in journal.entries() if entry.id in document.get("entries", ())]
        done = [recovery.restore(entry, journal, own=entry.alive) for entry in own]
        busy = [text for outcome in done if outcome.state == "busy" for text in outcome.sentences]
        if not busy or time.monotonic() >= until:
            break
        _restored(document, [outcome for outcome in done if outcome.state != "busy"])
        if busy[0] != document["headline"]:
            note(document, GOING_BACK, busy[0])
        time.sleep(LOOK_S)
    _restored(document, done)


GOING_BACK = "going back"
"""Outcome of a change that will be undone as soon as its device is free."""


def _restored(document: GuardDocument, outcomes: list[recovery.Outcome]) -> None:
    document["restored"] = [
        *document.get("restored", ()),
        *(text for outcome in outcomes for text in outcome.sentences),
    ]
    if failed := [text for outcome in outcomes if outcome.state in ("failed", "busy") for text in outcome.sentences]:
        raise SeekwiseError("; ".join(failed), "`seekwise revert` tries again")


def settle(identity: str, why: str = "the guard ended before it could decide") -> None:
    """For systemd's ExecStopPost, `revert` and the command that waits: a guard that died undecided is rolled back."""
    document = job(identity)
    if document.get("outcome") in DONE:
        return
    journal = Journal()
    own = [entry for entry in journal.entries() if entry.id in document.get("entries", ())]
    if own and not any(journal.is_pending(entry) for entry in own):
        # It had decided, and died before it could say so.
        note(document, "kept", "the guard ended just after it had decided to keep the settings")
        return
    roll_back(document, journal, BUSY_S)
    # Also what it had set before it could note the names of its entries.
    _restored(document, recovery.restore_left_behind(journal))
    note(document, "rolled back", why)


def note(document: GuardDocument, outcome: str, headline: str) -> None:
    """Writes the document with this outcome."""
    document["outcome"], document["headline"] = outcome, headline
    if outcome in DONE:
        document["ended_at"] = history.now()
    guard_log.write(document)
