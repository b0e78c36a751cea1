"""The one narrow door to `seekwise.control`: locks, scratch folders, proof of emptiness, settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from seekwise.control import emptiness, settings
from seekwise.control import scratch as folders
from seekwise.control.journal import Journal
from seekwise.control.lock import devices_locked
from seekwise.errors import UsageError
from seekwise.measure.kernel.target import Target

WORK_BYTES = 32 * 2**20
"""Room for fio's JSON of one phase, amply."""


@contextmanager
def exclusively(target: Target) -> Iterator[None]:
    """No other run on these drives meanwhile, and no change of them that may yet be undone."""
    with devices_locked(target.leaf_names):
        Journal().check(target.leaf_names)
        yield


def check_free(target: Target) -> None:
    """Refuses while another run has these drives, or a change of them waits for its confirmation: what is read of them
    would not be what the user set."""
    with exclusively(target):
        pass


def check_room(target: Target, needed_bytes: int) -> None:
    """Refuses a folder in which the files cannot be, before anything is made."""
    folders.check_target(target.path, needed_bytes)


def scratch(target: Target, needed_bytes: int) -> AbstractContextManager[folders.HeldFolder]:
    """A folder of our own on the target with room for that many bytes; removed at the end, also after a crash."""
    return folders.scratch(target.path, needed_bytes)


def work_folder(home: Path) -> AbstractContextManager[folders.HeldFolder]:
    """A folder for job files and results; removed at the end, also after a crash, like every scratch folder."""
    return folders.scratch(home, WORK_BYTES)


def claimed(target: Target, named: tuple[str, ...]) -> AbstractContextManager[emptiness.EmptyProof]:
    """A block device that proves empty and was named by its owner, held for us alone."""
    return emptiness.claimed(target.resolved.stack, target.resolved.device, named)


def check_named(path: Path | str, named: tuple[str, ...]) -> None:
    """Refuses to name a device for a folder: nothing but scratch files is written there."""
    if named and os.path.isdir(path):
        raise UsageError(
            f"--destroy names an empty device to write to, and {path} is a folder",
            hint="leave it out: a folder gets scratch files; or give the device in place of the folder",
        )


def check_claim(target: Target, named: tuple[str, ...]) -> None:
    """Refuses what `claimed` would refuse."""
    emptiness.allow_destroy(target.resolved.stack, target.resolved.device, named)
    emptiness.prove_empty(target.resolved.stack, target.resolved.device)


def changed(changes: dict[str, dict[str, str]]) -> AbstractContextManager[dict[str, dict[str, str]]]:
    """Settings in force while inside; what the kernel reports after the write."""
    return settings.changed(changes)


def check(changes: dict[str, dict[str, str]]) -> None:
    """Raises for whatever of these settings can be known to be refused."""
    settings.check(changes)


def current_settings(devices: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Every setting of these devices as the kernel reports it now."""
    return {device: settings.read_settings(device) for device in devices}
