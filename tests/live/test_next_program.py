"""What is said of programs that nobody measured: how wide, in which words, and what it does to the advice."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from live.test_decision import entry
from seekwise.judge.decision import choose, next_program, posterior, verdicts
from seekwise.judge.decision.priors import PROGRAMS
from seekwise.measure.live import progress
from seekwise.report import next_programs
from seekwise.workload import programs
from seekwise.workload.study import uses
from seekwise_proof.calibration import permuted


def unit(values, kind, background="", *, noise=0.05, rounds=8, seed=1, work="waiting"):
    """An entry of a unit whose time is judged: {setting: true time}."""
    made = entry(values, use=f"{kind} {background}", metric="time", more=False, noise=noise, rounds=rounds, seed=seed)
    conditions = replace(made.conditions, program=kind, background=background, work=work, age="young")
    return replace(made, kind="time", purpose="responsive" if background else "throughput", conditions=conditions)


SAME = {"mq-deadline": 100, "none": 100, "bfq": 100}


def judged(*entries):
    return verdicts.judge(list(entries), "mq-deadline", PROGRAMS)


def test_the_next_program_is_less_sure_than_the_unit_where_a_setting_matters_and_hardly_where_it_does_nothing():
    (found,) = judged(unit({**SAME, "bfq": 20}, "command", "4 readers"))
    bfq, none = found.standing("bfq"), found.standing("none")
    width = math.log(bfq.next.high / bfq.next.low)
    assert bfq.next.low < bfq.low and bfq.high < bfq.next.high and width > 5 * math.log(bfq.high / bfq.low)
    assert bfq.next.word == "gain" and bfq.next.p_gain > 0.9
    assert none.next.word == "within" and none.next.high / none.next.low < 1.4
    assert found.standing("mq-deadline").next is None


def test_probabilities_of_what_is_in_force_are_null():
    (found,) = judged(unit(SAME, "command", "copy"))
    mine = found.standing("mq-deadline")
    assert mine.p_better is None and mine.p_worse is None
    assert found.standing("none").p_better is not None


def test_nothing_is_foretold_of_tails_backgrounds_and_requests():
    tail = replace(unit(SAME, "command", "copy"), kind="tail")
    for found in judged(tail, entry(SAME, use="plain"), entry(SAME, use="back", role="background")):
        assert all(one.next is None for one in found.standings)


def test_every_kind_of_program_says_how_far_its_programs_differ():
    for name, program in programs.PROGRAMS.items():
        for background in ("", "copy", "4 readers", "reader", "backup"):
            spread = next_program.spread_log(program.kind, background, 1.0)
            assert next_program.SPREAD_LEAST_LOG <= spread < 1.1, name
        assert next_program.words_of(program.kind)
    assert next_program.spread_log("command", "4 readers", 0.0) == next_program.SPREAD_LEAST_LOG


@pytest.mark.parametrize(
    ("draws", "word"),
    [
        (np.full(100, 0.5), "gain"),
        (np.full(100, -0.5), "lose"),
        (np.full(100, 0.05), "within"),
        (np.linspace(-1, 1, 100), "depends"),
    ],
)
def test_the_words_are_those_of_nine_programs_of_ten(draws, word):
    told = next_program.of_draws(draws, -1.0)
    assert told.word == word and told.low <= told.high


def test_a_kind_that_loses_is_named_with_the_advice_that_others_gain_by():
    found = judged(
        unit({**SAME, "bfq": 20}, "command", "4 readers", seed=1),
        unit({**SAME, "bfq": 40}, "command", "copy", seed=2),
        unit({**SAME, "bfq": 40}, "save", "copy", seed=4),
        unit({**SAME, "bfq": 170}, "read-write", "4 readers", seed=3),
    )
    choice = choose.choose(found, "mq-deadline", list(SAME))
    assert choice.setting == "bfq"
    (loser,) = choice.losers
    assert (loser.kind, loser.background) == ("read-write", "4 readers") and loser.p_loss > 0.5 and loser.factor > 1.7
    assert 0.2 < choice.p_harm < 0.4
    (said,) = next_programs.losses(choice.losers)
    assert said.startswith("may take longer: small-file backups (up to")


def test_kinds_that_lose_are_told_by_what_runs_beside_them():
    losers = [choose.Loser("commit", "4 readers", 0.6, 4.1), choose.Loser("save", "copy", 0.4, 1.9)]
    assert next_programs.losses([*losers, choose.Loser("backup", "4 readers", 0.3, 1.6)]) == [
        "may take longer: long commit series (up to 4.1 times) and backups (1.6) next to 4 readers, saves (1.9) while files are copied"
    ]


def test_kinds_that_were_not_measured_here_and_lose_elsewhere_are_named_too():
    """MariaDB loses 42 % under bfq while files are copied and 33 % alone, RocksDB 26 % (elsewhere.toml)."""
    losers = choose.losers_elsewhere("bfq", "mq-deadline", "virtio", {("command", "copy"), ("stream", "")})
    assert {loser.kind for loser in losers} == {"server"} and {loser.background for loser in losers} == {"copy", ""}
    assert all(1.3 < loser.factor < 2.5 and loser.is_elsewhere for loser in losers)
    measured = choose.Loser("commit", "4 readers", 0.6, 4.1)
    (said,) = next_programs.losses([measured, *losers])
    assert said.startswith(
        "may take longer: long commit series (up to 4.1 times) next to 4 readers, databases and servers (1."
    )
    assert not choose.losers_elsewhere(
        "bfq", "mq-deadline", "virtio", {("server", "copy"), ("server", ""), ("stream", "")}
    )
    assert {loser.background for loser in choose.losers_elsewhere("none", "mq-deadline", "virtio", ())} <= {"copy"}


def test_what_counts_more_decides():
    """bfq halves the time of a command and makes a database a fifth slower: by the weights of `--for` either decides."""
    command, server = (
        unit({**SAME, "bfq": 60}, "command", "copy", seed=1),
        unit({**SAME, "bfq": 125}, "server", "copy", seed=2),
    )

    def weighing(**weights: float) -> choose.Choice:
        return choose.choose(
            judged(*(
                replace(each, conditions=replace(each.conditions, weight=weights[name]))
                for name, each in (("command", command), ("server", server))
            )),
            "mq-deadline", ["mq-deadline", "bfq"],
        )  # fmt: skip

    alike, commands, servers = (
        weighing(command=1, server=1),
        weighing(command=4, server=1),
        weighing(command=1, server=9),
    )
    assert not alike.changes, "half of what counts loses by it"
    assert commands.setting == "bfq" and commands.expected_gain > 0.3
    assert servers.setting == "mq-deadline" and servers.alternative is None


def test_what_harms_by_its_weight_harms():
    """A tenth better for what counts once, a twentieth worse for what counts nine times."""
    gains = [np.array([0.10]), np.array([-0.05])]
    assert not choose.harms(np.average(gains, axis=0), gains, []).any()
    assert choose.harms(np.average(gains, axis=0, weights=[1, 9]), gains, []).all()


def test_nothing_is_advised_that_most_programs_lose_by():
    found = judged(
        unit({**SAME, "bfq": 5}, "command", "4 readers", seed=1),
        *(unit({**SAME, "bfq": 150}, kind, "copy", seed=2) for kind in ("read-write", "commit", "server")),
    )
    assert choose.choose(found, "mq-deadline", list(SAME)).setting == "mq-deadline"


def test_what_a_database_does_not_feel_alone_says_nothing_of_a_command_beside_a_copy():
    beside = unit({**SAME, "bfq": 75}, "command", "copy", noise=0.15, rounds=5, seed=4)
    alone = [unit(SAME, "server", noise=0.01, rounds=20, seed=i, work="alone") for i in range(6)]
    alone = [replace(each, use=f"server {i}") for i, each in enumerate(alone)]
    (by_itself,), (*_, among) = judged(beside), judged(*alone, beside)
    assert among.standing("bfq").ratio == pytest.approx(by_itself.standing("bfq").ratio, abs=0.005)


def test_a_further_use_varies_as_uses_do():
    rng = random.Random(1)
    uses = [(f"use {i}", rng.gauss(0, 0.3), 1e-6) for i in range(400)]
    mean, variance = posterior._random_effects(uses)
    assert mean == pytest.approx(0, abs=0.05)
    assert math.sqrt(variance) == pytest.approx(0.3, rel=0.1), "of a further use, not of the mean"


def test_a_gain_that_dealt_labels_bring_as_often_is_chance():
    real = judged(unit({**SAME, "bfq": 50}, "command", "copy", noise=0.3, seed=5))
    nothing = judged(unit(SAME, "command", "copy", noise=0.3, seed=6))
    assert choose.p_by_chance(real, "bfq", "mq-deadline") < 0.01
    assert choose.p_by_chance(nothing, "bfq", "mq-deadline") > 0.05


def test_recorded_runs_with_permuted_labels_advise_next_to_nothing():
    assert permuted.score(6, np.random.default_rng(3)).changes <= 2


def test_the_stake_of_keeping_counts_what_exceeds_a_change_that_is_worth_it():
    (found,) = judged(unit({**SAME, "none": 97}, "command", "copy", noise=0.01))
    kept = choose.choose([found], "mq-deadline", list(SAME))
    assert not kept.changes and kept.expected_regret > 0.01 > kept.stake


def test_the_picture_has_a_line_for_each_kind_and_background_gain_right_loss_left():
    found = judged(
        unit({**SAME, "bfq": 20}, "command", "4 readers", seed=1),
        unit({**SAME, "bfq": 300}, "read-write", "4 readers", seed=3),
        unit(SAME, "command", seed=2, work="alone"),
    )
    known = next_programs.cells(found, ["bfq"])
    title, *lines = next_programs.picture_lines(known, 10)
    assert title.startswith("bfq") and len(lines) == 3 and all(len(line) <= 80 for line in lines)
    middle = lines[0].index("│")
    gain, loss, same = (line.index("●") - middle for line in lines)
    assert gain > 0 > loss and abs(same) <= 1
    assert len(next_programs.picture_lines(known, 2)) == 3, "what does not differ goes first"
    assert len(next_programs.drawn(known)) == 3
    (said,) = next_programs.gains(known)
    assert said.startswith("short commands end about") and "9 of 10 programs" in said


def test_headroom_says_what_waits_and_nothing_where_nothing_does():
    alone, beside = unit(SAME, "command", work="alone"), unit(dict.fromkeys(SAME, 400), "command", "copy")
    assert next_programs.headroom(judged(alone, beside)).endswith("commands 4 (copy)")
    assert next_programs.headroom(judged(alone)) == ""


def test_two_minutes_hold_young_and_old_units_and_streams():
    fit, _ = progress.uses_that_fit(uses.chosen(None), 5, 113.0)
    assert [use.name for use in fit] == ["commands", "commands-copy", "commands-readers", "long-readers", "streams"]
