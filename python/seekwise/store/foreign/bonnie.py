"""bonnie++'s CSV: lines of 1.96 and later (with `format_version`), and of 1.03.

Three layouts are known by their number of fields. Format 1.98 (bonnie++ 2.00) puts the request size of the random test and
the number of its processes behind the chunk size, which the header that it prints does not say.
Rates are KiB/s, `+++++` means too fast to be measured. CPU is user and system together, so it is kept and not used as
system CPU. Latencies of 1.96 and later are the longest of a test. Per-character tests and file creation are left out.
"""

from __future__ import annotations

import csv
import re
from dataclasses import replace

from seekwise.store.foreign.model import KIB, Format, Given, Result, Source, phase
from seekwise.store.record import Operation, Phase
from seekwise.study.quantity import parse_bytes

TESTS_NEW: dict[Operation, tuple[int, int | None]] = {
    "seq_write": (9, 37),
    "mixed": (11, 38),
    "seq_read": (15, 40),
    "rand_read": (17, 41),
}
"""{operation: (field of the rate, field of the longest latency)}; `mixed` is the rewrite, `rand_read` the seeks."""
TESTS_OLD: dict[Operation, tuple[int, int | None]] = {
    "seq_write": (4, None),
    "mixed": (6, None),
    "seq_read": (10, None),
    "rand_read": (12, None),
}
FIELDS_NEW, FIELDS_OLD = 48, 27
INSERTED = 2
"""Fields that format 1.98 has in front of the first rate."""
CHUNK_BYTES = 8 * KIB
VERSION = re.compile(r"^1\.9[3-9]\d*$")
LATENCY_NS = {"us": 1e3, "ms": 1e6, "s": 1e9}
NAMES = {"seq_write": "put_block", "mixed": "rewrite", "seq_read": "get_block", "rand_read": "seeks"}


def _rows(source: Source) -> list[list[str]]:
    return [row for row in csv.reader(source.lines) if len(row) > 10 and row[0] != "format_version"]


def _is_new(row: list[str]) -> bool:
    return VERSION.match(row[0]) is not None


def _is_old(row: list[str]) -> bool:
    return len(row) == FIELDS_OLD and re.fullmatch(r"\d+[MGk]?(?::\S+)?", row[1]) is not None


def _recognises(source: Source) -> bool:
    if source.text.startswith("format_version,bonnie_version"):
        return True
    rows = _rows(source)
    return bool(rows) and (_is_new(rows[0]) or _is_old(rows[0]))


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    rows = _rows(source)
    if not rows:
        raise source.error("has bonnie++'s header, but no results")
    results = [result for number, row in enumerate(rows, 1) if (result := _result(source, number, row, given))]
    if not results:
        raise source.error(
            "no test was long enough to be measured", hint="a larger size (-s) than the memory is needed"
        )
    if left := len(rows) - len(results):
        note = f"{left} of {len(rows)} results of bonnie++ left out: every test was too fast to be measured"
        results[0] = replace(results[0], notes=(*results[0].notes, note))
    return results


def _result(source: Source, number: int, row: list[str], given: Given) -> Result | None:
    new = _is_new(row)
    where = f"result {number}"
    if not new and not _is_old(row):
        raise source.error(f"{where} has {len(row)} fields and no version that is known: {row[0][:20]!r}")
    if new and len(row) not in (FIELDS_NEW, FIELDS_NEW + INSERTED):
        raise source.error(
            f"{where} has {len(row)} fields instead of {FIELDS_NEW} or {FIELDS_NEW + INSERTED}; was the line cut off?"
        )
    shift = INSERTED if new and len(row) == FIELDS_NEW + INSERTED else 0
    size_text, _, chunk_text = (row[5] if new else row[1]).partition(":")
    chunk_text = (row[6] if new else "") or chunk_text
    size = _size(source, where, size_text)
    chunk = _size(source, where, chunk_text) if chunk_text else CHUNK_BYTES
    random_chunk = _size(source, where, row[7]) if shift and row[7] else chunk
    phases, fast = [], []
    for operation, (rate_place, latency_place) in (TESTS_NEW if new else TESTS_OLD).items():
        rate_field, latency_field = rate_place + shift, latency_place and latency_place + shift
        text = row[rate_field]
        if text in ("", "+++++", "+++"):
            fast += [NAMES[operation]] if text else []
            continue
        rate = source.number(text, f"{where}: {NAMES[operation]}")
        if rate > 0:
            cpu = row[rate_field + 1]
            longest = _latency_ns(source, where, row[latency_field]) if latency_field else 0.0
            used = random_chunk if operation == "rand_read" else chunk
            phases.append(_phase(operation, rate, size, used, longest, cpu))
    if not phases:
        return None
    notes = ["bonnie++'s CPU share is user and system CPU together: kept, but not used as system CPU"]
    notes.append("bonnie++ has no latency per request, only the longest: no mean, no p99")
    if fast:
        notes.append(f"too fast for bonnie++ to measure, left out: {', '.join(fast)}")
    return Result(
        phases=tuple(phases),
        tool=f"bonnie++-{row[1]}" if new else "bonnie++-1.03",
        threads=given.threads or (source.whole(row[3] or "1", f"{where}: concurrency", least=1) if new else 1),
        block_bytes=chunk,
        iodepth=1,
        setting=row[2] if new else row[0],
        more={"file_bytes": size},
        options={"version": row[0] if new else "1.03"},
        notes=tuple(notes),
    )


def _phase(operation: Operation, rate: float, size: int, chunk: int, longest_ns: float, cpu: str) -> Phase:
    details = {"test": NAMES[operation], "cpu_percent_user_and_system": cpu}
    if operation == "rand_read":
        # Seeks per second; every tenth block is written back as well.
        return phase(operation, elapsed_s=1.0, total_bytes=rate * chunk, ios=rate, max_ns=longest_ns, **details)
    # A rewrite reads and writes every block; bonnie++ counts it once.
    return phase(
        operation,
        elapsed_s=size / (rate * KIB),
        total_bytes=size,
        ios=size / chunk,
        max_ns=longest_ns,
        **details,
    )


def _size(source: Source, where: str, text: str) -> int:
    try:
        value = parse_bytes(text)
    except ValueError as error:
        raise source.error(f"{where}: size {text[:20]!r} {error}") from error
    if value <= 0:
        raise source.error(f"{where}: a size of {text!r}")
    return value


def _latency_ns(source: Source, where: str, text: str) -> float:
    match = re.fullmatch(r"(\d+)(us|ms|s)", text)
    if match is None:
        if text in ("", "+++++"):
            return 0.0
        raise source.error(f"{where}: latency {text[:20]!r} is none such as 58906us or 12ms")
    return int(match[1]) * LATENCY_NS[match[2]]


FORMAT = Format("bonnie++", "bonnie++ CSV", _recognises, _read, takes=("threads",))
