"""Seeded mutations of every kind of input: one error or a result, never a traceback, never longer than 2 s, never much memory."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from pathlib import Path

import pytest

from seekwise import importing
from seekwise.control import recovery
from seekwise.control.journal import Journal, _line
from seekwise.errors import SeekwiseError
from seekwise.importing import fio_result
from seekwise.linux.stack import read_stack
from seekwise.measure.kernel import user_job, windows
from seekwise.store.database import Store
from seekwise.workload.study import parse

from .mutation import SEED, counts, every, mutated

STUDY = b"""
name = "small"
backend = "simulated"
[[system]]
name = "disk"
drive = "wd2500ys"
[settings]
scheduler = ["none", "mq-deadline"]
read_ahead_kb = [128, 4096]
[[workload]]
operations = ["rand_read", "seq_write"]
threads = [1, 2]
runtime = "200ms"
size = "4m"
[design]
blocks = 2
seed = 7
"""


@counts
def test_studies(count):
    every(STUDY, lambda data: parse.loads(data.decode("utf-8", errors="replace"), "fuzz"), count)


SIDE = {
    "io_bytes": 4096, "io_kbytes": 4, "bw_bytes": 4096.0, "runtime": 1000, "total_ios": 1, "short_ios": 0,
    "lat_ns": {"min": 1, "max": 100, "mean": 50.0, "N": 1, "bins": {"100": 1}}, "clat_ns": {"max": 9, "mean": 9.0},
}  # fmt: skip
FIO = json.dumps({
    "fio version": "fio-3.33", "timestamp": 1_700_000_000, "global options": {"bs": "4k", "rw": "randread"},
    "jobs": [{
        "jobname": "a", "groupid": 0, "error": 0, "job options": {"numjobs": "2", "randseed": "5"}, "read": SIDE, "write": SIDE,
        "usr_cpu": 1.0, "sys_cpu": 2.0, "ctx": 3, "job_runtime": 1000, "iodepth_level": {"1": 100.0, ">=64": 0.0},
    }],
}).encode()  # fmt: skip


@counts
def test_fios_json(count):
    every(FIO, lambda data: fio_result.phase(fio_result.parse(data.decode(errors="replace"))["jobs"]), count)


@counts
def test_imports(count, tmp_path):
    path = tmp_path / "none.1.json"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        importing.read((path,), name="x", labels=())

    every(FIO, read, count)


@pytest.mark.parametrize("text", ['{"jobs": [null]}', '{"jobs": [{"read": null}]}', '{"jobs": ' + "[" * 200_000])
def test_fios_json_that_was_met(text):
    with pytest.raises(SeekwiseError):
        fio_result.phase(fio_result.parse(text)["jobs"])


@pytest.mark.parametrize("value", ["NaN", "-5", "Infinity", "1e400"])
@pytest.mark.parametrize("key", ["runtime", "mean", "usr_cpu", "io_bytes"])
def test_no_figure_is_negative_or_no_number(key, value):
    document = json.loads(FIO)
    job = document["jobs"][0]
    place = job["read"]["lat_ns"] if key == "mean" else job if key == "usr_cpu" else job["read"]
    place[key] = "MARK"
    text = json.dumps(document).replace('"MARK"', value)
    if key == "runtime":
        text = text.replace('"runtime": 1000', f'"runtime": {value}')
    with pytest.raises(SeekwiseError):
        fio_result.phase(fio_result.parse(text)["jobs"])


@counts
def test_fios_logs(count, tmp_path):
    def read(data: bytes) -> None:
        (tmp_path / "windows_bw.log").write_bytes(data)
        (tmp_path / "windows_lat.log").write_bytes(b"1000, 5, 0, 4096\n2000, 5, 0, 4096\n")
        windows.take(tmp_path)

    every(b"1000, 512, 0, 4096, 0\n2000, 512, 0, 4096, 0\n", read, count)


@counts
def test_fio_jobs(count, tmp_path):
    path = tmp_path / "x.fio"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        job = user_job.read(path)
        place = user_job.FioTarget(folder=tmp_path, region_bytes=1 << 20)
        for index in range(len(job.groups)):
            user_job.group_text(job, index, place, 1)
        job.needs_bytes(1)

    every(
        b"[global]\nbs=4k\nsize=50%\n[a]\nrw=randread\nnumjobs=2\nnrfiles=3\nfilesize=1m\n[b]\nstonewall\nrw=read\n",
        read,
        count,
    )


@counts
def test_journals(count, tmp_path):
    folder = tmp_path / "root/sys/block/sda/queue"
    folder.mkdir(parents=True)
    (folder / "nomerges").write_text("0\n")
    journal = Journal(tmp_path / "state")
    item = {"device": "sda", "root": str(tmp_path / "root"), "identity": {"inode": 1}, "asked": {"queue/nomerges": "2"}, "old": {"queue/nomerges": "0"}}  # fmt: skip
    entry = journal.open("changed", [item])
    path = journal._path(entry.id)
    sample = path.read_bytes()
    journal.close(entry)
    chance = random.Random(SEED)

    def read(data: bytes) -> None:
        if chance.random() < 0.5:
            # With right checksums, so that what is inside is looked at.
            lines = (line.partition(b" ")[2] for line in data.split(b"\n") if line)
            data = b"".join(f"{__import__('zlib').crc32(line):08x} ".encode() + line + b"\n" for line in lines)
        path.write_bytes(data)
        path.chmod(0o600)
        recovery.preview(journal)
        recovery.revert_all(journal)
        for each in journal.folder.iterdir():
            each.unlink() if not each.is_dir() else None

    every(sample, read, count)
    assert _line({})


@counts
def test_databases(count, tmp_path):
    path = tmp_path / "records.db"
    with Store.open(path):
        pass
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("INSERT INTO run VALUES ('r1', 'now', '0', 'x', 'kernel', NULL, 1, '', '{}', NULL, NULL)")
    connection.commit()
    connection.close()
    sample = path.read_bytes()

    def read(data: bytes) -> None:
        for other in tmp_path.iterdir():
            other.unlink()
        path.write_bytes(data)
        with Store.open(path, create=False) as store:
            for run in store.runs():
                store.count(run.run_id)
                list(store.records(run.run_id))

    every(sample, read, min(count, 2000) if os.environ.get("CI") else count)


TREE = {
    "sys/block/sda/size": b"1953525168\n", "sys/block/sda/dev": b"8:0\n", "sys/block/sda/queue/rotational": b"1\n",
    "sys/block/sda/queue/scheduler": b"none [mq-deadline] kyber\n", "sys/block/sda/device/model": b"WDC WD2500YS\n",
    "sys/block/sda/queue/nr_requests": b"64\n", "sys/class/block/sda/dev": b"8:0\n",
    "proc/self/mountinfo": b"22 1 8:0 / / rw,relatime shared:1 - ext4 /dev/sda rw\n", "proc/swaps": b"Filename Type Size\n",
    "proc/mdstat": b"Personalities : [raid1]\nmd0 : active raid1 sda[0]\n", "run/udev/data/b8:0": b"E:ID_SERIAL=WD\n",
}  # fmt: skip


@counts
def test_captured_trees(count, tmp_path):
    chance = random.Random(SEED)
    for name, content in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)

    def read(data: bytes) -> None:
        name = chance.choice(list(TREE))
        (tmp_path / name).write_bytes(mutated(TREE[name], chance))
        try:
            read_stack(tmp_path)
        finally:
            (tmp_path / name).write_bytes(TREE[name])
        assert isinstance(data, bytes)

    every(b"x", read, count)


@pytest.mark.parametrize("make", ["pipe", "/dev/zero", "folder"])
def test_what_is_no_file_is_an_error_and_nobody_waits(tmp_path, make):
    path = tmp_path / "x"
    if make == "pipe":
        os.mkfifo(path)
    elif make == "folder":
        path.mkdir()
    else:
        path = Path(make)
    for read in (parse.load, lambda each: importing.read((each,), name="x", labels=()), user_job.read):
        with pytest.raises(SeekwiseError):
            read(path)
