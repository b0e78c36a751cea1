"""Job texts: the layout of files, and one phase of a load. (A user's own job: `user_job`.)

Every phase is a fio of its own. So system-wide CPU time and device counters have the phase's borders, and a scheduler
that changes between phases cannot hide. The job text is kept in the record: anybody can run it by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seekwise.measure.kernel import windows
from seekwise.simulate.setup_lines import FIO_RW
from seekwise.workload.study.plan import Load, PlannedPhase

# fio HOWTO, prioclass: 1 is real time, 2 best effort, 3 idle.
IO_CLASSES = ("realtime", "best-effort", "idle")


@dataclass(frozen=True)
class FioTarget:
    """Where the load works: a folder with one file per thread, or a block device with one region per thread.

    Both are paths through an open descriptor, so that nobody can put another one in their place; `shown` is the name.
    """

    folder: Path | None = None
    device: Path | None = None
    shown: Path | None = None
    offset_bytes: int = 0
    region_bytes: int = 0
    """Bytes that each thread has."""
    whole_bytes: int | None = None
    """Bytes that all of them may use together: of a device, what was proven empty."""

    def by_name(self, text: str) -> str:
        """A job text with the name in place of the descriptor, as it is kept: anybody can run it by hand."""
        used = self.folder or self.device
        if self.shown is None or used is None:
            return text
        text = text.replace(f"={directory(used)}\n", f"={directory(self.shown)}\n")
        return text.replace(f"={escaped(str(used))}\n", f"={escaped(str(self.shown))}\n")

    def lines(self) -> list[str]:
        """Options of fio's `[global]` section: a file per thread, or a region per thread by `offset_increment`."""
        if self.folder is not None:
            return [f"directory={directory(self.folder)}", "filename_format=t.$jobnum"]
        return [
            f"filename={escaped(str(self.device))}",
            f"offset={self.offset_bytes}",
            f"offset_increment={self.region_bytes}",
        ]


def escaped(name: str) -> str:
    """A path as fio takes it: `:` separates names."""
    return name.replace(":", "\\:")


def directory(folder: Path) -> str:
    """A folder as fio takes it. The slash makes fio follow a path through a descriptor: it looks with lstat (fio 3.33,
    options.c)."""
    return f"{escaped(str(folder))}/"


def layout(place: FioTarget, threads: int) -> str:
    """Fills every file (region) from its beginning to its end, one after the other.

    Later writes then find their blocks, and reads find data instead of holes.
    """
    total = threads * place.region_bytes
    if place.folder is not None:
        names = ":".join(f"t.{number}" for number in range(threads))
        where = [
            f"directory={directory(place.folder)}",
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


def phase(load: Load, step: PlannedPhase, place: FioTarget, seed: int) -> str:
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


def only_reads(text: str) -> bool:
    """Whether nothing in a job text writes, so that fio may be told to refuse every write."""
    patterns = [line.partition("=")[2] for line in text.splitlines() if line.startswith(("rw=", "readwrite="))]
    return all(pattern.split(":")[0] in ("read", "randread") for pattern in patterns)
