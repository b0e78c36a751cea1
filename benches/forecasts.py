"""What commands say that a simulation will take, against what it takes, in processor seconds; a figure above 2 or below 0.5 is a miss.

    .venv/bin/python benches/forecasts.py [WORD…]        all questions (a quarter of an hour of one core), or those whose line has a word

The table is `benches/results/forecasts.tsv`: 39 questions, 0.71 to 1.92 on 30 November 2026. Each question runs in a process of its own. The clock by which it foretells is its processor time over the processors, so other work does not disturb it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from seekwise.cli import _display, _live, _output, _tune_model, main
from seekwise.measure import execute
from seekwise.measure.live import simulated

ROOT = Path(__file__).parents[1]
SIMULATED = "--backend simulated --target"
QUESTIONS = (
    "run demo", "run fake-raid", "run nvme-schedulers", "run raid-levels", "run bitmap", "run rebuild",
    *(f"run {study} {SIMULATED} {drive}" for study in ("schedulers", "read-ahead", "request-size", "buffered")
      for drive in ("exos_x18", "samsung_850_evo", "samsung_980")),
    *(f"run queue-depth {SIMULATED} {drive}" for drive in ("exos_x18", "samsung_850_evo")),
    f"run schedulers {SIMULATED} samsung_980/virtio", f"run schedulers {SIMULATED} exos_x18/virtio",
    "run raid-levels --target samsung_850_evo --vary drives=8", "run raid-levels --target intel_p5510 --vary drives=8",
    "run bitmap --target samsung_850_evo", "run bitmap --target kioxia_cm6_r --vary raid_level=raid10 --vary drives=6",
    "run rebuild --vary sync_action=resync", "run rebuild --target kioxia_cm6_r --vary drives=8",
    *(f"tune model:{drive}" for drive in ("exos_x18", "samsung_850_evo", "samsung_pm9a3")),
    "tune model:samsung_pm9a3/virtio --for database",
    *(f"design {drive} --drives 4..8 --for {use}" for use in ("database", "file-server", "backup") for drive in ("exos_x18", "samsung_pm9a3")),
    f"verify claims {ROOT}/tests/seeds/claims.toml",
)  # fmt: skip


def one(question: str) -> None:
    """Answers a question, and writes what was foretold first and what it took to standard error, as the last line."""
    processors = os.cpu_count() or 1
    first: list[tuple[float, float]] = []

    def told(left_s: float | None, alone_s: float = 0.0) -> None:
        if left_s is not None and not first:
            first.append((time.process_time(), processors * (left_s - alone_s) + alone_s))

    clock = lambda: time.process_time() / processors  # noqa: E731
    timed = SimpleNamespace(monotonic=clock)
    pace = simulated.Pace
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, {"SEEKWISE_DB": f"{folder}/runs.db"}),
        mock.patch.object(execute, "time", timed),
        mock.patch.object(simulated, "time", timed),
        mock.patch.object(simulated, "Pace", lambda todo: pace(todo, began_s=clock(), told_s=clock())),
        mock.patch.object(_display, "time", timed),
        mock.patch("seekwise_proof.cli.verify.monotonic", clock),
        mock.patch.object(_live.Watcher, "tell", lambda _, far: told(far.left_s, execute.ANSWER_S)),
        mock.patch.object(_output, "progress", lambda text: told(_seconds(text))),
        mock.patch("seekwise.commands.progress", lambda text: told(_seconds(text))),
        mock.patch.object(_tune_model, "progress", lambda *_, **__: _Told(told)),
        mock.patch.object(sys, "argv", ["seekwise", *question.split()]),
    ):
        try:
            main.main()
        except SystemExit as end:
            status = end.code
    took_s, most_mb = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps([status, first[0] if first else None, took_s, most_mb]), file=sys.stderr)


class _Told:
    """In place of the bar of `tune`."""

    def __init__(self, told: object) -> None:
        self.told = told

    def __enter__(self) -> object:
        return lambda use, share, left_s: self.told(left_s)  # type: ignore[operator]

    def __exit__(self, *_: object) -> None: ...


def _seconds(text: str) -> float | None:
    """Of `about 1 min 20 s left`."""
    words = text.partition("about ")[2].removesuffix(" left").split()
    units = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    return sum(float(number) * units[unit] for number, unit in zip(words[::2], words[1::2], strict=True)) or None


def main_table(words: list[str]) -> None:
    print("question\tsaid first after s\tsaid s\ttook s\tratio\tMB")
    for question in QUESTIONS:
        if words and not any(word in question for word in words):
            continue
        done = subprocess.run([sys.executable, __file__, "--one", question], capture_output=True, text=True)
        status, first, took_s, most_mb = json.loads(done.stderr.splitlines()[-1])
        said = "\t\t" if first is None else f"{first[0]:.1f}\t{sum(first):.1f}"
        ratio = "" if first is None else f"{sum(first) / took_s:.2f}"
        line = question.replace(f" {SIMULATED}", "").replace(f"{ROOT}/", "")
        print(f"{line}\t{said}\t{took_s:.1f}\t{ratio}\t{most_mb:.0f}", flush=True)
        if status not in (0, 5):
            print(done.stderr, file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2])
    else:
        main_table(sys.argv[1:])
