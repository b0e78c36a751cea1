"""Programs: units of real work, cold when they should be, told when to begin and to stop, and gone whatever happens."""

import contextlib
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from seekwise.linux import page_cache
from seekwise.workload import cold, data, database, log, mariadb, postgres, programs, team
from seekwise.workload.program import DataBudget

SMALL = DataBudget(40 << 20, 0.0)


def tasks_of(*names, workers=1):
    return [team.Task(name, name, {}, workers, 0.0) for name in names]


@pytest.fixture
def place(tmp_path):
    for name in ("data", "own", "work"):
        (tmp_path / name).mkdir()
    return tmp_path


def laid_out(place, *names):
    for each in dict.fromkeys(each for name in names for each in programs.program_named(name, {}).data_sets):
        data.laid_out(each, place / "data", SMALL)


def started(place, tasks):
    return team.started(tasks, place / "data", place / "own", place / "work", 7)


EVERYWHERE = [name for name, program in programs.PROGRAMS.items() if not program.is_extra]


@pytest.mark.parametrize("name", EVERYWHERE)
def test_every_program_does_units_and_its_data_were_cold(place, name):
    laid_out(place, name)
    (task,) = tasks_of(name)
    with started(place, [task]) as crew:
        crew.wait_ready()
        crew.go([name], 2)
        assert crew.wait_idle([name], 200), crew.failed
    (units,) = team.units(place / "work", task, time.time())
    assert len(units.end_s) == 2 and np.all(units.duration_ns > 0)
    assert np.all((units.waited_share >= 0) & (units.waited_share <= 1))
    if programs.program_named(name, {}).reads and name != "sqlite":
        # tmpfs has no other place for its pages.
        on_disk = subprocess.run(["stat", "-fc", "%T", str(place)], capture_output=True, text=True, check=True).stdout
        assert np.all(units.cached_share < 0.02) or on_disk.strip() == "tmpfs"


def shared_memory() -> set[str]:
    """Ids of the segments of System V shared memory."""
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


@pytest.mark.skipif(postgres.binaries() is None, reason="PostgreSQL with pgbench is not installed")
def test_a_private_cluster_runs_pgbench_and_leaves_nothing_behind(place):
    laid_out(place, "postgresql")
    segments = shared_memory()
    (task,) = tasks_of("postgresql")
    with started(place, [task]) as crew:
        crew.wait_ready()
        crew.go(["postgresql"], 1)
        assert crew.wait_idle(["postgresql"], 200), crew.failed
    (units,) = team.units(place / "work", task, time.time())
    assert len(units.end_s) == 1600 and units.duration_ns.min() > 0
    assert shared_memory() <= segments
    assert str(place) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(mariadb.binaries() is None, reason="MariaDB's server and client are not installed")
def test_a_private_mariadb_commits_and_leaves_nothing_behind(place):
    laid_out(place, "mariadb")
    (task,) = tasks_of("mariadb", workers=2)
    with started(place, [task]) as crew:
        crew.wait_ready()
        crew.go(["mariadb"], 9)
        assert crew.wait_idle(["mariadb"], 200), crew.failed
    found = team.units(place / "work", task, time.time())
    assert [len(units.end_s) for units in found] == [9, 9] and all(units.duration_ns.min() > 0 for units in found)
    assert str(place) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("qemu-img") is None, reason="qemu-img is not installed")
def test_a_disk_image_is_converted(place):
    laid_out(place, "qemu-img")
    (task,) = tasks_of("qemu-img")
    with started(place, [task]) as crew:
        crew.wait_ready()
        crew.go(["qemu-img"], 2)
        assert crew.wait_idle(["qemu-img"], 200), crew.failed
    (units,) = team.units(place / "work", task, time.time())
    assert len(units.end_s) == 2 and np.all(units.bytes > 2**20)


def test_a_foreground_stops_after_its_unit_and_the_background_goes_on(place):
    laid_out(place, "search", "cat")
    search, cat = tasks_of("search", "cat")
    with started(place, [search, cat]) as crew:
        crew.wait_ready()
        crew.go(["cat"])
        for _ in range(2):
            crew.go(["search"])
            crew.wait(0.3)
            crew.stop(["search"])
            assert crew.wait_idle(["search"], 120)
            idle_since, end = time.time(), time.monotonic() + 60
            crew.wait(0.3)
            while _last_end_s(place, cat) <= idle_since and time.monotonic() < end:
                crew.wait(0.3)
    (units,) = team.units(place / "work", search, time.time())
    assert not np.any(units.end_s > idle_since + 0.05), "a unit ran while the foreground was idle"
    assert _last_end_s(place, cat) > idle_since, "the background stopped"


def _last_end_s(place, *tasks) -> float:
    """When the last unit ended of the worker that has none for the longest time."""
    logs = [units.end_s for task in tasks for units in team.units(place / "work", task, time.time())]
    return min(float(ends[-1]) if len(ends) else 0.0 for ends in logs)


def _opened(path: str, together, told) -> None:
    together.wait()
    try:
        database.connected(path).close()
        told.put(None)
    except Exception as error:  # noqa: BLE001 - whatever it is, the test says it
        told.put(repr(error))


def test_several_processes_that_open_a_database_at_once_all_get_it(tmp_path):
    for number in range(20):
        path = str(tmp_path / f"{number}.db")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as link:
            link.execute("CREATE TABLE account (id INTEGER PRIMARY KEY)")
        processes = multiprocessing.get_context("fork")
        together, told = processes.Barrier(3), processes.Queue()
        workers = [processes.Process(target=_opened, args=(path, together, told)) for _ in range(3)]
        for worker in workers:
            worker.start()
        assert [told.get(timeout=60) for _ in workers] == [None] * 3
        for worker in workers:
            worker.join()


def test_several_workers_share_the_work(place):
    laid_out(place, "sqlite")
    (task,) = tasks_of("sqlite", workers=3)
    with started(place, [task]) as crew:
        crew.wait_ready()
        crew.go(["sqlite"])
        end = time.monotonic() + 60
        while _last_end_s(place, task) == 0.0 and time.monotonic() < end:
            crew.wait(1.0)
        crew.stop(["sqlite"])
        assert crew.wait_idle(["sqlite"], 120)
    each = team.units(place / "work", task, time.time())
    assert all(len(units.end_s) > 0 for units in each)
    with sqlite3.connect(place / "data/sqlite/data.db") as link:
        done = link.execute("SELECT sum(balance) FROM account").fetchone()[0]
    assert done == sum(len(units.end_s) for units in each), "a committed transaction was lost, or one was not logged"


def test_a_program_that_cannot_go_on_is_reported_with_its_reason(place):
    laid_out(place, "cat")
    (task,) = tasks_of("cat")
    with started(place, [task]) as crew:
        crew.wait_ready()
        for path in (place / "data/large").iterdir():
            path.unlink()
        crew.go(["cat"], 1)
        assert not crew.wait_idle(["cat"], 30)
        assert crew.failed


def test_workers_die_with_whoever_started_them(place):
    laid_out(place, "cat", "copy")
    code = (
        "import sys, time; from pathlib import Path; from seekwise.workload import team\n"
        f"place = Path({str(place)!r})\n"
        "tasks = [team.Task(name, name, {}, 2, 0.0) for name in ('cat', 'copy')]\n"
        "with team.started(tasks, place / 'data', place / 'own', place / 'work', 7) as crew:\n"
        "    crew.wait_ready(); crew.go(['cat', 'copy']); print('going', flush=True); crew.wait(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "going\n"
    time.sleep(0.5)
    process.kill()
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 60
    while time.monotonic() < end and _running(place):
        time.sleep(0.05)
    assert _running(place) == []


def _running(place):
    found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if str(place) in line and "pytest" not in line]


def test_what_is_evicted_is_counted(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20))
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.read(file, 1 << 20)
        assert page_cache.cached_bytes(file) == 1 << 20
        share = cold.evict([path])
        assert page_cache.cached_bytes(file) == round((1 << 20) * share)
    finally:
        os.close(file)


def test_a_unit_that_never_ended_counts_with_its_age_and_a_torn_row_not_at_all(tmp_path):
    writer = log.LogWriter(tmp_path / "a.units")
    writer.begun(100.0)
    writer.ended(100.5, 0.5, 4096, 0.25, 0.0)
    writer.begun(101.0)
    with (tmp_path / "a.units").open("ab") as file:
        file.write(b"\0" * 7)
    units = log.read(tmp_path / "a.units", 104.0)
    assert units.end_s.tolist() == [100.5, 104.0]
    assert units.duration_ns.tolist() == [0.5e9, 3e9]
    assert units.bytes.tolist() == [4096.0, 0.0] and units.waited_share[0] == 0.25
    assert len(log.read(tmp_path / "none.units", 1.0).end_s) == 0


def test_each_program_says_what_it_does_and_each_data_set_is_known():
    for name, program in programs.PROGRAMS.items():
        made = programs.program_named(name, {})
        assert program.title and program.unit and set(made.data_sets) <= set(data.DATA_SETS)
        assert program.expected_s > 0 or not program.long_units
