"""This test will parse the kernel's trace pages, made by hand and taken from this kernel."""

import os
import signal
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from seekwise.control import interrupt, tracefs
from seekwise.errors import SeekwiseError
from seekwise.trace.assemble import Assembler
from seekwise.trace.columns import Kind, Notes
from seekwise.trace.readers import open_trace
from seekwise.trace.record import recorder, ring

FORMAT = """name: block_rq_issue
ID: 1234
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:28;\tsize:10;\tsigned:0;
\tfield:char comm[16];\toffset:38;\tsize:16;\tsigned:0;
"""


MISSED = 1 << 31
"""Events were lost before this page (RB_MISSED_EVENTS, Linux kernel/trace/ring_buffer.c)."""


def event(delta, sector, sectors=8, letters=b"WS", pid=42, number=1234):
    data = struct.pack("<HBBiIIQI10s16sxx", number, 0, 0, pid, 8 << 20, 0, sector, sectors, letters, b"fio")
    return struct.pack("<I", len(data) // 4 | delta << 5) + data


def page(*parts, time=1_000_000):
    body = b"".join(parts)
    return (struct.pack("<QQ", time, len(body)) + body).ljust(ring.PAGE, b"\0")


def test_events_of_a_page_carry_their_times_and_fields():
    known = ring.layouts({"block_rq_issue": FORMAT})
    extend = struct.pack("<II", ring.TIME_EXTEND | 5 << 5, 2)
    padding = struct.pack("<II", ring.PADDING | 7 << 5, 12) + b"\0" * 8
    content = page(
        event(100, 1000), extend, event(1, 2000, letters=b"R"), padding, event(10, 3000, number=77), event(3, 4000)
    )
    found = list(ring.events(content, known))
    assert [(e.time - 1_000_000, e.sector, e.letters) for e in found] == [
        (100, 1000, "WS"),
        (100 + (2 << 27) + 5 + 1, 2000, "R"),
        (100 + (2 << 27) + 5 + 1 + 7 + 10 + 3, 4000, "WS"),
    ]
    assert (found[0].pid, found[0].comm, found[0].dev >> 20) == (42, b"fio", 8)


def test_a_kernel_that_describes_its_events_otherwise_is_refused():
    with pytest.raises(SeekwiseError, match="not known"):
        ring.layouts({"block_rq_issue": FORMAT.replace("sector_t sector", "sector_t place")})


def test_a_cut_page_gives_what_is_whole():
    known = ring.layouts({"block_rq_issue": FORMAT})
    whole = page(event(1, 1), event(1, 2))
    assert len(list(ring.events(whole[: 16 + 58 + 30], known))) == 1


@pytest.fixture
def loop_device(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    try:
        tracefs.root()
    except SeekwiseError as error:
        pytest.skip(error.message)
    backing = tmp_path / "disk"
    with backing.open("wb") as file:
        file.truncate(64 << 20)
    made = subprocess.run(
        ["losetup", "--find", "--show", "--direct-io=off", backing], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    yield Path(made.stdout.strip())
    subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)


@pytest.mark.root
def test_a_recording_holds_every_request_of_a_known_load(loop_device, tmp_path):
    load = (
        f"sleep 0.7; dd if=/dev/zero of={loop_device} bs=64k count=100 seek=10 oflag=direct conv=notrunc; "
        f"dd if={loop_device} of=/dev/null bs=4k count=300 skip=50 iflag=direct"
    )
    running = subprocess.Popen(["sh", "-c", load], stderr=subprocess.DEVNULL)
    out = tmp_path / "loop.swt"
    taken = recorder.record(recorder.device_of(loop_device.name), 4, out, anonymise=True)
    running.wait()
    notes, chunks = open_trace(out)
    rows = np.concatenate(list(chunks))
    writes, reads = rows[rows["kind"] == Kind.WRITE], rows[(rows["kind"] == Kind.READ) & (rows["sectors"] == 8)]
    assert taken.dropped == 0
    assert writes["sectors"].sum() == 100 * 128
    assert len(reads) >= 300
    assert (rows["complete_ns"] >= rows["arrival_ns"]).all()
    assert notes.anonymous
    assert all("dd" not in name for name in notes.processes)
    assert notes.devices == ["device-0"]
    assert not list((tracefs.root() / "instances").glob(f"seekwise-{os.getpid()}"))


def test_bios_of_md_end_as_bios_and_a_cut_one_by_its_last_part():
    notes = Notes()
    made = Assembler(notes)
    made.queue(made.time(0), 0, 1000, 64, "WS", 0)
    made.queue(made.time(10), 0, 5000, 8, "R", 0)
    # md cut the write at a chunk: what ends is its rest.
    made.complete_bio(made.time(50), 0, 1024, 40, "WS")
    made.complete_bio(made.time(60), 0, 5000, 8, "R")
    made.queue(made.time(70), 0, 0, 0, "FWS", 0)
    made.complete_bio(made.time(90), 0, 0, 0, "FWS")
    made.finish()
    rows = made.rows.take()
    assert rows["sector"].tolist() == [1000, 5000, 0]
    assert (rows["complete_ns"] - rows["arrival_ns"]).tolist() == [50, 50, 20]
    assert rows["sectors"].tolist() == [64, 8, 0] and rows["kind"].tolist() == [Kind.WRITE, Kind.READ, Kind.FLUSH]
    assert made.orphans == 0


def test_a_device_over_others_is_recorded_by_its_bios(tmp_path):
    for name, extra in (("md0", "slaves/sda"), ("sda", "mq"), ("sdb", "slaves")):
        place = tmp_path / "devices" / name
        (place / extra).mkdir(parents=True)
        (place / "dev").write_text("9:0\n")
        (tmp_path / "class" / "block").mkdir(parents=True, exist_ok=True)
        (tmp_path / "class" / "block" / name).symlink_to(place)
    assert [recorder.device_of(name, tmp_path).has_requests for name in ("md0", "sda", "sdb")] == [False, True, True]


@pytest.mark.parametrize(
    ("committed", "last"), [(16, True), (2047, True), (2048, False), (4076, False), (4076 | MISSED, False)]
)
def test_a_page_that_is_not_half_full_is_the_last_one_there_is(committed, last):
    page = bytes(8) + committed.to_bytes(8, "little") + bytes(ring.PAGE - 16)
    assert ring.is_last(page) is last


class InterruptedInstance:
    """A tracing instance that takes pages of one file; Ctrl-C arrives while its recording is being started."""

    def __init__(self, cpu: Path) -> None:
        self.cpu = cpu
        self.stopped = False

    def cpus(self):
        return [self.cpu]

    def start(self):
        os.kill(os.getpid(), signal.SIGINT)

    def stop(self):
        self.stopped = True


def test_ctrl_c_while_the_recording_starts_keeps_what_it_has(tmp_path):
    cpu, folder = tmp_path / "cpu0", tmp_path / "spool"
    cpu.mkdir()
    folder.mkdir()
    committed = page(event(5, 1000))
    (cpu / "trace_pipe_raw").write_bytes(committed)
    instance = InterruptedInstance(cpu)
    with interrupt.stoppable():
        recorder.spool(instance, folder, 60, recorder.SPOOL_BYTES_MAX)
    assert instance.stopped and (folder / "cpu0").read_bytes() == committed
