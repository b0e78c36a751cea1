"""What `run --workers` costs and gains: CPU time per trial of driver and workers, and wall time with one and two workers, in pairs.

    python benches/spread.py [--trials 10000] [--ios 2500] [--pairs 3] [--folder /dev/shm]

Each figure is a slope between a quarter of the trials and all of them, so that starting the workers is not in it. Where other work disturbs the wall time,
CPU time tells: two workers on two cores take (workers + driver) / 2, one worker takes its own time with the driver beside it. `machine_scaling` is the yardstick, taken in turn with
the rest: how much two processes that share nothing do in the time of one (`seekwise bench`); two processors of a virtual machine rarely give 2.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import simulated

SIZES = [f"{kib}k" for kib in range(4, 76, 2)]
WORKLOAD = """threads = 4
block_bytes = {sizes}
random_ios = {ios}
size = "1g\""""


def run(folder: Path, trials: int, ios: int, workers: int | None) -> tuple[int, list[float]]:
    """(trials, [wall, CPU of the driver, CPU of the workers] in seconds)."""
    repetitions = max(1, trials // simulated.TRIALS_OF_A_REPETITION)
    study, db = folder / "spread.toml", folder / "spread.db"
    study.write_text(simulated.study("spread", workload=WORKLOAD.format(sizes=SIZES, ios=ios), repetitions=repetitions))
    found = simulated.ended(simulated.start(study, db, folder, workers))
    for each in folder.glob("spread.db*"):
        each.unlink()
    return repetitions * simulated.TRIALS_OF_A_REPETITION, found


def slope(folder: Path, trials: int, ios: int, workers: int | None) -> list[float]:
    """Milliseconds per trial: [wall, driver, workers]."""
    few, before = run(folder, trials // 4, ios, workers)
    many, after = run(folder, trials, ios, workers)
    return [1e3 * (late - early) / (many - few) for early, late in zip(before, after, strict=True)]


def machine_scaling() -> float:
    """Work of two processes in the time that one takes for its own, twice over: 2 where they do not hinder each other."""
    bench = [str(Path(sys.executable).with_name("seekwise")), "bench", "hdd-cfq", "--ios", "8000000"]
    walls = []
    for processes in (1, 2):
        began = time.monotonic()
        for each in [subprocess.Popen(bench, stdout=subprocess.DEVNULL) for _ in range(processes)]:
            each.wait()
        walls.append(time.monotonic() - began)
    return 2 * walls[0] / walls[1]


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--trials", type=int, default=10_000)
    asked.add_argument("--ios", type=int, default=2500, help="requests of each of four threads")
    asked.add_argument("--pairs", type=int, default=3)
    asked.add_argument("--folder", type=Path)
    words = asked.parse_args()
    if words.trials < (least := 2 * simulated.TRIALS_OF_A_REPETITION):
        asked.error(f"--trials: a slope needs {least} at least")
    with tempfile.TemporaryDirectory(dir=words.folder, prefix="seekwise-spread-") as name:
        folder = Path(name)
        alone, ones, twos, machine = [], [], [], []
        for _ in range(words.pairs):
            alone.append(slope(folder, words.trials, words.ios, None))
            ones.append(slope(folder, words.trials, words.ios, 1))
            machine.append(statistics.median(machine_scaling() for _ in range(5)))
            twos.append(slope(folder, words.trials, words.ios, 2))
    middle = [[statistics.median(column) for column in zip(*rows, strict=True)] for rows in (alone, ones, twos)]
    (_, process, _), (wall_one, driver_one, worker_one), (wall_two, driver, worker) = middle
    print(json.dumps({
        "trials": words.trials, "load_average": os.getloadavg()[0],
        "one_process_cpu_ms": round(process, 3), "driver_cpu_ms": round(driver, 3), "workers_cpu_ms": round(worker, 3),
        "overhead_cpu_ms": round(driver + worker - process, 3),
        "wall_ms_one_worker": round(wall_one, 3), "wall_ms_two_workers": round(wall_two, 3),
        "scaling_wall": [round(one[0] / two[0], 2) for one, two in zip(ones, twos, strict=True)],
        "machine_scaling": [round(each, 2) for each in machine],
        "scaling_by_cpu": round(max(worker_one, driver_one) / ((worker + driver) / 2), 2),
    }))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
