"""Is the drive slow, or is the queue long? Told apart from requests that are given, and on loop devices that are one or the other."""

import contextlib
import json
import os
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from seekwise.cli import _request_times
from seekwise.cli.main import cli
from seekwise.control import tracefs
from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.trace import in_queue
from seekwise.trace.columns import REQUEST, Flag, Kind

MS = 1_000_000
BLKIO = Path("/sys/fs/cgroup/blkio")


def rows(*requests, kind=Kind.READ, sectors=8, flags=0):
    """Requests of (arrival, issue, completion) in ms; a completion of None is still to come."""
    made = np.zeros(len(requests), REQUEST)
    for row, (arrival, issue, complete) in zip(made, requests, strict=True):
        row["arrival_ns"], row["issue_ns"] = arrival * MS, issue * MS
        row["complete_ns"] = -1 if complete is None else complete * MS
        row["sectors"], row["kind"], row["flags"] = sectors, kind, flags
    return made


def judged(made, medium="hard disk", seconds=1.0, has_requests=True):
    return in_queue.level("sda", medium, made, has_requests=has_requests, seconds=seconds)


def one_by_one(service_ms, count=50, depth=1):
    """`depth` requests wait at any time for a device that works on one."""
    return rows(*((max(0, (n - depth + 1) * service_ms), n * service_ms, (n + 1) * service_ms) for n in range(count)))


@pytest.mark.parametrize(
    ("made", "medium", "verdict"),
    [
        (one_by_one(10), "hard disk", "quick"),
        (one_by_one(10), "SSD", "slow"),
        (one_by_one(90), "hard disk", "slow"),
        (one_by_one(90, depth=20), "hard disk", "slow"),
        (one_by_one(10, depth=8), "hard disk", "queue"),
        (rows(*((0, 0, 10 * (n + 1)) for n in range(31))), "hard disk", "own queue"),
        (rows(*((100 * n, 100 * n, 100 * n + 1) for n in range(30))), "NVMe SSD", "quick"),
        (rows((0, 0, 5), (10, 10, 2500), (2600, 2600, 2610)), "hard disk", "stalls"),
        (rows((0, 0, 5), (10, 10, None)), "hard disk", "stalls"),
        (rows(*((n * 400, n * 400, n * 400 + 300) for n in range(9)), kind=Kind.FLUSH, sectors=0), "SSD", "slow"),
        (rows(), "SSD", "idle"),
    ],
)
def test_a_slow_device_and_a_long_queue_are_told_apart(made, medium, verdict):
    assert judged(made, medium, seconds=3.0).verdict == verdict


def test_large_requests_may_take_longer():
    assert judged(one_by_one(12), "SSD").verdict == "slow"
    assert judged(np.concatenate([rows((12 * n, 12 * n, 12 * n + 12), sectors=4096) for n in range(20)]), "SSD").verdict == "quick"  # fmt: skip


def test_kinds_have_their_own_times_and_read_ahead_is_no_read():
    both = np.concatenate([
        rows((0, 30, 40), (100, 130, 140)),
        rows((200, 201, 205), flags=int(Flag.AHEAD)),
        rows((300, 302, 310), kind=Kind.WRITE),
    ])  # fmt: skip
    found = {each.kind: each for each in judged(both).requests}
    assert {name: each.count for name, each in found.items()} == {"read": 2, "read-ahead": 1, "write": 1}
    assert found["read"].queue == pytest.approx((0.03, 0.03)) and found["read"].device == pytest.approx((0.01, 0.01))
    assert found["write"].queue == pytest.approx((0.002, 0.002))


def test_time_without_requests_is_no_service_time():
    assert judged(rows((0, 0, 10), (700, 700, 710))).service_s == pytest.approx(0.01)


def test_one_request_that_never_ends_makes_no_slow_device_of_quick_ones():
    quick = [(100 * n, 100 * n, 100 * n + 1) for n in range(30)]
    found = judged(rows((0, 50, None), *quick), "device", seconds=3.0)
    assert (found.verdict, found.unfinished) == ("quick", 1) and found.service_s == pytest.approx(0.001)


def test_bios_of_md_have_one_time_from_arrival_to_the_end():
    made = rows((0, -1, 20), (30, -1, 50))
    made["issue_ns"] = -1
    found = judged(made, has_requests=False)
    assert (found.verdict, found.requests[0].queue) == ("bios", None)
    assert found.requests[0].device == pytest.approx((0.02, 0.02))


def test_who_waits_is_told_by_name_the_longest_wait_first():
    made = np.concatenate([rows((0, 0, 10), (0, 1, 30)), rows((0, 0, 1)), rows((0, 0, 2000), sectors=0)])
    made["process"] = [0, 1, 2, 3]
    names = ("postgres/10", "postgres/11", "cron/7", "jbd2/sda1-8/3")
    found = in_queue.waits(made, names)
    assert [(name, count) for name, count, _, _ in found] == [("postgres", 2), ("cron", 1)]
    assert found[0][2] == pytest.approx(0.02) and 0.029 < found[0][3] <= 0.03


def test_who_waits_is_in_the_document_too(capsys):
    times = _request_times.Times([judged(rows((0, 1, 5)))], [], 1.0, 0, [("postgres", 2, 0.02, 0.03)])
    with contextlib.suppress(SystemExit):
        _request_times.show(times, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["waits"] == [{"process": "postgres", "requests": 2, "mean_s": 0.02, "p99_s": 0.03}]


def test_a_captured_machine_has_no_requests_and_a_user_without_root_is_told(monkeypatch, tmp_path):
    runner = CliRunner()
    (tmp_path / "sys/block/sda/queue").mkdir(parents=True)
    with pytest.raises(UsageError, match="no requests to watch"):
        runner.invoke(
            cli,
            ["doctor", "sda", "--watch", "1s", "--root", str(tmp_path)],
            catch_exceptions=False,
            standalone_mode=False,
        )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MissingError, match="needs root"):
        runner.invoke(cli, ["doctor", "/", "--watch", "1s"], catch_exceptions=False, standalone_mode=False)


@contextlib.contextmanager
def loop(backing, *options):
    made = subprocess.run(
        ["losetup", "--find", "--show", *options, backing], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    path = Path(made.stdout.strip())
    try:
        yield path
    finally:
        subprocess.run(["losetup", "--detach", path], check=True)


@pytest.fixture
def disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    try:
        tracefs.root()
    except SeekwiseError as error:
        pytest.skip(error.message)
    image = tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    with loop(image, "--direct-io=off") as path:
        yield path


def _is_soon(holds) -> bool:
    end = time.monotonic() + 60
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(holds())


def _bytes(pid: int) -> int:
    """Read and written on storage so far."""
    return sum(
        int(line.split()[1])
        for line in Path(f"/proc/{pid}/io").read_text().splitlines()
        if line.startswith(("read_b", "write_b"))
    )


def _is_watching() -> bool:
    instances = (each for root in tracefs.ROOTS for each in (root / "instances").glob(f"seekwise-{os.getpid()}-*"))
    with contextlib.suppress(OSError):
        return any((each / "tracing_on").read_text().strip() == "1" for each in instances)
    return False


def watched(device: Path, seconds: int, *fio: str) -> dict:
    """What `doctor` says while fio reads or writes."""
    load = [
        "fio", "--name=load", f"--filename={device}", "--direct=1", "--time_based", "--runtime=600",
        "--ioengine=psync", "--size=32m", "--thread", *fio,
    ]  # fmt: skip
    running = subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert _is_soon(lambda: _bytes(running.pid))
        called = CliRunner().invoke(cli, ["doctor", str(device), "--watch", f"{seconds}s", "--json"])
        time_ = json.loads(called.stdout)
    finally:
        running.kill()
        running.wait()
    time_["exit"] = called.exit_code
    return time_


@contextlib.contextmanager
def throttled(disk: Path, reads_per_s: int):
    """A loop device on storage that does so many reads a second."""
    limit = BLKIO / "blkio.throttle.read_iops_device"
    if not limit.exists():
        pytest.skip("no throttling by a control group of version 1 at its root")
    number = os.stat(disk).st_rdev
    with loop(disk, "--direct-io=on") as upper:
        limit.write_text(f"{os.major(number)}:{os.minor(number)} {reads_per_s}")
        try:
            yield upper
        finally:
            limit.write_text(f"{os.major(number)}:{os.minor(number)} 0")


@pytest.mark.root
def test_a_long_queue_above_a_loop_device_that_is_quick_enough(disk):
    with throttled(disk, 500) as upper:
        (Path("/sys/block") / upper.name / "queue/nr_requests").write_text("4")
        found = watched(upper, 2, "--rw=randread", "--bs=4k", "--numjobs=48")
    (device,) = found["devices"]
    assert (device["verdict"], found["exit"]) == ("queue", 5)
    assert device["queue_s"] > 4 * device["device_s"]
    assert "not slow" in found["headline"]


@pytest.mark.root
def test_a_loop_device_on_throttled_storage_is_slow(disk):
    with throttled(disk, 15) as upper:
        found = watched(upper, 3, "--rw=randread", "--bs=4k")
    (device,) = found["devices"]
    assert (device["verdict"], found["exit"]) == ("slow", 5)
    assert 0.04 < device["service_s"] < 0.2 and device["queue_s"] < 0.01
    assert found["headline"].startswith(f"{upper.name} is slow")


@pytest.mark.root
def test_a_loop_device_whose_file_cannot_be_written_for_a_while_stalls(disk, tmp_path):
    subprocess.run(["mkfs.ext4", "-q", "-F", disk], check=True)
    folder = tmp_path / "mounted"
    folder.mkdir()
    subprocess.run(["mount", disk, folder], check=True)
    try:
        with (folder / "image").open("wb") as file:
            file.truncate(32 << 20)
        with loop(folder / "image", "--direct-io=off") as upper:

            def frozen() -> None:
                assert _is_soon(_is_watching)
                time.sleep(0.7)
                subprocess.run(["fsfreeze", "--freeze", folder], check=True)
                time.sleep(1.6)
                subprocess.run(["fsfreeze", "--unfreeze", folder], check=True)

            freezing = threading.Thread(target=frozen)
            freezing.start()
            found = watched(upper, 4, "--rw=randwrite", "--bs=4k", "--rate_iops=100")
            freezing.join()
    finally:
        subprocess.run(["umount", folder], check=True)
    (device,) = found["devices"]
    assert (device["verdict"], found["exit"]) == ("stalls", 5)
    assert device["stalls"] == 1 and 1.0 < device["longest_s"] < 2.5
