"""What guards saw: one JSON file each in `STATE/guard/`, written while they watch and kept afterwards."""

from __future__ import annotations

import json
import os
from pathlib import Path

from seekwise.control.process import ProcessIdentity
from seekwise.control.state import SYSTEM_STATE, state_folder
from seekwise.files import write_whole

SCHEMA = "seekwise.guard/1"
SHOWN_MAX = 5


def folder(state: Path | None = None) -> Path:
    return (state or state_folder()) / "guard"


def write(document: dict[str, object], state: Path | None = None) -> Path:
    """Replaces the file of this guard; `document["id"]` names it."""
    place = folder(state)
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"{document['id']}.json"
    write_whole(file, (json.dumps({"schema": SCHEMA, **document}, indent=2) + "\n").encode(), 0o644)
    return file


def read(state: Path | None = None) -> list[dict[str, object]]:
    """The latest guards, the newest last."""
    place = folder(state)
    if state is None and not place.is_dir() and not os.environ.get("SEEKWISE_STATE"):
        place = folder(SYSTEM_STATE)
    found = []
    try:
        files = sorted(place.glob("*.json"))
    except OSError:
        return []
    for file in files[-SHOWN_MAX:]:
        try:
            document = json.loads(file.read_text())
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and document.get("schema") == SCHEMA:
            found.append(document)
    return found


DONE = frozenset({"kept", "rolled back", "failed", "nothing to set"})
"""How a guard ends."""


def is_dead(document: dict[str, object]) -> bool:
    """Whether its process has gone before it decided; what it had set is taken back by the next command, then."""
    process = document.get("process")
    if document.get("outcome") in DONE or not isinstance(process, dict):
        return False
    try:
        return not ProcessIdentity(**process).alive
    except TypeError:
        return False


def sentence(document: dict[str, object]) -> str:
    """`guard of 2026-11-22T10:00:00Z on sda: rolled back: …`."""
    devices = ", ".join(map(str, document.get("devices") or ()))
    outcome = f"{document.get('outcome')}: {document.get('headline')}"
    if is_dead(document):
        outcome = "ended before it could decide; what it had set is taken back"
    return f"guard of {document.get('started_at')} on {devices}: {outcome}"
