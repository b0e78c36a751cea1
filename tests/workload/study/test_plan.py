"""The plan: who runs when, how often, and what is touched."""

import itertools
import re
from collections import Counter

import pytest

from seekwise.errors import UsageError
from seekwise.workload.study import budget, parse, planning
from seekwise.workload.study.plan import Plan, SystemFacts

FACTS = SystemFacts(
    name="disk",
    target="/srv",
    leaves=("sda", "sdb"),
    offered=("none", "mq-deadline", "bfq"),
    current={
        "md0": {"queue/read_ahead_kb": "512", "md/stripe_cache_size": "256"},
        "sda": {"queue/scheduler": "mq-deadline", "queue/nr_requests": "64"},
        "sdb": {"queue/scheduler": "mq-deadline", "queue/nr_requests": "64"},
    },
    scheduler="mq-deadline",
)

TEXT = """
name = "small"
[[system]]
name = "disk"
target = "/srv"
[settings]
scheduler = "offered"
[[workload]]
operations = ["seq_read", "rand_write"]
threads = [1, 8]
runtime = "1s"
[design]
blocks = 4
"""


def made(text: str = TEXT, facts: SystemFacts = FACTS, **options) -> Plan:
    return planning.make(parse.loads(text, "study.toml"), (facts,), **options)


def test_every_candidate_runs_once_in_every_repetition_and_the_reference_combination_at_both_ends():
    found = made()
    for repetition in range(1, 5):
        trials = [trial for trial in found.trials if trial.repetition == repetition]
        inner = [(trial.combination, trial.setting) for trial in trials if trial.role != "sentinel"]
        assert Counter(inner) == Counter((combination, setting) for combination in range(2) for setting in range(4))
        assert [trial.role == "sentinel" for trial in trials] == [True] + [False] * 8 + [True]
        assert trials[0].combination == trials[-1].combination


def test_the_control_is_the_reference_under_a_second_label():
    found = made()
    assert found.reference == "mq-deadline"
    assert [setting.label for setting in found.settings] == ["none", "mq-deadline", "bfq", "mq-deadline (control)"]
    assert found.settings[3].values == found.settings[1].values
    assert {trial.role for trial in found.trials if trial.setting == 3} == {"control"}


def test_the_order_follows_the_seed_and_nothing_else():
    assert made(seed=7).trials == made(seed=7).trials
    orders = {tuple((t.combination, t.setting) for t in made(seed=seed).trials) for seed in range(20)}
    assert len(orders) == 20


def test_repetitions_differ_in_order():
    trials = made().trials
    orders = {
        tuple((t.combination, t.setting) for t in trials if t.repetition == repetition) for repetition in range(1, 5)
    }
    assert len(orders) == 4


def test_no_two_trials_share_a_random_seed_and_attempts_have_their_own():
    found = made()
    seeds = [trial.seed for trial in found.trials]
    assert len(set(seeds)) == len(seeds)
    assert not {trial.seed_of(2) for trial in found.trials} & set(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_setting_touches_the_devices_it_lives_on():
    text = TEXT.replace(
        'scheduler = "offered"', "nr_requests = [64, 128]\nread_ahead_kb = [128]\nstripe_cache_size = [1024]"
    )
    touched = {(each.device, each.attribute, each.now) for each in made(text).touched}
    assert touched == {
        ("sda", "queue/nr_requests", "64"),
        ("sdb", "queue/nr_requests", "64"),
        ("md0", "queue/read_ahead_kb", "512"),
        ("md0", "md/stripe_cache_size", "256"),
    }


def test_without_the_right_to_change_settings_the_one_in_force_is_measured_and_one_line_says_why():
    facts = SystemFacts(name="disk", target="/srv", leaves=("sda",), offered=("none", "mq-deadline"), scheduler="none",
                        may_change=False, why_not="as root this would also try mq-deadline")  # fmt: skip
    found = made(facts=facts)
    assert [setting.label for setting in found.settings] == ["none", "none (control)"]
    assert found.settings[0].values == {}
    assert found.notes == ("as root this would also try mq-deadline",)
    assert found.touched == ()


def test_factors_that_do_not_compete_are_part_of_the_combination():
    text = (
        TEXT.replace('scheduler = "offered"', 'scheduler = ["none", "bfq"]\nnr_requests = [32, 64]')
        + 'compare = "scheduler"\n'
    )
    found = made(text)
    assert [setting.label for setting in found.settings] == ["none", "bfq", "none (control)"]
    assert {combination.key for combination in found.combinations} == {
        f"system=disk threads={threads} nr_requests={depth}" for threads in (1, 8) for depth in (32, 64)
    }


def test_expensive_factors_are_varied_in_outer_plots():
    text = (
        TEXT.replace('scheduler = "offered"', 'scheduler = ["none", "bfq"]\nchunk_kib = [64, 512]')
        + 'compare = "scheduler"\n'
    )
    found = made(text)
    for repetition in range(1, 5):
        chunks = [
            found.combinations[t.combination].fixed["chunk_kib"] for t in found.trials if t.repetition == repetition
        ]
        changes = sum(one != other for one, other in itertools.pairwise(chunks))
        assert changes == 1, "an array is built twice a block, not for every trial"


def test_the_scheduler_is_set_before_what_it_resets():
    text = TEXT.replace('scheduler = "offered"', 'nr_requests = [64]\nscheduler = ["none", "bfq"]')
    assert [list(setting.values) for setting in made(text).settings] == [["scheduler", "nr_requests"]] * 3


def test_an_unknown_reference_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match='must be one of "none", "mq-deadline", "bfq"'):
        made(TEXT + 'reference = "cfq"\n')


def test_a_plan_survives_the_way_through_json():
    import json

    found = made()
    assert Plan.from_document(json.loads(json.dumps(found.to_document()))) == found


def fitted(seconds: float, text: str = TEXT) -> Plan:
    study = parse.loads(text, "study.toml")
    return budget.fit(
        study, seconds, lambda study, repetitions: planning.make(study, (FACTS,), repetitions=repetitions)
    )


def test_a_budget_takes_repetitions_first_and_never_more_than_asked_for():
    whole = made()
    assert fitted(10_000).repetitions == whole.repetitions == 4
    part = fitted(whole.prepare_s + (whole.estimated_s - whole.prepare_s) * 0.8)
    assert part.repetitions == 3
    assert part.combinations == whole.combinations
    assert part.notes == ()


def test_a_tighter_budget_shortens_trials_then_drops_combinations_and_says_so():
    three = made(repetitions=3)
    shorter = fitted(three.estimated_s * 0.8)
    assert shorter.estimated_s <= three.estimated_s * 0.8
    assert 0.5 <= shorter.combinations[0].load.phases[0].runtime_s < 1
    assert shorter.notes[0].startswith("shorter trials")
    fewer = fitted(three.estimated_s * 0.55)
    assert [combination.load.threads for combination in fewer.combinations] == [8]
    assert fewer.notes[1] == "fewer combinations, threads: 8"
    assert fewer.repetitions >= 3


def test_a_budget_that_cannot_be_met_is_refused_with_the_least_that_works():
    with pytest.raises(UsageError, match="1 s is too short for") as refused:
        fitted(1)
    least = int(re.search(r"--budget (\d+)s", refused.value.hint)[1])
    assert 1 < fitted(least).estimated_s <= least


def test_estimates_tell_a_hard_disk_from_flash_and_grow_with_what_is_asked():
    from dataclasses import replace

    text = TEXT.replace('runtime = "1s"', "random_ios = 1000")
    disk = made(text, replace(FACTS, speed="rotational"))
    flash = made(text, replace(FACTS, speed="flash"))
    assert disk.estimated_s > 5 * flash.estimated_s
    assert made(text.replace("1000", "2000"), replace(FACTS, speed="rotational")).estimated_s > 1.5 * disk.estimated_s
    # Eight threads of 4000 KiB each write what they are asked to, and every file is filled once before.
    assert disk.bytes_per_trial[1] == 8 * 1000 * 4096
    assert disk.bytes_prepared == 8 * 64 * 2**20
