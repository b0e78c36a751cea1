"""What the kernel's events of a program come to, and that a recording is read back as it was written."""

import pytest

from seekwise.errors import SeekwiseError
from seekwise.simulate.recordings import recording
from seekwise.simulate.recordings.recording import (
    BEGIN,
    DISCARD,
    END,
    EXIT,
    FAULT,
    FORGET,
    FORK,
    LOCK,
    READ,
    SYNC,
    UNLOCK,
    WRITE,
    RecordedFile,
    Recording,
)
from seekwise_proof.recorded_calls import COMMIT_BLOCKS, Reader
from seekwise_proof.recorder import dumps

SMALL = Recording(
    "copy",
    {},
    (RecordedFile("data/a", 10), RecordedFile("own/b", 20)),
    (((FORGET, 0, 0, 0, 0), (BEGIN, 0, 0, 0, 0), (READ, 0, 0, 10, 5000), (WRITE, 1, 0, 10, 7), (END, 0, 40960, 0, 1)),)
    * 2,
    {"recorded": "2026-11-23"},
)


def line(us, event, rest, pid=7):
    return f"            prog-{pid}      [001] .....  {10 + us / 1e6:.6f}: {event}: {rest}"


def mark(us, text):
    return line(us, "tracing_mark_write", text)


def lock(us, kind, start, ret):
    return line(
        us,
        "posix_lock_inode",
        f"fl=0 dev=0xfe:0x0 ino=0xff fl_flags=FL_POSIX fl_type={kind} fl_start={start} fl_end={start} ret={ret}",
    )


def calls_of(lines, sizes=None):
    reader = Reader({100: "data/a", 101: "own/b", 255: "data/shm"}, sizes or {100: 40960, 101: 6000}, [7], (254, 0))
    reader.read([mark(0, "begin"), *lines, mark(1000, "end 4096")])
    (calls,) = reader.calls()
    assert calls[0][0] == BEGIN and calls[-1][:3] == (END, 0, 4096)
    return list(calls[1:-1]), reader.files()


def test_reads_faults_and_the_computing_between_them():
    rows, files = calls_of([
        line(100, "mm_filemap_get_pages", "dev=254:0 ino=64 ofs=0-131071"),
        line(110, "mm_filemap_get_pages", "dev=254:0 ino=64 ofs=61440-131071"),  # the rest of the same call
        line(300, "mm_filemap_map_pages", "dev=254:0 ino=64 ofs=0-65535"),
        line(301, "mm_filemap_fault", "dev=254:0 ino=65 ofs=4096"),
        line(302, "mm_filemap_get_pages", "dev=8:0 ino=64 ofs=0-4095"),  # another device
        line(303, "mm_filemap_get_pages", "dev=254:0 ino=999 ofs=0-4095"),  # not the program's
        line(304, "mm_filemap_get_pages", "dev=254:0 ino=64 ofs=0-4095", pid=8),  # another process
    ])  # fmt: skip
    assert rows == [(READ, 0, 0, 32, 100_000), (FAULT, 0, 7, 1, 200_000), (FAULT, 1, 1, 1, 1_000)]
    assert files == (RecordedFile("data/a", 32), RecordedFile("own/b", 2))


def test_a_child_belongs_to_who_started_it():
    rows, _ = calls_of([
        line(50, "sched_process_fork", "comm=prog pid=7 child_comm=prog child_pid=8"),
        line(100, "mm_filemap_get_pages", "dev=254:0 ino=64 ofs=0-4095", pid=8),
    ])  # fmt: skip
    # To a scheduler it is another process until it has ended.
    assert rows == [(FORK, 0, 0, 0, 0), (READ, 0, 0, 1, 100_000), (EXIT, 0, 0, 0, 0)]


def test_writes_read_first_what_they_do_not_cover_and_fsync_tells_whether_it_commits():
    rows, files = calls_of([
        line(10, "ext4_da_write_begin", "dev 254,0 ino 101 pos 5000 len 5000"),
        line(20, "ext4_sync_file_enter", "dev 254,0 ino 101 parent 1 datasync 1 "),
        line(30, "ext4_allocate_blocks", "dev 254,0 ino 101 flags X"),
        line(500, "ext4_sync_file_exit", "dev 254,0 ino 101 ret 0"),
        line(510, "ext4_da_write_begin", "dev 254,0 ino 101 pos 8192 len 4096"),
        line(520, "ext4_sync_file_enter", "dev 254,0 ino 101 parent 1 datasync 1 "),
        line(900, "ext4_sync_file_exit", "dev 254,0 ino 101 ret 0"),
        line(910, "ext4_da_write_begin", "dev 254,0 ino 777 pos 0 len 100"),  # a new file
        line(920, "ext4_evict_inode", "dev 254,0 ino 777 nlink 0"),
    ])  # fmt: skip
    assert rows == [
        (READ, 0, 1, 1, 10_000),
        (WRITE, 0, 1, 2, 0),
        (SYNC, 0, 0, COMMIT_BLOCKS, 10_000),
        (WRITE, 0, 2, 1, 10_000),
        (SYNC, 0, 0, 0, 10_000),
        (WRITE, 1, 0, 1, 10_000),
        (DISCARD, 1, 0, 0, 10_000),
    ]
    assert files == (RecordedFile("own/b", 3), RecordedFile("own/777", 1))


def test_waiting_for_a_lock_is_no_computing_and_what_is_evicted_is_forgotten():
    rows, _ = calls_of([
        lock(100, "F_WRLCK", 120, -11),
        lock(400, "F_WRLCK", 120, -11),
        lock(800, "F_WRLCK", 120, 0),
        lock(900, "F_UNLCK", 120, 0),
        mark(950, "evict 100"),
    ])  # fmt: skip
    # 100 µs before it asked; 700 µs of asking in vain do not count.
    assert rows == [(LOCK, 0, 0, 0, 100_000), (UNLOCK, 0, 0, 0, 100_000), (FORGET, 0, 0, 0, 50_000)]


def test_writing_begins_behind_each_piece_and_with_the_rest():
    rows, _ = calls_of([
        mark(5, "behind 2"),
        line(10, "ext4_da_write_begin", "dev 254,0 ino 777 pos 0 len 8192"),
        line(20, "ext4_da_write_begin", "dev 254,0 ino 777 pos 8192 len 4096"),
        mark(30, "behind 0"),
        line(40, "ext4_da_write_begin", "dev 254,0 ino 777 pos 12288 len 8192"),
    ])  # fmt: skip
    assert rows == [
        (WRITE, 0, 0, 2, 10_000),
        (FORGET, 0, 0, 2, 0),
        (WRITE, 0, 2, 1, 10_000),
        (FORGET, 0, 2, 1, 10_000),
        (WRITE, 0, 3, 2, 10_000),
    ]


def test_a_recording_is_the_same_read_back_and_what_is_none_is_refused():
    assert recording.loads(dumps(SMALL), "small") == SMALL
    for data in (b"", b"{}", dumps(SMALL)[:30]):
        with pytest.raises(SeekwiseError, match="no recording"):
            recording.loads(data, "broken")
