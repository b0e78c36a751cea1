"""Records as Parquet: a row per operation of a trial, with its device, for Dask, DuckDB and pandas; and the sums of millions of rows.

Text columns are dictionaries in the file. They are summed by their codes, a row group at a time, so that memory does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seekwise import bounds
from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.files import new_product, open_regular
from seekwise.report.fleet import rows
from seekwise.report.fleet.rows import FleetSums, Unit
from seekwise.store.record import Record

SCHEMA = "seekwise.parquet/1"
SUFFIX = ".parquet"
NAMES = ("host", "device", "model", "firmware", "kernel", "level", "load", "setting")
"""What tells rows apart, in this order."""
TEXTS = (*NAMES, "run_id", "cell", "operation", "job", "provenance")
NUMBERS = {
    "trial": "int64", "attempt": "int64", "block": "int64", "seed": "int64", "elapsed_s": "float64", "bytes": "int64", "ios": "int64",
    "rate_bytes_per_s": "float64", "iops": "float64", "latency_mean_ns": "float64", "latency_p50_ns": "float64",
    "latency_p99_ns": "float64", "latency_max_ns": "int64", "system_cpu_s": "float64",
}  # fmt: skip
VALUES = {"rate": "rate_bytes_per_s", "p99": "latency_p99_ns"}
COLUMNS = (*NAMES, *VALUES.values(), "valid", "foreground", "provenance")
"""What the sums need."""
DENSE_MOST = 2**22
"""Combinations of names up to which a table of all of them is faster than sorting."""
GROUP_ROWS = 1_000_000


def arrow() -> Any:
    """pyarrow; MissingError where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise MissingError(
            "Parquet needs pyarrow, which is not installed", hint="pip install 'seekwise[fleet]'"
        ) from None
    return pyarrow


def schema() -> Any:
    """Columns of the Parquet file; texts are dictionaries."""
    pa = arrow()
    text = pa.dictionary(pa.int32(), pa.string())
    columns = [pa.field(name, text) for name in TEXTS]
    columns += [pa.field(name, pa.type_for_alias(kind)) for name, kind in NUMBERS.items()]
    columns += [pa.field("started_at", pa.string()), pa.field("valid", pa.bool_()), pa.field("foreground", pa.bool_())]
    return pa.schema(columns, metadata={b"schema": SCHEMA.encode()})


def write(path: Path, runs: Iterable[Iterable[Record]]) -> int:
    """Rows written: every operation of every trial, invalid ones included and marked. The file is there whole or not at all."""
    pa = arrow()
    count = 0
    try:
        pack = {"compression": "zstd", "write_page_checksum": True}
        with new_product(path) as raw, pa.parquet.ParquetWriter(raw, schema(), **pack) as out:
            waiting: list[dict[str, object]] = []
            for records in runs:
                for row in _flat(records):
                    waiting.append(row)
                    count += 1
                    if len(waiting) == GROUP_ROWS // 10:
                        out.write_table(pa.Table.from_pylist(waiting, schema()))
                        waiting = []
            out.write_table(pa.Table.from_pylist(waiting, schema()))
    except OSError as error:
        raise SeekwiseError(
            f"{path}: cannot be written: {error.strerror or error}", hint="name another file"
        ) from error
    return count


def _flat(records: Iterable[Record]) -> Iterator[dict[str, object]]:
    unit = None
    for record in records:
        if unit is None or record.environment.get("devices"):
            unit = rows.unit_of(record.environment)
        for phase in record.phases:
            percentiles = phase.percentiles_ns
            job = str(phase.details.get("job", ""))
            yield {
                **{name: getattr(unit, name) for name in NAMES[:6]},
                "load": rows.load_of(record.combination, phase.operation, job), "setting": record.setting, "run_id": record.run_id,
                "cell": record.combination, "operation": phase.operation, "job": job, "provenance": record.provenance, "trial": record.trial,
                "attempt": record.attempt, "block": record.repetition, "seed": record.seed, "elapsed_s": phase.elapsed_s,
                "bytes": int(phase.bytes), "ios": int(phase.ios), "rate_bytes_per_s": phase.rate_bytes_per_s, "iops": phase.iops,
                "latency_mean_ns": phase.latency_mean_ns, "latency_p50_ns": percentiles.get("50"),
                "latency_p99_ns": percentiles.get("99"), "latency_max_ns": int(phase.latency_max_ns),
                "system_cpu_s": phase.cpu.system_cpu, "started_at": record.started_at, "valid": record.valid,
                "foreground": phase.details.get("role", "foreground") == "foreground",
            }  # fmt: skip


def summary(path: Path) -> FleetSums:
    """Sums of the measured rows that count. Raises UsageError for what is no such file."""
    pa = arrow()
    try:
        # Arrow would wait for a pipe.
        open_regular(path).close()
        known = pa.parquet.read_schema(path)
        said = (known.metadata or {}).get(b"schema", b"").decode(errors="replace")
        if said != SCHEMA or not set(COLUMNS) <= set(known.names):
            raise UsageError(f"{path} is no Parquet of Seekwise", hint="`seekwise export --parquet` makes one")
        file = pa.parquet.ParquetFile(path, read_dictionary=[*NAMES, "provenance"], page_checksum_verification=True)
        found = FleetSums()
        for group in range(file.num_row_groups):
            if file.metadata.row_group(group).num_rows > bounds.PARQUET_GROUP_ROWS:
                raise ValueError(f"a group has more than {bounds.PARQUET_GROUP_ROWS} rows")
            _add(found, file.read_row_group(group, columns=list(COLUMNS)))
    except (pa.ArrowException, OSError) as error:
        what = "it does not exist" if isinstance(error, FileNotFoundError) else str(error).splitlines()[0][:100]
        raise UsageError(f"{path} cannot be read as Parquet: {what}") from None
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        # Files of other programs have no checksums: damage in them shows only in what they hold.
        raise UsageError(
            f"{path} is damaged: {type(error).__name__}: {str(error)[:80]}", hint="export or copy it again"
        ) from None
    return found


def _add(found: FleetSums, table: Any) -> None:
    """Adds a row group: rows with equal names are summed under one number made of their codes."""
    coded = [_codes(table, name) for name in NAMES]
    provenance, names = _codes(table, "provenance")
    counts = table["valid"].to_numpy() & table["foreground"].to_numpy()
    counts &= provenance == (names.index("measured") if "measured" in names else -1)
    for codes, _ in coded:
        counts &= codes >= 0
    found.trials += int(counts.sum())
    first, group = _grouped(coded)
    keys = []
    for at in first:
        host, device, model, firmware, kernel, level, load, setting = (
            names[codes[at]] if codes[at] >= 0 else "" for codes, names in coded
        )
        keys.append((Unit(host, device, model, firmware, kernel, level), load, setting))
    for metric, column in VALUES.items():
        value = table[column].to_numpy()
        use = counts & np.isfinite(value) & (value > 0)
        logs = np.log(np.where(use, value, 1.0))
        number = np.bincount(group, weights=use, minlength=len(first))
        total = np.bincount(group, weights=logs, minlength=len(first))
        squares = np.bincount(group, weights=logs * logs, minlength=len(first))
        for at in np.flatnonzero(number):
            found.of(*keys[at], metric).add(int(number[at]), float(total[at]), float(squares[at]))


def _grouped(coded: list[tuple[np.ndarray, list[str]]]) -> tuple[np.ndarray, np.ndarray]:
    """(a row of each combination of codes, the combination of each row)."""
    key = np.zeros(len(coded[0][0]), dtype=np.int64)
    size = 1
    for codes, names in coded:
        # One more for rows without a text.
        key = key * (len(names) + 1) + codes + 1
        size *= len(names) + 1
        if size > DENSE_MOST:
            distinct, key = np.unique(key, return_inverse=True)
            size = len(distinct)
    place = np.zeros(size, dtype=np.int64)
    place[key] = np.arange(len(key))
    used = np.flatnonzero(np.bincount(key, minlength=size))
    number = np.zeros(size, dtype=np.int64)
    number[used] = np.arange(len(used))
    return place[used], number[key]


def _codes(table: Any, name: str) -> tuple[np.ndarray, list[str]]:
    """(code of each row, −1 for none; texts) of a column."""
    column = table[name].unify_dictionaries().combine_chunks()
    if hasattr(column, "chunks"):
        column = column.chunk(0) if column.num_chunks else arrow().array([], column.type)
    return column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), [
        str(each) for each in column.dictionary.to_pylist()
    ]
