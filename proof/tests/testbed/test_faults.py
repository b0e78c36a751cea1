"""Power cuts, bad sectors and dropped drives under real md over virtual drives, every byte compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seekwise_proof.testbed import machine
from seekwise_proof.testbed.cpio import CpioEntry

pytestmark = pytest.mark.timeout(1500)

HERE = Path(__file__).parent
SECTOR = 512
BAD = "3000+16"
"""Sectors of a mirror whose data begin at sector 2048 (`--data-offset=1024` KiB)."""


def drives(group: str, count: int, *faults: str) -> CpioEntry:
    options = {
        "model": "wd2500ys",
        "sockets": [f"/run/{group}.{number}" for number in range(count)],
        "control": f"/run/{group}.control",
        "faults": list(faults),
        "seed": 5,
    }
    return CpioEntry.file(json.dumps(options).encode())


@pytest.fixture(scope="module")
def came_back(guest):
    files = {
        "cell/run.sh": CpioEntry.file((HERE / "faults.sh").read_bytes()),
        "cell/dropped.json": drives("dropped", 3, "1:drop@2s"),
        "cell/bad.json": drives("bad", 2, f"1:bad={BAD}@5s"),
        "cell/cut.json": drives("cut", 2, "all:power-cut=0.5@6s", "all:power-on@7s"),
    }
    return machine.boot(machine.Boot(guest("6.1"), files, 1200))


def report(result: machine.Output, name: str) -> dict:
    return json.loads(result.text(f"{name}.drives").splitlines()[-1])


def test_a_raid5_that_loses_a_drive_while_it_is_written_gives_back_every_byte(came_back):
    assert came_back.text("dropped").strip() == "same"
    assert "[U_U]" in came_back.text("dropped.mdstat")
    assert [drive["state"] for drive in report(came_back, "dropped")["drives"]] == ["on", "dropped", "on"]


def test_md_reads_bad_sectors_from_the_other_mirror_and_writes_them_anew(came_back):
    assert came_back.text("bad").strip() == "same"
    assert "[UU]" in came_back.text("bad.mdstat")
    assert report(came_back, "bad")["drives"][1]["medium_errors"] > 0
    assert int(came_back.text("bad.errors")) > 0, "md counts what it corrected"
    assert came_back.text("bad.again").strip() == "readable"


def test_after_a_power_cut_what_was_flushed_is_there_and_the_rest_is_old_or_new(came_back):
    assert came_back.text("cut").strip() == "same"
    assert [drive["power_cuts"] for drive in report(came_back, "cut")["drives"]] == [1, 1]
    found, written = (came_back.files[f"cut.{name}"] for name in ("found", "written"))
    assert len(found) == len(written) == 64 * 4096
    sectors = [slice(at, at + SECTOR) for at in range(0, len(found), SECTOR)]
    new = sum(found[part] == written[part] for part in sectors)
    old = sum(found[part] == bytes(SECTOR) for part in sectors)
    assert new + old == len(sectors), "a sector is neither what it was nor what was written"
    assert old > 0, "the write cache was lost, but nothing is missing"
