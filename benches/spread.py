"""What `run --workers` costs and gains: CPU time per trial of driver and workers, and wall time with one and two workers, in pairs.

    python benches/spread.py [--trials 10000] [--ios 2500] [--pairs 3] [--folder /dev/shm]

Each figure is a slope between a quarter of the trials and all of them, so that starting the workers is not in it. Where other work disturbs the wall time,
CPU time tells: two workers on two cores take (workers + driver) / 2, one worker takes its own time with the driver beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from soak import RECORD_ONLY, TRIALS_OF_A_BLOCK

STUDY = """
name = "spread"
backend = "simulated"
[[system]]
name = "one"
drive = "wd2500ys"
[settings]
scheduler = ["none", "mq-deadline", "bfq"]
[[workload]]
operations = ["rand_read"]
threads = 4
block_bytes = ["4k", "6k", "8k", "10k", "12k", "14k", "16k", "18k", "20k", "22k", "24k", "26k",
  "28k", "30k", "32k", "34k", "36k", "38k", "40k", "42k", "44k", "46k", "48k", "50k",
  "52k", "54k", "56k", "58k", "60k", "62k", "64k", "66k", "68k", "70k", "72k", "74k"]
random_ios = {ios}
direct = true
size = "1g"
[design]
blocks = {blocks}
"""
TIMED = RECORD_ONLY.replace(
    "if __name__",
    """
import json, resource, time
def timed():
    began = time.monotonic()
    main()
    own, others = (resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps([time.monotonic() - began, own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime]))

if __name__""",
).replace("    main()\n", "    timed()\n")
TIMED = TIMED.replace("    timed()\n    own", "    main()\n    own")


def run(folder: Path, trials: int, ios: int, workers: int | None) -> tuple[int, list[float]]:
    """(trials, [wall, CPU of the driver, CPU of the workers] in seconds)."""
    blocks = max(1, trials // TRIALS_OF_A_BLOCK)
    study, db = folder / "spread.toml", folder / "spread.db"
    study.write_text(STUDY.format(ios=ios, blocks=blocks))
    words = [sys.executable, "-c", TIMED, str(study), str(db), *([str(workers)] if workers else [])]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "SEEKWISE_STATE": str(folder)}
    )
    for each in folder.glob("spread.db*"):
        each.unlink()
    return blocks * TRIALS_OF_A_BLOCK, json.loads(done.stdout)


def slope(folder: Path, trials: int, ios: int, workers: int | None) -> list[float]:
    """Milliseconds per trial: [wall, driver, workers]."""
    few, before = run(folder, trials // 4, ios, workers)
    many, after = run(folder, trials, ios, workers)
    return [1e3 * (late - early) / (many - few) for early, late in zip(before, after, strict=True)]


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--trials", type=int, default=10_000)
    asked.add_argument("--ios", type=int, default=2500, help="requests of each of four threads")
    asked.add_argument("--pairs", type=int, default=3)
    asked.add_argument("--folder", type=Path)
    words = asked.parse_args()
    with tempfile.TemporaryDirectory(dir=words.folder, prefix="seekwise-spread-") as name:
        folder = Path(name)
        alone, ones, twos = [], [], []
        for _ in range(words.pairs):
            alone.append(slope(folder, words.trials, words.ios, None))
            ones.append(slope(folder, words.trials, words.ios, 1))
            twos.append(slope(folder, words.trials, words.ios, 2))
    middle = [[statistics.median(column) for column in zip(*rows, strict=True)] for rows in (alone, ones, twos)]
    (_, process, _), (wall_one, driver_one, worker_one), (wall_two, driver, worker) = middle
    print(json.dumps({
        "trials": words.trials, "load_average": os.getloadavg()[0],
        "one_process_cpu_ms": round(process, 3), "driver_cpu_ms": round(driver, 3), "workers_cpu_ms": round(worker, 3),
        "overhead_cpu_ms": round(driver + worker - process, 3),
        "wall_ms_one_worker": round(wall_one, 3), "wall_ms_two_workers": round(wall_two, 3),
        "scaling_wall": [round(one[0] / two[0], 2) for one, two in zip(ones, twos, strict=True)],
        "scaling_by_cpu": round(max(worker_one, driver_one) / ((worker + driver) / 2), 2),
    }))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
