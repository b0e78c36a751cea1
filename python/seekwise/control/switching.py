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

from seekwise.control import attributes, interrupt, kernel_faults, settings, sysfs
from seekwise.control.journal import Item, Journal
from seekwise.errors import SeekwiseError

CHOSEN_WITH_SCHEDULER = frozenset({attributes.NR_REQUESTS, attributes.ASYNC_DEPTH, attributes.WBT})
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
        self._moved: dict[str, dict[str, frozenset[str]]] = {}
        """What followed a switch though no table says so, with the values that were chosen then."""

    def __enter__(self) -> Self:  # type: ignore[override]
        super().__enter__()
        return self

    def _begin(self) -> None:
        for candidate in self.candidates:
            settings.check(candidate, self.root)
        self.journal.check(self.changes, self.root)
        items = [
            settings.item_for(device, sysfs.device_folder(device, self.root), self.root, wanted)
            for device, wanted in self.changes.items()
        ]
        for item in items:
            named = (candidate.get(item["device"], {}).get(attributes.SCHEDULER) for candidate in self.candidates)
            item["schedulers"] = sorted({name for name in named if name is not None})
        if items:
            self._remember(self.journal.open("changed", items))
        self._items = {item["device"]: item for item in items}

    def to(self, candidate: settings.Changes) -> float:
        """Puts these values in force, and the original ones where the candidate says nothing; seconds that it took.

        Raises SeekwiseError if the kernel refuses or alters a value.
        """
        wanted = settings.normalised(candidate)
        values = {
            device: {**self._unnamed(item, wanted.get(device, {})), **wanted.get(device, {})}
            for device, item in self._items.items()
        }
        for device, item in self._items.items():
            if settings.is_replaced(item):
                raise SeekwiseError(f"{device} has been replaced by another drive meanwhile", "start again")
            kernel_faults.refuse(device, sysfs.device_folder(device, self.root), values[device], "S1")
        started = time.monotonic()
        with interrupt.held():
            for device, item in self._items.items():
                folder = sysfs.device_folder(device, self.root)
                asked = wanted.get(device, {})
                before = attributes.remembered(folder)
                settings.write_values(device, folder, _written(item, values[device]), item["old"])
                chosen = frozenset(name for name, text in asked.items() if text != item["old"].get(name))
                moved = self._moved.setdefault(device, {})
                seen = {name: text for name, text in attributes.remembered(folder).items() if name not in moved}
                moved |= dict.fromkeys(settings.say_moved(device, values[device], before, seen), chosen)
                back = frozenset(name for name, by in moved.items() if not by & chosen)
                settings.restore_own([item], {device: self._of_the_original(item, asked) | back}, unseen=False)
        return time.monotonic() - started

    def _touched(self, item: Item) -> frozenset[str]:
        return settings.touched(item, None) | frozenset(self._moved.get(item["device"], ()))

    def to_original(self) -> float:
        """Puts everything back as it was found, without ending; seconds that it took."""
        started = time.monotonic()
        with interrupt.held():
            names = {device: self._touched(item) for device, item in self._items.items()}
            settings.restore_own(self._items.values(), names, unseen=False)
        return time.monotonic() - started

    def through_another_scheduler(self, seconds: float) -> float:
        """Another scheduler for so long, then everything as it was found; seconds that it took.

        Only where the scheduler is among what the candidates name, since only what they name is restored; else nothing
        happens.
        """
        started = time.monotonic()
        with interrupt.held():
            for device, item in self._items.items():
                folder = sysfs.device_folder(device, self.root)
                current = attributes.current(attributes.SCHEDULER, folder)
                others = [name for name in attributes.schedulers_offered(folder) if name != current]
                if others and attributes.SCHEDULER in item["asked"]:
                    settings.write_values(device, folder, {attributes.SCHEDULER: others[0]}, item["old"])
        time.sleep(seconds)
        self.to_original()
        return time.monotonic() - started

    def read_back(self) -> dict[str, dict[str, str]]:
        """{device: {attribute: value}} as the kernel reports it now."""
        return {device: settings.read_settings(device, self.root) for device in self._items}

    def was_reset(self, seen: Mapping[str, Mapping[str, str]]) -> bool:
        """Whether the driver has set a queue up anew since `seen` was read: a reset or another number of queues gives a
        scheduler's values their defaults without a word (Linux block/elevator.c elv_update_nr_hw_queues)."""
        now = self.read_back()
        return any(
            text != now[device].get(name)
            for device, values in seen.items()
            if values.get(attributes.SCHEDULER) in attributes.SCHEDULER_MODULES  # others may learn as they go
            for name, text in values.items()
            if name in (attributes.SCHEDULER, attributes.NR_REQUESTS) or name.startswith(attributes.IOSCHED)
        )

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

    @staticmethod
    def _unnamed(item: Item, asked: Mapping[str, str]) -> dict[str, str]:
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
