"""Diagrams come from the drive models, and figures from the records."""

from __future__ import annotations

import json

import pytest
from tests.installed import needs_papers

from insights.test_insights import branches, record
from seekwise import _core
from seekwise.report.charts import diagrams
from seekwise.report.charts.export import svg
from seekwise.report.charts.figures import graph
from seekwise.workload.study import starters
from seekwise.workload.study.shown import Figure

pytestmark = needs_papers
DRIVE = "st3250620ns"


def systems():
    return starters.open_study("article-2008")[0].system


@pytest.mark.parametrize("name", list(diagrams.DIAGRAMS))
def test_every_diagram_is_a_picture(name):
    picture = svg(diagrams.diagram(name, systems()))
    assert picture.startswith("<svg")
    assert len(picture) > 5000


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
    (answer,) = json.loads(_core.measure_drives(json.dumps([{"model": DRIVE, **request_}])))
    assert said in answer["error"]


def test_a_graph_has_a_line_for_each_scheduler_and_a_panel_for_each_system():
    figure = Figure(number=3, metric="rate", operation="seq_read", systems=["A", "B"])
    other = [record("B", name, "seq_read", t, 60) for name in ("noop", "cfq") for t in (1, 8)]
    picture = graph(figure, [*branches(), *other])
    text = json.dumps(picture.to_dict())
    for name in ("NOOP", "DEADLINE", "ANTICIPATORY", "CFQ", '"A"', '"B"'):
        assert name in text
    assert "strokeDash" in text
    assert "shape" in text


def test_an_axis_as_printed_grows_where_a_value_would_leave_it():
    figure = Figure(number=18, metric="rate", operation="seq_read", systems=["A"], y_min=0, y_max=90)
    assert '"domain": [0.0, 90.0]' in json.dumps(graph(figure, branches()).to_dict())
    higher = [record("A", "noop", "seq_read", t, 150) for t in (1, 2)]
    assert '"domain": [0.0, 150.0]' in json.dumps(graph(figure, higher).to_dict())


def test_a_graph_of_nothing_is_none():
    assert graph(Figure(number=3, metric="rate", operation="rand_read", systems=["A"]), branches()) is None


def test_no_label_covers_another_label_or_a_mark():
    """The labels of the drive's own picture, and of a crowd: what has no room is left out."""
    places, served = diagrams.service(DRIVE)
    xy = {place["sector"]: diagrams._xy(place) for place in places}
    rows = [{"x": xy[r["sector"]][0], "y": xy[r["sector"]][1], "label": "12: 123 ms"} for r in served[True]]
    crowd = [{"x": 0.1 * (i % 5), "y": 0.02 * i, "label": "1.0 ms"} for i in range(40)]
    for given in (rows, crowd):
        found = diagrams.labelled(given)
        boxes = [(f["label_x"], f["label_y"]) for f in found]
        for i, (x, y) in enumerate(boxes):
            for other_x, other_y in boxes[i + 1 :]:
                assert abs(x - other_x) >= diagrams.LABEL_WIDTH or abs(y - other_y) >= diagrams.LABEL_HEIGHT - 1e-9
            for mark in given:
                inside_x = abs(mark["x"] - x) < diagrams.LABEL_WIDTH / 2
                assert not (inside_x and abs(mark["y"] - y) < diagrams.LABEL_HEIGHT / 2)
    assert len(diagrams.labelled(rows)) >= 10
    assert len(diagrams.labelled(crowd)) < len(crowd)


def test_titles_above_the_pictures_are_not_cut():
    for drive in ("wd2500ys", "st3250620ns", "st31000340sv"):
        name = json.loads(_core.drive_model(drive))["name"]
        lines_ = diagrams.title_lines(f"{name}: 24 zones, a stroke per 12 sectors")
        assert all(len(line) <= diagrams.TITLE_CHARACTERS for line in lines_)
        assert " ".join(lines_) == f"{name}: 24 zones, a stroke per 12 sectors"


def test_a_panel_says_what_its_system_is():
    figure = Figure(number=3, metric="rate", operation="seq_read", systems=["A"])
    drawn = json.dumps(graph(figure, branches(), systems()).to_dict(), ensure_ascii=False)
    assert "A: hardware RAID 1, 9650-2LP, 2 × wd2500ys" in drawn
