"""This test will make loads of traces whose dependencies are known, and look at what each request waits for."""

import random
import re

import closed_loops as loops
import numpy as np
import pytest
import samples

from seekwise.errors import SeekwiseError
from seekwise.measure import whatif
from seekwise.trace import load as loads
from seekwise.trace.columns import REQUEST, Flag, Kind, Notes, TraceError
from seekwise.trace.order import Late, ordered
from seekwise.trace.readers import open_trace


def made(tmp_path, *parts, notes, **options):
    path = loops.write(tmp_path / "t.swt", notes, *parts, chunk=options.pop("chunk", 65_536))
    again, chunks = open_trace(path)
    load = loads.make(chunks, again, tmp_path, **options)
    return load, np.fromfile(load.path, loads.ROW)


def of(load, written, name):
    program = next(each for each in load.programs if each.name == name)
    return program.shape, written[program.first : program.first + program.rows]


def test_a_thread_waits_for_its_request_and_thinks_as_long_as_it_did(tmp_path):
    notes = Notes(source="seekwise record")
    load, written = made(tmp_path, loops.loop(notes, "db/1", 500, think_ns=2e6), notes=notes)
    shape, rows = of(load, written, "db/1")
    assert (shape.how, shape.depth, shape.is_sure) == ("replies", 1, True)
    assert (rows["own"] == 0).all()
    assert rows["gap_ns"].mean() == pytest.approx(2e6, rel=0.15)


@pytest.mark.parametrize("depth", [2, 8, 32])
def test_a_loop_of_a_depth_keeps_that_many_under_way(tmp_path, depth):
    notes = Notes(source="seekwise record")
    load, written = made(tmp_path, loops.loop(notes, "aio/1", 4000, depth, think_ns=1e5), notes=notes)
    shape, rows = of(load, written, "aio/1")
    assert (shape.how, shape.depth) == ("slots", depth)
    assert (rows["own"][depth:] == depth - 1).mean() > 0.9
    assert rows["own"].max() <= depth - 1


def test_open_arrivals_keep_their_times(tmp_path):
    notes = Notes(source="seekwise record")
    part = loops.opened(notes, "web/1", 2000)
    load, written = made(tmp_path, part, notes=notes)
    shape, rows = of(load, written, "web/1")
    assert shape.how == "open"
    assert (rows["flags"] & loads.OPEN > 0).all()
    assert (rows["at_ns"] == np.sort(part["arrival_ns"])).all()


def test_even_arrivals_are_open_though_none_comes_before_the_last_is_done(tmp_path):
    notes = Notes(source="seekwise record")
    load, _ = made(tmp_path, loops.paced(notes, "rate/1", 500), loops.loop(notes, "db/2", 500), notes=notes)
    assert {each.name: each.shape.how for each in load.programs} == {"rate/1": "open", "db/2": "replies"}


def test_a_database_waits_for_the_journal_and_the_journal_for_it(tmp_path):
    notes = Notes(source="seekwise record")
    load, written = made(tmp_path, loops.database(notes, 100), notes=notes)
    shape, rows = of(load, written, "sqlite3/10")
    names = [each.name for each in load.programs]
    journal = names.index("jbd2/sda-8/20")
    begins = rows["other"] == journal
    assert shape.how == "replies" and begins.sum() == 99
    # The first request of commit n waits for n commits; those of its burst follow one another.
    assert (rows["other_count"][begins] == np.arange(1, 100)).all()
    assert (rows["gap_ns"][begins] == 300_000).all()
    _, commits = of(load, written, "jbd2/sda-8/20")
    assert (commits["other"] == names.index("sqlite3/10")).sum() == 100
    assert (commits["flags"] & 12 == 12).all()


def test_two_threads_that_share_a_disk_do_not_wait_for_each_other(tmp_path):
    notes = Notes(source="seekwise record")
    parts = [loops.loop(notes, f"db/{number}", 800, think_ns=1e5, seed=number) for number in range(4)]
    load, written = made(tmp_path, *parts, notes=notes)
    assert (written["other"] == loads.NOBODY).all()
    assert all(each.shape.after == () for each in load.programs)


def test_chunks_make_no_difference(tmp_path):
    results = []
    for chunk in (64, 1000, 65_536):
        notes = Notes(source="seekwise record")
        parts = (loops.loop(notes, "aio/1", 3000, 8), loops.loop(notes, "db/2", 900), loops.database(notes, 60))
        results.append(made(tmp_path, *parts, notes=notes, chunk=chunk)[1])
    assert all((each == results[0]).all() for each in results)


def test_no_request_waits_for_one_that_was_sent_later(tmp_path):
    notes = Notes(source="seekwise record")
    parts = (loops.loop(notes, "aio/1", 2000, 8), loops.database(notes, 80), loops.loop(notes, "db/3", 500, seed=9))
    load, written = made(tmp_path, *parts, notes=notes)
    sent = [written[p.first : p.first + p.rows]["at_ns"] for p in load.programs]
    for number, program in enumerate(load.programs):
        rows = written[program.first : program.first + program.rows]
        for at, row in zip(sent[number], rows, strict=True):
            if row["other"] != loads.NOBODY:
                assert row["other_count"] <= (sent[row["other"]] <= at).sum()


def test_write_back_flushes_and_forced_writes_are_told_apart(tmp_path):
    notes = Notes(source="seekwise record")
    back = loops.opened(notes, "kworker/u8:1/7", 300)
    back["kind"] = Kind.WRITE
    flush = loops.rows(notes, "db/1", [5, 9], [7, 12], kind=Kind.FLUSH, sectors=0)
    load, _ = made(tmp_path, back, flush, loops.loop(notes, "db/1", 300), notes=notes)
    roles = {group.name: group.role for group in load.groups}
    assert roles == {"db": "foreground", "kworker (write-back)": "write-back"}
    assert load.flushes == 2
    assert any("write-back" in line for line in load.assumed)


def test_the_busiest_device_is_played_and_that_is_said(tmp_path):
    notes = Notes(source="seekwise record")
    notes.device("sda")
    notes.device("sdb")
    other = loops.loop(notes, "db/2", 50)
    other["device"] = 1
    load, _ = made(tmp_path, loops.loop(notes, "db/1", 200), other, notes=notes)
    assert (load.requests, load.device) == (200, "sda")
    assert any("busiest of 2 devices" in line for line in load.said)


def test_a_trace_without_anything_to_play_is_one_error(tmp_path):
    notes = Notes(source="seekwise record")
    discards = loops.rows(notes, "fstrim/1", [0], [5], kind=Kind.DISCARD)
    with pytest.raises(TraceError, match="no reads, writes or flushes"):
        made(tmp_path, discards, notes=notes)


def test_a_trace_that_says_nothing_of_sync_has_synchronous_writes(tmp_path):
    notes = Notes(source="fio latency log")
    part = loops.loop(notes, "hm/1", 200, kind=Kind.WRITE)
    path = loops.write(tmp_path / "t.swt", notes, part)
    again, chunks = open_trace(path)
    load = loads.make(chunks, again, tmp_path)
    assert (np.fromfile(load.path, loads.ROW)["flags"] & Flag.SYNC > 0).all()
    assert any("synchronous" in line for line in load.assumed)


def test_rows_are_put_in_order_within_the_window_and_counted_beyond():
    rows = np.zeros(1000, REQUEST)
    rows["arrival_ns"] = np.arange(1000)
    shuffled = rows.copy()
    shuffled[[10, 20, 500]] = shuffled[[20, 10, 501]]
    late = Late()
    out = np.concatenate(list(ordered([shuffled[:300], shuffled[300:]], late, window=50)))
    assert (np.diff(out["arrival_ns"]) >= 0).all() and late.count == 0 and len(out) == 1000
    shuffled = rows.copy()
    shuffled["arrival_ns"][900] = 3
    out = np.concatenate(list(ordered([shuffled[i : i + 100] for i in range(0, 1000, 100)], late, window=50)))
    assert late.count == 1 and len(out) == 1000 and (np.diff(out["arrival_ns"]) >= 0).all()


HOSTILE = (
    b"-1",
    b"0",
    b"18446744073709551615",
    b"9223372036854775807",
    b"99999999999999999999999",
    b"nan",
    b"",
    b"\x00\xff",
)


@pytest.mark.parametrize("seed", range(40))
def test_a_malformed_trace_is_played_or_is_one_error(tmp_path, seed):
    chance = random.Random(seed)
    texts = [value for name, value in vars(samples).items() if name.isupper() and isinstance(value, str | bytes)]
    text = chance.choice(texts)
    text = text if isinstance(text, bytes) else text.encode()
    for _ in range(chance.randint(1, 3)):
        numbers = list(re.finditer(rb"\d+", text))
        at = chance.randrange(len(text) + 1)
        if numbers and chance.random() < 0.6:
            found = chance.choice(numbers)
            text = text[: found.start()] + chance.choice(HOSTILE) + text[found.end() :]
        else:
            text = text[:at] + (b"" if chance.random() < 0.5 else bytes([chance.randrange(256)]) + text[at + 1 :])
    (tmp_path / "t").write_bytes(text)
    settings = whatif.candidate_storages({"model": ["wd2500ys"], "scheduler": ["none"]}, {})
    try:
        notes, chunks = open_trace(tmp_path / "t")
        load = loads.make(chunks, notes, tmp_path)
        for replay_open in (False, True):
            (result,) = whatif.play(load, settings, [1], threads=1, replay_open=replay_open)[0]
            assert result["phases"][0]["ios"] == sum(group.requests for group in load.groups)
    except SeekwiseError as error:
        assert "\n" not in error.message
