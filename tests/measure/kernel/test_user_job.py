"""A fio job in a study may come from a stranger: what it may say, and where its load works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from seekwise.errors import RefusedError, UsageError
from seekwise.measure.kernel import user_job
from seekwise.measure.kernel.fio_job import FioTarget

FOLDER = FioTarget(folder=Path("/srv/x"), region_bytes=64 * 2**20)
DEVICE = FioTarget(device=Path("/dev/sdb"), offset_bytes=2**20, region_bytes=2**20, whole_bytes=10 * 2**20)
needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def job_of(tmp_path, text: str) -> user_job.UserJob:
    (tmp_path / "my.fio").write_text(text)
    return user_job.read(tmp_path / "my.fio")


def test_a_users_job_is_put_onto_the_target_whatever_it_says(tmp_path):
    job = job_of(
        tmp_path,
        "[global]\nbs=8k\nsize=4m\ndirectory=/etc\n[a]\nfilename=/dev/sda\nrw=randwrite\n[b]\nstonewall\nrw=read\n",
    )
    assert [[name for name, _ in group] for group in job.groups] == [["a"], ["b"]]
    first = user_job.group_text(job, 0, FOLDER, seed=5)
    assert "/dev/sda" not in first
    assert "/etc" not in first
    assert "directory=/srv/x" in first
    assert "randseed=5" in first
    assert "[b]" not in first
    assert job.writes
    assert not job_of(tmp_path, "[a]\nrw=randread\nsize=4m\n").writes


@pytest.mark.parametrize(
    "option",
    [
        "exec_prerun=rm -rf /", "exec_postrun=x", "include other.fio", "include=other.fio", "write_bw_log=/etc/x",
        "ioengine=exec", "program=/bin/sh", "ioengine=external:/tmp/x.so", "ioengine=http", "ioengine=rbd", "ioengine=net",
        "write_hist_log=/etc/x", "write_iolog=/x", "read_iolog=|id", "mem=mmaphuge:/etc/passwd", "iomem=mmaphuge:/x",
        "iomem=mmapshared:/x", "ioscheduler=bfq", "cgroup=/x", "uid=1000", "verify_dump=1", "verify=md5", "lockfile=/x",
        "size=$mb_memory';id>/tmp/x;'", "bs=`id`", "bs=${HOME}", "zonemode=zbd", "offset_align=4k", "offset_increment=1m",
        "unlink=1", "profile=tiobench", "error_dump=1", "fill_device=1", "file_append=1", "rw=trim", "rw=write,exec",
        "IOENGINE=exec", " ioengine = exec", "ioengine\t=exec", "bs=4k\x0bexec_prerun=id", "mem=malloc:/x", "bs=4k\u2028x",
        "log_store_compressed=1", "bs_unaligned=1", "aux-path=/etc", "stats=0", "gtod_reduce=1", "client=x", "kb_base=1000",
    ],
)  # fmt: skip
def test_what_runs_programs_writes_elsewhere_or_changes_the_machine_is_refused(tmp_path, option):
    for text in (f"[a]\nrw=read\n{option}\n", f"[global]\n{option}\n[a]\nrw=read\n"):
        with pytest.raises(RefusedError) as raised:
            job_of(tmp_path, text)
        assert raised.value.exit_status == 3


@pytest.mark.parametrize("place", [FOLDER, DEVICE])
def test_the_last_word_in_every_section_is_ours(tmp_path, place):
    text = "[global]\nsize=100%\n[a]\nrw=write\noffset=0\nsize=100%\n[b]\nrw=write\nfilename=/dev/vda\nsize=90g\nrandseed=1\n"
    made = user_job.group_text(job_of(tmp_path, text), 0, place, seed=7)
    for section in re.split(r"\n(?=\[)", made)[1:]:
        said = [line.partition("=") for line in section.splitlines()[1:]]
        last = {name: value for name, _, value in said}
        room = place.whole_bytes or place.region_bytes
        assert int(last["size"]) <= room and int(last["offset"]) == place.offset_bytes
        assert last["randseed"] == "7"
        names = [name for name, _, _ in said]
        assert names.count("offset") == names.count("size") == 1
        assert last.get("filename", "/dev/sdb") == "/dev/sdb" and last.get("directory", "/srv/x/") == "/srv/x/"


def test_names_of_sections_cannot_name_files(tmp_path):
    job = job_of(tmp_path, "[../../etc/passwd]\nrw=read\n[a:b$c]\nrw=read\n")
    assert [name for name, _ in job.groups[0]] == [".._.._etc_passwd", "a_b_c"]


def test_files_that_do_not_fit_are_known_before(tmp_path):
    assert job_of(tmp_path, "[a]\nrw=read\nsize=1g\nnumjobs=4\n").needs_bytes(1) == 4 << 30
    assert job_of(tmp_path, "[a]\nrw=read\nfilesize=1g\nnrfiles=3\n").needs_bytes(1) == 3 << 30
    assert job_of(tmp_path, "[a]\nrw=read\n").needs_bytes(5) == 5


def test_a_job_file_without_a_job_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no job section"):
        job_of(tmp_path, "[global]\nbs=4k\n")
    with pytest.raises(UsageError, match=r"my\.fio:1: `bs=4k` stands before any"):
        job_of(tmp_path, "bs=4k\n")


def test_a_pipe_a_device_or_a_folder_is_no_job_and_nobody_waits(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match="cannot read fio job"):
            user_job.read(path)


@needs_fio
def test_fio_stays_where_the_last_word_says(tmp_path):
    """A device of a file: what lies outside the proven region is as before."""
    disk = tmp_path / "disk.img"
    disk.write_bytes(b"\xaa" * (16 << 20))
    place = FioTarget(device=disk, offset_bytes=2**20, region_bytes=2**20, whole_bytes=14 * 2**20)
    text = (
        "[global]\nioengine=psync\nbs=64k\nsize=100%\n[a]\nrw=write\noffset=0\nsize=100%\nnumjobs=2\n"
        "[b]\nrw=randwrite\nbsrange=4k-256k\nsize=16m\n[c]\nrw=write\nfilesize=1g\nsize=64g\nbs=3333\n[d]\nrw=randwrite\nbs=1m\nba=512\n"
    )
    made = user_job.group_text(job_of(tmp_path, text), 0, place, seed=1, direct=False)
    (tmp_path / "job.fio").write_text(made)
    done = subprocess.run(["fio", str(tmp_path / "job.fio")], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, made + done.stdout + done.stderr
    data = disk.read_bytes()
    assert len(data) == 16 << 20
    assert data[: 1 << 20] == data[15 << 20 :] == b"\xaa" * (1 << 20)
    assert b"\xaa" * 4096 not in data[1 << 20 : 13 << 20]


@needs_fio
def test_fio_knows_every_option_that_is_allowed():
    known = subprocess.run(["fio", "--cmdhelp=all"], capture_output=True, text=True, timeout=30, check=False).stdout
    names = {line.partition(":")[0].strip() for line in known.splitlines()}
    aliases = {
        "blocksize", "blocksize_range", "blockalign", "hipri", "fixedbufs", "registerfiles", "sqthread_poll", "nonvectored",
        "wait_for_previous", "softrandommap", "io_limit", "iodepth_batch_submit", "timeout", "start_delay", "readwrite", "iomem",
        "rwmixcycle", "iodepth_batch_complete",
    }  # fmt: skip
    assert user_job.ALLOWED - names <= aliases
