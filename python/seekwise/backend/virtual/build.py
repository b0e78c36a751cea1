"""Drives served, attached, joined, formatted, mounted; everything down again, whatever happens.

server (a child that cannot outlive us) ─ nbd ─ queue as a real drive's ─ mdadm ─ mkfs ─ mount
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from seekwise.backend.virtual.storage import FILESYSTEMS, MOUNT_OPTIONS, Storage
from seekwise.control import child, interrupt, sysfs, virtual
from seekwise.control.journal import Journal
from seekwise.errors import RefusedError, SeekwiseError

START_S = 30.0
BUILD_S = 3600.0
"""mkfs of file systems that write all their tables takes minutes at a disk's rate."""

Run = Callable[[Sequence[str]], child.Completed]
SERVER = (sys.executable, "-P", "-c", "from seekwise.cli.main import main; main()", "drive")


@dataclass(frozen=True)
class Served:
    """Drives that answer: their devices and the socket on which they tell what they did."""

    devices: tuple[str, ...]
    control: Path

    def counts(self) -> dict[str, int]:
        """Answers and overruns of all drives so far."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(10)
            line.connect(str(self.control))
            line.sendall(b"status\n")
            text = b""
            while not text.endswith(b"\n"):
                part = line.recv(65536)
                if not part:
                    raise SeekwiseError("the drives' server closed its control socket")
                text += part
        drives = json.loads(text)["drives"]
        kinds = ("reads", "writes", "flushes", "trims")
        return {
            "answers": sum(drive[kind] for drive in drives for kind in kinds),
            "overruns": sum(drive["overruns"] for drive in drives),
        }


@dataclass(frozen=True)
class Built:
    """What is measured: a device or a mounted folder, and the drives below it."""

    path: str
    served: Served


def run_program(argv: Sequence[str]) -> child.Completed:
    return child.run(argv, timeout_s=BUILD_S)


@contextmanager
def served(storage: Storage, folder: Path, seed: int) -> Iterator[Served]:
    """The drives of a storage behind nbd devices, while inside."""
    control = folder / "control"
    argv = [*SERVER, *storage.serve_options(), "--attach", "--json", "--control", str(control), "--seed", str(seed)]
    argv += [word for number in range(storage.drives) for word in ("--socket", str(folder / f"drive{number}"))]
    with (
        tempfile.TemporaryFile() as said,
        child.started(argv, stdout=subprocess.PIPE, stderr=said) as load,
    ):
        ready = _first_line(load, said)
        try:
            yield Served(tuple(ready["devices"]), control)
        finally:
            with interrupt.held():
                load.terminate()
                load.wait(START_S)


def _first_line(load: child.Load, said: IO[bytes]) -> dict:
    """What the server says when its drives are attached, or why it does not."""
    line = load.stdout.readline() if load.stdout is not None else b""
    if line:
        return json.loads(line)
    load.wait(START_S)
    said.seek(0)
    words = said.read().decode(errors="replace").strip().splitlines()
    reason = next((word for word in words if word), "it ended without a word").removeprefix("error: ")
    raise RefusedError(f"the virtual drives cannot be served: {reason}")


@contextmanager
def built(
    storage: Storage,
    seed: int,
    *,
    serve: Callable[..., object] = served,
    run: Run = run_program,
    root: Path = Path("/"),
    journal: Journal | None = None,
    umount: virtual.Unmount = virtual.unmount,
) -> Iterator[Built]:
    """The storage, ready to be measured, while inside."""
    journal = journal or Journal()
    folder = virtual.new_folder()
    try:
        with serve(storage, folder, seed) as drives:
            yield from _on_top(storage, drives, folder, run, root, journal, umount)
    finally:
        # Where nothing was journalled there is only the folder; else it is gone already.
        virtual.take_down({"folder": str(folder), "members": [], "old": {}}, root)


def _on_top(
    storage: Storage,
    drives: Served,
    folder: Path,
    run: Run,
    root: Path,
    journal: Journal,
    umount: virtual.Unmount,
) -> Iterator[Built]:
    members = [Path(device).name for device in drives.devices]
    item = {
        "folder": str(folder),
        "members": members,
        "array": virtual.free_array(root) if storage.level else None,
        "mount": str(folder / "mount") if storage.filesystem else None,
        "old": {name: _old(storage, root / "sys/block" / name) for name in members},
    }
    entry = journal.open("virtual", [item])
    try:
        for name in members:
            _prepare_queue(storage, root / "sys/block" / name)
        top = drives.devices[0]
        if storage.level:
            top = f"/dev/{item['array']}"
            _must(run, storage.array_command(item["array"], list(drives.devices)))
        if storage.filesystem:
            _must(run, [*FILESYSTEMS[storage.filesystem], top])
            os.mkdir(item["mount"])
            options = MOUNT_OPTIONS.get(storage.filesystem, ())
            _must(run, ["mount", "-t", storage.filesystem, *options, top, item["mount"]])
        yield Built(item["mount"] or top, drives)
    finally:
        with interrupt.held():
            virtual.take_down(item, root, umount)
            journal.close(entry)


def _must(run: Run, argv: Sequence[str]) -> None:
    done = run(argv)
    if done.returncode != 0:
        said = (done.stderr or done.stdout or "no reason given").strip().splitlines()
        raise SeekwiseError(f"`{' '.join(argv)}` failed: {said[-1] if said else 'no reason given'}")


def _old(storage: Storage, folder: Path) -> dict[str, str]:
    """What the queue settings are now, in the order in which they can be restored: scheduler first."""
    names = dict.fromkeys(name for name, _ in storage.queue())
    found = {name: sysfs.read(folder / name) for name in names}
    scheduler = found.get("queue/scheduler") or ""
    found["queue/scheduler"] = next((word[1:-1] for word in scheduler.split() if word.startswith("[")), scheduler)
    return {name: value for name, value in found.items() if value}


def _prepare_queue(storage: Storage, folder: Path) -> None:
    for name, value in storage.queue():
        try:
            sysfs.write(folder / name, value)
        except OSError as error:
            raise SeekwiseError(
                f"{folder.name} {name} cannot be {value} ({error.strerror}), which its model asks for"
            ) from error


def wait_for(path: str, seconds: float = 5.0) -> None:
    """Devices appear a moment after they are made."""
    end = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise SeekwiseError(f"{path} did not appear within {seconds:.0f} s")
        time.sleep(0.02)
