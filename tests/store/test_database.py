"""The file of records: nothing written is lost, nothing foreign is touched."""

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from seekwise.errors import SeekwiseError, UsageError
from seekwise.store.database import SCHEMA_VERSION, Run, Store, default_path
from seekwise.store.percentiles import percentiles
from seekwise.store.record import CpuSeconds, Phase, Record

PHASE = Phase(
    operation="rand_read",
    elapsed_s=2.0,
    bytes=8_000_000,
    ios=1953,
    latency_bins={100_000: 1000, 200_000: 950, 5_000_000: 3},
    latency_mean_ns=155_000.5,
    latency_max_ns=4_900_000,
    cpu=CpuSeconds(0.01, 0.05, user=0.1, system=0.2, irq=0.0, softirq=0.05, kernel_threads={"md0_raid5": 0.04}),
    device_bytes=8_003_584,
    windows=((4e6, 150e3), (4.1e6, 151e3)),
)
RECORD = Record(
    run_id="r1",
    trial=0,
    repetition=1,
    combination="system=disk threads=1",
    setting="bfq",
    factors={"scheduler": "bfq", "threads": 1, "direct": True},
    provenance="measured",
    seed=2**62,
    started_at="2026-11-21T12:00:00+00:00",
    phases=(PHASE,),
    settings_seen={"sda": {"queue/scheduler": "bfq"}},
)
RUN = Run("r1", "2026-11-21T12:00:00", "0.1.0", "small", "kernel", ".", 1, "name = 'small'", {"a": 1}, None, None)


def test_a_record_comes_back_as_it_went_in(tmp_path):
    with Store.open(tmp_path / "records.db") as store:
        store.add_run(RUN)
        store.add(RECORD)
    with Store.open(tmp_path / "records.db", create=False) as store:
        assert list(store.records("r1")) == [RECORD]
        assert store.run("r1") == RUN


def test_invalid_and_repeated_trials_are_both_kept(tmp_path):
    with Store.open(tmp_path / "records.db") as store:
        store.add_run(RUN)
        store.add(replace(RECORD, valid=False, invalid_reason="short run"))
        store.add(replace(RECORD, attempt=2))
        store.add(replace(RECORD, trial=1, valid=False, invalid_reason="short run"))
        assert store.attempts("r1") == {0: (2, True), 1: (1, False)}
        assert store.count("r1") == (3, 1)


def test_a_record_is_never_rewritten(tmp_path):
    with Store.open(tmp_path / "records.db") as store:
        store.add_run(RUN)
        store.add(RECORD)
        with pytest.raises(SeekwiseError):
            store.add(RECORD)


def test_the_database_is_in_write_ahead_mode_and_says_whose_it_is(tmp_path):
    with Store.open(tmp_path / "records.db"):
        connection = sqlite3.connect(tmp_path / "records.db")
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        connection.close()


def test_a_killed_writer_loses_no_row_that_was_added(tmp_path):
    path = tmp_path / "records.db"
    writer = f"""
import itertools, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from dataclasses import replace
from pathlib import Path
from test_database import RECORD, RUN
from seekwise.store.database import Store
store = Store.open(Path({str(path)!r}))
store.add_run(RUN)
for trial in itertools.count():
    store.add(replace(RECORD, trial=trial))
    print(trial, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", writer], stdout=subprocess.PIPE, text=True) as process:
        last = [process.stdout.readline() for _ in range(25)][-1]
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read().split()
    told = int(rest[-1]) if rest else int(last)
    with Store.open(path, create=False) as store:
        kept = [record.trial for record in store.records("r1")]
    assert kept == list(range(len(kept)))
    # A row may be committed whose line was not printed any more.
    assert told <= kept[-1] <= told + 1


@pytest.mark.parametrize(("step", "said"), [(1, "written by a newer seekwise"), (-1, "from before the first release")])
def test_a_database_of_another_version_is_refused_and_not_touched(tmp_path, step, said):
    path = tmp_path / "records.db"
    Store.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + step}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(SeekwiseError, match=said):
        Store.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path, content):
    path = tmp_path / "records.db"
    path.write_bytes(content)
    with pytest.raises(SeekwiseError, match="unreadable") as caught:
        Store.open(path)
    assert str(path) in caught.value.message
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path):
    path = tmp_path / "records.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(SeekwiseError, match="another program"):
        Store.open(path)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]
    connection.close()


def test_reading_does_not_create_a_database(tmp_path):
    with pytest.raises(UsageError, match="no records at"):
        Store.open(tmp_path / "records.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_found_by_the_beginning_of_its_name_if_that_is_clear(tmp_path):
    with Store.open(tmp_path / "records.db") as store:
        for name in ("20261121-1200-aaaa", "20261121-1300-bbbb"):
            store.add_run(replace(RUN, run_id=name, created_at=name))
        assert store.run("20261121-13").run_id.endswith("bbbb")
        assert store.run("last").run_id.endswith("bbbb")
        with pytest.raises(UsageError, match="begins 2 runs"):
            store.run("2026")
        with pytest.raises(UsageError, match="unknown"):
            store.run("1999")


def test_last_is_the_newest_run_that_did_not_fail_and_a_name_means_its_newest_run(tmp_path):
    with Store.open(tmp_path / "records.db") as store:
        for name, outcome in (("20261121-1200-aaaa", "complete"), ("20261121-1300-bbbb", "failed: the disk went away")):
            store.add_run(replace(RUN, run_id=name, created_at=name, name="before"))
            store.end_run(name, outcome)
        assert store.run("last").run_id.endswith("aaaa")
        assert store.run("before").run_id.endswith("bbbb")
        store.end_run("20261121-1200-aaaa", "failed: no room")
        assert store.run("last").run_id.endswith("bbbb")


def test_the_usual_place_follows_the_base_directory_specification(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "seekwise" / "records.db"
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", "/home/ada")
    assert default_path() == Path("/home/ada/.local/share/seekwise/records.db")


def test_percentiles_are_given_where_twenty_requests_lie_beyond_them():
    bins = dict.fromkeys(range(1, 1001), 1)
    found = percentiles(bins)
    assert found["50"] == 500
    assert found["95"] == 950
    assert "99" not in found
    assert percentiles(dict.fromkeys(range(1, 2001), 1))["99"] == 1980
    assert percentiles({}) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts a small file system")
def test_a_full_disk_is_said_and_what_was_committed_stays(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], check=True, timeout=60)
    try:
        added = 0
        with Store.open(folder / "records.db") as store:
            store.add_run(RUN)
            with pytest.raises(SeekwiseError, match=r"cannot write records to .*records\.db") as caught:
                for trial in range(10_000):
                    store.add(replace(RECORD, trial=trial))
                    added += 1
            assert "make room" in caught.value.hint
            assert store.count("r1") == (added, added)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=60)


def test_a_run_that_meets_a_locked_file_is_kept_whole_beside_it(tmp_path, capsys):
    path = tmp_path / "records.db"
    with Store.open(path) as store, sqlite3.connect(path, isolation_level=None) as other:
        store._connection.execute("PRAGMA busy_timeout = 50")
        store.add_run(RUN)
        store.add(RECORD)
        other.execute("BEGIN IMMEDIATE")
        store.add(replace(RECORD, trial=RECORD.trial + 1))
        store.end_run(RUN.run_id, "complete")
        assert store.run("last").outcome == "complete"
        beside = store.path
        other.execute("ROLLBACK")
    other.close()
    said = capsys.readouterr().err
    assert str(path) in said and str(beside) in said and beside != path and beside.parent == tmp_path
    with Store.open(beside, create=False) as kept:
        assert [record.trial for record in kept.records(RUN.run_id)] == [RECORD.trial, RECORD.trial + 1]
        assert kept.run("last").outcome == "complete"


def test_a_locked_file_is_an_error_before_anything_is_measured(tmp_path):
    path = tmp_path / "records.db"
    with Store.open(path) as store, sqlite3.connect(path, isolation_level=None) as other:
        store._connection.execute("PRAGMA busy_timeout = 50")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SeekwiseError, match="locked"):
            store.add_run(RUN)
        other.execute("ROLLBACK")
    other.close()
    assert [each.name for each in tmp_path.glob("*.db")] == ["records.db"]
