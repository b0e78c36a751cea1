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


def spec(kernel: str, scheduler: str, depth: int, drive: str = DISK, ios: int = 12) -> dict:
    job = {"threads": RECORDED["readers"], "pattern": "random", "block_bytes": 4096, "ios": ios}
    return {
        "seed": 3,
        "device": {"model": drive, "depth": depth},
        "queue": {"scheduler": scheduler, "kernel": kernel},
        "phases": [{"operation": "rand_read", "jobs": [job]}],
    }


def as_recorded(kernel: str, row: dict, seed: int, ios: int) -> dict:
    """The load of the recordings, over a disk that takes as long for each read as theirs."""
    made = spec(kernel, row["scheduler"], row["queue_depth"], "null", ios)
    made["seed"] = seed
    made["device"]["parameters"] = {
        "latency_us": RECORDED["service_ns"] / 1e3, "queue_depth": float(RECORDED["tags"]), "capacity_sectors": float(SPAN_SECTORS),
    }  # fmt: skip
    made["queue"] |= {"nr_requests": row["nr_requests_chosen"], "budget": True, "hz": 250, "rotational": True}
    return made


def settings(*args: object) -> dict:
    return json.loads(_core.describe_cell(json.dumps(spec(*args))))["settings"]


def distances(given: dict, parts: int = 1) -> list[float]:
    """Mean distance of requests in a row, as a share of the span, in each part of the run."""
    (result,) = json.loads(_core.simulate_cells(json.dumps([{**given, "trace_events_max": 100_000}]), 1))
    columns, rows = result["trace"]["columns"], result["trace"]["rows"]
    event, sector = columns.index("event"), columns.index("sector")
    at = [row[sector] for row in rows if row[event] == "issue"]
    pieces = [at[len(at) * n // parts : len(at) * (n + 1) // parts] for n in range(parts)]
    assert all(len(each) > 300 for each in pieces)
    return [
        sum(abs(b - a) for a, b in zip(row, row[1:], strict=False)) / (len(row) - 1) / SPAN_SECTORS for row in pieces
    ]


@pytest.mark.parametrize(("kernel", "row"), ROWS, ids=lambda each: each if isinstance(each, str) else "")
def test_a_queue_has_the_requests_that_the_kernel_gives_it(kernel, row):
    given = settings(kernel, row["scheduler"], row["queue_depth"])
    assert given["queue_depth"] == row["queue_depth"]
    assert [given["nr_requests"]] * 3 == [row[f"nr_requests_{when}"] for when in ("chosen", "depth", "again")]


@pytest.mark.parametrize(("kernel", "row"), ROWS, ids=lambda each: each if isinstance(each, str) else "")
def test_a_scheduler_sorts_as_the_kernel_s_does(kernel, row):
    """Without NCQ mq-deadline sorts; bfq serves one process after the other and waits for it, so that its order is that of the processes."""
    seeds = [distances(as_recorded(kernel, row, seed, RECORDED["reads_each"]))[0] for seed in (1, 2, 3)]
    assert sum(seeds) / len(seeds) == pytest.approx(row["distance"], abs=0.05)


@pytest.mark.parametrize(("kernel", "merges"), [("5.10", False), ("6.1", True), ("6.12", True)])
def test_bfq_sorts_once_it_has_merged_queues_that_were_made_together(kernel, merges):
    """From 5.13 on, 600 ms after they were made, where the drive queues (depth 4): the last quarter of the recording shows it."""
    (row,) = (row for name, row in ROWS if (name, row["scheduler"], row["queue_depth"]) == (kernel, "bfq", 4))
    assert (row["distance_quarters"][-1] < 0.15) == merges
    assert (distances(as_recorded(kernel, row, 1, 96), 4)[-1] < 0.15) == merges


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


def test_without_ncq_mq_deadline_reads_faster_than_none_and_bfq_does_not():
    """The figures of docs/how-to/ncq.md."""
    given = [spec("6.1", scheduler, 1, ios=60) for scheduler in ("none", "mq-deadline", "bfq")]
    done = json.loads(_core.simulate_cells(json.dumps(given), 1))
    none, mq_deadline, bfq = (each["phases"][0]["ios"] / each["phases"][0]["elapsed_ns"] * 1e9 for each in done)
    assert mq_deadline == pytest.approx(116, rel=0.05)
    assert bfq == pytest.approx(80, rel=0.05)
    assert none == pytest.approx(bfq, rel=0.05)
