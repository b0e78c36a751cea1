"""Files as people have them: each right value, worked out by hand from the raw file."""

import html
import json
from pathlib import Path

import pytest

from seekwise import importing
from seekwise.errors import SeekwiseError
from seekwise.importing.result import parse_given
from seekwise.judge.believable import implausible
from seekwise.report import of_run
from seekwise.store.database import Store
from seekwise.store.record import Phase, Record
from seekwise.trace import summary
from seekwise.trace.columns import TraceError
from seekwise.trace.readers import open_trace

CASES = Path(__file__).parent / "cases"
FILES = Path(__file__).parent / "files"


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


def test_sysbench_11_is_read_with_its_rates_and_behind_a_prompt():
    for name in ("rndrw.txt", "prompt.txt"):
        record, phase = one(f"31-sysbench-1.1/{name}")
        assert (phase.operation, record.factors["threads"], record.factors["block_bytes"]) == ("mixed", 4, 16384)
        assert phase.iops == pytest.approx(2000, abs=0.01)
        assert mb_s(phase) == pytest.approx(32.768)
        assert phase.elapsed_s == pytest.approx(299.843, abs=0.001)


def test_sysbench_whose_first_line_is_lost_is_read(tmp_path):
    text = (CASES / "31-sysbench-1.1/rndrw.txt").read_text()
    (tmp_path / "x.txt").write_text("```\n" + text[text.index("Number of threads") :])
    (record,) = importing.read([tmp_path / "x.txt"])[1]
    assert record.phases[0].iops == pytest.approx(2000, abs=0.01)


def test_a_cpu_test_of_sysbench_in_the_same_file_is_passed_over(tmp_path):
    text = (CASES / "31-sysbench-1.1/rndrw.txt").read_text()
    cpu = "sysbench 1.1.0\n\nPrime numbers limit: 10000\n\nGeneral statistics:\n    total time:  10.0s\n"
    (tmp_path / "x.txt").write_text(cpu + text)
    (record,) = importing.read([tmp_path / "x.txt"])[1]
    assert record.phases[0].iops == pytest.approx(2000, abs=0.01)


def test_output_within_a_document_of_ansible_is_read(tmp_path):
    record, phase = one("32-ansible-register/result.json")
    assert (phase.operation, phase.iops, record.factors["iodepth"]) == ("rand_read", 5000, 16)
    document = json.loads((CASES / "32-ansible-register/result.json").read_text())
    shown = {"results": [{"stdout_lines": document["stdout_lines"]}]}
    (tmp_path / "debug.txt").write_text(
        f"TASK [debug] ***\nok: [db1] => {json.dumps(shown, indent=4)}\n\nPLAY RECAP ***\n"
    )
    log = "".join(json.dumps({"log": line + "\n", "stream": "stdout"}) + "\n" for line in document["stdout_lines"])
    (tmp_path / "container-json.log").write_text(log)
    text = (CASES / "31-sysbench-1.1/rndrw.txt").read_text()
    (tmp_path / "sysbench.json").write_text(json.dumps({"rc": 0, "stdout": text}))
    for name, iops in (("debug.txt", 5000), ("container-json.log", 5000), ("sysbench.json", 2000)):
        (record,) = importing.read([tmp_path / name])[1]
        assert record.phases[-1].iops == pytest.approx(iops, abs=0.01), name


MONITORS = {
    "iostat -x": "Device            r/s     rkB/s  aqu-sz  %util\nsda  2.00 100.00 0.03 1.5\n",
    "vmstat": "procs -----------memory---------- ---swap-- -----io----\n r  b   swpd   free\n",
    "pidstat": "10:00:01 AM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n",
    "diskstats": "   8       0 sda 72541 3512 5122 55 1 2 3 4 5 6 7 0 0 0 0\n",
    "pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "atop -P": "RESET\nDSK host 1732875600 2026/11/29 10:00:00 600 sda 97200 1100\n",
    "stat": "   72541     3512  5122055    31201    41201     8121  3120121   812011        0   421000   843212        0        0        0        0      120     2012\n",
    "dstat CSV": '"pcp-dstat 5.3.7 CSV Output"\n"Author:","PCP team"\n',
    "sadf -d": "# hostname;interval;timestamp;DEV;tps\nhost;600;2026-11-12 00:10:01 UTC;sda;51.20\n",
    "virsh": "Device: vda\n rd_req               2101\n rd_bytes             43543552\n",
    "biolatency": "     usecs               : count     distribution\n",
}


@pytest.mark.parametrize("name", ["iostat.txt", "iostat.json", "sar.txt", *MONITORS])
def test_counters_are_named_with_what_answers(name, tmp_path):
    path = CASES / "33-monitor-outputs" / name
    if name in MONITORS:
        (path := tmp_path / "x.txt").write_text(MONITORS[name])
    with pytest.raises(SeekwiseError, match="counters of a running machine, not a benchmark") as caught:
        importing.read([path])
    assert "sudo seekwise doctor PATH --watch 30s" in str(caught.value.hint)


OTHER_FILES = {
    "job.fio": ("[global]\nioengine=libaio\n[a]\nrw=randread\n", "fio --output-format=json+"),
    "dmesg.txt": ("[    1.803420] ata12.00: ATA-10: X\n", "seekwise devices --ncq FILE"),
    "lsblk.txt": ("NAME   MAJ:MIN RM   SIZE RO TYPE MOUNTPOINT\n", "seekwise status --all"),
    "smart.txt": ("=== START OF INFORMATION SECTION ===\n", "sudo seekwise doctor"),
    "paths.txt": ("  |- 6:0:4:13  sdaq 66:160  failed faulty running\n", "sudo seekwise doctor"),
    "show-paths.txt": ("hcil    dev dev_t pri dm_st  chk_st dev_st  next_check\n", "sudo seekwise doctor"),
    "table.txt": ("vg-lv: 0 204800 linear 8:2 2048\n", "sudo seekwise doctor"),
    "dd.txt": ("1073741824 Bytes (1,1 GB, 1,0 GiB) kopiert, 5,12 s, 210 MB/s\n", "fio --name=x"),
    "unit.service": ("[Service]\nIOReadBandwidthMax=/dev/sda 10M\n", "seekwise status --all"),
    "part.txt": ("Throughput:\n    read, MiB/s:                  6.92\n", "sysbench fileio … run"),
    "time.txt": ("real\t1m12.314s\nuser\t0m0.412s\n", "seekwise tune PATH -- COMMAND"),
    "strace.txt": ('12:00:01.123456 pread64(3, "..."..., 4096, 8192) = 4096 <0.000123>\n', "seekwise record PATH"),
    "sysctl.txt": ("dev.raid.speed_limit_max = 200000\n", "seekwise status --all"),
    "ceph.json": ('{\n    "bytes_written": 1073741824,\n    "blocksize": 4194304\n}\n', "fio --name=x"),
    "biosnoop.txt": ("0.000329000    dd       17553  sdb     W  0         4096       0.20\n", "seekwise record PATH"),
    "trace.txt": ("  8,0    3        1     0.000000000   697  G   W 223490 + 8 [k]\n", "seekwise trace show FILE"),
}


@pytest.mark.parametrize("name", OTHER_FILES)
def test_a_file_that_another_command_reads_is_said_to_be_so(name, tmp_path):
    text, command = OTHER_FILES[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(SeekwiseError) as caught:
        importing.read([tmp_path / name])
    assert command in str(caught.value.hint)


def escaped(text: str) -> str:
    return html.escape(text)


PAGES = {
    "pre": lambda text: (
        f'<html><head><script>if (1 < 2) {{}}</script></head><body><h1>Results</h1>\n<pre class="x">{escaped(text)}</pre>\n<p>done</p></body></html>'
    ),
    "pre and code": lambda text: (
        f"<div class=highlight><pre><span></span><code>{escaped(text).replace('read', '<span class=s>read</span>')}</code></pre></div>\n"
    ),
    "numeric entities": lambda text: f"<PRE>\n{text.replace(chr(34), '&#34;').replace('<', '&#x3c;')}\n</PRE>",
    "breaks": lambda text: (
        "<p>" + "<br />\n".join(escaped(line).replace("  ", "&nbsp; ") for line in text.splitlines()) + "</p>"
    ),
    "entities alone": escaped,
    "escaped twice": lambda text: f"<pre>{escaped(escaped(text))}</pre>",
    "a table's edge": lambda text: "".join(f"| {line}\n" for line in text.splitlines()),
    "times in brackets": lambda text: "".join(f"[12:00:01] {line}\n" for line in text.splitlines()),
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("file", ["fio-none.1.json", "fio-text-syncs.txt", "sysbench-rndrw.txt"])
def test_output_within_a_web_page_or_a_log_is_read_as_it_is_without(page, file, tmp_path):
    text = (FILES / file).read_text()
    (tmp_path / "page.html").write_text(PAGES[page](text))
    (tmp_path / file).write_text(text)
    plain, shown = (importing.read([tmp_path / name])[1] for name in (file, "page.html"))
    assert [record.phases for record in shown] == [record.phases for record in plain] and plain[0].phases


def test_the_table_of_fio_cdm_is_read_by_load_and_direction():
    _, records = read("48-fio-cdm/cdm.txt")
    found = {
        (r.phases[0].operation, r.factors["block_bytes"], r.factors["iodepth"], r.factors["threads"]): r.phases[0]
        for r in records
    }
    rates = {key: round(mb_s(phase), 1) for key, phase in found.items() if key[0] in ("rand_read", "seq_write")}
    assert rates == {
        ("rand_read", 4096, 32, 16): 1638.4, ("rand_read", 4096, 1, 1): 53.2,
        ("seq_write", 2**20, 8, 1): 2050, ("seq_write", 2**20, 1, 1): 1460,
    }  # fmt: skip
    assert found["rand_write", 4096, 32, 16].latency_mean_ns == 5.119e6
    assert round(mb_s(found["mixed", 4096, 32, 16])) == 430


def test_the_table_of_fio_cdm_without_mixed_loads_and_without_iops(tmp_path):
    table = "|Name        |  Read(MB/s)| Write(MB/s)|\n|------------|\n|SEQ1M Q8 T1 |     2354.63|     1126.46|\n"
    (tmp_path / "x.txt").write_text(table)
    _, records = importing.read([tmp_path / "x.txt"])
    assert [round(mb_s(record.phases[0]), 2) for record in records] == [2354.63, 1126.46]


def test_the_last_lines_of_fio_are_read_with_their_command():
    notes, (record,) = read("52-fio-summary-lines/post.txt")
    (phase,) = record.phases
    assert (phase.operation, phase.elapsed_s, record.factors["block_bytes"]) == ("mixed", 60.001, 4096)
    assert mb_s(phase) == pytest.approx(273.6, abs=0.1)
    assert any("no latencies" in note for note in notes)


FIO_LINES = {
    "fio --name=t --rw=randread --bs=4k --iodepth=32 --ioengine=libaio --numjobs=4\n   read: IOPS=12.3k, BW=48.1MiB/s (50.4MB/s)(1443MiB/30003msec)\n"
    "    clat (usec): min=120, max=81234, avg=10321.12, stdev=1421.11\n": ("rand_read", 12_315, 4, 32),
    "[global]\nbs=128k\niodepth=8\nioengine=libaio\n[seq]\nrw=write\n\nRun status group 0 (all jobs):\n"
    "  WRITE: bw=131MiB/s (137MB/s), 131MiB/s-131MiB/s (137MB/s-137MB/s), io=7832MiB (8213MB), run=60001-60001msec\n": ("seq_write", 1044, 1, 8),
}  # fmt: skip


@pytest.mark.parametrize("text", FIO_LINES)
def test_figures_of_fio_without_a_job_line_are_read(text, tmp_path):
    (tmp_path / "x.txt").write_text(text)
    (record,) = importing.read([tmp_path / "x.txt"])[1]
    (phase,) = record.phases
    found = (phase.operation, phase.iops, record.factors["threads"], record.factors["iodepth"])
    operation, iops, threads, depth = FIO_LINES[text]
    assert found == (operation, pytest.approx(iops, rel=0.002), threads, depth)


def test_the_last_lines_of_fio_alone_ask_what_was_done(tmp_path):
    line = "   READ: bw=131MiB/s (137MB/s), 131MiB/s-131MiB/s (137MB/s-137MB/s), io=7832MiB (8213MB), run=60001-60001msec\n"
    (tmp_path / "x.txt").write_text(f"Run status group 0 (all jobs):\n{line}")
    with pytest.raises(SeekwiseError, match="rw=") as caught:
        importing.read([tmp_path / "x.txt"])
    assert "--given operation=rand_read" in str(caught.value.hint)
    (record,) = importing.read([tmp_path / "x.txt"], given=parse_given(["operation=rand_read"]))[1]
    assert "block_bytes" not in record.factors


def test_the_csv_of_phoronix_has_a_set_up_in_each_column():
    notes, records = read("53-phoronix-csv/disk.csv")
    found = {(r.setting, r.phases[0].operation): r.phases[0].details["as_printed"]["MB/s"] for r in records}
    assert found == {
        ("none", "rand_read"): 1450, ("bfq", "rand_read"): 1210, ("none", "seq_write"): 2730, ("bfq", "seq_write"): 2705,
    }  # fmt: skip
    assert records[0].factors["block_bytes"] == 4096
    assert any("1450 printed" in note for note in notes)


def test_of_sizes_that_vary_the_plan_has_their_mean():
    run, _ = importing.read([CASES / "29-bssplit/bssplit.json"])
    assert run.plan["combinations"][0]["load"]["block_bytes"] == 34_816
