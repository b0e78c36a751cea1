"""This test will hold the report to its promises: self-contained, answer first, every number from the records."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import math
import re
from dataclasses import replace

import pytest
from rich.console import Console

from report.sample import sample_content, sample_records
from seekwise.number_text import three
from seekwise.report.charts import files
from seekwise.report.looks import Looks
from seekwise.report.page import pictures, render, write_report
from seekwise.report.rows import mean_interval, summary_rows, trial_rows
from seekwise.report.terminal import print_answer
from seekwise.store.record import CpuSeconds


@pytest.fixture(scope="module")
def page() -> str:
    return render(sample_content())


def test_page_needs_no_network(page):
    assert not re.search(r"""(?:src|href|url\()\s*=?\s*["']?(?:https?:)?//""", page)
    assert "<script src" not in page and "<link" not in page


def test_only_the_script_of_the_page_itself_may_run(page):
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert html.unescape(policy).startswith("default-src 'none'") and f"script-src 'sha256-{digest}'" in html.unescape(
        policy
    )


def test_answer_stands_before_table_and_charts(page):
    places = [
        page.index(each) for each in ("<h1>Use mq-deadline", '<h2 id="charts"', '<h2 id="losses"', '<h2 id="run"')
    ]
    assert places == sorted(places)


def test_names_from_the_machine_are_escaped(page):
    assert "&lt;WD2500YS&gt;" in page and "<WD2500YS>" not in page


def test_invalid_trials_are_named_with_their_cause_and_do_not_count(page):
    assert "another program used vda" in page
    rows = summary_rows(trial_rows(sample_records()))
    assert {row["n"] for row in rows if row["setting"] == "bfq" and row["threads"] == 1} == {3}


def test_report_is_written_whole_and_leaves_nothing_beside(tmp_path):
    path = write_report(tmp_path / "seekwise-x.html", sample_content())
    assert path.read_text().rstrip().endswith("</html>")
    assert [entry.name for entry in tmp_path.iterdir()] == ["seekwise-x.html"]


def test_each_chart_is_also_a_picture_file(tmp_path):
    names = {path.name for path in files.write_all(tmp_path, pictures(sample_content()))}
    assert {"rate.svg", "access-time.svg", "cpu-efficiency.svg"} <= names


def test_interval_of_the_geometric_mean_matches_hand_computation():
    mean, low, high = mean_interval([1.0, math.e**2])
    assert mean == pytest.approx(math.e)
    # n = 2, s = sqrt(2), t(0.975, 1) = 12.7062: half width 12.7062 on the log scale.
    assert math.log(high) - 1 == pytest.approx(12.7062, rel=1e-4)
    assert 1 - math.log(low) == pytest.approx(12.7062, rel=1e-4)


def test_percentile_is_withheld_without_enough_operations_beyond_it():
    def p(percent, bins):
        return replace(sample_records()[0].phases[0], latency_bins=bins).percentile_ns(percent)

    assert p(99, {10: 1000, 20: 1000}) == 20
    assert p(99, {10: 1000, 20: 999}) is None
    assert p(50, {10: 3, 20: 1}) == 10


def test_no_two_settings_share_colour_dash_and_marker():
    settings = ["none", "mq-deadline", "bfq", "kyber", "mq-deadline (control)"]
    looks = Looks().by_label(settings).values()
    assert len({(look.colour, look.dash, look.mark) for look in looks}) == len(settings)


def test_numbers_have_three_significant_digits_and_no_exponent():
    assert [three(value) for value in (0.01234, 3.14159, 123456.0, None, 0)] == ["0.0123", "3.14", "123456", "–", "0"]


def test_terminal_answer_fits_eighty_columns_without_colour():
    console = Console(width=80, no_color=True, record=True, file=io.StringIO())
    print_answer(sample_content(), console)
    text = console.export_text()
    assert "mq-deadline" in text and "echo none | sudo tee /sys/block/sda/queue/scheduler" in text


def test_the_cpu_wait_share_stands_beside_the_system_share_and_may_be_zero():
    first = sample_records()[0]
    phases = tuple(
        replace(p, elapsed_s=2.0, cpu=CpuSeconds(0.1, 0.2, 0.1, 0.5, 0.0, 0.0, 0.0, 1.0)) for p in first.phases
    )
    rows = trial_rows([replace(first, phases=phases)])
    assert {row["sys_cpu_percent"] for row in rows} == {25.0}
    assert {row["cpu_wait_percent"] for row in rows} == {0.0}
    assert {row["cpu_wait_percent"] for row in summary_rows(rows)} == {0.0}


def test_a_background_job_is_shown_with_its_own_number_of_threads():
    first = sample_records()[0]
    phase = replace(first.phases[0], details={"group_threads": 1})
    (row,) = trial_rows([replace(first, factors={**first.factors, "threads": 8}, phases=(phase,))])
    assert row["threads"] == 1
