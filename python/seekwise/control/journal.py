"""Old values on disk before anything changes.

One file per entry in `STATE/journal/`, written under another name, synced, renamed, and the folder synced: an entry is there
completely or not at all, also after a power cut. It goes away once everything in it is as it was.

    crc32 {"schema": "seekwise.journal/1", "id": …, "kind": …, "pid": …, "start_ticks": …, "boot_id": …, …}
    crc32 {item}            one line per device (or folder, or file)
    crc32 {"items": 2}

A damaged line costs that line only: what is readable is restored, the file is then set aside as `ID.damaged`.

Kinds: `changed` (for the time of a trial), `applied` and `persisted` (until `seekwise revert`), `scratch`, `child`, `virtual`.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from seekwise.control.process import ProcessIdentity, this_process
from seekwise.control.state import state_folder
from seekwise.errors import MissingError, RefusedError

SCHEMA_NAME = "seekwise.journal"
SCHEMA_VERSION = 1
SUFFIX = ".entry"


@dataclass(frozen=True)
class Entry:
    """One journalled change. `damage` says what could not be read of it."""

    id: str
    kind: str
    owner: ProcessIdentity
    started_at: str
    items: tuple[dict, ...]
    details: dict = field(default_factory=dict)
    damage: str | None = None


class Journal:
    """The folder of open entries."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = (folder if folder is not None else state_folder()) / "journal"

    def open(self, kind: str, items: list[dict], **details: object) -> Entry:
        """Writes an entry durably; when this returns, a power cut cannot lose it."""
        owner = this_process()
        entry = Entry(
            id=_new_id(owner.pid),
            kind=kind,
            owner=owner,
            started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            items=tuple(items),
            details=dict(details),
        )
        header = {
            "schema": f"{SCHEMA_NAME}/{SCHEMA_VERSION}",
            "id": entry.id,
            "kind": kind,
            "pid": owner.pid,
            "start_ticks": owner.start_ticks,
            "boot_id": owner.boot_id,
            "started_at": entry.started_at,
            **details,
        }
        text = "".join(_line(item) for item in (header, *items, {"items": len(items)}))
        try:
            self._make_folder()
            write_durably(self._path(entry.id), text)
        except OSError as error:
            raise MissingError(
                f"the journal in {self.folder} cannot be written ({error.strerror})",
                "nothing was changed; SEEKWISE_STATE=FOLDER chooses another place that outlives a restart",
            ) from error
        return entry

    def close(self, entry: Entry) -> None:
        """Everything of the entry is as it was: forget it. A damaged one is kept beside, for a human."""
        path = self._path(entry.id)
        if entry.damage and path.exists():
            os.replace(path, path.with_suffix(".damaged"))
        else:
            path.unlink(missing_ok=True)
        _sync_folder(self.folder)

    def is_open(self, entry: Entry) -> bool:
        return self._path(entry.id).exists()

    def is_empty(self) -> bool:
        """Cheap: one directory read."""
        try:
            return not any(name.endswith(SUFFIX) for name in os.listdir(self.folder))
        except OSError:
            return True

    def entries(self) -> list[Entry]:
        """Open entries, newest first: later changes are undone before earlier ones."""
        try:
            names = sorted((name for name in os.listdir(self.folder) if name.endswith(SUFFIX)), reverse=True)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise MissingError(
                f"the journal in {self.folder} cannot be read ({error.strerror})", "run it with sudo"
            ) from error
        if names and (owner := self.folder.stat().st_uid) not in (0, os.geteuid()):
            # Whoever can write entries decides what is written back.
            raise RefusedError(
                f"the journal in {self.folder} belongs to user {owner}", "remove it, or choose SEEKWISE_STATE"
            )
        found = [read_entry(self.folder / name) for name in names]
        return [entry for entry in found if entry]

    @contextmanager
    def being_restored(self) -> Iterator[None]:
        """One restorer at a time; a second start waits for the first."""
        self._make_folder()
        descriptor = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _path(self, entry_id: str) -> Path:
        return self.folder / f"{entry_id}{SUFFIX}"

    def _make_folder(self) -> None:
        if self.folder.is_dir():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        # A new folder is itself only durable once its parents are synced.
        for parent in (self.folder, self.folder.parent, self.folder.parent.parent):
            _sync_folder(parent)


def read_entry(path: Path) -> Entry | None:
    """One entry as far as it is readable; None if it went away meanwhile. A newer format is refused, not guessed."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MissingError(f"the journal entry {path} cannot be read ({error.strerror})", "run it with sudo") from error
    documents = [_parse(line) for line in lines if line.strip()]
    header = documents[0] if documents else None
    if header is None or "schema" not in header:
        return Entry(
            id=path.name.removesuffix(SUFFIX),
            kind="unreadable",
            owner=ProcessIdentity(0, 0, ""),
            started_at="",
            items=(),
            damage="its first line is damaged",
        )
    name, _, version = str(header["schema"]).rpartition("/")
    if name != SCHEMA_NAME or not version.isdigit() or int(version) > SCHEMA_VERSION:
        raise RefusedError(
            f"the journal entry {path} has the format {header['schema']}, this program knows up to {SCHEMA_NAME}/{SCHEMA_VERSION}",
            "a newer seekwise wrote it: restore with that one (`seekwise revert`)",
        )
    body = documents[1:]
    items = tuple(item for item in body if item is not None and "items" not in item)
    expected = next((item["items"] for item in body if item is not None and "items" in item), None)
    damage = None
    if expected is None:
        damage = "its end is missing"
    if None in body or (expected is not None and len(items) != expected):
        damage = "one of its lines is damaged"
    known = {"schema", "id", "kind", "pid", "start_ticks", "boot_id", "started_at"}
    try:
        return Entry(
            id=path.name.removesuffix(SUFFIX),
            kind=str(header["kind"]),
            owner=ProcessIdentity(int(header["pid"]), int(header["start_ticks"]), str(header["boot_id"])),
            started_at=str(header.get("started_at", "")),
            items=items,
            details={key: value for key, value in header.items() if key not in known},
            damage=damage,
        )
    except (KeyError, TypeError, ValueError):
        return Entry(
            path.name.removesuffix(SUFFIX),
            "unreadable",
            ProcessIdentity(0, 0, ""),
            "",
            (),
            damage="its first line is damaged",
        )


def write_durably(path: Path, text: str, mode: int = 0o644) -> None:
    """The file has the whole text after a power cut, or does not exist (or is as before)."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        data = memoryview(text.encode())
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    except OSError:
        os.close(descriptor)
        draft.unlink(missing_ok=True)
        raise
    os.close(descriptor)
    os.replace(draft, path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _new_id(pid: int) -> str:
    """Sorts by time: entries are undone in the opposite order."""
    now_ns = time.time_ns()
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now_ns // 10**9))
    return f"{stamp}.{now_ns % 10**9:09d}-{pid}-{secrets.token_hex(2)}"


def _line(document: dict) -> str:
    text = json.dumps(document, sort_keys=True, ensure_ascii=True)
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def _parse(line: bytes) -> dict | None:
    checksum, _, text = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        document = json.loads(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
