"""Diagrams come from the drive models, and figures from the records."""

from __future__ import annotations

import json

import pytest

from insights.test_insights import branches, record
from seekwise import core
from seekwise.report.charts.panels import Scale
from seekwise.report.looks import Looks
from seekwise.workload.study import starters
from seekwise_papers import diagrams
from seekwise_papers.figures import drawn
from seekwise_papers.publication import Figure

DRIVE = "st3250620ns"


def systems():
    return starters.open_study("article-2008")[0].system


@pytest.mark.parametrize("name", list(diagrams.DIAGRAMS))
def test_every_diagram_is_a_picture(name):
    picture = diagrams.diagram(name, systems())
    assert picture.startswith("<svg")
    assert len(picture) > 4000


def test_accesses_deviate_from_block_distance_in_both_directions():
    _, rows = diagrams.deviations(DRIVE, 80)
    kinds = [row["kind"] for row in rows]
    assert all(kinds.count(kind) > 3 for kind in diagrams.KINDS)
    assert rows[-1]["expected"] > 1.5 * rows[0]["expected"]


def test_zones_lose_sectors_inwards_and_cover_the_disk():
    zones = diagrams.zones_of(DRIVE)
    sectors = [zone["sectors"] for zone in zones]
    assert sectors == sorted(sectors, reverse=True)
    assert len(set(sectors)) == len(sectors) > 10
    assert zones[0]["radius"] == 0
    assert zones[-1]["last_radius"] > 0.99


def test_the_drive_serves_the_same_reads_in_another_order_and_sooner():
    _, served = diagrams.service(DRIVE)
    single, together = served[False], served[True]
    assert {row["sector"] for row in single} == {row["sector"] for row in together}
    assert [row["sector"] for row in single] != [row["sector"] for row in together]
    assert together[-1]["ms"] < single[-1]["ms"]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"measure": "served", "sectors": [], "together": True}, "1 to"),
        ({"measure": "served", "sectors": [0] * 99, "together": True}, "1 to"),
        ({"measure": "places", "sectors": [10**15]}, "beyond the drive"),
        ({"measure": "next", "from": 10**15, "sectors": [0]}, "beyond the drive"),
    ],
)
def test_what_the_drive_cannot_do_is_a_sentence(request_, said):
    (answer,) = json.loads(core.measure_drives(json.dumps([{"model": DRIVE, **request_}])))
    assert said in answer["error"]


def test_a_graph_has_a_line_for_each_scheduler_and_a_panel_for_each_system():
    figure = Figure(number=3, metric="rate", operation="seq_read", systems=["A", "B"])
    other = [record("B", name, "seq_read", t, 60) for name in ("noop", "cfq") for t in (1, 8)]
    chart = drawn(figure, [*branches(), *other], systems(), Looks())
    assert [panel.title.partition(":")[0] for panel in chart.panels] == ["A", "B"]
    assert {look.label for look in chart.looks} == {"noop", "deadline", "anticipatory", "cfq"}
    assert chart.panels[0].title == "A: hardware RAID 1, 9650-2LP, 2 × wd2500ys"


def test_the_axis_of_a_graph_ends_where_the_text_prints_its_end_or_above_the_values():
    for y_max, top in ((2000.0, 2000.0), (1.0, None)):
        figure = Figure(number=3, metric="rate", operation="seq_read", systems=["A"], y_max=y_max)
        scale = Scale.for_panel(drawn(figure, branches(), systems(), Looks()).panels[0])
        assert scale.bottom is None and scale.top == (top or scale.top) and scale.top >= scale.most


def test_a_graph_of_nothing_is_none():
    figure = Figure(number=3, metric="rate", operation="rand_read", systems=["A"])
    assert drawn(figure, branches(), systems(), Looks()) is None
