"""This test will read every format that is known, cut it, damage it, and refuse what is no trace with one sentence."""

import gzip
import resource
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
import samples

from seekwise import zstd
from seekwise.trace import columns, file
from seekwise.trace.columns import REQUEST, Flag, Kind, Notes, TraceError
from seekwise.trace.readers import FORMATS, open_trace, source


def read(path):
    notes, chunks = open_trace(path)
    rows = np.concatenate(list(chunks))
    return notes, rows


def written(tmp_path, content, name="trace"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", samples.TEXTS)
def test_a_text_format_is_known_by_its_content_and_gives_the_three_requests(tmp_path, name):
    notes, rows = read(written(tmp_path, samples.TEXTS[name]))
    assert notes.source == name
    rows = rows[np.argsort(rows["arrival_ns"], kind="stable")]
    assert list(zip(rows["sector"], rows["sectors"], rows["kind"], strict=True)) == [
        (1000, 8, Kind.READ),
        (5000, 16, Kind.WRITE),
        (1008, 8, Kind.READ),
    ]
    assert not notes.truncated


@pytest.mark.parametrize("name", ["fio latency log", "blkparse", "perf or trace-cmd"])
def test_response_times_are_those_of_the_source(tmp_path, name):
    _, rows = read(written(tmp_path, samples.TEXTS[name]))
    taken = {int(row["sector"]): int(row["complete_ns"] - row["arrival_ns"]) for row in rows}
    assert taken == {1000: 2_000_000, 5000: 1_000_000, 1008: 2_000_000}


RECORDED = Path(__file__).parent / "recorded"
READS_GAP_MS, WRITES_GAP_MS = 50, 100


@pytest.mark.parametrize(
    ("name", "kind", "count", "gap_ms"),
    [
        ("fio-3.33-reads.iolog", Kind.READ, 12, READS_GAP_MS),
        ("fio-3.33-writes.iolog", Kind.WRITE, 4, WRITES_GAP_MS),
        ("fio-3.33_lat.1.log", Kind.READ, 12, READS_GAP_MS),
        ("perf-script.txt", Kind.READ, 12, READS_GAP_MS),
        ("perf-script.txt", Kind.WRITE, 4, WRITES_GAP_MS),
    ],
)
def test_what_a_current_program_wrote_has_the_think_times_of_its_job(name, kind, count, gap_ms):
    _, rows = read(RECORDED / name)
    mine = rows[rows["kind"] == kind]
    assert len(mine) == count and set(mine["sectors"]) == {8 if kind is Kind.READ else 32}
    gaps_ms = np.diff(np.sort(mine["arrival_ns"])) / 1e6
    assert np.median(gaps_ms) == pytest.approx(gap_ms, rel=0.1)


def test_an_iolog_that_fio_appended_to_goes_on_after_its_first_part(tmp_path):
    once = (RECORDED / "fio-3.33-reads.iolog").read_text()
    _, rows = read(written(tmp_path, once + once))
    assert len(rows) == 24 and (np.diff(rows["arrival_ns"]) >= 0).all()


def test_times_of_fios_third_iolog_and_waits_of_the_second_are_microseconds(tmp_path):
    _, third = read(written(tmp_path, samples.IOLOG3))
    assert list(third["arrival_ns"]) == [0, 1_000_000, 3_000_000]
    _, second = read(written(tmp_path, samples.IOLOG2))
    assert list(second["arrival_ns"]) == [0, 1_000_000, 1_000_000]


@pytest.mark.parametrize("order", "<>")
def test_blktraces_records_are_read_in_either_byte_order(tmp_path, order):
    notes, rows = read(written(tmp_path, samples.blktrace(order), "sda.blktrace.0"))
    rows = rows[np.argsort(rows["arrival_ns"])]
    assert list(rows["sector"]) == [1000, 5000, 1008]
    assert list(rows["complete_ns"] - rows["arrival_ns"]) == [2_000_000, 1_000_000, 2_000_000]
    assert notes.processes[rows["process"][0]] == "fio/697"
    assert notes.devices == ["8,0"]


def test_the_files_of_all_processors_are_one_recording(tmp_path):
    records = [samples.blktrace()[at : at + 48] for at in range(52, len(samples.blktrace()), 48)]
    written(tmp_path, b"".join(records[::2]), "sda.blktrace.0")
    path = written(tmp_path, b"".join(records[1::2]), "sda.blktrace.1")
    _, rows = read(path)
    assert len(rows) == 3
    assert (rows["complete_ns"] > 0).all()


def test_a_merged_bio_is_part_of_the_request_that_took_it_in(tmp_path):
    notes, rows = read(written(tmp_path, samples.BLKPARSE))
    write = rows[rows["kind"] == Kind.WRITE][0]
    assert (write["sectors"], write["merged"], write["flags"]) == (16, 1, Flag.SYNC)
    assert notes.processes[write["process"]] == "kworker/u8:1/700"


def test_ftraces_own_text_is_read_and_its_lost_events_are_counted(tmp_path):
    notes, rows = read(written(tmp_path, samples.TRACE_CMD))
    assert len(rows) == 3
    assert notes.dropped == 7
    assert set(notes.processes) == {"?", "fio/697", "kworker/u8:1/700"}


FLUSHES = """\
  app 7 [000] 5.000000: block:block_bio_queue: 8,0 FW 0 + 0 [app]
  db 8 [001] 5.001000: block:block_bio_queue: 8,0 FWS 0 + 0 [db]
  kworker/0:1H 9 [000] 5.002000: block:block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [kworker/0:1H]
  db 8 [001] 5.003000: block:block_bio_queue: 8,0 FWS 0 + 0 [db]
  swapper 0 [000] 5.006000: block:block_rq_complete: 8,0 FF () 18446744073709551615 + 0 [0]
"""


def test_one_flush_of_the_drive_ends_all_that_waited_when_it_was_issued(tmp_path):
    _, rows = read(written(tmp_path, FLUSHES))
    assert list(rows["kind"]) == [Kind.FLUSH] * 3
    assert list(rows["complete_ns"]) == [6_000_000, 6_000_000, -1]
    assert rows["flags"][2] & Flag.CUT


def test_blkparses_flush_without_a_place_is_a_flush(tmp_path):
    lines = [
        f"  8,0    0  {n}     {time}   697  {action}  FN [kworker/0:1H]"
        for n, (time, action) in enumerate((("0.000000000", "Q"), ("0.001000000", "D"), ("0.004000000", "C")), 1)
    ]
    _, rows = read(written(tmp_path, "\n".join(lines) + "\n"))
    assert [(row["kind"], row["complete_ns"]) for row in rows] == [(Kind.FLUSH, 4_000_000)]


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_packed_trace_is_unpacked_on_the_way(tmp_path, pack):
    _, rows = read(written(tmp_path, pack(samples.BLKPARSE.encode())))
    assert len(rows) == 3


@pytest.mark.parametrize("name", samples.TEXTS)
def test_a_trace_that_ends_too_early_is_read_up_to_there_and_says_so(tmp_path, name):
    text = samples.TEXTS[name].partition("CPU0 (")[0].removesuffix("/dev/sda close\n").rstrip("\n")
    last = text.rindex("\n") + 1
    cut = text[: last + max(7, (len(text) - last) * 2 // 5)]
    notes, rows = read(written(tmp_path, cut))
    assert notes.truncated.startswith("cut off at line")
    assert len(rows) >= 2


def test_a_cut_blktrace_and_a_cut_gzip_say_where(tmp_path):
    notes, rows = read(written(tmp_path, samples.blktrace()[:-20]))
    assert "byte 340" in notes.truncated
    assert rows[rows["sector"] == 1008]["flags"][0] & Flag.CUT
    text = "".join(f"{n}, {1000 + n % 977}, 0, 4096, {n * n * 4096}, 0\n" for n in range(5000))
    packed = gzip.compress(text.encode())
    notes, rows = read(written(tmp_path, packed[: len(packed) // 2]))
    assert notes.truncated
    assert 1000 < len(rows) < 4500


def trace_of(tmp_path, count=200_000):
    path = tmp_path / "long.swt"
    notes = Notes(source="test")
    place = notes.process("fio/1")
    writer = file.TraceWriter(path, notes)
    random = np.random.default_rng(1)
    for start in range(0, count, 50_000):
        chunk = np.zeros(50_000, REQUEST)
        chunk["arrival_ns"] = (start + np.arange(50_000)) * 10_000
        chunk["complete_ns"] = chunk["arrival_ns"] + 5_000
        chunk["sector"] = random.integers(0, 1 << 30, 50_000)
        chunk["sectors"] = 8
        chunk["process"] = place
        writer.add(chunk)
    notes.dropped = 3
    writer.close()
    return path


def test_a_trace_file_gives_back_what_was_written(tmp_path):
    notes, rows = read(trace_of(tmp_path))
    assert len(rows) == 200_000
    assert notes.processes == ["?", "fio/1"]
    assert notes.dropped == 3
    assert (np.diff(rows["arrival_ns"]) == 10_000).all()
    assert len(trace_of(tmp_path).read_bytes()) < 200_000 * REQUEST.itemsize / 5


def test_a_cut_trace_file_is_usable_up_to_the_cut(tmp_path):
    path = trace_of(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 6 // 10])
    notes, rows = read(path)
    assert len(rows) == 100_000
    assert notes.truncated == "cut off after 100,000 requests"


def test_memory_stays_flat_along_a_long_trace(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "CHUNK_ROWS", 2000)
    path = tmp_path / "long.log"
    with path.open("w") as out:
        for start in range(0, 20_000, 1000):
            out.writelines(f"{start + n}, 1000, 0, 4096, {(start + n) * 4096}, 0\n" for n in range(1000))

    def peak(rows_max):
        tracemalloc.start()
        _, chunks = open_trace(path)
        read_rows = 0
        for chunk in chunks:
            read_rows += len(chunk)
            if read_rows >= rows_max:
                break
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(20_000) < 1.5 * peak(4000)


def block(kind, data, length=None, checksum=None):
    packed = zstd.compress(data)
    return kind + struct.pack("<II", length or len(packed), checksum or zlib.crc32(packed)) + packed


HEAD = file.MAGIC + block(b"HEAD", b"{}")
BOMB = zstd.compress(b"\0" * (200 << 20))
HOSTILE = {
    "empty": b"",
    "zeros": b"\0" * 4096,
    "random": bytes(np.random.default_rng(7).integers(0, 256, 5000, dtype=np.uint8)),
    "html": b"<html><body>404</body></html>\n",
    "prose": b"Dear reader,\nthis is no trace.\n",
    "a line without end": b"7" * 3_000_000,
    "json": b'{"requests": []}\n',
    "biosnoop: a word for a number": b"TIME(s)  COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 fio 1 sda R many 4096 0.1\n",
    "biosnoop: a heading alone": b"TIME(s)  COMM PID DISK T SECTOR BYTES LAT(ms)\n",
    "biosnoop: no number": b"TIME(s)  COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 fio 1 sda R 1 4096 nan\n",
    "biosnoop: a sector beyond any drive": b"TIME(s)  COMM PID DISK T SECTOR BYTES LAT(ms)\n0.1 fio 1 sda R 99999999999999999999 4096 0.1\n",
    "fio log: a word for a number": samples.FIO_LOG.encode() + b"6, many, 0, 4096, 1, 0\n",
    "fio log: a huge offset": samples.FIO_LOG.encode() + b"6, 1, 0, 4096, " + b"9" * 40 + b", 0\n",
    "fio log: a negative size": samples.FIO_LOG.encode() + b"6, 1, 0, -4096, 512, 0\n",
    "fio log: a direction of 7": samples.FIO_LOG.encode() + b"6, 1, 7, 4096, 512, 0\n",
    "fio log: an endless line": samples.FIO_LOG.encode() + b"1," * 20_000 + b"\n",
    "fio log: a null byte": samples.FIO_LOG.encode() + b"6\x00, 1, 0, 4096, 512, 0\n",
    "fio log: an overflowing time": samples.FIO_LOG.encode() + b"9" * 30 + b", 1, 0, 4096, 512, 0\n",
    "iolog: version 9": b"fio version 9 iolog\n/dev/sda read 0 4096\n",
    "iolog: an unknown action": samples.IOLOG2.encode() + b"/dev/sda explode 0 4096\n",
    "iolog: nothing but a header": b"fio version 2 iolog\n",
    "blkparse: damaged in the middle": samples.BLKPARSE[:300].encode()
    + b"\nrubbish here\n"
    + samples.BLKPARSE.encode(),
    "blkparse: a huge time": b"  8,0 0 1 " + b"9" * 30 + b".0 697 Q R 1000 + 8 [fio]\n",
    "perf: no request in it": b"fio 697 [000] 100.0: block:block_plug: [fio]\n",
    "blktrace: another version": samples.record(0, 0, 0, 1, magic=0x65617401),
    "blktrace: a false length": samples.blktrace()[:46] + b"\xff\xff" + samples.blktrace()[48:],
    "blktrace: damaged in the middle": samples.blktrace()[:100] + b"\x99" * 96 + samples.blktrace()[196:],
    "gzip: damaged": gzip.compress(samples.BLKPARSE.encode() * 100)[:40] + b"\xee" * 200,
    "zstd: a bomb": BOMB,
    "swt: an unknown block": HEAD + b"EVIL" + b"\0" * 8,
    "swt: a false checksum": HEAD + block(b"ROWS", b"\0" * 64, checksum=1),
    "swt: a bomb": HEAD + block(b"ROWS", b"\0" * (100 << 20)),
    "swt: a false length of rows": HEAD + block(b"ROWS", struct.pack("<I", 4_000_000_000)),
    "swt: a description that is none": file.MAGIC + block(b"HEAD", b"[" * 100_000),
    "swt: a process that is not listed": HEAD
    + block(b"ROWS", struct.pack("<I", 1) + b"\0" * (REQUEST.itemsize - 6) + struct.pack("<i", 9) + b"\0\0"),
    "swt: an end that does not fit": HEAD + block(b"END ", b'{"rows": 5}'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_malformed_or_hostile_trace_is_one_clear_error(tmp_path, name):
    path = written(tmp_path, HOSTILE[name])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TraceError) as raised:
        read(path)
    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    assert str(path) in raised.value.message
    assert "\n" not in raised.value.message
    assert len(raised.value.message) < 300 + len(str(path))
    assert grown_mib < 250


def test_there_are_at_least_thirty_of_them():
    assert len(HOSTILE) >= 30
    assert len(FORMATS) == 7


def test_prompts_before_events_and_words_behind_them_are_passed_over(tmp_path):
    path = tmp_path / "copied.txt"
    path.write_text(f"root@host:~# blkparse sda\nInput file sda.blktrace.0 added\n{samples.BLKPARSE}\nThat was bfq.\n")
    notes, chunks = open_trace(path)
    plain = tmp_path / "plain.txt"
    plain.write_text(samples.BLKPARSE)
    assert notes.source == "blkparse"
    assert sum(map(len, chunks)) == sum(map(len, open_trace(plain)[1]))


EVENTS = samples.BLKPARSE.partition("CPU0")[0]
ODD = {
    "in a fence": f"# Trace\n\nRecorded here:\n\n```\n{EVENTS}```\n\nThanks\n",
    "behind fifty lines of prose": "a line of prose\n" * 50 + EVENTS,
    "perf behind a prompt": f"$ sudo perf script\n[ perf record: Captured and wrote 1.2 MB perf.data ]\n{samples.PERF}",
    "perf with call chains": samples.PERF.replace(
        "[fio]\n", "[fio]\n        ffffffff8149a1c2 blk_account_io_start+0x12 ([kernel.kallsyms])\n            7f1c2 [unknown] (/usr/lib/libc.so.6)\n\n"
    ),
    "perf and words behind it": f"{samples.PERF}\nThat was bfq.\n",
}  # fmt: skip


@pytest.mark.parametrize("form", ODD)
def test_prose_around_events_is_passed_over(form, tmp_path):
    path = written(tmp_path, ODD[form].encode())
    assert len(np.concatenate(list(open_trace(path)[1]))) == 3


@pytest.mark.parametrize("between", ["", "\n```\n\nand now with bfq:\n\n```\n"])
def test_recordings_appended_without_a_summary_are_shown_one_behind_the_other(between, tmp_path):
    notes, chunks = open_trace(written(tmp_path, (EVENTS + between + EVENTS).encode()))
    rows = np.concatenate(list(chunks))
    assert len(rows) == 6
    assert rows["arrival_ns"].max() - rows["arrival_ns"].min() == 8_000_000, "the second begins where the first ended"
    assert any("2 recordings" in said for said in notes.sentences)


def test_a_pause_with_words_in_one_recording_is_no_other_recording(tmp_path):
    half = EVENTS.index("  8,0    0        7")
    notes, chunks = open_trace(written(tmp_path, f"{EVENTS[:half]}\nhere it waited\n{EVENTS[half:]}".encode()))
    rows = np.concatenate(list(chunks))
    assert (len(rows), rows["arrival_ns"].max()) == (3, 3_000_000)
    assert not any("recordings" in said for said in notes.sentences)


@pytest.mark.parametrize(
    ("head", "words"), [(b"PERFILE2", "perf script"), (b"\x17\x08\x44tracing6", "trace-cmd report")]
)
def test_a_binary_recording_names_what_makes_text_of_it(head, words, tmp_path):
    with pytest.raises(TraceError) as raised:
        open_trace(written(tmp_path, head + b"\0" * 100))
    assert words in (raised.value.hint or "")


@pytest.mark.parametrize("packed", ["gz", "zst"])
def test_a_trace_that_grows_without_an_end_is_refused(tmp_path, packed, monkeypatch):
    monkeypatch.setattr(source, "UNPACKED_BYTES", 1 << 20)
    path = tmp_path / "x"
    line = b"  8,0    1        0     0.000000000  1095  Q  WS 0 + 8 [w]\n"
    data = line * (1 << 15)
    path.write_bytes(gzip.compress(data, 9) if packed == "gz" else zstd.compress(data))
    with pytest.raises(TraceError, match="more than 200 times its size"):
        for _ in open_trace(path)[1]:
            pass
