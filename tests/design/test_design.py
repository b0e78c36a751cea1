"""`seekwise design`: finds what trying everything finds, recommends nothing that loses data, and says one sentence about wrong words."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import qmc
from tests import schemas as checking

from seekwise.cli.main import cli
from seekwise.errors import NotMetError, SeekwiseError, UsageError
from seekwise.measure.live import simulated
from seekwise.settings.design import array_answer, search, surrogate, trial
from seekwise.settings.design.front import front
from seekwise.settings.design.space import Array, Point, Space, arrays_of, parse_drives, space_of
from seekwise.workload.study import uses

MODEL = "wd2500ys"


def swept(trials: int, levels=("raid0", "raid10", "raid5"), drives=(4, 6), survives=1, seed=1, use="random-read-1"):
    model = simulated.model_of(MODEL, None)
    arrays = arrays_of(model, levels, drives, survives)
    space = space_of(model, arrays, reads_ahead=False, chunks=(16, 64, 512))
    sweep = search.Sweep(
        model=model, space=space, uses=(uses._shipped()[use],), data_bytes=50 * 10**9, seed=seed, trials_most=trials,
        simulate=trial.simulate,
    )  # fmt: skip
    return sweep, search.carry_out(sweep)


def test_the_search_finds_what_trying_everything_finds() -> None:
    sweep, racers = swept(128, use="random-write")
    found = array_answer.of(sweep, racers, None)
    everything = search.Sweep(
        model=sweep.model, space=sweep.space, uses=sweep.uses, data_bytes=sweep.data_bytes, seed=99, trials_most=0,
        simulate=trial.simulate,
    )  # fmt: skip
    every = sweep.space.every()
    everything.run([(point, number) for point in every for number in range(2)], "all")
    rates = np.exp(everything.logs(every)[:, search.RATE])
    chosen = rates[every.index(found.chosen.point)]
    assert chosen > 0.95 * rates.max()
    assert len({point for point, _ in sweep.found}) < 0.6 * len(every)


def test_the_same_seed_gives_the_same_answer() -> None:
    first, second = (array_answer.document(array_answer.of(*found, None), found[0]) for found in (swept(64), swept(64)))
    assert first == second


def test_an_array_that_survives_nothing_is_recommended_only_when_asked_for() -> None:
    sweep, racers = swept(64)
    assert {row.point.array.level for row in array_answer.of(sweep, racers, None).rows} == {"raid10", "raid5"}
    sweep, racers = swept(64, levels=("raid0",), survives=0)
    text = array_answer.lines(array_answer.of(sweep, racers, None), sweep)
    assert any("loses all data" in line for line in text)


def test_the_answer_fits_a_terminal() -> None:
    sweep, racers = swept(64, drives=(4, 5, 6, 7, 8), levels=("raid10", "raid5", "raid6"))
    text = array_answer.lines(array_answer.of(sweep, racers, None), sweep)
    assert len(text) <= 25 and max(map(len, text)) <= 80
    assert text[0].startswith("Build RAID ")


def test_with_a_wanted_rate_the_fewest_drives_win() -> None:
    sweep, racers = swept(64, drives=(4, 6, 8))
    free = array_answer.of(sweep, racers, None)
    slow = min(min(row.rates_mb_s) for row in free.rows)
    modest = array_answer.of(sweep, racers, slow * 0.9)
    assert modest.chosen.point.array.drives == 4
    with pytest.raises(NotMetError, match="no array of these reaches"):
        array_answer.of(sweep, racers, 1e6)


def test_the_error_of_the_surrogate_is_that_of_points_it_has_not_seen() -> None:
    """Noise of 10 % cannot be predicted; an error below it would be that of points it had learnt."""
    arrays = tuple(Array("raid10", count, count * 10**12, 1, 1.0) for count in range(4, 13))
    space = Space(arrays, (16, 64, 256), ("none", "bfq"), (1, 4, 16), (0,))
    points = space.spread(150, 3)
    noise = np.random.default_rng(4).normal(0, 0.1, (len(points), 3))
    truth = np.array([[np.log(p.array.drives), np.log(p.depth), 0.0] for p in points])
    made = surrogate.fit(space, points, truth + noise, 5)
    assert made is not None and 0.05 < np.mean(made.error_share) < 0.15
    exact = surrogate.fit(space, points, truth, 5)
    assert exact is not None and max(exact.error_share) < 0.03
    assert surrogate.fit(space, points[:20], truth[:20], 5) is None


@pytest.mark.parametrize("sampling", ["sobol", "latin"])
def test_spread_points_are_even_over_levels_and_all_different(sampling) -> None:
    space = swept_space()
    points = space.spread(60, 1, sampling)
    assert len(points) == len(set(points)) == 60
    shares = [sum(point.array.level == level for point in points) for level in ("raid10", "raid5")]
    assert abs(shares[0] - shares[1]) <= 12
    assert set(points) <= set(space.every()) and len(space.every()) == space.size


def test_a_latin_hypercube_has_each_value_of_a_dimension_equally_often() -> None:
    """Sobol points are only about even where their number is no power of two, or a dimension has three values."""
    chunks = (16, 32, 64)
    arrays = tuple(Array("raid10", count, count * 10**12, 1, 1.0) for count in (4, 6, 8))
    space = Space(arrays, chunks, ("none", "bfq", "kyber"), tuple(range(1, 101)), (0,))
    points = space.spread(99, 7, "latin")
    for values in ([point.chunk_kib for point in points], [point.scheduler for point in points]):
        counts = [values.count(value) for value in set(values)]
        assert len(counts) == 3 and max(counts) - min(counts) <= 2
    assert points == space.spread(99, 7, "latin") != space.spread(99, 8, "latin")
    assert len(space.spread(10**4, 7, "latin")) <= space.size


@pytest.mark.parametrize("keyword", ["rng", "seed"])
@pytest.mark.parametrize("name", ["Sobol", "LatinHypercube"])
def test_scipy_gets_the_generator_under_the_name_that_it_has_for_it(monkeypatch, name, keyword) -> None:
    """SciPy before 1.15 calls it `seed`, later ones `rng`, which also take `seed`."""
    model = simulated.model_of(MODEL, None)
    space = space_of(model, arrays_of(model, ("raid5", "raid10"), (4, 6, 8), 1), reads_ahead=False)
    sampling = "sobol" if name == "Sobol" else "latin"
    wanted = space.spread(40, 3, sampling)
    real = {each: getattr(qmc, each) for each in ("Sobol", "LatinHypercube")}

    class OnlyOne:
        def __init__(self, dimensions: int, **words) -> None:
            self.made = real[name](dimensions, seed=words.pop(keyword))
            assert not words
            self.random, self.random_base2 = self.made.random, getattr(self.made, "random_base2", None)

    of_both = {"rng": lambda d, *, rng=None: OnlyOne(d, rng=rng), "seed": lambda d, *, seed=None: OnlyOne(d, seed=seed)}
    monkeypatch.setattr(qmc, "Sobol", of_both[keyword])
    monkeypatch.setattr(qmc, "LatinHypercube", of_both[keyword])
    assert space.spread(40, 3, sampling) == wanted


def test_a_latin_hypercube_leads_to_an_answer_that_says_so() -> None:
    words = [
        "design",
        MODEL,
        "--for",
        "random-read-1",
        "--drives",
        "4,5",
        "--trials",
        "64",
        "--sampling",
        "latin",
        "--json",
    ]
    document = json.loads(CliRunner().invoke(cli, words, standalone_mode=False, obj={}).stdout)
    checking.check(document)
    assert document["sampling"] == "latin" and document["stages"]["spread"] > 20


def swept_space() -> Space:
    model = simulated.model_of(MODEL, None)
    return space_of(model, arrays_of(model, ("raid10", "raid5"), (4, 5, 6), 1), reads_ahead=False)


def test_the_front_holds_what_nothing_beats() -> None:
    values = np.array([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0], [1.0, 1.0], [3.0, 1.0]])
    assert front(values).tolist() == [True, True, True, False, True]


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
    words = ["design", MODEL, "--for", "random-read-1", "--drives", "4,5", "--trials", "64", "--json"]
    done = CliRunner().invoke(cli, words, standalone_mode=False, obj={})
    document = json.loads(done.stdout)
    checking.check(document)
    assert document["recommended"]["survives_failures"] >= 1


def test_a_point_is_settings_of_a_study() -> None:
    point = Point(Array("raid1", 2, 1, 1, None), 0, "none", 4, 0)
    assert point.values == {"raid_level": "raid1", "drives": 2, "scheduler": "none", "queue_depth": 4}
