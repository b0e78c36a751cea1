"""Small units of work. By a new process each, as a command or an editor's save: within what bfq gives to a process that
has just begun. And by one process that goes on and on, as a server's log or a long pass through files does.

bfq gives 30 times the weight to a process until 3 s have passed or 120,000 sectors (61 MB) were served to it (Linux
v6.12 block/bfq-iosched.c: bfq_wr_coeff, max_service_from_wr). Beside four readers on a virtio disk the same work then
took a tenth of its usual time, and later up to twice as long.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from pydantic import PrivateAttr

from seekwise.workload import cold, data
from seekwise.workload.program import Place, Program, call

FOLDERS_OF_A_COMMAND = 2
"""100 files, 3 MB."""
SAVES, RECORDS = 2, 10
SAVE_BYTES = 40_000
RECORD_BYTES = 200
KEPT = 256


class Command(Program):
    """grep through 100 small files that are not in memory, one read after the other: as long as `git status`."""

    name = "command"
    title = "runs a short command through small files that are not in memory"
    unit = "command"
    kind = "command"
    age = "young"
    long_units = True
    expected_s = 0.1
    data_sets = ("small",)
    """Folders of small files."""

    def before(self, place: Place) -> None:
        """Evicts what the next command reads."""
        place.cached_share = cold.evict(data.files_in(data.next_small(place, FOLDERS_OF_A_COMMAND)))

    def work(self, place: Place) -> int:
        """Bytes of the files read."""
        paths = data.files_in(data.next_small(place, FOLDERS_OF_A_COMMAND))
        call(["grep", "-laF", "a word that no file has", *paths], fine=(0, 1))
        place.turn += FOLDERS_OF_A_COMMAND
        return sum(path.stat().st_size for path in paths)


class Save(Program):
    """A new process saves two documents as editors do (written, synced, renamed over the old one) and appends ten
    synced records."""

    name = "save"
    title = "saves two documents and appends ten records, each synced, in a new process"
    unit = "save"
    kind = "save"
    age = "young"
    reads = False
    writes = True
    long_units = True
    expected_s = 0.1

    def work(self, place: Place) -> int:
        """Bytes written; all of it is on the device at the end."""
        _in_new_process(lambda: _saved(place.own))
        return SAVES * SAVE_BYTES + RECORDS * RECORD_BYTES


def _saved(folder: Path) -> None:
    for number in range(SAVES):
        fresh = folder / f"{number}.new"
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.write(file, bytes(SAVE_BYTES))
        os.fsync(file)
        os.close(file)
        fresh.rename(folder / f"{number}")
    file = _log(folder)
    for _ in range(RECORDS):
        os.write(file, bytes(RECORD_BYTES))
        os.fdatasync(file)
    os.close(file)


def _log(folder: Path) -> int:
    return os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _in_new_process(work: Callable[[], None]) -> None:
    """Done by a process that did nothing before: to a scheduler it is a program that has just begun."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except OSError as error:
            status = error.errno or status
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise OSError(status, os.strerror(status)) if status > 0 else RuntimeError(f"killed by signal {-status}")


class Commit(Program):
    """One process appends records and waits for each, without a pause: a log, a queue, a database with one client."""

    name = "commit"
    title = "appends records and waits until each is on the device, one after the other"
    unit = "commit"
    kind = "commit"
    reads = False
    writes = True

    _file: int = PrivateAttr(-1)

    def open(self, place: Place) -> None:
        """The file that it appends to."""
        self._file = _log(place.own)

    def work(self, place: Place) -> int:
        """Bytes of the record, which is on the device at the end."""
        os.write(self._file, bytes(RECORD_BYTES))
        os.fdatasync(self._file)
        return RECORD_BYTES


class ReadWrite(Program):
    """One process reads small files that are not in memory and writes one for each: a conversion, an import, a mail
    store."""

    name = "read-write"
    title = "reads small files that are not in memory and writes as many, one after the other"
    unit = "file"
    kind = "read-write"
    writes = True
    data_sets = ("small",)
    """Small files."""

    def before(self, place: Place) -> None:
        """Evicts the next file."""
        place.cached_share = cold.evict([self._next(place)])

    def _next(self, place: Place) -> Path:
        names = data.small_files(place)
        return names[place.turn % len(names)]

    def work(self, place: Place) -> int:
        """Bytes read and written; the kernel writes them back."""
        text = self._next(place).read_bytes()
        (place.own / f"{place.turn % KEPT}").write_bytes(text)
        place.turn += 1
        return 2 * len(text)
