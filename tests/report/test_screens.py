"""This test will show each question about storage that is not there on one screen of 24 lines and 80 columns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from seekwise.trace.columns import Notes

sys.path.insert(0, str(Path(__file__).parents[1] / "trace"))
import closed_loops as loops

SMALL = ("--budget", "5s", "--seed", "3")
QUESTIONS = {
    "bitmap": (("run", "bitmap", "--target", "exos_x18", *SMALL), "Use an internal bitmap", "RAID 10 of 4 "),
    "rebuild": (("run", "rebuild", "--target", "exos_x18", *SMALL), "Limit a rebuild", "RAID 6 of 4 "),
    "raid-levels": (("run", "raid-levels", "--target", "exos_x18", *SMALL), "RAID 10 of 4, chunk 64 KiB: survives", "RAID 6 of 4 "),
    "whatif": (("whatif", "load.swt", "--vary", "model=wd2500ys,crucial_mx500_1tb", "--vary", "scheduler=none,mq-deadline,bfq,kyber",
                "--vary", "level=none,raid1,raid5,raid10", "--vary", "drives=4"), "Best: ", "as recorded "),
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_its_evidence_and_the_next_command_stand_on_one_screen(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notes = Notes(source="seekwise record")
    kinds = [("postgres", 4, 5e5), ("backup", 2, 1e5), ("nginx", 3, 2e6)]
    programs = [
        loops.loop(notes, f"{kind}/{number}", 60, think_ns=think_ns, seed=10 * place + number)
        for place, (kind, count, think_ns) in enumerate(kinds)
        for number in range(count)
    ]
    loops.write(tmp_path / "load.swt", notes, *programs, chunk=200)
    typed, answer, evidence = QUESTIONS[name]
    # A program of its own: click's runner before 8.2 takes errors and progress for output.
    command = [sys.executable, "-m", "seekwise.cli.main", *typed, "--db", "r.db"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = made.stdout.splitlines()
    # A line is left for the shell's prompt.
    assert len(lines) <= 23 and max(map(len, lines[:-1])) <= 80, made.stdout
    assert lines[-1].startswith("next: ")
    first = next(place for place, line in enumerate(lines) if line.startswith(answer))
    assert first <= 3 and any(line.startswith(evidence) for line in lines[first + 1 :]), made.stdout
