"""Job texts: the layout of files, one phase of a load, and a user's own job put onto our target.

Every phase is a fio of its own. So system-wide CPU time and device counters have the phase's borders, and a scheduler
that changes between phases cannot hide. The job text is kept in the record: anybody can run it by hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from seekwise.backend.kernel import windows
from seekwise.errors import RefusedError, UsageError
from seekwise.study.plan import Load, Phase

FIO_RW = {"seq_read": "read", "seq_write": "write", "rand_read": "randread", "rand_write": "randwrite"}
# fio HOWTO, prioclass: 1 is real time, 2 best effort, 3 idle.
IO_CLASSES = ("realtime", "best-effort", "idle")


@dataclass(frozen=True)
class Place:
    """Where the load works: a folder with one file per thread, or a block device with one region per thread.

    Both are paths through an open descriptor, so that nobody can put another one in their place; `shown` is the name.
    """

    folder: Path | None = None
    device: Path | None = None
    shown: Path | None = None
    offset_bytes: int = 0
    region_bytes: int = 0
    """Bytes that each thread has."""

    def by_name(self, text: str) -> str:
        """A job text with the name in place of the descriptor, as it is kept: anybody can run it by hand."""
        used = self.folder or self.device
        if self.shown is None or used is None:
            return text
        return text.replace(f"={escaped(str(used))}\n", f"={escaped(str(self.shown))}\n")

    def lines(self) -> list[str]:
        if self.folder is not None:
            return [f"directory={escaped(str(self.folder))}", "filename_format=t.$jobnum"]
        return [
            f"filename={escaped(str(self.device))}",
            f"offset={self.offset_bytes}",
            f"offset_increment={self.region_bytes}",
        ]


def escaped(name: str) -> str:
    """A path as fio takes it: `:` separates names."""
    return name.replace(":", "\\:")


def layout(place: Place, threads: int) -> str:
    """Fills every file (region) from its beginning to its end, one after the other.

    Later writes then find their blocks, and reads find data instead of holes.
    """
    total = threads * place.region_bytes
    if place.folder is not None:
        names = ":".join(f"t.{number}" for number in range(threads))
        where = [
            f"directory={escaped(str(place.folder))}",
            f"filename={names}",
            "file_service_type=sequential",
            f"filesize={place.region_bytes}",
        ]
    else:
        where = [f"filename={escaped(str(place.device))}", f"offset={place.offset_bytes}"]
    return _text(
        [
            *where,
            f"size={total}",
            "ioengine=psync",
            "bs=1m",
            "rw=write",
            "fallocate=none",
            "end_fsync=1",
            "thread=1",
        ],
        "layout",
    )


def phase(load: Load, step: Phase, place: Place, seed: int) -> str:
    """One operation of a trial."""
    size = min(load.size_bytes, place.region_bytes)
    lines = [
        *place.lines(),
        f"ioengine={load.engine}",
        "thread=1",
        f"numjobs={load.threads}",
        f"rw={FIO_RW[step.operation]}",
        f"bs={load.block_bytes}",
        f"size={size - size % load.block_bytes}",
        f"direct={int(load.direct)}",
        f"randseed={seed}",
        "randrepeat=0",
        "allrandrepeat=0",
        "norandommap=1",
        "fallocate=none",
        "lat_percentiles=1",
        "clat_percentiles=0",
        # The processor's own counter would be calibrated at each start, 70 ms in which nothing is measured.
        "clocksource=clock_gettime",
        "group_reporting=0",
    ]
    if load.iodepth > 1:
        lines.append(f"iodepth={load.iodepth}")
    if load.sync:
        lines.append("sync=1")
    if load.end_fsync and step.operation.endswith("write"):
        lines.append("end_fsync=1")
    if not load.direct:
        lines.append("invalidate=1")
    if load.rate_limit_bytes is not None:
        lines.append(f"rate={load.rate_limit_bytes}")
    if load.arrivals == "poisson":
        lines.append("rate_process=poisson")
    if load.think_s > 0:
        lines.append(f"thinktime={round(load.think_s * 1e6)}")
    if load.io_class is not None:
        lines.append(f"prioclass={IO_CLASSES.index(load.io_class) + 1}")
    if load.io_priority is not None:
        lines.append(f"prio={load.io_priority}")
    if step.runtime_s is not None:
        lines += [f"runtime={round(step.runtime_s * 1000)}ms", "time_based=1", *windows.job_lines(step.runtime_s)]
    elif step.ios_per_thread is not None:
        lines.append(f"number_ios={step.ios_per_thread}")
    return _text(lines, step.operation)


def _text(lines: list[str], name: str) -> str:
    return "[global]\n" + "\n".join(lines) + f"\n\n[{name}]\n"


# Options that would take a job away from the target, run programs, or write where nobody asked to.
PLACE_OPTIONS = ("directory", "filename", "filename_format", "opendir")
REFUSED_OPTIONS = (
    "exec_prerun",
    "exec_postrun",
    "include",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_iolog",
)
SEED_OPTIONS = ("randseed", "randrepeat", "allrandrepeat", "group_reporting")


@dataclass(frozen=True)
class UserJob:
    """A fio job file of the user's own: `[global]` and the groups of sections that run together."""

    global_lines: tuple[str, ...]
    groups: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]
    """Groups of (section, lines); `stonewall` starts a new group."""

    @property
    def writes(self) -> bool:
        patterns = [value for _, value in self._options() if _ in ("rw", "readwrite")]
        return any("read" != p.removeprefix("rand").split(",")[0].split(":")[0] for p in patterns)

    def _options(self) -> list[tuple[str, str]]:
        lines = [*self.global_lines, *(line for group in self.groups for _, own in group for line in own)]
        return [_option(line) for line in lines]

    def value(self, name: str) -> str | None:
        return next((value for key, value in reversed(self._options()) if key == name), None)


def _option(line: str) -> tuple[str, str]:
    key, _, value = line.partition("=")
    return key.strip().lower(), value.strip()


def read_user_job(path: Path) -> UserJob:
    """Reads a job file; what would leave the target is refused, placing is ours."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read fio job {path}: {error}") from error
    global_lines: list[str] = []
    groups: list[list[tuple[str, list[str]]]] = []
    section: list[str] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        heading = re.fullmatch(r"\[(.+)\]", line)
        if heading is not None:
            if heading[1] == "global":
                section = global_lines
            else:
                section = []
                if not groups:
                    groups.append([])
                groups[-1].append((heading[1], section))
            continue
        if section is None:
            raise UsageError(f"{path}:{number}: `{line}` stands before any [section]")
        key, _ = _option(line)
        if key in REFUSED_OPTIONS or line.startswith("include"):
            raise RefusedError(
                f"{path}:{number}: `{key}` runs programs or writes outside the target", hint="take it out of the job"
            )
        if key in PLACE_OPTIONS or key in SEED_OPTIONS:
            continue
        if key in ("stonewall", "wait_for_previous") and section is not global_lines:
            name, lines = groups[-1].pop()
            if groups[-1]:
                groups.append([])
            groups[-1].append((name, lines))
            continue
        section.append(line)
    if not groups:
        raise UsageError(f"{path} has no job section besides [global]")
    return UserJob(tuple(global_lines), tuple(tuple((name, tuple(lines)) for name, lines in group) for group in groups))


def user_group(
    job: UserJob, index: int, place: Place, seed: int, *, direct: bool = True, create_only: bool = False
) -> str:
    """One group of a user's job, placed onto the target and seeded; direct unless the job or the study says otherwise.

    `create_only`: makes its files and does nothing else.
    """
    where = (
        [f"directory={escaped(str(place.folder))}", "filename_format=u.$jobnum.$filenum"]
        if place.folder is not None
        else [
            f"filename={escaped(str(place.device))}",
            f"offset={place.offset_bytes}",
            f"size={job.value('size') or place.region_bytes}",
        ]
    )
    lines = [
        "[global]",
        f"direct={int(direct)}",
        *job.global_lines,
        *where,
        f"randseed={seed}",
        "randrepeat=0",
        "allrandrepeat=0",
    ]
    lines += ["group_reporting=0", "lat_percentiles=1", "clat_percentiles=0"]
    lines += ["create_only=1"] if create_only else []
    for name, own in job.groups[index]:
        lines += ["", f"[{name}]", *own]
    return "\n".join(lines) + "\n"
