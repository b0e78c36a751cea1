"""The programs: how each is prepared in a folder, and what one visit of it measures.

A visit runs the program for some seconds under the setting in force and returns `done` (units per second), `time` (seconds per unit) and,
where there are enough units, `tail` (their 99th percentile). Servers and clients run under Seekwise's own supervisor: they end with the run,
whatever ends it. None of this is part of a use of `tune`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from real_programs import databases, web
from real_programs.shell import must, output_of
from seekwise.linux import page_cache

Visit = Callable[[float], dict[str, float]]
Prepare = Callable[[Path], AbstractContextManager[Visit]]
TREE_FILES_MOST = 50_000
LIBREOFFICE = Path("/usr/lib/libreoffice")
PACKAGE = "libreoffice-core-nogui"
COMPILED = ("stat.o", "init.o", "options.o", "filesetup.o", "io_u.o", "verify.o", "parse.o", "backend.o")


@dataclass(frozen=True)
class Program:
    """`needs`: what must be installed, {executable or file: Debian package}. `main`: the figure whose interval ends the measurement."""

    name: str
    title: str
    unit: str
    main: str
    needs: dict[str, str]
    prepare: Prepare
    room_bytes: int

    def missing(self) -> list[str]:
        return [
            package
            for what, package in self.needs.items()
            if not (shutil.which(what, path=PATH) or os.path.exists(what))
        ]

    def versions(self) -> str:
        words = must("dpkg-query", "-W", "-f", "${Package} ${Version}, ", *dict.fromkeys(self.needs.values()))
        return words.rstrip(", ")


PATH = os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin:/sbin:/bin"


def repeated(unit: Callable[[], None], before: Callable[[], None] = lambda: None) -> Visit:
    """Whole units until the seconds are over, each timed alone; what comes before one is not timed."""

    def visit(seconds: float) -> dict[str, float]:
        times: list[float] = []
        end = time.monotonic() + seconds
        while not times or time.monotonic() + 0.5 * times[-1] < end:
            before()
            begin = time.monotonic()
            unit()
            times.append(time.monotonic() - begin)
        mean = sum(times) / len(times)
        return {"time": mean, "done": 1 / mean, "units": float(len(times))}

    return visit


def cold(*folders: Path) -> None:
    for folder in folders:
        page_cache.evict(page_cache.files_below(folder, TREE_FILES_MOST))


@contextlib.contextmanager
def office(folder: Path) -> Iterator[Visit]:
    """A document converted by LibreOffice: nearly all of it is the cold start."""
    tree, profile = folder / "libreoffice", folder / "profile"
    shutil.copytree(LIBREOFFICE, tree, symlinks=False, ignore_dangling_symlinks=True)
    (folder / "page.txt").write_text("One line.\n")
    # Debian's copy names its own place in fundamentalrc: without BRAND_BASE_DIR the configuration would be read from there.
    command = (
        str(tree / "program/soffice"), f"-env:UserInstallation=file://{profile}", f"-env:BRAND_BASE_DIR=file://{tree}",
        "--headless", "--norestore", "--convert-to", "pdf", "--outdir", str(folder), str(folder / "page.txt"),
    )  # fmt: skip
    must(*command)

    def start() -> None:
        (folder / "page.pdf").unlink(missing_ok=True)
        must(*command)
        if not (folder / "page.pdf").exists():
            raise SystemExit("LibreOffice wrote no document")

    yield repeated(start, lambda: cold(tree, profile))


@contextlib.contextmanager
def git(folder: Path) -> Iterator[Visit]:
    """A clone through the pack protocol, and the status of what was checked out."""
    source, clone = folder / "source.git", folder / "clone"
    must("git", "clone", "-q", "--bare", f"file://{Path(__file__).parents[2]}", str(source))

    def cloned() -> None:
        must("git", "clone", "-q", f"file://{source}", str(clone))
        must("git", "-C", str(clone), "status", "--short")

    def before() -> None:
        shutil.rmtree(clone, ignore_errors=True)
        cold(source)

    yield repeated(cloned, before)


@contextlib.contextmanager
def unpack(folder: Path) -> Iterator[Visit]:
    """A package unpacked, and synced as dpkg does."""
    # apt gives its rights away for downloads: the folder must be open to its user.
    folder.chmod(0o711)
    must("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", PACKAGE, cwd=folder)
    package = next(folder.glob("*.deb"))
    place = folder / "unpacked"

    def unpacked() -> None:
        must("dpkg-deb", "-x", str(package), str(place))
        must("sync", "-f", str(place))

    def before() -> None:
        shutil.rmtree(place, ignore_errors=True)
        page_cache.evict([package])

    yield repeated(unpacked, before)


@contextlib.contextmanager
def rsync(folder: Path) -> Iterator[Visit]:
    """A tree of two thousand files copied, cold, each file synced."""
    source, copy = folder / "tree", folder / "copy"
    shutil.copytree(LIBREOFFICE, source, symlinks=False, ignore_dangling_symlinks=True)

    def before() -> None:
        shutil.rmtree(copy, ignore_errors=True)
        cold(source)

    yield repeated(lambda: must("rsync", "-a", "--fsync", f"{source}/", f"{copy}/") and None, before)


@contextlib.contextmanager
def compiled(folder: Path) -> Iterator[Visit]:
    """Eight files of fio's source compiled on two processors, sources cold."""
    from seekwise_proof.testbed import debian, programs

    archive = debian.fetch(programs.FIO, lambda _: None)
    must("tar", "-xf", str(archive), "-C", str(folder))
    source = next(each for each in folder.iterdir() if each.is_dir())
    must("./configure", cwd=source)
    must("make", "-j2", *COMPILED, cwd=source)

    def before() -> None:
        for name in COMPILED:
            (source / name).unlink(missing_ok=True)
        cold(source)

    yield repeated(lambda: must("make", "-j2", *COMPILED, cwd=source) and None, before)


@contextlib.contextmanager
def counted(folder: Path) -> Iterator[Visit]:
    """Four files of 512 MiB, cold, each read by a `wc -l` of its own at the same time."""
    files = [folder / f"log.{number}" for number in range(4)]
    line = b"2026-11-24T00:00:00 a line of a log that somebody counts\n"
    for file in files:
        with file.open("wb") as out:
            for _ in range(512):
                out.write((line * ((1 << 20) // len(line) + 1))[: 1 << 20])
            out.flush()
            os.fsync(out.fileno())
    command = " & ".join(f"wc -l {file.name}" for file in files) + "; wait"
    yield repeated(lambda: must("sh", "-c", command, cwd=folder) and None, lambda: page_cache.evict(files) and None)


@contextlib.contextmanager
def rocksdb(folder: Path) -> Iterator[Visit]:
    """Random gets of four threads beside a writer of 20 MB/s, all tables cold when a visit begins."""
    common = (
        "db_bench", f"--db={folder / 'db'}", "--num=3000000", "--value_size=400", "--compression_type=none",
        "--cache_size=67108864", "--statistics=false",
    )  # fmt: skip
    must(*common, "--benchmarks=fillrandom,compact")

    def visit(seconds: float) -> dict[str, float]:
        cold(folder / "db")
        text = output_of(
            *common, "--benchmarks=readwhilewriting", "--use_existing_db=1", "--threads=4", f"--duration={seconds:.0f}",
            "--benchmark_write_rate_limit=20971520", "--histogram=1",
        )  # fmt: skip
        rate = re.search(r"readwhilewriting\s*:.*?([\d.]+) ops/sec", text)
        tail = re.search(r"P99: ([\d.]+)", text)
        if rate is None or tail is None:
            raise SystemExit(f"db_bench said nothing of its rate: {text[-300:]}")
        return {"done": float(rate[1]), "time": 1 / float(rate[1]), "tail": float(tail[1]) / 1e6}

    yield visit


def command(*words: str) -> Prepare:
    """A command in a clone of this repository (`{}`), all of it cold: a new process each time."""

    @contextlib.contextmanager
    def prepared(folder: Path) -> Iterator[Visit]:
        tree = folder / "clone"
        must("git", "clone", "-q", f"file://{Path(__file__).parents[2]}", str(tree))
        (folder / "own").mkdir()
        typed = [word.replace("{}", str(tree)).replace("{own}", str(folder / "own")) for word in words]
        yield repeated(lambda: must(*typed, cwd=folder) and None, lambda: cold(tree))

    return prepared


@contextlib.contextmanager
def looked_up(folder: Path) -> Iterator[Visit]:
    """Three hundred rows of a cold table of 200 MB looked up by a new process."""
    table = folder / "rows.db"
    link = sqlite3.connect(table)
    link.execute("CREATE TABLE row (number INTEGER PRIMARY KEY, text BLOB)")
    link.executemany("INSERT INTO row (text) VALUES (?)", ((os.urandom(400),) for _ in range(400_000)))
    link.commit()
    link.close()
    words = (
        "import random, sqlite3, sys; link = sqlite3.connect(sys.argv[1]);"
        "[link.execute('SELECT text FROM row WHERE number = ?', (random.randrange(1, 400_000),)).fetchone() for _ in range(300)]"
    )
    yield repeated(
        lambda: must("python3", "-I", "-c", words, str(table)) and None, lambda: page_cache.evict([table]) and None
    )


@contextlib.contextmanager
def mirrored(folder: Path) -> Iterator[Visit]:
    """Three thousand cold files of 30 kB, written into another folder by one process through a pipe, then synced."""
    tree, copy = folder / "tree", folder / "copy"
    for number in range(3000):
        place = tree / str(number % 50)
        place.mkdir(parents=True, exist_ok=True)
        (place / str(number)).write_bytes(os.urandom(30_000))

    def before() -> None:
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        cold(tree)

    line = f"tar -C {tree} -cf - . | tar -C {copy} -xf - && sync -f {copy}"
    yield repeated(lambda: must("sh", "-c", line) and None, before)


@contextlib.contextmanager
def compared(folder: Path) -> Iterator[Visit]:
    """Two files of 512 MiB that do not differ, cold."""
    files = [folder / "one", folder / "other"]
    block = os.urandom(1 << 20)
    for file in files:
        file.write_bytes(b"".join(block for _ in range(512)))
    yield repeated(lambda: must("cmp", *map(str, files)) and None, lambda: page_cache.evict(files) and None)


COMMITS = (
    "import sqlite3, sys; link = sqlite3.connect(sys.argv[1], isolation_level=None); link.execute('PRAGMA journal_mode=WAL');"
    "link.execute('PRAGMA synchronous=FULL'); link.execute('CREATE TABLE IF NOT EXISTS event (text)');"
    "[link.execute('INSERT INTO event VALUES (1)') for _ in range(int(sys.argv[2]))]"
)
MAILS = (
    "import os, sys; from pathlib import Path; home = Path(sys.argv[1]);"
    "[(home / name).mkdir(parents=True, exist_ok=True) for name in ('tmp', 'new')]\n"
    "for number in range(10):\n"
    "    with open(home / 'tmp' / str(number), 'wb') as mail:\n"
    "        mail.write(os.urandom(8000)); mail.flush(); os.fsync(mail.fileno())\n"
    "    os.replace(home / 'tmp' / str(number), home / 'new' / str(number))\n"
    "    place = os.open(home / 'new', os.O_RDONLY); os.fsync(place); os.close(place)\n"
)
INSERTS = (
    "import sqlite3, sys; link = sqlite3.connect(sys.argv[1], isolation_level=None); link.execute('PRAGMA synchronous=FULL');"
    "link.execute('CREATE TABLE IF NOT EXISTS event (text)'); [link.execute('INSERT INTO event VALUES (1)') for _ in range(int(sys.argv[2]))]"
)
PROGRAMS = {
    program.name: program
    for program in (
        Program("pgbench", "pgbench, PostgreSQL", "transaction", "done",
                {"/usr/lib/postgresql": "postgresql", "pgbench": "postgresql"}, databases.postgresql, 4 << 30),
        Program("sysbench", "sysbench oltp_read_write, MariaDB", "transaction", "done",
                {"mariadbd": "mariadb-server", "sysbench": "sysbench"}, databases.mariadb, 4 << 30),
        Program("rocksdb", "db_bench readwhilewriting, RocksDB", "get", "done", {"db_bench": "rocksdb-tools"},
                rocksdb, 6 << 30),
        Program("nginx", "nginx with cold files, wrk", "page", "done",
                {"nginx": "nginx-light", "wrk": "wrk"}, web.nginx, 3 << 30),
        Program("libreoffice", "start of LibreOffice", "start", "time",
                {str(LIBREOFFICE): "libreoffice-writer-nogui"}, office, 1 << 30),
        Program("git", "git clone and git status", "clone", "time", {"git": "git"}, git, 1 << 30),
        Program("dpkg", "dpkg-deb -x of a package", "package", "time", {"dpkg-deb": "dpkg"}, unpack, 1 << 30),
        Program("rsync", "rsync of a tree", "tree", "time",
                {"rsync": "rsync", str(LIBREOFFICE): "libreoffice-writer-nogui"}, rsync, 1 << 30),
        Program("wc", "four wc -l of large files", "set", "time", {"wc": "coreutils"}, counted, 3 << 30),
        Program("compile", "make, eight files of C", "build", "time", {"gcc": "gcc", "make": "make"}, compiled, 1 << 30),
        Program("status", "git status", "command", "time", {"git": "git"}, command("git", "-C", "{}", "status"), 1 << 30),
        Program("log", "git log --stat of thirty commits", "command", "time", {"git": "git"},
                command("git", "-C", "{}", "log", "--stat", "-30"), 1 << 30),
        Program("checksums", "sha256sum of a folder's files", "command", "time", {"sha256sum": "coreutils"},
                command("sh", "-c", "sha256sum {}/docs/*/*.md {}/python/seekwise/uses/*"), 1 << 30),
        Program("archive", "tar of a source tree, not synced", "command", "time", {"tar": "tar"},
                command("tar", "-cf", "{own}/archive.tar", "{}"), 1 << 30),
        Program("inserts", "eight inserts into SQLite, each committed", "series", "time", {"python3": "python3"},
                command("python3", "-I", "-c", INSERTS, "{own}/few.db", "8"), 1 << 30),
        Program("saves", "five files written, synced and renamed", "series", "time", {"sync": "coreutils"},
                command("sh", "-c", "for n in 1 2 3 4 5; do head -c 30000 /dev/zero > {own}/new && sync {own}/new && mv {own}/new {own}/$n; done"), 1 << 30),
        Program("import", "a thousand inserts into SQLite, each committed", "series", "time", {"python3": "python3"},
                command("python3", "-I", "-c", INSERTS, "{own}/many.db", "1000"), 1 << 30),
        Program("lookups", "three hundred rows of a table", "command", "time", {"python3": "python3"}, looked_up, 1 << 30),
        Program("gzip", "gzip of a folder's sources", "command", "time", {"gzip": "gzip"},
                command("sh", "-c", "gzip -1c {}/crates/*/src/*.rs {}/tests/*/*.py > {own}/sources.gz"), 1 << 30),
        Program("zip", "python3 -m zipfile of a folder", "command", "time", {"python3": "python3"},
                command("python3", "-I", "-m", "zipfile", "-c", "{own}/docs.zip", "{}/docs", "{}/proof/docs"), 1 << 30),
        Program("diff", "diff -r of two source trees", "command", "time", {"diff": "diffutils"},
                command("sh", "-c", "test -d {own}/other || cp -r {} {own}/other; diff -rq {} {own}/other"), 1 << 30),
        Program("commit", "git commit, each object synced", "commit", "time", {"git": "git"},
                command("git", "-C", "{}", "-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync", "-c", "user.name=x", "-c", "user.email=x",
                        "commit", "-q", "--allow-empty", "-m", "x"), 1 << 30),
        Program("mails", "ten mails delivered into a Maildir", "series", "time", {"python3": "python3"},
                command("python3", "-I", "-c", MAILS, "{own}/mail"), 1 << 30),
        Program("events", "150 inserts into SQLite in WAL mode, each committed", "series", "time", {"python3": "python3"},
                command("python3", "-I", "-c", COMMITS, "{own}/events.db", "150"), 1 << 30),
        Program("mirror", "three thousand files through tar into another folder", "tree", "time", {"tar": "tar"}, mirrored, 1 << 30),
        Program("cmp", "cmp of two large files", "pair", "time", {"cmp": "diffutils"}, compared, 2 << 30),
    )
}  # fmt: skip


def memory_folder() -> tempfile.TemporaryDirectory[str]:
    """For logs of clients: in memory, so that they cause no I/O on the measured drive."""
    return tempfile.TemporaryDirectory(dir="/dev/shm", prefix="seekwise-programs-")
