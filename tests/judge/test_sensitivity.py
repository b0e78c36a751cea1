"""`run --vary`: which conclusions depend on which parameter, and free parameters of published studies."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.errors import UsageError
from seekwise.report.insights import sensitivity as vary
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.workload.study import parameters, starters
from seekwise.workload.study.study import Study


def study(**changes: object) -> Study:
    text: dict[str, object] = {
        "name": "small",
        "backend": "simulated",
        "system": [
            {"name": "one", "drive": "st3250620ns", "kernel": "2.6.24", "options": {"filesystem": "ext3"}},
            {
                "name": "unit",
                "drive": "wd2500ys",
                "drives": 2,
                "raid_level": "raid1",
                "controller": "9650-2LP",
                "kernel": "2.6.24",
            },
        ],
        "settings": {"scheduler": ["noop", "cfq"]},
        "workload": [{"operations": ["rand_read"], "threads": [1, 4], "size": "64m", "random_ios": 200}],
        "design": {"blocks": 1, "control": False, "sentinel": False},
    }
    return Study.model_validate({**text, **changes})


def run(given: Study, *words: str) -> list[vary.Sensitivity]:
    return list(vary.run(given, vary.parsed(given, words), SimulatedBackend(), seed=1, tell=lambda *_: None))


def test_a_slower_spindle_moves_the_system_that_has_it_and_no_other():
    (found,) = run(study(), "st3250620ns.rpm=3600..7200")
    slow, usual = found.figures[3600.0], found.figures[7200.0]
    assert slow["random reading on one"] < 0.9 * usual["random reading on one"]
    assert slow["random reading on unit"] == usual["random reading on unit"]


def test_the_parameter_s_own_value_is_always_among_those_tried():
    given = study()
    (variation,) = vary.parsed(given, ["wd2500ys.seek_settle_tracks=20..80"])
    assert variation.parameter.value in variation.values
    (stated,) = vary.parsed(given, ["9650-2LP.command_us"])
    assert stated.values == (stated.parameter.low, stated.parameter.value, stated.parameter.high)


def test_a_flip_says_what_comes_out_and_whether_the_range_is_stated():
    given = study()
    parameter = parameters.named(given, "9650-2LP.command_us")
    variation = vary.Variation(parameter, (parameter.value, parameter.high, 10 * parameter.high))
    assert variation.within_stated(parameter.high)
    assert not variation.within_stated(10 * parameter.high)


def test_conclusions_are_winners_and_groups():
    given = study()
    records = vary._records(given, SimulatedBackend(), 1, 1)
    found = vary.conclusions(given, records)
    assert found["best rate in random reading on one"] in ("noop", "cfq", "tie")
    assert any(name.startswith("groups in random reading on unit") for name in found)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nonsense", "has no model parameter `nonsense`"),
        ("rpm", "belongs to several models"),
        ("wd2500ys.rmp", "has no model parameter"),
        ("wd2500ys.rpm", "states no range"),
        ("wd2500ys.rpm=5", "is no range"),
        ("wd2500ys.rpm=a..b", "is no range"),
        ("wd2500ys.rpm=", "is no range"),
        ("wd2500ys.rpm=9000..5000", "runs backwards"),
        ("wd2500ys.rpm=5000..9000/1", "must be 2 to 25"),
    ],
)
def test_a_wrong_parameter_or_range_is_one_sentence_with_a_hint(word, said):
    with pytest.raises(UsageError, match=said) as raised:
        vary.parsed(study(), [word])
    assert not raised.value.message.endswith(".")


def test_a_wrong_name_gets_a_suggestion():
    with pytest.raises(UsageError) as raised:
        vary.parsed(study(), ["9650-2LP.comand_us"])
    assert raised.value.hint == "did you mean `9650-2LP.command_us`?"


def test_a_value_that_cannot_be_is_said_with_the_parameter():
    with pytest.raises(UsageError, match="`wd2500ys.rpm` cannot be 1"):
        run(study(), "wd2500ys.rpm=1..7200")


def test_an_end_of_a_stated_range_that_cannot_be_is_left_out_with_its_reason():
    (found,) = run(study(), "wd2500ys.heads")
    assert found.variation.values == (4.0, 5.0, 6.0)
    assert sorted(found.conclusions) == [6.0]
    assert sorted(found.left_out) == [4.0, 5.0]
    assert "its tracks hold only" in found.left_out[4.0]


def test_a_given_value_that_cannot_be_is_refused_before_the_first_run():
    with pytest.raises(UsageError, match="`wd2500ys.heads` cannot be 4"):
        vary.parsed(study(), ["wd2500ys.heads=4..6"])


def test_what_the_host_s_steps_cost_can_be_varied():
    options = {"filesystem": "ext3", "host": "opteron_2212"}
    host = study(system=[{"name": "one", "drive": "st3250620ns", "kernel": "2.6.24", "options": options}])
    (found,) = run(host, "opteron_2212.user=150..900000/2")
    slow, usual = (found.figures[value]["random reading on one"] for value in (900000.0, 300.0))
    assert slow < 0.95 * usual


READS = {"operations": ["rand_read"], "threads": [1], "size": "64m", "random_ios": 50}


@pytest.mark.parametrize(
    ("system", "name"),
    [
        # Writes alone settle longer, and wait for a write cache.
        ({"name": "one", "drive": "generic_1tb_sata", "kernel": "6.1"}, "generic_1tb_sata.write_settle_extra_ms=0.5..2"),
        ({"name": "one", "drive": "wd2500ys", "kernel": "2.6.24", "options": {"filesystem": "ext3"}}, "write_settle_extra_ms"),
        # Reads never dirty a page, whatever that costs the host.
        (
            {"name": "one", "drive": "wd2500ys", "kernel": "2.6.24", "options": {"filesystem": "ext3", "host": "opteron_2212"}},
            "opteron_2212.page_send",
        ),
    ],
)  # fmt: skip
def test_a_parameter_without_effect_is_refused(system, name):
    given = study(
        system=[system], workload=[READS], settings={"scheduler": ["none" if system["kernel"] == "6.1" else "noop"]}
    )
    with pytest.raises(UsageError, match="has no effect on study small: every result"):
        run(given, name)


def test_a_parameter_that_never_reaches_the_simulator_is_refused_before_the_first_run(monkeypatch):
    given = study()
    monkeypatch.setattr(parameters, "of_model", lambda *_: {})
    monkeypatch.setattr("seekwise.simulate.setups.trials.of_model", lambda *_: {})
    monkeypatch.setattr(vary, "_records", lambda *_: pytest.fail("it runs"))
    with pytest.raises(UsageError, match="no trial of this study passes it to the simulator"):
        run(given, "9650-2LP.command_us")


def test_of_all_parameters_those_without_effect_are_marked():
    reads = study(system=[{"name": "one", "drive": "wd2500ys", "kernel": "2.6.24"}], workload=[READS])
    found = {each.variation.parameter.name: each for each in run(reads, "all")}
    assert found["write_settle_extra_ms"].effect is vary.ParameterEffect.SAME_RESULTS
    assert found["read_ahead_min_kib"].flips == []
    assert any(each.effect is vary.ParameterEffect.SOME for each in found.values())


def test_a_conclusion_that_another_seed_changes_hangs_on_chance():
    given = study()
    parameter = parameters.named(given, "9650-2LP.command_us")
    variation = vary.Variation(parameter, (40.0, 80.0, 150.0))
    usual = {"best rate": "noop", "best access time": "noop"}
    said = {80.0: usual, 40.0: {**usual, "best rate": "cfq"}, 150.0: {**usual, "best access time": "tie"}}
    flips = vary.flips_of(variation, said, {"best rate"})
    assert [(flip.conclusion, flip.by_chance) for flip in flips] == [("best access time", False), ("best rate", True)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["schedulers", "--vary", "x"], "add `--backend simulated`"),
        (["article-2008", "--vary", "all", "--budget", "1m"], "takes no `--budget`"),
        (["article-2008", "--vary", "nonsense"], "has no model parameter"),
        (["--resume", "last", "--vary", "all"], "`--resume` goes on"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(words, said):
    result = CliRunner().invoke(cli, ["run", *words])
    assert isinstance(result.exception, UsageError)
    assert said in f"{result.exception.message} {result.exception.hint}"


def test_the_command_prints_one_document(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        'name = "small"\nbackend = "simulated"\n[[system]]\nname = "one"\ndrive = "st3250620ns"\nkernel = "4.4"\n'
        '[settings]\nscheduler = ["noop", "deadline"]\n[[workload]]\noperations = ["rand_read"]\nthreads = [4]\nruntime = "1s"\n'
    )
    result = CliRunner().invoke(cli, ["run", str(path), "--vary", "rpm=5400..7200", "--json"])
    assert result.exception is None
    document = json.loads(result.output)
    assert document["schema"] == "seekwise.sensitivity/1"
    (one,) = document["parameters"]
    assert one["parameter"]["key"] == "st3250620ns.rpm"
    assert one["values"][-1] == 7200
    throughputs = [each["mb_per_s"]["random reading on one"] for each in one["mean_rates"]]
    assert throughputs[0] < throughputs[-1]


# What a system's options may say without being a parameter of a model: how it was set up.
SET_UP = {"ncq", "filesystem", "hz", "partition_gib", "volume", "processors", "host", "cores", "kernel_worker", "drives_beside"}  # fmt: skip


def free(given: Study) -> list[str]:
    """Every number in a study that could be turned to reach a result: model parameters, under whatever name."""
    return [*given.parameters, *(f"{s.name}.{name}" for s in given.system for name in s.options if name not in SET_UP)]


@pytest.mark.parametrize("name", starters.published_names())
def test_a_published_study_carries_no_free_parameter(name):
    assert free(starters.open_study(name)[0]) == []


def test_a_free_parameter_is_found_under_whatever_name():
    given = study(parameters={"wd2500ys": {"rpm": 5400}})
    assert free(given) == ["wd2500ys.rpm"]
    tuned = [{"name": "one", "drive": "st3250620ns", "options": {"ncq": "on", "rpm": 9999}}]
    assert free(study(system=tuned)) == ["one.rpm"]


def test_every_number_of_the_models_behind_the_published_studies_says_where_it_comes_from():
    for name in starters.published_names():
        for each in parameters.of_study(starters.open_study(name)[0]):
            assert each.source and each.unit and each.confidence, each.key
            if each.is_uncertain:
                assert each.low <= each.value <= each.high, each.key
