"""The guard's own process: watch, apply, watch on, decide, keep or roll back. Started by `launch`, never by hand.

    python -m seekwise.settings.guard.worker ID            does it
    python -m seekwise.settings.guard.worker --settle ID   after the process has died: rolls back what it left undecided

Everything it knows stands in `STATE/guard/ID.json`, written after each step.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from seekwise.control import recovery
from seekwise.control.journal import Journal
from seekwise.control.process import this_process
from seekwise.errors import SeekwiseError
from seekwise.linux.block_device import Stack
from seekwise.linux.stack import read_stack
from seekwise.measure.live import latencies
from seekwise.settings import apply as applying
from seekwise.settings import guard_log, history, persist
from seekwise.settings.guard.compare import GuardVerdict, compare
from seekwise.settings.guard.watch import Watch

FIRST_S = 2.0
"""The rate of requests in this time decides how many of them are looked at one by one."""
LOOKS = 5
"""How often the period after the change is judged while it lasts; each look has its share of the error."""

DONE = guard_log.DONE


class GuardStopped(Exception):
    """Somebody ended the guard: it goes back to what was."""


ENDED = "ended by `seekwise revert` before it could decide"


def main(words: list[str]) -> int:
    """Exit status of the guard: of watching to the end, or with `--settle` of what is left when its process died."""
    if len(words) == 2 and words[0] == "--settle":
        settle(words[1])
        return 0
    if len(words) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    # A closed terminal is no reason to stop watching.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    document = job(words[0])
    if not guard_log.is_marked_ended(words[0]):
        guard(document)
    return 0


def _stop(*_: object) -> None:
    raise GuardStopped


def job(identity: str) -> dict:
    """What the guard was started with, as JSON. FileNotFoundError where there is no such guard."""
    return json.loads((guard_log.folder() / f"{identity}.json").read_text())


def guard(document: dict, root: Path = Path("/")) -> dict:
    """Does the job; the returned document says how it ended."""
    journal = Journal()
    document["process"] = asdict(this_process())
    try:
        _guard(document, journal, root)
    except GuardStopped:
        _roll_back(document, journal)
        is_reverted = guard_log.is_marked_ended(document["id"])
        _note(document, "rolled back", ENDED if is_reverted else "the guard was stopped before it could decide")
    except SeekwiseError as error:
        _roll_back(document, journal)
        _note(document, "failed", error.message)
    except Exception as error:
        # A drive that is gone, a full disk: undecided means back, and the fault is written down.
        _roll_back(document, journal)
        _note(document, "failed", f"the guard met {type(error).__name__}: {error}")
        raise
    return document


def _guard(document: dict, journal: Journal, root: Path) -> None:
    seconds, devices = document["seconds"], tuple(document["devices"])
    before = Watch(devices, root)
    _note(document, "watching before", f"{seconds / 2:.0f} s of the load as it is")
    _go_on(document)
    first_s = min(FIRST_S, seconds / 4)
    before.run(first_s)
    with contextlib.ExitStack() as stack:
        before.sampler = _sampler(document, before, root, stack)
        before.run(seconds / 2 - first_s)
        _apply_and_decide(document, before, journal, root)


def _go_on(document: dict) -> None:
    """Raises Stopped if `revert` has ended this guard. Our process is noted by now, so it waits until we are gone."""
    if guard_log.is_marked_ended(document["id"]):
        raise GuardStopped


def _sampler(document: dict, before: Watch, root: Path, stack: contextlib.ExitStack) -> latencies.Sampler | None:
    """Looks at single requests, where the kernel offers block trace events; else the document says why not."""
    if root != Path("/"):
        return None
    try:
        return stack.enter_context(latencies.sampled(before.devices, before.requests_per_s()))
    except (SeekwiseError, OSError) as error:
        document["no_percentiles"] = getattr(error, "message", str(error))
        return None


def _apply_and_decide(document: dict, before: Watch, journal: Journal, root: Path) -> None:
    seconds, limit, wanted = document["seconds"], document["limit"], document["wanted"]
    devices = before.devices
    machine = read_stack(root)
    _go_on(document)
    files = [persist.file_for(way, wanted, machine) for way in document["ways"]]
    done = applying.apply(wanted, root, journal, files, undecided=True, reason=f"guarded: {document['reason']}")
    if done.entry is None:
        if done.written is not None:
            _remember(document, done.before, machine, files)
        _note(document, "nothing to set", "everything was set already")
        return
    document["entries"] = [done.entry.id, *([done.written.id] if done.written else [])]
    document["before"] = done.before
    after = Watch(devices, root, sampler=before.sampler)
    _note(document, "watching after", f"{seconds:.0f} s with the new settings")
    found: GuardVerdict | None = None
    for look in range(LOOKS):
        after.run(seconds / LOOKS)
        found = compare(before.intervals, after.intervals, limit, looks=LOOKS, seed=look)
        document["comparison"] = asdict(found)
        document["requests_watched"] = sum(
            sum((each.bins or {}).values()) for each in [*before.intervals, *after.intervals]
        )
        document["seen_s"] = {"before": len(before.intervals), "after": len(after.intervals)}
        _note(document, "watching after", found.reason)
        if found.word == "worse":
            break
    assert found is not None
    if found.word == "worse":
        _roll_back(document, journal)
        headline = found.reason
        again = Watch(devices, root, sampler=before.sampler)
        again.run(seconds / 4)
        back = compare(again.intervals, after.intervals, 0.0)
        document["after_rollback"] = asdict(back)
        if back.word == "worse":
            headline += "; it went back with the old settings"
        _note(document, "rolled back", headline)
        return
    files = [persist.file_for(way, wanted, machine) for way in document["ways"]]
    _go_on(document)
    applying.decide(done, journal, files, root)
    _remember(document, done.before, machine, files)
    _note(document, "kept", found.reason)


def _remember(document: dict, before: dict, stack: Stack, files: list[persist.File]) -> None:
    evidence = document.get("evidence")
    history.remember(
        history.made(
            document["wanted"],
            before,
            stack,
            reason=document["reason"],
            persisted=tuple(str(file.path) for file in files),
            evidence=history.Evidence(**evidence) if evidence else None,
            guard={"id": document["id"], "word": document.get("comparison", {}).get("word", document["outcome"])},
        )
    )


def _roll_back(document: dict, journal: Journal) -> None:
    """Restores what this guard applied, if it has; the journal's own entries say how, the settings before the files."""
    own = [entry for entry in journal.entries() if entry.id in document.get("entries", ())]
    _restored(document, [recovery.restore(entry, journal, own=entry.alive) for entry in own])


def _restored(document: dict, outcomes: list[recovery.Outcome]) -> None:
    document["restored"] = [*document.get("restored", ()), *(text for each in outcomes for text in each.sentences)]
    if failed := [text for each in outcomes if each.state == "failed" for text in each.sentences]:
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
        _note(document, "kept", "the guard ended just after it had decided to keep the settings")
        return
    _roll_back(document, journal)
    # Also what it had set before it could note the names of its entries.
    _restored(document, recovery.restore_left_behind(journal))
    _note(document, "rolled back", why)


def _note(document: dict, outcome: str, headline: str) -> None:
    document["outcome"], document["headline"] = outcome, headline
    if outcome in DONE:
        document["ended_at"] = history.now()
    guard_log.write(document)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
