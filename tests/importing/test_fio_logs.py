"""fio's logs of averages against fio's own JSON of the same run."""

import json
from pathlib import Path

import pytest

from seekwise import importing
from seekwise.importing.result import parse_given

LOGS = Path(__file__).parent / "fio/logs"


def sides() -> list[dict]:
    (job,) = json.loads((LOGS / "th.json").read_text())["jobs"]
    return [job["read"], job["write"]]


def read(*kinds: str):
    return importing.read([LOGS / f"th_{kind}.1.log" for kind in kinds], given=parse_given(["block=4k"]))


def test_windows_of_a_job_that_pauses_add_up_to_its_json():
    _, (record,) = read("bw", "iops", "lat", "slat")
    (phase,) = record.phases
    bytes_moved, ios = sum(side["io_bytes"] for side in sides()), sum(side["total_ios"] for side in sides())
    mean_ns = sum(side["lat_ns"]["mean"] * side["total_ios"] for side in sides()) / ios
    assert phase.elapsed_s == pytest.approx(sides()[0]["runtime"] / 1e3, rel=0.001)
    assert phase.bytes == pytest.approx(bytes_moved, rel=0.001)
    assert phase.ios == pytest.approx(ios, rel=0.001)
    assert phase.latency_mean_ns == pytest.approx(mean_ns, rel=0.001)
    assert phase.latency_max_ns == 0, "the highest of averages is no request"


def test_without_the_log_of_iops_the_weights_are_those_of_bandwidth():
    _, (record,) = read("bw", "lat")
    ios = sum(side["total_ios"] for side in sides())
    mean_ns = sum(side["lat_ns"]["mean"] * side["total_ios"] for side in sides()) / ios
    assert record.phases[0].latency_mean_ns == pytest.approx(mean_ns, rel=0.001)
