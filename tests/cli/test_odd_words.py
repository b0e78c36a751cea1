"""Words that no command expects: nothing at all, a pipe in place of a file, a name longer than any. One error each, at once."""

from __future__ import annotations

import os

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
