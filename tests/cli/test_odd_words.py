"""Words that no command expects: nothing at all, a pipe in place of a file, a name longer than any. One error each, at once."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest
from tests.installed import needs_proof

PIPE = [
    ("run", "PIPE"), ("lab", "PIPE"), ("import", "PIPE"), ("trace", "show", "PIPE"), ("whatif", "PIPE", "--vary", "model=wd2500ys"), ("results", "--db", "PIPE"),
    ("export", "last", "--db", "PIPE"), ("report", "last", "--db", "PIPE"), ("advise", "--db", "PIPE"), ("doctor", "--root", "PIPE"),
    ("status", "--root", "PIPE"), ("devices", "--root", "PIPE"), ("devices", "--ncq", "PIPE"), ("verify", "vectors", "PIPE"),
    ("verify", "rates", "PIPE"), ("verify", "mapping", "PIPE"), ("tune", "PIPE"), ("run", "demo", "--db", "PIPE"), ("compare", "a", "b", "--db", "PIPE"),
    ("tune", ".", "--for", "PIPE"), ("advise", "--for", "PIPE"),
    ("apply", "--device", "sda", "--set", "scheduler=bfq", "--print", "udev", "--for-capture", "PIPE"),
]  # fmt: skip


@pytest.mark.parametrize("words", PIPE, ids=lambda words: " ".join(words))
def test_nobody_waits_for_a_pipe(seekwise, tmp_path, words):
    os.mkfifo(tmp_path / "pipe.toml")
    done = seekwise(*(word.replace("PIPE", str(tmp_path / "pipe.toml")) for word in words), status=None, timeout=60)
    assert done.returncode in (1, 2, 3, 4), done.stderr
    assert done.stderr.startswith("error: ") and "Traceback" not in done.stderr


TRACE = Path(__file__).parents[1] / "vectors/whatif/database-backup@wd2500ys.raid10@bfq.swt"
OUTPUT = [
    ("report", "last", "--output", "PLACE"), ("report", "last", "--output", "PLACE.md"), ("report", "last", "--pictures", "PICTURES"),
    ("trace", "show", str(TRACE), "--page", "PLACE"), ("capture", "PLACE"), ("record", "sda", "--output", "PLACE"),
    ("results", "--db", "PLACE"), ("run", "demo", "--db", "PLACE"),
]  # fmt: skip


def pipe(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # a long name would not fit


def drive(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(259, 1048575))  # one that no machine has
    except PermissionError as error:
        pytest.skip(f"needs root: {error}")


@pytest.mark.parametrize("make", [pipe, unix_socket, drive])
def test_an_output_that_is_no_file_is_refused_in_one_sentence_and_left_as_it_is(seekwise, tmp_path, make, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seekwise("run", "demo", "--budget", "2s")
    seekwise("report", "last", "--pictures", str(tmp_path / "pictures"))
    name = min(path.name for path in (tmp_path / "pictures").iterdir())
    (tmp_path / "odd").mkdir()
    places = {"PLACE.md": tmp_path / "x.md", "PLACE": tmp_path / "x.html", "PICTURES": tmp_path / "odd" / name}
    for place in places.values():
        make(place)
    for words in OUTPUT:
        (which,) = places.keys() & {*words}
        typed = places[which].parent if which == "PICTURES" else places[which]
        before = os.lstat(places[which])
        said = seekwise.refused(*(str(typed) if word == which else word for word in words), status=2)
        assert places[which].name in said, said
        assert os.lstat(places[which]) == before


def test_a_pipe_that_a_program_reads_gets_the_page(seekwise, tmp_path):
    os.mkfifo(tmp_path / "x.html")
    with (
        (tmp_path / "read").open("wb") as page,
        subprocess.Popen(["cat", tmp_path / "x.html"], stdout=page) as reader,
    ):
        # Until it has opened its end there is no reader.
        while seekwise("trace", "show", str(TRACE), "--page", str(tmp_path / "x.html"), status=None).returncode:
            assert reader.poll() is None
        reader.wait(60)
    assert (tmp_path / "read").read_text().rstrip().endswith("</html>")


@needs_proof
@pytest.mark.parametrize("kind", ["vectors", "mapping"])
def test_nor_for_one_in_a_folder(seekwise, tmp_path, kind):
    (tmp_path / "data").mkdir()
    os.mkfifo(tmp_path / "data/x.log")
    assert "is no ordinary file" in seekwise.refused("verify", kind, str(tmp_path / "data"), status=2)


EMPTY = [
    ("record", ""), ("whatif", ""), ("status", ""), ("tune", ""), ("devices", ""), ("doctor", "--root", ""), ("results", "--db", ""),
    ("apply", "--device", "", "--set", "nomerges=1"), ("run", "demo", "--target", ""), ("capture", ""), ("report", "last", "--output="),
]  # fmt: skip


@pytest.mark.parametrize("words", EMPTY, ids=lambda words: " ".join(words))
def test_an_unset_variable_of_a_script_is_not_the_working_folder(seekwise, words):
    assert "nothing is named" in seekwise.refused(*words, status=2)


LONG = [
    ("run",), ("tune",), ("record",), ("trace", "show"), ("whatif",), ("status",), ("devices",), ("import",), ("results", "--db"),
    ("doctor", "--root"), ("capture",), ("lab",),
]  # fmt: skip


@pytest.mark.parametrize("words", LONG, ids=lambda words: " ".join(words))
def test_a_name_longer_than_any_is_the_users_fault_and_short(seekwise, words):
    done = seekwise(*words, "a" * 5000, status=None)
    assert done.returncode in (1, 2), done.stderr
    assert done.stderr.startswith("error: ") and "details are in" not in done.stderr
    assert len(done.stderr) < 7000
