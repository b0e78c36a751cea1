"""`tune --live`: under a load that seekwise did not start, under none, under a changing one, and with a guard."""

import contextlib
import json
import os
import signal
import subprocess
import time

import pytest

from cli.conftest import needs_fio, needs_root, settings_of

pytestmark = [needs_root, needs_fio, pytest.mark.slow]


@contextlib.contextmanager
def load(folder, *words):
    process = subprocess.Popen(
        ["fio", "--thread", "--name=theirs", f"--directory={folder}", "--size=64m", "--direct=1", "--ioengine=libaio",
         "--iodepth=4", "--time_based", "--runtime=120", "--output=/dev/null", *words],
        start_new_session=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(2)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def live(seekwise, storage, *words):
    before = settings_of(storage.name)
    done = seekwise("tune", "--live", str(storage.folder), "--json", *words)
    assert settings_of(storage.name) == before
    return json.loads(done.stdout)


def test_a_load_of_somebody_elses_is_judged_and_runs_on(seekwise, storage):
    with load(storage.folder, "--rw=randread", "--bs=4k") as process:
        document = live(seekwise, storage, "--budget", "20s")
        assert process.poll() is None, "the load is not ours to end"
    assert document["no_verdict"] is None
    assert {entry["metric"] for entry in document["uses"]} >= {"rate", "mean"}
    rates = next(entry for entry in document["uses"] if entry["metric"] == "rate")
    assert all(each["value"] > 0 for each in rates["candidates"])


def test_percentiles_come_from_the_kernels_events_where_it_offers_them(seekwise, storage):
    tracing = os.path.isdir("/sys/kernel/tracing/events/block") or os.path.isdir(
        "/sys/kernel/debug/tracing/events/block"
    )
    with load(storage.folder, "--rw=randread", "--bs=4k"):
        document = live(seekwise, storage, "--budget", "20s")
    metrics = {entry["metric"] for entry in document["uses"]}
    assert ("p99" in metrics) == tracing
    if not tracing:
        assert any("percentiles" in note for note in document["notes"])
        return
    by_metric = {
        entry["metric"]: {each["setting"]: each["value"] for each in entry["candidates"]} for entry in document["uses"]
    }
    for setting, tail in by_metric["p99"].items():
        assert tail > 0.5 * by_metric["mean"][setting], "a tail is not shorter than the mean"


def test_without_a_load_nothing_is_judged(seekwise, storage):
    document = live(seekwise, storage, "--budget", "15s")
    assert "no load" in document["no_verdict"]
    assert document["decision"] is None
    assert document["set"] == []


def test_a_load_that_changes_by_itself_is_too_uneven_to_tell(seekwise, storage):
    # 30 times as much in some seconds as in others, in no rhythm of ours.
    script = (
        'for n in 3 1 4 1 5 2 6 5 3 5; do fio --thread --name=a --directory="$0" --size=32m --rw=randread --bs=256k --direct=1'
        " --ioengine=libaio --iodepth=8 --time_based --runtime=$n --output=/dev/null;"
        ' fio --thread --name=a --directory="$0" --size=32m --rw=randread --bs=4k --direct=1 --rate_iops=40 --time_based'
        " --runtime=$n --output=/dev/null; done"
    )
    process = subprocess.Popen(["sh", "-c", script, str(storage.folder)], start_new_session=True)
    time.sleep(1)
    try:
        document = live(seekwise, storage, "--budget", "30s")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert document["no_verdict"] is not None and "uneven" in document["no_verdict"]
    assert document["decision"] is None


def test_the_guard_ends_a_period_in_which_requests_stall_and_drops_the_setting(seekwise, storage):
    before = settings_of(storage.name)
    with load(storage.folder, "--rw=randwrite", "--bs=16k"):
        process = seekwise.start(
            "tune", "--live", str(storage.folder), "--vary", "scheduler=none,kyber", "--guard", "3x", "--budget", "40s",
            "--json",
        )  # fmt: skip
        began, stalls = time.monotonic(), 0
        while process.poll() is None and time.monotonic() < began + 60:
            # A disaster that comes with one setting, once the others have shown what is usual.
            if time.monotonic() > began + 12 and storage.in_force == "kyber":
                with storage.stalled():
                    time.sleep(1.2)
                stalls += 1
            time.sleep(0.02)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert stalls >= 1
    document = json.loads(out)
    assert any(note.startswith("Guard: kyber") for note in document["notes"]), document["notes"]
    assert document["decision"] is None or document["decision"]["setting"] != "kyber"
    assert settings_of(storage.name) == before


def test_what_was_seen_under_a_live_load_is_kept_when_the_user_ends_it(seekwise, storage):
    before = settings_of(storage.name)
    with load(storage.folder, "--rw=randread", "--bs=4k"):
        process = seekwise.start("tune", "--live", str(storage.folder), "--budget", "100s", "--json")
        time.sleep(15)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert settings_of(storage.name) == before
    assert json.loads(seekwise("results", "last", "--json").stdout)["uses"]
