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


def of_lines(folder: Path, **logs: str):
    """(threads, the phase) of logs that are written here, e.g. `bw="500,4000,0,0,0"`."""
    paths = []
    for kind, text in logs.items():
        path = folder / f"x_{kind}.log" if "again" in kind else folder / f"x_{kind}.1.log"
        path = path.with_name(path.name.replace("_again", ""))
        path.write_text(text)
        paths.append(path)
    _, (record,) = importing.read(paths, given=parse_given(["operation=rand_read", "block=4k"]))
    return record.factors["threads"], record.phases[0]


def test_times_since_1970_are_times_since_the_start(tmp_path):
    base = 1795828215618
    lines = [f"{base + 500 * (window + 1)}, {{}}, 0, 0, 0\n" for window in range(6)]
    _, phase = of_lines(
        tmp_path,
        bw="".join(line.format(4000) for line in lines),
        iops="".join(line.format(1000) for line in lines),
        lat="".join(line.format(2_000_000) for line in lines),
    )
    assert (phase.elapsed_s, phase.iops) == (pytest.approx(3.0), pytest.approx(1000))
    assert phase.rate_bytes_per_s == pytest.approx(4_096_000)
    assert phase.latency_mean_ns == pytest.approx(2e6)


def test_times_since_1970_of_single_requests(tmp_path):
    _, phase = of_lines(tmp_path, lat="".join(f"{1795828215618 + 10 * n}, 5000000, 0, 4096, 0\n" for n in range(101)))
    assert (phase.elapsed_s, phase.ios) == (pytest.approx(1.0), 101)


def test_jobs_in_one_file_are_added(tmp_path):
    # `per_job_logs=0` appends job after job: 1,000 and 3,000 requests per second.
    job = "500,{0},0,0,0\n1001,{0},0,0,0\n1500,{0},0,0,0\n"
    threads, phase = of_lines(
        tmp_path,
        bw_again=job.format(4000) + job.format(12_000),
        iops_again=job.format(1000) + job.format(3000),
        lat_again=job.format(4_000_000) + job.format(1_000_000),
    )
    assert (threads, phase.elapsed_s) == (2, pytest.approx(1.5))
    assert phase.iops == pytest.approx(4000, rel=0.001)
    assert phase.latency_mean_ns == pytest.approx(1_750_000, rel=0.001)


def test_the_last_window_of_a_job_that_ended_early_is_as_those_before(tmp_path):
    # Of the second job the last window was not written: it did not stand still.
    first, second = (
        "".join(f"{t},1000,0,0,0\n" for t in (250, 500, 750, 1000)),
        "250,1000,0,0,0\n500,1000,0,0,0\n750,1000,0,0,0\n",
    )
    (tmp_path / "x_iops.1.log").write_text(first)
    (tmp_path / "x_iops.2.log").write_text(second)
    _, (record,) = importing.read(
        [tmp_path / "x_iops.1.log", tmp_path / "x_iops.2.log"], given=parse_given(["operation=rand_read", "block=4k"])
    )
    assert record.phases[0].iops == pytest.approx(2000)


def test_windows_between_pauses_are_not_taken_for_as_long_as_the_pauses(tmp_path):
    # fio 3.33, log_avg_msec=100, a pause of 300 ms after 400 requests; its JSON has 4,003 requests.
    lines = ((149, 2704), (350, 4000), (651, 4000), (951, 1000), (1054, 2941), (1354, 4000), (1654, 4000), (1955, 4000), (2255, 4000), (2556, 4000), (2857, 2200), (2957, 1800))  # fmt: skip
    _, phase = of_lines(tmp_path, iops="".join(f"{time},{value},0,0,0\n" for time, value in lines))
    assert phase.ios == pytest.approx(4003, rel=0.04)


def test_a_coarser_histogram_has_the_upper_bounds_of_its_wider_bins(tmp_path):
    bins = [0] * 232
    bins[20] = 100  # bins 160 to 167 of the full histogram; 128 to 255 ns in steps of 2, so the last ends at 207 ns
    _, phase = of_lines(tmp_path, clat_hist=f"1000,0,4096,{','.join(map(str, bins))}\n")
    assert phase.latency_bins == {207: 100}


LAT = "500, {0}, 0, 0, 0\n1000, {0}, 0, 0, 0\n1500, {0}, 0, 0, 0\n"
RATE = {"bw": LAT.format(4000), "iops": LAT.format(1000)}


def imported(folder: Path, *words: str, only: str = "*.log", **logs: str):
    """(the record, what the run says) of logs that are written here."""
    for kind, text in logs.items():
        (folder / f"x_{kind}.1.log").write_text(text)
    run, (record,) = importing.read(
        sorted(folder.glob(only)), given=parse_given(["operation=rand_read", "block=4k", *words])
    )
    return record, " ".join(run.plan["notes"])


def json_of_the_run(folder: Path, **options: str) -> None:
    """fio's JSON of a run that wrote the logs: 1,500 requests in 1.5 s, 0.9 ms on average."""
    side = {"io_bytes": 6_144_000, "io_kbytes": 6000, "runtime": 1500, "total_ios": 1500, "short_ios": 0}
    latency = {"min": 1, "max": 9_000_000, "mean": 900_000.0, "percentile": {"99.000000": 2_000_000}}
    idle = {**side, "io_bytes": 0, "io_kbytes": 0, "total_ios": 0, "lat_ns": {**latency, "mean": 0.0}}
    job = {
        "jobname": "j", "groupid": 0, "error": 0, "usr_cpu": 1.0, "sys_cpu": 1.0,
        "job options": {"rw": "randread", "bs": "4k", "write_lat_log": "/results/x", **options},
        "read": {**side, "lat_ns": latency}, "write": idle,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps({"fio version": "fio-3.33", "jobs": [job]}))


def test_the_longest_of_each_window_is_no_mean_where_parts_do_not_add_up(tmp_path):
    parts = {"slat": LAT.format(300_000), "clat": LAT.format(9_000_000), "lat": LAT.format(9_010_000)}
    record, said = imported(tmp_path, **RATE, **parts)
    (phase,) = record.phases
    assert (phase.latency_mean_ns, phase.latency_max_ns) == (0, 9_010_000)
    assert "longest request of each window (log_max_value)" in said


def test_means_add_up_and_need_no_doubt(tmp_path):
    parts = {"slat": LAT.format(10_000), "clat": LAT.format(890_000), "lat": LAT.format(900_001)}
    record, said = imported(tmp_path, **RATE, **parts)
    assert record.phases[0].latency_mean_ns == pytest.approx(900_001)
    assert "log_max_value" not in said


@pytest.mark.parametrize(("slat", "words"), [("", ()), (None, ("iodepth=1",))])
def test_more_in_flight_than_the_depth_are_no_means(tmp_path, slat, words):
    """An empty log of submission times is that of a synchronous engine, which has one request in flight."""
    record, said = imported(
        tmp_path, *words, **RATE, lat=LAT.format(9_000_000), **({} if slat is None else {"slat": slat})
    )
    assert (record.phases[0].latency_mean_ns, record.phases[0].latency_max_ns) == (0, 9_000_000)
    assert "the longest of all took 9 ms" in said
    record, said = imported(tmp_path, *words, lat=LAT.format(900_000))
    assert record.phases[0].latency_mean_ns == pytest.approx(900_000)
    assert "log_max_value" not in said


def test_a_log_that_could_hold_either_says_so(tmp_path):
    record, said = imported(tmp_path, **RATE, lat=LAT.format(9_000_000))
    assert record.phases[0].latency_mean_ns == pytest.approx(9_000_000)
    assert "with log_max_value, the longest of its requests, and nothing here says which" in said


def test_the_json_beside_the_logs_says_which(tmp_path):
    json_of_the_run(tmp_path, log_avg_msec="500", log_max_value="1")
    record, said = imported(tmp_path, **RATE, lat=LAT.format(9_000_000))
    assert record.phases[0].latency_mean_ns == 0
    assert "run.json holds the same run" in said
    json_of_the_run(tmp_path, log_avg_msec="500")
    record, said = imported(tmp_path)
    assert record.phases[0].latency_mean_ns == pytest.approx(9_000_000)
    assert "log_max_value" not in said


def test_logs_imported_with_the_json_of_their_run_count_it_once(tmp_path):
    json_of_the_run(tmp_path, log_avg_msec="500", log_max_value="1")
    record, said = imported(tmp_path, only="*", **RATE, lat=LAT.format(9_000_000))
    assert record.phases[0].latency_mean_ns == 900_000
    assert "3 logs of" in said and "left out: fio's JSON holds the same" in said


def test_both_columns_are_the_mean_and_the_longest(tmp_path):
    both = "500, {0}, {1}, 0, 0, 0\n1000, {0}, {1}, 0, 0, 0\n1500, {0}, {1}, 0, 0, 0\n"
    rates = {"bw": both.format(4000, 4000), "iops": both.format(1000, 1000)}
    record, said = imported(tmp_path, **rates, lat=both.format(900_000, 9_000_000))
    (phase,) = record.phases
    assert (phase.latency_mean_ns, phase.latency_max_ns) == (pytest.approx(900_000), 9_000_000)
    assert phase.iops == pytest.approx(1000)
    assert "log_max_value" not in said
