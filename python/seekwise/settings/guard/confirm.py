"""`apply --confirm`: sets the values, and goes back unless somebody confirms them in time. Its own process, started by
`launch`.

    python -m seekwise.settings.guard.confirm ID            does it
    python -m seekwise.settings.guard.confirm --settle ID   after the process has died: rolls back what it left undecided

The journal's entries are pending until the confirmation, and files that keep values over a restart are written only
then. So what ends this process, a kill or a restart of the machine, ends in what was before.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from seekwise.control.journal import Journal
from seekwise.linux.stack import read_stack
from seekwise.settings import apply as applying
from seekwise.settings import guard_log, persist
from seekwise.settings.guard.job import LOOK_S, go_on, main, note, remember, roll_back
from seekwise.settings.guard_log import GuardDocument


def work(document: GuardDocument, journal: Journal, root: Path) -> None:
    """Applies, waits, and keeps or rolls back."""
    machine = read_stack(root)
    note(document, "starting", "")
    go_on(document)
    files = [persist.file_for(way, document["wanted"], machine) for way in document["ways"]]
    done = applying.apply(document["wanted"], root, journal, files, undecided=True, reason=document["reason"])
    if done.entry is None:
        if done.written is not None:
            remember(document, done.before, machine, files)
        note(document, "nothing to set", "everything was set already")
        return
    document["entries"] = [done.entry.id, *([done.written.id] if done.written else [])]
    document["before"], document["seen"] = done.before, done.seen
    # A machine that sleeps meanwhile does not get more time.
    end_s = time.clock_gettime(time.CLOCK_BOOTTIME) + document["seconds"]
    document["until"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + document["seconds"]))
    note(document, guard_log.WAITING, f"undone at {document['until']} unless it is confirmed")
    while not guard_log.is_confirmed(document["id"]):
        go_on(document)
        left_s = end_s - time.clock_gettime(time.CLOCK_BOOTTIME)
        if left_s <= 0:
            roll_back(document, journal)
            note(document, "rolled back", "it was not confirmed in time")
            return
        time.sleep(min(LOOK_S, left_s))
    files = [persist.file_for(way, document["wanted"], machine) for way in document["ways"]]
    applying.decide(done, journal, files, root)
    remember(document, done.before, machine, files)
    note(document, "kept", "confirmed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], work, __doc__))
