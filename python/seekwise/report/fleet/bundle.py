"""A host's runs as one file, made to be gathered: `seekwise export --bundle` there, `seekwise import *.bundle` anywhere.

    lines of JSON, compressed with zstandard: a header, then each run followed by its records, then `end` with their number

A bundle comes from another machine: its size is bounded, every line is checked, and one that breaks off is refused. A run is stored under its
id and its host's name, since runs of many hosts begin in the same minute.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

import zstandard

from seekwise import bounds
from seekwise.errors import SeekwiseError, UsageError
from seekwise.files import new_product, open_regular
from seekwise.release import release
from seekwise.report.fleet import checked
from seekwise.store import codec, damage
from seekwise.store.database import Run, now
from seekwise.store.record import Record
from seekwise.workload.live_plan import LivePlan

SCHEMA = "seekwise.bundle/1"
SUFFIX = ".bundle"
LEVEL = 9
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""May be half a character, which no file takes."""


@dataclass(frozen=True)
class Whole:
    """A run in a bundle, under the id that it gets in the store, and its records."""

    run: Run
    records: list[Record]


def write(path: Path, host: str, runs: Iterable[tuple[Run, Iterable[Record]]]) -> tuple[int, int]:
    """(runs, records) written; the file is there whole or not at all."""
    count_runs = count = 0
    try:
        pack = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        with new_product(path) as raw, pack.stream_writer(raw, closefd=False) as out:
            _line(out, {"schema": SCHEMA, "host": host, "made_at": now(), "seekwise": release()})
            for run, records in runs:
                count_runs += 1
                _line(out, {"run": asdict(run)})
                for record in records:
                    count += 1
                    _line(out, {"record": codec.to_document(record)})
            _line(out, {"end": {"runs": count_runs, "records": count}})
    except OSError as error:
        raise SeekwiseError(f"{path}: cannot be written: {error.strerror}", hint="name another file") from error
    return count_runs, count


def _line(out: IO[bytes], document: dict[str, object]) -> None:
    out.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")


def read(path: Path) -> Iterator[Whole]:
    """The runs of a bundle, each checked. Raises UsageError for what is no bundle, or not a whole one."""
    try:
        # A pipe or a device is not waited for.
        with open_regular(path) as raw:
            yield from _runs(path, raw)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a bundle") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _runs(path: Path, raw: IO[bytes]) -> Iterator[Whole]:
    begins = raw.read(len(zstandard.FRAME_HEADER))
    raw.seek(0)
    lines = _documents(path, raw)
    header = next(lines, None)
    if header is None and begins == zstandard.FRAME_HEADER:
        raise UsageError(f"{path} breaks off at its beginning", hint="copy it from its host again")
    schema = header.get("schema") if header else None
    if not isinstance(schema, str) or not schema.startswith("seekwise.bundle/"):
        raise UsageError(f"{path} is no bundle", hint="`seekwise export --bundle` makes one on each host")
    if schema != SCHEMA:
        raise UsageError(
            f"{path} is a {schema}, this seekwise knows {SCHEMA}", hint="use the newer seekwise to import it"
        )
    host = header.get("host") if header else None
    if not isinstance(host, str) or not host.strip():
        raise UsageError(f"{path} does not say which host it is of")
    current: Whole | None = None
    runs = records = 0
    seen: set[tuple[int, int]] = set()
    for number, line in enumerate(lines, start=2):
        if "end" in line:
            if line["end"] != {"runs": runs, "records": records} or next(lines, None) is not None:
                raise _broken(path, "its end does not match what it holds")
            if current is not None:
                yield current
            return
        try:
            if "run" in line:
                if current is not None:
                    yield current
                current, seen = Whole(_run(line["run"], host), []), set()
                runs += 1
                continue
            if current is None:
                raise ValueError("a record stands before its run")
            record = _record(line["record"], current.run.run_id)
            if not current.run.is_of_study:
                checked.check_period(record)
            if (record.trial, record.attempt) in seen:
                raise ValueError(f"trial {record.trial} stands there twice")
            seen.add((record.trial, record.attempt))
            current.records.append(record)
            records += 1
        except (SeekwiseError, *damage.GARBLED) as error:
            raise _broken(path, f"line {number}: {type(error).__name__} {str(error)[:80]}") from None
    raise UsageError(f"{path} breaks off after {records} records", hint="copy it from its host again")


def _broken(path: Path, what: str) -> UsageError:
    return UsageError(f"{path} is damaged: {what}", hint="make it anew with `seekwise export --bundle`")


def _documents(path: Path, raw: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The lines, one by one; a bundle that breaks off simply ends."""
    left: list[bytes] = []
    size = left_bytes = 0
    reader = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(raw, read_across_frames=False)
    while True:
        try:
            block = reader.read(1 << 20)
        except zstandard.ZstdError as error:
            raise UsageError(
                f"{path} is no bundle, or a damaged one ({str(error)[:60]})", hint="copy it from its host again"
            ) from None
        size += len(block)
        if size > bounds.BUNDLE_BYTES:
            raise UsageError(f"{path} is no bundle: it has more than {bounds.BUNDLE_BYTES >> 20} MiB")
        first, *more = block.split(b"\n")
        left.append(first)
        left_bytes += len(first)
        if left_bytes > bounds.BUNDLE_LINE_BYTES:
            raise UsageError(f"{path} is no bundle: a line has more than {bounds.BUNDLE_LINE_BYTES >> 20} MiB")
        whole = [b"".join(left), *more[:-1]] if more else []
        if more:
            left, left_bytes = [more[-1]], len(more[-1])
        for line in whole:
            try:
                found = json.loads(line, parse_constant=_no_number)
                if SURROGATE.search(line):
                    json.dumps(found, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                raise _broken(path, "a text is no Unicode") from None
            except (ValueError, RecursionError):
                raise _broken(path, "a line is no JSON") from None
            if not isinstance(found, dict):
                raise _broken(path, "a line is no object")
            yield found
        if not block:
            return


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _run(document: dict[str, Any], host: str) -> Run:
    run = Run(**{name: document[name] for name in Run.__dataclass_fields__})
    texts = (run.run_id, run.created_at, run.seekwise_version, run.name, run.backend, run.study)
    if (
        not all(isinstance(text, str) for text in texts)
        or not isinstance(run.plan, dict)
        or not checked.is_integer(run.seed)
    ):
        raise ValueError("a field of the run is of another type")
    if not all(isinstance(text, str | None) for text in (run.target, run.ended_at, run.outcome)):
        raise ValueError("a field of the run is of another type")
    if not re.fullmatch(r"[\w.:@-]{1,120}", run.run_id):
        raise ValueError("the run's id is none")
    if not run.is_of_study:
        LivePlan.from_document(run.plan)  # what is stored is shown
    place = re.sub(r"[^\w.-]", "_", host)[:100]
    return replace(run, run_id=run.run_id if run.run_id.endswith(f"@{place}") else f"{run.run_id}@{place}")


def _record(document: dict[str, Any], run_id: str) -> Record:
    record = replace(codec.from_document(document), run_id=run_id)
    checked.check(record)
    return record
