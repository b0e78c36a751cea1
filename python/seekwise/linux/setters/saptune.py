"""saptune of SUSE Linux Enterprise for SAP: `[block]` sections of the notes that are applied (saptune-note(5)).

    [block]
    IO_SCHEDULER=none, mq-deadline, noop
    NRREQ=1024
    READ_AHEAD_KB=1024

Of several schedulers the first that a device offers is set. A note's file in /etc/saptune/override replaces single
values; an empty one leaves the setting alone. Which notes are applied stands in /etc/sysconfig/saptune.
"""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading, is_enabled
from seekwise.linux.setters.sysconfig import on_disks

CONFIGURATION = "/etc/sysconfig/saptune"
NOTES = ("/etc/saptune/extra", "/var/lib/saptune/working/notes", "/usr/share/saptune/notes")
OVERRIDES = "/etc/saptune/override"
ATTRIBUTES = {
    "IO_SCHEDULER": "queue/scheduler", "NRREQ": "queue/nr_requests", "READ_AHEAD_KB": "queue/read_ahead_kb", "MAX_SECTORS_KB": "queue/max_sectors_kb",
}  # fmt: skip
NOTES_MAX = 100


def read(reading: Reading) -> Iterator[Setter]:
    """What the applied notes set on each disk."""
    starts = is_enabled(reading.tree, "saptune.service")
    for order, note in enumerate(_applied(reading)[:NOTES_MAX]):
        values = _block(reading, _file(reading, note)) | _block(reading, f"{OVERRIDES}/{note}")
        for key, (value, file, line) in values.items():
            for name, word in on_disks(reading, ATTRIBUTES[key], value):
                rank = (assignment.TUNED, order, file, line)
                yield Setter("saptune", file, line, name, ATTRIBUTES[key], word, rank, certain=starts)


def _applied(reading: Reading) -> list[str]:
    notes: dict[str, str] = {}
    for _, line in reading.lines(CONFIGURATION):
        key, sign, value = line.partition("=")
        if sign:
            notes[key.strip()] = value.strip().strip("\"'")
    return (notes.get("NOTE_APPLY_ORDER") or notes.get("TUNE_FOR_NOTES") or "").split()


def _file(reading: Reading, note: str) -> str:
    for folder in NOTES:
        for name in (note, f"{note}.conf"):
            if reading.tree.exists(f"{folder}/{name}"):
                return f"{folder}/{name}"
    return f"{NOTES[-1]}/{note}"


def _block(reading: Reading, file: str) -> dict[str, tuple[str, str, int]]:
    values = {}
    inside = False
    for number, line in reading.lines(file):
        line = line.strip()
        if line.startswith("["):
            inside = line == "[block]"
            continue
        key, sign, value = line.partition("=")
        if inside and sign and key.strip() in ATTRIBUTES:
            values[key.strip()] = (value.strip().strip("\"'"), file, number)
    return values
