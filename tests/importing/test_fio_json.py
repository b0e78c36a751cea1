"""fio's JSON in every shape that fio 3.33 writes; figures by hand from the files."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise import importing
from seekwise.cli.main import cli
from seekwise.errors import SeekwiseError
from seekwise.importing.result import parse_given
from seekwise.judge.believable import implausible

FIO = Path(__file__).parent / "fio"
FOREIGN = Path(__file__).parent / "files"
RAW = {path.stem: path.read_text(encoding="utf-8") for path in FIO.glob("*.json")}


def read(*names: str, **more):
    return importing.read([FIO / f"{name}.json" for name in names], **more)


def jobs(name: str) -> list[dict]:
    """Of the last document."""
    text = RAW[name]
    document = json.loads(text[text.rindex("\n{\n") + 1 :] if "\n{\n" in text else text)
    return document.get("jobs", document.get("client_stats"))


def notes(run) -> str:
    return " ".join(run.plan["notes"])


SIMPLE = {
    "uni1": ("mixed", "rand_read"), "uniboth": ("mixed", "mixed"), "endfsync": ("write", "rand_write"), "verify": ("write", "seq_write"),
    "bssplit": ("read", "rand_read"), "noengine": ("read", "rand_read"), "grp": ("read", "rand_read"), "gtod": ("write", "rand_write"),
    "noclat": ("read", "rand_read"), "status": ("read", "rand_read"),
}  # fmt: skip


@pytest.mark.parametrize("name", SIMPLE)
def test_one_job_is_its_side(name):
    key, operation = SIMPLE[name]
    _, (record,) = read(name)
    (phase,), (job,) = record.phases, jobs(name)
    side = job[key]
    assert phase.operation == operation
    assert (phase.bytes, phase.ios, phase.elapsed_s) == (side["io_bytes"], side["total_ios"], side["runtime"] / 1e3)
    assert phase.latency_mean_ns == pytest.approx(side["lat_ns"]["mean"])
    assert phase.latency_max_ns == side["lat_ns"]["max"]
    percentiles = side["clat_ns"].get("percentile", {})
    assert phase.reported_percentiles_ns.get("99") == percentiles.get("99.000000")
    assert phase.cpu.submitter_user == pytest.approx(job["usr_cpu"] / 100 * job["job_runtime"] / 1e3)


def test_threads_are_counted_with_and_without_group_reporting_and_over_clients():
    for name, threads in (("grp", 3), ("nogrp", 3), ("client2", 4), ("client2n", 4)):
        _, (record,) = read(name)
        assert record.factors["threads"] == threads, name


@pytest.mark.parametrize("name", ["client2", "client2n"])
def test_clients_add_up_to_what_fio_itself_adds_up(name):
    _, (record,) = read(name)
    total = jobs(name)[-1]
    assert total["jobname"] == "All clients"
    assert record.phases[0].ios == total["read"]["total_ios"]
    assert record.phases[0].bytes == total["read"]["io_bytes"]


def test_stonewalled_jobs_keep_their_own_options():
    _, records = read("cdm")
    found = [(r.phases[0].operation, r.factors["block_bytes"], r.factors["iodepth"], r.phases[0].ios) for r in records]
    ios = [job["read"]["total_ios"] + job["write"]["total_ios"] for job in jobs("cdm")]
    assert found == [
        ("seq_read", 2**20, 8, ios[0]), ("rand_read", 4096, 1, ios[1]), ("rand_read", 4096, 32, ios[2]), ("rand_write", 4096, 1, ios[3]),
    ]  # fmt: skip


def test_jobs_of_different_loads_at_the_same_time_are_kept_apart():
    _, (reader, writer) = read("together")
    assert (reader.phases[0].operation, writer.phases[0].operation) == ("rand_read", "seq_write")
    assert (reader.factors["beside"], writer.factors["beside"]) == ("writer", "reader")
    assert reader.phases[0].ios == jobs("together")[0]["read"]["total_ios"]


def test_appended_runs_of_one_job_are_repeats_and_that_is_said():
    run, records = read("appended")
    assert [record.repetition for record in records] == [1, 2]
    assert "taken for repeats (same load, same set-up): of appended, " in notes(run)


@pytest.mark.parametrize(("name", "operation", "count"), [("etcd", "fdatasync", 327), ("fsync8", "fsync", 341)])
def test_syncs_are_timed_apart(name, operation, count):
    run, (record,) = read(name)
    sync, (job,) = record.phases[0], jobs(name)
    assert (sync.operation, sync.ios) == (operation, count)
    assert sync.latency_mean_ns == pytest.approx(job["sync"]["lat_ns"]["mean"])
    assert sync.reported_percentiles_ns["99"] == job["sync"]["lat_ns"]["percentile"]["99.000000"]
    assert run.plan["notes"][0].startswith("Imported: durable writes")
    assert implausible([record]) == []


def test_a_flush_at_the_end_is_no_rate_limit():
    _, (record,) = read("endfsync")
    assert implausible([record]) == []


def test_a_depth_that_has_no_effect_is_not_taken_for_one():
    run, (record,) = read("noengine")
    assert record.factors["iodepth"] == 1
    assert "iodepth=32 had no effect" in notes(run)
    assert implausible([record]) == []


def test_reads_that_verify_are_left_out_and_that_is_said():
    run, _ = read("verify")
    assert "reads that verified" in notes(run)


def test_sizes_that_differ_between_reads_and_writes_are_no_request_size():
    _, (record,) = read("bspair")
    assert "block_bytes" not in record.factors
    assert {name: side["ios"] for name, side in record.phases[0].details["sides"].items()} == {
        name: jobs("bspair")[0][name]["total_ios"] for name in ("read", "write")
    }


def changed(name: str, change) -> str:
    document = json.loads(RAW[name])
    change(document)
    return json.dumps(document)


REFUSED = [
    (lambda d: d.update({"fio version": "fio-2.16"}), "fio-2.16, whose latencies are in µs"),
    (lambda d: d.pop("jobs"), "it has `fio version`, `timestamp`"),
    (lambda d: (d.pop("jobs"), d.pop("fio version")), "is not fio's"),
    (lambda d: d["jobs"][0]["read"].update(total_ios=0), "every job did nothing"),
    (lambda d: d["jobs"][0]["read"].update(runtime=0), "runtime (0 for"),
    (
        lambda d: (d["jobs"][0]["read"].update(io_bytes=0, runtime=0), d["jobs"][0].update(error=95)),
        "error 95 before anything was moved operation not supported",
    ),
    (lambda d: (d["jobs"][0]["trim"].update(total_ios=9), d["jobs"][0]["read"].update(total_ios=0)), "only trimmed"),
]


@pytest.mark.parametrize(("change", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_is_missing_is_said(tmp_path, change, words):
    path = tmp_path / "x.json"
    path.write_text(changed("grp", change))
    with pytest.raises(SeekwiseError) as caught:
        importing.read([path])
    assert words in f"{caught.value.message} {caught.value.hint}"


def test_a_run_whose_last_document_breaks_off_keeps_the_one_before(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(RAW["status"][:-900])
    run, (record,) = importing.read([path])
    assert record.phases[0].elapsed_s == 3.89
    assert "breaks off" in notes(run)


def test_warnings_prompts_and_windows_files_are_read(tmp_path):
    path = tmp_path / "x.json"
    for data in (
        f"$ fio job.fio\nfio: this platform does not support process shared mutexes\n{RAW['grp']}\n$ \n".encode(),
        RAW["grp"].replace("\n", "\r\n").encode("utf-16"),
        RAW["grp"].encode("utf-8-sig"),
    ):
        path.write_bytes(data)
        _, (record,) = importing.read([path])
        assert record.phases[0].ios == jobs("grp")[0]["read"]["total_ios"]


def test_a_json_of_too_many_values_is_refused_with_the_bound(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"fio version": "fio-3.33", "jobs": [' + "{}," * 800_000 + "{}]}")
    with pytest.raises(SeekwiseError, match="1,500,000 are read at most"):
        importing.read([path])


def test_levels_that_older_versions_fill_their_list_with_are_none(tmp_path):
    """fio 3.1 prints `"0.00" : 0` behind the percentiles that were asked for."""
    path = tmp_path / "x.json"
    path.write_text(RAW["grp"].replace('"99.990000" :', '"0.00" : 0, "99.990000" :'))
    _, (record,) = importing.read([path])
    assert "0" not in record.phases[0].reported_percentiles_ns
    assert record.phases[0].reported_percentiles_ns["99"] > 0


def bench_fio(tmp_path, setups: tuple[str, ...], depths: tuple[int, ...]) -> list[Path]:
    """Files as fio-plot's bench-fio names them: SETUP/4k/randread-DEPTH-JOBS.json."""
    files = []
    for setup in setups:
        for depth in depths:
            path = tmp_path / setup / "4k" / f"randread-{depth}-3.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(RAW["grp"].replace('"iodepth" : "4"', f'"iodepth" : "{depth}"'))
            files.append(path)
    return files


def test_folders_name_set_ups_and_those_that_name_loads_do_not(tmp_path):
    _, records = importing.read(bench_fio(tmp_path, ("RAID0", "RAID5"), (1, 8)))
    assert [record.setting for record in records] == ["RAID0", "RAID0", "RAID5", "RAID5"]
    assert {record.repetition for record in records} == {1}


@pytest.mark.parametrize(
    "form", ["{setup}/rep{number}/out.json", "run_{number}/{setup}/out.json", "iter{number}/{setup}.json"]
)
def test_folders_that_count_within_set_ups_are_repeats(form, tmp_path):
    files = [tmp_path / form.format(setup=setup, number=number) for setup in ("none", "bfq") for number in (1, 2, 3)]
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(RAW["grp"])
    run, records = importing.read(files)
    assert [(r.setting, r.repetition) for r in records] == [(s, n) for s in ("none", "bfq") for n in (1, 2, 3)]
    assert "taken for repeats (same load, same set-up): of none, " in notes(run)


def test_one_folder_of_several_depths_compares_the_depths(tmp_path):
    _, records = importing.read(bench_fio(tmp_path, ("RAID0",), (1, 8)))
    assert [record.setting for record in records] == ["depth 1", "depth 8"]


def test_files_of_one_set_up_that_differ_by_a_number_are_repeats_and_that_is_said(tmp_path):
    files = []
    for setup in ("none", "bfq"):
        for number in (1, 2):
            path = tmp_path / setup / f"run{number}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(RAW["grp"])
            files.append(path)
    run, records = importing.read(files)
    assert [(r.setting, r.repetition) for r in records] == [("none", 1), ("none", 2), ("bfq", 1), ("bfq", 2)]
    assert "taken for repeats (same load, same set-up): of none, " in notes(run)
    assert "hold the same figures: is one a copy of the other?" in notes(run)


def test_documents_under_keys_are_the_set_ups_of_those_names_and_under_names_of_loads_are_not(tmp_path):
    first, later = (json.loads(at_once(RAW["grp"], 2 + n, n * 10**7)) for n in (0, 1))
    named = (
        {"none": first, "bfq": later},
        [{"scheduler": "none", "result": first}, {"scheduler": "bfq", "result": later}],
    )
    for number, document in enumerate(named):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(document))
        _, records = importing.read([path])
        assert {record.setting for record in records} == {"none", "bfq"}
    other = json.loads(json.dumps(later))
    for job in other["jobs"]:
        job["jobname"] += "-other"
    path.write_text(json.dumps({"read": first, "write": other}))
    assert not {"read", "write"} & {record.setting for record in importing.read([path])[1]}


def counted_files(folder, names):
    files = []
    for number, name in enumerate(names):
        path = folder / f"{name}.json"
        path.write_text(at_once(RAW["grp"], 2 + number, number * 10**7))
        files.append(path)
    return files


def test_files_that_count_within_two_set_ups_are_repeats(tmp_path):
    _, records = importing.read(counted_files(tmp_path, ["a1", "a2", "a3", "b1", "b2", "b3"]))
    assert [(r.setting, r.repetition) for r in records] == [(s, n) for s in "ab" for n in (1, 2, 3)]


@pytest.mark.parametrize(
    "names", [["a1", "a2"], ["a64", "a128", "b64", "b128"], ["a1", "a2", "b1"], ["a1", "a2", "b", "c"]]
)
def test_a_number_that_may_be_a_settings_is_no_repeat(tmp_path, names):
    _, records = importing.read(counted_files(tmp_path, names))
    assert {r.repetition for r in records} == {1} and len({r.setting for r in records}) == len(names)


@pytest.mark.parametrize("option", ["ioscheduler", "filename", "randseed"])
@pytest.mark.parametrize("names", [["x.1", "x.2", "x.3", "x.4"], ["x1", "x2", "y1", "y2"]])
def test_repeats_have_the_same_options_whatever_their_files_are_called(tmp_path, option, names):
    """`filename`: one device or the other; a seed tells no configurations apart."""
    files = counted_files(tmp_path, names)
    for number, path in enumerate(files):
        document = json.loads(path.read_text())
        for job in document["jobs"]:
            job["job options"][option] = f"/dev/sd{'ab'[number % 2]}"
        path.write_text(json.dumps(document))
    _, records = importing.read(files)
    stems = 1 if names[0] == "x.1" else 2
    assert len({record.setting for record in records}) == stems * (1 if option == "randseed" else 2)
    assert max(record.repetition for record in records) == 4 // len({record.setting for record in records})


def test_where_content_and_names_tell_no_repeats_it_is_said(tmp_path):
    run, _ = importing.read(counted_files(tmp_path, ["a1", "a2", "b1"]))
    assert any("a1, a2, b1 count as one each" in note and "--setting" in note for note in run.plan["notes"])
    run, _ = importing.read(counted_files(tmp_path, ["a1", "a2", "b1", "b2"]))
    assert not any("count as one each" in note for note in run.plan["notes"])


def at_once(text: str, factor: int, start_ms: int = 0) -> str:
    """The run of another process: other amounts, and a later start."""
    document = json.loads(text)
    document["timestamp_ms"] += start_ms
    document["timestamp"] = document["timestamp_ms"] // 1000
    for job in document["jobs"]:
        for side in ("read", "write"):
            job[side] |= {name: job[side][name] * factor for name in ("io_bytes", "total_ios")}
    return json.dumps(document)


def test_processes_with_a_file_each_that_ran_at_once_are_one_run_and_their_rates_are_added(tmp_path):
    alone, both, later = ({}, {}, {})
    for found, start_ms in ((alone, None), (both, 0), (later, 10**7)):
        files = [tmp_path / f"{start_ms}" / f"output.{number}.node" for number in (0, 1)]
        files[0].parent.mkdir()
        files[0].write_text(RAW["grp"])
        if start_ms is not None:
            files[1].write_text(at_once(RAW["grp"], 2, start_ms))
        found["run"], found["records"] = importing.read(files if start_ms is not None else files[:1])
    (one,), (sum_of_both,) = alone["records"], both["records"]
    before, phase = one.phases[-1], sum_of_both.phases[-1]
    assert phase.rate_bytes_per_s == pytest.approx(3 * before.rate_bytes_per_s, rel=0.001)
    assert phase.ios == 3 * before.ios and sum_of_both.factors["threads"] == 2 * one.factors["threads"]
    assert phase.latency_mean_ns == pytest.approx(before.latency_mean_ns)
    assert "ran at the same time: counted as one run" in notes(both["run"])
    assert [each.repetition for each in later["records"]] == [1, 2]


def test_a_process_that_ran_longer_than_another_adds_its_own_iops(tmp_path):
    files = [tmp_path / f"output.{number}.node" for number in (0, 1)]
    document = json.loads(RAW["grp"])
    side = document["jobs"][0]["read"]
    rate = side["total_ios"] / side["runtime"] * 1e3
    files[0].write_text(RAW["grp"])
    side["runtime"] *= 2
    files[1].write_text(json.dumps(document))
    run, (record,) = importing.read(files)
    assert record.phases[-1].iops == pytest.approx(1.5 * rate, rel=0.001)
    assert "output.0.node, output.1.node ran at the same time" in notes(run)


def test_stonewalled_jobs_of_one_load_are_set_ups_named_by_the_job(tmp_path):
    path = tmp_path / "x.json"

    def twice(document: dict) -> None:
        other = json.loads(json.dumps(document["jobs"][0]))
        document["jobs"].append({**other, "jobname": "sdb", "groupid": 1})
        document["jobs"][0]["jobname"] = "sda"

    path.write_text(changed("grp", twice))
    _, records = importing.read([path])
    assert [(r.setting, r.repetition) for r in records] == [("sda", 1), ("sdb", 1)]


def two_groups(elapsed_s: int, options: dict[str, str]):
    def change(document: dict) -> None:
        (first,) = document["jobs"]
        other = json.loads(json.dumps(first))
        other |= {"jobname": "scan", "groupid": 1}
        other["job options"] |= {"rw": "randread", "bs": "64k"} | options
        first["elapsed"] = other["elapsed"] = elapsed_s
        document["jobs"].append(other)

    return change


@pytest.mark.parametrize(("elapsed_s", "options", "at_once"), [(2, {}, True), (3, {}, False), (2, {"stonewall": ""}, False)])  # fmt: skip
def test_groups_that_took_no_longer_than_one_of_them_ran_beside_each_other(tmp_path, elapsed_s, options, at_once):
    """`new_group` without `stonewall`; fio prints how long it ran, not whether a group waited."""
    path = tmp_path / "x.json"
    path.write_text(changed("grp", two_groups(elapsed_s, options)))
    _, records = importing.read([path])
    assert [record.factors.get("beside") for record in records] == (["scan", "a"] if at_once else [None, None])


def test_writes_that_are_each_durable_lead(tmp_path):
    def synchronous(document: dict) -> None:
        document["jobs"][0]["job options"] |= {"sync": "dsync", "rw": "randwrite"}
        for name in ("end_fsync",):
            document["jobs"][0]["job options"].pop(name, None)
            document.get("global options", {}).pop(name, None)

    path = tmp_path / "x.json"
    path.write_text(changed("endfsync", synchronous))
    run, (record,) = importing.read([path])
    (phase,) = record.phases
    first = run.plan["notes"][0]
    assert f"(sync=dsync): each write took mean {phase.latency_mean_ns / 1e6:.3g} ms" in first
    assert "page cache" not in notes(run)


def test_a_run_of_milliseconds_and_a_load_through_memory_are_named(tmp_path):
    def short(document: dict) -> None:
        document["jobs"][0]["read"]["runtime"] = 4
        document["jobs"][0]["job options"]["direct"] = "0"

    path = tmp_path / "x.json"
    path.write_text(changed("grp", short))
    run, _ = importing.read([path])
    assert "ran for 4 ms only" in notes(run)
    assert "went through the page cache" in notes(run)
    assert "proves that no cache answered" not in notes(run)


def test_what_holds_a_load_back_is_named_where_the_file_says_it(tmp_path):
    def limited(document: dict) -> None:
        document["jobs"][0]["job options"]["rate_iops"] = "200"
        document["jobs"][0]["read"]["total_ios"] //= 100

    path = tmp_path / "x.json"
    path.write_text(changed("grp", limited))
    _, records = importing.read([path])
    assert any("`rate_iops=200` held the load back" in each for each in implausible(records))


def test_threads_of_a_group_of_several_jobs_are_told_by_their_summed_run_time(tmp_path):
    document = json.loads(RAW["grp"])
    (job,) = document["jobs"]
    longest = max(job[name]["runtime"] for name in ("read", "write"))
    job["job options"] |= {"numjobs": "2"}
    job["job_runtime"] = 5 * longest - 3
    path = tmp_path / "grouped.json"
    path.write_text(json.dumps(document))
    _, (record,) = importing.read([path])
    assert record.factors["threads"] == 5
    # One thread cannot have run longer than fio did.
    job["elapsed"] = 6 * longest
    path.write_text(json.dumps(document))
    _, (record,) = importing.read([path])
    assert record.factors["threads"] == 2


@pytest.mark.parametrize(
    "before", ["Starting 1 process\nJobs: 1 (f=1): [r(1)][50.0%]\r", "--- Running fio ---", "Testing:\n  "]
)
def test_a_document_behind_other_words_is_found(before, tmp_path):
    path = tmp_path / "eta.json"
    path.write_text(before + RAW["noengine"])
    _, (record,) = importing.read([path])
    assert record.phases[0].bytes == jobs("noengine")[0]["read"]["io_bytes"]


def test_documents_in_a_list_and_within_another_document_are_each_read(tmp_path):
    path = tmp_path / "all.json"
    path.write_text(f"[{RAW['noengine']},\n{RAW['gtod']}]\n")
    run, records = importing.read([path])
    assert [record.phases[0].operation for record in records] == ["rand_read", "rand_write"]
    assert "holds 2 runs" in notes(run)
    path.write_text(json.dumps({"host": "a", "results": {"disk": json.loads(RAW["noengine"])}}))
    _, (record,) = importing.read([path])
    assert record.phases[0].bytes == jobs("noengine")[0]["read"]["io_bytes"]


def test_a_file_without_options_does_not_say_whether_access_was_random(tmp_path):
    document = json.loads(RAW["noengine"])
    document.pop("global options", None)
    document["jobs"][0].pop("job options")
    path = tmp_path / "bare.json"
    path.write_text(json.dumps(document))
    run, (record,) = importing.read([path])
    assert record.phases[0].operation == "seq_read" and "`--given operation=rand_read`" in notes(run)
    run, (record,) = importing.read([path], given=parse_given(["operation=rand_read"]))
    assert record.phases[0].operation == "rand_read" and "not whether access was random" not in notes(run)


def test_names_that_are_given_are_kept_where_files_differ_in_depth(tmp_path):
    document = json.loads((FOREIGN / "fio-none.1.json").read_text())
    paths = []
    for name, depth in (("a", "1"), ("b", "8")):
        for job in document["jobs"]:
            job["job options"] |= {"ioengine": "libaio", "iodepth": depth}
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(document))
    for labels, expected in ((("none", "bfq"), {"none", "bfq"}), ((), {"depth 1", "depth 8"})):
        _, records = importing.read(paths, labels=labels)
        assert {record.setting for record in records} == expected


@pytest.mark.parametrize("name", ["last", "20261128", "20261128-0159", "20261128-0159-59b2", " "])
def test_a_run_is_not_called_what_names_another(name, tmp_path):
    words = ["import", str(FOREIGN / "fio-none.1.json"), "--db", str(tmp_path / "r.db"), "--name"]
    assert CliRunner().invoke(cli, [*words, name]).exit_code == 2
    assert CliRunner().invoke(cli, [*words, "2026"]).exit_code == 0


def test_a_job_that_begins_when_the_other_has_ended_did_not_run_beside_it(tmp_path):
    text = json.loads(RAW["grp"])
    (job,) = text["jobs"]
    second = json.loads(json.dumps(job))
    delay = -(-int(job["read"]["runtime"]) // 1000)
    second["jobname"] = "late"
    waits = {"startdelay": "0"}, {"startdelay": f"{delay}s"}, {"wait_for": job["jobname"]}
    for options, beside in zip(waits, (True, False, False), strict=True):
        second["job options"] = {**job["job options"], "bs": "8k", **options}
        (tmp_path / "x.json").write_text(json.dumps({**text, "jobs": [job, second]}))
        _, records = importing.read([tmp_path / "x.json"])
        assert ["beside" in record.factors for record in records] == [beside, beside]


def test_writes_of_a_mixed_load_that_syncs_are_timed_without_its_reads(tmp_path):
    text = json.loads(RAW["fsync8"])
    job = text["jobs"][-1]
    job["job options"]["rw"] = "rw"
    job["read"] = {**job["write"], "lat_ns": {**job["write"]["lat_ns"], "mean": 9e9, "max": 9_000_000_000}}
    job["write"]["lat_ns"]["mean"] = 20_000.0
    (tmp_path / "x.json").write_text(json.dumps({**text, "jobs": [job]}))
    run, _ = importing.read([tmp_path / "x.json"])
    assert "the writes before it 0.02 ms on average" in notes(run)


def test_percentiles_that_fio_was_told_to_leave_out_are_not_laid_to_several_jobs(tmp_path):
    text = json.loads(RAW["noclat"])
    for job in text["jobs"]:
        job["read"]["clat_ns"].pop("percentile", None)
        job["read"]["lat_ns"].pop("percentile", None)
    (tmp_path / "x.json").write_text(json.dumps(text))
    run, _ = importing.read([tmp_path / "x.json"])
    assert "p99 is absent: fio wrote no percentiles" in notes(run)


def test_a_list_of_percentiles_without_p99_is_named(tmp_path):
    text = json.loads(RAW["grp"])
    latency = text["jobs"][0]["read"]["clat_ns"]
    latency.pop("bins", None)
    latency["percentile"] = {"50.000000": 60_000, "99.900000": 900_000}
    (tmp_path / "x.json").write_text(json.dumps(text))
    run, _ = importing.read([tmp_path / "x.json"])
    assert "`percentile_list`): 50, 99.9" in notes(run)


def test_a_summary_of_fio_s_figures_is_said_to_lack_the_requests(tmp_path):
    side = {"io_bytes": 17179869184, "bw_bytes": 38000000, "iops": 9280.5, "clat_ns": {"mean": 3400000}}
    (tmp_path / "x.json").write_text(json.dumps({"fio version": "fio-3.36", "jobs": [{"jobname": "a", "write": side}]}))
    with pytest.raises(SeekwiseError, match="lacks 'total_ios'"):
        importing.read([tmp_path / "x.json"])


def test_syncs_that_an_old_fio_did_not_time_are_in_the_rate_of_its_writes(tmp_path):
    text = json.loads(RAW["fsync8"])
    job = text["jobs"][-1]
    job.pop("sync")
    (tmp_path / "x.json").write_text(json.dumps({**text, "jobs": [job]}))
    run, (record,) = importing.read([tmp_path / "x.json"])
    took_ms = job["write"]["runtime"] / job["write"]["total_ios"]
    assert f"did not time the syncs; a write with its share of them took {took_ms:.3g} ms" in notes(run)
    assert "page cache" not in notes(run)
    assert len(record.phases) == 1


def test_a_client_s_job_without_options_is_said_to_have_no_pattern_and_has_the_size_of_its_requests(tmp_path):
    text = json.loads(RAW["client2"][RAW["client2"].index("{\n") :])
    for job in text["client_stats"]:
        job.pop("job options", None)
    text["global options"] = {"direct": "1"}
    (tmp_path / "x.json").write_text(json.dumps(text))
    run, records = importing.read([tmp_path / "x.json"])
    assert "does not have this job's pattern (`rw`)" in notes(run)
    side = next(job[name] for job in text["client_stats"] for name in ("read", "write") if job[name]["total_ios"])
    assert records[0].factors["block_bytes"] == side["io_bytes"] / side["total_ios"]


@pytest.mark.parametrize("value", ["-nan", "nan", "inf"])
def test_a_deviation_that_is_no_number_is_passed_over(value, tmp_path):
    text = re.sub(r'"stddev" ?: ?[\d.]+', f'"stddev" : {value}', RAW["grp"])
    assert value in text
    (tmp_path / "x.json").write_text(text)
    _, (record,) = importing.read([tmp_path / "x.json"])
    (tmp_path / "y.json").write_text(RAW["grp"])
    _, (other,) = importing.read([tmp_path / "y.json"])
    assert record.phases[0] == other.phases[0]


def test_percentiles_of_json_plus_are_those_that_fio_prints():
    name = "fio-jsonplus.json"
    _, (record,) = importing.read([FOREIGN / name])
    (job,) = json.loads((FOREIGN / name).read_text())["jobs"]
    printed = job["read"]["clat_ns"]["percentile"]
    assert record.phases[0].latency_bins
    assert record.phases[0].percentiles_ns["99"] == record.phases[0].percentile_ns(99, least=0) == printed["99.000000"]
    assert "75" in record.phases[0].percentiles_ns, "of the histogram, which fio does not print"


@pytest.mark.parametrize("verify", [None, "crc32c"])
def test_a_job_that_writes_reads_only_where_it_verifies(tmp_path, verify):
    """`group_reporting` gives a reader and a writer one entry, with the options of the writer."""
    document = json.loads(RAW["verify"])
    (job,) = document["jobs"]
    job["job options"].pop("verify")
    job["job options"] |= {"verify": verify} if verify else {}
    (tmp_path / "x.json").write_text(json.dumps(document))
    run, (record,) = importing.read([tmp_path / "x.json"])
    (phase,) = record.phases
    if verify:
        assert (phase.operation, phase.bytes) == ("seq_write", job["write"]["io_bytes"])
        return
    assert (phase.operation, phase.bytes) == ("mixed", job["read"]["io_bytes"] + job["write"]["io_bytes"])
    assert record.factors.get("block_bytes") is record.factors.get("iodepth") is None
    assert "jobs of different loads were reported as one" in notes(run)


def test_one_sync_of_many_writes_is_no_durable_write(tmp_path):
    document = json.loads(RAW["etcd"])
    (job,) = document["jobs"]
    job["sync"]["lat_ns"] |= {"N": 1, "min": 2000, "mean": 2000.0, "max": 2000}
    (tmp_path / "x.json").write_text(json.dumps(document))
    run, (record,) = importing.read([tmp_path / "x.json"])
    assert [phase.operation for phase in record.phases] == ["seq_write"]
    assert "durable" not in notes(run)


def test_without_options_the_name_of_a_job_says_random_and_nothing_its_depth(tmp_path):
    document = json.loads(RAW["gtod"])
    (job,) = document["jobs"]
    del job["job options"]
    document.pop("global options", None)
    for name, operation in (("4k_random_write", "rand_write"), ("disk", "seq_write")):
        job["jobname"] = name
        (tmp_path / "x.json").write_text(json.dumps(document))
        run, (record,) = importing.read([tmp_path / "x.json"])
        assert record.phases[0].operation == operation
        assert "iodepth" not in record.factors
        assert ("random was taken from the job's name" if "rand" in name else "sequential was taken") in notes(run)
