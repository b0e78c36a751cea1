"""`results FILE.parquet` on many rows: writes a file of so many rows of 500 hosts and times the command.

python benches/parquet.py [--rows 10000000] [--folder /dev/shm]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from seekwise.report.fleet import parquet

HOSTS, GROUP = 500, 1_000_000
LOADS = (
    "rand_read use=database queries",
    "seq_write use=backup",
    "rand_write use=random-write",
    "seq_read use=streams",
)
SETTINGS = ("none", "mq-deadline", "bfq", "kyber")


def write(path: Path, count: int) -> None:
    pa = parquet.arrow()
    chosen = np.random.default_rng(1)
    own = chosen.normal(0, 0.03, HOSTS)
    with pa.parquet.ParquetWriter(path, parquet.schema(), compression="zstd") as out:
        for first in range(0, count, GROUP):
            size = min(GROUP, count - first)
            host = chosen.integers(HOSTS, size=size)
            load, setting = chosen.integers(len(LOADS), size=size), chosen.integers(len(SETTINGS), size=size)
            under = own[host] + 0.05 * setting + chosen.normal(0, 0.05, size)
            rate = 1e8 * np.exp(under)

            def text(codes: np.ndarray, names: list[str]) -> object:
                return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names))

            one = np.zeros(size, dtype=np.int64)
            columns = {
                "host": text(host, [f"host{number}" for number in range(HOSTS)]),
                "device": text(one, ["sda"]), "model": text(one, ["Disk 18T"]), "level": text(one, ["single"]),
                "firmware": text(host % 3, ["A", "B", "C"]), "kernel": text(host % 2, ["6.1.0", "6.8.0"]),
                "load": text(load, list(LOADS)), "setting": text(setting, list(SETTINGS)), "run_id": text(host, [f"run{n}" for n in range(HOSTS)]),
                "cell": text(load, list(LOADS)), "operation": text(load, [name.split()[0] for name in LOADS]), "job": text(one, [""]),
                "provenance": text(one, ["measured"]), "trial": np.arange(first, first + size), "attempt": one + 1, "block": one,
                "seed": one, "elapsed_s": one + 1.0, "bytes": rate.astype(np.int64), "ios": (rate / 4096).astype(np.int64),
                "rate_bytes_per_s": rate, "iops": rate / 4096, "latency_mean_ns": 1e6 * np.exp(-under), "latency_p50_ns": 9e5 * np.exp(-under),
                "latency_p99_ns": 5e6 * np.exp(-under + chosen.normal(0, 0.05, size)), "latency_max_ns": one + 10**7,
                "system_cpu_s": one + 0.2, "started_at": pa.array(["2026-11-23T09:00:00.000+00:00"]).take(pa.array(one)),
                "valid": one == 0, "foreground": one == 0,
            }  # fmt: skip
            out.write_table(pa.table([pa.array(columns[n]) if isinstance(columns[n], np.ndarray) else columns[n] for n in parquet.schema().names], schema=parquet.schema()))  # fmt: skip


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--rows", type=int, default=10_000_000)
    asked.add_argument("--folder", type=Path)
    words = asked.parse_args()
    with tempfile.TemporaryDirectory(dir=words.folder, prefix="seekwise-parquet-") as folder:
        path = Path(folder) / "fleet.parquet"
        write(path, words.rows)
        began = time.monotonic()
        command = [sys.executable, "-m", "seekwise.cli.main", "results", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        wall_s = time.monotonic() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = {
            "rows": words.rows, "file_mb": round(path.stat().st_size / 1e6, 1), "wall_s": round(wall_s, 2),
            "cpu_s": round(used.ru_utime + used.ru_stime, 2), "memory_mb": used.ru_maxrss // 1024,
        }  # fmt: skip
    print(done.stdout)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
