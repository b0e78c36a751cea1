"""From study to advice through the command line, on real storage and on the simulator."""

import csv
import io
import json
import os
import pty
import random
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import STUDY, needs_fio, needs_root, settings_of
from .test_bad_input import nothing_left, wait_for

SIMULATED = """
name = "small"
backend = "simulated"
[[system]]
name = "disk"
drive = "wd2500ys"
kernel = "2.6.24"
[settings]
scheduler = ["noop", "deadline", "cfq"]
[[workload]]
operations = ["seq_write", "rand_read"]
threads = [1, 8]
block_bytes = "4k"
size = "100m"
runtime = "1s"
[design]
blocks = 2
"""


@needs_root
@needs_fio
def test_tune_answers_first_says_what_each_use_loses_and_names_the_report_and_what_comes_next(seekwise, mounted):
    loop, folder = mounted
    before = settings_of(loop.name)
    done = seekwise("tune", str(folder), "--budget", "20s", "--for", "direct-streams,random-read", "--name", "mine")
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("next: seekwise ")
    report = Path(next(line.removeprefix("page: ") for line in lines if line.startswith("page: ")))
    assert report.name.startswith("seekwise-") and (seekwise.folder / report).exists()
    assert lines[0].startswith("These are limits of the device and its schedulers")
    assert any(line.startswith("Use ") and "Difference" in line for line in lines)
    assert len(lines) <= 25 and max(map(len, lines)) <= 80
    assert loop.name in done.stderr
    assert settings_of(loop.name) == before
    assert list(folder.glob("seekwise*")) == []
    again = seekwise("results", "mine", "--json")
    document = json.loads(again.stdout)
    assert document["name"] == "mine" and document["decision"]["setting"] in document["candidates"]


@pytest.mark.slow
@needs_root
@needs_fio
def test_tune_json_is_the_contract_and_switches_every_candidate_in_every_round(seekwise, mounted):
    loop, folder = mounted
    before = settings_of(loop.name)
    done = seekwise("tune", str(folder), "--budget", "20s", "--for", "random-read", "--json")
    document = json.loads(done.stdout)
    assert document["schema"] == "seekwise.tune/1"
    assert document["seconds"] <= 30
    assert {"setting", "changes", "expected_regret", "regret_high", "p_harm"} <= set(document["decision"])
    (use,) = document["uses"]
    assert (use["use"], use["metric"], use["unit"], use["value_unit"]) == ("random-read", "rate", "request", "MB/s")
    labels = {each["setting"] for each in use["candidates"]}
    assert labels == set(document["candidates"]), "the A/A check is no candidate"
    records = json.loads(seekwise("results", "last", "--json").stdout)["records"]
    assert f"{document['in_force']} (control)" in {record["setting"] for record in records}
    for record in records:
        asked = record["factors"]["scheduler"]
        assert record["settings_seen"][loop.name]["queue/scheduler"] == asked
    assert settings_of(loop.name) == before


@needs_root
@needs_fio
def test_records_tell_settings_as_read_back_cpu_by_kind_bytes_and_seeds(seekwise, mounted, study):
    loop, folder = mounted
    document = json.loads(seekwise("run", str(study), "--target", str(folder), "--json").stdout)
    assert document["schema"] == "seekwise.results/2"
    assert document["outcome"] == "complete"
    records = document["records"]
    assert {record["setting"] for record in records} == {
        "none",
        "mq-deadline",
        "none (control)",
        "none (drift check)",
    } or {record["setting"] for record in records} == {
        "none",
        "mq-deadline",
        "mq-deadline (control)",
        "mq-deadline (drift check)",
    }
    assert len({record["seed"] for record in records}) == len(records)
    assert sum(phase["cpu"]["submitter_system"] for record in records for phase in record["phases"]) > 0
    for record in records:
        asked = record["factors"]["scheduler"]
        assert f"[{asked}]" in record["settings_seen"][loop.name]["queue/scheduler"] or record["settings_seen"][loop.name]["queue/scheduler"] == asked  # fmt: skip
        assert f"randseed={record['seed']}" in record["load"]["jobs"][0]
        assert record["load"]["fio"].startswith("fio-")
        assert record["environment"]["kernel"] == os.uname().release
        assert record["environment"]["filesystem"] == "ext4"
        assert record["conditions"]["others"]["watched_s"] > 0
        for phase in record["phases"]:
            if record["valid"]:
                assert phase["device_bytes"] >= 0.99 * phase["bytes"] > 0
            assert sum(phase["latency_bins"].values()) == phase["ios"]
            cpu = phase["cpu"]
            assert {"user", "system", "irq", "softirq"} <= {name for name, value in cpu.items() if value is not None}


@pytest.mark.slow
@needs_root
@needs_fio
def test_a_raw_device_that_is_empty_and_named_is_measured_and_proves_empty_again(seekwise, loop, study):
    for _ in range(2):
        done = seekwise("run", str(study), "--target", loop.node, "--destroy", str(loop.backing))
        assert "random read" in done.stdout.lower()
    with loop.backing.open("rb") as file:
        assert file.read(1 << 20) == b"\0" * (1 << 20)
        file.seek(-(1 << 20), os.SEEK_END)
        assert file.read() == b"\0" * (1 << 20)


@needs_root
@needs_fio
@pytest.mark.parametrize(
    "how",
    [
        signal.SIGKILL,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)),
    ],
)
def test_a_run_that_is_ended_leaves_nothing_changed_and_resumes_where_it_was(seekwise, mounted, study, how):
    loop, folder = mounted
    before = settings_of(loop.name)
    with seekwise.start("run", str(study), "--target", str(folder)) as process:
        wait_for(lambda: fios(folder))
        wait_for(lambda: any(count >= 1 for count in counts(seekwise)))
        process.send_signal(how)
        process.communicate(timeout=60)
    # A killed seekwise cannot wait for its load: the supervisor ends it, as soon as it gets a processor.
    wait_for(lambda: fios(folder) == [])
    listed = json.loads(seekwise("results", "--json").stdout)["runs"][0]
    assert settings_of(loop.name) == before
    assert nothing_left(folder)
    assert listed["outcome"] in (None, "interrupted")
    assert (listed["outcome"] is None) == (how == signal.SIGKILL)
    done_before = listed["records"]
    seekwise("run", "--resume", "last")
    document = json.loads(seekwise("results", "last", "--json").stdout)
    assert document["outcome"] == "complete"
    trials = [record["trial"] for record in document["records"]]
    assert len(trials) == len(set(trials)) == len(document["plan"]["trials"])
    assert done_before < len(trials)
    assert "is complete" in seekwise.refused("run", "--resume", "last", status=2)


@needs_root
@needs_fio
def test_a_terminal_that_is_closed_ends_the_run_and_leaves_nothing_changed(seekwise, mounted, study):
    loop, folder = mounted
    before = settings_of(loop.name)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(seekwise.folder)
        os.execvpe(
            seekwise.words[0], [*seekwise.words, "run", str(study), "--target", str(folder)], seekwise.environment
        )
    wait_for(lambda: fios(folder))
    os.close(terminal)
    os.waitpid(pid, 0)
    assert fios(folder) == []
    assert settings_of(loop.name) == before
    assert nothing_left(folder)


def fios(folder: Path) -> list[str]:
    """Running fios that work in this folder: their job names it, or a descriptor that leads there."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if words and words[0].endswith(b"/fio") and _works_in(folder, Path(words[-2].decode()).read_text()):
                    found.append(entry.name)
            except (OSError, IndexError):
                continue
    return found


def _works_in(folder: Path, job: str) -> bool:
    places = [line.partition("=")[2] for line in job.splitlines() if line.startswith("directory=")]
    return any(os.path.realpath(place).startswith(str(folder)) for place in places)


def counts(seekwise) -> list[int]:
    done = seekwise("results", "--json", status=None)
    return [run["records"] for run in json.loads(done.stdout)["runs"]] if done.returncode == 0 else []


@needs_root
@needs_fio
@pytest.mark.slow
def test_kills_at_random_moments_lose_nothing_and_change_nothing(seekwise, mounted, study, tmp_path):
    """This test will kill runs at five moments drawn by a fixed seed, from start-up to the middle of a trial."""
    loop, folder = mounted
    before = settings_of(loop.name)
    moments = random.Random(20)
    for _ in range(5):
        with seekwise.start("run", str(study), "--target", str(folder)) as process:
            try:
                process.wait(timeout=moments.uniform(0.3, 5.0))
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate(timeout=60)
        wait_for(lambda: fios(folder) == [])
        seekwise("revert", status=None)
        assert settings_of(loop.name) == before
        assert nothing_left(folder)
        assert list((tmp_path / "state").glob("journal/[!.]*")) == [], "folders in memory are journalled as well"


@needs_fio
def test_a_user_without_root_measures_nothing_in_vain_and_reads_the_one_line_to_run(seekwise, on_disk):
    if os.geteuid() == 0:
        pytest.skip("this is root; as an ordinary user it is tried by tests/live/test_unprivileged.py")
    done = seekwise("tune", ".", status=4)
    assert "sudo" in done.stderr


@pytest.mark.slow
@needs_root
@needs_fio
def test_a_job_file_of_the_users_own_is_a_workload(seekwise, mounted, study, tmp_path):
    _, folder = mounted
    (tmp_path / "mine.fio").write_text(
        "[global]\nsize=4m\nbs=16k\ntime_based\nruntime=200ms\nfilename=/etc/passwd\n"
        "[fill]\nrw=write\n[look]\nstonewall\nrw=randread\nnumjobs=2\n"
    )
    # On a busy machine a trial may not count, again and again.
    text = STUDY.replace('scheduler = ["none", "mq-deadline"]', "").replace("attempts = 1", "attempts = 8")
    start = text.index("operations")
    study.write_text(text[:start] + 'job = "mine.fio"\n' + text[text.index("[design]") :])
    document = json.loads(seekwise("run", str(study), "--target", str(folder), "--json").stdout)
    record = next(each for each in document["records"] if each["invalid_reason"] is None)
    phases = record["phases"]
    assert [phase["operation"] for phase in phases] == ["seq_write", "rand_read"]
    assert "/etc/passwd" not in json.dumps(record["load"])
    assert nothing_left(folder)


@pytest.mark.slow
@needs_root
@needs_fio
def test_a_buffered_study_is_limited_in_memory_and_the_record_proves_it(seekwise, mounted, study):
    _, folder = mounted
    study.write_text(
        STUDY.replace('runtime = "200ms"', "random_ios = 400")
        .replace('size = "4m"', 'size = "16m"\ndirect = false\nmemory_limit = "64m"')
        .replace("end_fsync = false", "end_fsync = true")
    )
    document = json.loads(seekwise("run", str(study), "--target", str(folder), "--json").stdout)
    for record in document["records"]:
        assert record["load"]["caches"]["excluded_by"].startswith("memory limit (cgroup v")
        for phase in record["phases"]:
            assert phase["details"]["memory_peak_bytes"] <= 64 << 20
            if record["valid"]:
                assert phase["device_bytes"] >= 0.9 * phase["bytes"]
    assert any(record["valid"] for record in document["records"])
    assert not list(Path("/sys/fs/cgroup").glob("**/seekwise-*"))


def test_a_buffered_study_without_a_limit_is_refused(seekwise, on_disk, study):
    study.write_text(STUDY.replace('size = "4m"', 'size = "4m"\ndirect = false'))
    assert "memory_limit" in seekwise.refused("run", str(study), status=2)


def test_demo_needs_neither_root_nor_fio(seekwise, tmp_path):
    (tmp_path / "bin").mkdir()
    seekwise.path = str(tmp_path / "bin")
    done = seekwise("run", "demo")
    report = Path(seekwise("report", "last").stdout.splitlines()[-1])
    assert report.parent == seekwise.folder
    assert "simulated" in report.read_text()
    assert "sequential write" in done.stdout.lower()
    assert json.loads(seekwise("results", "last", "--json").stdout)["provenance"] == "simulated"


def test_the_same_seed_gives_the_same_simulated_records(seekwise):
    (seekwise.folder / "small.toml").write_text(SIMULATED)

    def facts() -> list:
        document = json.loads(seekwise("run", "small.toml", "--json", "--seed", "7").stdout)
        return [(r["trial"], r["setting"], r["seed"], r["phases"]) for r in document["records"]]

    assert facts() == facts()


def test_plan_shows_order_time_bytes_and_what_is_touched(seekwise):
    done = seekwise("run", "demo", "--dry-run")
    for words in ("workloads (2)", "repetition 1:", "Simulated: nothing on this machine changes."):
        assert words in done.stdout
    # How long a model takes is not known before it has run.
    assert "time: about" not in done.stdout and "/sys/block/sim0" not in done.stdout
    document = json.loads(seekwise("run", "demo", "--dry-run", "--json", "--seed", "3").stdout)
    assert document["schema"] == "seekwise.plan/1"
    assert document["seed"] == 3
    several = seekwise("run", "nvme-schedulers", "--dry-run").stdout
    assert "\none core: sim0: " in several and "\nfour cores: sim0: " in several
    assert list(seekwise.folder.iterdir()) == []


def test_results_and_export_read_what_a_run_wrote(seekwise):
    (seekwise.folder / "small.toml").write_text(SIMULATED)
    seekwise("run", "small.toml")
    listed = json.loads(seekwise("results", "--json").stdout)
    (run,) = listed["runs"]
    assert run["outcome"] == "complete"
    rows = list(csv.DictReader(io.StringIO(seekwise("export", "last", "--format", "csv").stdout)))
    assert len(rows) == run["records"] * 2
    document = json.loads(seekwise("export", run["run_id"]).stdout)
    assert document["schema"] == "seekwise.export/1"
    study = seekwise("export", "last", "--format", "study").stdout
    (seekwise.folder / "again.toml").write_text(study)
    seekwise("run", "again.toml", "--dry-run")


@needs_fio
def test_fios_own_json_is_imported(seekwise, tmp_path):
    files = []
    for setting in ("none", "bfq"):
        for repeat in (1, 2, 3):
            path = tmp_path / f"{setting}.{repeat}.json"
            subprocess.run(
                [shutil.which("fio"), "--name=a", "--ioengine=null", "--rw=randread", "--size=64m", "--bs=4k", "--numjobs=2",
                 "--output-format=json+", f"--output={path}"],
                check=True, timeout=60, cwd=tmp_path, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            files.append(str(path))
    done = json.loads(seekwise("import", *files, "--json").stdout)
    assert {(r["setting"], r["repetition"]) for r in done["records"]} == {
        (s, b) for s in ("none", "bfq") for b in (1, 2, 3)
    }
    assert all(r["phases"][0]["bytes"] == 2 * 64 << 20 for r in done["records"])
    (tmp_path / "bad.json").write_text("nothing")
    assert "bad.json has no JSON" in seekwise.refused("import", str(tmp_path / "bad.json"), status=2)
