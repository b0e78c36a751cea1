"""Tables in the form of a text."""

from __future__ import annotations

import io
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from insights.test_insights import record
from seekwise.judge.repeats import metric_value
from seekwise_papers import publication, verdicts
from seekwise_papers.printed_tables import Style, mean_of, printed
from seekwise_papers.publication import Grid, Table
from seekwise_papers.queries import Defaults
from seekwise_papers.words import known, paragraph, show_table

SEEDS = Path(__file__).parents[3] / "tests/seeds"
WORDS = {
    "deadline": "Deadline",
    "cfq": "CFQ",
    "hardware": "H",
    "software": "S",
    "ncq_on": "ON",
    "ncq_off": "OFF",
    "tie": "=",
}

TABLE = Table.model_validate(
    {
        "number": 1,
        "block": [
            {
                "sides": [
                    {"system": "A", "setting": "deadline", "printed": "Deadline"},
                    {"system": "A", "setting": "cfq", "printed": "CFQ"},
                ],
                "text": {"seq_read": ["Deadline", "CFQ", "="], "seq_write": ["reserved", "reserved", "reserved"]},
            }
        ],
    }
)


SIDES = (("deadline", 80), ("cfq", 50))


def test_a_winner_stands_beside_what_the_text_prints():
    made = [record("A", "deadline", "seq_read", t, 80) for t in (1, 2)] + [
        record("A", "cfq", "seq_read", t, 50) for t in (1, 2)
    ]
    shown = printed([TABLE], [], made, Style())
    row = shown.tables[0].blocks[0].rows["seq_read"]
    assert [cell.word for cell in row] == ["Deadline", "Deadline", "="]
    assert [cell.agrees for cell in row] == [True, False, True]
    reserved = shown.tables[0].blocks[0].rows["seq_write"]
    assert not known(reserved[0])
    assert paragraph(shown).startswith("2 of 3 published winners reproduced")


def test_agreement_is_told_in_words_and_what_the_data_leave_out_once():
    made = [
        record("A", name, operation, 1, throughput)
        for operation in ("seq_read", "seq_write")
        for name, throughput in SIDES
    ]
    (table,) = printed([TABLE], [], made, Style()).tables
    console = Console(file=io.StringIO(), width=80)
    show_table(table, console)
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    assert ["Sequential", "read", "Deadline", "Deadline", "tie"] in lines
    assert ["published", "Deadline", "CFQ", "tie"] in lines
    assert ["Sequential", "write", "Deadline", "Deadline", "tie"] in lines
    assert sum(line[:1] == ["published"] for line in lines) == 1
    said = " ".join(" ".join(line) for line in lines)
    assert "2 of 3 winners as published." in said
    assert not any(glyph in said for glyph in "✓≠")
    assert max(map(len, console.file.getvalue().splitlines())) <= 80


@pytest.mark.parametrize(("efficiency", "error"), [(95.0, 0.0), (95.0, 3.0), (95.0, 9.0), (98.0, 0.0), (80.0, 15.0)])
@pytest.mark.parametrize("repeats", [1, 3, 5])
def test_report_and_verify_decide_cpu_efficiency_by_the_same_rule(efficiency, error, repeats):
    """The same numbers reach both: winners of `results` and of `verify verdicts` are the same, however many repeats there are."""
    values = {"deadline": 100.0, "cfq": efficiency}
    made = []
    for setting, value in values.items():
        for threads in (1, 2, 4, 8):
            for repetition in range(1, repeats + 1):
                one = record("A", setting, "seq_read", threads, 80, repetition=repetition)
                details = {"printed": {"cpueff": value, "cpueff_error": error}}
                made.append(replace(one, phases=(replace(one.phases[0], details=details),)))
    word = printed([TABLE], [], made, Style()).tables[0].blocks[0].rows["seq_read"][2].word

    class Known:
        def defaults(self, system):
            return Defaults(("deadline", "cfq"), (1, 2, 4, 8))

        def measure(self, queries):
            return [values[query.scheduler] for query in queries]

        def scatter(self, query):
            return error

    block = {"id": "b", "system": ["A"], "pair": ["deadline", "cfq"], "compare": "scheduler"}
    cell = {"block": "b", "metric": "cpu_efficiency", "operation": "seq_read"}
    outcomes = {
        winner: verdicts._outcome({**cell, "winner": winner}, {"b": block}, Known())[1] is None
        for winner in ("deadline", "cfq", "tie")
    }
    assert outcomes[{"Deadline": "deadline", "CFQ": "cfq", "=": "tie"}[word]]


def test_what_ticks_cannot_tell_apart_is_a_tie():
    """Six runs of 100 ticks: 10 % each, 4 % of their mean."""
    cells = [("deadline", 100.0), ("cfq", 95.0)]

    def word(ticks: int) -> str:
        made = []
        for setting, efficiency in cells:
            for threads in (1, 2, 4):
                one = record("A", setting, "seq_read", threads, 80)
                details = {"printed": {"cpueff": efficiency, "cpueff_error": efficiency * ticks**-0.5}}
                made.append(replace(one, phases=(replace(one.phases[0], details=details),)))
        return printed([TABLE], [], made, Style()).tables[0].blocks[0].rows["seq_read"][2].word

    assert word(100) == "="
    assert word(10_000) == "Deadline"


def test_the_mean_that_prefers_high_values_lies_between_the_mean_and_the_greatest():
    assert mean_of([10, 20, 30], "plain") == 20
    assert mean_of([30, 10, 20], "high") == pytest.approx(140 / 6)
    assert mean_of([7], "high") == 7


def test_acceptable_values_are_marked_and_scatter_stands_beside_the_stated_one():
    grid = Grid.model_validate(
        {
            "number": 1,
            "systems": ["one", "two"],
            "text": {"seq_read": {"one": {"4k": 99}}},
            "text_scatter_mb_s": [8, 25],
        }
    )
    made = [record("one", "x", "seq_read", 1, throughput, repetition=b) for b, throughput in ((1, 90), (2, 110))]
    made += [record("two", "x", "seq_read", 1, 80)]
    (shown,) = printed([], [grid], made, Style(acceptable=0.9)).grids
    (one,), (two,) = shown.rows["seq_read"]["one"], shown.rows["seq_read"]["two"]
    assert (round(one.value), one.text, one.acceptable, two.acceptable) == (100, 99, True, False)
    assert "20.0 MB/s, 20.0 on average; the publication states 8 to 25 MB/s" in shown.scatter


def test_the_study_of_the_article_prints_what_the_reference_data_print():
    document = tomllib.loads((SEEDS / "verdicts.toml").read_text())
    order = {"rate": 0, "access_time": 1, "cpu_efficiency": 2}
    given = {(c["block"], c["operation"], order[c["metric"]]): WORDS[c["winner"]] for c in document["cell"]}
    study = publication.of_study("article-2008")
    for table in document["table"]:
        ours = next(each for each in study.table if each.number == table["number"])
        assert ours.title == table["title"]
        for name, block in zip(table["blocks"], ours.block, strict=True):
            for operation, words in block.text.items():
                for place, word in enumerate(words):
                    assert word == given.pop((name, operation, place), "reserved"), f"{name} {operation}"
    assert not given


def test_the_study_of_the_article_has_the_figures_of_the_reference_data():
    document = tomllib.loads((SEEDS / "protocol.toml").read_text())
    study = publication.of_study("article-2008")
    ours = {figure.number: figure for figure in study.figure}
    names = {"sys_cpu": "sys_cpu", "rate": "rate", "access_time": "access_time", "cpu_efficiency": "cpu_efficiency"}
    for figure in document["figure"]:
        mine = ours.pop(figure["number"])
        assert (mine.diagram is not None) == (figure["kind"] == "diagram")
        if figure["kind"] == "graph":
            assert (mine.metric, mine.operation) == (names[figure["metric"]], figure["operation"])
            assert mine.systems == [figure["left"], figure["right"]]
            assert (0, mine.y_max) == (figure.get("y_min", 0), figure.get("y_max"))
    assert not ours


def test_the_grid_of_the_chunk_study_prints_what_the_reference_data_print():
    lines = (SEEDS / "ssd_raid10_chunk.csv").read_text().splitlines()[1:]
    study = publication.of_study("ssd-raid10-chunk")
    ours = {
        (operation, system, size.removesuffix("k"), f"{value:g}")
        for operation, rows in study.grid[0].text.items()
        for system, row in rows.items()
        for size, value in row.items()
    }
    rows = [line.split(",") for line in lines if line.endswith(",fio")]
    assert ours == {(row[0], row[1], row[3], row[4]) for row in rows}


def test_system_cpu_is_a_share_of_one_processor_unless_the_program_prints_its_own():
    made = record("A", "noop", "seq_read", 1, 100)
    (phase,) = made.phases
    assert metric_value(phase, "sys_cpu") == pytest.approx(100 * 100 / 500)
    assert metric_value(phase, "cpu_efficiency") == pytest.approx(500, rel=1e-6)
    faulty = replace(phase, details={"printed": {"syscpu": 333.0, "cpu": 340.0, "cpueff": 77.0}})
    assert metric_value(faulty, "sys_cpu") == 333
    assert metric_value(faulty, "cpu_load") == 340
    assert metric_value(faulty, "cpu_efficiency") == 77


def test_on_a_newer_kernel_the_successors_stand_for_the_schedulers_of_the_table():
    made = [
        record("A", name, "seq_read", t, throughput)
        for t in (1, 2)
        for name, throughput in (("mq-deadline", 80), ("bfq", 50))
    ]
    (table,) = printed([TABLE], [], made, Style()).tables
    assert [cell.word for cell in table.blocks[0].rows["seq_read"]] == ["Deadline", "Deadline", "="]
    assert "mq-deadline stands for deadline" in table.title and "bfq stands for cfq" in table.title
