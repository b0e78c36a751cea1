"""Files of another kind than the reader that is named for them, and blanks and digits without an end."""

import json
import random
import re
import time
from pathlib import Path

import pytest

from seekwise import importing
from seekwise.bounds import toml
from seekwise.errors import SeekwiseError
from seekwise.files import read_text
from seekwise.importing.registry import FORMATS
from seekwise.linux.setters import elsewhere, scripts, shell
from seekwise.settings import guard_log
from seekwise.settings.guard import ending, job

from .mutation import SEED
from .test_foreign_readers import RESULTS, TESTS, VALUES

MARKS = (
    "Sequential Read :   250.000 MB/s",
    "SEQ1M Q8T1 Read: 250.0 MB/s [ 250 IOPS] < 4.0 us>",
    "Random 4KiB (Q= 1,T= 1): 9.9 MB/s",
)
OTHERS = Path(importing.__file__).with_name("others.toml")
SMALL = {
    "empty": b"",
    "object": b"{}",
    "list": b"[]",
    "line": b"\n",
    "terse": b"5;fio-3",
    "zeros": b"\0\0\0",
    "cells": b"x;y\n",
}


@pytest.mark.parametrize("form", [form.name for form in FORMATS])
def test_a_format_that_is_named_for_another_file_is_one_clear_error(form, tmp_path):
    paths = [TESTS / "importing/files" / name for name in RESULTS]
    for name, data in SMALL.items():
        (tmp_path / name).write_bytes(data)
        paths.append(tmp_path / name)
    read = 0
    for path in paths:
        try:
            importing.read((path,), name="x", labels=(), format_name=form)
            read += 1
        except SeekwiseError as error:
            assert error.message
    assert read < len(paths) and (read or form == "fio-logs")  # logs are told by their names


@pytest.mark.parametrize(
    "run", [" ", "\t", "\n", " \n", "\xa0", "0", "9.", "-", "(", "[", "a ", "> \n", "\x1b[0m\n", "# \n"], ids=repr
)
@pytest.mark.parametrize("place", ["alone", "before", "within", "after"])
@pytest.mark.parametrize("name", ["diskmark-3.txt", "fio-text", "raw_bw.1.log"])
def test_blanks_without_an_end_take_no_time(run, place, name, tmp_path):
    sample = next(path for path in (TESTS / "importing/files").rglob("*") if name in str(path) and path.is_file())
    text, path, long = sample.read_text()[:20_000], tmp_path / "result.txt", run * (70_000 // len(run))
    middle = len(text) // 2
    path.write_text(
        {"alone": long, "before": long + text, "within": text[:middle] + long + text[middle:], "after": text + long}[
            place
        ]
    )
    began = time.process_time()
    try:
        importing.read((path,), name="x", labels=())
    except SeekwiseError as error:
        assert error.message
    assert time.process_time() - began < 3


@pytest.mark.parametrize("line", MARKS)
@pytest.mark.parametrize("end", ["", "x"])
def test_blanks_between_optional_words_take_no_time(line, end, tmp_path):
    """Each of several optional words in a row gave its blanks to the next one: the third power of their number."""
    path = tmp_path / "result.txt"
    long = re.sub(r"\s+", " " * 199, f"  {line}") + f"{end}\n"
    path.write_text(long * (70_000 // len(long)))
    began = time.process_time()
    try:
        importing.read((path,), name="x", labels=())
    except SeekwiseError as error:
        assert error.message
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize("run", ["\n", " \n", "-", " ", "9", "=", "| ", "\n#"], ids=repr)
def test_what_tells_other_programs_and_scripts_apart_is_looked_for_in_linear_time(run):
    """A pattern that passes over blanks from the start of each line passes over all that follow, line for line."""
    text = run * (60_000 // len(run))
    signs = [sign for row in toml(read_text(OTHERS))["others"] for sign in row["programs"].values()]
    signs += [elsewhere.SETS.pattern, scripts.HOOKS.pattern, shell.COMMENT.pattern]
    for sign in signs:
        began = time.process_time()
        re.search(sign, text, re.MULTILINE)
        assert time.process_time() - began < 0.6, sign


def test_a_guards_document_with_other_types_is_read_without_a_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path))
    whole = {
        "id": "20261122T100000-aa", "schema": guard_log.SCHEMA, "started_at": "2026-11-22T10:00:00Z", "until": "",
        "devices": ["sda"], "wanted": {"sda": {"queue/nomerges": "1"}}, "before": {}, "seen": {}, "ways": [],
        "outcome": guard_log.WAITING, "headline": "", "seconds": 5, "limit": None, "reason": "", "evidence": None,
        "entries": ["x"], "restored": [], "process": {"pid": 1, "start_ticks": 1, "boot_id": "x"}, "comparison": None,
    }  # fmt: skip
    guard_log.write(whole)
    (path,) = guard_log.folder().glob("*.json")
    chance = random.Random(SEED)
    for _ in range(500):
        document = json.loads(path.read_text())
        document |= {
            name: chance.choice(VALUES) for name in chance.sample(sorted(whole), 2) if name not in ("id", "schema")
        }
        if chance.random() < 0.5:
            document["process"] = {"pid": chance.choice(VALUES), "start_ticks": chance.choice(VALUES), "boot_id": "x"}
        path.write_text(json.dumps(document))
        for each in guard_log.read():
            assert guard_log.sentence(each)
        for each in guard_log.waiting():
            assert all(isinstance(device, str) for device in each.get("devices") or ())
        ending.end_all(dry_run=True)
        assert isinstance(job.job(whole["id"])["wanted"], dict)
        path.write_text(json.dumps(whole))
    for text in ("null", "[]", '"x"', "{", "[" * 100_000, "\0"):
        path.write_text(text)
        assert guard_log.read() == guard_log.undecided() == []
        assert guard_log.process_of(whole["id"]) is None
