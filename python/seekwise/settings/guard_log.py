"""What guards saw: one JSON file each in `STATE/guard/`, written while they watch and kept afterwards."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from seekwise.control.process import ProcessIdentity
from seekwise.control.state import SYSTEM_STATE, state_folder
from seekwise.files import check_private, make_private, read_text, write_whole

GuardDocument = dict[str, Any]
"""A guard as its file has it: devices, what is wanted, its process, how it ended."""
SCHEMA = "seekwise.guard/1"
FOLDER_MODE = 0o755
"""Every user may see what root's guards have done."""
SHOWN_MAX = 5
ENDED = ".ended"
CONFIRMED = ".confirmed"
WAITING = "waiting for confirmation"
"""Outcome of a change that is set and will be undone unless it is confirmed."""


def folder(state: Path | None = None) -> Path:
    """Where guards' documents are kept."""
    return (state or state_folder()) / "guard"


def write(document: GuardDocument, state: Path | None = None) -> Path:
    """Replaces the file of this guard; `document["id"]` names it."""
    place = folder(state)
    make_private(place.parent, FOLDER_MODE)
    make_private(place, FOLDER_MODE)
    check_private(place, FOLDER_MODE)
    file = place / f"{document['id']}.json"
    write_whole(file, (json.dumps({"schema": SCHEMA, **document}, indent=2) + "\n").encode(), 0o644)
    return file


def read(state: Path | None = None) -> list[GuardDocument]:
    """The latest guards, the newest last."""
    place = folder(state)
    if state is None and not place.is_dir() and not os.environ.get("SEEKWISE_STATE"):
        place = folder(SYSTEM_STATE)
    try:
        files = sorted(place.glob("*.json"))
    except OSError:
        return []
    return [document for _, document in _documents(files[-SHOWN_MAX:]) if document.get("schema") == SCHEMA]


def undecided(state: Path | None = None) -> list[GuardDocument]:
    """Every guard that has not said how it ended, the oldest first; its process may be gone."""
    return [
        document
        for file, document in _documents(sorted(folder(state).glob("*.json")))
        if document.get("id") == file.stem and document.get("outcome") not in DONE
    ]


def _documents(files: Sequence[Path]) -> Iterator[tuple[Path, GuardDocument]]:
    """What can be read of them."""
    for file in files:
        try:
            document = json.loads(read_text(file))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            yield file, checked(document)


_VALUES = {"": {"": str}}
_SHAPES: GuardDocument = {
    "id": str, "schema": str, "started_at": str, "ended_at": str, "outcome": str, "headline": str, "until": str,
    "reason": str, "devices": [str], "ways": [str], "entries": [str], "restored": [str], "seconds": int | float,
    "limit": int | float | None, "wanted": _VALUES, "before": _VALUES, "seen": _VALUES, "comparison": {"": object},
    "evidence": {"": object},
}  # fmt: skip
"""What a document's values are: of a list its members', of an object by any name its values'."""


def checked(document: GuardDocument) -> GuardDocument:
    """The document without values of other types than a guard writes: a file may be damaged or edited."""
    process = document.get("process")
    kept = {key: value for key, value in document.items() if key in ("process", "evidence", "comparison") and value is None
            or _fits(value, _SHAPES.get(key, object))}  # fmt: skip
    if process is not None and _identity(process) is None:
        kept.pop("process", None)
    return {"outcome": "unknown", "headline": "", "wanted": {}, **kept}


def _fits(value: object, shape: Any) -> bool:
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(each, shape[0]) for each in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(_fits(each, shape[""]) for each in value.values())
    return isinstance(value, shape)


def _identity(process: object) -> ProcessIdentity | None:
    match process:
        case {"pid": int(pid), "start_ticks": int(start), "boot_id": str(boot)} if 0 < pid < 2**31:
            return ProcessIdentity(pid, start, boot)
    return None


def mark_ended(identity: str, why: str) -> None:
    """From now on this guard sets nothing."""
    write_whole(folder() / f"{identity}{ENDED}", why.encode(), 0o644)


def why_ended(identity: str) -> str:
    """The reason that was given for ending it; empty where none was."""
    try:
        return read_text(folder() / f"{identity}{ENDED}")
    except (OSError, ValueError):
        return ""


def confirm(identity: str, state: Path | None = None) -> None:
    """What this one has set may stay."""
    write_whole(folder(state) / f"{identity}{CONFIRMED}", b"", 0o644)


def is_confirmed(identity: str) -> bool:
    """Whether somebody has confirmed what it has set."""
    return (folder() / f"{identity}{CONFIRMED}").exists()


def waiting(state: Path | None = None) -> list[GuardDocument]:
    """Changes that wait for their confirmation."""
    return [document for document in undecided(state) if document.get("outcome") == WAITING and not is_dead(document)]


def is_marked_ended(identity: str) -> bool:
    """Whether somebody has ended this guard: it then sets nothing any more."""
    return (folder() / f"{identity}{ENDED}").exists()


def process_of(identity: str, state: Path | None = None) -> ProcessIdentity | None:
    """The process of a guard, as it has noted it itself."""
    try:
        return _identity(json.loads(read_text(folder(state) / f"{identity}.json"))["process"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


DONE = frozenset({"kept", "rolled back", "failed", "nothing to set"})
"""How a guard ends."""


def is_dead(document: GuardDocument) -> bool:
    """Whether its process has gone before it decided; what it had set is taken back by the next command, then."""
    process = _identity(document.get("process"))
    return document.get("outcome") not in DONE and process is not None and not process.alive


def sentence(document: GuardDocument) -> str:
    """`guard of 2026-11-22T10:00:00Z on sda: rolled back: …`."""
    devices = ", ".join(map(str, document.get("devices") or ()))
    outcome = f"{document.get('outcome')}: {document.get('headline')}"
    if is_dead(document):
        outcome = "ended before it could decide; what it had set is taken back"
    what = "change to confirm" if "until" in document else "guard"
    return f"{what} of {document.get('started_at')} on {devices}: {outcome}"
