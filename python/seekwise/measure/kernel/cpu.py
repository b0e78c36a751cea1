"""CPU seconds around a phase: system-wide by kind, kernel threads by name, and what was not the load.

Sources: /proc/stat (every CPU, ticks of 1/SC_CLK_TCK s), /proc/PID/stat (proc(5): fields 9 flags, 14 utime, 15 stime,
16 cutime, 17 cstime), getrusage for our own children to the microsecond.

fio's own figure covers its job threads alone. RAID parity, encryption, write-back and interrupts run elsewhere: they
are in the system-wide figure, from which we can take what certainly was not the load (other programs, fio's start,
seekwise).
"""

from __future__ import annotations

import os
import re
import resource
from dataclasses import dataclass
from pathlib import Path

from seekwise.control import process

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# Linux v6.12 include/linux/sched.h: PF_KTHREAD.
PF_KTHREAD = 0x00200000
KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


@dataclass(frozen=True)
class ProcessTimes:
    name: str
    kernel_thread: bool
    parent: int
    start_ticks: int
    own_ticks: int
    """User and system of the process itself."""
    system_ticks: int
    """System of the process and of its children that it has waited for."""


@dataclass(frozen=True)
class CpuSnapshot:
    ticks: dict[str, int]
    processes: dict[int, ProcessTimes]
    children_user_s: float
    children_system_s: float
    self_system_s: float


@dataclass(frozen=True)
class CpuSpent:
    """Seconds between two snapshots."""

    by_kind: dict[str, float]
    kernel_threads: dict[str, float]
    children_user_s: float
    children_system_s: float
    """fio as a whole: its threads, its start, its report."""
    self_system_s: float
    foreign_system_s: float
    """Programs that are neither ours nor the kernel's."""


def snapshot(root: Path = Path("/")) -> CpuSnapshot:
    """Processor times now: of the machine by kind, of each process, of our own children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return CpuSnapshot(
        ticks=read_stat(root),
        processes=read_processes(root),
        children_user_s=children.ru_utime,
        children_system_s=children.ru_stime,
        self_system_s=resource.getrusage(resource.RUSAGE_SELF).ru_stime,
    )


def read_stat(root: Path = Path("/")) -> dict[str, int]:
    """The `cpu` line of /proc/stat."""
    with (root / "proc/stat").open() as file:
        numbers = file.readline().split()[1:]
    return {kind: int(number) for kind, number in zip(KINDS, numbers, strict=False)}


def read_processes(root: Path = Path("/")) -> dict[int, ProcessTimes]:
    """{pid: name and times} of `/proc`."""
    processes: dict[int, ProcessTimes] = {}
    for pid in process.pids(root):
        try:
            name, fields = process.stat(pid, root)
        except OSError:
            continue  # it ended between the listing and now
        user, system, _, children_system = (int(ticks) for ticks in fields[11:15])
        processes[pid] = ProcessTimes(
            name=name,
            kernel_thread=bool(int(fields[6]) & PF_KTHREAD),
            parent=int(fields[1]),
            start_ticks=int(fields[19]),
            own_ticks=user + system,
            system_ticks=system + children_system,
        )
    return processes


def between(before: CpuSnapshot, after: CpuSnapshot, own_pid: int | None = None) -> CpuSpent:
    """Seconds spent between two snapshots, by kind and by what they were spent on."""
    own_pid = os.getpid() if own_pid is None else own_pid
    return CpuSpent(
        by_kind={kind: (after.ticks[kind] - before.ticks[kind]) / TICKS_PER_SECOND for kind in before.ticks},
        kernel_threads=_kernel_threads(before, after),
        children_user_s=after.children_user_s - before.children_user_s,
        children_system_s=after.children_system_s - before.children_system_s,
        self_system_s=after.self_system_s - before.self_system_s,
        foreign_system_s=_foreign(before, after, own_pid),
    )


def _kernel_threads(before: CpuSnapshot, after: CpuSnapshot) -> dict[str, float]:
    """{name: seconds} of kernel threads that ran; workers are named by what they work for, without their number."""
    spent: dict[str, float] = {}
    for pid, now in after.processes.items():
        if not now.kernel_thread:
            continue
        then = before.processes.get(pid)
        is_same = then is not None and then.start_ticks == now.start_ticks
        ticks = now.own_ticks - (then.own_ticks if then is not None and is_same else 0)
        if ticks > 0:
            name = thread_family(now.name)
            spent[name] = spent.get(name, 0.0) + ticks / TICKS_PER_SECOND
    return dict(sorted(spent.items()))


def thread_family(name: str) -> str:
    """`kworker/0:1H-kblockd` → `kworker-kblockd`, `ksoftirqd/1` → `ksoftirqd`; `md0_raid5` stays."""
    worker = re.fullmatch(r"kworker/[^-+]*(?:[-+](.+))?", name)
    if worker:
        return f"kworker-{worker[1]}" if worker[1] else "kworker"
    return re.sub(r"/\d+$", "", name)


def _foreign(before: CpuSnapshot, after: CpuSnapshot, own_pid: int) -> float:
    """System seconds of other programs.

    A program that ends passes its time on to the parent that waits for it, so the sum over all programs is kept. Where
    no parent waits, the time drops out of the sum, which can only make the result smaller.
    """

    def total(snapshot: CpuSnapshot) -> int:
        return sum(
            times.system_ticks
            for pid, times in snapshot.processes.items()
            if not times.kernel_thread and own_pid not in (pid, times.parent)
        )

    return max(0, total(after) - total(before)) / TICKS_PER_SECOND
