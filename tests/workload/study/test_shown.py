"""Figures and tables that a study declares."""

from __future__ import annotations

import pytest

from seekwise.errors import UsageError
from seekwise.workload.study import parse

STUDY = """
name = "small"
backend = "simulated"
[[system]]
name = "A"
drive = "wd2500ys"
[[system]]
name = "B"
drive = "st3250620ns"
[settings]
scheduler = ["noop", "cfq"]
[[workload]]
operations = ["seq_read"]
"""


def test_a_figure_is_a_graph_or_a_diagram_and_a_table_has_two_sides():
    study = parse.loads(
        STUDY
        + """
[[figure]]
number = 3
metric = "rate"
operation = "seq_read"
systems = ["A", "B"]
[[figure]]
number = 4
diagram = "zones"
[[table]]
number = 1
[[table.block]]
sides = [{system = "A", setting = "noop", printed = "N"}, {system = "A", setting = "cfq", printed = "C"}]
text = {seq_read = ["N", "=", "reserved"]}
""",
        "small",
    )
    assert [figure.number for figure in study.figure] == [3, 4]
    assert study.table[0].block[0].text["seq_read"] == ["N", "=", "reserved"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[[figure]]\nnumber = 1\n", "exactly one of `metric` and `diagram`"),
        ('[[figure]]\nnumber = 1\nmetric = "rate"\n', "must name the `systems`"),
        ('[[figure]]\nnumber = 1\nmetric = "speed"\nsystems = "A"\n', '"rate"'),
        ('[[figure]]\nnumber = 1\nmetric = "rate"\nsystems = "Z"\n', "names system 'Z'"),
        ('[[figure]]\nnumber = 1\nmetric = "rate"\nsystem = "A"\n', "unknown key"),
        ('[[figure]]\nnumber = 1\ndiagram = "zones"\n[[figure]]\nnumber = 1\ndiagram = "parts"\n', "the number 1"),
        ("[[table]]\nnumber = 1\n", "`table.*block` is missing"),
    ],
)
def test_what_is_wrong_is_one_sentence(more, said):
    with pytest.raises(UsageError, match=said):
        parse.loads(STUDY + more, "small")
