"""This test will summarise traces whose figures can be counted by hand, and show them as a user sees them."""

import json
import re

import numpy as np
import pytest
import samples
from click.testing import CliRunner

from seekwise.cli.trace import command
from seekwise.trace import summary
from seekwise.trace.columns import REQUEST, Kind


def shown(tmp_path, content, *options, name="trace"):
    path = tmp_path / name
    path.write_text(content)
    result = CliRunner().invoke(command, ["show", str(path), *options])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_words_name_requests_rates_and_latency(tmp_path):
    text = shown(tmp_path, samples.FIO_LOG)
    assert "3 requests in 0.005 s" in text and "from fio latency log" in text
    assert float(re.search(r"reads.*\n +p50 ([\d.]+) ms", text)[1]) == pytest.approx(2.0, rel=0.04)
    assert "unknown: too few requests" in text


def test_a_recording_without_times_has_no_rates(tmp_path):
    text = shown(tmp_path, samples.UNTIMED)
    assert "2 requests without times on /dev/sda" in text and "IOPS" not in text and "MB/s" not in text


def test_the_document_counts_what_was_read(tmp_path):
    document = json.loads(shown(tmp_path, samples.BLKPARSE, "--json"))
    assert (document["requests"], document["reads"], document["writes"]) == (3, 2, 1)
    assert (document["bytes_read"], document["bytes_written"]) == (8192, 8192)
    assert document["processes"]["kworker/u8:1/700"]["writes"] == 1
    assert {process["name"] for process in document["dependencies"]} == {"fio/697", "kworker/u8:1/700"}


def test_a_cut_trace_is_shown_and_said_to_be_incomplete(tmp_path):
    assert "incomplete: cut off at line 4" in shown(tmp_path, samples.FIO_LOG + "6, 20000")


def test_the_page_is_one_file_with_all_charts(tmp_path):
    page = tmp_path / "trace.html"
    shown(tmp_path, samples.PERF, "--page", str(page))
    text = page.read_text()
    answer = re.search(r"<h1>(.*?)</h1>", text)[1]
    assert re.match(r"\d+ % (reads|writes) of [\d.]+ KiB, most (in order|at random): [\d,.]+ a second, ", answer)
    assert text.count('class="sheet"') == 3
    assert text.count('class="panel wider"') == 1 and "requests under way" in text, (
        "the busiest stretch, request by request"
    )
    assert "src=" not in text and "http://" not in text.replace("http://www.w3.org/", ""), "one file, no request"


def test_bins_double_until_a_trace_of_any_length_and_place_fits():
    chunk = np.zeros(1000, REQUEST)
    chunk["arrival_ns"] = np.arange(1000) * 10**9
    chunk["complete_ns"] = chunk["arrival_ns"] + 10**8
    chunk["sector"] = np.arange(1000) * 2**30
    chunk["sectors"] = 8
    chunk["kind"][::4] = Kind.WRITE
    found = summary.summary_of([chunk[:10], chunk[10:500], chunk[500:]])
    assert found.rate.sum() == found.offsets.sum() == 1000
    assert list(found.rate.sum(axis=1)) == [750, 250]
    assert found.bin_ns * summary.TIME_BINS > 999 * 10**9
    assert found.outstanding_ns.sum() == pytest.approx(1000 * 10**8)
    assert found.percentile_ms(0, 0.5) == pytest.approx(100, rel=0.04)


def test_sequential_requests_are_counted_across_chunks():
    chunk = np.zeros(100, REQUEST)
    chunk["arrival_ns"] = np.arange(100)
    chunk["sector"] = np.arange(100) * 8
    chunk["sectors"] = 8
    assert summary.summary_of([chunk[:50], chunk[50:]]).sequential == 99


def test_a_long_trace_says_how_far_it_is(monkeypatch, capsys):
    from seekwise.cli import trace

    monkeypatch.setattr(trace, "QUIET_S", 0.0)
    assert len(list(trace._counted(iter([[1, 2], [3]])))) == 2
    assert capsys.readouterr().err == "reading: 2 requests so far\n"
