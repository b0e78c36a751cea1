"""Old values on disk before anything changes.

One file per entry in `STATE/journal/`, written under another name, synced, renamed, and the folder synced: an entry is
there completely or not at all, also after a power cut. It goes away once everything in it is as it was.

    crc32 {"schema": "seekwise.journal/1", "id": …, "kind": …, "pid": …, "start_ticks": …, "boot_id": …, "machine": …, …}
    crc32 {item}            one line per device (or folder, or file)
    crc32 {"items": 2}

- **Whose it is.** A process that opens an entry holds a `flock` on its file for as long as it lives. The lock is seen from
  every PID namespace and through a shared home, where a pid means nothing. An entry of another machine is left to that
  one.
- **Who may write it.** An entry decides what root writes back, so folder and files must belong to us (or root) alone:
  modes 0700 and 0600 whatever the umask, and what others could have made or changed is refused.
- **Damage.** Each entry stands alone: a damaged line costs that line only, a file that is no entry or of a newer format
  costs nothing else. What is readable is restored, the damaged file is set aside as `ID.damaged`, and that counts as a
  failure.

Kinds: `changed` (for the time of a trial), `applied` and `persisted` (until `seekwise revert`; `pending` until the
whole of it is done), `scratch`, `child`, `virtual` (of earlier releases: drives on nbd devices of this machine), and
`reverting` (what a `revert` has begun to restore). Of what cannot be used: `unreadable`, `newer`, `untrusted`.
"""

from __future__ import annotations

import calendar
import contextlib
import fcntl
import json
import os
import secrets
import stat
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seekwise import files, invocation
from seekwise.control import kernel_faults
from seekwise.control.process import ProcessIdentity, machine, pid_namespace, this_process
from seekwise.control.state import JOURNAL, SUFFIX, state_folder
from seekwise.errors import MissingError, RefusedError, reason

SCHEMA_NAME = "seekwise.journal"
SCHEMA_VERSION = 1
ACCEPTED = "accepted_kernel_faults"
_STAMP = "%Y%m%dT%H%M%S"
ENTRY_BYTES_MAX = 64 << 20

Item = dict[str, Any]
"""A line of an entry as JSON: one device, folder or file. What it holds is checked where it is restored."""

_held: dict[Path, tuple[int, int]] = {}
"""{file: (pid, descriptor)} of entries that this process has opened; a forked child has no part in them."""


@dataclass(frozen=True)
class Entry:
    """One journalled change. `damage` says what could not be read of it."""

    id: str
    kind: str
    owner: ProcessIdentity
    started_at: str
    items: tuple[Item, ...]
    details: dict[str, Any] = field(default_factory=dict)
    damage: str | None = None
    held: bool | None = None
    """Whether its file was locked when it was read; None: that cannot be told."""
    machine: str = ""
    namespace: str = ""

    @property
    def elsewhere(self) -> bool:
        """Whether another machine made it: a shared home, a disk that moved."""
        return bool(self.machine) and self.machine != machine()

    @property
    def alive(self) -> bool:
        """Whether the process that opened it still runs, wherever that is."""
        if self.held is not None:
            return self.held
        if self.owner.of_this_boot and self.namespace and self.namespace != pid_namespace():
            return True  # its pid means nothing here, and it has no lock to tell
        return self.owner.alive

    @property
    def targets(self) -> frozenset[tuple[str, str]]:
        """What it has changed: devices with the root of their tree, files."""
        return frozenset(
            (str(item[name]), str(item.get("root", "")))
            for item in self.items
            for name in ("device", "file")
            if name in item and self.kind != "reverting"
        )

    @property
    def pending(self) -> bool:
        """True until everything that belongs to it is done; a name is that of the entry which decides."""
        return self.details.get("pending") is True


class Journal:
    """The folder of open entries."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = (folder if folder is not None else state_folder()) / JOURNAL

    def open(self, kind: str, items: list[Item], **details: object) -> Entry:
        """Writes an entry durably and locks it; when this returns, a power cut cannot lose it."""
        owner = this_process()
        entry = Entry(
            id=self._new_id(owner.pid),
            kind=kind,
            owner=owner,
            started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            items=tuple(items),
            details={**({ACCEPTED: sorted(kernel_faults.accepted)} if kernel_faults.accepted else {}), **details},
            held=True,
            machine=machine(),
            namespace=pid_namespace(),
        )
        try:
            self._make_folder()
            self._write(entry)
        except OSError as error:
            raise MissingError(
                f"the journal in {self.folder} cannot be written ({reason(error)})",
                "nothing was changed; SEEKWISE_STATE=FOLDER chooses another place that outlives a restart",
            ) from error
        return entry

    def update(self, entry: Entry, items: list[Item] | None = None, **details: object) -> Entry:
        """Writes an open entry anew, whole or not at all. A detail of None goes away."""
        merged = {key: value for key, value in {**entry.details, **details}.items() if value is not None}
        entry = replace(entry, items=entry.items if items is None else tuple(items), details=merged)
        try:
            self._write(entry)
        except OSError as error:
            raise MissingError(f"the journal in {self.folder} cannot be written ({reason(error)})") from error
        return entry

    def close(self, entry: Entry) -> str | None:
        """Everything of the entry is as it was: forget it. A damaged one is kept beside, for a human.

        Returns a sentence if it cannot be forgotten (the state folder became read-only, full, immutable): everything is
        restored then all the same, and the next start finds nothing to do.
        """
        path = self._path(entry.id)
        try:
            if entry.damage and path.exists():
                os.replace(path, path.with_suffix(".damaged"))
            else:
                path.unlink(missing_ok=True)
            files.sync_folder(self.folder)
        except FileNotFoundError:
            pass  # the whole folder is gone, and the entry with it
        except OSError as error:
            return f"warning: everything is restored, but {path} cannot be removed ({reason(error)})"
        finally:
            self._let_go(path)
        return None

    def is_open(self, entry: Entry) -> bool:
        """Whether its file is still there, that is, whether old values wait to be restored."""
        return os.path.lexists(self._path(entry.id))

    def is_pending(self, entry: Entry) -> bool:
        """Whether something that belongs to this entry is still to be done: it counts only once that is."""
        decided_by = entry.details.get("pending")
        if isinstance(decided_by, str):
            other = read_entry(self._path(Path(decided_by).name))
            return other is not None and other.pending
        return entry.pending

    def is_kept_by_files(self, entry: Entry) -> bool:
        """Whether files that were written with these settings set them again at each start."""
        decided_by = entry.details.get("pending")
        other = read_entry(self._path(Path(decided_by).name)) if isinstance(decided_by, str) else None
        return other is not None and other.kind == "persisted" and not other.pending

    def is_ours(self) -> bool:
        """Whether it belongs to this user. What belongs to another is that user's to restore, or root's."""
        try:
            return os.lstat(self.folder).st_uid == os.geteuid()
        except OSError:
            return False

    def is_empty(self) -> bool:
        """Cheap: one directory read. One that cannot be read is not taken to be empty."""
        try:
            return not any(name.endswith(SUFFIX) for name in os.listdir(self.folder))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False

    def entries(self) -> list[Entry]:
        """Open entries, newest first: later changes are undone before earlier ones."""
        try:
            names = sorted((name for name in os.listdir(self.folder) if name.endswith(SUFFIX)), reverse=True)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise MissingError(
                f"the journal in {self.folder} cannot be read ({reason(error)})",
                f"{invocation.with_sudo()}; root can restore everything",
            ) from error
        if names:
            # A user who can write entries decides what is written back.
            files.check_private(self.folder)
        entries = [read_entry(self.folder / name) for name in names]
        return [entry for entry in entries if entry]

    def check(self, devices: Iterable[str], root: Path = Path("/")) -> None:
        """Refuses to change or measure these devices, which the caller has locked.

        While a change of one of them waits for its confirmation or its guard: what is set on top would be captured as
        the user's, and what is measured is not what the user set. While an entry is open that a newer seekwise wrote:
        it may be about the same device.
        """
        for entry in self.entries():
            if entry.kind == "newer":
                raise RefusedError(
                    f"{self._path(entry.id)} {entry.damage}",
                    "a newer seekwise wrote it: restore with that one (`seekwise revert`)",
                )
            both = sorted(entry.targets & {(device, str(root)) for device in devices})
            if both and not self._is_own(entry) and self.is_pending(entry) and entry.alive and not entry.elsewhere:
                raise RefusedError(
                    f"{', '.join(device for device, _ in both)}: a change waits for its confirmation or the end of its "
                    f"guard (since {entry.started_at})",
                    "`seekwise apply --keep` confirms it, `seekwise revert` undoes it",
                )

    def above(self, entry: Entry) -> Entry | None:
        """The newest open entry that captured its old values on top of this one's: it is undone first."""
        return next(
            (other for other in self.entries()
             if other.id > entry.id and not other.elsewhere and other.targets & entry.targets), None,
        )  # fmt: skip

    def _is_own(self, entry: Entry) -> bool:
        return _held.get(self._path(entry.id), (0, -1))[0] == os.getpid()

    @contextmanager
    def being_restored(self) -> Iterator[None]:
        """One restorer at a time; a second start waits for the first. The lock needs nothing to be written."""
        descriptor = None
        try:
            descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            pass  # the folder is gone, or its filesystem has no locks: restoring twice does no harm
        try:
            self.remove_drafts()
            yield
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def remove_drafts(self) -> None:
        """Entries that were never finished: their writer died before anything was changed."""
        with contextlib.suppress(OSError):
            for name in os.listdir(self.folder):
                owner = name.rpartition(".")[2]
                if name.startswith(".") and f"{SUFFIX}." in name and owner.isdigit():
                    with contextlib.suppress(OSError):
                        path = self.folder / name
                        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                        try:
                            if files.try_lock(descriptor, fcntl.LOCK_SH):
                                os.unlink(path)
                        finally:
                            os.close(descriptor)

    def _write(self, entry: Entry) -> None:
        header = {
            "schema": f"{SCHEMA_NAME}/{SCHEMA_VERSION}",
            "id": entry.id,
            "kind": entry.kind,
            "pid": entry.owner.pid,
            "start_ticks": entry.owner.start_ticks,
            "boot_id": entry.owner.boot_id,
            "started_at": entry.started_at,
            "machine": entry.machine,
            "namespace": entry.namespace,
            **entry.details,
        }
        text = "".join(_line(item) for item in (header, *entry.items, {"items": len(entry.items)}))
        path = self._path(entry.id)
        descriptor = files.write_whole(path, text.encode(), locked=True)
        self._let_go(path)
        assert descriptor is not None
        _held[path] = (os.getpid(), descriptor)

    def _let_go(self, path: Path) -> None:
        pid, descriptor = _held.pop(path, (0, -1))
        if pid == os.getpid():
            os.close(descriptor)

    def _new_id(self, pid: int) -> str:
        """Sorts behind every open entry, also where the clock was set back: entries are undone in the opposite
        order."""
        now_ns = time.time_ns()
        with contextlib.suppress(OSError):
            now_ns = max([now_ns, *(_stamp_ns(name) + 1 for name in os.listdir(self.folder))])
        stamp = time.strftime(_STAMP, time.gmtime(now_ns // 10**9))
        return f"{stamp}.{now_ns % 10**9:09d}-{pid}-{secrets.token_hex(2)}"

    def _path(self, entry_id: str) -> Path:
        return self.folder / f"{entry_id}{SUFFIX}"

    def _make_folder(self) -> None:
        files.make_private(self.folder.parent, 0o755)
        if not files.make_private(self.folder):
            files.check_private(self.folder)
            return
        # A new folder is itself only durable once its parents are synced.
        for parent in (self.folder, self.folder.parent, self.folder.parent.parent):
            files.sync_folder(parent)


def read_entry(path: Path) -> Entry | None:
    """One entry as far as it is readable; None if it went away meanwhile. Never raises: see the kinds above."""
    try:
        # A pipe of that name must not make us wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unusable(path, "untrusted", f"cannot be opened ({reason(error)})")
    try:
        if against := _against(os.fstat(descriptor)):
            return _unusable(path, "untrusted", against)
        locked = files.try_lock(descriptor, fcntl.LOCK_SH)
        held = None if locked is None else not locked
        entry = _parsed(path, files.read_limited(descriptor, ENTRY_BYTES_MAX))
    except (OSError, ValueError) as error:
        return _unusable(path, "untrusted", str(getattr(error, "strerror", None) or error))
    finally:
        os.close(descriptor)
    if not entry.machine and not held:
        held = None  # an older seekwise wrote it, which held no lock
    return replace(entry, held=held)


def _against(status: os.stat_result) -> str | None:
    """Why a file cannot be one of our entries."""
    if not stat.S_ISREG(status.st_mode):
        return "is no file"
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to user {status.st_uid}"
    if status.st_mode & 0o022:
        return "can be written by other users"
    # A second name may lie where others have put it.
    return "has a second name" if status.st_nlink > 1 else None


def _parsed(path: Path, data: bytes) -> Entry:
    documents = [_parse(line) for line in data.split(b"\n") if line.strip()]
    header = documents[0] if documents else None
    if header is None or "schema" not in header:
        return _unusable(path, "unreadable", "its first line is damaged")
    name, _, version = str(header["schema"]).rpartition("/")
    if name != SCHEMA_NAME or not version.isdecimal() or int(version) > SCHEMA_VERSION:
        return _unusable(
            path,
            "newer",
            f"has the format {header['schema']}, this program knows up to {SCHEMA_NAME}/{SCHEMA_VERSION}",
        )
    body = documents[1:]
    items = tuple(item for item in body if item is not None and "items" not in item)
    expected = next((item["items"] for item in body if item is not None and "items" in item), None)
    damage = None
    if expected is None:
        damage = "its end is missing"
    if None in body or (expected is not None and len(items) != expected):
        damage = "one of its lines is damaged"
    known = {"schema", "id", "kind", "pid", "start_ticks", "boot_id", "started_at", "machine", "namespace"}
    try:
        return Entry(
            id=path.name.removesuffix(SUFFIX),
            kind=str(header["kind"]),
            owner=ProcessIdentity(int(header["pid"]), int(header["start_ticks"]), str(header["boot_id"])),
            started_at=str(header.get("started_at", "")),
            items=items,
            details={key: value for key, value in header.items() if key not in known},
            damage=damage,
            machine=str(header.get("machine", "")),
            namespace=str(header.get("namespace", "")),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return _unusable(path, "unreadable", "its first line is damaged")


def _unusable(path: Path, kind: str, damage: str) -> Entry:
    return Entry(path.name.removesuffix(SUFFIX), kind, ProcessIdentity(0, 0, ""), "", (), damage=damage)


def _stamp_ns(name: str) -> int:
    """The time in an entry's name; 0 of another file."""
    try:
        seconds, _, rest = name.partition(".")
        return calendar.timegm(time.strptime(seconds, _STAMP)) * 10**9 + int(rest[:9])
    except ValueError:
        return 0


def _line(document: dict[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, ensure_ascii=True)
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def _parse(line: bytes) -> dict[str, Any] | None:
    checksum, _, text = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
