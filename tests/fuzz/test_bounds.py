"""Inputs that are large or deep are refused before they are parsed, within seconds and little memory, and the error names the bound."""

from __future__ import annotations

import gzip
import io
import os
import resource
import subprocess
import sys
import tarfile
import time
import tomllib

import pytest
from click.testing import CliRunner

from seekwise import bounds
from seekwise.cli import _options, devices
from seekwise.cli.main import cli
from seekwise.linux.stack import read_stack

TOMLS = {
    "dotted key": ".".join("a" * 50_000) + " = 1\n",
    "dotted key with spaces": " . ".join('"a"' for _ in range(30_000)) + " = 1\n",
    "dotted header": "[" + ".".join("a" * 40_000) + "]\n",
    "array header": "[[" + ".".join("a" * 40_000) + "]]\n",
    "inline tables": "a = " + "{a = " * 20_000 + "1" + "}" * 20_000 + "\n",
    "inline dotted": "a = {" + ".".join("b" * 40_000) + " = 1}\n",
    "lists": "a = " + "[" * 20_000 + "]" * 20_000 + "\n",
    "many lines": "".join(f"a{number} = 1\n" for number in range(200_000)),
    "digits": "a = " + "9" * 100_000 + "\n",
}
COMMANDS = {
    "study": lambda path: ["plan", path],
    "use": lambda path: ["tune", "model:null", "--for", path],
    "claims": lambda path: ["verify", "claims", path],
    "verdicts": lambda path: ["verify", "verdicts", path],
    "drives": lambda path: ["verify", "drives", path],
    "workload": lambda path: ["advise", "--for", path],
}


def limited(words: list[str], folder, **environment: str) -> subprocess.CompletedProcess:
    """A command that gets no more than 1 GiB beyond what it needs to start, and 30 s of processor time."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
        # Address space: numpy and the libraries map 2 GiB without using it.
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    return subprocess.run(
        [sys.executable, "-P", "-m", "seekwise.cli.main", *map(str, words)], capture_output=True, text=True, timeout=120, check=False,
        cwd=folder, preexec_fn=bound, env={**os.environ, "SEEKWISE_STATE": str(folder / "state"), "OPENBLAS_NUM_THREADS": "1", **environment},
    )  # fmt: skip


def refused(done: subprocess.CompletedProcess, *says: str) -> None:
    assert done.returncode in (1, 2, 5), (done.returncode, done.stderr[-500:])
    text = done.stderr + done.stdout
    assert "fault" not in text and "Traceback" not in text, text[-500:]
    assert all(each in text for each in says), text[-500:]


@pytest.mark.parametrize("name", TOMLS)
def test_deep_and_large_toml_is_refused_before_it_is_parsed(name):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    with pytest.raises(tomllib.TOMLDecodeError, match="32 levels|1 MiB|digits"):
        bounds.toml(TOMLS[name])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 2


def test_what_is_written_in_toml_is_not_mistaken_for_depth():
    text = (
        'a = "x.y.z.[[[[[[{{{{"\nb = """\n' + "." * 100 + '"""\n' + "c = '''[[[[\n'''\nd = 'a.b.c' # " + "." * 100 + "\n"
        "e = [1.5, 2.5, 3.5]\n[f.g.h]\ni.j = {k = [[1]]}\n" + "".join(f"n{each} = [1.0, 'a.b']\n" for each in range(100))
    )  # fmt: skip
    assert bounds.toml(text) == tomllib.loads(text)
    assert bounds._depth(text) == 3


@pytest.mark.slow
@pytest.mark.parametrize("reader", COMMANDS)
def test_commands_refuse_deep_toml(reader, tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text(".".join("a" * 50_000) + " = 1\n")
    refused(limited(COMMANDS[reader](path), tmp_path))


def tar(members, path, **options) -> None:
    with tarfile.open(path, "w:gz", compresslevel=1, **options) as archive:
        for name, size in members:
            info = tarfile.TarInfo(name)
            info.size = size
            archive.addfile(info, io.BytesIO(bytes(size)))


def pax(records: bytes, kind: bytes = b"x") -> bytes:
    info = tarfile.TarInfo("pax")
    info.type, info.size = kind, len(records)
    return info.tobuf(tarfile.USTAR_FORMAT) + records + bytes(-len(records) % 512)


def member(name: str, **fields) -> bytes:
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    return info.tobuf(tarfile.GNU_FORMAT)


END = bytes(1024)
CAPTURES = {
    "many devices": (lambda: b"".join(member(f"sys/block/sd{n}/size") for n in range(9000)) + END, "8,192 block devices"),
    "a tower of devices": (
        lambda: b"".join(member(f"sys/block/dm-{n}/dev") + member(f"sys/block/dm-{n}/slaves/dm-{n + 1}") for n in range(2000)) + END, ""),
    "long names": (lambda: b"".join(member(f"{n}/" + "a/" * 4000 + "f") for n in range(2000)) + END, "4096 characters"),
    "many folders": (lambda: b"".join(member(f"{n}/" + "a/" * 1900 + "f") for n in range(3000)) + END, "names have more"),
    "huge pax header": (lambda: pax(b"20000012 a=" + b"x" * 20_000_000 + b"\n") + member("sys/a") + END, "256 KiB"),
    "many global headers": (lambda: b"".join(pax(b"20 k%07d=123456\n" % n, b"g") for n in range(5000)) + member("a") + END, ""),
    "many members": (lambda: member("sys/a") * 150_000 + END, "100000 members"),
    "zeros": (lambda: member("sys/a", size=300 << 20) + bytes(300 << 20) + END, "256 MiB"),
    "hard links to nothing": (lambda: member("sys/a", type=b"1", linkname="sys/b") + END, "no sys folder|could|no block"),
    "hard links in a circle": (
        lambda: member("sys/a", type=b"1", linkname="sys/b") + member("sys/b", type=b"1", linkname="sys/a") + END, ""),
    "hard links to a large file": (
        lambda: member("sys/f", size=1 << 20) + bytes(1 << 20) + member("sys/l", type=b"1", linkname="sys/f") * 9000 + END, ""),
    "sparse without end": (lambda: pax(b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n30 GNU.sparse.name=aaaaaaaaaa\n") + member("a") , ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CAPTURES)
def test_captures_that_unpack_to_much_are_refused(name, tmp_path):
    make, says = CAPTURES[name]
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(make(), 1))
    done = limited(["devices", "--root", path], tmp_path)
    if says and "|" not in says:
        refused(done, says)
    else:
        assert "fault" not in done.stderr and "Traceback" not in done.stderr and done.returncode in (0, 1, 2), (
            done.stderr
        )


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "p.json")
    done = limited(["import", tmp_path / "p.json", "--db", tmp_path / "x.db"], tmp_path)
    assert done.returncode in (1, 2) and "fault" not in done.stderr, done.stderr


def test_a_capture_that_takes_long_is_said_to_be_read_with_its_bounds(tmp_path, monkeypatch):
    """The line comes after two seconds; here after none, and the reader waits for it."""
    machine = tmp_path / "machine"
    (machine / "sys/block/sda").mkdir(parents=True)
    (machine / "sys/block/sda/size").write_text("8\n")
    monkeypatch.setattr(_options, "PATIENCE_S", 0.0)
    monkeypatch.setattr(devices, "read_stack", lambda root: (time.sleep(0.3), read_stack(root))[1])
    done = CliRunner().invoke(cli, ["devices", "--root", str(machine)])
    assert done.exit_code == 0
    assert f"reading {machine}; a capture has at most 100,000 members, 256 MiB and 8,192 block devices" in done.output
    assert "reading" not in CliRunner().invoke(cli, ["--quiet", "devices", "--root", str(machine)]).output
