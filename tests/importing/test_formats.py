"""Results of other tools: what each file says arrives in records, repaired where its tool is known to be wrong."""

import json
import shutil
from pathlib import Path

import pytest

from seekwise import importing
from seekwise.cli import import_
from seekwise.errors import SeekwiseError, UsageError
from seekwise.importing import fio_logs, gvariant, registry
from seekwise.importing.result import parse_given
from seekwise.judge.observe import observations, values
from seekwise.judge.records import judge_records
from seekwise.report.rows import trial_rows
from seekwise.store import codec

HERE = Path(__file__).parent / "files"
MIB = 2**20


def read(*names, given=(), **more):
    return importing.read([HERE / name for name in names], given=parse_given(given), **more)


def phases(*names, given=()):
    """{operation: phase} of the first record."""
    _, records = read(*names, given=given)
    return {phase.operation: phase for phase in records[0].phases}


def notes(run):
    return " ".join(run.plan["notes"])


def test_every_fixture_is_read_by_the_format_that_is_meant_for_it():
    from seekwise.importing.build import _format, _source

    meant = {"fio-terse": "fio-terse", "fio-text": "fio-text", "fio": "fio-json"}
    for path in sorted(HERE.iterdir()):
        if path.is_file() and path.name != "README.md":
            stem = path.name.split(".")[0]
            name = meant.get("-".join(stem.split("-")[:2])) or meant.get(stem.split("-")[0]) or stem.split("-")[0]
            name = "gnome-disks" if stem.startswith("gnome") else name
            assert _format(_source(path)).name == name, path.name


def test_names_in_the_help_are_those_of_the_registry():
    assert tuple(each.name for each in registry.FORMATS) == import_.FORMAT_NAMES
    for form in registry.FORMATS:
        for key in form.takes:
            parse_given([f"{key}={'rand_read' if key == 'operation' else '0.3.3' if key == 'tool-version' else 4096}"])


def test_fio_json_keeps_iops_and_p99_so_that_they_are_judged():
    run, records = read("fio-none.1.json", "fio-none.2.json", "fio-bfq.1.json", "fio-bfq.2.json")
    source = json.loads((HERE / "fio-none.1.json").read_text())["jobs"][0]
    phase = records[0].phases[0]
    assert phase.iops == pytest.approx(source["read"]["iops"], rel=1e-3)
    assert phase.reported_percentiles_ns["99"] == source["read"]["clat_ns"]["percentile"]["99.000000"]
    assert [record.repetition for record in records] == [1, 2, 1, 2]
    assert {record.setting for record in records} == {"fio-none", "fio-bfq"}
    judged = {each.metric for each in judge_records(records)}
    assert {"rate", "access_time", "p99"} <= judged
    rows = trial_rows(records)
    assert rows[0]["p99_ms"] == pytest.approx(phase.reported_percentiles_ns["99"] / 1e6)
    assert "fewer than 3 repeats" in notes(run)


def test_reported_percentiles_survive_the_database_format():
    _, records = read("fio-none.1.json")
    again = codec.decode(codec.encode(records[0]))
    assert again.phases[0].reported_percentiles_ns == records[0].phases[0].reported_percentiles_ns
    document = codec.to_document(records[0])
    assert document["phases"][0]["derived"]["latency_percentiles_ns"]["99"] > 0


def test_fio_json_plus_has_its_histogram():
    phase = phases("fio-jsonplus.json")["rand_read"]
    assert sum(phase.latency_bins.values()) == phase.ios
    assert phase.reported_percentiles_ns["99"] == 111_104, "as fio prints it"


def test_fio_json_of_jobs_that_were_not_grouped_has_no_p99(tmp_path):
    document = json.loads((HERE / "fio-none.1.json").read_text())
    document["jobs"] = document["jobs"] * 2
    (tmp_path / "two.json").write_text(json.dumps(document))
    run, records = importing.read([tmp_path / "two.json"])
    assert not records[0].phases[0].reported_percentiles_ns
    assert "percentiles cannot be merged" in notes(run)


def test_fio_terse_agrees_with_its_fields():
    _, records = read("fio-terse-two.txt", given=["threads=1", "operation=rand_read"])
    # Two groups, one after the other: two loads.
    write, reads = (record.phases[0] for record in records)
    fields = (HERE / "fio-terse-two.txt").read_text().splitlines()[-1].split(";")
    # What is said of the pattern holds for every job of the file; the direction is in the data.
    assert (write.operation, reads.operation) == ("rand_write", "rand_read")
    assert reads.bytes == int(fields[5]) * 1024
    assert reads.iops == pytest.approx(float(fields[7]), rel=2e-3)
    assert reads.reported_percentiles_ns["99"] == 10944 * 1000
    assert reads.latency_mean_ns == pytest.approx(float(fields[39]) * 1e3)
    assert reads.cpu.submitter_system == pytest.approx(float(fields[88].rstrip("%")) / 100 * reads.elapsed_s)


def test_fio_terse_leaves_cpu_out_where_it_cannot_know_the_threads():
    run, records = read("fio-terse.txt")
    assert records[0].phases[0].operation == "mixed"
    assert records[0].phases[0].cpu_efficiency is None
    assert "--given threads=N" in notes(run)


def test_fio_logs_of_one_run_are_one_trial_with_a_histogram():
    names = sorted(f"logs/{path.name}" for path in (HERE / "logs").glob("lg_*") if "slat" not in path.name)
    _, records = read(*names, given=["operation=rand_read", "block=4k"])
    assert len(records) == 1
    phase = records[0].phases[0]
    assert records[0].factors["threads"] == 2
    assert sum(phase.latency_bins.values()) == phase.ios > 1000
    # Two jobs of about 2 s: rate and IOPS come from different logs and must agree.
    assert phase.bytes / phase.ios == pytest.approx(4096, rel=0.02)
    assert "p99" in values(phase)
    assert phase.latency_mean_ns > 10_000


def test_fio_logs_with_every_request_are_exact():
    _, records = read("logs/raw_lat.1.log", "logs/raw_bw.1.log", "logs/raw_iops.1.log", given=["operation=rand_write"])
    phase = records[0].phases[0]
    assert (phase.ios, phase.bytes) == (96, 6 * MIB)
    lines = [int(line.split(",")[1]) for line in (HERE / "logs" / "raw_lat.1.log").read_text().splitlines()]
    assert phase.latency_max_ns == max(lines)
    assert phase.latency_mean_ns == pytest.approx(sum(lines) / len(lines))
    assert records[0].factors["block_bytes"] == 65536
    assert records[0].setting == "raw"


def test_bins_of_fios_histogram_log_have_the_bounds_of_its_json():
    from seekwise.importing.fio_result import bin_upper

    for index in (0, 5, 127, 128, 129, 200, 640, 1000, fio_logs.BINS - 1):
        bound = fio_logs.upper_bound_ns(index)
        assert bin_upper(bound) == bound
        assert bound > fio_logs.upper_bound_ns(index - 1) or index == 0


def test_tiotest_cpu_that_no_thread_can_use_is_divided_by_the_threads():
    run, records = read("tiotest-16-threads.txt")
    write = records[0].phases[0]
    assert write.elapsed_s == pytest.approx(2048 / 8667.792)
    assert write.cpu.submitter_system == pytest.approx(55.359 * write.elapsed_s / 16)
    assert write.details["as_printed"]["system_cpu_percent"] == 5535.9
    assert "divided by 16" in notes(run)
    assert "16 threads can use 1600 % at most" in notes(run)


def test_tiotest_cpu_is_left_alone_where_nothing_proves_the_fault():
    run, records = read("tiotest-head-4-threads.txt")
    write = records[0].phases[0]
    assert write.cpu.submitter_system == pytest.approx(0.429 * write.elapsed_s)
    assert "--given tool-version=0.3.3" in notes(run)


@pytest.mark.parametrize(
    ("given", "divisor"), [("tool-version=0.3.3", 4), ("tool-version=0.4.2", 1), ("tool-version=0.3.1", 1)]
)
def test_the_version_of_tiotest_decides_where_it_is_given(given, divisor):
    write = phases("tiotest-head-4-threads.txt", given=[given])["seq_write"]
    assert write.cpu.submitter_system == pytest.approx(0.429 * write.elapsed_s / divisor)


def test_fewer_processors_than_threads_prove_the_fault_earlier(tmp_path):
    text = (HERE / "tiotest-head-4-threads.txt").read_text().replace("0.0 %  |  42.9 %", "9.0 %  | 242.9 %")
    (tmp_path / "t.txt").write_text(text)
    run, _ = importing.read([tmp_path / "t.txt"], given=parse_given(["processors=2"]))
    assert "2 CPUs can use 200 % at most" in notes(run)


def test_tiotest_counts_operations_of_its_default_block():
    found = phases("tiotest-quoted-2005.txt")
    assert set(found) == {"seq_write", "rand_write", "seq_read", "rand_read"}
    assert found["seq_read"].rate_bytes_per_s == pytest.approx(239.332 * MIB)
    assert found["seq_read"].ios == 32768 * 256
    assert found["rand_read"].latency_mean_ns == pytest.approx(3.365e6)


def overstated(tmp_path, latency="0.157"):
    """0.4.0 to 0.4.2: 1000 operations per thread at 0.157 ms, printed as if the whole 128 MiB had been read."""
    path = tmp_path / "old.txt"
    path.write_text(
        "Tiotest results for 4 concurrent io threads:\n"
        "| Read          128 MBs |    0.1 s | 2000.000 MB/s |   0.0 %  |  42.9 % |\n"
        "| Random Read   128 MBs |    0.2 s | 800.000 MB/s |   0.8 %  |  95.8 % |\n"
        "Tiotest latency results:\n"
        "| Read         |        0.005 ms |       24.220 ms |  0.00000 |   0.00000 |\n"
        f"| Random Read  |        {latency} ms |        2.599 ms |  0.00000 |   0.00000 |\n"
    )
    return path


def test_random_amounts_that_could_not_have_been_moved_in_the_time_are_repaired(tmp_path):
    run, records = importing.read([overstated(tmp_path)])
    random = records[0].phases[1]
    assert random.ios == 4000
    assert random.rate_bytes_per_s == pytest.approx(4000 * 4096 / 0.16)
    assert "128 MiB printed, 15.6 MiB moved" in notes(run)


def test_random_amounts_that_are_possible_stay_and_the_doubt_is_said(tmp_path):
    run, records = importing.read([overstated(tmp_path, latency="0.002")])
    assert records[0].phases[1].bytes == 128 * MIB
    assert "--given tool-version=0.4.2" in notes(run)


def test_tiotest_terse_needs_its_threads():
    with pytest.raises(SeekwiseError, match="how many threads") as caught:
        read("tiotest-terse.txt")
    assert "--given threads=4" in caught.value.hint
    found = phases("tiotest-terse.txt", given=["threads=4"])
    assert found["seq_write"].rate_bytes_per_s == pytest.approx(256 * MIB / 0.36709)
    assert found["seq_write"].cpu.submitter_system == pytest.approx(0.21937)


def test_tiobench_rows_are_trials_of_their_identifier():
    _, records = read("tiobench-2003-as-dl.txt")
    assert len(records) == 24
    assert {record.setting for record in records} == {"65-mm4-dl", "65-mm4-as", "69-mm1-as"}
    last = records[11]
    assert (last.setting, last.factors["threads"], last.phases[0].operation) == ("69-mm1-as", 256, "seq_read")
    assert last.phases[0].rate_bytes_per_s == pytest.approx(34.16 * MIB)
    assert last.phases[0].latency_max_ns == pytest.approx(12700.17e6)
    assert last.phases[0].iops == pytest.approx(34.16 * 256, rel=1e-3)


def test_tiobench_reads_the_layouts_of_03_and_04():
    _, old = read("tiobench-2.6.6.txt")
    _, new = read("tiobench-head.txt")
    assert [record.factors["threads"] for record in old] == [1, 2, 4, 8]
    assert old[0].factors["file_mib"] == 1534
    assert new[1].phases[0].rate_bytes_per_s == pytest.approx(3577.42 * MIB)


def test_tiobench_latencies_are_divided_by_the_runs_that_were_added_up():
    once, twice = (phases("tiobench-head.txt", given=given)["seq_read"] for given in ((), ("numruns=2",)))
    assert twice.latency_max_ns == pytest.approx(once.latency_max_ns / 2)


def test_sysbench_latency_counts_only_without_fsyncs():
    reads = phases("sysbench-rndrd.txt")["rand_read"]
    assert reads.rate_bytes_per_s == pytest.approx(131.48 * MIB)
    assert reads.latency_mean_ns == pytest.approx(0.12e6)
    assert reads.reported_percentiles_ns == {"95": 140_000}
    run, records = read("sysbench-rndrw.txt")
    mixed = records[0].phases[0]
    assert mixed.operation == "mixed"
    assert "access_time" not in values(mixed)
    assert "fsyncs" in notes(run)


def test_gnome_disks_samples_are_requests():
    _, records = read("gnome-disks.gnome-disks-benchmark")
    found = {phase.operation: phase for record in records for phase in record.phases}
    assert found["seq_read"].ios == 10
    assert found["seq_read"].bytes == 100 * MIB
    throughputs = [1.8e8 - place * 5e6 for place in range(10)]
    assert found["seq_read"].rate_bytes_per_s == pytest.approx(10 / sum(1 / throughput for throughput in throughputs))
    assert found["rand_read"].ios == 100
    assert 8e6 < found["rand_read"].latency_mean_ns < 18e6


def test_gvariant_agrees_with_glib():
    gi = shutil.which("gi-inspect-typelib")
    data = (HERE / "gnome-disks.gnome-disks-benchmark").read_bytes()
    found = gvariant.vardict(data)
    assert gi is None or found
    assert found["version"] == 1
    assert found["device-size"] == 10**10
    assert found["read-samples"][3] == (3 * 10**9, 1.65e8)


def test_phoronix_runs_are_repeats_and_its_units_are_one_record():
    run, records = read("phoronix.xml")
    fio = [record for record in records if "fio" in record.factors["load"]]
    assert [(record.setting, record.repetition) for record in fio] == [
        (setting, repetition) for setting in ("mq-deadline", "none") for repetition in (1, 2, 3)
    ]
    assert fio[0].phases[0].iops == 11650
    # MB/s of 45.5 and 11650 IOPS of 4 KiB: the unit was MiB.
    assert fio[0].phases[0].rate_bytes_per_s == pytest.approx(45.5 * MIB)
    assert "7zip" in notes(run)
    assert {each.metric for each in judge_records(records)} == {"rate"}


def test_random_rates_of_pts_tiobench_13_are_repaired():
    run, records = read("phoronix.xml")
    random = next(record for record in records if "tiobench" in record.factors["load"])
    assert random.factors["threads"] == 8
    assert random.phases[0].rate_bytes_per_s == pytest.approx(1638.4 * MIB / 16.384)
    assert "divided by 16.4" in notes(run)


def test_settings_of_the_command_line_win_and_must_be_as_many():
    _, records = read("fio-none.1.json", "fio-bfq.1.json", labels=("a", "b"))
    assert [record.setting for record in records] == ["a", "b"]
    with pytest.raises(UsageError, match="2 files, but 1 times"):
        read("fio-none.1.json", "fio-bfq.1.json", labels=("a",))


def test_what_a_tool_does_not_measure_is_not_judged():
    _, records = read("sysbench-rndrw.txt")
    assert {o.metric for o in observations(records)} == {"rate"}


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("threads", "not KEY=VALUE"),
        ("colour=red", "not KEY=VALUE with a known key"),
        ("threads=many", "whole number"),
        ("threads=0", "whole number"),
        ("block=large", "a size such as"),
        ("operation=read", "must be one of"),
        ("tool-version=new", "a version such as"),
    ],
)
def test_wrong_facts_are_named(word, says):
    with pytest.raises(UsageError, match=says):
        parse_given([word])


def test_a_fact_that_says_nothing_about_the_files_is_an_error():
    with pytest.raises(UsageError, match="says nothing about these files"):
        read("fio-none.1.json", given=["numruns=3"])
