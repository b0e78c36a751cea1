"""These tests will make runs in which every setting is best at something, and ask what to set for which work."""

from __future__ import annotations

import json
import math
import os
import subprocess
from dataclasses import replace
from typing import get_args

import pytest
from tests import preloaded

from control.conftest import needs_root
from seekwise.control.settings import read_settings
from seekwise.errors import UsageError
from seekwise.judge import outcome
from seekwise.judge.for_use import for_workload
from seekwise.judge.observation import Observation
from seekwise.judge.workloads import OperationMix, _scores, find, shipped, weigh
from seekwise.report.outcome import cautions
from seekwise.report.use_answer import of_use
from seekwise.store.database import Store
from seekwise.workload.study import uses
from seekwise.workload.study.plan import Plan
from settings.made import made_plan, made_records, made_run

# kyber is good at random writes and bad at sequential reads.
TRUTH = {("kyber", "rand_write", n): 1.5 for n in (1, 8)} | {("kyber", "seq_read", n): 0.7 for n in (1, 8)}


def judged(tmp_path, records, plan=None):
    plan = plan or made_plan()
    with Store.open(tmp_path / "records.db") as store:
        store.add_run(made_run(plan))
        for record in records:
            store.add(record)
        return outcome.of_runs(store, store.run("r1"))


def test_advice_repeats_what_the_stack_warns_of_and_a_plan_keeps_it(tmp_path):
    warning = "sda: a volume of another machine (SAN, iSCSI)"
    plan = made_plan()
    warned = replace(plan, systems=tuple(replace(facts, warnings=(warning,)) for facts in plan.systems))
    assert Plan.from_document(json.loads(json.dumps(warned.to_document()))) == warned
    found = judged(tmp_path, made_records(TRUTH), warned)
    assert warning in of_use(for_workload(found, shipped()["database"]), warned).caution
    assert cautions(warned) == (warning,)
    assert cautions(plan) == ()


def test_a_score_is_the_weighted_geometric_mean_of_the_combinations():
    values = {"seq_read threads=1": 8.0, "rand_read threads=1": 2.0}
    single = [Observation("r", combination, 1, "none", "rate", value) for combination, value in values.items()]
    (score,) = _scores(single, {"seq_read threads=1": 3.0, "rand_read threads=1": 1.0}, "mine")
    assert math.isclose(score.value, (8.0**3 * 2.0) ** (1 / 4))


def test_a_repetition_without_every_combination_does_not_count():
    single = [
        Observation("r", "a", 1, "none", "rate", 1.0),
        Observation("r", "b", 1, "none", "rate", 1.0),
        Observation("r", "a", 2, "none", "rate", 1.0),
    ]
    assert [o.repetition for o in _scores(single, {"a": 1.0, "b": 1.0}, "mine")] == [1]


def test_the_interval_of_the_ratio_holds_the_true_weighted_ratio():
    weighed = weigh(made_records(TRUTH, repetitions=8), shipped()["database"], "mq-deadline")
    standing = next(each for each in weighed.standings if each.setting == "kyber")
    truth = 1.5**0.28  # 28 of 100 are random writes, no sequential reads
    _, low, high = standing.ratios["rate"]
    assert low <= truth <= high
    assert high / low < 1.05


def test_the_same_run_advises_differently_for_different_work(tmp_path):
    found = judged(tmp_path, made_records(TRUTH))
    database = for_workload(found, shipped()["database"])
    assert database.setting.label == "kyber"
    assert of_use(database, found.plan).headline == "Set kyber instead of mq-deadline for database."
    assert any("kyber" in line for line in database.lines.set)
    assert any("mq-deadline" in line for line in database.lines.undo)
    backup = for_workload(found, shipped()["backup"])
    assert (backup.best, backup.setting, backup.weighed.reference) == (None, None, "mq-deadline")


def test_of_settings_that_are_level_the_one_that_changes_least_is_advised(tmp_path):
    plan = made_plan()
    values = {
        each.label: {**each.values, "read_ahead_kb": 4096 if each.label == "kyber" else 128} for each in plan.settings
    }
    plan = replace(plan, settings=tuple(replace(each, values=values[each.label]) for each in plan.settings))
    places = [(operation, n) for operation in ("rand_read", "rand_write", "seq_read", "seq_write") for n in (1, 8)]
    rates = {(name, *place): rate for name, rate in (("none", 1.3), ("kyber", 1.301)) for place in places}
    advised = for_workload(judged(tmp_path, made_records(rates), plan), shipped()["database"])
    assert advised.weighed.best == ("kyber", "none")
    assert advised.setting is not None and advised.setting.label == "none"


def test_few_and_many_threads_weigh_differently(tmp_path):
    records = made_records({("kyber", "rand_read", 8): 1.3, ("kyber", "rand_read", 1): 0.8})
    reading = {"rand_read": 1.0}
    many = weigh(records, OperationMix("m", "", "many", reading), "mq-deadline")
    few = weigh(records, OperationMix("f", "", "few", reading), "mq-deadline")
    assert many.best[0] == "kyber"
    assert "kyber" not in few.best


def test_regret_names_the_combination_where_a_setting_costs_most():
    weighed = weigh(made_records(TRUTH), shipped()["file-server"], "mq-deadline")
    standing = next(each for each in weighed.standings if each.setting == "kyber")
    assert standing.regret_combination.startswith("seq_read")
    assert abs(standing.regret - 0.3) < 0.02


def test_a_setting_worse_in_everything_is_not_on_the_front():
    worse = {("none", operation, n): 0.8 for operation in get_args(uses.Operation) for n in (1, 8)}
    weighed = weigh(made_records(worse), shipped()["file-server"], "mq-deadline")
    fronts = {standing.setting: standing.on_pareto_front for standing in weighed.standings}
    assert not fronts["none"] and (fronts["mq-deadline"] or fronts["kyber"])


def test_two_repetitions_decide_nothing(tmp_path):
    advised = for_workload(judged(tmp_path, made_records(TRUTH, repetitions=2)), shipped()["database"])
    assert (advised.best, advised.weighed.best, advised.weighed.reference) == (None, (), "mq-deadline")


def test_work_that_was_not_measured_is_said_or_refused(tmp_path):
    found = judged(tmp_path, made_records(TRUTH, operations=("seq_read",)))
    caution = of_use(for_workload(found, shipped()["backup"]), found.plan).caution
    assert "50 % of this work is represented by no trial of the run" in caution
    with pytest.raises(UsageError, match="no trial of this run"):
        weigh(made_records(TRUTH, operations=("seq_write",)), shipped()["web-server"], "mq-deadline")


def test_own_weights_come_from_a_file(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('title = "Mine"\n[requests]\noperations = { rand_write = 1 }\nthreads = "few"\n')
    assert find(str(file)).operations == {"rand_write": 1.0}
    with pytest.raises(UsageError, match="has no `\\[\\[job\\]\\]` to measure"):
        uses.chosen(str(file))


def test_a_word_means_the_same_use_whether_it_is_measured_or_weighs_a_study():
    assert {"desktop", "database", "file-server", "web-server", "backup", "virtual-machines"} <= set(shipped())
    for word, work in shipped().items():
        assert work == find(word)
        assert any(use.requests is not None and use.requests.operations == work.operations for use in uses.chosen(word))


def test_a_use_that_says_nothing_of_requests_names_those_that_do():
    with pytest.raises(UsageError, match="build does not say what requests it makes") as raised:
        find("build")
    assert "database" in raised.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("operations = { sek_read = 1 }", "`requests.operations.sek_read"),
        ("operations = { seq_read = -1 }", "`requests.operations.seq_read`"),
        ("operations = { seq_read = true }", "`requests.operations.seq_read`"),
        ("operations = { seq_read = inf }", "`requests.operations.seq_read`"),
        ("operations = { seq_read = 0 }", "no share above zero"),
        ("threads = 'none'\noperations = { seq_read = 1 }", "`requests.threads`"),
        ("thread = 'all'\noperations = { seq_read = 1 }", "unknown key `requests.thread`"),
        ("", "`requests.operations` field required"),
        ("[a", "not TOML"),
    ],
)
def test_a_wrong_file_of_weights_is_one_clear_error(tmp_path, text, words):
    file = tmp_path / "mine.toml"
    file.write_text(f'title = "Mine"\n[requests]\n{text}\n')
    with pytest.raises(UsageError) as raised:
        find(str(file))
    assert words in raised.value.message


def test_an_unknown_workload_lists_the_known_ones():
    with pytest.raises(UsageError) as raised:
        find("file-servr")
    assert "file-server" in raised.value.hint


def command(*words: str, state) -> subprocess.CompletedProcess:
    return preloaded.run(words, {**os.environ, "SEEKWISE_STATE": str(state)})


def test_the_command_gives_one_document_with_everything(tmp_path):
    judged(tmp_path, made_records(TRUTH))
    done = command("advise", "r1", "--for", "database", "--json", "--db", str(tmp_path / "records.db"), state=tmp_path)
    document = json.loads(done.stdout)
    assert document["schema"] == "seekwise.advice/1"
    assert document["workload"]["best"] == ["kyber"]
    assert document["headline"].startswith("Set kyber")
    shown = command("advise", "--for", "database", "--db", str(tmp_path / "records.db"), state=tmp_path)
    assert "next: seekwise apply r1 --for database" in shown.stdout


@needs_root
@pytest.mark.root
def test_what_a_run_recommends_is_applied_and_reverted(loop, tmp_path):
    before = read_settings(loop)
    better = {("kyber", operation, n): 1.4 for operation in get_args(uses.Operation) for n in (1, 8)}
    judged(tmp_path, made_records(better), made_plan(loop, before | {"queue/scheduler": "mq-deadline"}))
    words = ("--db", str(tmp_path / "records.db"), "--json")
    for extra in ((), ("--for", "database")):
        done = command("apply", "r1", *extra, *words, state=tmp_path)
        assert json.loads(done.stdout)["seen"][loop]["queue/scheduler"] == "kyber", done.stderr
        assert read_settings(loop)["queue/scheduler"] == "kyber"
        command("revert", state=tmp_path)
        assert read_settings(loop) == before


def test_a_simulated_run_is_not_applied_to_this_machine(tmp_path):
    better = {("kyber", operation, n): 1.4 for operation in get_args(uses.Operation) for n in (1, 8)}
    judged(tmp_path, made_records(better), made_plan(backend="simulated"))
    done = command("apply", "r1", "--db", str(tmp_path / "records.db"), state=tmp_path)
    assert done.returncode == 2 and "did not measure this machine" in done.stderr
