"""What a real device does is as before: requests in flight, counted, not the number that is shown (Linux resizes the
driver's tags where nr_requests is written under `none`, and shows another number after a switch)."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from control.conftest import needs_root
from seekwise.control import recovery
from seekwise.control.journal import Journal
from seekwise.control.settings import changed
from seekwise.control.switching import switching

pytestmark = [
    needs_root,
    pytest.mark.root,
    pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio"),
]

STEPS = {
    "few under none": {"scheduler": "none", "nr_requests": "8"},
    "few under mq-deadline": {"scheduler": "mq-deadline", "nr_requests": "8"},
    "writes bounded": {"scheduler": "mq-deadline", "iosched/async_depth": "2"},
    "bfq": {"scheduler": "bfq"},
    "none": {"scheduler": "none"},
}
FOUND = {"none": ("none", 128), "bounded under none": ("none", 32), "mq-deadline": ("mq-deadline", 256)}
KILLED = """
import os, signal, sys
from seekwise.control.switching import switching
loop, steps = sys.argv[1], eval(sys.argv[2])
switch = switching([{loop: step} for step in steps]).__enter__()
for step in steps:
    switch.to({loop: step})
os.kill(os.getpid(), signal.SIGKILL)
"""


def write(loop: str, name: str, value: object) -> None:
    Path(f"/sys/block/{loop}/queue/{name}").write_text(str(value))


def in_flight(loop: str) -> tuple[int, int]:
    """The most reads and the most writes that the driver had at once, each while 256 were asked for."""
    most = [0, 0]
    for kind in (0, 1):
        command = [
            "fio", "--name=x", f"--filename=/dev/{loop}", f"--rw={('randread', 'randwrite')[kind]}", "--bs=4k", "--direct=1",
            "--ioengine=libaio", "--iodepth=256", "--time_based", "--runtime=1", "--output=/dev/null",
        ]  # fmt: skip
        running = subprocess.Popen(command)
        while running.poll() is None:
            most[kind] = max(most[kind], int(Path(f"/sys/block/{loop}/inflight").read_text().split()[kind]))
        assert running.returncode == 0
    return most[0], most[1]


@pytest.fixture(params=FOUND)
def found(request, loop):
    """A loop device as its user left it; the driver's tags are those of its set before and afterwards."""
    scheduler, number = FOUND[request.param]
    for name, value in (
        ("scheduler", "none"),
        ("nr_requests", 127),
        ("nr_requests", 128),
        ("scheduler", scheduler),
        ("nr_requests", number),
    ):
        write(loop, name, value)
    yield loop
    for name, value in (("scheduler", "none"), ("nr_requests", 127), ("nr_requests", 128)):
        write(loop, name, value)


def is_as(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """A bound of 8 or 2 shows as such; what the host's load takes from 128 is less."""
    return all(0.6 * one <= other <= one / 0.6 for one, other in zip(before, after, strict=True))


def orders(count: int):
    every = list(itertools.permutations(STEPS, 3))
    quick = [order for order in every if order[0] == "few under none" and order[1] in ("bfq", "none")][:count]
    return [
        pytest.param(order, marks=() if order in quick else pytest.mark.slow, id=", ".join(order)) for order in every
    ]


@pytest.mark.parametrize("order", orders(2))
def test_every_order_of_switches_leaves_as_many_requests_in_flight(found, journal, order):
    before = in_flight(found)
    assert min(before) >= 16
    with switching([{found: STEPS[step]} for step in order], journal=journal) as switch:
        for step in order:
            switch.to({found: STEPS[step]})
    assert is_as(before, after := in_flight(found)), (before, after)


def test_after_a_kill_as_many_requests_are_in_flight(found, tmp_path):
    before = in_flight(found)
    environment = {**os.environ, "SEEKWISE_STATE": str(tmp_path / "state")}
    steps = repr([STEPS["few under none"], STEPS["bfq"], STEPS["few under none"]])
    killed = subprocess.run([sys.executable, "-c", KILLED, found, steps], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    recovery.restore_left_behind(Journal(tmp_path / "state"))
    assert is_as(before, after := in_flight(found)), (before, after)


def test_a_rule_that_switches_meanwhile_hides_nothing(found, journal):
    before = in_flight(found)
    with changed({found: STEPS["few under none"]}, journal=journal):
        write(found, "scheduler", "kyber")
        assert max(in_flight(found)) <= 8
    assert is_as(before, after := in_flight(found)), (before, after)
