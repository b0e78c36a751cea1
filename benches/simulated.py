"""Studies and runs that the benches of the cluster share: `run` as the command does it, without the verdicts at its end, which are not what is tried here.

    python benches/simulated.py STUDY DB [WORKERS]

Prints [wall, CPU of this process, CPU of its workers] in seconds as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

TRIALS_OF_A_REPETITION = 36 * 4 + 2
"""Three schedulers and the control in 36 combinations, and two drift checks."""
SCHEDULERS = 'scheduler = ["none", "mq-deadline", "bfq"]'


def study(name: str, *, workload: str, repetitions: int, settings: str = SCHEDULERS, more: str = "") -> str:
    """Random reads of a disk. `workload`: threads, request sizes, numbers of requests; `more`: of the design."""
    return f"""
name = "{name}"
backend = "simulated"
[[system]]
name = "one"
drive = "wd2500ys"
[settings]
{settings}
[[workload]]
operations = ["rand_read"]
direct = true
{workload}
[design]
blocks = {repetitions}
{more}
"""


def start(study: Path, db: Path, state: Path, workers: int | None = None) -> subprocess.Popen[str]:
    words = [sys.executable, __file__, str(study), str(db), *([str(workers)] if workers else [])]
    return subprocess.Popen(words, env={**os.environ, "SEEKWISE_STATE": str(state)}, stdout=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> list[float]:
    """What it printed; CalledProcessError if it failed."""
    out, _ = process.communicate()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    found: list[float] = json.loads(out)
    return found


def main() -> None:
    from seekwise.cli import _job, _spread
    from seekwise.measure import execute
    from seekwise.measure.cluster import where
    from seekwise.simulate.protocol import Options
    from seekwise.store.database import Store
    from seekwise.workload.study import starters

    began = time.monotonic()
    asked, text = starters.open_study(sys.argv[1])
    plan, backend = _job.planned(asked, Options(), seed=7, budget_s=None)
    place = where.parse(None, int(sys.argv[3]) if len(sys.argv) > 3 else None)
    with Store.open(Path(sys.argv[2])) as store:
        carrier = _spread.over(backend, "simulated", place)
        execute.carry_out(store, execute.new_run(plan, text, None), plan, carrier)
    own, others = (resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps([time.monotonic() - began, own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime]))


if __name__ == "__main__":
    main()
