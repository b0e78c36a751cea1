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
from seekwise.settings import guard_log
from seekwise.settings.guard.job import LOOK_S, go_on, keep, main, note, roll_back, set_undecided
from seekwise.settings.guard_log import GuardDocument


def work(document: GuardDocument, journal: Journal, root: Path) -> None:
    """Applies, waits, and keeps or rolls back."""
    machine = read_stack(root)
    note(document, "starting", "")
    go_on(document)
    done = set_undecided(document, journal, root, machine, document["reason"])
    if done is None:
        return
    document["seen"] = done.seen
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
    keep(document, done, journal, root, machine, "confirmed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], work, __doc__))
