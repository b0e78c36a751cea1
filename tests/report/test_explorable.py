"""These tests will make Vega's pictures explorable by keyboard, whatever stands in their words."""

from __future__ import annotations

import re
import xml.etree.ElementTree as tree

import pytest

from seekwise.report.charts.diagrams import DIAGRAMS, diagram
from seekwise.report.charts.export import compact, explorable, svg
from seekwise.report.charts.head_position import head_position

HOSTILE = "\"'></title></svg><script>x</script>\\1\\g<0>\x1b[31m&"


def values(text: str) -> list[str]:
    return re.findall(r'data-t="([^"]*)"', text)


@pytest.mark.parametrize("name", list(DIAGRAMS))
def test_every_diagram_tells_values_and_no_places(name):
    found = values(explorable(compact(svg(diagram(name, []))), name))
    assert found and not [each for each in found if re.match(r"(x|y|i|ring|label_x): ", each)]


def test_the_zones_are_told_with_their_density():
    found = values(explorable(svg(diagram("zones", [])), "zones"))
    assert any(
        re.fullmatch(r"block number \[% of the capacity\]: [\d.]+; sectors per track: \d+", each) for each in found
    )


def test_a_setting_with_hostile_words_neither_ends_the_process_nor_leaves_its_place():
    rows = [{"time_ms": float(n), "position_percent": 2.0 * n, "kind": "read"} for n in range(9)]
    text = explorable(svg(head_position({HOSTILE: rows})), HOSTILE)
    root = tree.fromstring(text.replace("\x1b", ""))
    assert root.get("tabindex") == "0" and len(values(text)) == 9
    assert "<script" not in text and "graphics-symbol" not in text
    title = next(each for each in root if each.tag.endswith("title"))
    assert title.text.startswith("\"'></title>") and "\\1\\g<0>" in title.text
