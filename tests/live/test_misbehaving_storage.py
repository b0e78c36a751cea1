"""Storage and loads that misbehave: each gives a truthful result or a clear end, and every setting is as it was."""

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from cli.conftest import needs_fio, needs_root, settings_of

pytestmark = [needs_root, needs_fio, pytest.mark.slow]
BUDGET_S = 20


def tuned(done):
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout)


LOOKS_BAD = 1.2
"""A setting that is behind by less was not made to look bad. Seen on two processors with another test beside it: mq-deadline 6 to 10 % behind `none` on a
loop device in five of six runs, whose passes through a loop cost processor time."""


def false_differences(document):
    """Comparisons in which one of two equal settings is called better or worse by what would show."""
    return [
        (entry["use"], entry["metric"], each)
        for entry in document["uses"]
        for each in entry["candidates"]
        if each["verdict"] in ("better", "worse") and max(each["ratio"], 1 / each["ratio"]) > LOOKS_BAD
    ]


def whole(storage, before):
    assert settings_of(storage.name) == before
    assert not list(storage.folder.glob("seekwise-scratch-*"))


RUNS = 6
FALSE_MOST = 2
"""Of `RUNS` runs. A run finds a difference between equal settings in 5 % of the cases at most (docs/concepts/live-switching.md): with that rate
three of six do so in 1 of 450 test runs; with 1 in 3, as before candidates were asked again, in 1 of 3."""


def two_alike(seekwise, storage, use):
    """One run of two numbers of requests between which a load of at most 32 at a time makes no difference: its document."""
    began = time.monotonic()
    done = seekwise(
        "tune", str(storage.folder), "--for", use, "--vary", "nr_requests=64,128",
        "--budget", f"{BUDGET_S}s", "--json",
    )  # fmt: skip
    took = time.monotonic() - began
    assert took < BUDGET_S + 15, "the budget, and what a stall takes"
    return tuned(done)


def false_runs(run):
    """Runs that call one of two equal settings better or worse, as a test's error rate counts them."""
    found = [false_differences(run()) for _ in range(RUNS)]
    false = [each for each in found if each]
    print(f"{len(false)} of {RUNS} runs found a difference between equal settings")
    return false


@pytest.mark.timeout(600)
def test_a_device_that_stalls_for_three_seconds_makes_no_setting_look_bad(seekwise, storage):
    before = settings_of(storage.name)

    def run():
        stall = storage.stall(after_s=9, seconds=3)
        document = two_alike(seekwise, storage, "random-write-1")
        stall.join()
        assert document["uses"], "the stall ends, and the rest is measured"
        return document

    assert len(false := false_runs(run)) <= FALSE_MOST, false
    whole(storage, before)


def fios_of(process):
    """Process ids of the loads that a run has started: their job lies in a folder that it holds open."""
    found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split() for line in found]
    return [int(row[0]) for row in rows if row[1].endswith("/fio") and f"/proc/{process.pid}/" in row[-1]]


def test_a_load_that_ends_early_is_said_and_what_was_measured_counts(seekwise, storage):
    before = settings_of(storage.name)
    process = seekwise.start("tune", str(storage.folder), "--for", "random-read", "--budget", "20s", "--json")
    killed = []
    end = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < end and not killed:
        time.sleep(0.2)
        found = fios_of(process)
        if found:
            time.sleep(4.5)
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
    out, errors = process.communicate(timeout=60)
    assert killed, errors
    assert "Traceback" not in errors
    # Its load runs again: there is an answer, and a note that says what happened.
    assert process.returncode == 0, errors
    document = json.loads(out)
    assert document["uses"], out
    assert any("ended early" in note for note in document["notes"]), document["notes"]
    whole(storage, before)


def test_a_file_system_without_room_is_refused_before_anything_starts(seekwise, storage):
    before = settings_of(storage.name)
    free = os.statvfs(storage.folder)
    ballast = storage.folder / "ballast"
    subprocess.run(["fallocate", "-l", str(free.f_bavail * free.f_frsize - (4 << 20)), str(ballast)], check=True)
    message = seekwise.refused("tune", str(storage.folder), "--for", "random-read", "--budget", "20s", status=3)
    assert "room" in message
    whole(storage, before)


def test_a_file_system_that_fills_up_meanwhile_ends_the_run_clearly(seekwise, storage):
    before = settings_of(storage.name)
    free = os.statvfs(storage.folder)
    ballast = storage.folder / "ballast"
    process = seekwise.start("tune", str(storage.folder), "--for", "desktop-copy", "--budget", "20s", "--json")
    end = time.monotonic() + 10
    while time.monotonic() < end and not list(storage.folder.glob("seekwise-scratch-*")):
        time.sleep(0.02)
    with ballast.open("wb") as file, contextlib.suppress(OSError):
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - (8 << 20))
    _, errors = process.communicate(timeout=90)
    assert "Traceback" not in errors
    assert process.returncode in (0, 1, 3), errors
    if process.returncode:
        assert errors.count("error: ") == 1, errors
    ballast.unlink()
    whole(storage, before)


@pytest.mark.timeout(600)
def test_foreign_io_for_half_of_the_time_is_said_and_makes_no_false_difference(seekwise, storage):
    before = settings_of(storage.name)
    # Stopped and continued: one that begins anew each time does nothing else on a machine where that takes long.
    foreign = subprocess.Popen(
        ["fio", "--thread", "--name=foreign", f"--directory={storage.folder}", "--size=32m", "--rw=randwrite", "--bs=64k",
         "--direct=1", "--ioengine=libaio", "--iodepth=8", "--time_based", "--runtime=3600", "--output=/dev/null"],
        start_new_session=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    ended = threading.Event()

    def half_of_the_time():
        signals = itertools.cycle((signal.SIGSTOP, signal.SIGCONT))
        while not ended.wait(0.7):
            os.killpg(foreign.pid, next(signals))

    switching = threading.Thread(target=half_of_the_time)
    switching.start()

    def run():
        document = two_alike(seekwise, storage, "random-read")
        said = re.compile("Other programs used .*of the disk while this ran")
        assert any(said.match(note) for note in document["notes"]), document["notes"]
        return document

    try:
        false = false_runs(run)
    finally:
        ended.set()
        switching.join()
        os.killpg(foreign.pid, signal.SIGKILL)
        foreign.wait()
    assert len(false) <= FALSE_MOST, false
    for left in storage.folder.glob("foreign*"):
        left.unlink()
    whole(storage, before)


@pytest.mark.timeout(600)
def test_a_slow_disk_whose_queue_takes_long_to_drain_keeps_the_budget(seekwise, storage):
    """Stalls of 200 ms again and again: a switch waits until the queue is empty, so every switch may take as long."""
    before = settings_of(storage.name)
    ended = threading.Event()

    def stall():
        while not ended.is_set():
            with storage.stalled():
                time.sleep(0.2)
            time.sleep(0.1)

    stalls = threading.Thread(target=stall)
    stalls.start()
    try:
        false = false_runs(lambda: two_alike(seekwise, storage, "random-write-1"))
    finally:
        ended.set()
        stalls.join()
    assert len(false) <= FALSE_MOST, false
    whole(storage, before)
