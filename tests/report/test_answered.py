"""The headline and the rows of an answer: what stands in them for every outcome, with the values of both sides."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace

from seekwise import number_text
from seekwise.judge.decision.records import with_choices
from seekwise.judge.decision.table import UseFigure, values_of
from seekwise.judge.decision.verdicts import judge
from seekwise.number_text import signed
from seekwise.report import answered
from seekwise.report.layout import common_parts
from seekwise.report.metric_words import amount, both_texts, effect, value_text
from seekwise.report.tune_answer import row_lines


def figure(
    use, values, *, kind="done", job="copy", purpose="throughput", work="", noise=0.01, rounds=10, role="foreground"
):
    rng = random.Random(4)
    periods = []
    for _ in range(rounds):
        names = list(values)
        rng.shuffle(names)
        periods += [(name, values[name] * math.exp(rng.gauss(0, noise))) for name in names]
    more = kind == "done"
    metric = kind if role == "foreground" else f"background_{kind}"
    unit = "MB/s" if more else "ms"
    return UseFigure(
        use, metric, unit, more, 0.05 if more else 0.1, values_of(periods), role, "desktop", use, job, purpose, work, kind,
    )  # fmt: skip


def asked(*entries, in_force="mq-deadline", names=("mq-deadline", "none", "bfq"), group=None):
    found = with_choices(judge(list(entries), in_force), in_force, names)
    choice = found.stated if group else found.choice
    return answered.Question(found.judged, choice, in_force, found.by_purpose, group or (), "scheduler")


START = figure("desktop-copy", {"mq-deadline": 2900, "none": 2850, "bfq": 950}, kind="time", job="start", purpose="responsive", work="start")  # fmt: skip
COPY = figure("desktop-copy", {"mq-deadline": 920, "none": 915, "bfq": 500}, role="background")


LEVEL = {"mq-deadline": 100, "none": 100, "bfq": 100}


def test_where_nothing_differs_the_setting_in_force_is_kept_and_the_bound_is_said():
    question = asked(figure("backup", LEVEL), figure("streams", LEVEL))
    assert {s.verdict for each in question.judged for s in each.standings} == {"same"}
    said = answered.headline(question)
    assert said.startswith("Keep mq-deadline") and "makes a difference worth naming here (at most 5 %)" in said


def test_where_others_are_only_worse_the_setting_in_force_is_kept():
    question = asked(figure("backup", {"mq-deadline": 100, "none": 100, "bfq": 60}))
    (judged,) = question.judged
    assert judged.standing("bfq").verdict == "worse" and judged.standing("none").verdict == "same"
    assert not question.choice.changes and answered.headline(question).startswith("Keep mq-deadline")


def test_what_was_not_measured_long_enough_says_both_ends():
    values = {"mq-deadline": 100, "none": 103, "bfq": 98}
    question = asked(figure("backup", values, kind="time", job="start", noise=0.3, rounds=4))
    (row,) = answered.rows(question)
    standing = row.judged.standing(row.other)
    assert standing.verdict == "unknown" and standing.low < 1 < standing.high
    assert signed(standing.low) in row.words and signed(standing.high) in row.words


def test_purposes_that_disagree_stand_in_the_headline_each_with_its_price():
    question = asked(START, COPY, figure("streams", {"mq-deadline": 100, "none": 100, "bfq": 60}))
    assert {name: each.setting for name, each in question.purposes.items()} == {
        "responsive": "bfq",
        "throughput": "mq-deadline",
    }
    said = answered.headline(question)
    assert "while the disk is busy: set bfq. Starts 3.1 times quicker" in said
    assert "copy about 4" in said and "For most work done: keep mq-deadline" in said


def test_what_is_probable_for_one_purpose_is_not_hidden_by_the_average_over_all():
    starts = {"mq-deadline": 2450, "none": 2500, "bfq": 2240}
    waits = figure("desktop-copy", starts, kind="time", job="start", purpose="responsive", work="start", noise=0.1, rounds=4)  # fmt: skip
    copies = figure("desktop-copy", {"mq-deadline": 816, "none": 820, "bfq": 715}, role="background", noise=0.02)
    question = asked(waits, copies)
    responsive = question.purposes["responsive"]
    assert not responsive.changes and responsive.alternative.setting == "bfq" and question.choice.alternative is None
    first, *rest = answered.answers(question)
    assert "keep mq-deadline; bfq is probably better" in first.what
    assert [sign for sign, effect in first.effects if effect.startswith("copy")] == ["−"]
    assert any(answer.what.startswith("For most work done: keep mq-deadline") for answer in rest)
    assert answered.opponents(question) == ("bfq",)


def test_a_change_names_its_gain_and_that_nothing_gets_worse():
    question = asked(START, figure("streams", LEVEL))
    assert question.choice.setting == "bfq" and question.choice.p_gain > 0.99
    said = answered.headline(question)
    assert said.startswith("Set bfq. Starts 3.1 times quicker") or ": set bfq. Starts 3.1 times quicker" in said
    assert "nothing measured gets worse" in said


def test_a_reason_to_keep_names_both_sides():
    question = asked(START, *(figure(f"use {i}", {"mq-deadline": 100, "none": 100, "bfq": 50}) for i in range(3)))
    (said,) = answered.answers(replace(question, by_purpose={}))
    assert said.what == "Keep mq-deadline; bfq would help some and harm others:"
    (gain, brings), (cost, loses) = said.effects
    assert (
        (gain, cost) == ("+", "−") and brings.startswith("starts 3.1 times quicker") and "copy 2 times slower" in loses
    )


def test_limits_are_shown_and_recommend_nothing():
    said = answered.headline(asked(replace(START, group="limits")))
    assert said.startswith("These are limits of the device") and said.endswith("Keep mq-deadline.")


def test_only_what_was_measured_is_named():
    judged = asked(START).judged
    assert answered.groups_measured("desktop,database,own/backup.toml", judged) == ("desktop",)


def test_rows_hold_both_sides_of_an_exchange_and_are_never_cut():
    question = asked(START, COPY, figure("a-use-with-quite-a-long-name", {"mq-deadline": 100, "none": 100, "bfq": 100}))
    rows = answered.rows(question)
    assert [(row.use, row.other, row.judged.standing("bfq").verdict) for row in rows[:2]] == [
        ("desktop-copy", "bfq", "better"),
        ("desktop-copy", "bfq", "worse"),
    ]
    lines = row_lines(question, 20, 80)
    assert max(map(len, lines)) <= 80 and "…" not in "".join(lines)
    joined = " ".join(" ".join(lines).split())
    assert "2.9 s" in joined and "0.9" in joined and "starved" not in joined
    assert re.search(r" more rows? in the report$", row_lines(question, 8, 80)[-1])
    for room in range(20):
        # A head above no row says nothing.
        shown = row_lines(question, room, 80)
        assert not shown or "desktop-copy" in " ".join(shown), room


def test_each_figure_marks_what_is_advised_to_those_whom_it_is_about():
    question = asked(START, COPY, figure("streams", {"mq-deadline": 100, "none": 100, "bfq": 60}))
    marked = {(each.use, each.purpose): question.chosen(each) for each in question.judged}
    assert marked == {
        ("desktop-copy", "responsive"): "bfq",
        ("desktop-copy", "throughput"): "mq-deadline",
        ("streams", "throughput"): "mq-deadline",
    }


def test_a_price_that_is_only_probable_is_named_with_its_probability():
    noisy = figure(
        "desktop-copy", {"mq-deadline": 920, "none": 915, "bfq": 800}, role="background", noise=0.15, rounds=4
    )
    question = asked(START, noisy)
    standing = next(each for each in question.judged if each.role == "background").standing("bfq")
    assert standing.verdict == "unknown" and standing.p_worse > 0.8
    assert f"({100 * standing.p_worse:.0f} % sure)" in answered.headline(question)


def test_what_differs_and_was_not_named_is_not_called_level():
    question = asked(
        *(figure(f"use {i}", {"mq-deadline": 100, "none": 50, "bfq": 50}, job=f"job {i}") for i in range(4)),
        figure("streams", LEVEL, job="streams"),
    )
    assert {s.verdict for each in question.judged for s in each.standings} == {"same", "worse"}
    assert "Nothing else" not in answered.headline(question)


def test_on_request_every_setting_that_was_compared_has_a_row_and_a_figure_keeps_its_rows_together():
    question = asked(START, COPY, figure("streams", LEVEL))
    found = [(row.use, row.judged.metric, row.other) for row in answered.rows(question, every=True)]
    assert sorted(found) == sorted(
        (each.use, each.metric, standing.setting)
        for each in question.judged
        for standing in each.standings
        if standing.setting != each.base
    )
    figures = [row[:2] for row in found]
    assert figures == sorted(figures, key=figures.index)


def test_beyond_starvation_a_ratio_has_no_digits():
    starved = figure("desktop-copy", {"mq-deadline": 1755, "bfq": 77}, role="background")
    (row,) = answered.rows(asked(starved, names=("mq-deadline", "bfq")))
    assert row.now.endswith(" MB/s") and row.other == "bfq" and row.words == "over 10 times less"
    (judged,) = asked(starved, names=("mq-deadline", "bfq")).judged
    assert effect(judged, judged.standing("bfq")) == "copy nearly stopped (1,761 MB/s → 77.2 MB/s)"
    assert amount(0.998, True) == "over 10 times less" and amount(185.0, False) == "over 10 times longer"


def test_values_have_three_digits_or_whole_numbers_and_one_unit():
    assert value_text(2345.0, "ms") == "2.35 s" and value_text(0.0512, "ms") == "51.2 µs"
    assert value_text(4749.6, "/s") == "4,750/s" and value_text(None, "ms") == "–"
    assert both_texts(1755.2, 77.04, "MB/s") == ("1,755 MB/s", "77 MB/s")
    assert both_texts(2900, 230, "ms") == ("2.9 s", "0.23 s")
    assert both_texts(4750.0, 4510.0, "/s") == ("4,750/s", "4,510/s")


def test_what_one_side_did_not_run_has_no_row():
    question = asked(figure("a", {"mq-deadline": 100, "bfq": 100}), figure("b", {"none": 100, "bfq": 100}))
    assert [row.use for row in answered.rows(question)] == ["a"]
    assert not [line for line in row_lines(question, 20, 80) if "–" in line]


def test_a_range_has_one_unit_and_what_all_loads_share_stands_once():
    assert number_text.span(0.8, 1.3) == "\N{MINUS SIGN}20 to +30 %"
    assert number_text.span(6.36, 13.9) == "6.4 to 13.9 times"
    uses = ["random read, block 4k, iodepth 1, direct 1", "random write, block 4k, iodepth 8, direct 1"]
    assert common_parts(uses) == ["block 4k", "direct 1"]
    assert common_parts(uses[:1]) == common_parts(["database", "desktop"]) == []


def test_a_gain_names_what_it_is_compared_with_where_that_is_in_force_nowhere():
    names = ("mq-deadline queue_depth=1", "mq-deadline queue_depth=31", "none queue_depth=31")
    speeds = dict(zip(names, (100, 180, 100), strict=True))
    question = asked(figure("random read", speeds), in_force=names[0], names=names)
    assert question.choice.setting == names[1]
    assert "queue_depth=1:" not in answered.headline(question)
    assert "Compared with queue_depth=1:" in answered.headline(replace(question, is_set=False))
    speeds = dict(zip(names, (100, 100, 180), strict=True))
    other = asked(figure("random read", speeds), in_force=names[0], names=names)
    assert "Compared with mq-deadline queue_depth=1:" in answered.headline(replace(other, is_set=False))
