"""These tests will keep the requests that were recorded after a measured run, and show them; a run without them says why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from report.sample_live import live_outcome
from seekwise.control import tracefs
from seekwise.errors import MissingError
from seekwise.measure.live import traced
from seekwise.report.outcome import content_of
from seekwise.report.page import render
from seekwise.trace import excerpt
from seekwise.trace.columns import REQUEST, Kind
from seekwise.workload.live_plan import LivePlan

MS = 1_000_000


def rows(count: int, each_ms: float, wait_ms: float = 0.1, kind: int = Kind.READ) -> np.ndarray:
    """One after the other, from one second on."""
    made = np.zeros(count, REQUEST)
    end = 1000 * MS + (np.arange(count) + 1) * int(each_ms * MS)
    made["complete_ns"], made["issue_ns"] = end, end - int(each_ms * MS)
    made["arrival_ns"] = made["insert_ns"] = made["issue_ns"] - int(wait_ms * MS)
    made["sector"], made["sectors"], made["kind"] = np.arange(count) * 800_000, 8, kind
    made["process"] = 1 + np.arange(count) % 3
    return made


def outcome_with(document: dict):
    found = live_outcome(2)
    return replace(found, plan=replace(found.plan, extra={excerpt.KEY: document}))


def packed(count: int, each_ms: float, **more) -> dict:
    return excerpt.packed(rows(count, each_ms, **more), 1000 * MS, 1500 * MS)


def test_requests_are_kept_as_they_were():
    found = LivePlan.from_document(
        outcome_with({"uses": {"streams": {"settings": {"none": packed(100, 5.0)}}}}).plan.to_document()
    )
    (kept,) = excerpt.stretches(found.extra, "streams")
    assert kept.span_ms == 500 and len(kept.requests) == 100
    first, last = kept.requests[0], kept.requests[-1]
    assert (first.arrival, first.issue, first.end, first.sector) == (pytest.approx(-0.1), 0, 5, 0)
    assert (last.end, last.sector, last.thread, last.write) == (500, 99 * 800_000, 1, False)


def test_of_very_many_requests_the_last_ones_are_kept_and_the_stretch_is_shorter():
    found = excerpt.packed(rows(50_000, 0.01), 1000 * MS, 1500 * MS)
    assert found["requests"] == excerpt.REQUESTS_MOST
    assert found["span_ns"] == pytest.approx(excerpt.REQUESTS_MOST * 0.01 * MS, rel=0.01)


def test_requests_outside_the_stretch_are_left_out():
    assert excerpt.packed(rows(100, 10.0), 1000 * MS, 1200 * MS)["requests"] == 20 + 1


def test_the_page_shows_where_reads_wait(tmp_path):
    settings = {
        "mq-deadline": packed(12, 40.0),
        "bfq": packed(100, 4.0, wait_ms=1.0),
    }
    found = outcome_with({"uses": {"streams": {"dropped": 0, "settings": settings}}})
    use = next(each for each in found.plan.uses if each.name in ("streams", found.plan.uses[0].name))
    found.plan.extra[excerpt.KEY]["uses"] = {use.name: {"dropped": 0, "settings": settings}}
    html = render(content_of(found))
    assert f'id="why-{use.name}"' in html and "block events" in html
    assert "A read takes 5 ms with bfq and 40.1 ms with mq-deadline. It waits longer at the drive" in html
    assert "40 ms at the drive" in html and "Simulated again" not in html


def test_without_trace_events_the_page_says_why(monkeypatch):
    def none_here():
        raise MissingError("this kernel offers no block trace events", "mount -t tracefs nodev /sys/kernel/tracing")

    monkeypatch.setattr(tracefs, "root", none_here)
    plan = live_outcome(1).plan
    assert traced.why_not(plan).startswith("this kernel offers no block trace events (mount")
    assert traced.reserved_s(plan) == 0
    assert "no block trace events" in render(content_of(outcome_with({"uses": {}, "why_not": traced.why_not(plan)})))


def test_little_of_the_budget_is_kept_and_a_short_one_is_all_for_measuring(monkeypatch):
    monkeypatch.setattr(tracefs, "root", lambda: None)
    plan = live_outcome(1).plan
    for budget in (15, 30, 60, 120, 600):
        asked = replace(plan, budget_s=float(budget))
        assert traced.reserved_s(asked) <= traced.SHARE_MOST * budget
    assert traced.reserved_s(replace(plan, budget_s=30.0)) == 0 < traced.reserved_s(replace(plan, budget_s=120.0))
    assert "too short" in traced.why_not(replace(plan, budget_s=30.0))
    assert "several" in traced.why_not(replace(plan, leaves=("sda", "sdb")))


def test_the_use_that_differs_most_is_traced_with_its_best_its_worst_and_the_present_setting():
    found = live_outcome(3)
    plan = replace(found.plan, budget_s=120.0)
    picked = traced.chosen(found.decided, plan)
    assert len(picked) == 1
    name, settings = picked[0]
    assert name in {j.use for j in found.decided.judged if j.named}
    assert plan.in_force.label in {each.label for each in settings} and len(settings) <= 4


@pytest.mark.parametrize(
    "document",
    [
        None, 7, {"uses": 3}, {"uses": {"streams": {"settings": {"none": {"span_ns": 1, "requests": 10**9, "packed": "AAAA"}}}}},
        {"uses": {"streams": {"settings": {"none": {"span_ns": 1, "requests": 2, "packed": "!"}}}}},
    ],
)  # fmt: skip
def test_what_is_damaged_is_left_out(document):
    found = live_outcome(2)
    plan = replace(found.plan, extra={excerpt.KEY: document})
    assert excerpt.stretches(plan.extra, "streams") == []
