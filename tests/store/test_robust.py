"""A database may be damaged, hostile, read-only or no file at all: one run of it blocks no other, and reading writes nothing."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from seekwise.errors import RefusedError, SeekwiseError, UsageError
from seekwise.measure.execute import going
from seekwise.store.database import Run, Store, now


@pytest.fixture
def db(tmp_path) -> Path:
    path = tmp_path / "records.db"
    with Store.open(path) as store:
        for name in ("r1", "r2"):
            store.add_run(Run(name, now(), "0", name, "kernel", None, 1, "", {}, None, "complete"))
    return path


def set_plan(path: Path, text: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE run SET plan = ? WHERE run_id = 'r1'", (text,))
    connection.commit()
    connection.close()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, "1" * 100_000, "\x00"])
def test_one_bad_plan_blocks_no_other_run(db, text):
    set_plan(db, text)
    with Store.open(db, create=False) as store:
        assert [run.run_id for run in store.runs()] == ["r2"]
        assert "r1 cannot be read" in store.damage[0]
        assert store.run("r2").name == "r2"
        assert store.run("last").name == "r2"


def test_a_plan_that_lacks_something_is_one_error(db):
    from seekwise.workload.study.plan import Plan

    for plan in ({}, {"combinations": 1}, {"combinations": [], "settings": [{"x": 1}]}):
        with pytest.raises(SeekwiseError, match="cannot be read"):
            Plan.from_document(plan)


def test_a_record_that_cannot_be_read_is_one_error_of_its_run(db):
    connection = sqlite3.connect(db)
    row = ("r1", 0, 1, 1, "c", "s", "measured", 1, None, 1, "", "{")
    connection.execute(f"INSERT INTO trial VALUES ({','.join('?' * len(row))})", row)
    connection.commit()
    connection.close()
    with Store.open(db, create=False) as store:
        with pytest.raises(SeekwiseError, match="record of run r1"):
            list(store.records("r1"))
        assert list(store.records("r2")) == []


def test_a_pipe_or_a_folder_is_no_file_of_records_and_nobody_waits(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(UsageError, match="no file of records"):
            Store.open(path, create=False)


def test_reading_needs_no_right_to_write_and_writes_nothing(db, tmp_path):
    db.chmod(0o444)
    db.parent.chmod(0o555)
    before = sorted(os.listdir(tmp_path))
    code = (
        "import sys; from pathlib import Path; from seekwise.store.database import Store\n"
        "with Store.open(Path(sys.argv[1]), create=False) as store: print(len(store.runs()))"
    )
    words = [sys.executable, "-c", code, str(db)]
    if os.geteuid() == 0:
        # Root may write everywhere: a read-only mount is what stops it.
        words = ["unshare", "-m", "sh", "-c", f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,ro {tmp_path} && exec \"$@\"", "sh", *words]  # fmt: skip
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        if os.geteuid() == 0 and "unshare" in done.stderr:
            pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
        assert done.stdout == "2\n", done.stderr
        assert sorted(os.listdir(tmp_path)) == before
    finally:
        db.parent.chmod(0o755)


def test_a_run_that_goes_on_cannot_be_resumed_by_another_process(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path))
    code = (
        "import time; from seekwise.measure.execute import going\n"
        "with going('r1'): print('going', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"going\n"
        with pytest.raises(RefusedError, match="still going on"), going("r1"):
            pytest.fail("must not be entered")
        with going("r2"):
            pass
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    with going("r1"):
        pass
