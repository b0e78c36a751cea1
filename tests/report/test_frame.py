"""These tests will hold charts to the factor that a study varies, and looks to what eyes and WCAG ask for."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from report.sample import sample_records
from seekwise.report import evidence
from seekwise.report.charts import files, panels
from seekwise.report.frame import axes, frame
from seekwise.report.looks import CONTRAST_MIN, DARK_PAGE, LIGHT_PAGE, Looks, contrast
from seekwise.workload.study.study import System


def with_factors(**levels):
    """Records with every combination of these factors, three repetitions each."""
    first = sample_records(repetitions=1, threads=(1,))[0]
    rows = [{}]
    for name, values in levels.items():
        rows = [{**row, name: value} for row in rows for value in values]
    return [
        replace(first, repetition=repetition, setting=str(row.get("scheduler", "none")), factors={"threads": 1, "block_bytes": 4096, **row})
        for row in rows
        for repetition in range(3)
    ]  # fmt: skip


def test_schedulers_are_lines_over_threads():
    at = axes(frame(with_factors(scheduler=["none", "bfq"], threads=[1, 4, 16]), compare=["scheduler"]))
    assert (at.x, at.colour, at.panel) == ("threads", "scheduler", "operation")


def test_a_number_that_the_study_varies_is_the_axis():
    records = with_factors(read_ahead_kb=[128, 512, 2048], threads=[1, 4])
    records = [replace(r, setting=f"read_ahead_kb={r.factors['read_ahead_kb']}") for r in records]
    at = axes(frame(records, compare=["read_ahead_kb", "scheduler"]))
    assert (at.x, at.colour) == ("read_ahead_kb", "threads")


def test_systems_that_differ_in_their_chunk_alone_are_levels_of_the_chunk():
    systems = [
        System(name=f"R{chunk}", drive="samsung_850_evo", drives=4, raid_level="raid10", chunk_kib=[chunk])
        for chunk in (16, 64)
    ] + [System(name="one", drive="samsung_850_evo")]
    table = frame(with_factors(system=["R16", "R64", "one"], block_bytes=[4096, 65536]), systems)
    at = axes(table)
    assert (at.x, at.colour) == ("chunk", "block_bytes")
    assert table.factors["chunk"] == ["none", 16, 64] and "system" not in table.factors


def test_two_factors_that_compete_stand_apart():
    records = [
        replace(r, setting=f"{r.factors['scheduler']} nr_requests={r.factors['nr_requests']}")
        for r in with_factors(scheduler=["none", "bfq"], nr_requests=[16, 64, 256])
    ]
    at = axes(frame(records, compare=["scheduler", "nr_requests"]))
    assert (at.x, at.colour) == ("nr_requests", "scheduler")


def test_what_the_operation_tells_is_no_factor():
    """Files are read at 1 MiB, databases at 8 KiB: the size says nothing that the operation does not."""
    first = sample_records(repetitions=1, threads=(1,))[0]
    records = [
        replace(first, setting=name, phases=(phase,), factors={"scheduler": name, "threads": 1, "load": load, "block_bytes": size})
        for name in ("none", "bfq")
        for phase, load, size in ((first.phases[0], "files", 2**20), (first.phases[2], "database", 8192))
    ]  # fmt: skip
    assert set(frame(records, compare=["scheduler"]).factors) == {"operation", "scheduler"}


def test_at_most_a_dozen_charts_stand_before_more():
    records = with_factors(scheduler=["none", "bfq"], threads=[1, 4], system=[f"s{n}" for n in range(9)])
    table = frame(records, compare=["scheduler"])
    first, more, left = evidence.figures(table, Looks())
    assert len(first) == evidence.CHARTS_FIRST and len(more) + left > 0
    # Throughput of every system, or every metric of one: nothing is drawn twice.
    assert len({each.name for each in (*first, *more)}) == len(first) + len(more)


def test_a_factor_of_many_levels_makes_neither_hundreds_of_panels_nor_of_charts():
    records = with_factors(nr_requests=list(range(4, 54)), threads=list(range(1, 61)))
    records = [replace(r, setting=f"nr_requests={r.factors['nr_requests']}", phases=r.phases[:1]) for r in records]
    table = frame(records, compare=["nr_requests"])
    at = axes(table)
    assert (at.x, at.panel, at.rest) == ("nr_requests", None, ("threads",))
    first, more, left = evidence.figures(table, Looks())
    assert len(first) == evidence.CHARTS_FIRST and len(more) <= evidence.MORE_MOST and left > 100


def test_a_value_stands_at_its_height_and_an_interval_beyond_the_picture_has_an_arrowhead():
    look = Looks().by_label(["none"])["none"]
    points = (panels.ChartPoint(0, 100.0, 95.0, 105.0, "a"), panels.ChartPoint(1, 50.0, 10.0, 9000.0, "b"))
    panel = panels.Panel("reads", ("1", "2"), (panels.Series(look, points),))
    _, plot = panels.parts(panel)
    scale = panels.Scale.for_panel(panel)
    assert scale.top == pytest.approx(300 * 1.04) and scale.bottom is None
    assert scale.y(0) - scale.y(scale.top) == pytest.approx(panels.HEIGHT)
    assert f'y="{scale.y(100.0):.0f}"' in plot and plot.count('class="cap"') == 1


def test_values_far_apart_get_a_logarithmic_axis():
    look = Looks().by_label(["none"])["none"]
    points = tuple(panels.ChartPoint(n, 10.0**n, None, None, "") for n in range(4))
    panel = panels.Panel("", tuple("abcd"), (panels.Series(look, points),))
    scale = panels.Scale.for_panel(panel)
    assert panels.is_wide(panel) and (scale.bottom, scale.top) == (1.0, 1000.0)
    heights = [scale.y(point.value) for point in points]
    steps = [a - b for a, b in itertools.pairwise(heights)]
    assert steps == pytest.approx([panels.HEIGHT / 3] * 3)


def test_colours_stand_out_from_light_and_dark_pages_and_no_two_look_the_same():
    names = ["none", "mq-deadline", "bfq", "kyber", "x", "y", "z", "w"]
    looks = Looks().by_label(names)
    for look in looks.values():
        assert contrast(look.colour, LIGHT_PAGE) >= CONTRAST_MIN and contrast(look.dark, DARK_PAGE) >= CONTRAST_MIN
    assert len({look.mark for look in looks.values()}) == len(names)


def test_a_scheduler_has_its_colour_wherever_it_stands():
    one, other = Looks().by_label(["bfq", "none"]), Looks().by_label(["none", "kyber", "scheduler=bfq nr_requests=4"])
    assert (one["bfq"].mark, one["bfq"].dash) == (other["scheduler=bfq nr_requests=4"].mark, one["bfq"].dash)
    assert one["bfq"].colour == other["scheduler=bfq nr_requests=4"].colour


def test_a_picture_file_is_well_formed_and_holds_every_panel():
    from xml.etree import ElementTree

    table = frame(sample_records(), compare=["scheduler"])
    first, _, _ = evidence.figures(table, Looks())
    text = files.svg(first[0])
    ElementTree.fromstring(text)
    assert text.count('class="head"') == 4 and "mq-deadline" in text


def test_names_that_do_not_fit_are_numbered_and_told_below_the_axis():
    assert panels.named_below(("samsung_970_evo_plus none", "samsung_970_evo_plus bfq"))
    assert not panels.named_below(("none", "bfq"))
    assert not panels.named_below(tuple(f"{n} KiB" for n in range(40)))
