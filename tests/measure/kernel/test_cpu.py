"""CPU seconds by kind from /proc."""

import os
import subprocess
import sys
import time

from seekwise.measure.kernel import cpu


def proc(tmp_path, stat: str, processes: dict[int, str]):
    (tmp_path / "proc").mkdir(exist_ok=True)
    (tmp_path / "proc/stat").write_text(stat + "\ncpu0 1 2 3\n")
    for pid, line in processes.items():
        (tmp_path / f"proc/{pid}").mkdir(exist_ok=True)
        (tmp_path / f"proc/{pid}/stat").write_text(line)
    return tmp_path


def line(pid: int, name: str, parent: int, flags: int, user: int, system: int, children_system: int = 0) -> str:
    return f"{pid} ({name}) S {parent} 0 0 0 -1 {flags} 0 0 0 0 {user} {system} 0 {children_system} 20 0 1 0 500 0 0"


KTHREAD = cpu.PF_KTHREAD


def snapshot(tmp_path, stat, processes) -> cpu.CpuSnapshot:
    return cpu.snapshot(proc(tmp_path, stat, processes))


def test_kernel_threads_are_told_by_family_and_programs_apart(tmp_path):
    before = snapshot(tmp_path, "cpu 100 0 50 1000 5 0 2 0 0 0", {
        7: line(7, "kworker/0:1H-kblockd", 2, KTHREAD, 0, 10),
        8: line(8, "kworker/1:2-kblockd", 2, KTHREAD, 0, 20),
        9: line(9, "md0_raid5", 2, KTHREAD, 0, 100),
        700: line(700, "a (tricky) name", 1, 0, 5, 30),
    })  # fmt: skip
    after = snapshot(tmp_path, "cpu 110 5 90 1100 6 1 8 0 0 0", {
        7: line(7, "kworker/0:1H-kblockd", 2, KTHREAD, 0, 13),
        8: line(8, "kworker/1:2-kblockd", 2, KTHREAD, 0, 21),
        9: line(9, "md0_raid5", 2, KTHREAD, 0, 125),
        700: line(700, "a (tricky) name", 1, 0, 5, 37, 3),
    })  # fmt: skip
    spent = cpu.between(before, after, own_pid=4242)
    tick = 1 / cpu.TICKS_PER_SECOND
    assert spent.kernel_threads == {"kworker-kblockd": 4 * tick, "md0_raid5": 25 * tick}
    assert spent.by_kind["system"] == 40 * tick
    assert spent.by_kind["softirq"] == 6 * tick
    # 7 ticks of its own, and 3 of a child that ended and was waited for.
    assert spent.foreign_system_s == 10 * tick
    assert cpu.between(before, after, own_pid=1).foreign_system_s == 0, "a child of ours is not foreign"


def test_names_of_workers_lose_their_numbers():
    assert cpu.thread_family("kworker/u8:3-events_unbound") == "kworker-events_unbound"
    assert cpu.thread_family("kworker/0:0") == "kworker"
    assert cpu.thread_family("ksoftirqd/3") == "ksoftirqd"
    assert cpu.thread_family("jbd2/sda1-8") == "jbd2/sda1-8"
    assert cpu.thread_family("md127_raid1") == "md127_raid1"


def test_children_are_accounted_for_when_they_have_ended():
    before = cpu.snapshot()
    subprocess.run([sys.executable, "-c", "sum(i * i for i in range(2_000_000))"], check=True)
    spent = cpu.between(before, cpu.snapshot())
    assert 0.02 < spent.children_user_s < 30
    # Every processor's time is in one kind or another.
    assert sum(spent.by_kind.values()) > 0


def test_the_kinds_add_up_to_the_processors_times_the_time():
    before, started = cpu.snapshot(), time.monotonic()
    time.sleep(1)
    spent, elapsed = cpu.between(before, cpu.snapshot()), time.monotonic() - started
    whole = elapsed * os.cpu_count()
    assert 0.6 * whole < sum(spent.by_kind.values()) < 1.4 * whole
