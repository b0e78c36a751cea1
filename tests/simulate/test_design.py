"""`seekwise design`: finds what trying everything finds, recommends nothing that loses data, and says one sentence about wrong words."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from click.testing import CliRunner
from tests import schemas as checking

from seekwise.cli.main import cli
from seekwise.errors import NotMetError, SeekwiseError, UsageError
from seekwise.judge import design_choice
from seekwise.judge.design_choice import ERROR
from seekwise.judge.front import on_front
from seekwise.report import array_answer
from seekwise.simulate import use_trials
from seekwise.simulate.design import search, trial
from seekwise.simulate.design.space import Array, Point, arrays_of, parse_drives, space_of
from seekwise.simulate.gain_error import gain_error
from seekwise.workload.study import uses

MODEL = "wd2500ys"


def swept(
    levels=("raid0", "raid10", "raid5"), drives=(4, 6), survives=1, seed=1, use="random-read-1", chunks=(64, 512)
):
    model = use_trials.model_of(MODEL, None)
    space = space_of(model, arrays_of(model, levels, drives, survives), reads_ahead=False, chunks=chunks)
    sweep = search.Sweep(
        model=model, space=space, uses=(uses._shipped()[use],), data_bytes=50 * 10**9, seed=seed, simulate=trial.simulate
    )  # fmt: skip
    return sweep, search.carry_out(sweep)


def test_every_combination_is_simulated_and_the_best_array_is_named() -> None:
    sweep, best = swept(use="random-write")
    every = sweep.space.every()
    assert {point for point, _ in sweep.found} == set(every) and len(every) == sweep.space.size
    answer = design_choice.choose(sweep, best, None)
    rates = {point: math.exp(sweep.logs(point)[search.RATE]) for point in every}
    # Another array that is as fast, and on it the settings that change least: each within the model's error.
    settings = gain_error(search.SETTINGS)
    assert rates[answer.chosen.point] >= (1 - ERROR) / (1 + settings) * max(rates.values())
    assert all((point, number) in sweep.found for point in best.values() for number in range(search.SEEDS))


def test_four_seeds_give_the_same_answer_and_equals_are_called_equals() -> None:
    answers = [design_choice.choose(*swept(seed=seed), None) for seed in (1, 2, 3, 4)]
    assert len({answer.chosen.point for answer in answers}) == 1
    sweep, best = swept()
    answer = design_choice.choose(sweep, best, None)
    # One reader keeps one request outstanding: neither scheduler nor queue depth nor chunk makes a difference.
    assert set(answer.equals["scheduler"]) == set(sweep.space.schedulers)
    assert answer.equals["depth"] == list(sweep.space.depths)
    assert answer.chosen.point.scheduler == sweep.model.default
    assert any(
        line.startswith("Within what the model can tell, one at a time: ") for line in array_answer.lines(answer, sweep)
    )


def test_what_makes_a_difference_is_no_equal() -> None:
    sweep, best = swept(use="queries-and-log", levels=("raid10",), drives=(4,))
    answer = design_choice.choose(sweep, best, None)
    own = math.exp(sweep.logs(answer.chosen.point)[search.RATE])
    for name, values in answer.equals.items():
        for value in values:
            rate = math.exp(sweep.logs(replace(answer.chosen.point, **{name: value}))[search.RATE])
            assert abs(math.log(rate / own)) <= math.log1p(gain_error((name,)))


def test_an_array_that_survives_nothing_is_recommended_only_when_asked_for() -> None:
    sweep, best = swept()
    assert {row.point.array.level for row in design_choice.choose(sweep, best, None).rows} == {"raid10", "raid5"}
    sweep, best = swept(levels=("raid0",), survives=0)
    text = array_answer.lines(design_choice.choose(sweep, best, None), sweep)
    assert any("loses all data" in line for line in text)


def test_the_answer_fits_a_terminal() -> None:
    sweep, best = swept(drives=(4, 5, 6, 7, 8), levels=("raid10", "raid5", "raid6"))
    text = array_answer.lines(design_choice.choose(sweep, best, None), sweep)
    assert len(text) <= 25 and max(map(len, text)) <= 80
    assert text[0].startswith("Build RAID ")


def test_with_a_wanted_rate_the_fewest_drives_win() -> None:
    sweep, best = swept(drives=(4, 6, 8))
    free = design_choice.choose(sweep, best, None)
    slow = min(min(row.rates_mb_s) for row in free.rows)
    modest = design_choice.choose(sweep, best, slow * 0.9)
    assert modest.chosen.point.array.drives == 4
    with pytest.raises(NotMetError, match="no array of these reaches"):
        design_choice.choose(sweep, best, 1e6)


def test_the_front_holds_what_nothing_beats() -> None:
    values = [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0], [1.0, 1.0], [3.0, 1.0]]
    assert on_front(values) == [True, True, True, False, True]


@pytest.mark.parametrize(("text", "found"), [("4..6", (4, 5, 6)), ("8", (8,)), ("4, 8,6", (4, 6, 8))])
def test_numbers_of_drives(text, found) -> None:
    assert parse_drives(text) == found


@pytest.mark.parametrize(
    "text", ["", "x", "12..4", "1", "0..3", "4..", "100", "4..1000000", "4..6..8", "+4", "４..6", "4,,6"]
)
def test_what_is_no_number_of_drives(text) -> None:
    with pytest.raises(UsageError):
        parse_drives(text)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nosuchdrive", "--for", "queries-and-log"), "nosuchdrive"),
        ((MODEL, "--for", "nosuchuse"), "no use is called"),
        ((MODEL, "--for", "queries-and-log", "--level", "raid7"), "no level"),
        ((MODEL, "--for", "queries-and-log", "--level", "raid0", "--survives", "1"), "survives no failure"),
        ((MODEL, "--for", "queries-and-log", "--survives", "5"), "survives 5 drive failures"),
        (
            (MODEL, "--for", "queries-and-log", "--drives", "2", "--level", "raid6"),
            "no array of 2 drives and level raid6 survives 1 drive failure",
        ),
        ((MODEL, "--for", "queries-and-log", "--drives", "12..4"), "counts down"),
        ((MODEL, "--for", "queries-and-log", "--capacity", "900t"), "the largest has"),
        ((MODEL, "--for", "queries-and-log", "--data", "900t"), "smallest array holds"),
        ((MODEL, "--for", "queries-and-log", "--kernel", "banana"), "banana"),
        ((MODEL, "--for", "queries-and-log", "--rate", "nan"), "is no rate"),
        ((MODEL, "--for", "queries-and-log", "--rate", "inf"), "is no rate"),
    ],
)
def test_wrong_words_end_in_one_error(words, says) -> None:
    done = CliRunner().invoke(cli, ["design", *words], standalone_mode=False, obj={})
    assert isinstance(done.exception, SeekwiseError), done.exception
    assert says in done.exception.message


def test_the_document_is_what_its_schema_says() -> None:
    words = ["design", MODEL, "--for", "random-read-1", "--drives", "4,5", "--level", "raid10,raid5", "--json"]
    done = CliRunner().invoke(cli, words, standalone_mode=False, obj={})
    document = json.loads(done.stdout)
    checking.check(document)
    assert document["recommended"]["survives_failures"] >= 1


def test_a_point_is_settings_of_a_study() -> None:
    point = Point(Array("raid1", 2, 1, 1, None), 0, "none", 4, 0)
    assert point.values == {"raid_level": "raid1", "drives": 2, "scheduler": "none", "queue_depth": 4}
