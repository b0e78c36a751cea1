"""What the real kernel does that nobody expects, and that the simulator must do too.

Linux 5.10 and later, bfq at its defaults: readers that start together are all weight-raised, so bfq does not idle for any of them and two
sequential readers fall to the rate of `none`, a rotation per request. Started a second apart they keep the disk's rate.
"""

from __future__ import annotations

import json

import pytest

from seekwise import _core
from seekwise.importing import fio_result
from seekwise_proof.testbed import machine
from seekwise_proof.testbed.cpio import CpioEntry

pytestmark = pytest.mark.timeout(1500)

SETTINGS = (("none", 0.0), ("bfq", 0.0), ("bfq", 1.0))
"""Scheduler, and seconds between the starts of the two readers."""
RUNTIME_S = 5


def simulated(scheduler: str, stagger_s: float) -> float:
    """MB/s of both readers."""
    job = {
        "threads": 2,
        "pattern": "sequential",
        "block_bytes": 131072,
        "own_regions": True,
        "region_bytes": 8 << 30,
        "stagger_ns": round(stagger_s * 1e9),
    }
    spec = {
        "seed": 3,
        "device": {"model": "wd2500ys"},
        "queue": {"scheduler": scheduler, "kernel": "6.1", "hz": 250, "budget": False},
        "host": {"model": "laboratory"},
        "phases": [{"operation": "seq_read", "runtime_ns": round((RUNTIME_S + stagger_s) * 1e9), "jobs": [job]}],
    }
    phase = json.loads(_core.simulate_cells(json.dumps([spec]), 1))[0]["phases"][0]
    return phase["bytes"] / phase["elapsed_ns"] * 1e3


@pytest.mark.parametrize(("head_start_ms", "mb_per_s"), [(0, 33.2), (12, 25.0), (16, 31.9)])
def test_how_far_one_reader_is_ahead_decides_what_two_get(head_start_ms, mb_per_s):
    """The resonance: 4 GB apart and 1, 3 or 5 requests, which stay as they are at the start. Linux 6.1 on this drive: 25.1 and 33.4 MB/s."""
    assert simulated("none", head_start_ms / 1e3) == pytest.approx(mb_per_s, rel=0.03)


def script() -> str:
    lines = ["modules nbd bfq", "serve d 1 0", "put none /sys/block/nbd0/queue/scheduler",
             "put 32 /sys/block/nbd0/queue/nr_requests", "put 1 /sys/block/nbd0/queue/rotational",
             "put 1280 /sys/block/nbd0/queue/max_sectors_kb"]  # fmt: skip
    for number, (scheduler, _) in enumerate(SETTINGS):
        lines += [f"put {scheduler} /sys/block/nbd0/queue/scheduler",
                  f"fio --output-format=json+ --output=/out/{number} --eta=never /cell/{number}.fio"]  # fmt: skip
    return "\n".join([*lines, "unserve d 1 0 /out/drives"]) + "\n"


def job(stagger_s: float) -> str:
    lines = ["[global]", "filename=/dev/nbd0", "direct=1", "thread=1", "rw=read", "bs=128k", "size=4g", "time_based=1",
             f"runtime={RUNTIME_S}", "clocksource=clock_gettime", "ioengine=psync"]  # fmt: skip
    for reader in range(2):
        # fio counts the runtime from a job's own start.
        lines += [f"[reader{reader}]", f"offset={4 * reader}g", f"startdelay={reader * stagger_s}"]
    return "\n".join(lines) + "\n"


def test_the_simulator_shows_both():
    none, together, apart = (simulated(*each) for each in SETTINGS)
    assert together == pytest.approx(none, rel=0.15), "bfq idles for readers that started together"
    assert apart > 1.5 * together, "bfq does not idle for readers that started a second apart"


def test_the_real_kernel_shows_both(guest):
    drive = {
        "model": "wd2500ys",
        "sockets": ["/run/d.0"],
        "control": "/run/d.control",
        "seed": 3,
    }
    files = {
        "cell/run.sh": CpioEntry.file(script().encode()),
        "cell/d.json": CpioEntry.file(json.dumps(drive).encode()),
    }
    files |= {f"cell/{n}.fio": CpioEntry.file(job(stagger).encode()) for n, (_, stagger) in enumerate(SETTINGS)}
    result = machine.boot(machine.Boot(guest("6.1"), files, 1200))
    throughputs = []
    for number, (_, stagger) in enumerate(SETTINGS):
        phase = fio_result.phase(fio_result.parse(result.text(str(number)))["jobs"], "seq_read")
        throughputs.append(phase.bytes / (RUNTIME_S + stagger) / 1e6)
    none, together, apart = throughputs
    # 25.1, 33.4 and 56.4 MB/s on 6.1: bfq's weight-raising hardly helps, but it is not the same as no scheduler.
    assert together < 1.5 * none, "bfq idles for readers that started together"
    assert apart > 1.5 * together, "bfq does not idle for readers that started a second apart"
