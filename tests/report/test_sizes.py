"""These tests will hold pages to their sizes and times: a page is mailed, and read at once."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.installed import needs_papers

from report import pages
from report.sample import sample_content, sample_records
from seekwise.report import of_run, page
from seekwise.store.database import Store


def combinations(count: int):
    first = sample_records(repetitions=1, threads=(1,))[0]
    return [
        replace(first, trial=number, combination=f"{number}", setting=f"mq-deadline nr_requests={8 + number % 50}",
                factors={"scheduler": "mq-deadline", "nr_requests": 8 + number % 50, "threads": 1 + number // 50, "block_bytes": 4096},
                phases=(replace(first.phases[0], latency_bins={1000: 50}),))
        for number in range(count)
    ]  # fmt: skip


def test_a_page_of_ten_thousand_combinations_is_made_in_ten_seconds_and_stays_under_three_megabytes(tmp_path):
    content = replace(sample_content(), records=combinations(10_000))
    began = time.process_time()
    path = page.write_report(tmp_path / "many.html", content)
    assert time.process_time() - began < 10
    assert path.stat().st_size < 3e6


@pytest.mark.parametrize("name", ["raid-levels", pytest.param("demo", marks=pytest.mark.slow)])
def test_a_typical_page_is_under_a_megabyte(name, tmp_path):
    pages.invoke(tmp_path, "run", name, "--backend", "simulated")
    pages.invoke(tmp_path, "report", "last", "--output", str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").stat().st_size < 1e6


@needs_papers
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_page_of_the_chunk_study_is_under_two_megabytes_and_made_in_ten_seconds(tmp_path: Path):
    pages.invoke(tmp_path, "run", "ssd-raid10-chunk")
    with Store.open(tmp_path / "records.db", create=False) as store:
        began = time.process_time()
        found = of_run.of_runs(store, store.run("last"))
        path = page.write_report(tmp_path / "chunk.html", found.content)
        assert time.process_time() - began < 10
    assert path.stat().st_size < 2e6
