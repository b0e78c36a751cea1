"""Figures and tables that a study declares."""

from __future__ import annotations

import pytest

from seekwise.errors import UsageError
from seekwise.workload.study import parse, starters

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


@pytest.mark.parametrize("name", starters.published_names())
def test_a_published_study_opens_by_its_name_alone(name):
    study, text = starters.open_study(name)
    assert study.name == name
    assert parse.loads(text, name) == study
    assert starters.open_study(f"published/{name}")[0] == study


@pytest.mark.parametrize("key", ["load", "against_load"])
def test_a_table_of_a_workload_that_the_study_does_not_have_is_refused(key):
    text = starters.text("ssd-raid10-gnome-disks").replace(f'\n{key} = "', f'\n{key} = "un')
    with pytest.raises(UsageError, match="names the workload 'un"):
        parse.loads(text, "study.toml")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('operations = ["seq_read", "seq_write"]', 'operations = ["rand_read"]', "takes samples in order"),
        ("threads = 1\nblock", "threads = [1, 2]\nblock", "with one thread"),
        (
            "direct = true",
            'direct = false\nmemory_limit = "64m"',
            "with one thread, one request at a time and direct I/O",
        ),
    ],
)
def test_gnome_disks_is_asked_for_nothing_that_it_does_not_do(old, new, says):
    with pytest.raises(UsageError, match=says):
        parse.loads(starters.text("ssd-raid10-gnome-disks").replace(old, new), "study.toml")
