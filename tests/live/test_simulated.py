"""Uses on the simulator: the same answer, judged and shown in the same way, and marked as simulated."""

import json

import pytest

from seekwise.errors import SeekwiseError, UsageError
from seekwise.measure.live import simulated
from seekwise.simulate import use_trials
from seekwise.workload.study.uses import load, shipped


def test_a_disk_is_answered_for_every_use_and_marked_as_simulated(tune):
    done = tune("model:generic_1tb_sata", "--for", "reads-beside-writer,random-read-1", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["schema"] == "seekwise.tune/1"
    assert document["provenance"] == "simulated"
    assert document["set"] == document["undo"] == []
    assert {each["use"] for each in document["uses"]} == {"reads-beside-writer", "random-read-1"}
    tails = next(each for each in document["uses"] if (each["use"], each["metric"]) == ("reads-beside-writer", "p99"))
    by_setting = {each["setting"]: each for each in tails["candidates"]}
    # What bfq is for: a reader beside a writer waits less, and one reader alone feels no scheduler.
    assert by_setting["bfq"]["verdict"] == "better"
    assert by_setting["bfq"]["ratio"] < 1 / 3
    alone = [each for each in document["uses"] if each["use"] == "random-read-1"]
    assert all(each["verdict"] == "same" for entry in alone for each in entry["candidates"])


def test_the_answer_in_words_says_first_that_it_is_simulated(tune):
    done = tune("model:generic_1tb_sata", "--for", "random-read-1")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Simulated, not measured: ")
    assert "set:" not in done.stdout


def test_the_same_seed_gives_the_same_figures(tune):
    first, second = (
        json.loads(tune("model:crucial_mx500_1tb", "--for", "stream-beside-reads", "--json").stdout) for _ in range(2)
    )
    assert first["uses"] == second["uses"]


def test_the_kernel_of_2008_has_its_own_schedulers(tune):
    document = json.loads(tune("model:wd2500ys", "--kernel", "2.6.24", "--for", "random-read", "--json").stdout)
    assert set(document["candidates"]) == {"noop", "deadline", "anticipatory", "cfq"}


def test_every_shipped_use_becomes_jobs_that_the_simulator_takes():
    model = use_trials.model_of("model:crucial_mx500_1tb", None)
    for use in (each for each in shipped() if not each.runs_programs):
        jobs = use_trials.jobs_of(use, model)
        assert [each["name"] for each in jobs] == [job.name for job in use.job]
        ends = [each["region_start_bytes"] + each["region_bytes"] for each in jobs]
        assert max(ends) <= model.capacity_bytes


def test_a_fio_job_of_ones_own_is_refused_with_the_reason(tmp_path):
    (tmp_path / "own.fio").write_text("[a]\nrw=randread\n")
    path = tmp_path / "own.toml"
    path.write_text('title = "Mine"\n[[job]]\nname = "a"\nrole = "foreground"\nfio = "own.fio"\njudge = ["rate"]\n')
    with pytest.raises(UsageError, match="does not run fio"):
        use_trials.check_uses([load(path)])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model:nosuch"], "nosuch"),
        (["model:"], "model"),
        (["model:generic_1tb_sata", "--kernel", "1.0"], "1.0"),
        (["model:generic_1tb_sata", "--also", "all"], "--also needs a real device"),
        (["model:generic_1tb_sata", "--vary", "scheduler=cfq"], "cfq"),
        (["model:generic_1tb_sata", "--vary", "rq_affinity=0,1"], "ignores rq_affinity"),
        (["model:generic_1tb_sata", "--", "true"], "needs a real device"),
        (["model:generic_1tb_sata", "--budget", "1s"], "--budget is for a real device"),
        (["model:generic_1tb_sata", "--cold"], "--cold needs a real device"),
        (["/", "--kernel", "6.1"], "--kernel is for drive models"),
    ],
)
def test_what_cannot_be_simulated_is_one_error(tune, words, said):
    done = tune(*words)
    assert isinstance(done.exception, SeekwiseError), done.exception
    assert said in done.exception.message


def test_read_ahead_acts_on_programs_that_read_through_the_page_cache(tune):
    done = tune("model:crucial_mx500_1tb", "--for", "streams", "--vary", "read_ahead_kb=4,8192", "--json")
    (entry,) = json.loads(done.stdout)["uses"]
    values = {each["setting"]: each["value"] for each in entry["candidates"]}
    assert values["read_ahead_kb=4"] < 0.9 * values["read_ahead_kb=8192"]


def test_limits_are_shown_on_both_sides_and_recommend_nothing(tune):
    done = tune("model:generic_1tb_sata", "--for", "reads-beside-writer,random-read-1")
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    assert "These are limits of the device and its schedulers" in said, "synthetic loads recommend nothing"
    assert "Keep mq-deadline" in said and "set:" not in said


@pytest.mark.parametrize(
    ("model", "kernel", "name", "values", "labels"),
    [
        ("wd2500ys", None, "queue_depth", [1, 31], ["queue_depth=32", "queue_depth=1", "queue_depth=31"]),
        ("samsung_980", None, "read_ahead_kb", [4096, 128], ["read_ahead_kb=128", "read_ahead_kb=4096"]),
        # From 6.17 on a rotating disk reads twice its largest request ahead.
        ("wd2500ys", "6.17", "read_ahead_kb", [128], ["read_ahead_kb=8192", "read_ahead_kb=128"]),
        ("wd2500ys", "2.6.24", "iosched.quantum", [1, 4], ["iosched.quantum=4", "iosched.quantum=1"]),
    ],
)
def test_what_a_model_has_in_force_is_named_by_the_setting_that_is_compared(model, kernel, name, values, labels):
    compared = simulated.candidates(use_trials.model_of(f"model:{model}", kernel), {name: values}).all
    assert [each.label for each in compared] == labels
    assert [each.in_force for each in compared] == [True] + [False] * (len(labels) - 1)
