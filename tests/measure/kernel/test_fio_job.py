"""Job texts."""

import shutil
import subprocess
from pathlib import Path

import pytest

from seekwise.measure.kernel import fio_job
from seekwise.workload.study.plan import Load, PlannedPhase

PLACE = fio_job.FioTarget(folder=Path("/srv/x"), region_bytes=64 * 2**20)
needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def lines(text: str) -> set[str]:
    return set(text.splitlines())


def test_a_phase_has_its_own_seed_and_bypasses_the_cache():
    text = lines(fio_job.phase(Load("q", threads=8), PlannedPhase("rand_read", 0.7), PLACE, seed=123))
    assert {
        "rw=randread",
        "numjobs=8",
        "direct=1",
        "randseed=123",
        "randrepeat=0",
        "runtime=700ms",
        "time_based=1",
    } <= text


def test_writes_end_with_fsync_and_reads_do_not():
    load = Load("q", end_fsync=True)
    assert "end_fsync=1" in fio_job.phase(load, PlannedPhase("seq_write"), PLACE, 1)
    assert "end_fsync=1" not in fio_job.phase(load, PlannedPhase("seq_read"), PLACE, 1)


def test_threads_on_a_device_have_regions_of_their_own_within_what_was_proven():
    place = fio_job.FioTarget(device=Path("/dev/sdb"), offset_bytes=2**20, region_bytes=10 * 2**20)
    text = lines(fio_job.phase(Load("q", threads=4), PlannedPhase("seq_read"), place, 1))
    assert {"filename=/dev/sdb", "offset=1048576", "offset_increment=10485760", "size=10485760"} <= text


@needs_fio
def test_fio_accepts_every_job_text_that_we_write(tmp_path):
    place = fio_job.FioTarget(folder=tmp_path, region_bytes=2**20)
    texts = [fio_job.layout(place, 2)]
    for operation in fio_job.FIO_RW:
        for load in (
            Load("q"),
            Load("q", iodepth=4, engine="libaio"),
            Load("q", direct=False, sync=True, rate_limit_bytes=10**6),
            Load("q", rate_limit_bytes=10**6, arrivals="poisson"),
            Load("q", think_s=0.002, io_class="best-effort", io_priority=7),
        ):
            texts += [
                fio_job.phase(load, PlannedPhase(operation, 0.1), place, 2**63 - 1),
                fio_job.phase(load, PlannedPhase(operation, None, 5), place, 1),
            ]
    for text in texts:
        (tmp_path / "job.fio").write_text(text)
        done = subprocess.run(
            ["fio", "--parse-only", str(tmp_path / "job.fio")], capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 0, text + done.stdout + done.stderr


@needs_fio
def test_the_layout_fills_every_file_to_its_end(tmp_path):
    place = fio_job.FioTarget(folder=tmp_path, region_bytes=2 * 2**20)
    (tmp_path / "job.fio").write_text(fio_job.layout(place, 3))
    subprocess.run(["fio", str(tmp_path / "job.fio")], check=True, capture_output=True, timeout=60)
    for number in range(3):
        file = tmp_path / f"t.{number}"
        assert file.stat().st_size == 2 * 2**20
        assert file.stat().st_blocks * 512 >= 2 * 2**20, "a file with holes is read without the disk"
