"""The guard's own process: watch, apply, watch on, decide, keep or roll back. Started by `launch`, never by hand.

python -m seekwise.settings.guard.worker ID            does it
python -m seekwise.settings.guard.worker --settle ID   after the process has died: rolls back what it left undecided
"""

from __future__ import annotations

import contextlib
import sys
from dataclasses import asdict
from pathlib import Path

from seekwise.control.journal import Journal
from seekwise.errors import SeekwiseError
from seekwise.linux import failure
from seekwise.linux.stack import read_stack
from seekwise.measure.live import latencies
from seekwise.settings.guard.compare import GuardVerdict, compare
from seekwise.settings.guard.job import carry_out, go_on, keep, main, note, roll_back, set_undecided
from seekwise.settings.guard.watch import Watch
from seekwise.settings.guard_log import GuardDocument

FIRST_S = 2.0
"""The rate of requests in this time decides how many of them are looked at one by one."""
LOOKS = 5
"""How often the period after the change is judged while it lasts; each look has its share of the error."""


def _guard(document: GuardDocument, journal: Journal, root: Path) -> None:
    seconds, devices = document["seconds"], tuple(document["devices"])
    before = Watch(devices, root)
    live = devices if root == Path("/") else ()
    storage = failure.watched(Path("/dev") / devices[0], live, is_device=True)
    note(document, "watching before", f"{seconds / 2:.0f} s of the load as it is")
    go_on(document)
    first_s = min(FIRST_S, seconds / 4)
    before.run(first_s)
    with contextlib.ExitStack() as stack:
        before.sampler = _sampler(document, before, root, stack)
        before.run(seconds / 2 - first_s)
        storage.check()
        _apply_and_decide(document, before, journal, root, storage)


def _sampler(
    document: GuardDocument, before: Watch, root: Path, stack: contextlib.ExitStack
) -> latencies.Sampler | None:
    """Looks at single requests, where the kernel offers block trace events; else the document says why not."""
    if root != Path("/"):
        return None
    try:
        return stack.enter_context(latencies.sampled(before.devices, before.requests_per_s()))
    except (SeekwiseError, OSError) as error:
        document["no_percentiles"] = getattr(error, "message", str(error))
        return None


def _apply_and_decide(
    document: GuardDocument, before: Watch, journal: Journal, root: Path, storage: failure.Watched
) -> None:
    seconds, limit = document["seconds"], document["limit"]
    devices = before.devices
    machine = read_stack(root)
    go_on(document)
    done = set_undecided(document, journal, root, machine, f"guarded: {document['reason']}")
    if done is None:
        return
    after = Watch(devices, root, sampler=before.sampler)
    note(document, "watching after", f"{seconds:.0f} s with the new settings")
    verdict: GuardVerdict | None = None
    for _ in range(LOOKS):
        after.run(seconds / LOOKS)
        storage.check()
        verdict = compare(before.intervals, after.intervals, limit, looks=LOOKS)
        document["comparison"] = asdict(verdict)
        document["requests_watched"] = sum(
            sum((interval.bins or {}).values()) for interval in [*before.intervals, *after.intervals]
        )
        document["seen_s"] = {"before": len(before.intervals), "after": len(after.intervals)}
        note(document, "watching after", verdict.reason)
        if verdict.word == "worse":
            break
    assert verdict is not None
    if verdict.word == "worse":
        roll_back(document, journal)
        headline = verdict.reason
        again = Watch(devices, root, sampler=before.sampler)
        again.run(seconds / 4)
        back = compare(again.intervals, after.intervals, 0.0)
        document["after_rollback"] = asdict(back)
        if back.word == "worse":
            headline += "; it went back with the old settings"
        note(document, "rolled back", headline)
        return
    storage.check("")
    go_on(document)
    keep(document, done, journal, root, machine, verdict.reason)


def guard(document: GuardDocument, root: Path = Path("/")) -> GuardDocument:
    """Does the job; the returned document says how it ended."""
    return carry_out(document, _guard, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], _guard, __doc__))
