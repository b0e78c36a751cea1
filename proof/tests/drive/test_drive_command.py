"""`seekwise drive` as a process: starts, serves, refuses, ends in order, and leaves nothing after SIGKILL."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from seekwise.control import nbd
from seekwise.errors import RefusedError

DRIVE = [sys.executable, "-m", "seekwise.cli.main", "drive"]


class Server:
    def __init__(self, *words: str, runtime: Path) -> None:
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
        self.process = subprocess.Popen(
            [*DRIVE, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.ready = json.loads(line)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, dict | None]:
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=30)
        return self.process.returncode, json.loads(out) if out else None


@pytest.fixture
def start(tmp_path: Path):
    servers = []

    def started(*words: str) -> Server:
        servers.append(Server(*words, runtime=tmp_path))
        return servers[-1]

    yield started
    for server in servers:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


def ask(line: socket.socket, command: int, offset: int, length: int, data: bytes = b"", flags: int = 0) -> bytes:
    """One request, one answer."""
    line.sendall(struct.pack(">IHHQQI", 0x25609513, flags, command, 7, offset, length) + data)
    magic, error, cookie = struct.unpack(">IIQ", nbd._exactly(line, 16))
    assert (magic, error, cookie) == (0x67446698, 0, 7)
    return nbd._exactly(line, length) if command == 0 else b""


def refused(*words: str, runtime: Path) -> tuple[int, str]:
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    ended = subprocess.run([*DRIVE, *words], check=False, capture_output=True, text=True, env=environment, timeout=30)
    return ended.returncode, ended.stderr


def test_drives_are_served_and_reported_and_nothing_stays(start, tmp_path: Path) -> None:
    server = start("wd2500ys", "--count", "4")
    assert len(server.ready["sockets"]) == 4
    line, size, flags = nbd.negotiate(server.ready["sockets"][2])
    assert size == server.ready["bytes"] == 488397168 * 512
    assert flags & 0b11101 == 0b11101
    ask(line, 1, 1 << 30, 4096, b"x" * 4096, flags=1)
    assert ask(line, 0, 1 << 30, 4096) == b"x" * 4096
    status, report = server.stop()
    assert status == 0
    assert report["schema"] == "seekwise.drive-report/1"
    assert [drive["writes"] for drive in report["drives"]] == [0, 0, 1, 0]
    assert report["valid"] == (report["overruns"] == 0)
    assert list((tmp_path / "seekwise-drive").iterdir()) == []


def test_what_was_flushed_survives_sigkill_and_the_next_start_clears_the_sockets(start, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    server = start("wd2500ys", "--store", store)
    line, _, _ = nbd.negotiate(server.ready["sockets"][0])
    ask(line, 1, 0, 512, b"a" * 512)
    ask(line, 3, 0, 0)
    ask(line, 1, 0, 512, b"b" * 512)
    assert server.stop(signal.SIGKILL) == (-signal.SIGKILL, None)
    server = start("wd2500ys", "--store", store)
    line, _, _ = nbd.negotiate(server.ready["sockets"][0])
    assert ask(line, 0, 0, 512) == b"a" * 512
    assert server.stop(signal.SIGINT)[0] == 0
    assert sorted(path.name for path in Path(store).iterdir()) == ["drive0.img", "lock", "store.json"]


def test_a_killed_servers_folder_goes_at_the_next_start(start, tmp_path: Path) -> None:
    first = start("null")
    first.stop(signal.SIGKILL)
    assert Path(first.ready["sockets"][0]).exists()
    second = start("null")
    assert not Path(first.ready["sockets"][0]).exists()
    second.stop()


@pytest.mark.parametrize("named", [False, True])
def test_the_control_socket_stops_the_server(start, tmp_path: Path, named) -> None:
    words = ("--control", str(tmp_path / "c")) if named else ()
    server = start("null", *words)
    assert not named or server.ready["control"] == words[1]
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(server.ready["control"])
        line.sendall(b"stop\n")
        assert line.recv(100) == b"ok\n"
    assert server.process.wait(timeout=30) == 0


def test_two_servers_on_one_store_are_refused(start, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    start("null", "--store", store)
    status, said = refused("null", "--store", store, runtime=tmp_path)
    assert status == 3
    assert f"error: the store {store} is in use by another server" in said


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["wd2500yz"], 2, "no drive model is called `wd2500yz`; did you mean `wd2500ys`"),
        (["null", "--set", "latncy_us=3"], 2, "did you mean `latency_us`"),
        (["null", "--fault", "0:explode"], 2, "has no such kind"),
        (["null", "--count", "2", "--socket", "/tmp/one.sock"], 2, "1 sockets were named for 2 drives"),
        (["null", "--store", "/proc/nowhere"], 1, "the store /proc/nowhere cannot be made"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    words: list[str], status: int, sentence: str, tmp_path: Path
) -> None:
    found, said = refused(*words, runtime=tmp_path)
    assert found == status, said
    assert sentence in said
    assert "Traceback" not in said


def test_without_the_nbd_module_attaching_says_so(tmp_path: Path) -> None:
    if any(Path("/sys/block").glob("nbd*")):
        pytest.skip("the nbd module is loaded here")
    status, said = refused("null", "--attach", runtime=tmp_path)
    assert status == 4
    assert "error: the kernel's nbd module is not loaded" in said


def test_the_log_has_a_line_per_request_and_times_are_as_asked(start, tmp_path: Path) -> None:
    log = tmp_path / "requests.csv"
    times = ("--overrun-us", "250", "--awake-us", "0", "--transport-us", "0")
    server = start("null", "--log", str(log), *times)
    line, _, _ = nbd.negotiate(server.ready["sockets"][0])
    with line:
        for block in range(3):
            ask(line, 0, block * 4096, 4096)
    _, report = server.stop()
    assert report["drives"][0]["reads"] == 3 and report["drives"][0]["overrun_limit_us"] == 250
    head, *rows = log.read_text().splitlines()
    assert len(rows) == 3 and all(len(row.split(",")) == len(head.split(",")) for row in rows)


def test_too_few_free_nbd_devices_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(nbd.Path, "exists", lambda self: True)
    monkeypatch.setattr(nbd.os, "geteuid", lambda: 0)
    monkeypatch.setattr(nbd, "free_devices", lambda: [Path("/dev/nbd3")])
    with pytest.raises(RefusedError, match="4 drives are to be attached and 1 nbd devices are free"):
        nbd.require(4)
