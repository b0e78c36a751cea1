"""Uses whose jobs are programs, in the VM testbed: the very programs, on ext4 on a virtual drive, units timed in virtual time."""

from __future__ import annotations

import json
from importlib import resources

from seekwise import temporary
from seekwise.errors import SeekwiseError
from seekwise.measure.live import logs, team_load
from seekwise.workload import team
from seekwise.workload.study.uses import Use
from seekwise_proof.testbed import filesystem, host_programs, machine
from seekwise_proof.testbed.cpio import CpioEntry
from seekwise_proof.testbed.debian import Say

MEMORY_MIB = 3072
"""Programs, data, the drive's content and the page cache."""
# Virtual time: some starts of a program on a disk, some hundred transactions.
SECONDS = {True: (4.0, 30.0), False: (1.0, 6.0)}
"""{rotational: (background alone, foreground)}."""
PATIENCE_S = {True: 120.0, False: 30.0}
"""What a unit that began in time may take beyond it."""
LAYOUT_S = 30.0


def why_not(use: Use) -> str | None:
    """Why a use with programs cannot run in the guest, as a phrase; None when it can."""
    if any(job.program is None for job in use.job):
        return "runs programs and fio side by side"
    extra = [job.program for job in use.job if (program := job.runs) is not None and program.is_extra]
    if extra:
        return f"runs {extra[0]}, which the guest does not have"
    missing = [why for job in use.job if (program := job.runs) is not None and (why := program.missing())]
    return missing[0] if missing else None


def packed(use: Use, say: Say) -> dict[str, CpioEntry]:
    """What a guest that runs this use gets besides: programs, and the data that they work on."""
    names = {name for job in use.job if (program := job.runs) is not None for name in program.data_sets}
    script = (resources.files("seekwise_proof.testbed") / "guest" / "programs.py").read_bytes()
    return {
        **filesystem.programs(say),
        "cell/programs.py": CpioEntry.file(script),
        "cell/programs.tar": CpioEntry.file(host_programs.tree(say).read_bytes()),
        **{
            f"cell/data/{name}.tar": CpioEntry.file(host_programs.data_set(name, say).read_bytes())
            for name in sorted(names)
        },
    }


def spec(use: Use, place: int, rotational: bool, seed: int) -> tuple[bytes, list[str]]:
    """What the guest's script reads, and the command that starts it."""
    out = f"/out/{place}"
    background = [job.name for job in use.job if job.role == "background"]
    lead_s, counted_s = SECONDS[rotational]
    crew = {
        "data": "/mnt",
        "own": "/mnt/own",
        "logs": out,
        "seed": seed % 1000,
        "jobs": [
            {
                "name": job.name,
                "program": job.program,
                "parameters": job.parameters,
                "workers": job.jobs,
                "think_s": job.think_time,
                "cgroup_files": [],
            }
            for job in use.job
        ],
    }
    made = {
        "crew": crew,
        "foreground": [job.name for job in use.foreground],
        "background": background,
        "lead_s": lead_s if background else 0.0,
        "counted_s": counted_s,
        "patience_s": PATIENCE_S[rotational],
        "window": f"{out}/window",
    }
    return json.dumps(made).encode(), host_programs.command("/tmp/programs.py")


def expected_s(rotational: bool) -> float:
    """Virtual seconds of a trial, for the time after which a guest is given up."""
    return LAYOUT_S + sum(SECONDS[rotational]) + PATIENCE_S[rotational]


def units(use: Use, place: int, result: machine.Output) -> tuple[float, float, dict[str, logs.Operations]]:
    """When the foreground began and ended in the guest's time, and the units of each job."""
    try:
        window = json.loads(result.text(f"{place}/window"))
    except ValueError:
        raise SeekwiseError("the guest brought back no units of its programs") from None
    with temporary.private("lab") as work:
        for name, text in result.files.items():
            if name.startswith(f"{place}/") and name.endswith(".units"):
                (work / name.rpartition("/")[2]).write_bytes(text)
        found = {
            job.name: team_load.merged(
                work, team.Task(job.name, str(job.program), job.parameters, job.jobs, job.think_time), window["ended"]
            )
            for job in use.job
        }
    return window["began"], window["ended"], found
