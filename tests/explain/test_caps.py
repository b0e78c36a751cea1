"""Where a scheduler's lock caps a drive, by published figures."""

from __future__ import annotations

from seekwise.report.explain import caps, explain


def test_the_published_figures_stand_with_the_scheduler_and_name_their_source():
    said = explain("mq-deadline").text
    assert "about 475,000 requests per second, none at 780,000" in said and "ICPE 2024" in said
    assert "requests per second, none at" not in explain("kyber").text and caps.sentence("none") == ""
