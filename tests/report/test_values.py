"""The first picture of a page of tune: values by setting; and what changes over time, whatever the load is made of."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest

from report.sample_live import SPEED, live_outcome
from seekwise.judge import outcome as outcomes
from seekwise.measure.live import own
from seekwise.report import live_sections
from seekwise.report.charts.live_svg import Value, values_end
from seekwise.report.looks import Looks
from seekwise.report.outcome import content_of
from seekwise.report.page import render
from seekwise.workload.study.load_words import use_rows


@pytest.fixture(scope="module")
def found():
    return live_outcome(3)


def panels_of(page: str) -> list[tuple[str, list[str]]]:
    """[(figure, names of the settings with their tags)] of the picture."""
    part = page[page.index('aria-label="Values by setting"') : page.index('aria-label="Loss against the best')]
    made = []
    for panel in part.split('<div class="panel">')[1:]:
        title = html.unescape(re.sub(r"<[^>]+>", "", panel[: panel.index("</h3>")]))
        rows = re.findall(r'<div class="valueline"><span>(.*?)</span><svg', panel)
        made.append((title, [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]))
    return made


def test_the_page_begins_with_the_values_of_every_setting_the_one_in_force_first(found):
    page = render(content_of(found))
    shown = panels_of(page)
    assert len(shown) == len([each for each in found.decided.judged if each.rounds])
    assert all(names[0] == "mq-deadline now" and len(names) == len(SPEED) for _, names in shown)
    assert page.index("Values by setting") < page.index("Distance to the best")


def test_a_use_that_the_budget_left_at_one_setting_has_no_distance(found):
    left = found.plan.uses[-1].name
    few = [each for each in found.records if each.factors["use"] != left or each.setting == "none"]
    page = render(content_of(outcomes.judged(found.run, found.plan, few)))
    assert all(f'href="#use-{use.name}"' in page for use in found.plan.uses[:-1])
    assert f'href="#use-{left}"' not in page


def test_what_differs_most_is_the_first_panel(found):
    known = live_sections.panels_of(found, Looks().by_label([each.label for each in found.plan.candidates]))
    sizes = {(each.use, live_sections.subject(each)): each.named for each in found.decided.judged}
    named = [bool(sizes[panel.use, panel.what]) for panel in known if "p99" not in panel.what]
    assert named == sorted(named, reverse=True) and named[0]


def test_a_value_far_beyond_the_others_is_cut_and_an_unbounded_interval_sets_no_scale():
    looks = Looks().by_label(["a", "b"])
    rows = [Value(looks["a"], 2.7, None, "2.7 s", ""), Value(looks["b"], 159.0, (159.0, 100.0, 9e9), "159 s", "")]
    end = values_end(rows)
    assert 2.7 < end < 159.0 and 'class="cap"' in rows[1].picture(end) and 'class="cap"' not in rows[0].picture(end)
    level = [replace(rows[0], expected=(2.7, 1.0, 9e9)), replace(rows[1], value=3.0, expected=(3.0, 2.9, 3.1))]
    assert values_end(level) <= 1.5 * 3.0


def test_throughput_is_drawn_bin_by_bin_where_bins_hold_something(found):
    page = render(content_of(found))
    assert "<h3>Throughput over time</h3>" in page and "MB/s at the top" in page


def test_units_longer_than_a_bin_are_drawn_period_by_period(found):
    """As starts of programs: the windows of a period hold nothing, or one unit."""
    empty = [
        replace(each, phases=tuple(replace(phase, windows=((0.0, 0.0),) * 15) for phase in each.phases))
        for each in found.records
    ]
    page = render(content_of(outcomes.judged(found.run, found.plan, empty)))
    assert "<h3>Throughput over time</h3>" not in page
    drawn = re.search(r'period by period</h3><div class="wide">(.*?)</figure>', page, re.DOTALL)
    assert drawn is not None
    levels = [float(y) for y in re.findall(r'class="curve level s\d" d="M[\d.]+ ([\d.]+)H', drawn[1])]
    assert len(levels) >= 4 * len(SPEED) and max(levels) > min(levels), "a line in each period, by its value"


def test_a_command_of_the_users_is_not_described_as_requests():
    use = own.Command(("cat", "/srv/big")).use()
    assert use_rows(use) == [] and use.title == "cat /srv/big"
