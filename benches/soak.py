"""Soak of `run --workers`: many trials on two workers, one of which is killed again and again; the store against that of one process.

    python benches/soak.py [--trials 100000] [--kill-every 20] [--folder /dev/shm/soak]

Prints one line of JSON. Exit status 1 if a trial is missing, there twice, or differs in a bit (`run_id` and `started_at` apart).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

STUDY = """
name = "soak"
backend = "simulated"
[[system]]
name = "one"
drive = "wd2500ys"
[settings]
scheduler = ["none", "mq-deadline", "bfq"]
[[workload]]
operations = ["rand_read"]
threads = [1, 2, 4, 8, 16, 32]
block_bytes = ["4k", "8k", "16k", "32k", "64k", "128k"]
random_ios = {ios}
direct = true
size = "64m"
[design]
blocks = {blocks}
"""
TRIALS_OF_A_BLOCK = 36 * 4 + 2
"""Three schedulers and the control in 36 cells, and two drift checks."""


def start(study: Path, db: Path, state: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", RECORD_ONLY, str(study), str(db), *words]
    return subprocess.Popen(command, env={**os.environ, "SEEKWISE_STATE": str(state)}, stdout=subprocess.DEVNULL)


# The run as the command does it, without the verdicts at its end, which are not what is tried here.
RECORD_ONLY = """
import sys
from pathlib import Path
from seekwise.backend.protocol import Options
from seekwise.cli import _job, _spread
from seekwise.run import execute
from seekwise.run.cluster import where
from seekwise.store.database import Store
from seekwise.study import starters

def main():
    study, text = starters.open_study(sys.argv[1])
    plan, backend = _job.planned(study, Options(), seed=7, budget_s=None)
    place = where.parse(None, int(sys.argv[3]) if len(sys.argv) > 3 else None)
    with Store.open(Path(sys.argv[2])) as store:
        carrier = _spread.over(backend, "simulated", place)
        execute.carry_out(store, execute.new_run(plan, text, None), plan, carrier)

if __name__ == "__main__":
    main()
"""


def workers_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
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


def killing(process: subprocess.Popen[bytes], every_s: float, chosen: random.Random) -> int:
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
        study.write_text(STUDY.format(ios=words.ios, blocks=max(1, -(-words.trials // TRIALS_OF_A_BLOCK))))
        began = time.monotonic()
        alone = start(study, folder / "alone.db", folder / "state")
        if alone.wait() != 0:
            return 1
        alone_s = time.monotonic() - began
        began = time.monotonic()
        spread = start(study, folder / "spread.db", folder / "state", "2")
        killed = killing(spread, words.kill_every, random.Random(words.seed))
        if spread.wait() != 0:
            return 1
        spread_s = time.monotonic() - began
        one, two = digest(folder / "alone.db"), digest(folder / "spread.db")
    print(json.dumps({"trials": one[0], "killed": killed, "alone_s": round(alone_s, 1), "spread_s": round(spread_s, 1),
                      "rows": two[0], "different_trials": two[1], "equal": one == two, "sha256": two[2]}))  # fmt: skip
    return 0 if one == two else 1


if __name__ == "__main__":
    sys.exit(main())
