"""This test will ask what other storage would do to recorded loads: the answer, its document, its run, and every wrong word."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from seekwise.cli import report, results, schemas, whatif
from seekwise.errors import SeekwiseError, UsageError
from seekwise.measure import whatif as whatif_run
from seekwise.trace.columns import Notes
from seekwise.workload.study.quantity import latency_text

sys.path.insert(0, str(Path(__file__).parents[1] / "trace"))
import closed_loops as loops

DISK = "model=wd2500ys"


@pytest.fixture
def trace(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    notes = Notes(source="seekwise record")
    readers = [loops.loop(notes, f"db/{number}", 150, think_ns=5e5, seed=number) for number in range(4)]
    return loops.write(tmp_path / "load.swt", notes, *readers, chunk=200)


def ask(trace, *words):
    return CliRunner().invoke(whatif.command, [str(trace), *words], catch_exceptions=False, standalone_mode=False)


def document(trace, *words):
    found = json.loads(ask(trace, *words, "--json").stdout)
    jsonschema.validate(found, schemas.load("whatif"))
    return found


def test_the_answer_is_a_sentence_and_a_table_of_at_most_25_lines_of_80_columns(trace):
    text = ask(
        trace, "--vary", f"{DISK},scheduler=none,mq-deadline,bfq,kyber,level=none,raid1,raid5,raid10,drives=4"
    ).stdout
    lines = text.splitlines()
    assert lines[0].startswith(("Best: ", "No setting stands out"))
    assert lines[lines.index("") + 1].split()[:3] == ["setting", "p50", "p99"]
    assert len(lines) <= 25, text
    assert max(map(len, lines)) <= 80, text


def test_repeats_are_as_many_as_are_asked_for(trace):
    assert document(trace, "--vary", DISK, "--repeats", "2")["repeats"] == 2


def test_four_drives_answer_sooner_than_one_and_flash_sooner_than_both(trace):
    found = document(trace, "--vary", f"{DISK},level=none,raid10,drives=4")
    times = {each["setting"]: each["foreground"]["p50_ms"] for each in found["settings"]}
    assert times["raid10"] < 0.6 * times["single drive"]
    flash = document(trace, "--vary", "model=crucial_mx500_1tb,wd2500ys")
    assert flash["best"] == ["crucial_mx500_1tb"]


def test_a_closed_load_takes_longer_where_an_open_one_queues(trace):
    found = document(trace, "--vary", f"{DISK},scheduler=none", "--open")
    closed, opened = found["settings"][0]["foreground"], found["settings"][0]["open"]
    # Recorded at 5 ms a request on as many requests as there are threads: one disk is slower, and open arrivals pile up before it.
    assert opened["p99_ms"] > 3 * closed["p99_ms"]


def test_results_keep_the_tail_of_requests_at_their_recorded_times(trace):
    shown = ask(trace, "--vary", f"{DISK},scheduler=none,mq-deadline", "--open").stdout.splitlines()
    stored = CliRunner().invoke(results.command, ["last"], catch_exceptions=False).stdout.splitlines()
    table = [line for line in shown if "open p99" in line or line.startswith(("none", "mq-deadline"))]
    assert len(table) == 3 and all(line.endswith("s") for line in table[:2])
    assert [line for line in stored if line in table] == table


def test_the_tail_at_recorded_times_is_that_of_the_foreground(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    notes = Notes(source="seekwise record")
    busy, idle = (
        loops.loop(notes, "db/1", 300, think_ns=5e5, seed=1),
        loops.loop(notes, "cron/2", 9, think_ns=9e7, seed=2),
    )
    path = loops.write(tmp_path / "two.swt", notes, busy, idle, chunk=200)
    found = document(path, "--vary", f"{DISK},scheduler=none", "--open")
    kept = CliRunner().invoke(results.command, ["last", "--json"], catch_exceptions=False, standalone_mode=False)
    rows = {row[0]: row for row in json.loads(kept.stdout)["table"]["rows"]}
    assert rows["none"][-1] == latency_text(found["settings"][0]["open"]["p99_ms"] * 1e6)
    assert {"none: db", "none: cron"} < set(rows) and rows["none: cron"][-1] == "–"


def test_the_run_is_stored_and_reported_as_any_other(trace, tmp_path):
    found = document(trace, "--vary", f"{DISK},scheduler=none,bfq")
    assert found["repeats"] == 3
    shown = CliRunner().invoke(
        results.command, [found["run_id"], "--json"], catch_exceptions=False, standalone_mode=False
    )
    kept = json.loads(shown.stdout)
    assert {each["setting"] for each in kept["records"]} == {"none", "bfq"}
    assert {each["provenance"] for each in kept["records"]} == {"simulated"}


def test_storage_that_cannot_carry_the_load_is_named_as_that_and_results_keep_the_table(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    path = tmp_path / "open.txt"
    # 2,000 random reads a second without completions: twenty times what a disk does, nothing for flash.
    path.write_text(
        "".join(
            f"8,0 0 {n} {n / 2000:.6f} 7 Q R {(n * 7919 * 4096) % 400_000_000 // 8 * 8} + 8 [db]\n"
            for n in range(1, 3000)
        )
    )
    lines = ask(path, "--vary", "model=wd2500ys,crucial_mx500_1tb").stdout.splitlines()
    said = " ".join(" ".join(lines[: lines.index("")]).split())
    assert "wd2500ys cannot carry this load" in said and "of 2,001 requests/s" in said and "times" not in said
    table = [line for line in lines if line.startswith(("setting", "as recorded", "wd2500ys", "crucial"))]
    assert "grows" in table[-1] and len(table) == 4
    shown = CliRunner().invoke(results.command, ["last"], catch_exceptions=False, standalone_mode=False).stdout
    assert all(line in shown.splitlines() for line in table)
    found = document(path, "--vary", "model=wd2500ys,crucial_mx500_1tb")
    assert {each["setting"]: each["carries_load"] for each in found["settings"]} == {
        "wd2500ys": False,
        "crucial_mx500_1tb": True,
    }
    assert found["recorded"]["iops"] == pytest.approx(2000, rel=0.01)
    alone = " ".join(ask(path, "--vary", DISK).stdout.split())
    assert alone.startswith("It cannot carry this load of 2,001 requests/s: wd2500ys does ")


def test_the_best_is_compared_with_the_recording(trace):
    found = document(trace, "--vary", "model=crucial_mx500_1tb,wd2500ys")
    assert "shorter than recorded" in found["answer"] and "Longest: wd2500ys" in found["answer"]
    # A shorter p99 is half of it: the time that the same work takes stands with it, and with every other output.
    taken = next(each for each in found["settings"] if each["setting"] == found["best"][0])["foreground"]["elapsed_s"]
    told = f"the same work takes {taken:.3g} s, recorded {found['recorded']['elapsed_s']:.3g} s"
    assert told in found["answer"]
    kept = CliRunner().invoke(results.command, ["last", "--json"], catch_exceptions=False, standalone_mode=False)
    stored = json.loads(kept.stdout)
    assert stored["advice"]["headline"] == found["answer"]
    assert [row[0] for row in stored["table"]["rows"]] == [
        "as recorded",
        *(each["setting"] for each in found["settings"]),
    ]


def test_the_same_question_has_the_same_answer(trace):
    words = ("--vary", f"{DISK},scheduler=none,bfq", "--seed", "5")
    first, second = document(trace, *words), document(trace, *words)
    assert first["settings"] == second["settings"]


def test_what_the_recording_does_not_decide_is_said_with_what_hangs_on_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    notes = Notes(source="seekwise record")
    idle = loops.loop(notes, "cron/1", 100, latency_ns=1e5, think_ns=1e9)
    path = loops.write(tmp_path / "idle.swt", notes, idle)
    text = " ".join(ask(path, "--vary", f"{DISK},scheduler=none,bfq").stdout.split())
    assert "Assumed: cron: 100 requests; too little load to tell, assumed to wait for their requests" in text
    assert "hang on that" in text or "hangs on that" in text


def test_a_cut_recording_is_played_up_to_the_cut(trace, tmp_path):
    whole = trace.read_bytes()
    cut = tmp_path / "cut.swt"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    found = document(cut, "--vary", DISK)
    assert 0 < found["requests"] < 600
    assert any("incomplete (cut off after 400 requests)" in note for note in found["notes"])
    # Before the first block of requests nothing can be played.
    cut.write_bytes(whole[:400])
    with pytest.raises(SeekwiseError, match="cut off after 0 requests"):
        ask(cut, "--vary", DISK)


WRONG = [
    ("schedulr=none", "did you mean `scheduler`"),
    ("scheduler", "names no setting"),
    ("scheduler=", "empty value"),
    ("scheduler=none,none", "names none twice"),
    (f"{DISK},model=exos_x18", "names model twice"),
    ("model=wd2500", "did you mean `wd2500ys`"),
    (f"{DISK},scheduler=bfg", "did you mean `bfq`"),
    (f"{DISK},scheduler=noop", "has no noop"),
    (f"{DISK},level=raid5", "does not say how many drives"),
    (f"{DISK},level=raid5,drives=2", "at least 3 drives"),
    (f"{DISK},level=raid7,drives=4", "there is no level `raid7`"),
    (f"{DISK},drives=4", "4 drives need a `level`"),
    (f"{DISK},chunk=64k", "needs an array"),
    (f"{DISK},level=raid5,drives=4,chunk=big", "is no size"),
    (f"{DISK},level=raid5,drives=4,chunk=3", "at least 4 KiB"),
    (f"{DISK},depth=0", "from 1 to 65536"),
    (f"{DISK},depth=99", "outside 1 to 32"),
    (f"{DISK},kernel=99", "is not a kernel version"),
    (f"{DISK},iosched.foo=1", "has no tunable"),
    (f"{DISK},read_ahead_kb=64", "changes nothing for recorded requests"),
    (f"{DISK},host=abacus", "no host model"),
    ("scheduler=none", "which drive"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[words for words, _ in WRONG])
def test_a_wrong_word_is_one_error_that_names_it(trace, words, said):
    with pytest.raises(UsageError) as error:
        ask(trace, "--vary", words)
    assert said in f"{error.value.message} {error.value.hint or ''}"


UNTIMED = b"fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 0 4096\n/dev/sda close\n"


@pytest.mark.parametrize(
    "content", [b"", b"no trace at all\n", b"\x00" * 5000, b"seekwise.trace/1\n" + b"\xff" * 500, UNTIMED]
)
def test_what_is_no_trace_is_one_error_and_no_run(tmp_path, monkeypatch, content):
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(SeekwiseError) as error:
        ask(tmp_path / "t", "--vary", DISK)
    assert "t" in error.value.message and not (tmp_path / "records.db").exists()


def test_the_commands_of_the_how_to_page_do_what_it_says(trace, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "what-if.md").read_text()
    lines = [
        line.split() for line in re.findall(r"^ {4}seekwise (whatif srv\.swt .*|report last)$", page, re.MULTILINE)
    ]
    assert len(lines) >= 3
    shutil.copy(trace, tmp_path / "srv.swt")
    monkeypatch.chdir(tmp_path)
    for _, name, *words in (line for line in lines if line[0] == "whatif"):
        # Of a synthetic trace nobody knows the drive.
        model = [] if any("model=" in word for word in words) else ["--vary", DISK]
        done = ask(name, *words, *model)
        assert done.exit_code == 0, words
    keys = re.findall(r"^\| `(\w+)`", page, re.MULTILINE)
    assert set(keys) <= {*whatif_run.KEYS, "nr_requests"}


def test_the_report_of_a_prediction_is_drawn(trace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = document(trace, "--vary", f"{DISK},scheduler=none,bfq")
    done = CliRunner().invoke(report.command, [found["run_id"]], catch_exceptions=False, standalone_mode=False, obj={})
    assert done.exit_code == 0
    page = next(tmp_path.glob("*.html")).read_text()
    assert "<svg" in page and "bfq" in page and "simulated" in page


def test_many_alike_processes_have_the_time_that_they_took(tmp_path, monkeypatch):
    """None of 80 has a fiftieth of all requests: the load began never, took 1e-09 s and moved 33 PB/s."""
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    notes = Notes(source="seekwise record")
    alike = [loops.paced(notes, f"db/{number}", 50, period_ns=2e7, seed=number) for number in range(80)]
    found = document(loops.write(tmp_path / "many.swt", notes, *alike), "--vary", "model=exos_x18,samsung_980")
    assert found["recorded"]["elapsed_s"] == pytest.approx(0.98, rel=0.01)
    assert found["recorded"]["iops"] == pytest.approx(4080, rel=0.01)
    assert {each["setting"]: each["carries_load"] for each in found["settings"]} == {
        "samsung_980": True,
        "exos_x18": False,
    }


def test_one_late_request_of_another_program_stretches_no_rate(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    notes = Notes(source="seekwise record")
    busy = loops.paced(notes, "db/1", 1000, period_ns=1e6)
    late = loops.paced(notes, "cron/2", 1, seed=3)
    for name in ("arrival_ns", "issue_ns", "complete_ns"):
        late[name] += 4_000_000_000
    path = loops.write(tmp_path / "late.swt", notes, busy, late)
    found = document(path, "--vary", "model=samsung_980")
    assert found["recorded"]["iops"] == pytest.approx(1000, rel=0.01)
    assert found["settings"][0]["foreground"]["iops"] == pytest.approx(1000, rel=0.01)
    # One request has a latency and no rate.
    row = next(line for line in ask(path, "--vary", "model=samsung_980").stdout.splitlines() if "cron" in line)
    assert row.split()[-3:] == ["–", "–", "–"]
