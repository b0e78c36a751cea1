"""The readers of what other programs wrote: results of other tools, traces, controllers' tools, configuration."""

from __future__ import annotations

import json
import random
import sys
import tarfile
from pathlib import Path

import pytest

from seekwise import importing
from seekwise.importing.registry import FORMATS
from seekwise.importing.result import Source
from seekwise.judge import workloads
from seekwise.linux.setters import find_setters
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import open_tree
from seekwise.settings import controllers, history
from seekwise.settings.controllers import LogicalUnit
from seekwise.trace import depend, summary
from seekwise.trace.readers import open_trace
from seekwise.workload.study import uses

from .mutation import SEED, counts, every, mutated

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "trace"))
import samples  # noqa: E402

FILES = [path for path in (TESTS / "importing/files").rglob("*") if path.is_file() and path.suffix != ".md"]
RESULTS = sorted(str(path.relative_to(TESTS / "importing/files")) for path in FILES)
"""One sample or more of every format that `seekwise import` reads."""


def shared(count: int, parts: int) -> int:
    """So many inputs for each of the samples of one reader."""
    return -(-count // parts)


def test_every_import_format_has_a_sample_here():
    found = set()
    for path in (TESTS / "importing/files" / name for name in RESULTS):
        source = Source(path, path.read_bytes())
        found.add(next(form.name for form in FORMATS if form.recognises(source)))
    assert found == {form.name for form in FORMATS}


@pytest.mark.parametrize("name", RESULTS)
@counts
def test_results_of_other_tools(name, count, tmp_path):
    path = tmp_path / Path(name).name

    def read(data: bytes) -> None:
        path.write_bytes(data)
        importing.read((path,), name="x", labels=())

    every((TESTS / "importing/files" / name).read_bytes()[:40_000], read, shared(count, len(RESULTS)))


VALUES = (
    None,
    True,
    -1,
    0,
    1e308,
    2**63,
    10**400,
    "",
    "x",
    "9" * 6000,
    [],
    {},
    [1],
    {"a": 1},
    float("nan"),
    float("inf"),
    1e-320,
    "a=b c",
)
NAMES = ("read", "mixed", "sync", "job options", "rw", "bs", "iodepth", "fdatasync", "N")
JSON = sorted((TESTS / "importing/fio").glob("*.json"))


def places(node: object) -> list[tuple]:
    """(holder, key) of each value in a JSON document."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [place for key, value in pairs for place in ((node, key), *places(value))]


@pytest.mark.parametrize("name", [path.name for path in JSON])
@counts
def test_values_of_fios_json(name, count, tmp_path):
    """Well-formed documents with values that cannot be: bytes alone are mostly refused by the parser."""
    text = (TESTS / "importing/fio" / name).read_text()
    document, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
    source, chance, path = json.dumps(document), random.Random(SEED), tmp_path / "x.json"

    def read(_: bytes) -> None:
        changed = json.loads(source)
        for _ in range(chance.choice((1, 1, 2, 4))):
            holder, key = chance.choice(places(changed))
            if chance.randrange(4) == 0 and isinstance(holder, dict):
                holder[chance.choice(NAMES)] = holder[key]
            else:
                holder[key] = chance.choice(VALUES)
        path.write_text(json.dumps(changed) * chance.choice((1, 1, 2)))
        _, records = importing.read((path,), name="x", labels=())
        for record in records:
            assert all(0 <= phase.rate_bytes_per_s < float("inf") for phase in record.phases)

    every(b"x", read, shared(count, len(JSON)))


TRACES = {**{name: text.encode() for name, text in samples.TEXTS.items()}, "blktrace": samples.blktrace()}


@pytest.mark.parametrize("name", TRACES)
@counts
def test_traces(name, count, tmp_path):
    path = tmp_path / "trace"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        notes, chunks = open_trace(path)
        found = summary.summary_of(chunks)
        json.dumps(vars(found.figures(notes)), allow_nan=False)
        again, chunks = open_trace(path)
        depend.understand(chunks, again)

    every(TRACES[name], read, shared(count, len(TRACES)))


UNITS = {
    "tw_cli-9650se": LogicalUnit("sdb", "3w-9xxx", 0, 0, 1, 0),
    "storcli-9361": LogicalUnit("sdb", "megaraid_sas", 0, 2, 1, 0),
    "arcconf-8805": LogicalUnit("sdb", "aacraid", 0, 0, 1, 0),
    "ssacli-p440": LogicalUnit("sdb", "hpsa", 0, 0, 0, 1),
}


@pytest.mark.parametrize("name", UNITS)
@counts
def test_outputs_of_controllers_tools(name, count):
    tool = controllers.tool_for(UNITS[name])
    text = (TESTS / "settings/controllers" / name).read_bytes()
    every(text, lambda data: tool.parse(data.decode(errors="replace"), UNITS[name]), shared(count, len(UNITS)))


@counts
def test_uses(count):
    text = (Path(uses.__file__).parents[2] / "uses/database.toml").read_bytes()
    every(text, lambda data: uses.loads(data.decode(errors="replace"), "fuzz"), count)


@counts
def test_workloads(count, tmp_path):
    path = tmp_path / "mine.toml"
    text = b'title = "Mine"\n[requests]\nthreads = "many"\noperations = { rand_read = 57, rand_write = 28, seq_write = 15 }\n'

    def read(data: bytes) -> None:
        path.write_bytes(data)
        workloads.find(str(path))

    every(text, read, count)


@counts
def test_histories(count, tmp_path):
    stack = read_stack(TESTS / "machines/sata-ncq.tar.gz")
    device = next(iter(stack.devices))
    history.remember(history.application_of({device: {"queue/scheduler": "bfq"}}, {}, stack, reason="r"), tmp_path)
    path = history.path(tmp_path)

    def read(data: bytes) -> None:
        path.write_bytes(data)
        history.expected(stack, tmp_path)

    every(path.read_bytes(), read, count)


SETTERS = {
    "etc/udev/rules.d/60-io.rules": b'ACTION=="add|change", KERNEL=="sd[a-z]", ATTR{queue/rotational}=="1", ATTR{queue/scheduler}="bfq"\n',
    "etc/sysfs.d/io.conf": b"block/sda/queue/scheduler = bfq\nmode block/sda/queue/nr_requests = 0644\n",
    "etc/tmpfiles.d/io.conf": b"w /sys/block/sda/queue/scheduler - - - - bfq\nw! /sys/block/sd?/queue/nr_requests - - - - 64\n",
    "etc/tuned/active_profile": b"mine\n",
    "etc/tuned/mine/tuned.conf": b"[main]\ninclude=mine,throughput\n[variables]\nx=1\n[disk]\ndevices=sd*,!sdb\nelevator=bfq\nreadahead=>${x}s\n",
    "etc/rc.local": b"#!/bin/sh\nfor d in sda sdb; do echo bfq > /sys/block/$d/queue/scheduler; done\nblockdev --setra 16384 /dev/sda\n",
    "proc/cmdline": b"root=/dev/sda1 elevator=deadline libata.force=1:noncq\n",
    "etc/systemd/system/multi-user.target.wants/tuned.service": b"",
    "sys/block/sda/queue/scheduler": b"none [mq-deadline] bfq\n", "sys/block/sda/size": b"1953525168\n", "sys/block/sda/dev": b"8:0\n",
    "sys/block/sda/queue/rotational": b"1\n", "proc/sys/kernel/osrelease": b"6.1.0\n",
}  # fmt: skip


@counts
def test_configuration_that_sets_something(count, tmp_path):
    chance = random.Random(SEED)
    for name, content in SETTERS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    stack = read_stack(tmp_path)
    assert len(find_setters(open_tree(tmp_path), stack)) >= 4

    def read(_: bytes) -> None:
        name = chance.choice([each for each in SETTERS if not each.startswith("sys/")])
        (tmp_path / name).write_bytes(mutated(SETTERS[name], chance))
        try:
            find_setters(open_tree(tmp_path), stack)
        finally:
            (tmp_path / name).write_bytes(SETTERS[name])

    every(b"x", read, count)


@counts
def test_captured_archives(count, tmp_path):
    """Whole archives are slow to read; a tenth of the inputs, the rest goes to the folders of `test_captured_trees`."""
    path = tmp_path / "machine.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("sys/block/sda/size", "sys/block/sda/dev", "sys/block/sda/queue/scheduler"):
            source = tmp_path / "content"
            source.write_bytes(SETTERS[name])
            archive.add(source, name)
    sample = path.read_bytes()

    def read(data: bytes) -> None:
        path.write_bytes(data)
        read_stack(path)

    every(sample, read, count // 10)
