"""Files as people have them: each right value, worked out by hand from the raw file."""

import json
from pathlib import Path

import pytest

from seekwise import importing
from seekwise.importing.result import parse_given
from seekwise.judge.believable import implausible
from seekwise.report import of_run
from seekwise.store.database import Store
from seekwise.store.record import Phase, Record
from seekwise.trace import summary
from seekwise.trace.columns import TraceError
from seekwise.trace.readers import open_trace

CASES = Path(__file__).parent / "cases"


def read(*names: str, **more) -> tuple[list[str], list[Record]]:
    run, records = importing.read([CASES / name for name in names], **more)
    return list(run.plan["notes"]), records


def one(*names: str) -> tuple[Record, Phase]:
    _, (record,) = read(*names)
    return record, record.phases[-1]


def mb_s(phase: Phase) -> float:
    return phase.rate_bytes_per_s / 1e6


def test_options_in_global_say_what_was_done():
    record, phase = one("01-rw-in-global/job.json")
    assert phase.operation == "rand_write"
    assert mb_s(phase) == pytest.approx(12.288)
    assert record.factors["iodepth"] == 10


def test_fio_31_is_read_without_cpu_time():
    notes, (record,) = read("02-fio-3.0-to-3.7/fio-3.1.json")
    (phase,) = record.phases
    assert (phase.operation, phase.iops, phase.latency_mean_ns) == ("rand_read", 200, 20e6)
    assert mb_s(phase) == pytest.approx(0.8192)
    assert record.factors["threads"] * record.factors["iodepth"] == 4
    assert phase.cpu_efficiency is None
    assert any("CPU time is left out" in note for note in notes)


def test_stonewalled_jobs_are_four_loads_and_no_repeats():
    _, records = read("03-stonewalled-jobs/none.1.json")
    found = {(r.factors["block_bytes"], r.factors["iodepth"]): round(mb_s(r.phases[0])) for r in records}
    assert found == {(2**20, 1): 944, (2**19, 1): 524, (4096, 1): 41, (4096, 32): 328}
    assert {record.repetition for record in records} == {1}
    assert implausible(records) == []


def test_of_documents_of_one_run_the_last_is_the_run():
    notes, (record,) = read("04-several-documents/status.json")
    assert mb_s(record.phases[0]) == pytest.approx(0.4096)
    assert record.phases[0].latency_mean_ns == 9.9e6
    assert any("the last one holds the run" in note for note in notes)


def test_appended_runs_are_each_counted():
    notes, records = read("04-several-documents/appended.json")
    assert [(r.setting, round(mb_s(r.phases[0]), 3)) for r in records] == [("x", 0.41), ("bfq", 1.024)]
    assert any("holds 2 runs" in note for note in notes)


def test_files_of_one_name_are_told_apart_by_their_folders():
    _, records = read(
        "06-same-name-in-folders/RUN1/randread-1-1.json", "06-same-name-in-folders/RUN2/randread-1-1.json"
    )
    assert [(r.setting, r.repetition) for r in records] == [("RUN1", 1), ("RUN2", 1)]


def test_the_sum_of_clients_is_not_counted_twice():
    record, phase = one("08-fio-client/clients.json")
    assert (phase.operation, record.factors["threads"], phase.iops) == ("rand_read", 2, 2200)
    assert mb_s(phase) == pytest.approx(9.0112)
    assert phase.reported_percentiles_ns["99"] == 4_000_000, "fio itself merges the percentiles of its clients"


def test_unified_reporting_is_one_side_with_its_percentiles():
    record, phase = one("09-unified-reporting/mixed.json")
    assert record.factors["threads"] == 1
    assert (phase.operation, phase.iops, phase.latency_mean_ns) == ("mixed", 600, 0.9e6)
    assert mb_s(phase) == pytest.approx(2.4576)
    assert phase.reported_percentiles_ns["99"] == 4_000_000


def test_fdatasync_leads_where_writes_wait_for_it():
    notes, (record,) = read("10-fsync-latency/etcd.json")
    sync, write = record.phases
    assert (sync.operation, sync.ios, sync.latency_mean_ns, sync.latency_max_ns) == (
        "fdatasync",
        900,
        773_000,
        6_000_000,
    )
    assert sync.reported_percentiles_ns == {"50": 700_000, "99": 4_751_360}
    assert (write.operation, write.latency_mean_ns) == ("seq_write", 16_000)
    assert "mean 0.773 ms, p50 0.7 ms, p99 4.75 ms, longest 6 ms" in notes[0]
    assert implausible([record]) == [], "the syncs held the load back, nothing else"


def test_one_load_at_three_depths_compares_the_depths():
    notes, records = read(*(f"27-nothing-in-common/depth{depth}.json" for depth in (1, 8, 32)))
    assert [(r.setting, r.phases[0].iops) for r in records] == [("depth 1", 100), ("depth 8", 200), ("depth 32", 500)]
    assert len({record.combination for record in records}) == 1
    (said,) = (note for note in notes if "no two files share a load" in note)
    assert "depth 8 (depth8): random read 200 IOPS, 40 ms; depth 32 (depth32): random read 500 IOPS, 64 ms" in said


def test_sizes_by_bssplit_are_no_request_size():
    record, _ = one("29-bssplit/bssplit.json")
    assert "block_bytes" not in record.factors
    assert record.factors["bssplit"] == "4k/50:64k/50"


def test_a_stall_is_said():
    notes, _ = read("30-stall-in-an-import/stall.json")
    assert "the longest request took 30.6 s, and the mean (32.7 ms) is above p99 (24 ms)" in notes[0]


def test_a_row_of_a_windowed_log_stands_for_its_window():
    names = [f"05-windowed-logs/raid_{kind}.1.log" for kind in ("bw", "iops", "lat")]
    _, (record,) = read(*names, given=parse_given(["operation=rand_write", "block=4k"]))
    (phase,) = record.phases
    assert (phase.bytes, phase.ios, phase.elapsed_s) == (5100 * 1024, 1275, 5.5)
    assert phase.latency_mean_ns == pytest.approx((1250 * 1e6 + 25 * 4e9) / 1275)


def test_appended_texts_of_blkparse_are_two_recordings_behind_each_other():
    notes, chunks = open_trace(CASES / "24-blkparse-appended/all.txt")
    found = summary.summary_of(chunks)
    assert (found.requests, found.cut) == (8, 0)
    assert "The file holds 2 recordings, shown one behind the other" in notes.sentences
    assert found.seconds == pytest.approx(0.011 + 0.110)


def test_a_stall_of_reads_and_writes_that_have_no_common_p99_is_said(tmp_path):
    document = json.loads((CASES / "30-stall-in-an-import/stall.json").read_text())
    (job,) = document["jobs"]
    job["job options"]["rw"] = "randrw"
    job["write"] = job["read"]
    (tmp_path / "x.json").write_text(json.dumps(document))
    run, (record,) = importing.read([tmp_path / "x.json"])
    assert record.phases[0].percentiles_ns.get("99") is None
    assert "x, mixed: the longest request took 30.6 s (mean 32.7 ms)" in " ".join(run.plan["notes"])


@pytest.mark.parametrize(
    ("name", "words"), [("job_lat.1.log", "an average over a window"), ("job_bw.1.log", "log of bandwidth")]
)
def test_averages_are_no_trace(name, words):
    with pytest.raises(TraceError, match=words) as caught:
        summary.summary_of(open_trace(CASES / "25-trace-of-averages" / name)[1])
    assert "seekwise import" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("names", "headline"),
    [
        (
            ["01-rw-in-global/job.json", "30-stall-in-an-import/stall.json"],
            "Nothing is compared: no two of these set-ups measured the same load.",
        ),
        (
            [f"27-nothing-in-common/depth{depth}.json" for depth in (1, 8, 32)],
            "No two files share a load; their queue depths are compared: random read 100 IOPS at depth 1, 200 at 8, 500 at 32. One repeat of each gives no answer: 3 of each are needed.",
        ),
        (
            ["06-same-name-in-folders/RUN1/randread-1-1.json", "06-same-name-in-folders/RUN2/randread-1-1.json"],
            "So far random read: RUN1 0.504 MB/s, RUN2 0.27 MB/s. One repeat of each gives no answer: 3 of each are needed.",
        ),
    ],
)
def test_the_headline_says_what_can_be_compared(tmp_path, names, headline):
    assert headline_of([CASES / name for name in names], tmp_path) == headline


def headline_of(files: list[Path], tmp_path: Path) -> str:
    run, records = importing.read(files)
    with Store.open(tmp_path / "m.db") as store:
        store.add_run(run)
        for record in records:
            store.add(record)
        store.end_run(run.run_id, "complete")
        return of_run.of_runs(store, store.run(run.run_id)).headline()


def test_of_many_loads_the_headline_says_who_is_ahead_in_how_many(tmp_path):
    document = json.loads((CASES / "27-nothing-in-common/depth1.json").read_text())
    (job,) = document["jobs"]
    whole_ms, files = job["read"]["runtime"], []
    for setting, share in (("RAID0", 2), ("RAID5", 1)):
        for depth in (1, 8):
            job["job options"] |= {"rw": "randread", "iodepth": str(depth)}
            job["read"]["runtime"] = whole_ms // share
            files.append(tmp_path / setting / f"randread-{depth}-1.json")
            files[-1].parent.mkdir(exist_ok=True)
            files[-1].write_text(json.dumps(document))
    assert headline_of(files, tmp_path).startswith("So far RAID0 has the higher throughput in 2 of 2 loads, 2 times on average.")  # fmt: skip


def test_depths_of_several_loads_are_compared_where_a_load_has_several(tmp_path):
    # As bench-fio writes them: MODE-DEPTH-JOBS.json; one mode was measured at one depth alone.
    document = json.loads((CASES / "27-nothing-in-common/depth1.json").read_text())
    (job,) = document["jobs"]
    for mode, depth in (("randread", 1), ("randread", 8), ("randwrite", 1), ("randwrite", 8), ("randwrite", 32)):
        job["job options"] |= {"rw": mode, "iodepth": str(depth)}
        if mode == "randwrite" and job["read"]["total_ios"]:
            job["read"], job["write"] = job["write"], job["read"]
        (tmp_path / f"{mode}-{depth}-1.json").write_text(json.dumps(document))
    assert (
        "random read 100 IOPS at depth 1, 100 at 8; random write 100 IOPS at depth 1, 100 at 8, 100 at 32"
        in headline_of(sorted(tmp_path.glob("*.json")), tmp_path)
    )
