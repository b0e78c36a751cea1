"""How a study over several systems ends: a choice for each system, by use and by load, and the chunk as what competes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from insights.test_insights import record
from seekwise.judge.system_choices import choose
from seekwise.judge.workloads import OperationMix
from seekwise.report.systems_answer import advice as answer
from seekwise.workload.study import parse
from seekwise.workload.study.study import Answer, Study

OPERATIONS = ("seq_read", "seq_write", "rand_read", "rand_write")


def study(*systems: str, **more) -> Study:
    text = 'name = "made"\nbackend = "simulated"\n'
    for name in systems:
        text += f'[[system]]\nname = "{name}"\ndrive = "wd2500ys"\ndrives = 2\nraid_level = "raid1"\n'
    text += '[settings]\nscheduler = ["noop", "cfq"]\n[[workload]]\noperations = ["seq_read"]\n'
    return parse.loads(text, "made.toml").model_copy(update=more)


def repeats(
    system: str,
    throughputs: dict[tuple[str, str], float],
    *,
    repetitions: int = 3,
    threads=(1, 8),
    noise: float = 0.002,
):
    """`rates`: {(setting, operation): rate}, the same at every thread count."""
    chance = random.Random(3)
    return [
        replace(
            record(system, setting, operation, t, throughput * (1 + chance.gauss(0, noise)), repetition=repetition),
            combination=f"system={system} threads={t}",
        )
        for repetition in range(1, repetitions + 1)
        for t in threads
        for (setting, operation), throughput in throughputs.items()
    ]


def test_each_system_has_its_own_choice_and_systems_of_one_kind_are_named_together():
    made = [
        *repeats("A", {("noop", "seq_read"): 80, ("cfq", "seq_read"): 50}),
        *repeats("B", {("noop", "seq_read"): 50, ("cfq", "seq_read"): 80}),
    ]
    found = answer(study("A", "B"), made)
    assert found.headline == "Software RAID 1: noop (A); cfq (B)"
    minus = "\N{MINUS SIGN}"
    assert found.reasons[:2] == (f"A: noop; cfq {minus}37 %", f"B: cfq; noop {minus}37 %")


def test_equal_settings_are_no_difference_and_noise_was_not_measured_long_enough():
    level = repeats("A", {("noop", "seq_read"): 80, ("cfq", "seq_read"): 80})
    assert answer(study("A", "B"), level).headline == "Software RAID 1: no difference"
    noisy = repeats("A", {("noop", "seq_read"): 80, ("cfq", "seq_read"): 84}, noise=0.3)
    assert answer(study("A", "B"), noisy).headline == "Software RAID 1: not measured long enough"


def test_one_repeat_gives_an_estimate_that_is_only_preferred():
    made = repeats("A", {("noop", "seq_read"): 80, ("cfq", "seq_read"): 50}, repetitions=1)
    assert answer(study("A", "B"), made).headline == "Software RAID 1: noop", "a simulation needs no repeats"
    measured = [replace(record, provenance="measured") for record in made]
    assert answer(study("A", "B"), measured).headline == "Software RAID 1: noop (not measured long enough)"


def test_uses_are_advised_for_separately():
    throughputs = {
        ("noop", "seq_read"): 80,
        ("cfq", "seq_read"): 50,
        ("noop", "rand_write"): 4,
        ("cfq", "rand_write"): 6,
    }
    wanted = Answer(uses=["backup", "database-inserts"])
    found = answer(study("A", answer=wanted), repeats("A", throughputs))
    assert "Backup: noop on A" in found.reasons
    assert "Database inserts: cfq on A" in found.reasons


def test_advice_by_load_joins_neighbours_with_the_same_choice():
    made = []
    for t, (noop, cfq) in {1: (60, 60), 2: (50, 80), 4: (50, 80), 16: (80, 50)}.items():
        made += repeats("A", {("noop", "seq_read"): noop, ("cfq", "seq_read"): cfq}, threads=(t,))
    found = answer(study("A", answer=Answer(by_threads=True)), made)
    assert "A by load: 1 thread: no difference; 2 to 4 threads: cfq; 16 threads: noop" in found.reasons


CHUNKS = {16: 1.0, 32: 1.25, 512: 0.8}


def chunk_study(*, as_setting: bool) -> tuple[Study, list]:
    """The same three arrays, once as one system with the chunk in its settings and once as three systems."""
    text = 'name = "chunks"\nbackend = "simulated"\n'
    system = 'drive = "samsung_850_evo"\ndrives = 4\nraid_level = "raid10"\nkernel = "4.1"\n'
    if as_setting:
        text += f'[[system]]\nname = "array"\n{system}[settings]\nscheduler = ["deadline"]\nchunk_kib = [512, 16, 32]\n'
    else:
        text += "".join(f'[[system]]\nname = "r{kib}"\n{system}chunk_kib = {kib}\n' for kib in (512, 16, 32))
        text += '[settings]\nscheduler = ["deadline"]\n'
    text += '[[workload]]\noperations = ["seq_read", "rand_write"]\n'
    made = []
    for kib, factor in CHUNKS.items():
        name = "array" if as_setting else f"r{kib}"
        for one in repeats(name, {("x", "seq_read"): 100 * factor, ("x", "rand_write"): 20 * factor}):
            label = f"chunk_kib={kib}" if as_setting else "deadline"
            more = {"scheduler": "deadline", **({"chunk_kib": kib} if as_setting else {})}
            made.append(replace(one, setting=label, factors={**one.factors, **more}))
    return parse.loads(text, "chunks.toml"), made


@pytest.mark.parametrize("as_setting", [True, False])
def test_a_sweep_of_the_chunk_ends_in_the_best_chunk_however_it_is_written(as_setting):
    found = answer(*chunk_study(as_setting=as_setting))
    assert found.headline == "Chunk for software RAID 10: 32 KiB"
    (choice,) = found.choices
    minus = "\N{MINUS SIGN}"
    assert choice.settings == ("16 KiB", "32 KiB", "512 KiB")
    assert found.reasons[0].endswith(f"32 KiB; 16 KiB {minus}20 %, 512 KiB {minus}36 %")


def test_simulated_chunks_that_the_model_cannot_tell_apart_under_any_load_are_named_together():
    """16 KiB loses under one load far more than the model may be wrong, though it is level over all."""
    found = simulated_chunks({16: 0.6, 64: 0.95, 512: 1.0}, {16: 1.06, 64: 1.02, 512: 1.0})
    assert found.headline == "Chunk for software RAID 10: 64 KiB or 512 KiB"


def test_of_simulated_chunks_that_are_all_alike_the_default_is_kept():
    found = simulated_chunks({16: 1.03, 64: 1.0, 512: 1.0}, {16: 1.0, 64: 0.98, 512: 1.02})
    assert (
        found.headline
        == "Chunk for software RAID 10: no difference from 16 KiB to 512 KiB; keep mdadm's default of 512 KiB"
    )


def simulated_chunks(sequential, random):
    plan, _ = chunk_study(as_setting=True)
    made = []
    for kib in sequential:
        for one in repeats(
            "array", {("x", "seq_read"): 100 * sequential[kib], ("x", "rand_write"): 20 * random[kib]}, noise=0
        ):
            factors = {**one.factors, "scheduler": "none", "chunk_kib": kib}
            load = {**one.load, "array": {"chunk_kib": kib}}
            made.append(replace(one, setting=f"chunk_kib={kib}", factors=factors, load=load, provenance="simulated"))
    return answer(plan, made)


def test_chunks_of_levels_that_are_varied_too_compete_within_their_own_level():
    plan, made = chunk_study(as_setting=True)
    factor = {"raid5": {16: 1.0, 32: 0.8, 512: 1.25}, "raid10": CHUNKS}
    both = []
    for level, speeds in factor.items():
        for one in made:
            kib = int(one.factors["chunk_kib"])
            times = speeds[kib] / CHUNKS[kib]
            phases = tuple(replace(each, bytes=round(each.bytes * times)) for each in one.phases)
            more = {**one.factors, "raid_level": level}
            both.append(replace(one, setting=f"{level} {one.setting}", factors=more, phases=phases))
    text = answer(plan, both).headline
    assert text == "Chunk for software RAID 5: 512 KiB. Chunk for software RAID 10: 32 KiB"


def test_of_settings_that_are_not_beaten_one_that_loses_much_less_where_it_is_worst_is_named():
    """Level over all operations, and noop is even a little ahead; but where it is worst it loses far more than cfq does."""
    noop = {"seq_read": 100.0, "seq_write": 100.0, "rand_read": 10.0, "rand_write": 10.0}
    cfq = {"seq_read": 160.0, "seq_write": 85.0, "rand_read": 8.6, "rand_write": 8.5}
    throughputs = {("noop", op): throughput for op, throughput in noop.items()} | {
        ("cfq", op): throughput for op, throughput in cfq.items()
    }
    choice = choose("A", "x", repeats("A", throughputs), OperationMix("all", "", "all", dict.fromkeys(OPERATIONS, 1)))
    assert set(choice.unbeaten) == {"noop", "cfq"}
    assert choice.named == ("cfq",)
    assert choice.loss == pytest.approx(0.15, abs=0.01)


def test_where_one_system_is_all_there_is_the_answer_is_left_to_its_own_advice():
    made = repeats("A", {("noop", "seq_read"): 80, ("cfq", "seq_read"): 50})
    assert answer(study("A"), made) is None
    assert answer(None, made) is None
