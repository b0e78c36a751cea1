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

from seekwise import invocation
from seekwise.control import attributes, interrupt, kernel_faults, notice, sysfs
from seekwise.control.journal import Entry, Item, Journal
from seekwise.control.lock import devices_locked
from seekwise.control.process import boot_id
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
        self._after: dict[str, dict[str, str]] = {}
        self._pid = os.getpid()
        self._left = False
        self._locks = contextlib.ExitStack()

    def __enter__(self) -> dict[str, dict[str, str]]:
        interrupt.install()
        try:
            with interrupt.held():
                self._locks.enter_context(devices_locked(self.changes, self.root))
                self._begin()
        except BaseException:
            # Also a signal that came meanwhile and is raised now: `__exit__` will not be called.
            self._leave()
            raise
        return self.seen

    def _begin(self) -> None:
        check(self.changes, self.root)
        self.journal.check(self.changes, self.root)
        self.entry = write_journalled("changed", self.changes, self.root, self.journal, self._remember)
        self.seen = {device: read_settings(device, self.root) for device in self.changes}
        for item in left_by(self.entry.items if self.entry else ()):
            self._after[item["device"]] = item["left"]
            say_moved(item["device"], item["asked"], item["old"], item["left"])

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
            interrupt.uninstall()
        if stopped is not None:
            raise stopped

    def _restore(self) -> None:
        if self.entry is None or self._pid != os.getpid():
            return
        entry, self.entry = self.entry, None
        if self in _active:
            _active.remove(self)
        restore_own(entry.items, {item["device"]: self._touched(item) for item in entry.items})
        notice.warn(self.journal.close(entry))

    def _touched(self, item: Item) -> frozenset[str]:
        return touched(item, self._after.get(item["device"]))


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
                raise MissingError(f'{device} {name} = "{asked}" needs root (it is {before})', invocation.with_sudo())
            refusal = attributes.Refusal(device, folder, name, asked, before, None)
            raise SettingRefused(f'{device} {name} is read-only (asked "{asked}", found {before})', refusal)


def check_values(changes: Changes, root: Path = Path("/")) -> None:
    """Raises for a device, an attribute or a scheduler that is not there. Needs no privilege."""
    for device, wanted in normalised(changes).items():
        folder = sysfs.device_folder(device, root)
        for name in sorted(wanted, key=attributes.order):
            _check_value(device, folder, name, wanted)
        kernel_faults.check(device, folder, wanted)


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
        write_values(item["device"], sysfs.device_folder(item["device"], root), item["asked"], item["old"])
    return entry


def item_for(device: str, folder: Path, root: Path, asked: Mapping[str, str]) -> Item:
    """What the journal keeps of one device."""
    return {
        "device": device,
        "root": str(root),
        "identity": identity(folder),
        "asked": dict(asked),
        # What is not throttled shows no value (EINVAL): once it is, 0 switches it off.
        "old": ({attributes.WBT: "0"} if attributes.WBT in asked else {}) | attributes.remembered(folder),
        **({"driver_tags": depth} if (depth := attributes.driver_tags_in_use(folder)) is not None else {}),
    }


def left_by(items: Iterable[Item]) -> list[Item]:
    """The journal's items with the values after our writes: they tell later whether somebody else has changed one
    since."""
    left = []
    for item in items:
        folder = sysfs.device_folder(str(item["device"]), Path(str(item["root"])))
        left.append({**item, "left": attributes.remembered(folder)})
    return left


def say_moved(device: str, asked: Iterable[str], before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Says what followed our write though no table says so, and returns its names: it comes back with the rest."""
    names = [
        name
        for name in sorted(before.keys() & after.keys() - set(asked))
        if before[name] != after[name] and not (attributes.is_known(name) and attributes.may_move(name, asked))
    ]
    for name in names:
        notice.warn(f"note: {device} {name} moved with it: {before[name]} → {after[name]}")
    return names


def identity(folder: Path) -> dict[str, object]:
    """Tells whether a name still means the same thing.

    The inode of the device's folder in sysfs changes when the kernel forgets the device and finds one again: within a
    boot that is the queue itself. Serial or WWID name the drive across boots. A loop device keeps its queue from one
    file to the next: there the file tells, whose name may change while it is attached, and within a boot the number of
    the attachment (`diskseq`, since Linux 5.15; elsewhere it counts media, under which a queue stays as it is).
    """
    if folder.parts[-3:] == Path(sysfs.SYSTEM_FOLDER).parts:
        return {
            "inode": 0
        }  # the machine itself: within a boot there is no other, and /proc gives its folders new numbers
    facts: dict[str, object] = {"inode": folder.resolve().stat().st_ino}
    for name in ("device/wwid", "wwid", "device/serial", "serial", "dm/uuid"):
        if text := sysfs.read(folder / name):
            facts["serial"] = text
            break
    if file := sysfs.read(folder / "loop/backing_file"):
        facts["file"] = file.removesuffix(" (deleted)")
        if number := sysfs.read(folder / "diskseq"):
            facts["attachment"] = f"{boot_id()} {number}"
    return facts


def has_another_file(then: Mapping[str, object], now: Mapping[str, object]) -> bool:
    """Whether a loop device was given another file between two of its identities. An older journal does not tell."""
    if None in (then.get("file"), now.get("file")) or then["file"] == now["file"]:
        return False
    return then.get("attachment") is None or then["attachment"] != now.get("attachment")


def is_replaced(item: Item) -> bool:
    """Whether the name has come to mean another drive since this boot's `item` was made."""
    try:
        then, now = item["identity"], identity(sysfs.device_folder(str(item["device"]), Path(str(item["root"]))))
    except (OSError, UsageError):
        return False  # it is gone
    return bool(then["inode"] != now["inode"]) or has_another_file(then, now)


def write_values(device: str, folder: Path, wanted: Mapping[str, str], journalled: Mapping[str, str]) -> None:
    """Writes in the registry's order, then reads all of it back: a later value may have moved an earlier one.

    `journalled`: the values that come back. Of a drive that does not answer they are told, and no more is read: the
    kernel may hold its lock.
    """
    scheduler = wanted.get(attributes.SCHEDULER)
    unthrottled = scheduler is not None and _is_to_be_unthrottled(attributes.SCHEDULER, folder, scheduler)
    try:
        _write_all(device, folder, wanted)
        # The kernel would have started it with its default; under bfq as it was found, 0 says nothing of that.
        if unthrottled and attributes.WBT not in wanted and _throttled(journalled):
            _write_one(device, folder, attributes.WBT, attributes.WBT, "-1")
    except TimeoutError as error:
        kept = ", ".join(f"{name} {journalled[name]}" for name in wanted if name in journalled)
        raise SeekwiseError(
            f"{error.strerror}. The journal keeps {kept} for {device}",
            "once it answers, `seekwise revert` restores that; `dmesg` shows what the kernel says",
        ) from error


def _throttled(values: Mapping[str, str]) -> bool:
    return values.get(attributes.SCHEDULER) == "bfq" or values.get(attributes.WBT, "0") != "0"


def _write_all(device: str, folder: Path, wanted: Mapping[str, str]) -> None:
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
    if (
        read_ahead not in (None, attributes.current(attributes.READ_AHEAD, folder))
        and attributes.READ_AHEAD not in wanted
    ):
        # Some writes set it to its default; who does not ask for that must not measure it instead of what he asks for.
        _write_one(device, folder, attributes.READ_AHEAD, attributes.READ_AHEAD, read_ahead)
    for name, asked in wanted.items():
        before = attributes.current(name, folder)
        if not attributes.accepted(name, asked, before):
            raise _altered(device, folder, name, asked, before)


def _write_one(device: str, folder: Path, name: str, target: str, asked: str) -> None:
    try:
        _put(target, folder, asked)
    except TimeoutError:
        raise
    except OSError as error:
        before = attributes.current(name, folder)
        refusal = attributes.Refusal(device, folder, name, asked, before, error.errno)
        if isinstance(error, PermissionError) and os.geteuid() != 0:
            raise MissingError(
                f'{device} {name} = "{asked}" needs root (it is {before})', invocation.with_sudo()
            ) from error
        reason = errno.errorcode.get(error.errno or 0, "error")
        raise SettingRefused(
            f'{device} refused {name} "{asked}" ({reason}: {error.strerror}); it is {before}', refusal
        ) from error
    before = attributes.current(name, folder)
    if not attributes.accepted(name, asked, before):
        raise _altered(device, folder, name, asked, before)


def _put(name: str, folder: Path, value: str) -> None:
    """Writes one value so that it takes effect: also what no file shows follows it.

    nr_requests under `none` is the depth of the driver's own tags. A switch shows that of the tag set again and leaves
    the tags as they are (Linux v6.18 block/elevator.c elevator_switch), so they are given back before `none` is left.
    """
    if name == attributes.SCHEDULER and value != "none" and attributes.current(name, folder) == "none":
        depth, shown = attributes.driver_tags(folder), attributes.current(attributes.NR_REQUESTS, folder)
        if depth is not None and shown != str(depth):
            _write_when_free(folder / attributes.NR_REQUESTS, str(depth))
    if (
        name == attributes.NR_REQUESTS
        and int(value) > REQUESTS_LEAST
        and kernel_faults.asks_for("two-steps", name, folder, value)
    ):
        _write_when_free(folder / name, str(int(value) - 1))
    if _is_to_be_unthrottled(name, folder, value):
        _write_when_free(folder / attributes.WBT, "0")
    _write_when_free(attributes.path(name, folder), value)


def _is_to_be_unthrottled(name: str, folder: Path, value: str) -> bool:
    """Whether write-back throttling, where there is any, must be off by hand before this is written."""
    return attributes.current(attributes.WBT, folder) is not None and kernel_faults.asks_for(
        "throttling-off", name, folder, value
    )


def _restore_unseen(item: Item, folder: Path, names: Iterable[str]) -> None:
    """What our writes left and no file shows; the values themselves are restored afterwards.

    - The driver's tags, where another program left `none` while our nr_requests stood. Without debugfs nobody can see
      how deep they are, so they are written wherever we may have changed them. Writing the number that is shown does
      nothing: one less comes before it.
    - A limit by hand of max_sectors_kb, which holds when the device's own limit changes: 0 is the kernel's choice
      (since Linux 6.3, commit c9c77418a983). Only where that cannot be larger than what stood there.
    """
    old, asked = item["old"], item["asked"]
    limit = int(old.get(attributes.MAX_SECTORS, 0)) if attributes.MAX_SECTORS in asked.keys() & names else 0
    if limit and limit >= attributes.largest_default_kib(folder):
        with contextlib.suppress(OSError):
            _write_when_free(folder / attributes.MAX_SECTORS, "0")
    depth, was_none = attributes.driver_tags(folder), old.get(attributes.SCHEDULER) == "none"
    may_have_been = was_none or "none" in (asked.get(attributes.SCHEDULER), *item.get("schedulers", ()))
    if not may_have_been or depth is None or not {attributes.NR_REQUESTS} <= asked.keys() & names:
        return
    wanted = int(old[attributes.NR_REQUESTS]) if was_none else depth
    in_use = attributes.driver_tags_in_use(folder)
    if in_use is not None and in_use in (item.get("driver_tags"), wanted):
        return
    if attributes.current(attributes.SCHEDULER, folder) != "none":
        _write_when_free(folder / attributes.SCHEDULER, "none")
    for value in (wanted - 1, wanted):
        if value >= REQUESTS_LEAST:
            _write_when_free(folder / attributes.NR_REQUESTS, str(value))


REQUESTS_LEAST = 4
"""Linux include/linux/blkdev.h BLKDEV_MIN_RQ: nothing lower is taken."""


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


def restore_own(
    items: Iterable[Item], only: Mapping[str, frozenset[str]] | None = None, *, unseen: bool = True
) -> None:
    """Restores what this very process has changed; `only`: names by device, else all that it may have moved. Where a name
    means another drive by now, that drive's settings stay. Raises for what does not come back."""
    failures = []
    for item in items:
        device = item["device"]
        if is_replaced(item):
            notice.warn(f"note: {device} has become another drive meanwhile: its settings stay as they are")
        elif names := touched(item, None) if only is None else only[device]:
            failures += restore_item(item, names, unseen=unseen)
    if failures:
        raise could_not_restore(failures)


def restore_item(item: Item, only: frozenset[str] | None = None, *, unseen: bool = True) -> list[str]:
    """Restores one device to what the journal says; returns what could not be restored, as sentences.

    `unseen`: also what no file shows; between two periods only values are restored.

    `only`: names to restore; every other value stays as it is now, also where restoring moves it. Values that are right
    are not written again. The device being gone is no failure: its settings went with it.
    """
    device, root = str(item["device"]), Path(str(item["root"]))
    try:
        folder = sysfs.device_folder(device, root)
        sysfs.check_answers(folder)
    except UsageError:
        return []
    except OSError as error:
        return [str(error.strerror)]
    old = {name: str(text) for name, text in dict(item["old"]).items()}
    if only is not None:
        # A scheduler that is switched brings other tunables: only those of the one that comes back can be restored.
        switched = "queue/scheduler" in only and attributes.current(attributes.SCHEDULER, folder) != old.get(
            attributes.SCHEDULER, ""
        )
        stays = {} if only >= set(old) else _others(folder, only, switched)
        old = {name: text for name, text in old.items() if name in only} | stays
    moved = attributes.IOSCHED + "async_depth"
    if moved in old and (folder / attributes.ASYNC_DEPTH).exists():
        old[attributes.ASYNC_DEPTH] = old.pop(moved)  # an older kernel's journal
    if old.get(attributes.SCHEDULER, attributes.current(attributes.SCHEDULER, folder)) == "none":
        old.pop(attributes.ASYNC_DEPTH, None)
    if old.get(attributes.WBT) == "0" and attributes.current(attributes.WBT, folder) is None:
        del old[attributes.WBT]  # nothing is throttled, as before
    refused: dict[str, str] = {}
    hidden: list[str] = []
    try:
        if unseen:
            _restore_unseen(item, folder, old.keys() if only is None else only)
    except TimeoutError as error:
        return [str(error.strerror)]
    except (OSError, ValueError) as error:
        # A device that takes no number at all (EINVAL) has taken none of ours.
        hidden = (
            []
            if getattr(error, "errno", None) == errno.EINVAL
            else [f"{device}: the depth of the driver's tags could not be restored ({error})"]
        )
    failed_alike: dict[str, int] = {}
    for _ in range(RESTORE_PASSES_MAX):
        wrong = [name for name in sorted(old, key=attributes.order) if attributes.current(name, folder) != old[name]]
        if not wrong:
            return hidden
        for name in wrong:
            if attributes.current(name, folder) == old[name] or attributes.in_force(name, old) is None:
                continue
            if why_not := kernel_faults.forbids(name, folder, old[name]):
                refused[name] = f" ({why_not})"
                continue
            try:
                if name in attributes.TWINS and old[name] == "0":
                    # 0 over 0 would leave the limit in bytes as it is.
                    _write_when_free(attributes.path(name, folder), "1")
                _put(name, folder, old[name])
                refused.pop(name, None)
            except TimeoutError as error:
                return [*hidden, str(error.strerror)]
            except OSError as error:
                refused[name] = f" ({error.strerror})"
                if error.errno == errno.EIO and name.startswith(attributes.IOSCHED):
                    failed_alike[name] = failed_alike.get(name, 0) + 1
    # An attribute without a function to store it refuses each write with EIO (Linux v6.12 block/elevator.c
    # elv_attr_store): a figure of the scheduler's, no setting. One write that fails so is an error like any other.
    old = {name: text for name, text in old.items() if failed_alike.get(name, 0) < RESTORE_PASSES_MAX}
    # What nobody knows may be a figure that moves by itself: that is said, and keeps no entry open for good.
    for name in [name for name in old if not attributes.is_known(name)]:
        if attributes.current(name, folder) == old.pop(name):
            continue
        notice.warn(f"note: {device} {name} does not come back; it is {attributes.current(name, folder)}")
    return hidden + [
        f'{device} {name} should be "{old[name]}" and is {attributes.current(name, folder)}{refused.get(name, "")}'
        for name in sorted(old, key=attributes.order)
        if attributes.current(name, folder) != old[name]
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


NOT_RESTORED = "not everything could be restored"
"""How that error begins; the list of runs shows such runs first."""


def could_not_restore(failures: list[str]) -> SeekwiseError:
    """The error for values that are not as before."""
    return SeekwiseError(
        f"{NOT_RESTORED}: {'; '.join(failures)}",
        "the journal keeps the old values: `seekwise revert` tries again",
    )
