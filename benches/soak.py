"""Soak of `run --workers`: many trials on two workers, one of which is killed again and again; the store against that of one process.

    python benches/soak.py [--trials 100000] [--kill-every 20] [--folder /dev/shm/soak]

Prints one line of JSON. Exit status 1 if a trial is missing, there twice, or differs in a bit (`run_id` and `started_at` apart).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import simulated

WORKLOAD = """threads = [1, 2, 4, 8, 16, 32]
block_bytes = ["4k", "8k", "16k", "32k", "64k", "128k"]
random_ios = {ios}
size = "64m\""""


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The workers that a run has started and that live."""
    found = []
    try:
        children = psutil.Process(process.pid).children(recursive=True)
    except psutil.Error:
        return []
    for child in children:
        try:
            words = child.cmdline()
        except psutil.Error:
            continue
        if any("multiprocessing" in word for word in words) and not any("resource_tracker" in word for word in words):
            found.append(child)
    return found


def killing(process: subprocess.Popen[str], every_s: float, chosen: random.Random) -> int:
    """Kills a worker now and then until the run ends; how many."""
    killed = 0
    while process.poll() is None:
        until = time.monotonic() + chosen.uniform(0.5, 1.5) * every_s
        while time.monotonic() < until and process.poll() is None:
            time.sleep(0.1)
        living = workers_of(process) if process.poll() is None else []
        if living:
            try:
                chosen.choice(living).send_signal(signal.SIGKILL)
                killed += 1
            except psutil.Error:
                continue
    return killed


def digest(db: Path) -> tuple[int, int, str]:
    """(rows, different trials, digest of all records by trial) of the one run in a store."""
    found = hashlib.sha256()
    rows, trials = 0, set()
    with sqlite3.connect(db) as connection:
        for trial, attempt, text in connection.execute(
            "SELECT trial, attempt, record FROM trial ORDER BY trial, attempt"
        ):
            document = json.loads(text)
            del document["run_id"], document["started_at"]
            found.update(json.dumps([trial, attempt, document], sort_keys=True).encode())
            rows += 1
            trials.add(trial)
    return rows, len(trials), found.hexdigest()


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--trials", type=int, default=100_000)
    asked.add_argument("--ios", type=int, default=40, help="requests of each thread in a trial")
    asked.add_argument("--kill-every", type=float, default=20.0, help="seconds, on average")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--folder", type=Path)
    words = asked.parse_args()
    with tempfile.TemporaryDirectory(dir=words.folder, prefix="seekwise-soak-") as name:
        folder = Path(name)
        study = folder / "soak.toml"
        repetitions = max(1, -(-words.trials // simulated.TRIALS_OF_A_REPETITION))
        study.write_text(simulated.study("soak", workload=WORKLOAD.format(ios=words.ios), repetitions=repetitions))
        alone_s, *_ = simulated.ended(simulated.start(study, folder / "alone.db", folder / "state"))
        spread = simulated.start(study, folder / "spread.db", folder / "state", 2)
        killed = killing(spread, words.kill_every, random.Random(words.seed))
        spread_s, *_ = simulated.ended(spread)
        one, two = digest(folder / "alone.db"), digest(folder / "spread.db")
    print(json.dumps({"trials": one[0], "killed": killed, "alone_s": round(alone_s, 1), "spread_s": round(spread_s, 1),
                      "rows": two[0], "different_trials": two[1], "equal": one == two, "sha256": two[2]}))  # fmt: skip
    return 0 if one == two else 1


if __name__ == "__main__":
    sys.exit(main())
