"""`verify claims`, `verify verdicts` and the SSD table of `verify rates`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise.files import read_text
from seekwise.simulate.setups.setup import NotModelled
from seekwise_papers import ssd_table
from seekwise_papers.queries import Defaults, Query
from seekwise_papers.simulated import SimulatedResults
from seekwise_papers.verdicts import decide
from seekwise_proof.cli.verify import command
from seekwise_proof.validate import _kinds, _published_table

claims, verdicts = _kinds.load("claims"), _kinds.load("verdicts")
SEEDS = Path(__file__).parents[3] / "tests/seeds"


class Level:
    """A source of results that gives every setting the same value; system B has no model."""

    def defaults(self, system: str) -> Defaults:
        return Defaults(("noop", "deadline", "anticipatory", "cfq"), (1, 2, 4, 8))

    def measure(self, queries):
        if any(query.system == "B" for query in queries):
            raise NotModelled("B")
        return [10.0 for _ in queries]

    def scatter(self, query: Query) -> float:
        return 0.0

    def model(self, name, quantity, options):
        return 10.0


def table(path):
    return _published_table.report(ssd_table, path, read_text(path), {}, Level())


class Prepared(Level):
    """A source of results that must have been told of every question before the first one."""

    def __init__(self):
        self.known, self.is_listening = set(), False

    def prepare(self, ask):
        self.is_listening = True
        ask(self)
        self.is_listening = False

    def measure(self, queries):
        if self.is_listening:
            self.known.update(queries)
        assert set(queries) <= self.known
        return super().measure(queries)


@pytest.mark.parametrize("kind", [claims, verdicts])
def test_a_world_hears_of_all_questions_of_a_file_first_and_the_outcome_is_the_same(kind):
    path = SEEDS / f"{kind.name}.toml"
    assert kind.verify([path], {}, Prepared()) == kind.verify([path], {}, Level())


def test_renaming_every_id_changes_nothing(tmp_path):
    text = (SEEDS / "claims.toml").read_text()
    number = iter(range(10_000))
    renamed = re.sub(r'(?m)^id = ".*"$', lambda _: f'id = "renamed-{next(number)}"', text)
    assert renamed != text
    (tmp_path / "claims.toml").write_text(renamed)
    given, other = (
        claims.verify([path], {}, Level()).files[0] for path in (SEEDS / "claims.toml", tmp_path / "claims.toml")
    )
    assert (given.passed, given.total) == (other.passed, other.total)
    assert given.passed > 0
    assert [miss.split(": ", 1)[1] for miss in given.misses] == [miss.split(": ", 1)[1] for miss in other.misses]


def test_descriptive_fields_have_no_influence(tmp_path):
    text = (SEEDS / "claims.toml").read_text()
    fields = (
        r"where|kind|systems|metric|value|unit|operation|schedulers|threads|note|ranking_of|greatest_to_least|verdicts"
    )
    bare = re.sub(rf"(?m)^({fields}) = .*$", "", text)
    (tmp_path / "claims.toml").write_text(bare)
    given, other = (
        claims.verify([path], {}, Level()).files[0] for path in (SEEDS / "claims.toml", tmp_path / "claims.toml")
    )
    assert given == replace(other, file=given.file)


def test_the_given_files_are_counted_as_their_description_says():
    assert claims.verify([SEEDS], {}, Level()).total == 99
    assert verdicts.verify([SEEDS], {}, Level()).total == 96
    assert table(SEEDS / "ssd_raid10_chunk.csv").total == 62


def test_what_is_not_modelled_is_missed_with_its_reason():
    report = claims.verify([SEEDS / "claims.toml"], {}, Level()).files[0]
    assert any("not modelled: B" in miss for miss in report.misses)
    assert report.passed + len(report.misses) == report.total


@pytest.mark.parametrize(
    ("first", "second", "more", "winner"),
    [
        (100, 96, True, "a"),
        (100, 97, True, "tie"),
        (97, 100, True, "tie"),
        (96, 100, True, "b"),
        (96, 100, False, "a"),
        (100, 96, False, "b"),
        (0, 0, True, "tie"),
    ],
)
def test_values_within_three_percent_tie_and_otherwise_the_better_one_wins(first, second, more, winner):
    assert decide(first, second, ("a", "b"), more) == winner


def test_what_the_clock_cannot_tell_apart_ties():
    assert decide(100, 92, ("a", "b"), True, 9) == "tie"
    assert decide(100, 92, ("a", "b"), True, 7) == "a"


def test_a_run_of_n_ticks_is_off_by_the_root_of_n():
    source = SimulatedResults()
    query = Query("cpueff", "A", "rand_read", "deadline", 2)
    source.measure = lambda queries: [1000.0] * len(queries)
    # Two threads of 1000 calls of 4 KiB at 1000 MB/s are 7.8 ms or 1.95 ticks of 4 ms.
    assert source.scatter(query) == pytest.approx(1000 / 1.953125**0.5)
    assert source.scatter(replace(query, metric="rate")) == 0


BLOCK = """
[[block]]
id = "X"
system = ["A"]
compare = "scheduler"
pair = ["deadline", "cfq"]
"""
CELL = """
[[cell]]
id = "{id}"
fact = "{fact}"
block = "{block}"
operation = "{operation}"
metric = "rate"
pair = ["deadline", "cfq"]
winner = "{winner}"
"""


def cell(id="c", fact="f", block="X", operation="seq_read", winner="tie"):
    return CELL.format(id=id, fact=fact, block=block, operation=operation, winner=winner)


@pytest.mark.parametrize(
    ("text", "passed", "total"),
    [
        (BLOCK + cell(), 1, 1),
        (BLOCK + cell(winner="cfq"), 0, 1),
        (BLOCK + cell("c1") + cell("c2"), 1, 1),
        (BLOCK + cell("c1") + cell("c2", winner="cfq"), 0, 1),
        (BLOCK + cell("c1", "f1") + cell("c2", "f2", winner="cfq"), 1, 2),
        (BLOCK + cell(block="Y"), 0, 1),
        (BLOCK + cell(operation="seek"), 0, 1),
        (BLOCK.replace('["A"]', '["B"]') + cell(), 0, 1),
        (BLOCK.replace("scheduler", "colour") + cell(), 0, 1),
        ("nonsense", 0, 1),
        ("a = 1", 0, 1),
    ],
)
def test_facts_count_once_and_anything_odd_is_missed(tmp_path, text, passed, total):
    path = tmp_path / "verdicts.toml"
    path.write_text(text)
    report = verdicts.verify([path], {}, Level())
    assert (report.passed, report.total) == (passed, total)
    assert report.met == (passed == total)


@pytest.mark.parametrize("text", ["", "[[claim]]\nid = 1", "claim = 3", "[[claim]]\ntestable = false", "= 1", "\x00"])
def test_a_file_without_claims_that_hold_is_not_met(tmp_path, text):
    path = tmp_path / "claims.toml"
    path.write_text(text)
    report = claims.verify([path, tmp_path / "missing.toml"], {}, Level())
    assert report.passed == 0
    assert report.total == 2
    assert not report.met


@pytest.mark.parametrize(
    "row",
    ["rand_read,SSD,,8,64", "rand_read,SSD,32,8,64,fio", "rand_read,R10_1,,8,64,fio", "rand_read,NONE,,8,64,fio"]
    + [
        "seek,SSD,,8,64,fio",
        "rand_read,SSD,,x,64,fio",
        "rand_read,SSD,,8,0,fio",
        "rand_read,SSD,,8,64,dd",
        "a,b,c,d,e,f,g",
    ],
)
def test_a_row_that_is_no_row_is_missed(tmp_path, row):
    path = tmp_path / "table.csv"
    path.write_text(f"pattern,array,chunk_kib,bs_kib,mb_per_s,tool\n{row}\n")
    report = table(path)
    assert (report.passed, report.total) == (0, 1)
    assert not report.met


def test_the_command_ends_with_status_5_and_its_document_has_the_contract(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text('[[claim]]\nid = "one"\nexpr = "1 < 2"\nexpect = { truth = true }\n')
    result = CliRunner().invoke(command, ["claims", str(path), "--json"], standalone_mode=False)
    document = json.loads(result.output)
    assert (document["passed"], document["total"], document["met"]) == (1, 1, True)
    assert document["schema"] == "seekwise.validate.claims/1"
    assert result.return_value == 0
    path.write_text('[[claim]]\nid = "one"\nexpr = "2 < 1"\nexpect = { truth = true }\n')
    result = CliRunner().invoke(command, ["claims", str(path), "--json"], standalone_mode=False)
    assert json.loads(result.output)["files"][0]["misses"] == ["one: is false"]
    assert result.return_value == 5


def asked(**given) -> Query:
    return Query(
        **{"metric": "rate", "system": "NVME", "operation": "rand_read", "scheduler": "none", "threads": 1} | given
    )


@pytest.mark.parametrize(
    "query",
    [
        asked(system="C", scheduler="cfq", options=(("controller", "9650-2LP"),)),
        asked(scheduler="cfq"),
        asked(options=(("kernel", "new"),)),
        asked(options=(("kernel", "2.6.24"),)),
        asked(options=(("drive", "floppy"),)),
        asked(options=(("chunk", 64.0),)),
        asked(system="R10_1", scheduler="deadline", options=(("tool", "gnome-disks"),)),
        asked(system="A", operation="seq_read", scheduler="deadline", options=(("tool", "gnome-disks"),)),
        asked(system="R10_1", scheduler="bfq"),
        asked(system="nowhere"),
    ],
)
def test_the_simulated_world_says_what_it_cannot_answer(query):
    with pytest.raises(NotModelled) as caught:
        SimulatedResults().measure([query])
    assert str(caught.value)


def test_the_simulated_world_answers_again_with_the_same_number_and_another_seed_with_another():
    first, again, other = (
        SimulatedResults().measure(
            [asked(system="SSD", scheduler="deadline", options=(("bs", 32.0), ("repeat", repeat)))]
        )[0]
        for repeat in (1.0, 1.0, 2.0)
    )
    assert first == again
    assert first == pytest.approx(other, rel=0.1)


def test_properties_follow_from_drive_models_and_studies():
    source = SimulatedResults()
    assert source.model("wd2500ys", "rotational_latency_ms", ()) == pytest.approx(60_000 / 7200 / 2)
    near, far = (source.model("st3250620ns", "access_ms", (("distance", share),)) for share in (0.001, 0.5))
    assert 4 < near < far < 20
    outer, inner = (source.model("wd2500ys", "sectors_per_track", (("position", place),)) for place in (0.0, 1.0))
    assert (outer, inner) == pytest.approx((1116, 630), rel=0.03)
    assert source.model("S1n", "ncq_depth", ()) == 0
    assert source.model("S1", "ncq_depth", ()) == 31
    assert source.model("A", "scenario_measurements", ()) == 16
    for name, quantity, options in (
        ("A", "rotational_latency_ms", ()),
        ("wd2500ys", "access_ms", ()),
        ("A", "ncq_depth", ()),
    ):
        with pytest.raises(NotModelled):
            source.model(name, quantity, options)
