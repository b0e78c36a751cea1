"""What is planted in 500 hosts is found and little else is said; bundles carry everything; Parquet sums to the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from tests import schemas as checking

from seekwise import bounds
from seekwise.cli.main import cli
from seekwise.errors import UsageError
from seekwise.report.fleet import bundle, fleet_answer, parquet, rows
from seekwise.report.fleet.unlike import unlike
from seekwise.store.database import Store

from . import synthetic


def summary_of(count: int, seed: int, *, anomalies: bool = True) -> tuple[synthetic.Planted, rows.FleetSums]:
    planted, hosts = synthetic.hosts(count, seed, anomalies=anomalies)
    summary = rows.FleetSums()
    for _, records in hosts:
        for row in rows.of_records(records):
            summary.add(row)
    return planted, summary


def said(outliers, changes) -> set[tuple[str, str]]:
    return {(each.device, each.host) for each in outliers} | {(each.part, each.value) for each in changes}


@pytest.mark.parametrize("seed", range(4))
def test_three_anomalies_in_500_hosts_are_found_with_at_most_one_false(seed) -> None:
    planted, summary = summary_of(500, seed)
    found = said(*unlike(summary))
    assert planted.wanted <= found and len(found - planted.wanted) <= 1


@pytest.mark.slow
def test_over_many_seeds_all_are_found_and_hardly_anything_else() -> None:
    false = 0
    for seed in range(100, 130):
        planted, summary = summary_of(500, seed)
        found = said(*unlike(summary))
        assert planted.wanted <= found, seed
        assert len(found - planted.wanted) <= 1, seed
        false += len(found - planted.wanted)
    assert false <= 4


def test_alike_hosts_are_called_alike() -> None:
    for seed in range(5):
        _, summary = summary_of(100, seed, anomalies=False)
        assert said(*unlike(summary)) == set()


@pytest.mark.slow
def test_bundles_of_500_hosts_end_in_an_answer(tmp_path, monkeypatch) -> None:
    planted, paths = synthetic.write_bundles(tmp_path, 500, 7)
    db = str(tmp_path / "fleet.db")
    done = CliRunner().invoke(cli, ["import", *map(str, paths), "--db", db], standalone_mode=False, obj={})
    assert done.exception is None, done.exception
    text = done.stdout
    assert "500 bundles: 8000 records of 500 runs added" in text and "500 hosts, 1,000 devices of 2 kinds" in text
    assert f"{planted.slow_host}'s sdb is " in text and "slower than its 499 twins (HDD Large 18T)" in " ".join(
        text.split()
    )
    assert "Kernel 6.8.0-1-amd64 is 1" in text or "Kernel 6.8.0-1-amd64 is 9" in text
    assert "Firmware SN05 is " in text and "mq-deadline is" in text
    assert len(text.splitlines()) <= 25 and max(map(len, text.splitlines())) <= 80
    again = CliRunner().invoke(cli, ["results", "--fleet", "--db", db, "--json"], standalone_mode=False, obj={})
    document = json.loads(again.stdout)
    checking.check(document)
    assert document["hosts"] == 500 and document["outliers"][0]["host"] == planted.slow_host
    twice = CliRunner().invoke(cli, ["import", *map(str, paths[:3]), "--db", db], standalone_mode=False, obj={})
    assert "0 records of 0 runs added; 3 runs already there" in twice.stdout


def test_the_pooled_ratio_is_the_planted_one() -> None:
    _, summary = summary_of(200, 3)
    clear = [each for each in fleet_answer.of(summary).pooled if each.metric == "rate"]
    assert len(clear) == 4
    for each in clear:
        # The most common setting is the reference; both are as common here.
        sign = 1 if each.setting == "mq-deadline" else -1
        assert each.word == "clear" and np.log(each.ratio_low) < sign * 0.08 < np.log(each.ratio_high)


def test_a_kernel_that_always_comes_with_a_firmware_is_not_blamed_alone() -> None:
    summary = rows.FleetSums()
    chosen = np.random.default_rng(1)
    for number in range(60):
        new = number % 3 == 0
        unit = rows.Unit(f"h{number}", "sda", "m", "B" if new else "A", "6.8" if new else "6.1", "single")
        for _ in range(4):
            rate = float(np.exp(18 + chosen.normal(0, 0.02) - (0.2 if new else 0.0)))
            summary.add(rows.OperationRow(unit, "rand_read", "none", {"rate": rate}))
    _, (change,) = unlike(summary)
    assert change.part == "kernel" and change.together_with == "firmware B"
    assert "either may be the cause" in " ".join(fleet_answer.lines(fleet_answer.of(summary)))


def test_parquet_sums_to_what_the_records_say(tmp_path) -> None:
    _, hosts = synthetic.hosts(12, 5)
    kept = [records for _, records in hosts]
    assert parquet.write(tmp_path / "fleet.parquet", kept) == 12 * 16
    direct = rows.FleetSums()
    for records in kept:
        for row in rows.of_records(records):
            direct.add(row)
    read = parquet.summary(tmp_path / "fleet.parquet")
    assert read.trials == direct.trials and read.sums.keys() == direct.sums.keys()
    for key, sums in direct.sums.items():
        # Percentiles are those of the export, upper bounds of bins in both.
        assert read.sums[key].count == sums.count
        assert read.sums[key].mean == pytest.approx(sums.mean, abs=1e-9), key


def test_a_bundle_keeps_every_record_bit_for_bit(tmp_path) -> None:
    _, hosts = synthetic.hosts(1, 5)
    ((host, records),) = hosts
    bundle.write(tmp_path / "a.bundle", host, [(synthetic.run_of(), records)])
    (whole,) = bundle.read(tmp_path / "a.bundle")
    assert whole.run.run_id == "20261123-0900-aaaa@host0"
    from dataclasses import replace

    assert [replace(each, run_id="20261123-0900-aaaa") for each in whole.records] == records


def test_runs_of_the_store_are_exported_as_a_bundle_and_as_parquet(tmp_path) -> None:
    _, paths = synthetic.write_bundles(tmp_path, 3, 7)
    db = str(tmp_path / "a.db")

    def call(*words: str) -> str:
        done = CliRunner().invoke(cli, [*words, "--db", db], standalone_mode=False, obj={})
        assert done.exception is None, done.exception
        return done.stdout

    call("import", *map(str, paths))
    assert "48 records of 3 runs" in call("export", "--bundle", "--output", str(tmp_path / "all.bundle"))
    assert "48 rows of 3 runs" in call("export", "--parquet", "--output", str(tmp_path / "all.parquet"))
    assert "3 hosts, 6 devices of 2 kinds" in call("results", str(tmp_path / "all.parquet"))
    with Store.open(tmp_path / "a.db") as store:
        assert len(store.runs()) == 3


def hostile(tmp_path):
    _, (path,) = synthetic.write_bundles(tmp_path, 1, 1)
    import zstandard

    whole = path.read_bytes()
    lines = zstandard.ZstdDecompressor().decompressobj().decompress(whole).splitlines(keepends=True)

    def packed(*parts: bytes) -> bytes:
        return zstandard.ZstdCompressor().compress(b"".join(parts))

    record = json.loads(lines[2])["record"]

    def with_record(**changes) -> bytes:
        return packed(lines[0], lines[1], json.dumps({"record": {**record, **changes}}).encode() + b"\n", lines[-1])

    yield "empty", b"", "is no bundle"
    yield "text", b"hello\n", "no bundle, or a damaged one"
    yield "noise", os.urandom(5000), "no bundle, or a damaged one"
    yield "half", whole[: len(whole) // 2], "breaks off"
    yield "no end", packed(*lines[:-1]), "breaks off after 16 records"
    yield "missing record", packed(*lines[:3], *lines[4:]), "its end does not match"
    yield "after the end", packed(*lines, lines[-1]), "its end does not match"
    yield "other version", packed(lines[0].replace(b"bundle/1", b"bundle/9"), *lines[1:]), "is a seekwise.bundle/9"
    yield "other file", packed(b'{"schema": "other"}\n'), "is no bundle"
    yield "no host", packed(b'{"schema": "seekwise.bundle/1"}\n', *lines[1:]), "does not say which host"
    yield "list", packed(lines[0], b"[1, 2]\n"), "a line is no object"
    yield "deep", packed(lines[0], b"[" * 100_000 + b"\n"), "a line is no JSON"
    yield "nan", packed(lines[0], lines[1], b'{"record": {"trial": NaN}}\n'), "a line is no JSON"
    yield "record first", packed(lines[0], lines[2]), "a record stands before its run"
    yield (
        "bad id",
        packed(lines[0], lines[1].replace(b"20261123-0900-aaaa", b"../../etc"), *lines[2:]),
        "the run's id is none",
    )
    yield "bad provenance", with_record(badge="dreamt"), "provenance"
    yield "bad trial", with_record(trial="x"), "trial of a record is 'x'"
    yield "no phases", with_record(phases=7), "line 3"
    yield "negative", with_record(phases=[{**record["phases"][0], "bytes": -1}]), "bytes of a phase is"
    half = lines[0].replace(b'"host0"', b'"\\ud800"')
    yield "half a character", packed(half, *lines[1:]), "a text is no Unicode"
    yield "a trial twice", packed(*lines[:3], lines[2], lines[-1]), "trial 0 stands there twice"
    first = record["phases"][0]
    for name, changes, says in (
        ("trial beyond the store", {"trial": 2**70}, "trial of a record is"),
        ("seed beyond the store", {"seed": 2**80}, "seed of a record is"),
        ("block as text", {"block": "x"}, "block of a record is 'x'"),
        ("time as a number", {"started_at": 7}, "started_at of a record is"),
        ("reason as an object", {"invalid_reason": {"a": 1}}, "invalid_reason of a record is"),
        ("conditions as a list", {"conditions": [1]}, "conditions of a record is"),
        ("huge count", {"phases": [{**first, "latency_bins": {"1": 10**30}}]}, "latency_bins of a phase is"),
        ("huge sum", {"phases": [{**first, "latency_bins": {"1": 2**62, "2": 2**62}}]}, "latency_bins of a phase is"),
        ("huge bytes", {"phases": [{**first, "bytes": 10**25}]}, "bytes of a phase is"),
        (
            "percentile as text",
            {"phases": [{**first, "reported_percentiles_ns": {"99": "x"}}]},
            "reported_percentiles_ns of a phase is",
        ),
        ("window as text", {"phases": [{**first, "windows": ["ab"]}]}, "windows of a phase is"),
        ("CPU as text", {"phases": [{**first, "cpu": {**first["cpu"], "user": "x"}}]}, "user of CPU seconds is"),
    ):
        yield name, with_record(**changes), says
    yield "bad bins", with_record(phases=[{**record["phases"][0], "latency_bins": {"a": 1}}]), "line 3"


def test_hostile_bundles_end_in_one_error_each_and_store_nothing(tmp_path) -> None:
    for name, data, says in hostile(tmp_path):
        path = tmp_path / "hostile.bundle"
        path.write_bytes(data)
        done = CliRunner().invoke(
            cli,
            ["import", str(tmp_path / "host0.bundle"), str(path), "--db", str(tmp_path / "x.db")],
            standalone_mode=False,
            obj={},
        )
        assert isinstance(done.exception, UsageError), (name, done.exception)
        assert says in done.exception.message and "hostile.bundle" in done.exception.message, (
            name,
            done.exception.message,
        )
        assert not (tmp_path / "x.db").exists(), name


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch) -> None:
    import zstandard

    monkeypatch.setattr(bounds, "BUNDLE_LINE_BYTES", 10 * 2**20)
    path = tmp_path / "bomb.bundle"
    path.write_bytes(zstandard.ZstdCompressor().compress(b" " * (64 * 2**20)))
    with pytest.raises(UsageError, match="a line has more than 10 MiB"):
        list(bundle.read(path))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("import", "a.bundle", "b.json"), "cannot be imported together"),
        (("import", "nosuch.bundle"), "does not exist"),
        (("import", "nosuch.bundle", "--name", "x"), "says itself what it holds"),
        (("results", "nosuch.parquet"), "it does not exist"),
        (("results", "nosuch.parquet", "last"), "go with no run"),
        (("export",), "which run?"),
        (("export", "--bundle", "--parquet"), "are two files"),
        (("export", "--bundle", "--format", "csv"), "is printed"),
        (("export", "--output", "x"), "goes with"),
        (("export", "--parquet", "--output", "-"), "cannot be printed"),
        (("results", "a.bundle"), "is a bundle"),
    ],
)
def test_wrong_words_end_in_one_error(tmp_path, monkeypatch, words, says) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, [*words, "--db", "x.db"], standalone_mode=False, obj={})
    assert isinstance(done.exception, UsageError) and says in done.exception.message, done.exception


def test_what_is_no_parquet_of_ours_is_refused(tmp_path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 hello PAR1")
    with pytest.raises(UsageError, match="cannot be read as Parquet"):
        parquet.summary(tmp_path / "a.parquet")
    pa = parquet.arrow()
    pa.parquet.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    with pytest.raises(UsageError, match="no Parquet of Seekwise"):
        parquet.summary(tmp_path / "b.parquet")


def test_without_statsmodels_there_is_one_error_with_the_line_that_installs_it(tmp_path) -> None:
    _, paths = synthetic.write_bundles(tmp_path, 1, 1)
    code = (
        "import sys; sys.modules['statsmodels'] = None; sys.argv = ['seekwise', 'import', *sys.argv[1:]]\n"
        "from seekwise.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(paths[0]), "--db", str(tmp_path / "x.db")], capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 4 and "seekwise[fleet]" in done.stderr and done.stderr.count("error: ") == 1


def test_few_hosts_are_not_called_alike(tmp_path) -> None:
    _, summary = summary_of(3, 1)
    text = " ".join(fleet_answer.lines(fleet_answer.of(summary)))
    assert "Devices are not compared: that needs 8 of a kind, and there are 3 of a kind at most." in text
    assert "unlike" not in text and "No kernel" not in text
    _, summary = summary_of(12, 1, anomalies=False)
    environment = {"host": "odd", "kernel": "6.1", "devices": [{"name": "sdz", "model": "Other"}]}
    for _ in range(3):
        summary.add(rows.OperationRow(rows.unit_of(environment), "rand_read", "none", {"rate": 1e8}))
    text = " ".join(fleet_answer.lines(fleet_answer.of(summary)))
    assert "Not compared, since that needs 8 of a kind: 1 device of 1 other kind." in text and "alike" not in text


def test_a_bundle_is_one_under_any_name_and_a_folder_of_them_is_told(tmp_path) -> None:
    _, (path, *_) = synthetic.write_bundles(tmp_path, 2, 1)
    path.rename(tmp_path / "from-host0")
    db = str(tmp_path / "a.db")
    done = CliRunner().invoke(cli, ["import", str(tmp_path / "from-host0"), "--db", db], standalone_mode=False, obj={})
    assert done.exception is None and "1 bundle: 16 records of 1 run added" in done.stdout
    done = CliRunner().invoke(cli, ["import", str(tmp_path), "--db", db], standalone_mode=False, obj={})
    assert isinstance(done.exception, UsageError) and "is a folder, with 1 bundle in it" in done.exception.message
    assert done.exception.hint == f"name the files: seekwise import {tmp_path}/*.bundle"


def test_damage_of_a_bit_never_changes_what_a_file_says(tmp_path) -> None:
    """Parquet pages and bundles have checksums: a damaged file is refused, or the damage is where nothing is read."""
    chosen = np.random.default_rng(1)
    _, (path,) = synthetic.write_bundles(tmp_path, 1, 1)
    whole = list(bundle.read(path))
    parquet.write(tmp_path / "a.parquet", [each.records for each in whole])
    sums = parquet.summary(tmp_path / "a.parquet").sums
    readers = {path: (lambda file: list(bundle.read(file)), whole)}
    readers[tmp_path / "a.parquet"] = (lambda file: parquet.summary(file).sums, sums)
    for good, (read, wanted) in readers.items():
        refused = 0
        for _ in range(60):
            data = bytearray(good.read_bytes())
            data[chosen.integers(len(data))] ^= 1 << int(chosen.integers(8))
            (tmp_path / "bad").write_bytes(data)
            try:
                assert read(tmp_path / "bad") == wanted
            except UsageError:
                refused += 1
        assert refused > 30


def test_a_parquet_file_that_is_named_twice_counts_once(tmp_path) -> None:
    _, hosts = synthetic.hosts(3, 5)
    path = tmp_path / "a.parquet"
    parquet.write(path, [records for _, records in hosts])
    done = CliRunner().invoke(
        cli, ["results", str(path), str(tmp_path / "." / "a.parquet")], standalone_mode=False, obj={}
    )
    assert done.exception is None and "48 measured operations" in done.stdout


def test_the_level_of_an_array_is_data_not_words():
    from seekwise.report.fleet.rows import unit_of

    drives = [{"name": name, "model": "WD2500YS"} for name in ("sda", "sdb", "sdc")]
    assert unit_of({"devices": drives, "raid_levels": ["raid5"]}).level == "RAID 5 of 3"
    assert unit_of({"devices": drives, "raid_levels": ["linear"]}).level == "3 drives"
    assert unit_of({"devices": drives[:1], "stack": ["sda: was in a RAID 1 once"]}).level == "single"
