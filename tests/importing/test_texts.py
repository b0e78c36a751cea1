"""What fio, CrystalDiskMark, KDiskMark and yabs print for people."""

import re
from pathlib import Path

import pytest

from seekwise import importing
from seekwise.errors import SeekwiseError
from seekwise.importing.result import parse_given
from seekwise.judge.believable import implausible
from seekwise.store.record import Record

FILES = Path(__file__).parent / "files"


def read(name: str, **more):
    return importing.read([FILES / name], **more)


def loads(records: list[Record]) -> list[tuple]:
    return [
        (r.phases[-1].operation, r.factors.get("block_bytes"), r.factors["threads"], r.factors.get("iodepth"), round(r.phases[-1].rate_bytes_per_s / 1e6, 2))
        for r in records
    ]  # fmt: skip


def test_fios_normal_output_is_read_job_by_job():
    _, records = read("fio-text-stonewalled.txt")
    assert [(r.phases[0].operation, r.phases[0].ios, r.factors["block_bytes"]) for r in records] == [
        ("seq_read", 1101, 2**20), ("rand_read", 9672, 4096), ("rand_read", 37169, 4096), ("rand_write", 4932, 4096),
    ]  # fmt: skip
    first = records[0].phases[0]
    assert first.rate_bytes_per_s / 1e6 == pytest.approx(1148, abs=1)
    assert (first.latency_mean_ns, first.latency_max_ns) == (7_292_580, 16_113_000)
    assert first.reported_percentiles_ns["99"] == 13_566_000
    assert first.cpu.submitter_system == pytest.approx(0.1025 * 1.006)
    assert records[1].phases[0].latency_mean_ns == 103_150, "`lat` in µs, though `clat` is in ns with a k"


def test_threads_that_ran_together_are_added_up_and_the_last_status_counts():
    _, (record,) = read("fio-text-status.txt")
    assert record.factors["threads"] == 2
    assert record.phases[0].operation == "mixed"
    assert record.phases[0].rate_bytes_per_s / 1e6 == pytest.approx(13.5 + 13.5 + 14.2 + 14.4, abs=0.2)


def test_syncs_lead_in_normal_output():
    run, (record,) = read("fio-text-syncs.txt")
    assert (record.phases[0].operation, record.phases[0].latency_mean_ns) == ("sync", 3_889_950)
    assert record.phases[0].reported_percentiles_ns["99"] == 9_372_000
    assert "p99 9.37 ms, p99.9 12 ms, longest 12 ms" in run.plan["notes"][0]


@pytest.mark.parametrize("version", [4, 5])
def test_terse_output_of_later_versions_has_its_fields_elsewhere(version):
    name = f"fio-terse-v{version}.txt"
    _, records = read(name, given=parse_given(["operation=rand_read", "threads=1"]))
    lines = [line.split(";") for line in (FILES / name).read_text().splitlines()]
    write = 46 if version == 4 else 52
    for record, fields in zip(records[:3], lines, strict=False):
        assert record.phases[0].bytes == int(fields[5]) * 1024
    assert records[3].phases[0].bytes == int(lines[3][write]) * 1024
    system = lines[0][129 if version == 4 else 147]
    assert records[0].phases[0].cpu.submitter_system == pytest.approx(float(system[:-1]) / 100 * int(lines[0][8]) / 1e3)


def test_crystaldiskmark_is_read_load_by_load():
    _, records = read("diskmark-crystal.txt")
    assert loads(records) == [
        ("seq_read", 2**20, 1, 8, 5000), ("rand_read", 4096, 16, 32, 2048), ("seq_write", 2**20, 1, 1, 2500),
        ("rand_write", 4096, 1, 1, 81.92), ("mixed", 4096, 1, 1, 40.96),
    ]  # fmt: skip
    assert records[0].phases[0].latency_mean_ns == 1_677_100


def test_crystaldiskmark_5_does_not_say_the_size_of_sequential_requests():
    _, records = read("diskmark-5.txt")
    assert loads(records)[0] == ("seq_read", None, 1, 32, 550)
    assert loads(records)[2] == ("rand_read", 4096, 1, 32, 400)
    assert loads(records)[4] == ("seq_read", None, 1, 1, 520)


def test_megabytes_of_kdiskmark_and_yabs_are_repaired():
    run, records = read("diskmark-k.txt")
    assert [rate for *_, rate in loads(records)] == [512, 204.8, 409.6, 40.96]
    assert "1,024,000 bytes" in " ".join(run.plan["notes"])
    for name, sizes in (("yabs-table.txt", 2), ("yabs-json.json", 1)):
        _, records = read(name)
        assert loads(records)[0] == ("mixed", 4096, 2, 64, pytest.approx(208.9, abs=0.01))
        assert len(records) == sizes
        assert records[0].phases[0].latency_mean_ns == 0


def test_fio_2_is_refused_with_the_command_that_writes_what_is_read(tmp_path):
    path = tmp_path / "old.txt"
    path.write_text(
        "r: (groupid=0, jobs=1): err= 0: pid=1: Fri\n  read : io=38788KB, bw=38634KB/s, iops=9658, runt=  1004msec\n"
    )
    with pytest.raises(SeekwiseError, match="fio 2") as caught:
        importing.read([path])
    assert "--output-format=json+" in str(caught.value.hint)


def test_crystaldiskmark_3_counts_kilobytes_of_1024():
    _, records = read("diskmark-3.txt")
    assert loads(records)[0] == ("seq_read", None, 1, 1, 250)
    assert loads(records)[2] == ("rand_read", 2**19, 1, 1, 180)
    assert loads(records)[6] == ("rand_read", 4096, 1, 32, 143.36)
    assert len(records) == 8


def test_a_sum_over_reads_and_writes_is_not_added_to_them():
    """`unified_rw_reporting=both` prints reads, writes and their sum, whose rates fio 3.33 leaves at 0."""
    _, (record,) = read("fio-text-unified.txt")
    (phase,) = record.phases
    assert (phase.operation, phase.ios, phase.bytes) == ("mixed", 3044 + 2159, (3044 + 2159) * 4096)
    assert phase.reported_percentiles_ns["99"] == 603_000, "of the sum, which has a distribution over both"
    assert phase.latency_mean_ns == pytest.approx(183_993, rel=1e-3)


def text_of(*jobs: tuple[str, str, str]) -> str:
    """Normal output of jobs of one run: (name, pattern, side), each of 1,000 requests of 4 KiB in a second."""
    openings = [
        f"{name}: (g=0): rw={rw}, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1"
        for name, rw, _ in jobs
    ]
    printed = []
    for number, (name, _, side) in enumerate(jobs):
        issued = "1000,0,0,0" if side == "read" else "0,1000,0,0"
        printed += [
            f"{name}: (groupid=0, jobs=1): err= 0: pid={number}: Sat Nov 28 04:56:14 2026",
            f"  {side}: IOPS=1000, BW=4000KiB/s (4096kB/s)(4000KiB/1000msec)",
            "     lat (usec): min=10, max=2000, avg=900.00, stdev=1.00",
            f"     issued rwts: total={issued} short=0,0,0,0 dropped=0,0,0,0",
        ]
    return "\n".join([*openings, "fio-3.33", f"Starting {len(jobs)} processes", *printed, ""])


def test_jobs_of_two_names_that_do_the_same_at_once_are_one_load(tmp_path):
    (tmp_path / "x.txt").write_text(
        text_of(("a", "randread", "read"), ("b", "randread", "read"), ("c", "write", "write"))
    )
    _, records = importing.read([tmp_path / "x.txt"])
    assert [(r.factors["threads"], r.phases[0].ios, r.factors["beside"]) for r in records] == [
        (2, 2000, "c"), (1, 1000, "a, b")]  # fmt: skip


def test_a_job_s_pattern_is_that_of_its_own_run(tmp_path):
    (tmp_path / "x.txt").write_text(text_of(("a", "randread", "read")) + text_of(("a", "write", "write")))
    _, records = importing.read([tmp_path / "x.txt"])
    assert [r.phases[0].operation for r in records] == ["rand_read", "seq_write"]


def test_the_empty_terse_line_of_a_job_without_statistics_is_passed_over(tmp_path):
    job = (FILES / "fio-terse-v5.txt").read_text().splitlines()[0]
    fields = job.split(";")
    idle = ["", "-1", "0", *("0" if "%=" not in field else field for field in fields[5:])]
    (tmp_path / "x.txt").write_text(";".join([*fields[:2], *idle]) + "\n" + job + "\n")
    _, records = importing.read([tmp_path / "x.txt"], given=parse_given(["operation=rand_read"]))
    assert [r.phases[0].bytes for r in records] == [int(fields[5]) * 1024]


def test_a_megabyte_of_the_first_kdiskmark_is_2_to_the_20(tmp_path):
    (tmp_path / "k.txt").write_text(
        "KDiskMark: https://github.com/JonMagon/KDiskMark\n[Read]\n"
        "Sequential 1 MiB (Q= 8, T= 1):   500.000 MB/s [    500.0 IOPS] < 15000.00 us>\n"
        "    Random 4 KiB (Q= 1, T= 1):    40.000 MB/s [  10240.0 IOPS] <    90.00 us>\n"
    )
    run, records = importing.read([tmp_path / "k.txt"])
    assert [rate for *_, rate in loads(records)] == [524.29, 41.94]
    assert "calls 1,048,576 bytes a megabyte" in " ".join(run.plan["notes"])


def test_requests_of_yabs_have_the_digits_of_its_rate(tmp_path):
    (tmp_path / "y.txt").write_text(
        "fio Disk Speed Tests (Mixed R/W 50/50):\nBlock Size | 4k            (IOPS) | 1m           (IOPS)\n"
        "Read       | 12.79 MB/s    (3.1k) | 491.65 MB/s    (480)\nWrite      | 12.79 MB/s    (3.1k) | 524.40 MB/s    (512)\n"
    )
    _, records = importing.read([tmp_path / "y.txt"])
    assert [round(record.phases[0].iops) for record in records] == [round(2 * 12_790 / 4), 992]


def test_the_sum_of_clients_is_not_of_the_last_job(tmp_path):
    job = text_of(("w", "write", "write"))
    whole = (
        text_of(("r", "randread", "read")).partition("processes\n")[2].replace("r: (groupid", "All clients: (groupid")
    )
    (tmp_path / "x.txt").write_text(
        job + whole.replace("total=1000,0", "total=9000,7000").replace("max=2000", "max=8000")
    )
    _, (record,) = importing.read([tmp_path / "x.txt"])
    assert (record.phases[0].operation, record.phases[0].ios) == ("seq_write", 1000)
    assert record.phases[0].latency_max_ns == 2_000_000


def terse(
    name: str, kib: int, iops: int, runtime_ms: int, side: str = "read", group: int = 0, disk_ios: int = 1
) -> str:
    """A line of version 3, with the counters of its disk."""
    moved = [
        str(kib),
        str(kib * 1000 // runtime_ms),
        str(iops),
        str(runtime_ms),
        *["0"] * 8,
        *["1%=1"] * 20,
        *["0"] * 9,
    ]
    sides = [*(moved if side == "read" else idle()), *(moved if side == "write" else idle())]
    return ";".join(["3", "fio-3.33", name, str(group), "0", *sides, "1%", "2%", *["0"] * 32, "sda", str(disk_ios), *["0"] * 6, "9%"])  # fmt: skip


def idle() -> list[str]:
    return [*["0"] * 12, *["1%=0"] * 20, *["0"] * 9]


def read_terse(tmp_path: Path, *lines: str) -> tuple[list[str], list[Record]]:
    (tmp_path / "x.txt").write_text("\n".join([*lines, ""]))
    run, records = importing.read([tmp_path / "x.txt"], given=parse_given(["operation=rand_read"]))
    return list(run.plan["notes"]), records


def test_terse_lines_of_two_loads_in_one_group_are_two_loads(tmp_path):
    """fio 3.33 wrote 33.3 MB/s of reads beside 262 MB/s of writes; added up they were 66.6."""
    _, records = read_terse(tmp_path, terse("a", 4096, 8127, 126), terse("b", 4096, 4000, 16, "write"))
    assert [(r.phases[0].operation, r.factors["block_bytes"], r.factors["beside"]) for r in records] == [
        ("rand_read", 4096, "b"), ("rand_write", 65536, "a")]  # fmt: skip
    assert [round(r.phases[0].rate_bytes_per_s / 1e6, 1) for r in records] == [33.3, 262.1]


def test_terse_lines_of_loads_that_ran_in_turn_are_not_compared(tmp_path):
    lines = [terse("q1", 4096, 1024, 1000), terse("q32", 40960, 10240, 1000, group=1)]
    _, records = read_terse(tmp_path, *lines)
    assert len({record.combination for record in records}) == 2


def test_of_terse_states_of_one_run_the_last_is_the_run(tmp_path):
    states = [(26228, 7445, 882), (77744, 10327, 1882), (117284, 10174, 2882), (121080, 10086, 3001)]
    lines = [terse("si", *state, disk_ios=number) for number, state in enumerate(states)]
    notes, (record,) = read_terse(tmp_path, *lines)
    assert (record.factors["threads"], record.phases[0].bytes) == (1, 121080 * 1024)
    assert any("3 earlier states" in note for note in notes)


def test_appended_terse_runs_are_repeats_and_threads_of_one_run_are_not(tmp_path):
    one, other = terse("j", 21651, 5406, 1001, disk_ios=7843), terse("j", 24132, 6026, 1001, disk_ios=9749)
    _, records = read_terse(tmp_path, one, other)
    assert [record.repetition for record in records] == [1, 2]
    _, (record,) = read_terse(tmp_path, one, one)
    assert (record.factors["threads"], record.phases[0].bytes) == (2, 2 * 21651 * 1024)


def test_a_synchronous_engine_has_one_request_in_flight_in_normal_output_too(tmp_path):
    (tmp_path / "x.txt").write_text(text_of(("a", "randread", "read")).replace("iodepth=1", "iodepth=32"))
    run, (record,) = importing.read([tmp_path / "x.txt"])
    assert record.factors["iodepth"] == 1
    assert any("iodepth=32 had no effect" in note for note in run.plan["notes"])


def test_syncs_of_normal_output_are_counted(tmp_path):
    printed = text_of(("a", "write", "write")) + "  fsync/fdatasync/sync_file_range:\n    sync (usec): min=1, max=9000, avg=3000.00, stdev=1.00\n"  # fmt: skip
    (tmp_path / "x.txt").write_text(printed.replace("total=0,1000,0,0", "total=0,1000,0,999"))
    _, (record,) = importing.read([tmp_path / "x.txt"])
    assert (record.phases[0].ios, record.phases[0].latency_mean_ns) == (999, 3e6)


PREFIXES = {
    "BuildKit": "#12 0.253 ", "time": "10:00:00 ", "fabric": "[host1] out: ", "ssh": "host1: ", "container": "fio-1  | ", "pod": "[pod/fio-abc/fio] ", "journal": "Nov 28 10:00:00 host fio[123]: ", "Jenkins": "[2026-11-28 10:00:00] ", "stamp": "2026-11-28T10:00:00.123456789Z ",
    "file of the runtime": "2026-11-28T10:00:00.123456789Z stdout F ", "quotation": "> ", "comment": "# ", "indented": "    ",
    "cat -n": "    {number}\t", "grep -n": "{number}:", "two words": "fio-abc12 fio ", "patch": "+", "ts": "Nov 28 10:00:00 ",
}  # fmt: skip


@pytest.mark.parametrize("kind", PREFIXES)
def test_what_a_log_writes_before_each_line_is_passed_over(kind, tmp_path):
    printed = text_of(("a", "randread", "read"))
    found = []
    for text in (
        printed,
        "".join(
            f"{PREFIXES[kind].replace('{number}', str(at))}{line}\n" for at, line in enumerate(printed.splitlines(), 8)
        ),
    ):
        (tmp_path / "x.txt").write_text(text)
        _, (record,) = importing.read([tmp_path / "x.txt"])
        found.append(record.phases)
    assert found[0] == found[1]


CELLS = {
    "CSV": 'host,output\ndb1,"{}"\n', "semicolons": 'db1;"{}"\n', "table of Markdown": "| a | {} |\n", "forum": "Code: Select all\n[code]{}[/code]\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", CELLS)
def test_output_in_a_cell_is_read_as_it_is_alone(kind, tmp_path):
    printed = text_of(("a", "randread", "read"))
    found = []
    for text in (printed, CELLS[kind].format(printed.strip())):
        (tmp_path / "x.txt").write_text(text)
        _, (record,) = importing.read([tmp_path / "x.txt"])
        found.append((record.phases, record.factors))
    assert found[0] == found[1]


def test_colours_and_cut_indents_change_nothing(tmp_path):
    printed = text_of(("a", "randread", "read"))
    (tmp_path / "x.txt").write_text(
        "\n".join(line.strip().replace("read:", "\x1b[1mread\x1b[0m:") for line in printed.splitlines())
    )
    _, (record,) = importing.read([tmp_path / "x.txt"])
    assert (record.phases[0].ios, record.phases[0].latency_mean_ns) == (1000, 900_000)


@pytest.mark.parametrize(
    ("text", "tool", "command"),
    [
        ("1.98,1.98,host,1,1700000000,16G,,8192,5,811,99\n", "bonnie++", "fio "),
        ("\tIozone: Performance Test of File I/O\n", "iozone", "fio "),
        ("PVC created x\nFIO test results:\n", "kubestr", "-o json"),
        ("=====\nFIO Benchmark Summary\n", "kbench", "fio "),
        ("1073741824 bytes (1.1 GB, 1.0 GiB) copied, 5.12 s, 210 MB/s\n", "dd", "--rw=read --bs=1m"),
        ("pgbench (15.3)\ntps = 812.3\n", "pgbench", "seekwise tune PATH -- pgbench"),
        (" I/O Speed(1st run) : 512 MB/s\n", "dd", "--rw=read --bs=1m"),
        ("Command Line: diskspd -b4K -d60 x.dat\n", "diskspd", "fio "),
        ("Total writes made:      1450\n", "rados bench", "fio "),
        ("dbench version 4.00\n", "dbench", "use `seekwise tune PATH -- dbench"),
        ("FSUse%        Count         Size    Files/sec     App Overhead\n", "fs_mark", "seekwise tune PATH"),
        ("BUFFERED READS:    1520.10 MB/sec\nFSYNCS/SECOND:     1532.11\n", "pveperf", "--fdatasync=1"),
    ],
)
def test_other_tools_are_named_with_the_command_that_writes_what_is_read(text, tool, command, tmp_path):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(SeekwiseError, match=f"is output of {tool.replace('+', '.')}, which is not read") as caught:
        importing.read([tmp_path / "x.txt"])
    assert command in str(caught.value.hint)


def test_terse_output_behind_the_line_that_says_what_a_job_does_needs_no_word(tmp_path):
    opening = (
        "job: (g=0): rw=randread, bs=(R) 8192B-8192B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=4\n"
    )
    (tmp_path / "x.txt").write_text(opening + terse("job", 8000, 1000, 1000) + "\n")
    _, (record,) = importing.read([tmp_path / "x.txt"])
    factors = record.factors
    assert record.phases[0].operation == "rand_read"
    assert (factors["block_bytes"], factors["iodepth"], factors["ioengine"]) == (8192, 4, "libaio")


def test_normal_output_that_stands_with_terse_lines_is_read(tmp_path):
    (tmp_path / "x.txt").write_text(terse("a", 4000, 1000, 1000) + "\n" + text_of(("a", "randread", "read")))
    _, (record,) = importing.read([tmp_path / "x.txt"])
    assert (record.phases[0].operation, record.factors["ioengine"]) == ("rand_read", "psync")


def test_yabs_of_2026_prints_megabytes_of_a_million_bytes(tmp_path):
    (tmp_path / "y.txt").write_text(
        "fio Disk Speed Tests (Mixed R/W 50/50):\nBlock Size | 4k            (IOPS) | 1m           (IOPS)\n"
        "Read       | 819.20 MB/s (200.0k) | 1.05 GB/s     (1.0k)\nWrite      | 819.20 MB/s (200.0k) | 1.05 GB/s     (1.0k)\n"
    )
    run, records = importing.read([tmp_path / "y.txt"])
    assert [round(record.phases[0].rate_bytes_per_s / 1e6, 1) for record in records] == [1638.4, 2100]
    assert "megabyte" not in " ".join(run.plan["notes"])


def test_writes_that_are_reported_as_mixed_are_read(tmp_path):
    """`unified_rw_reporting=1` names every side so."""
    text = text_of(("w", "randwrite", "write")).replace(" write: IOPS", " mixed: IOPS")
    (tmp_path / "x.txt").write_text(text)
    _, (record,) = importing.read([tmp_path / "x.txt"])
    assert (record.phases[0].operation, record.phases[0].ios) == ("rand_write", 1000)


def test_percentiles_of_requests_that_were_not_timed_are_none(tmp_path):
    text = "\n".join(
        line for line in text_of(("w", "randwrite", "write")).splitlines() if " lat (" not in line and " clat (" not in line
    )  # fmt: skip
    head, issued, rest = text.partition("     issued")
    (tmp_path / "x.txt").write_text(f"{head}    clat percentiles (usec):\n     | 99.00th=[    0]\n{issued}{rest}")
    _, (record,) = importing.read([tmp_path / "x.txt"])
    assert record.phases[0].reported_percentiles_ns == {}


def test_sizes_without_letters_are_of_reads_writes_and_trims(tmp_path):
    """fio before 2.18."""
    text = re.sub(r"bs=.*?, io", "bs=8192B-8192B,4096B-4096B,4096B-4096B, io", text_of(("w", "randwrite", "write")))
    (tmp_path / "x.txt").write_text(text)
    _, (record,) = importing.read([tmp_path / "x.txt"])
    assert record.factors["block_bytes"] == 4096


def test_one_short_sync_of_a_thousand_writes_is_no_durable_write(tmp_path):
    head, issued, rest = text_of(("w", "write", "write")).partition("     issued")
    syncs = "  fsync/fdatasync/sync_file_range:\n    sync (nsec): min=2279, max=2279, avg=2279.00, stdev= 0.00\n"
    (tmp_path / "x.txt").write_text(f"{head}{syncs}{issued}{rest}".replace("total=0,1000,0,0", "total=0,1000,0,1"))
    run, (record,) = importing.read([tmp_path / "x.txt"])
    assert [phase.operation for phase in record.phases] == ["seq_write"]
    assert "durable" not in " ".join(run.plan["notes"])
    (tmp_path / "x.txt").write_text(f"{head}{syncs}{issued}{rest}".replace("total=0,1000,0,0", "total=0,1000,0,1000"))
    _, (record,) = importing.read([tmp_path / "x.txt"])
    assert [phase.operation for phase in record.phases] == ["sync", "seq_write"]


@pytest.mark.parametrize(
    ("second", "side", "operation"), [("write", "write", "mixed"), ("read", "read", "mixed"), ("randread", "read", "rand_read")]
)  # fmt: skip
def test_jobs_of_different_loads_that_were_reported_as_one_have_neither_size_nor_depth(
    tmp_path, second, side, operation
):
    """`group_reporting`: one job, with the name of the first."""
    text = text_of(("a", "randread", "read"), ("b", second, side))
    head, one, other = re.split(r"^[ab]: \(groupid.*\n", text, flags=re.MULTILINE)
    head = re.sub(r"(b: .*)4096B-4096B, ioengine=psync, iodepth=1", r"\g<1>64.0KiB-64.0KiB, ioengine=libaio, iodepth=8", head)  # fmt: skip
    rates = one.partition("     issued")[0] + (other if side == "write" else "     issued rwts: total=1000,0,0,0\n")
    job = "a: (groupid=0, jobs=2): err= 0: pid=0: Sat Nov 28 04:56:14 2026\n"
    (tmp_path / "x.txt").write_text(f"{head}{job}{rates}".replace("total=0,1000", "total=1000,1000"))
    run, (record,) = importing.read([tmp_path / "x.txt"])
    assert record.phases[0].operation == operation
    assert (record.factors["threads"], record.factors.get("block_bytes"), record.factors.get("iodepth")) == (
        2,
        None,
        None,
    )
    assert record.phases[0].ios == (2000 if side == "write" else 1000)
    assert "a: jobs of different loads were reported as one" in " ".join(run.plan["notes"])


def test_lines_that_a_mail_quotes_and_wraps_are_read(tmp_path):
    printed = (
        text_of(("a", "randread", "read")).replace("(T) 4096B", "(T)\n4096B").replace("BW=4000KiB/s ", "BW=4000KiB/s\n")
    )
    assert "(T)\n4096B" in printed and "BW=4000KiB/s\n(" in printed
    quoted = "".join(f"> {line}\n" for line in printed.splitlines())
    (tmp_path / "x.txt").write_text(f"On Monday somebody wrote:\n\n{quoted}\nThat is slow.\n")
    _, (record,) = importing.read([tmp_path / "x.txt"])
    assert (record.phases[0].operation, record.phases[0].ios) == ("rand_read", 1000)
    assert record.factors["block_bytes"] == 4096


def test_the_best_rate_and_the_latency_of_kdiskmark_are_of_different_runs(tmp_path):
    """So their product is no depth: 40 MB/s of 4 KiB that took 1 ms each were not one at a time."""
    (tmp_path / "k.txt").write_text(
        "[Write]\nRandom       4 KiB (Q=  1, T= 1):    40.000 MB/s [  10000.0 IOPS] <  1000.00 us>\n"
    )
    _, records = importing.read([tmp_path / "k.txt"])
    assert implausible(records) == []


CONFIGURATIONS = {
    "udev": 'ACTION=="add|change", KERNEL=="sd*", ATTR{queue/scheduler}="none"\n', "multipath": "defaults {\n  max_sectors_kb 512\n}\n",
    "TuneD": "[main]\nsummary=x\n[disk]\nreadahead=4096\n",
}  # fmt: skip


@pytest.mark.parametrize("program", CONFIGURATIONS)
def test_a_configuration_is_named_with_the_command_that_reads_it_where_it_lies(program, tmp_path):
    (tmp_path / "x.txt").write_text(CONFIGURATIONS[program])
    with pytest.raises(SeekwiseError, match=rf"is a configuration \(of {program}\), not a benchmark") as caught:
        importing.read([tmp_path / "x.txt"])
    assert "status --all" in str(caught.value.hint)
