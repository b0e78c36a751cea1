"""`seekwise design`: finds what trying everything finds, recommends nothing that loses data, and says one sentence about wrong words."""

from __future__ import annotations

import html
import json
import math
from dataclasses import replace
from pathlib import Path

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
from seekwise.simulate.design import kept, search, trial
from seekwise.simulate.design.space import Array, Point, arrays_of, parse_drives, space_of
from seekwise.simulate.gain_error import gain_error
from seekwise.workload.study import uses

MODEL = "wd2500ys"


def swept(
    levels=("raid0", "raid10", "raid5"),
    drives=(4, 6),
    survives=1,
    seed=1,
    use="random-read-1",
    chunks=(64, 512),
    tell=lambda *_: None,
):
    model = use_trials.model_of(MODEL, None)
    space = space_of(model, arrays_of(model, levels, drives, survives), reads_ahead=False, chunks=chunks)
    sweep = search.Sweep(
        model=model, space=space, uses=(uses._shipped()[use],), data_bytes=50 * 10**9, seed=seed, simulate=trial.simulate, tell=tell
    )  # fmt: skip
    return sweep, search.carry_out(sweep)


def chosen(sweep, best, wanted=None):
    return design_choice.choose(kept.asked_of(sweep, wanted), kept.finalists(sweep, list(best.values())))


def test_every_combination_is_simulated_and_the_best_array_is_named() -> None:
    sweep, best = swept(use="random-write")
    every = sweep.space.every()
    assert {point for point, _ in sweep.found} == set(every) and len(every) == sweep.space.size
    answer = chosen(sweep, best)
    rates = {point: math.exp(sweep.logs(point)[search.RATE]) for point in every}
    # Another array that is as fast, and on it the settings that change least: each within the model's error.
    settings = gain_error(search.SETTINGS)
    assert rates[answer.chosen.point] >= (1 - ERROR) / (1 + settings) * max(rates.values())
    assert all((point, number) in sweep.found for point in best.values() for number in range(search.SEEDS))


def test_four_seeds_give_the_same_answer_and_equals_are_called_equals() -> None:
    answers = [chosen(*swept(seed=seed)) for seed in (1, 2, 3, 4)]
    assert len({answer.chosen.point for answer in answers}) == 1
    sweep, best = swept()
    answer = chosen(sweep, best)
    # One reader keeps one request outstanding: neither scheduler nor queue depth nor chunk makes a difference.
    assert set(answer.chosen.equals["scheduler"]) == set(sweep.space.schedulers)
    assert answer.chosen.equals["depth"] == list(sweep.space.depths)
    assert answer.chosen.point.scheduler == sweep.model.default
    said = array_answer.advice(answer, ()).reasons
    assert any(text.startswith("Within what the model can tell, one at a time: ") for text in said)


def test_where_trials_are_costly_each_setting_is_tried_by_itself_and_the_best_together(monkeypatch) -> None:
    whole, best_of_all = swept(use="queries-and-log", levels=("raid10", "raid5"))
    monkeypatch.setattr(search.Sweep, "is_costly", True)
    told: list[tuple[int, int]] = []
    sweep, best = swept(use="queries-and-log", levels=("raid10", "raid5"), tell=lambda *far: told.append(far))
    tried = {point for point, _ in sweep.found}
    space = sweep.space
    by_itself = 1 + len(space.chunks_kib) - 1 + len(space.schedulers) - 1 + len(space.depths) - 1
    assert len(tried) <= len(space.arrays) * (by_itself + 1) < space.size
    # As good as what the whole grid finds, within the model's error; what is told ends where it was foretold or before.
    for array, point in best.items():
        lost = float(whole.logs(best_of_all[array])[search.RATE] - sweep.logs(point)[search.RATE])
        assert lost <= math.log1p(gain_error(search.SETTINGS)), (array, point, best_of_all[array])
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(sweep.found) <= told[0][1]
    assert kept.asked_of(sweep, None).combinations == len(tried)


def test_what_the_model_cannot_tell_is_not_advised_and_what_it_can_is_set_and_undone() -> None:
    answer = chosen(*swept())
    assert {"scheduler", "depth"} <= answer.chosen.equals.keys()
    told = array_answer.advice(answer, ())
    assert "scheduler" not in told.headline and "queue depth" not in told.headline
    assert [line.split()[:2] for line in told.set_lines] == [["sudo", "mdadm"]] and "--stop" in told.undo_lines[0]
    other = replace(answer.chosen, point=replace(answer.chosen.point, scheduler="bfq", depth=1), equals={})
    told = array_answer.advice(replace(answer, chosen=other), ())
    assert ", with scheduler bfq, queue depth 1: " in told.headline
    assert [line.rpartition("/")[2].split()[0] for line in told.set_lines[1:]] == ["scheduler", "queue_depth"]


def test_what_makes_a_difference_is_no_equal() -> None:
    sweep, best = swept(use="queries-and-log", levels=("raid10",), drives=(4,))
    answer = chosen(sweep, best)
    own = math.exp(sweep.logs(answer.chosen.point)[search.RATE])
    for name, values in answer.chosen.equals.items():
        for value in values:
            rate = math.exp(sweep.logs(replace(answer.chosen.point, **{name: value}))[search.RATE])
            assert abs(math.log(rate / own)) <= math.log1p(gain_error((name,)))


def test_an_array_that_survives_nothing_is_recommended_only_when_asked_for() -> None:
    sweep, best = swept()
    assert {row.point.array.level for row in chosen(sweep, best).rows} == {"raid10", "raid5"}
    sweep, best = swept(levels=("raid0",), survives=0)
    assert any("loses all data" in text for text in array_answer.advice(chosen(sweep, best), ()).reasons)


def test_a_design_is_kept_and_every_output_says_the_same(tmp_path) -> None:
    db = ["--db", str(tmp_path / "runs.db")]
    words = [
        "design",
        MODEL,
        "--for",
        "random-read-1",
        "--drives",
        "4,6",
        "--level",
        "raid10,raid5",
        *db,
    ]
    shown = run(words).stdout
    lines = shown.splitlines()
    # The shell's prompt is the 24th; the next command names the database and is never wrapped.
    assert len(lines) <= 23 and max(len(line) for line in lines if not line.startswith("next: ")) <= 80
    assert lines[0].startswith("Build RAID ")
    assert "design" in run(["results", *db]).stdout
    # The list's title line and the blank one below it stand above.
    assert run(["results", "last", *db]).stdout.splitlines()[2:] == lines
    document = json.loads(run(["results", "last", "--json", *db]).stdout)
    headline = document["advice"]["headline"]
    assert " ".join(lines[: lines.index("")]) == headline
    assert json.loads(run([*words, "--json"]).stdout)["headline"] == headline
    page = Path(run(["report", "last", "--output", str(tmp_path), *db]).stdout.splitlines()[-1]).read_text()
    assert headline in html.unescape(page)
    assert all(row[0] in page for row in document["table"]["rows"])


def run(words):
    done = CliRunner().invoke(cli, words, standalone_mode=False, obj={})
    assert done.exception is None, done.exception
    return done


def test_with_a_wanted_rate_the_fewest_drives_win() -> None:
    sweep, best = swept(drives=(4, 6, 8))
    free = chosen(sweep, best)
    slow = min(min(row.rates_mb_s.values()) for row in free.rows)
    modest = chosen(sweep, best, slow * 0.9)
    assert modest.chosen.point.array.drives == 4
    with pytest.raises(NotMetError, match="no array of these reaches"):
        chosen(sweep, best, 1e6)


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


def test_the_document_is_what_its_schema_says(tmp_path) -> None:
    words = ["design", MODEL, "--for", "random-read-1", "--drives", "4,5", "--level", "raid10,raid5", "--json"]
    document = json.loads(run([*words, "--db", str(tmp_path / "runs.db")]).stdout)
    checking.check(document)
    assert document["recommended"]["survives_failures"] >= 1


def test_a_point_is_settings_of_a_study() -> None:
    point = Point(Array("raid1", 2, 1, 1, None), 0, "none", 4, 0)
    assert point.values == {"raid_level": "raid1", "drives": 2, "scheduler": "none", "queue_depth": 4}


def test_a_screen_shows_more_of_the_pareto_front_than_the_recommended_array(tmp_path) -> None:
    """The notes took the place of all other rows: the storage, for which lines were kept, stands above no design."""
    db = ["--db", str(tmp_path / "runs.db")]
    words = ["exos_x18", "--for", "queries-and-log", "--drives", "4..6", "--level", "raid10,raid5"]
    shown = run(["design", *words, *db]).stdout.splitlines()
    assert sum("chunk" in line and "TB" in line for line in shown[4:]) >= 2 and len(shown) <= 23
    assert len(run(["results", "last", *db]).stdout.splitlines()) <= 23
