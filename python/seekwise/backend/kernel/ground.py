"""The one narrow door to `seekwise.control`: scratch folders, proof of emptiness, settings, locks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from seekwise.backend.kernel.target import Target
from seekwise.control import settings
from seekwise.control.lock import devices_locked
from seekwise.errors import RefusedError


@contextmanager
def exclusively(target: Target) -> Iterator[None]:
    """No other run on these drives meanwhile."""
    with devices_locked(target.leaf_names):
        yield


@contextmanager
def scratch(target: Target, needed_bytes: int) -> Iterator[Path]:
    """A folder of our own on the target with room for that many bytes; removed at the end, also after a crash."""
    import shutil
    import tempfile

    free = os.statvfs(target.path)
    if free.f_bavail * free.f_frsize < needed_bytes * 1.1:
        raise RefusedError(f"{target.path} has too little room: {needed_bytes} bytes are needed")
    folder = Path(tempfile.mkdtemp(prefix=".seekwise-", dir=target.path))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def changed(changes: dict[str, dict[str, str]]) -> AbstractContextManager[dict[str, dict[str, str]]]:
    """Settings in force while inside; what the kernel reports after the write."""
    return settings.changed(changes)


def check(changes: dict[str, dict[str, str]]) -> None:
    settings.check(changes)


def seen(devices: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Every setting of these devices as the kernel reports it now."""
    return {device: settings.read_settings(device) for device in devices}


def allow_destroy(target: Target, named: tuple[str, ...]) -> AbstractContextManager[object]:
    """Proof that a device is empty and was meant; raises RefusedError before anything is touched."""
    raise RefusedError(f"{target.path} is a block device")
    return ExitStack()
