"""What `device/queue_depth` leaves to the scheduler, beside what real kernels do: tests/reference/tags.json (tools/record_tags.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seekwise import _core

RECORDED = json.loads((Path(__file__).parents[1] / "reference/tags.json").read_text(encoding="utf-8"))
ROWS = [
    (".".join(kernel["kernel"].split(".")[:2]).split("-")[0], row)
    for kernel in RECORDED["kernels"]
    for row in kernel["rows"]
]
SPAN_SECTORS = 1 << 27
DISK = "generic_1tb_sata"


def spec(kernel: str, scheduler: str, depth: int, drive: str = DISK) -> dict:
    job = {"threads": 32, "pattern": "random", "block_bytes": 4096, "ios": 12}
    if drive == DISK:
        job["region_bytes"] = SPAN_SECTORS * 512
    return {
        "seed": 3,
        "device": {"model": drive, "depth": depth},
        "queue": {"scheduler": scheduler, "kernel": kernel},
        "phases": [{"operation": "rand_read", "jobs": [job]}],
    }


def settings(*args: object) -> dict:
    return json.loads(_core.describe_cell(json.dumps(spec(*args))))["settings"]


def distance(given: dict) -> float:
    """Mean distance of requests in a row, as a share of the span."""
    (result,) = json.loads(_core.simulate_cells(json.dumps([{**given, "trace_events_max": 100_000}]), 1))
    columns, rows = result["trace"]["columns"], result["trace"]["rows"]
    event, sector = columns.index("event"), columns.index("sector")
    at = [row[sector] for row in rows if row[event] == "issue"]
    assert len(at) > 300
    return sum(abs(b - a) for a, b in zip(at, at[1:], strict=False)) / (len(at) - 1) / SPAN_SECTORS


@pytest.mark.parametrize(("kernel", "row"), ROWS, ids=lambda each: each if isinstance(each, str) else "")
def test_a_queue_has_the_requests_that_the_kernel_gives_it(kernel, row):
    given = settings(kernel, row["scheduler"], row["queue_depth"])
    assert given["queue_depth"] == row["queue_depth"]
    assert [given["nr_requests"]] * 3 == [row[f"nr_requests_{when}"] for when in ("chosen", "depth", "again")]


@pytest.mark.parametrize(
    ("kernel", "row"),
    # bfq merges queues that begin together at once on a disk that says it does not rotate, as scsi_debug's does: not comparable with a disk.
    [each for each in ROWS if each[1]["queue_depth"] < 31 and each[1]["scheduler"] != "bfq"],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_scheduler_sorts_as_many_requests_as_in_the_kernel(kernel, row):
    assert distance(spec(kernel, row["scheduler"], row["queue_depth"])) == pytest.approx(row["distance"], abs=0.05)


@pytest.mark.parametrize(("kernel", "requests"), [("2.6.24", 128), ("2.6.32", 128), ("4.4", 128)])
@pytest.mark.parametrize("depth", [1, 2, 4, 31])
def test_the_single_queue_has_128_whatever_the_depth(kernel, requests, depth):
    assert settings(kernel, "deadline", depth)["nr_requests"] == requests


@pytest.mark.parametrize(
    ("drive", "depth", "with_scheduler", "without"),
    [("samsung_980", 1024, 256, 1024), ("samsung_980", 4, 8, 4), ("sd_card_a1", 1, 128, 64), ("emmc_5_1", 32, 64, 32)],
)
def test_other_hosts_have_tags_of_their_own(drive, depth, with_scheduler, without):
    assert settings("6.1", "mq-deadline", depth, drive)["nr_requests"] == with_scheduler
    assert settings("6.1", "none", depth, drive)["nr_requests"] == without
