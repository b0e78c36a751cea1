"""Uses whose jobs are programs, on the simulator: their recordings are played on the modelled drive, and units of work
come out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seekwise import _core
from seekwise.errors import UsageError
from seekwise.simulate.recordings import placed, recording
from seekwise.simulate.recordings.recording import Recording
from seekwise.simulate.spec import Answer, Spec
from seekwise.workload.study.uses import Job, Use

MEMORY_BYTES = 4 * 2**30
"""Of the machine, for file data: more than what any recorded program works on, as programs evict what has to be
cold."""
PROCESSORS_LEAST = 2
# Simulated time: some starts of a program on a disk, some hundred transactions.
SECONDS = {True: (10.0, 90.0), False: (1.5, 8.0)}
"""{rotational: (background alone, foreground)}."""
PATIENCE_S = {True: 300.0, False: 60.0}
"""What a unit that began in time may take beyond it."""
OPEN_S = 1e-3
PLAYED = (
    "Programs are recordings of their calls, played through a simulated page cache with a processor for each; directories and inodes are "
    "cached, files lie in one piece, and the file system's own commits and checkpoints are left out"
)


def why_not(use: Use) -> str | None:
    """Why a use with programs cannot be simulated, as a phrase; None when it can."""
    if any(job.program is None for job in use.job):
        return "runs programs and fio side by side"
    for job in use.job:
        if _recording(job) is None:
            is_extra = (program := job.runs) is not None and program.is_extra
            return f"runs {job.program}{'' if is_extra else ' with parameters'}, of which no recording ships"
    return None


def phase(use: Use, capacity_bytes: int, rotational: bool, seed: int, share: float = 1.0) -> Spec:
    """The phase of a trial. `share`: of the usual time."""
    lead_s, counted_s = (share * seconds for seconds in SECONDS[rotational])
    lead_s = lead_s if any(job.role == "background" for job in use.job) else 0.0
    jobs = [(job, recording) for job in use.job if (recording := _recording(job)) is not None]
    try:
        programs = placed.programs(
            jobs, capacity_bytes, seed, lead_ns=round(lead_s * 1e9), patience_ns=round(PATIENCE_S[rotational] * 1e9)
        )
    except ValueError as error:
        raise UsageError(f"{use.name}: {error}", hint="a larger drive, or other uses with --for") from None
    return ProgramsPhase(operation="mixed", runtime_ns=round((lead_s + counted_s) * 1e9), programs=programs)


def processors(use: Use) -> int:
    """A processor for each program: what programs wait for each other is not the drive's."""
    return max(PROCESSORS_LEAST, sum(job.jobs for job in use.job))


def lead_s(use: Use, rotational: bool) -> float:
    """Simulated seconds before a foreground starts, in which the background reaches its usual state."""
    return SECONDS[rotational][0] if any(job.role == "background" for job in use.job) else 0.0


def played_otherwise(uses: list[Use]) -> list[str]:
    """What the simulator leaves out of programs, in sentences."""
    if not any(use.runs_programs for use in uses):
        return []
    return [PLAYED]


def _recording(job: Job) -> Recording | None:
    """Parameters that are the program's defaults need not be named."""
    program = job.runs
    if program is None or job.program is None:
        return None
    given = program.model_dump(exclude_defaults=True)
    return recording.find(job.program, given)


def simulated(specs: Sequence[Spec], threads: int) -> list[Answer]:
    """Results of trials; `units` of a program's job are bytes, as a fast drive does more of them than text has room
    for."""
    units: list[list[bytes]] = []
    texts = ",".join(map(_text, specs))
    results: list[Answer] = json.loads(_core.simulate_cells(f"[{texts}]", threads, None, units))
    for result, packed in zip(results, units, strict=True):
        for job in (job for done in result.get("phases", ()) for job in done["jobs"] if "units" in job):
            job["units"] = packed[job["units"]]
    return results


class ProgramsPhase(dict[str, Any]):
    """A phase that several trials share. Its text is made once: it is long, and takes as long as some trials."""

    @cached_property
    def text(self) -> str:
        """As JSON."""
        return json.dumps(self)


def _text(spec: Spec) -> str:
    rest = json.dumps({name: part for name, part in spec.items() if name != "phases"})
    phases = (phase.text if isinstance(phase, ProgramsPhase) else json.dumps(phase) for phase in spec["phases"])
    return f'{rest[:-1]}, "phases": [{",".join(phases)}]}}'


def units_of(packed: bytes) -> NDArray[np.int64]:
    """[unit, (process, end in ns, length in ns, bytes)] of one job, as the simulator packs them; bytes below zero: not
    done in time."""
    return np.frombuffer(packed, dtype="<i8").reshape(-1, 4)
