"""Runs inside the guest: studies on virtual drives under its kernel, as a user would run them, and what is left after each.

The virtual backend needs root, nbd, fio and mdadm, and the guest has them. Not a test by itself; `test_virtual_drives.py` boots it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from seekwise.backend import get
from seekwise.backend.protocol import Options
from seekwise.errors import SeekwiseError
from seekwise.store import codec
from seekwise.study import parse, plan

OUT = Path("/out")


def carry_out(name: str, text: str) -> None:
    """A study from its text to its records, one file each; each run's sentences go to the console."""
    study = parse.loads(text, name)
    backend = get("virtual", Options())
    made = plan.make(study, backend.describe(study))
    backend.check(made)
    with backend.session(made, name, lambda sentence: print(f"{name}: {sentence}", flush=True)) as session:
        for record in session.run(list(made.trials), {}):
            (OUT / f"{name}.{record.trial}.{record.attempt}.json").write_text(json.dumps(codec.to_document(record)))


def left() -> dict:
    """What of a run is still there."""
    arrays = [line for line in Path("/proc/mdstat").read_text().splitlines() if line.startswith("md")]
    return {
        "arrays": arrays,
        "served": [path.parent.name for path in Path("/sys/block").glob("nbd*/pid")],
        "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines() if "seekwise" in line],
        "folders": [path.name for path in Path("/tmp").glob("seekwise-virtual-*")],
        "journal": sorted(path.name for path in Path("/var/lib/seekwise").glob("journal/*.entry")),
        "rotational": Path("/sys/block/nbd0/queue/rotational").read_text().strip(),
        "servers": [pid for pid in os.listdir("/proc") if pid.isdigit() and b"seekwise.cli.main" in _line(pid)],
    }


def _line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def killed_while_measuring(name: str, text: str) -> None:
    """A run that is killed as soon as its array is there and fio is at work; nobody starts seekwise again."""
    child = os.fork()
    if child == 0:
        carry_out(name, text)
        os._exit(0)
    end = time.monotonic() + 120
    while not (b"fio" in b" ".join(map(_line, filter(str.isdigit, os.listdir("/proc")))) and left()["arrays"]):
        if time.monotonic() > end:
            raise SeekwiseError("the run to be killed did not come to its trial")
        time.sleep(0.05)
    time.sleep(0.5)
    (OUT / f"{name}.before.json").write_text(json.dumps(left()))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    # The supervisor notices, kills the server, and has the array stopped.
    end = time.monotonic() + 30
    while any(left()[what] for what in ("arrays", "served", "mounts", "journal")) and time.monotonic() < end:
        time.sleep(0.2)


def main() -> None:
    for name, text in json.loads(Path("/cell/studies.json").read_text()).items():
        if name.startswith("killed"):
            killed_while_measuring(name, text)
        else:
            try:
                carry_out(name, text)
            except SeekwiseError as error:
                (OUT / f"{name}.error").write_text(f"{error.exit_status} {error.message}")
        (OUT / f"{name}.left.json").write_text(json.dumps(left()))


if __name__ == "__main__":
    sys.exit(main())
