"""Recordings of a use on a drive: where the files lie, and who makes which calls. The simulator takes it as the
programs of a phase.

Files lie as on a new ext4 over the whole drive: those of a folder one after the other, near its begin, the journal in
its middle (mke2fs).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from seekwise.simulate.recordings.recording import END, SLEEP, CallRow, Recording
from seekwise.simulate.spec import Spec
from seekwise.workload.study.uses import Job

PAGE = 4096
GROUP_PAGES = 32_768
"""A block group of ext4, 128 MiB."""
JOURNAL_PAGES = 32_768
"""mke2fs: 128 MiB on drives up to 128 GiB, more on larger ones (e2fsprogs 1.47, ext2fs_default_journal_size); it goes
round either way."""
BEGIN_SHARE = 0.05
"""Of the drive: within it the first folder begins, another place for each seed."""
FOLDERS_APART_GROUPS = 8
TURNS = 8
"""Repeats of a recording of few units, so that pauses differ."""


@dataclass
class _Drive:
    """What is placed where, in pages."""

    next_page: int
    end: int
    places: dict[tuple[object, ...], list[int]] = field(default_factory=dict)

    def place(self, key: tuple[object, ...], pages: int) -> list[int]:
        if key not in self.places or self.places[key][1] < pages:
            self.places[key] = [self.next_page, pages]
            self.next_page += pages
        if self.next_page > self.end:
            raise ValueError("the files of this use do not fit onto the drive")
        return self.places[key]

    def another_folder(self, rng: random.Random) -> None:
        self.next_page += rng.randrange(1, FOLDERS_APART_GROUPS) * GROUP_PAGES


def programs(
    jobs: Sequence[tuple[Job, Recording]], capacity_bytes: int, seed: int, *, lead_ns: int, patience_ns: int
) -> Spec:
    """The programs of a phase. Raises ValueError when the drive is too small. `lead_ns`: how long the background is
    ahead."""
    rng = random.Random(seed)
    pages = capacity_bytes // PAGE
    journal = [pages // 2, min(JOURNAL_PAGES, pages // 64)]
    drive = _Drive(rng.randrange(1, max(2, int(pages * BEGIN_SHARE))), journal[0])
    shared = {file.name: 0 for _, recording in jobs for file in recording.files if file.name.startswith("data/")}
    for _, recording in jobs:
        for file in recording.files:
            if file.name in shared:
                shared[file.name] = max(shared[file.name], file.pages)
    for name in sorted(shared):
        drive.place((name,), shared[name])
    ahead = any(job.role == "background" for job, _ in jobs)
    recordings: list[list[CallRow]] = []
    placed: list[Spec] = []
    for number, (job, recording) in enumerate(jobs):
        foreground = job.role == "foreground"
        for worker in range(job.jobs):
            drive.another_folder(rng)
            files = [
                drive.place((file.name,) if file.name in shared else (number, worker, file.name), file.pages)
                for file in recording.files
            ]
            calls = recording.processes[worker % len(recording.processes)]
            # A process that comes later to the same calls stands elsewhere in them.
            start = recording.units * (worker // len(recording.processes)) // job.jobs
            recordings.append(_repeated(calls, job.think_time, rng, start))
            placed.append({
                "job": number,
                "recording": len(recordings) - 1,
                "files": files,
                "start_ns": (lead_ns if foreground and ahead else 0) + worker * 1_000_000,
                "foreground": foreground,
            })  # fmt: skip
    return {
        "jobs": [job.name for job, _ in jobs],
        "recordings": recordings,
        "programs": placed,
        "journal": journal,
        "patience_ns": patience_ns,
    }


def _repeated(calls: Sequence[CallRow], pause_s: float, rng: random.Random, start: int) -> list[CallRow]:
    """The calls from unit `start` on and round, with pauses behind units."""
    # What is evicted before a unit stands between the end of the one before and its begin.
    begins = [0, *(place + 1 for place, row in enumerate(calls) if row[0] == END)][:-1]
    first = begins[start % len(begins)]
    around = [*calls[first:], *calls[:first]]
    turns = TURNS if pause_s and len(begins) < TURNS else 1
    repeated: list[CallRow] = []
    for _ in range(turns):
        for row in around:
            repeated.append(row)
            if row[0] == END and pause_s:
                repeated.append((SLEEP, 0, 0, 0, round(rng.expovariate(1 / pause_s) * 1e9)))
    return repeated
