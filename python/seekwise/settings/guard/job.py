"""What a guard and a change that waits for its confirmation have in common: a process of their own that keeps or rolls
back. No statistics.

Everything it knows stands in `STATE/guard/ID.json`, written after each step.
"""

from __future__ import annotations

import json
import secrets
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from seekwise.control import recovery, settings
from seekwise.control.journal import Journal
from seekwise.control.process import this_process
from seekwise.errors import SeekwiseError
from seekwise.linux.block_device import Stack
from seekwise.settings import apply as applying
from seekwise.settings import guard_log, history
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
    try:
        work(document, journal, root)
    except GuardStopped:
        roll_back(document, journal)
        why = guard_log.why_ended(document["id"]) or "it was stopped before it could decide"
        note(document, "rolled back", why)
    except SeekwiseError as error:
        roll_back(document, journal)
        note(document, "failed", error.message)
    except Exception as error:
        # A drive that is gone, a full disk: undecided means back, and the fault is written down.
        roll_back(document, journal)
        note(document, "failed", f"the guard met {type(error).__name__}: {error}")
        raise
    return document


def go_on(document: GuardDocument) -> None:
    """Raises GuardStopped if somebody has ended this one. Our process is noted by now, so he waits until we are
    gone."""
    if guard_log.is_marked_ended(document["id"]):
        raise GuardStopped


def job(identity: str) -> GuardDocument:
    """What it was started with, as JSON. FileNotFoundError where there is no such guard."""
    document: GuardDocument = json.loads((guard_log.folder() / f"{identity}.json").read_text())
    return document


def remember(document: GuardDocument, before: GuardDocument, stack: Stack, files: list[File]) -> None:
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


def roll_back(document: GuardDocument, journal: Journal) -> None:
    """Restores what this guard applied, if it has; the journal's own entries say how, the settings before the files."""
    own = [entry for entry in journal.entries() if entry.id in document.get("entries", ())]
    _restored(document, [recovery.restore(entry, journal, own=entry.alive) for entry in own])


def _restored(document: GuardDocument, outcomes: list[recovery.Outcome]) -> None:
    document["restored"] = [
        *document.get("restored", ()),
        *(text for outcome in outcomes for text in outcome.sentences),
    ]
    if failed := [text for outcome in outcomes if outcome.state == "failed" for text in outcome.sentences]:
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
    roll_back(document, journal)
    # Also what it had set before it could note the names of its entries.
    _restored(document, recovery.restore_left_behind(journal))
    note(document, "rolled back", why)


def note(document: GuardDocument, outcome: str, headline: str) -> None:
    """Writes the document with this outcome."""
    document["outcome"], document["headline"] = outcome, headline
    if outcome in DONE:
        document["ended_at"] = history.now()
    guard_log.write(document)
