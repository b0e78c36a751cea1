"""Programs that go through folders of small files: tar, find with grep, a file server's clients, unpacking,
compiling."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from seekwise.workload import cold, data
from seekwise.workload.program import Place, Program, call, durable, durable_together, synced

FOLDERS_BACKED_UP = 8
"""In one pass: a few hundred files."""
FOLDERS_SEARCHED = 128
"""In one search: a few thousand files. Seen on a virtio disk while a file is copied: through 400 files bfq took 0.25 of
the other schedulers' time, as it favours what has just begun, through 3,200 0.40; grep through 8,000 took 0.7."""
KEPT = 4


def _bytes(paths: list[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


class Backup(Program):
    """A pass over some folders and one large file, into an archive that is on the device at the end."""

    name = "backup"
    title = "backs up folders of small files and a large one with tar, none of them in memory"
    unit = "pass"
    kind = "backup"
    age = "grown"
    writes = True
    long_units = True
    expected_s = 1.0
    data_sets = ("small", "large")
    """Folders of small files and one of the large files."""

    def _sources(self, place: Place) -> tuple[list[Path], Path]:
        return data.next_small(place, FOLDERS_BACKED_UP), data.next_large(place)

    def before(self, place: Place) -> None:
        """Evicts what the next pass reads."""
        folders, large = self._sources(place)
        place.cached_share = cold.evict([*data.files_in(folders), large])

    def work(self, place: Place) -> int:
        """Bytes of the archive, which is on the device at the end. Raises RuntimeError if tar fails."""
        folders, large = self._sources(place)
        archive = place.own / f"{place.turn % KEPT}.tar"
        archive.unlink(missing_ok=True)
        call(["tar", "-cf", str(archive), "-C", str(place.data), *(str(folder.relative_to(place.data)) for folder in folders),
              str(large.relative_to(place.data))])  # fmt: skip
        durable(archive)
        place.turn += FOLDERS_BACKED_UP
        return archive.stat().st_size


GREP_EACH_FILE = ("-type", "f", "-exec", "grep", "-laF", "a word that no file has", "{}", "+")


class Search(Program):
    """find and grep: every file below some folders is opened and read. Names and inodes are in memory, contents are
    not."""

    name = "search"
    title = "searches folders of small files with find and grep, their contents not in memory"
    unit = "search"
    kind = "search"
    age = "grown"
    long_units = True
    expected_s = 2.5
    data_sets = ("small",)
    """Folders of small files."""

    def before(self, place: Place) -> None:
        """Evicts the contents; names and inodes stay in memory."""
        place.cached_share = cold.evict(data.files_in(data.next_small(place, FOLDERS_SEARCHED)))

    def work(self, place: Place) -> int:
        """Bytes of the files searched. grep's status 1 (no match) is the expected one."""
        folders = data.next_small(place, FOLDERS_SEARCHED)
        call(["find", *map(str, folders), *GREP_EACH_FILE], fine=(0, 1))
        place.turn += FOLDERS_SEARCHED
        return _bytes(data.files_in(folders))


class Fetch(Program):
    """A client of a file server gets a folder: each file is opened, read and sent on."""

    name = "fetch"
    title = "reads folders of small files and large ones, as a file server does for its clients, none of them in memory"
    unit = "file"
    kind = "server"
    data_sets = ("small", "parts")
    """Small files, and now and then a large one."""

    def before(self, place: Place) -> None:
        """Evicts the file that is served next."""
        place.cached_share = cold.evict([data.next_served(place)])

    def work(self, place: Place) -> int:
        """Bytes sent to /dev/null, which takes a client's place."""
        path = data.next_served(place)
        with path.open("rb", buffering=0) as source, open(os.devnull, "wb", buffering=0) as client:
            moved = 0
            while piece := source.read(SERVED_BYTES):
                moved += client.write(piece)
        place.turn += 1
        return moved


SERVED_BYTES = 128 << 10
"""Of one read: what Samba and the kernel's NFS server take at a time is of this order."""


class StoreFiles(Program):
    """A client of a file server stores files, and each is on the device before the client is told so."""

    name = "store"
    title = "stores small files and large ones, each durable before the next, as a file server does for its clients"
    unit = "file"
    kind = "server"
    reads = False
    writes = True
    data_sets = ("small", "parts")
    """Small and large files; only their sizes are used, for the files that are written."""

    def open(self, place: Place) -> None:
        """Makes the random bytes that all files of this worker are filled with."""
        _noise(place)

    def work(self, place: Place) -> int:
        """Bytes written; the file is fsynced before it counts. A folder is emptied and reused after some units."""
        size = data.next_served(place).stat().st_size
        folder = place.own / f"{place.turn // data.SMALL_PER_FOLDER % KEPT}"
        if place.turn % data.SMALL_PER_FOLDER == 0:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        path, left = folder / f"{place.turn % data.SMALL_PER_FOLDER}", size
        piece = _noise(place)
        with path.open("wb", buffering=0) as target:
            while left > 0:
                left -= target.write(piece[: min(left, len(piece))])
            os.fsync(target.fileno())
        place.turn += 1
        return size


_PIECES: dict[int, bytes] = {}


def _noise(place: Place) -> bytes:
    """What the network brought; the same for all files of a worker."""
    return _PIECES.setdefault(place.number, place.random.randbytes(SERVED_BYTES))


class Unpack(Program):
    """tar unpacks a source tree; the archive is not in memory, and what it holds is on the device at the end."""

    name = "unpack"
    title = "unpacks a source tree with tar, the archive not in memory"
    unit = "tree"
    kind = "search"
    age = "grown"
    writes = True
    long_units = True
    expected_s = 0.5
    data_sets = ("source",)
    """A source tree as an uncompressed archive."""

    def before(self, place: Place) -> None:
        """Removes the tree of the unit before and evicts the archive."""
        shutil.rmtree(place.own / "tree", ignore_errors=True)
        (place.own / "tree").mkdir()
        place.cached_share = cold.evict([place.data / "source" / data.ARCHIVE])

    def work(self, place: Place) -> int:
        """Bytes of the archive; every unpacked file is on the device at the end. Raises RuntimeError if tar fails."""
        archive, tree = place.data / "source" / data.ARCHIVE, place.own / "tree"
        call(["tar", "-xf", str(archive), "-C", str(tree)])
        durable_together(data.files_in([tree]))
        return archive.stat().st_size


class Compile(Program):
    """Python compiles a source tree that is not in memory: read, compute, write many small files."""

    name = "compile"
    title = "compiles a source tree that is not in memory"
    unit = "tree"
    kind = "search"
    age = "grown"
    writes = True
    long_units = True
    expected_s = 1.5
    data_sets = ("source",)
    """A source tree as an archive, unpacked once per worker."""

    def open(self, place: Place) -> None:
        """Unpacks the tree and waits until it is on the device."""
        tree = place.own / "tree"
        tree.mkdir(exist_ok=True)
        call(["tar", "-xf", str(place.data / "source" / data.ARCHIVE), "-C", str(tree)])
        synced(tree)

    def before(self, place: Place) -> None:
        """Removes what was compiled and evicts the sources."""
        for cache in (place.own / "tree").rglob("__pycache__"):
            shutil.rmtree(cache)
        place.cached_share = cold.evict(data.files_in([place.own / "tree"]))

    def work(self, place: Place) -> int:
        """Bytes of the compiled files, which are on the device at the end. Sources with syntax errors are expected
        (status 1)."""
        tree = place.own / "tree"
        call([sys.executable, "-I", "-S", "-m", "compileall", "-q", "-f", str(tree)], fine=(0, 1))
        compiled = data.files_in(list(tree.rglob("__pycache__")))
        durable_together(compiled)
        return _bytes(compiled)


class Sort(Program):
    """sort(1) of a file that is larger than its buffer: temporary files beside it, merged at the end."""

    name = "sort"
    title = "sorts a file that is not in memory, with temporary files beside it"
    unit = "file"
    kind = "stream"
    writes = True
    long_units = True
    expected_s = 1.5
    data_sets = ("text",)
    """One text file larger than sort's buffer of 8 MiB."""

    def before(self, place: Place) -> None:
        """Evicts the text."""
        place.cached_share = cold.evict([place.data / "text" / data.TEXT])

    def work(self, place: Place) -> int:
        """Bytes of input and output; temporary files are not counted. Raises RuntimeError if sort fails."""
        source, target = place.data / "text" / data.TEXT, place.own / "sorted"
        environment = {"LC_ALL": "C", "PATH": os.defpath}
        call(["sort", "-S", "8M", "-T", str(place.own), "-o", str(target), str(source)], env=environment)
        durable(target)
        return 2 * source.stat().st_size
