"""The file of records: one SQLite database, one committed row per trial.

    run     what was asked: study text, plan, seed, backend, target, and how it ended
    trial   what happened: the record as JSON, the columns one searches by beside it

Write-ahead log: a reader sees whole rows while a run writes, and a killed run loses at most the trial in progress.
A record is written once and never changed; a repeated trial is one more row with the next attempt number.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from seekwise import files, invocation, suggestion
from seekwise.errors import FULL, RefusedError, SeekwiseError, UsageError, reason
from seekwise.release import release
from seekwise.store import codec
from seekwise.store.record import Record
from seekwise.store.run_id import is_run_id, new_run_id

NEAR_ID = 0.93
"""Share of letters that an id has in common with one that was mistyped by a letter."""
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What a damaged file ends in: SQLite's word about it may itself quote bytes that are no text."""

IMPORTED = "imported"
"""Backend of runs that another tool measured, and their name where none was given."""

SCHEMA_VERSION = 2
# "SEEK" in ASCII: tells our files from other SQLite databases (PRAGMA application_id).
APPLICATION_ID = 0x5345454B

TABLES = """
CREATE TABLE run (
    run_id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    seekwise_version TEXT NOT NULL,
    name TEXT NOT NULL,
    backend TEXT NOT NULL,
    target TEXT,
    seed INTEGER NOT NULL,
    study TEXT NOT NULL,
    plan TEXT NOT NULL,
    ended_at TEXT,
    outcome TEXT
);
CREATE TABLE trial (
    run_id TEXT NOT NULL REFERENCES run (run_id),
    trial INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    repetition INTEGER NOT NULL,
    combination TEXT NOT NULL,
    setting TEXT NOT NULL,
    provenance TEXT NOT NULL,
    valid INTEGER NOT NULL,
    invalid_reason TEXT,
    seed INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (run_id, trial, attempt)
);
CREATE INDEX trial_by_combination ON trial (run_id, combination, setting, repetition);
"""


def default_path() -> Path:
    """`$SEEKWISE_DB`, else `$XDG_DATA_HOME/seekwise/records.db`, by default below `~/.local/share`."""
    if chosen := os.environ.get("SEEKWISE_DB"):
        return Path(chosen)
    home = os.environ.get("XDG_DATA_HOME")
    return Path(home) / "seekwise" / "records.db" if home and os.path.isabs(home) else _in_home()


def _in_home() -> Path:
    return Path.home() / ".local" / "share" / "seekwise" / "records.db"


def typed(command: str, path: Path) -> str:
    """COMMAND with `--db PATH` where it would open another file: `sudo` gives it no variables and root's home."""
    default = _in_home() if command.startswith("sudo ") else default_path()
    is_default = path == default.absolute() and (os.geteuid() == 0 or not command.startswith("sudo "))
    return invocation.line(command if is_default else f"{command} --db {shlex.quote(str(path))}")


def now() -> str:
    """UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class Run:
    """One row of `run`. `outcome`: None while running or after a kill, else complete, interrupted or failed: why."""

    run_id: str
    created_at: str
    seekwise_version: str
    name: str
    backend: str
    target: str | None
    seed: int
    study: str
    plan: dict[str, Any]
    ended_at: str | None
    outcome: str | None
    database: Path | None = field(default=None, compare=False)
    """The file it was read from; None for a run that is not stored yet."""

    def typed(self, command: str) -> str:
        """COMMAND about this run as it works when typed."""
        return invocation.line(command) if self.database is None else typed(command, self.database)

    @classmethod
    def begun(
        cls,
        name: str,
        backend: str,
        plan: dict[str, object],
        *,
        seed: int,
        target: str | None = None,
        study: str = "",
        run_id: str | None = None,
    ) -> Run:
        """A run that begins now, not yet in the database. `study`: its text; `run_id`: where records have one
        already."""
        return cls(run_id or new_run_id(), now(), release(), name, backend, target, seed, study, plan, None, None)

    @property
    def failed(self) -> bool:
        """Whether an error ended it; a run that was killed has no outcome and counts as not failed."""
        return self.outcome is not None and self.outcome.split(":")[0] == "failed"

    @property
    def study_name(self) -> str:
        """The study's own name; `name` may be one that the run was given."""
        return str(self.plan.get("study") or self.name)

    @property
    def is_of_study(self) -> bool:
        """Made by `run` or an import; else by `tune`."""
        return self.plan.get("kind") != "live"

    @property
    def title(self) -> str:
        """`study queue-depth`, or what the run of `tune` is called."""
        return f"study {self.study_name}" if self.is_of_study else self.name

    @property
    def given_name(self) -> str | None:
        """What `--name` said, if anything."""
        if self.backend == IMPORTED:
            return self.name if self.name != IMPORTED else None
        return str(self.plan.get("name") or "") or (self.name if self.name != self.study_name else None)


class Store:
    """An open file of records."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._run: Run | None = None
        """The run that this process adds to."""
        self.damage: list[str] = []
        """Rows that could not be read and were left out, as sentences."""

    @classmethod
    def open(cls, path: Path | None = None, *, create: bool = True) -> Store:
        """Opens the file, makes it when absent and `create`; a newer or foreign file is refused, not touched."""
        path = (path or default_path()).absolute()
        try:
            is_there = _is_there(path)
            if not create and not (is_there and (not path.is_file() or path.stat().st_size)):
                raise UsageError(
                    f"no records at {path}", hint="run `seekwise tune PATH` first, or name the file with `--db`"
                )
            if is_there and not path.is_file():
                # A pipe would keep us waiting for ever.
                raise UsageError(f"{path} is no file of records", hint="name another file with `--db`")
            if not create and (not _may_write(path) or _is_foreign(path)):
                return cls(path, _read_only(path))
            files.make_folders(path.parent)
            if not is_there:
                _check_own(path.parent)
                files.claim(path)
            _check_own(path)
            connection = sqlite3.connect(path, timeout=10.0, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise SeekwiseError(
                f"cannot open records {path}: {reason(error)}", hint="name another file with `--db`"
            ) from error
        try:
            _check_or_create(path, connection)
        except UNREADABLE as error:
            connection.close()
            raise _translated(path, error) from error
        except BaseException:
            connection.close()
            raise
        return cls(path, connection)

    def close(self) -> None:
        """Without a commit: each row was committed as it was added."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_run(self, run: Run) -> None:
        """Committed at once. Raises SeekwiseError (exit status 1), naming the file, where the disk is full or the file
        locked or damaged."""
        self._write(lambda: self._insert_run(run))
        self._run = run

    def _insert_run(self, run: Run) -> None:
        self._connection.execute(
            "INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                run.run_id,
                run.created_at,
                run.seekwise_version,
                run.name,
                run.backend,
                run.target,
                run.seed,
                run.study,
                json.dumps(run.plan),
                run.ended_at,
                run.outcome,
            ),
        )

    def end_run(self, run_id: str, outcome: str | None) -> None:
        """Sets the time of the end to now; `outcome` as in `Run`."""
        self._change("UPDATE run SET ended_at = ?, outcome = ? WHERE run_id = ?", (now(), outcome, run_id))

    @contextmanager
    def ending(self, run_id: str) -> Iterator[None]:
        """Writes down how a run ends, whatever ends it; nothing for one that was refused before it was added."""
        try:
            yield
        except BaseException as error:
            said = error.message if isinstance(error, SeekwiseError) else repr(error)
            with suppress(SeekwiseError):
                self.end_run(run_id, "interrupted" if isinstance(error, KeyboardInterrupt) else f"failed: {said}")
            raise
        self.end_run(run_id, "complete")

    def change_plan(self, run_id: str, plan: dict[str, object]) -> None:
        """A plan that went on growing while the run measured."""
        self._change("UPDATE run SET plan = ? WHERE run_id = ?", (json.dumps(plan), run_id))

    def add(self, record: Record) -> None:
        """Commits one trial. When this returns, the row survives a kill of this process."""
        self.add_rows([codec.row(record)])

    def add_rows(self, rows: Sequence[codec.StoredRecord]) -> None:
        """Commits trials, all or none of them: one fsync, however many there are."""
        self._write(lambda: self._insert_all(rows))

    def _insert_all(self, rows: Sequence[codec.StoredRecord]) -> None:
        with _transaction(self._connection):
            self._insert_rows(rows)

    def _write(self, change: Callable[[], None]) -> None:
        """Carries out a change. What is measured is kept also where another program does not let go of the file: in one
        beside it, with all of the run."""
        try:
            change()
        except UNREADABLE as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY or self._run is None:
                raise _translated(self.path, error) from error
            self._go_beside(self._run)
            self._write(change)

    def _go_beside(self, run: Run) -> None:
        so_far: list[tuple[Any, ...]] = []
        with suppress(sqlite3.Error):
            # Of a file with a write-ahead log, readers are not kept out.
            so_far = self._connection.execute("SELECT * FROM trial WHERE run_id = ?", (run.run_id,)).fetchall()
        beside = Store.open(self.path.with_name(f"{self.path.stem}-{run.run_id}.db"))
        self._connection.close()
        print(
            f"warning: another program keeps {self.path} locked: run {run.run_id} goes to {beside.path}",
            file=sys.stderr,
        )
        self.path, self._connection, self._run = beside.path, beside._connection, None
        self._insert_run(run)
        self.add_rows([codec.StoredRecord(*row) for row in so_far])

    def _insert_rows(self, rows: Sequence[codec.StoredRecord]) -> None:
        values = [tuple(getattr(row, name) for name in codec.StoredRecord.__dataclass_fields__) for row in rows]
        self._connection.executemany("INSERT INTO trial VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def runs(self) -> list[Run]:
        """Every run that can be read, oldest first; of any other `damage` tells."""
        runs = []
        for row in self._rows("SELECT * FROM run ORDER BY created_at, run_id", ()):
            try:
                runs.append(_run(row, self.path))
            except (ValueError, TypeError, RecursionError) as error:
                self.damage.append(f"run {str(row['run_id'])[:40]} cannot be read and is left out: {str(error)[:100]}")
        return runs

    def run(self, name: str) -> Run:
        """The run of that id, the newest of that name (`--name`, or of the study), or the run whose id alone begins so.

        `last` is the newest run that did not fail; the newest of all where every run failed.
        """
        runs = self.runs()
        if not runs and self.damage:
            raise SeekwiseError(f"no run in {self.path} can be read: {self.damage[0]}")
        if not runs:
            raise UsageError(f"no runs in {self.path}", hint="make one with `seekwise tune PATH`")
        if name == "last":
            return next((run for run in reversed(runs) if not run.failed), runs[-1])
        exact = [run for run in runs if run.run_id == name]
        # Of several runs with one name (`tune --name before`, `import --name before`) the newest is meant.
        named = [run for run in runs if run.name == name]
        matching = exact or named[-1:] or [run for run in runs if run.run_id.startswith(name)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise UsageError(f"`{name}` begins {len(matching)} runs", hint=f"for example {matching[-1].run_id}")
        known = ", ".join(run.run_id for run in runs[-3:])
        names = ["last", *(spelling for run in runs for spelling in (run.run_id, run.name))]
        # Ids of one day differ by their last letters: any is as near as another.
        cutoff = NEAR_ID if is_run_id(name) else suggestion.CUTOFF
        otherwise = f"newest runs: {known}; `seekwise results` lists more"
        if os.path.isfile(name):
            otherwise = f"results of other tools become a run: `seekwise import {shlex.quote(name)}`"
        hint = suggestion.hint(name, names, otherwise, cutoff)
        raise UsageError(f"run `{name}` is unknown", hint=hint)

    def named(self, name: str) -> list[Run]:
        """All runs of that name that did not fail, the oldest first; else the one run that `name` means."""
        return [run for run in self.runs() if run.name == name and not run.failed] or [self.run(name)]

    def records(self, run_id: str, *, brief: bool = False) -> Iterator[Record]:
        """Records of a run by trial and attempt, invalid ones included, one at a time. `brief`: as `codec.Brief`
        decodes them, for verdicts."""
        decode = codec.Brief().decode if brief else codec.decode
        query = "SELECT record FROM trial WHERE run_id = ? ORDER BY trial, attempt"
        try:
            with closing(self._connection.execute(query, (run_id,))) as cursor:
                for (text,) in cursor:
                    yield self._record(run_id, text, decode)
        except UNREADABLE as error:
            raise _translated(self.path, error) from error

    def _record(self, run_id: str, text: str, decode: Callable[[str], Record]) -> Record:
        try:
            return decode(text)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise SeekwiseError(
                f"a record of run {run_id} in {self.path} cannot be read: {type(error).__name__} {str(error)[:100]}",
                hint="`sqlite3 FILE .recover` may save what is left; other runs are not affected",
            ) from error

    def attempts(self, run_id: str) -> dict[int, tuple[int, bool]]:
        """{trial: (attempts so far, one of them valid)} of a run."""
        rows = self._rows(
            "SELECT trial, max(attempt) AS attempts, max(valid) AS valid FROM trial WHERE run_id = ? GROUP BY trial",
            (run_id,),
        )
        return {row["trial"]: (row["attempts"], bool(row["valid"])) for row in rows}

    def count(self, run_id: str) -> tuple[int, int]:
        """(rows, valid rows) of a run."""
        row = self._rows("SELECT count(*) AS n, total(valid) AS valid FROM trial WHERE run_id = ?", (run_id,))[0]
        return row["n"], int(row["valid"])

    def _rows(self, query: str, values: tuple[object, ...]) -> list[sqlite3.Row]:
        try:
            with closing(self._connection.execute(query, values)) as cursor:
                cursor.row_factory = sqlite3.Row
                return cursor.fetchall()
        except UNREADABLE as error:
            raise _translated(self.path, error) from error

    def _change(self, query: str, values: tuple[object, ...]) -> None:
        self._write(lambda: self._connection.execute(query, values).close())


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _run(row: sqlite3.Row, database: Path) -> Run:
    fields = dict(row)
    fields["plan"] = json.loads(fields["plan"])
    if not isinstance(fields["plan"], dict):
        raise TypeError("its plan is none")
    for name, kind in (
        ("run_id", str),
        ("created_at", str),
        ("name", str),
        ("backend", str),
        ("study", str),
        ("seed", int),
    ):
        if not isinstance(fields[name], kind):
            raise TypeError(f"its {name} is none")
    for name in ("target", "ended_at", "outcome", "seekwise_version"):
        if not isinstance(fields[name], str | None):
            raise TypeError(f"its {name} is none")
    return Run(**fields, database=database)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _check_own(path: Path) -> None:
    """SQLite opens by name, and follows a link in that of the file (in those of its logs none)."""
    if _is_foreign(path):
        raise RefusedError(
            f"other users can change the folder or file {path}, and with it where records are written",
            hint="name a file in a folder of your own with `--db`",
        )


def _is_there(path: Path) -> bool:
    """Whether there is a file. Raises PermissionError below a folder that may not be looked into, which `exists` does
    in some Pythons only."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _is_foreign(path: Path) -> bool:
    """For root: whether another user can put something else in this place. Who called `sudo` may become root anyhow."""
    if os.geteuid() != 0:
        return False
    caller = os.environ.get("SUDO_UID", "")
    has_other_name = path.is_file() and path.stat().st_nlink > 1
    return has_other_name or files.others_may_change(path, int(caller) if caller.isdecimal() else 0)


def _may_write(path: Path) -> bool:
    """Whether file and folder can be written: a reader in write-ahead mode needs both."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _read_only(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing at all, not even beside the file; a log beside it that is not yet taken in is
    not read."""
    kind = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
    connection = None
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?{kind}", uri=True, timeout=10.0, isolation_level=None)
        connection.text_factory = _text
        _check(path, connection)
    except UNREADABLE as error:
        if connection is not None:
            connection.close()
        raise _translated(path, error, reading=True) from error
    except BaseException:
        if connection is not None:
            connection.close()
        raise
    return connection


def _check(path: Path, connection: sqlite3.Connection) -> int:
    """Refuses another program's file and one of another version; the number of tables."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if tables and application != APPLICATION_ID:
        raise SeekwiseError(f"{path} is a database of another program", hint="name another file with `--db`")
    if version > SCHEMA_VERSION:
        raise SeekwiseError(
            f"{path} was written by a newer seekwise (schema {version}, this one knows {SCHEMA_VERSION})",
            hint="use that seekwise, or name another file with `--db`; the file was not touched",
        )
    if tables and version < SCHEMA_VERSION:
        raise SeekwiseError(
            f"{path} holds runs of a seekwise from before the first release, which this one does not read",
            hint="move the file away, or name another one with `--db`; studies can be run again from their files",
        )
    return tables


def _check_or_create(path: Path, connection: sqlite3.Connection) -> None:
    connection.text_factory = _text
    tables = _check(path, connection)
    connection.execute("PRAGMA journal_mode = WAL")
    # FULL: a committed row also survives power loss. One fsync per trial costs nothing beside a trial.
    connection.execute("PRAGMA synchronous = FULL")
    if not tables:
        # All or nothing: two processes may come here at once, the second one finds the tables made.
        with _transaction(connection):
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                for statement in TABLES.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _translated(path: Path, error: Exception, *, reading: bool = False) -> SeekwiseError:
    """SQLite's error as one of ours, naming the file."""
    text = reason(error)
    # An extended code holds the plain one in its lowest byte (https://www.sqlite.org/rescode.html).
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) or isinstance(error, UnicodeDecodeError):
        return SeekwiseError(
            f"records {path} are unreadable: {text}",
            hint="move the file away or name another with `--db`; `sqlite3 FILE .recover` may save its rows",
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        # The file of shared memory beside the log cannot grow: an I/O error to SQLite.
        text = FULL if files.is_full(path.parent) else text
        return SeekwiseError(
            f"cannot write records to {path}: {text}", hint="make room there, or name another file with `--db`"
        )
    if reading:
        return SeekwiseError(f"cannot read records {path}: {text}", hint="name another file with `--db`")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return SeekwiseError(f"cannot write records to {path}: {text}", hint="name another file with `--db`")
    return SeekwiseError(f"records {path}: {text}")
