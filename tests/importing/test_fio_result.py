"""fio's JSON: what is skipped, added up, and how CPU time is told."""

import json
import os
import resource
import shutil
import subprocess

import pytest

from seekwise.importing import fio_result

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def side(ios: int, bytes_each: int = 4096, runtime_ms: int = 1000, mean: float = 1000.0, bins=None) -> dict:
    latency = {"min": 1, "max": 9000, "mean": mean, "stddev": 0.0, "N": ios, "bins": bins or {}}
    return {"io_bytes": ios * bytes_each, "io_kbytes": ios * bytes_each // 1024, "total_ios": ios, "short_ios": 0,
            "runtime": runtime_ms, "bw_bytes": 1, "lat_ns": latency, "clat_ns": {}}  # fmt: skip


def job(read=None, write=None, rw="randread", **more) -> dict:
    return {"jobname": "a", "groupid": 0, "error": 0, "read": read or side(0), "write": write or side(0),
            "job_runtime": 1000, "usr_cpu": 5.0, "sys_cpu": 10.0, "ctx": 1, "job options": {"rw": rw},
            "iodepth_level": {"1": 100.0}, **more}  # fmt: skip


def test_text_before_the_json_is_skipped():
    text = 'fio: warning {not json}\nsomething\n{"jobs": [{"a": 1}]}\ntrailing words'
    assert fio_result.parse(text) == {"jobs": [{"a": 1}]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no JSON; it is empty"),
        ("fio: out of memory\n", "has no JSON; it begins: 'fio: out of memory'"),
        ('{"jobs": [{"read"', "breaks off or is damaged"),
        ('{"fio version": "fio-3.33"}', "lists no jobs"),
        ('{"jobs": []}', "lists no jobs"),
        ("[1, 2]", "has no JSON"),
        ("\x00\xff{}", "has no JSON"),
    ],
)
def test_garbage_is_one_clear_error(text, words):
    with pytest.raises(fio_result.FioOutputError) as caught:
        fio_result.parse(text, "job.json")
    assert words in caught.value.message
    assert "job.json" in caught.value.message


def test_jobs_of_the_wrong_shape_are_one_clear_error():
    with pytest.raises(fio_result.FioOutputError, match="fio's JSON lacks '"):
        fio_result.phase([{"read": {"total_ios": 3}}])


def test_jobs_that_ran_together_are_added_up_and_the_longest_runtime_counts():
    found = fio_result.phase([job(read=side(100, mean=1000.0)), job(read=side(300, runtime_ms=2000, mean=3000.0))])
    assert (found.operation, found.ios, found.bytes, found.elapsed_s) == ("rand_read", 400, 400 * 4096, 2.0)
    assert found.latency_mean_ns == pytest.approx(2500.0)


def test_cpu_seconds_are_the_same_grouped_and_ungrouped():
    alone = [job(read=side(1), sys_cpu=13.8, job_runtime=3000) for _ in range(4)]
    # fio's own group report of the same four threads: shares of one, runtimes added up.
    grouped = [job(read=side(4), sys_cpu=13.8, job_runtime=12000)]
    assert fio_result.cpu_seconds(alone) == pytest.approx(fio_result.cpu_seconds(grouped))
    assert fio_result.cpu_seconds(grouped)[1] == pytest.approx(4 * 0.138 * 3)


def test_bins_are_told_by_their_upper_bound():
    # fio 3.33 cuts [2^k, 2^(k+1)) into 64 bins and prints their middle: the first bin above 128 holds 128 and 129.
    assert fio_result.bin_upper(100) == 100
    assert fio_result.bin_upper(129) == 129
    assert fio_result.bin_upper(2**20 + 2**13) == 2**20 + 2**14 - 1
    found = fio_result.phase([job(read=side(3, bins={"129": 2, "8960": 1}))])
    assert found.latency_bins == {129: 2, 9000: 1}, "no bin ends above the greatest latency seen"


def test_both_directions_or_patterns_are_mixed():
    assert fio_result.phase([job(read=side(1), write=side(1))]).operation == "mixed"
    assert fio_result.phase([job(read=side(1)), job(read=side(1), rw="read")]).operation == "mixed"
    assert fio_result.phase([job(write=side(1), rw="write")]).operation == "seq_write"


# What fio's own start and report cost on a machine that is busy with other work; alone it is a tenth of that.
FIO_START_S = 0.15


@needs_fio
@pytest.mark.parametrize("grouped", [0, 1])
def test_cpu_seconds_agree_with_the_kernels_own_accounting(tmp_path, grouped):
    """This test will let fio spend CPU in null I/O, and compare with what the kernel says that our children spent."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["fio", "--name=a", "--ioengine=null", "--rw=randread", "--size=1g", "--bs=4k", "--runtime=1", "--time_based",
         "--numjobs=2", "--thread", f"--group_reporting={grouped}", "--output-format=json+", f"--output={tmp_path}/o.json",
         "--clocksource=clock_gettime"],
        check=True, timeout=60, cwd=tmp_path, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    kernel = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    document = json.loads((tmp_path / "o.json").read_text())
    found = fio_result.phase(document["jobs"])
    told = found.submitter_user_s + found.submitter_system_s
    # Besides its threads fio starts, calibrates and reports; on a loaded machine the threads get less than two processors.
    assert told <= kernel + 0.02
    assert told >= 0.7 * (kernel - FIO_START_S)
    assert told <= os.cpu_count() * 1.2
    assert sum(found.latency_bins.values()) == found.ios
