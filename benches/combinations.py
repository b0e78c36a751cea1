"""Ten thousand different combinations of 10,000 I/Os on two workers, and what a million would take at that pace.

    python benches/combinations.py [--cells 10000] [--workers 2] [--folder /dev/shm]

Combinations are request sizes × schedulers × queue depths, each once. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
from pathlib import Path

import simulated

SETTINGS = """scheduler = ["none", "mq-deadline", "bfq"]
queue_depth = [1, 2, 4, 8, 12, 16, 24, 32]"""
OF_A_SIZE = 24
STEP_BYTES = 512
ON_PAPER = 10**6


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--cells", type=int, default=10_000)
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--folder", type=Path)
    words = asked.parse_args()
    sizes = [4096 + STEP_BYTES * number for number in range(-(-words.cells // OF_A_SIZE))]
    workload = f'threads = 4\nrandom_ios = 2500\nsize = "1g"\nblock_bytes = {sizes}'
    with tempfile.TemporaryDirectory(dir=words.folder, prefix="seekwise-cells-") as name:
        folder = Path(name)
        study, db = folder / "cells.toml", folder / "cells.db"
        study.write_text(simulated.study("cells", workload=workload, repetitions=1, settings=SETTINGS))
        wall_s, driver_s, workers_s = simulated.ended(simulated.start(study, db, folder, words.workers))
        size = sum(path.stat().st_size for path in folder.glob("cells.db*"))
        with sqlite3.connect(db) as connection:
            trials, different = connection.execute(
                "SELECT count(*), count(DISTINCT cell || setting) FROM trial WHERE valid"
            ).fetchone()
    share = ON_PAPER / trials
    print(json.dumps({
        "trials": trials, "cells": different, "workers": words.workers, "load_average": os.getloadavg()[0],
        "wall_s": round(wall_s, 1), "driver_cpu_s": round(driver_s, 1), "workers_cpu_s": round(workers_s, 1), "store_mb": round(size / 1e6),
        "million": {"cpu_h": round(share * (driver_s + workers_s) / 3600, 2), "wall_h": round(share * wall_s / 3600, 2),
                    "wall_h_quiet": round(share * (driver_s + workers_s) / words.workers / 3600, 2), "store_gb": round(share * size / 1e9, 1)},
    }))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
