"""Settings for a while: read, save, journal, write, read back, restore, read back.

    with changed({"sda": {"queue/scheduler": "kyber", "device/queue_depth": 32}}) as seen:
        ...     # seen["sda"]["queue/scheduler"]: what the kernel reports after the write

All settings of a device are read before, not only those that are asked for: the kernel ties values together (see
`attributes`). Those that were asked for, and those that moved with them, come back. A value that this run did not touch
and another program changes meanwhile stays as that program set it. After SIGKILL or a power cut `recovery` does the same
from the journal.

Known limit: write-back throttling has a hidden state, default or set by hand. A value that was never changed is never
written, so it keeps its state; one that was changed comes back with the same value, but as set by hand.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from seekwise.control import attributes, interrupt, notice, sysfs
from seekwise.control.journal import Entry, Item, Journal
from seekwise.control.lock import devices_locked
from seekwise.errors import MissingError, SeekwiseError, UsageError

Changes = Mapping[str, Mapping[str, object]]

# A value can move another one once; a third pass over all of them finds nothing to do.
RESTORE_PASSES_MAX = 4

_active: list[changed] = []


class SettingRefused(SeekwiseError):
    """The kernel or the drive did not take a value; `refusal` says which."""

    def __init__(self, message: str, refusal: attributes.Refusal) -> None:
        super().__init__(message, attributes.row(refusal.attribute).hint(refusal))
        self.refusal = refusal


class changed:
    """Context manager; `seen` is {device: {attribute: value}} of everything the device has, as read back."""

    def __init__(self, changes: Changes, root: Path = Path("/"), journal: Journal | None = None) -> None:
        self.changes = normalised(changes)
        self.root = Path(root)
        self.journal = journal if journal is not None else Journal()
        self.entry: Entry | None = None
        self.seen: dict[str, dict[str, str]] = {}
        self._pid = os.getpid()
        self._left = False
        self._locks = contextlib.ExitStack()

    def __enter__(self) -> dict[str, dict[str, str]]:
        interrupt.install_if_possible()
        try:
            with interrupt.held():
                self._locks.enter_context(devices_locked(self.changes, self.root))
                check(self.changes, self.root)
                self.journal.check()
                self.entry = write_journalled("changed", self.changes, self.root, self.journal, self._remember)
                self.seen = {device: read_settings(device, self.root) for device in self.changes}
        except BaseException:
            # Also a signal that came meanwhile and is raised now: `__exit__` will not be called.
            self._leave()
            raise
        return self.seen

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _remember(self, entry: Entry) -> None:
        self.entry = entry
        _active.append(self)

    def _leave(self) -> None:
        stopped: interrupt.Stopped | None = None
        try:
            while not self._left:
                try:
                    with interrupt.held():
                        self._left = True
                        try:
                            self._restore()
                        finally:
                            self._locks.close()
                except interrupt.Stopped as signal:
                    # Before `held` had begun, or as it ended: what is to be restored comes first.
                    stopped = signal
        finally:
            interrupt.uninstall_if_installed()
        if stopped is not None:
            raise stopped

    def _restore(self) -> None:
        if self.entry is None or self._pid != os.getpid():
            return
        entry, self.entry = self.entry, None
        if self in _active:
            _active.remove(self)
        failures = []
        for item in entry.items:
            failures += restore_item(item, touched(item, self.seen.get(item["device"])))
        if failures:
            raise could_not_restore(failures)
        notice.warn(self.journal.close(entry))


@atexit.register
def _restore_at_exit() -> None:
    """The net under the net: an exception that slipped in between `__enter__` and the block."""
    for change in _active.copy():
        change._restore()


def normalised(changes: Changes) -> dict[str, dict[str, str]]:
    """Short names become full, values become text: True is 1."""
    full: dict[str, dict[str, str]] = {}
    for device, wanted in changes.items():
        values = full.setdefault(device.removeprefix("/dev/"), {})
        for name, value in wanted.items():
            values[attributes.canonical(name)] = str(int(value)) if isinstance(value, bool) else str(value).strip()
    return full


def read_settings(device: str, root: Path = Path("/")) -> dict[str, str]:
    """Every setting of the registry that the device has, as the kernel reports it."""
    return attributes.everything(sysfs.device_folder(device, root))


def check(changes: Changes, root: Path = Path("/")) -> None:
    """Raises for whatever can be known to fail before anything is written: values and privilege."""
    check_values(changes, root)
    for device, wanted in normalised(changes).items():
        folder = sysfs.device_folder(device, root)
        for name, asked in wanted.items():
            file, before = attributes.path(name, folder), attributes.current(name, folder)
            if not file.exists() or attributes.same(name, asked, before) or os.access(file, os.W_OK):
                continue
            if os.geteuid() != 0:
                raise MissingError(f'{device} {name} = "{asked}" needs root (it is {before})', "run it with sudo")
            refusal = attributes.Refusal(device, folder, name, asked, before, None)
            raise SettingRefused(f'{device} {name} is read-only (asked "{asked}", found {before})', refusal)


def check_values(changes: Changes, root: Path = Path("/")) -> None:
    """Raises for a device, an attribute or a scheduler that is not there. Needs no privilege."""
    for device, wanted in normalised(changes).items():
        folder = sysfs.device_folder(device, root)
        for name in sorted(wanted, key=attributes.order):
            _check_value(device, folder, name, wanted)


def _check_value(device: str, folder: Path, name: str, wanted: Mapping[str, str]) -> None:
    asked, before = wanted[name], attributes.current(name, folder)
    refusal = attributes.Refusal(device, folder, name, asked, before, None)
    if not asked or "\n" in asked:
        raise UsageError(f"{device} {name} needs a value")
    if name == "queue/scheduler":
        offered = attributes.schedulers_offered(folder)
        if asked not in offered:
            kind = MissingError if asked in attributes.SCHEDULER_MODULES else UsageError
            raise kind(
                f'{device} does not offer scheduler "{asked}" (offered: {", ".join(offered) or "none"}; set: {before})',
                attributes.scheduler_hint(refusal),
            )
    comes_later = name.startswith(attributes.IOSCHED) and "queue/scheduler" in wanted
    if not attributes.path(name, folder).exists() and not comes_later:
        raise MissingError(f'{device} has no {name} (asked: "{asked}")', attributes.row(name).hint(refusal))


def write_journalled(
    kind: str,
    changes: Mapping[str, Mapping[str, str]],
    root: Path,
    journal: Journal,
    remember: Callable[[Entry], object],
    **details: object,
) -> Entry | None:
    """Captures, journals, writes, reads back. `remember(entry)` is called before the first write. None: all was so
    already.

    Raises on the first refusal; the caller restores.
    """
    items = []
    for device, wanted in changes.items():
        folder = sysfs.device_folder(device, root)
        if any(not attributes.same(name, asked, attributes.current(name, folder)) for name, asked in wanted.items()):
            items.append(item_for(device, folder, root, wanted))
    if not items:
        return None
    entry = journal.open(kind, items, **details)
    remember(entry)
    for item in items:
        write_values(item["device"], sysfs.device_folder(item["device"], root), item["asked"])
    return entry


def item_for(device: str, folder: Path, root: Path, asked: Mapping[str, str]) -> Item:
    """What the journal keeps of one device."""
    return {
        "device": device,
        "root": str(root),
        "identity": identity(folder),
        "asked": dict(asked),
        "old": attributes.everything(folder),
    }


def left_by(items: Iterable[Item]) -> list[Item]:
    """The journal's items with the values after our writes: they tell later whether somebody else has changed one
    since."""
    left = []
    for item in items:
        folder = sysfs.device_folder(str(item["device"]), Path(str(item["root"])))
        left.append({**item, "left": attributes.everything(folder)})
    return left


def identity(folder: Path) -> dict[str, object]:
    """Tells whether a name still means the same thing.

    The inode of the device's folder in sysfs changes when the kernel forgets the device and finds one again: within a
    boot that is the queue itself. Serial or WWID name the drive across boots.
    """
    if folder.parts[-3:] == Path(sysfs.SYSTEM_FOLDER).parts:
        return {
            "inode": 0
        }  # the machine itself: within a boot there is no other, and /proc gives its folders new numbers
    facts: dict[str, object] = {"inode": folder.resolve().stat().st_ino}
    for file in ("device/wwid", "wwid", "device/serial", "serial"):
        if text := sysfs.read(folder / file):
            facts["serial"] = text
            break
    return facts


def write_values(device: str, folder: Path, wanted: Mapping[str, str]) -> None:
    """Writes in the registry's order, then reads all of it back: a later value may have moved an earlier one."""
    read_ahead = attributes.current(attributes.READ_AHEAD, folder)
    for name in sorted(wanted, key=attributes.order):
        asked = wanted[name]
        if attributes.same(name, asked, attributes.current(name, folder)):
            continue
        target = name
        if name == "queue/write_cache" and attributes.path(attributes.CACHE_TYPE, folder).exists():
            # Telling only the kernel would stop its flushes while the drive goes on caching.
            target = attributes.CACHE_TYPE
        _write_one(device, folder, name, target, asked)
    if read_ahead is not None and attributes.READ_AHEAD not in wanted:
        _keep_read_ahead(device, folder, read_ahead)
    for name, asked in wanted.items():
        before = attributes.current(name, folder)
        if not attributes.accepted(name, asked, before):
            raise _altered(device, folder, name, asked, before)


def _keep_read_ahead(device: str, folder: Path, before: str) -> None:
    """Some writes set read-ahead to its default; who does not ask for it must not measure it instead of what he asks
    for."""
    if attributes.current(attributes.READ_AHEAD, folder) != before:
        _write_one(device, folder, attributes.READ_AHEAD, attributes.READ_AHEAD, before)


def _write_one(device: str, folder: Path, name: str, target: str, asked: str) -> None:
    try:
        sysfs.write(attributes.path(target, folder), asked)
    except OSError as error:
        before = attributes.current(name, folder)
        refusal = attributes.Refusal(device, folder, name, asked, before, error.errno)
        if isinstance(error, PermissionError) and os.geteuid() != 0:
            raise MissingError(
                f'{device} {name} = "{asked}" needs root (it is {before})', "run it with sudo"
            ) from error
        reason = errno.errorcode.get(error.errno or 0, "error")
        raise SettingRefused(
            f'{device} refused {name} "{asked}" ({reason}: {error.strerror}); it is {before}', refusal
        ) from error
    before = attributes.current(name, folder)
    if not attributes.accepted(name, asked, before):
        raise _altered(device, folder, name, asked, before)


def _altered(device: str, folder: Path, name: str, asked: str, shown: str | None) -> SettingRefused:
    refusal = attributes.Refusal(device, folder, name, asked, shown, None)
    return SettingRefused(f"{device} {name} is {shown} after writing {asked}", refusal)


def touched(item: Item, left: Mapping[str, str] | None) -> frozenset[str]:
    """What was asked, and what that moved: as seen in `left`, the values after our writes, or as it may be (`left`
    None)."""
    asked, old = dict(item["asked"]), dict(item["old"])
    return frozenset(
        name
        for name in old
        if name in asked or attributes.may_move(name, asked) or (left is not None and left.get(name) != old[name])
    )


def restore_item(item: Item, only: frozenset[str] | None = None) -> list[str]:
    """Restores one device to what the journal says; returns what could not be restored, as sentences.

    `only`: names to restore; every other value stays as it is now, also where restoring moves it. Values that are right
    are not written again. The device being gone is no failure: its settings went with it.
    """
    device, root = str(item["device"]), Path(str(item["root"]))
    try:
        folder = sysfs.device_folder(device, root)
    except UsageError:
        return []
    old = {name: str(text) for name, text in dict(item["old"]).items()}
    if only is not None:
        # A scheduler that is switched brings other tunables: only those of the one that comes back can be restored.
        switched = "queue/scheduler" in only and not _is_back("queue/scheduler", old.get("queue/scheduler", ""), folder)
        stays = {} if only >= set(old) else _others(folder, only, switched)
        old = {name: text for name, text in old.items() if name in only} | stays
    refused: dict[str, str] = {}
    failed_alike: dict[str, int] = {}
    for _ in range(RESTORE_PASSES_MAX):
        wrong = [name for name in sorted(old, key=attributes.order) if not _is_back(name, old[name], folder)]
        if not wrong:
            return []
        for name in wrong:
            if _is_back(name, old[name], folder) or attributes.in_force(name, old) is None:
                continue
            try:
                if name in attributes.TWINS and old[name] == "0":
                    _write_when_free(
                        attributes.path(name, folder), "1"
                    )  # 0 over 0 would leave the limit in bytes as it is
                _write_when_free(attributes.path(name, folder), old[name])
                refused.pop(name, None)
            except OSError as error:
                refused[name] = f" ({error.strerror})"
                if error.errno == errno.EIO and name.startswith(attributes.IOSCHED):
                    failed_alike[name] = failed_alike.get(name, 0) + 1
    # An attribute without a function to store it refuses each write with EIO (Linux v6.12 block/elevator.c
    # elv_attr_store): a figure of the scheduler's, no setting. One write that fails so is an error like any other.
    old = {name: text for name, text in old.items() if failed_alike.get(name, 0) < RESTORE_PASSES_MAX}
    return [
        f'{device} {name} should be "{old[name]}" and is {attributes.current(name, folder)}{refused.get(name, "")}'
        for name in sorted(old, key=attributes.order)
        if not _is_back(name, old[name], folder)
    ]


BUSY_WAIT_S = 5.0
"""So long a value that cannot be set for the moment is tried again: a drive that resets, an array that resyncs."""


def _write_when_free(path: Path, value: str) -> None:
    until = time.monotonic() + BUSY_WAIT_S
    while True:
        try:
            return sysfs.write(path, value)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EAGAIN, errno.EINTR) or time.monotonic() >= until:
                raise
        time.sleep(0.05)


def _others(folder: Path, only: frozenset[str], switched: bool) -> dict[str, str]:
    """Values that are to stay as they are now."""
    names = [row.name for row in attributes.REGISTRY if not row.name.endswith("*")]
    if not switched:
        names += attributes.tunables(folder)
    if attributes.CACHE_TYPE in only:
        # The kernel's view follows the drive: to hold it at `write through` would stop the flushes of a drive that
        # caches.
        names.remove("queue/write_cache")
    now = {name: attributes.current(name, folder) for name in names if name not in only}
    return {name: text for name, text in now.items() if text is not None}


def _is_back(name: str, old: str, folder: Path) -> bool:
    return attributes.current(name, folder) == old


NOT_RESTORED = "not everything could be restored"
"""How that error begins; the list of runs shows such runs first."""


def could_not_restore(failures: list[str]) -> SeekwiseError:
    """The error for values that are not as before."""
    return SeekwiseError(
        f"{NOT_RESTORED}: {'; '.join(failures)}",
        "the journal keeps the old values: `seekwise revert` tries again",
    )
