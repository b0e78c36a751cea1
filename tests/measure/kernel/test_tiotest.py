"""tiotest beside fio: what it is asked, what of its table is kept, and that the rules for a trial hold for it too."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.installed import needs_papers

from cli.conftest import STUDY, loop, mounted, needs_fio, needs_root, seekwise, study  # noqa: F401 (fixtures)
from seekwise.errors import UsageError
from seekwise.importing.result import MIB
from seekwise.importing.tiotest import FORMAT
from seekwise.measure.kernel import tiotest
from seekwise.workload.study.plan import Combination, Load, PlannedPhase

FAKE = Path(__file__).parent / "fake_tiotest.py"
PHASES = tuple(PlannedPhase(name, None, 400 if name.startswith("rand") else None) for name in tiotest.ORDER)
LOAD = Load("tio", PHASES, program="tiotest", threads=2, direct=False, size_bytes=16 * MIB, memory_limit_bytes=64 * MIB)


def test_it_is_called_as_the_article_called_it():
    assert tiotest.words("tiotest", LOAD, Path("/srv")) == [
        "tiotest",
        "-t",
        "2",
        "-f",
        "16",
        "-b",
        "4096",
        "-r",
        "400",
        "-d",
        "/srv",
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"direct": True}, "no direct I/O"),
        ({"iodepth": 4}, "one request of each thread"),
        ({"phases": PHASES[:2]}, "always does seq_write, rand_write"),
        ({"phases": tuple(PlannedPhase(name, 1.0, None) for name in tiotest.ORDER)}, "cannot be stopped"),
        ({"think_s": 0.1}, "knows no pace"),
        ({"job": "x.fio", "phases": ()}, "runs no fio job file"),
    ],
)
def test_what_it_cannot_do_is_refused_before_anything_is_touched(change, says):
    from dataclasses import replace

    with pytest.raises(UsageError, match=says):
        tiotest.check([Combination("c", "s", replace(LOAD, **change))])
    tiotest.check([Combination("c", "s", LOAD)])


def test_amounts_are_those_that_were_asked_for_not_the_rounded_ones_of_the_table():
    (result,) = FORMAT.read(
        [tiotest.Source(Path("t"), TABLE.encode())], tiotest.Given(threads=2, block_bytes=4096, random_operations=400)
    )
    found = {phase.operation: tiotest._exact(phase, LOAD, 400) for phase in result.phases}
    assert (found["rand_read"].bytes, found["rand_read"].ios) == (2 * 400 * 4096, 800)
    assert found["rand_read"].elapsed_s == pytest.approx(2 * 400 * 4096 / MIB / 2.5)
    assert found["seq_write"].bytes == 32 * MIB


TABLE = """Tiotest results for 2 concurrent io threads:
| Write          32 MBs |    0.5 s |  64.000 MB/s |   0.0 %  |  42.9 % |
| Random Write    3 MBs |    0.1 s |  30.000 MB/s |   9.9 %  |  20.6 % |
| Read           32 MBs |    0.1 s | 320.000 MB/s |   0.0 %  |  49.5 % |
| Random Read     3 MBs |    1.2 s |   2.500 MB/s |   0.8 %  |  95.8 % |
"""


@pytest.fixture
def with_tiotest(seekwise, tmp_path):  # noqa: F811
    import os

    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "tiotest").write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {FAKE} "$@"\n')
    (folder / "tiotest").chmod(0o755)
    seekwise.path = f"{folder}:{os.environ['PATH']}"
    return seekwise


TIOTEST_STUDY = """
name = "tio"
[[system]]
name = "disk"
target = "TARGET"
[settings]
scheduler = ["none", "mq-deadline"]
[[workload]]
profile = "tiotest"
threads = 2
size = "16m"
random_ios = 400
direct = false
memory_limit = "64m"
[design]
blocks = 3
control = false
sentinel = false
"""


@needs_root
@needs_fio
def test_a_study_is_carried_out_by_tiotest_and_fio_has_no_part_in_its_trials(with_tiotest, mounted, tmp_path):  # noqa: F811
    _, folder = mounted
    path = tmp_path / "tio.toml"
    path.write_text(TIOTEST_STUDY.replace("TARGET", str(folder)))
    done = with_tiotest("run", str(path), "--backend", "kernel", "--program", "tiotest", "--json")
    records = json.loads(done.stdout)["records"]
    assert len({record["setting"] for record in records}) == 2
    for record in records:
        assert [phase["operation"] for phase in record["phases"]] == list(tiotest.ORDER)
        assert record["load"]["program"] == "tiotest" and "fio" not in record["load"]
        assert record["load"]["jobs"][0].startswith("tiotest -t 2 -f 16 -b 4096 -r 400 -d /")
        assert record["phases"][0]["bytes"] == 2 * 16 * MIB
    assert any(record["valid"] for record in records), [record["invalid_reason"] for record in records]
    assert not [each for each in folder.iterdir() if each.name != "lost+found"]


@needs_papers
def test_it_is_asked_for_only_where_it_can_be(seekwise):  # noqa: F811
    assert "add `--backend kernel`" in seekwise.refused("run", "article-2008", "--program", "tiotest", status=2)
    seekwise.path = "/usr/bin:/bin"
    said = seekwise.refused(
        "run",
        "article-2008",
        "--backend",
        "kernel",
        "--system",
        "S1",
        "--target",
        ".",
        "--program",
        "tiotest",
        status=4,
    )
    assert "tiotest is not installed" in said
