"""Pictures on white sheets are explorable by keyboard, whatever stands in their words."""

from __future__ import annotations

import re
import xml.etree.ElementTree as tree

from seekwise.report.charts.head_position import head_position

HOSTILE = "\"'></title></svg><script>x</script>\\1\\g<0>\x1b[31m&"


def test_a_setting_with_hostile_words_stays_in_its_place():
    rows = [{"time_ms": float(n), "position_percent": 2.0 * n, "kind": "read"} for n in range(9)]
    text = str(head_position({HOSTILE: rows}))
    root = tree.fromstring(text)
    told = re.findall(r'data-t="([^"]*)"', text)
    assert root.get("tabindex") == "0" and "0 ms: read at 0 %" in told and len(told) == 9 + 2  # and the legend's
    assert "<script" not in text and any((each.text or "").startswith("\"'></title>") for each in root.iter())
