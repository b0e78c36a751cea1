"""These tests will look through the page cache: what it asks of the drive, request by request, with the numbers of the trial."""

from __future__ import annotations

from dataclasses import replace

import pytest

from report import pages
from report.test_close_up import ran, stretch_of
from seekwise.report import close_up
from seekwise.report.looks import Looks
from seekwise.report.page import render
from seekwise.simulate import close_up as again


@pytest.fixture(scope="module")
def buffered(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("buffered"), pages.BUFFERED)


@pytest.mark.parametrize("operation", ["seq_read", "seq_write"])
def test_the_drive_gets_fewer_and_larger_requests_than_the_program_makes(buffered, operation):
    for each in stretch_of(buffered, operation):
        row = close_up.row(each, Looks().by_label(["x"])["x"])
        # 16 KiB per call; read-ahead and write-back join many.
        assert row.kib > 64 and row.commands < 0.25
        assert row.commands * row.kib == pytest.approx(16, rel=0.35)
        assert 0.8 < row.close.from_memory < 1


def test_calls_per_second_are_those_that_were_recorded(buffered):
    load = next(each for each in close_up.loads(buffered.content.records) if each.operation == "seq_write")
    for each in again.close_ups(list(load.records.values()), "seq_write"):
        recorded = next(p.iops for p in load.records[each.setting].phases if p.operation == "seq_write")
        assert 1e3 * each.whole.ios / each.whole.span_ms == pytest.approx(recorded, rel=0.3)


def test_the_page_says_what_the_page_cache_did(buffered):
    """As if one setting read ahead half as far: twice the requests, and twice the calls that wait."""
    first = stretch_of(buffered, "seq_read")[0].whole
    halves = tuple(replace(one, sectors=one.sectors // 2) for one in first.requests)
    less = replace(first, requests=halves, ios_of_load=first.ios // 2, from_memory=2 * first.from_memory - 1)
    looks = Looks().by_label(["far", "near"])
    said = close_up.sentence([close_up.row(first, looks["far"]), close_up.row(less, looks["near"])])
    assert "Size of a request to the drive:" in said and "Calls that wait for the drive:" in said
    assert close_up.most_different(buffered.content.records, Looks()).anchor in render(buffered.content)
