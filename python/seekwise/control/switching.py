"""Settings switched again and again under a running load: journalled once, restored once.

    with switching([{"vda": {"queue/scheduler": "none"}}, {"vda": {"queue/scheduler": "bfq"}}]) as switch:
        switch.to({"vda": {"queue/scheduler": "bfq"}})      # seconds that the kernel took
        switch.to_original()

The journal knows every original value before the first switch. A switch itself writes to sysfs alone: it causes no I/O
on the device that is measured.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from seekwise.control import attributes, interrupt, settings, sysfs
from seekwise.control.journal import Item, Journal
from seekwise.control.lock import devices_locked

CHOSEN_WITH_SCHEDULER = frozenset({"queue/nr_requests", "queue/wbt_lat_usec"})
"""Values that the kernel sets when a scheduler is chosen (Linux v6.12 block/blk-mq-sched.c blk_mq_init_sched,
block/bfq-iosched.c)."""


class switching(settings.changed):
    """Context manager; yields itself. `candidates`: every set of changes that will be asked for, checked before
    anything changes."""

    def __init__(
        self, candidates: Sequence[settings.Changes], root: Path = Path("/"), journal: Journal | None = None
    ) -> None:
        merged: dict[str, dict[str, object]] = {}
        for candidate in candidates:
            for device, wanted in candidate.items():
                merged.setdefault(device, {}).update(wanted)
        super().__init__(merged, root, journal)
        self.candidates = [settings.normalised(candidate) for candidate in candidates]
        self._items: dict[str, Item] = {}

    def __enter__(self) -> Self:  # type: ignore[override]
        interrupt.install_if_possible()
        try:
            with interrupt.held():
                self._locks.enter_context(devices_locked(self.changes, self.root))
                for candidate in self.candidates:
                    settings.check(candidate, self.root)
                self.journal.check()
                items = [
                    settings.item_for(device, sysfs.device_folder(device, self.root), self.root, wanted)
                    for device, wanted in self.changes.items()
                ]
                if items:
                    self._remember(self.journal.open("changed", items))
                self._items = {item["device"]: item for item in items}
        except BaseException:
            self._leave()
            raise
        return self

    def to(self, candidate: settings.Changes) -> float:
        """Puts these values in force, and the original ones where the candidate says nothing; seconds that it took.

        Raises SeekwiseError if the kernel refuses or alters a value.
        """
        wanted = settings.normalised(candidate)
        started = time.monotonic()
        with interrupt.held():
            for device, item in self._items.items():
                folder = sysfs.device_folder(device, self.root)
                asked = wanted.get(device, {})
                values = {**self._unnamed(item, asked, folder), **asked}
                settings.write_values(device, folder, _written(item, values))
                names = self._of_the_original(item, asked)
                if names and (failures := settings.restore_item(item, names)):
                    raise settings.could_not_restore(failures)
        return time.monotonic() - started

    def to_original(self) -> float:
        """Puts everything back as it was found, without ending; seconds that it took."""
        started = time.monotonic()
        with interrupt.held():
            failures = [
                failure
                for item in self._items.values()
                for failure in settings.restore_item(item, settings.touched(item, None))
            ]
        if failures:
            raise settings.could_not_restore(failures)
        return time.monotonic() - started

    def through_another_scheduler(self, seconds: float) -> float:
        """Another scheduler for so long, then everything as it was found; seconds that it took.

        Only where the scheduler is among what the candidates name, since only what they name is restored; else nothing
        happens.
        """
        started = time.monotonic()
        with interrupt.held():
            for device, item in self._items.items():
                if "queue/scheduler" not in item["asked"]:
                    continue
                folder = sysfs.device_folder(device, self.root)
                current = attributes.current("queue/scheduler", folder)
                other = next((name for name in attributes.schedulers_offered(folder) if name != current), None)
                if other is not None:
                    settings.write_values(device, folder, {"queue/scheduler": other})
        time.sleep(seconds)
        self.to_original()
        return time.monotonic() - started

    def read_back(self) -> dict[str, dict[str, str]]:
        """{device: {attribute: value}} as the kernel reports it now."""
        return {device: settings.read_settings(device, self.root) for device in self._items}

    @staticmethod
    def _of_the_original(item: Item, asked: Mapping[str, str]) -> frozenset[str]:
        """What the kernel set anew when it came back to the original scheduler, and what nothing that is asked for
        moves.

        Without it the configuration in force would be measured with the default options of its scheduler.
        """
        original = item["old"].get("queue/scheduler")
        if "queue/scheduler" not in item["asked"] or asked.get("queue/scheduler", original) != original:
            return frozenset()
        others = set(asked) - {"queue/scheduler"}
        return frozenset(
            name
            for name in item["old"]
            if (name.startswith(attributes.IOSCHED) or name in CHOSEN_WITH_SCHEDULER)
            and name not in asked
            and not attributes.may_move(name, others)
        )

    def _unnamed(self, item: Item, asked: Mapping[str, str], folder: Path) -> dict[str, str]:
        """Original values of what other candidates change and this one does not name.

        A scheduler's own options belong to that scheduler, and the kernel chooses nr_requests and the write-back
        throttling anew with each scheduler: under another than the original one they are left to it.
        """
        unnamed = {}
        original = item["old"].get("queue/scheduler")
        is_other = "queue/scheduler" in item["asked"] and asked.get("queue/scheduler", original) != original
        for name in item["asked"]:
            if name in asked or name not in item["old"]:
                continue
            if is_other and (name.startswith(attributes.IOSCHED) or name in CHOSEN_WITH_SCHEDULER):
                continue
            if name in attributes.TWINS and attributes.TWINS[name] in asked:
                continue
            unnamed[name] = str(item["old"][name])
        return unnamed


def _written(item: Item, values: Mapping[str, str]) -> dict[str, str]:
    """The values as they can be written: a limit that was given in per cent comes back in per cent, for 0 bytes is no
    value."""
    written = {}
    for name, text in values.items():
        twin = attributes.TWINS.get(name)
        if twin is not None and text == "0" and twin not in values:
            name, text = twin, str(item["old"][twin])
        written[name] = text
    return written
