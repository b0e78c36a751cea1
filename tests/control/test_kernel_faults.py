"""What is refused, left out, waited for and ordered, by kernel: every row of the table on a fake block layer, every order of
three writes, a kill between each two."""

from __future__ import annotations

import errno
import functools
import itertools
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from control.conftest import FakeKernel
from seekwise.control import attributes, kernel_faults, recovery, sysfs
from seekwise.control import settings as control_settings
from seekwise.control.journal import Journal
from seekwise.control.kernel_faults import Fault
from seekwise.control.settings import changed, check_values, normalised, read_settings
from seekwise.control.switching import switching
from seekwise.errors import RefusedError, SeekwiseError, UsageError
from seekwise.linux.kernel_base import base_of
from seekwise.linux.stack import read_stack
from seekwise.settings import apply
from seekwise.settings.forms import FORMS, udev

RELEASES = [
    ("6.16.7-200.fc42.x86_64", "", "", (6, 16, 7)),
    ("6.12.57+deb13-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.57-1 (2025-11-05)", "", (6, 12, 57)),
    ("6.1.0-41-amd64", "Linux version 6.1.0-41-amd64 (x) #1 SMP PREEMPT_DYNAMIC Debian 6.1.158-1 (2025-11-09)", "", (6, 1, 158)),
    ("6.8.0-88-generic", "#89-Ubuntu SMP", "Ubuntu 6.8.0-88.89-generic 6.8.12", (6, 8, 12)),
    ("6.17.0-061700-generic", "", "", (6, 17, 0)),
    ("6.18.44", "", "", (6, 18, 44)),
    ("7.0", "", "", (7, 0, 0)),
    ("6.16.8-arch1-1", "", "", (6, 16, 8)),
    ("6.8.0-88-generic", "#89-Ubuntu SMP", "", None),
    ("6.1.0-41-amd64", "", "", None),
    ("5.14.0-611.el9.x86_64", "", "", None),
    ("4.18.0-553.el8_10.x86_64", "", "", None),
    ("6.12.0-100.28.2.el10uek.x86_64", "", "", None),
    ("6.4.0-150600.23.65-default", "", "", None),
    ("6.14.11-4-pve", "", "", None),
    ("5.10.0-8-Debian", "nothing", "", None),
    ("", "", "", None),
]  # fmt: skip


@pytest.mark.parametrize(("release", "version", "signature", "base"), RELEASES)
def test_what_a_kernel_is_made_from(release, version, signature, base):
    assert base_of(release, version, signature).version == base


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    strategies.from_regex(
        r"[3-7]\.[0-9]{1,2}\.[0-9]{1,3}-[a-z0-9][-.a-z0-9]{0,20}\.?(el[89]|uek|default|pve|generic|aws)", fullmatch=True
    )
)
def test_of_an_unknown_base_nothing_is_claimed(release):
    base = base_of(release)
    if base.version is None:
        said = [fault.sentence(base) for fault in kernel_faults.table()]
        assert not any("repaired" in sentence for sentence in said)
        assert not any(fault.is_in(base) for fault in kernel_faults.table() if fault.since)
    else:
        assert "generic" in release and f"{base.version[0]:02}{base.version[1]:02}{base.version[2]:02}" in release


def test_the_table_can_be_used_as_it_stands():
    for fault in kernel_faults.table():
        assert set(fault.when) <= kernel_faults.CONDITIONS.keys() and fault.writes and fault.text and fault.source
        assert fault.instead in ALL
    ids = {fault.id for fault in kernel_faults.table()}
    assert ids >= {
        *[
            "N1",
            "N3",
            "N4",
            "N6",
            "N9",
            "N10",
            "W1",
            "S1",
            "S2",
            "S3",
            "S4",
            "S7",
            "S8",
            "S11",
            "S14",
            "S15",
            "S16",
            "L1",
            "L2",
            "M1",
            "B1",
            "B2",
            "B3",
            "B4",
            "B5",
            "B6",
        ]
    }


RANGES = [
    ("N1", "6.16.4 6.16.10 6.17", "6.16.3 6.16.11 6.17.1 6.18 6.12.57 6.1.158"),
    ("N3", "6.12.95 6.17.2 5.10.250", "6.17.3 6.18"),
    ("N4", "5.16 6.1.158 6.17.9", "5.15.200 6.18"),
    ("N5", "5.16 5.16.20", "5.15.200 5.17 6.1.158"),
    ("N6", "5.16 6.10.14", "6.11"),
    ("N9", "6.1.158 6.4.16", "6.5 5.15.100"),
    ("N10", "6.6.15 6.1.76 5.15.148 5.4.290", "6.6.16 6.1.77 6.8 6.12.1"),
    ("W1", "6.16 6.17.9 6.18.2", "6.15.11 6.18.3 6.19"),
    ("W4", "4.10 5.10.250 6.18.44 6.19.9", "4.9 7.0"),
    ("W6", "5.3 5.4.132 5.10.50 5.12.18 5.13.2", "5.2 4.19.300 5.4.133 5.10.51 5.13.3 5.14 6.1.158"),
    ("S6", "5.10.250 6.1.158 6.12.95 6.16.3", "6.16.4 6.17 6.18.44"),
    ("K2", "4.12 4.19.300 5.4.66 5.8.10", "5.4.67 5.8.11 5.9 6.1.158"),
    ("B7", "5.14.7 5.14.9", "5.13.19 5.14.6 5.14.10 5.15 6.1.158"),
    ("W3", "4.19.300 5.13.19 5.10.250", "5.14 6.1.158 6.12.57"),
    ("W5", "4.19.300 5.10.227 6.1.113 6.6.57 6.11.4", "5.10.228 5.15.169 6.1.114 6.1.158 6.6.58 6.11.5 6.12.57"),
    ("W7", "5.10.250 6.1.158", "6.2 6.12.57"),
    ("S13", "6.3 6.3.13", "6.2.16 6.4 6.1.158"),
    ("K1", "4.18 5.10.37 5.4.119 5.12", "5.10.38 5.4.120 5.13 6.1.158"),
    ("S3", "6.11 6.11.2", "6.10.14 6.11.3 6.12"),
    ("S8", "6.12.95 6.13.2", "6.13.3 6.14"),
    ("S14", "4.15", "4.16"),
    ("S15", "5.10.1 6.9.12", "6.10"),
    ("S16", "6.10 6.12.57 6.15.9", "6.9.12 6.16"),
    ("L1", "6.9 6.12.95 6.13.1", "6.8.12 6.13.2 6.14"),
    ("L2", "6.11 6.12.57 6.18.2", "6.10.14 6.18.3 6.19"),
    ("M1", "6.6.120 6.12.3", "6.1.158 6.12.4 6.13 6.18"),
    ("B1", "5.15.45 5.10.120 5.18.2", "5.15.46 5.10.121 5.19 4.11"),
    ("B2", "5.15.32 4.19.237", "5.15.33 4.19.238 5.18"),
    ("B3", "5.15.86 5.15.92 6.0.16 6.1.10", "5.15.85 5.15.93 6.1.1 6.1.11 6.2"),
    ("B4", "5.17 6.1.129 6.6.63 6.12.1", "5.15.180 6.1.130 6.6.64 6.12.2 6.13"),
    ("B5", "5.15.168 6.1.124 6.6.71 6.12.9", "5.15.167 6.1.125 6.6.72 6.12.10 6.13"),
    ("B6", "4.19.323 5.4.285 5.10.250", "4.19.322 5.10.226 5.15.200 6.1.158"),
    ("S2", "6.19.7 7.0", "6.18.44 6.19.6"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "with_it", "without"), RANGES)
def test_a_row_holds_for_its_releases(name, with_it, without):
    rows = [fault for fault in kernel_faults.table() if fault.id == name and fault.since]
    assert all(fault.is_in(base_of(release)) for fault in rows for release in with_it.split())
    assert not any(fault.is_in(base_of(release)) for fault in rows for release in without.split())


def test_the_sentence_names_the_release_and_what_is_repaired():
    row = kernel_faults.table()[0]
    assert row.sentence(base_of("6.16.7")) == (
        "Linux 6.16.7 frees memory twice when nr_requests is raised under a scheduler: 6.16.11 and 6.17.1 are repaired"
    )


ZONED = {"queue/zoned": "host-managed"}
ARRAY = {"md/group_thread_cnt": "0", "md/sync_action": "resync"}
REFUSED = [
    ("N1", "6.16.7", "mq-deadline", {}, {"nr_requests": "1024"}, "6.16.11"),
    ("N1", "6.17.0", "none", {}, {"scheduler": "bfq", "nr_requests": "512"}, "6.17.1"),
    ("W1", "6.17.9", "bfq", {}, {"scheduler": "none"}, "6.18.3"),
    ("N5", "5.16.5", "mq-deadline", {}, {"iosched/async_depth": "64"}, "6.11.0"),
    ("S13", "6.3.5", "none", {}, {"scheduler": "kyber"}, "6.4.0"),
    ("S1", "6.18.44", "none", {"dm/suspended": "1"}, {"scheduler": "bfq"}, None),
    ("S1", "6.18.44", "none", {"device/state": "offline"}, {"nr_requests": "8"}, None),
    ("S3", "6.11.2", "none", {}, {"scheduler": "bfq"}, "6.11.3"),
    ("S11", "6.18.44", "none", {"../../../proc/sys/kernel/panic_on_warn": "1"}, {"scheduler": "bfq"}, None),
    ("S14", "4.15.0", "none", {}, {"scheduler": "bfq"}, "4.16.0"),
    ("S15", "6.9.12", "mq-deadline", ZONED, {"scheduler": "none"}, "6.16.0"),
    ("S16", "6.12.57", "mq-deadline", ZONED, {"nr_requests": "64"}, "6.16.0"),
    ("L2", "6.12.57", "none", {"dm/uuid": "mpath-36001405", "slaves/sdq/device/state": "running"}, {"read_ahead_kb": "64"}, "6.18.3"),
    ("M1", "6.6.120", "none", ARRAY, {"md/group_thread_cnt": "4"}, "6.18.44"),
]  # fmt: skip


@pytest.fixture
def nothing_accepted(monkeypatch):
    monkeypatch.setattr(kernel_faults, "accepted", set())


def machine(tmp_path, monkeypatch, release: str, scheduler: str = "none", **files: str) -> FakeKernel:
    kernel = FakeKernel(tmp_path / f"root-{release}", release)
    monkeypatch.setattr(sysfs, "write", kernel.write)
    kernel.add_disk("sda", scheduler, **files)
    return kernel


@pytest.mark.parametrize(("name", "release", "scheduler", "files", "wanted", "repaired"), REFUSED)
def test_what_a_kernel_breaks_on_is_refused_and_can_be_overridden_by_name(
    tmp_path, monkeypatch, nothing_accepted, name, release, scheduler, files, wanted, repaired
):
    kernel = machine(tmp_path, monkeypatch, release, scheduler, **files)
    journal = Journal(tmp_path / "state")
    before = read_settings("sda", kernel.root)
    with pytest.raises(RefusedError, match=rf"\({name}\)") as refused, changed({"sda": wanted}, kernel.root, journal):
        pytest.fail("must not be entered")
    assert f"--accept-kernel-fault {name}" in refused.value.hint
    assert read_settings("sda", kernel.root) == before and not kernel.broken and journal.is_empty()
    kernel_faults.accept([name])
    with switching([{"sda": wanted}], kernel.root, journal) as switch:
        assert journal.entries()[0].details["accepted_kernel_faults"] == [name]
        assert switch.entry is not None
    kernel_faults.accepted.clear()
    if repaired:
        other = machine(tmp_path, monkeypatch, repaired, scheduler, **files)
        with changed({"sda": wanted}, other.root, journal):
            assert not other.broken


def test_an_unknown_name_is_no_override(nothing_accepted):
    with pytest.raises(UsageError, match="no kernel fault is called"):
        kernel_faults.accept(["N99"])


ORDINARY = {
    "scheduler": ("none", "mq-deadline", "kyber", "bfq"),
    "nr_requests": ("8", "64", "128", "1024"),
    "read_ahead_kb": ("0", "4096"),
    "nomerges": ("2",),
    "rq_affinity": ("2",),
    "wbt_lat_usec": ("0",),
    "max_sectors_kb": ("64",),
    "write_cache": ("write through",),
    "device/queue_depth": ("1", "16"),
}


@pytest.mark.parametrize("release", ["6.1.158", "6.12.57", "6.12.95", "6.18.44", "5.14.0-611.el9"])
@pytest.mark.parametrize("scheduler", ["none", "mq-deadline", "bfq"])
def test_on_kernels_in_use_nothing_is_refused_for_an_ordinary_drive(tmp_path, monkeypatch, release, scheduler):
    limits = {"queue/max_sectors_kb": "1280", "device/queue_depth": "32", "device/state": "running"}
    kernel = machine(tmp_path, monkeypatch, "6.18.44", scheduler, **limits)
    (kernel.root / "proc/sys/kernel/osrelease").write_text(f"{release}\n")
    for name, values in ORDINARY.items():
        for value in values:
            check_values({"sda": {name: value}}, kernel.root)


@dataclass(frozen=True)
class Situation:
    """A write that meets a row of the table, and what makes the same write harmless."""

    release: str
    wanted: dict[str, str]
    scheduler: str = "mq-deadline"
    files: dict[str, str | None] = field(default_factory=dict)
    device: str = "sda"
    make: Callable[[FakeKernel, Path], None] | None = None
    harmless: dict[str, object] = field(default_factory=dict)
    """Fields of the harmless one; none: the row needs nothing but its kernel."""


def two_disks(_: FakeKernel, folder: Path) -> None:
    """Two drives of one host adapter."""
    target = folder.parents[2] / "sys/devices/pci0/host3/target3:0:0"
    for place, name in (("3:0:0:0", "sda"), ("3:0:0:1", "sdb")):
        (target / place / "block" / name).mkdir(parents=True)
    (folder / "device").symlink_to(target / "3:0:0:0")


def two_namespaces(_: FakeKernel, folder: Path) -> None:
    controller = folder.parents[2] / "sys/devices/nvme0"
    for name in ("nvme0n1", "nvme0n2"):
        (controller / name).mkdir(parents=True)
    (folder / "device").symlink_to(controller)


def without_throttling(_: FakeKernel, folder: Path) -> None:
    """A drive on which reading wbt_lat_usec fails with EINVAL."""
    (folder / "queue/wbt_lat_usec").write_bytes(b"\xff")


@pytest.fixture(autouse=True)
def unreadable(monkeypatch):
    """Reading a file that holds a byte which is no text fails with EINVAL."""
    real = Path.read_text

    def read_text(path, *arguments, **options):
        if path.name == "wbt_lat_usec" and path.read_bytes() == b"\xff":
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", read_text)


def path_of_multipath(state: str):
    def make(kernel: FakeKernel, folder: Path) -> None:
        path = kernel.add_disk("sdq", **{"device/state": state})
        (folder / "slaves").mkdir()
        (folder / "slaves/sdq").symlink_to(path)

    return make


def swap_on(device: str):
    def make(kernel: FakeKernel, _: Path) -> None:
        kernel.add_disk("sdz", **{"size": "2097152", "dev": "8:128", "sdz1/partition": "1", "sdz1/dev": "8:129"})
        for name, number in (("sda", "8:0"), ("sdz", "8:128")):
            for file, text in (("dev", number), ("size", "2097152"), (f"{name}1/partition", "1")):
                (kernel.root / "sys/block" / name / file).parent.mkdir(exist_ok=True)
                (kernel.root / "sys/block" / name / file).write_text(f"{text}\n")
            (kernel.root / f"sys/block/{name}/{name}1/dev").write_text(f"{number[:-1]}{int(number[-1]) + 1}\n")
        (kernel.root / "proc/swaps").write_text(
            f"Filename\tType\tSize\tUsed\tPriority\n/dev/{device}1 partition 4096 0 -2\n"
        )

    return make


PROC = "../../../proc/"
SHORT = {PROC + "pressure/memory": "some avg10=1.00 avg60=0 avg300=0 total=1\nfull avg10=0.10 avg60=0 avg300=0 total=1"}
ENOUGH = {
    PROC + "pressure/memory": "some avg10=1.00 avg60=0 avg300=0 total=1\nfull avg10=0.00 avg60=0 avg300=0 total=1"
}
PANICS = {PROC + "sys/kernel/panic_on_warn": "1"}
BFQ = {"scheduler": "bfq"}
DEADLINE = {"wanted": {"scheduler": "none"}}
IN_FLIGHT = {"stat": "9 0 9 9 9 0 9 9 2 9 9 0 0 0 0 0 0"}
SITUATIONS: dict[tuple[str, str, str], list[Situation]] = {
    ("N1", "refuse", "queue/nr_requests"): [
        Situation("6.16.7", {"nr_requests": "1024"}, harmless={"wanted": {"nr_requests": "256"}}),
        Situation("6.17", {"scheduler": "bfq", "nr_requests": "512"}, "none", harmless={"wanted": {"nr_requests": "64"}}),
    ],
    ("N2", "warn", "queue/nr_requests"): [
        Situation("6.18.44", {"nr_requests": "64"}, "none", make=two_disks, harmless={"make": None}),
        Situation("4.19.300", {"nr_requests": "64"}, "none", make=two_disks, harmless={"scheduler": "bfq"}),
        Situation(
            "7.0", {"nr_requests": "64"}, "none", device="nvme0n1", make=two_namespaces, harmless={"make": None}
        ),
    ],
    ("N3", "wait", "queue/nr_requests"): [
        Situation("6.12.95", {"nr_requests": "1024"}, files=SHORT, harmless={"files": ENOUGH}),
        Situation("5.10.250", {"nr_requests": "512"}, files=SHORT, harmless={"wanted": {"nr_requests": "64"}}),
    ],
    ("N3", "refuse", "queue/nr_requests"): [
        Situation("6.12.95", {"nr_requests": "1024"}, files=SHORT, make=swap_on("sda"), harmless={"make": swap_on("sdz")}),
        Situation("6.12.95", {"nr_requests": "1024"}, files=SHORT, make=swap_on("sda"), harmless={"files": ENOUGH}),
    ],
    ("N4", "two-steps", "queue/nr_requests"): [
        Situation("6.1.158", {"nr_requests": "64"}, harmless={"scheduler": "none"}),
        Situation("6.17.9", {"nr_requests": "64"}, harmless={"scheduler": "none"}),
    ],
    ("N5", "refuse", "queue/iosched/async_depth"): [
        Situation("5.16.5", {"iosched/async_depth": "64"}, harmless={"wanted": {"iosched/fifo_batch": "8"}})
    ],
    ("N6", "leave-out", "queue/iosched/async_depth"): [Situation("6.1.158", {"iosched/async_depth": "64"})],
    ("N6", "refuse", "queue/iosched/async_depth"): [
        Situation("6.1.158", {"iosched/async_depth": "64"}, files=PANICS, harmless={"files": {}})
    ],
    ("N9", "leave-out", "queue/nr_requests"): [
        Situation("6.1.158", {"nr_requests": "8"}, make=two_disks, harmless={"make": None}),
        Situation("6.1.158", {"nr_requests": "8"}, make=two_disks, harmless={"wanted": {"nr_requests": "16"}}),
    ],
    ("N10", "leave-out", "device/queue_depth"): [
        Situation(
            "6.1.76", {"queue_depth": "1"}, files={"device/queue_depth": "32"}, harmless={"wanted": {"queue_depth": "2"}}
        )
    ],
    ("W1", "refuse", "queue/scheduler"): [
        Situation("6.17.9", {"scheduler": "none"}, "bfq", harmless={"scheduler": "kyber"}),
        Situation("6.18.2", {"scheduler": "mq-deadline"}, "bfq", harmless={"wanted": {"nr_requests": "64"}}),
    ],
    ("W1", "leave-out", "queue/scheduler"): [Situation("6.16", BFQ, harmless=DEADLINE)],
    ("W1", "throttling-off", "queue/scheduler"): [
        Situation("6.17.9", {"scheduler": "none"}, "bfq", harmless={"scheduler": "kyber"})
    ],
    ("W4", "wait", "queue/wbt_lat_usec"): [
        Situation("6.18.44", {"wbt_lat_usec": "2000"}, files=SHORT, make=without_throttling, harmless={"make": None}),
        Situation("5.15.169", {"wbt_lat_usec": "2000"}, files=SHORT, make=without_throttling, harmless={"files": ENOUGH}),
    ],
    ("W6", "leave-out", "queue/wbt_lat_usec"): [
        Situation("5.10.50", {"wbt_lat_usec": "90000"}, harmless={"wanted": {"wbt_lat_usec": "0"}})
    ],
    ("W8", "leave-out", "queue/wbt_lat_usec"): [
        Situation(release, {"wbt_lat_usec": "9000"}, files={f"{below}holders/md0/md/consistency_policy": "journal"},
                  harmless={"files": {f"{below}holders/md0/md/consistency_policy": "bitmap"}})
        for release, below in (("6.1.158", ""), ("6.18.44", "sda1/"))
    ],
    ("W2", "leave-out", "queue/wbt_lat_usec"): [
        Situation("6.15.3", {"wbt_lat_usec": "9000"}, harmless={"wanted": {"wbt_lat_usec": "2000"}})
    ],
    ("W3", "refuse", "queue/wbt_lat_usec"): [
        Situation("5.10.250", {"wbt_lat_usec": "2000"}, make=without_throttling, harmless={"make": None})
    ],
    ("W5", "leave-out", "queue/wbt_lat_usec"): [
        Situation("6.1.113", {"wbt_lat_usec": "1000"}, harmless={"wanted": {"wbt_lat_usec": "9000"}}),
        Situation("6.11.4", {"wbt_lat_usec": "9000"}, files={"queue/rotational": "1"},
                  harmless={"files": {"queue/rotational": "0"}}),
        Situation("6.6.57", {"wbt_lat_usec": "1"}, harmless={"wanted": {"wbt_lat_usec": "0"}}),
    ],
    ("W7", "warn", "queue/wbt_lat_usec"): [
        Situation("6.1.158", {"wbt_lat_usec": "9000"}, "bfq", harmless={"scheduler": "kyber"}),
        Situation("5.10.250", {"scheduler": "bfq", "wbt_lat_usec": "9000"}, harmless={"wanted": BFQ}),
    ],
    ("S1", "refuse", "queue/scheduler"): [
        Situation("6.18.44", BFQ, files={"dm/suspended": "1"}, harmless={"files": {"dm/suspended": "0"}}),
        Situation("4.19.300", BFQ, files={"device/state": "offline"}, harmless={"files": {"device/state": "running"}}),
        Situation("6.1.158", {"nr_requests": "64"}, files={"device/state": "blocked"}, harmless={"files": {}}),
        Situation("6.18.44", {"max_sectors_kb": "64"}, device="nvme0n1", files={"device/state": "connecting"},
                  harmless={"files": {"device/state": "live"}}),
        Situation("6.12.57", BFQ, device="nbd3", files={"size": "8"}, harmless={"files": {"size": "8", "pid": "9"}}),
        Situation("6.12.57", BFQ, device="nbd3", files={"size": "8"}, harmless={"files": {"size": "0"}}),
        Situation("6.18.44", BFQ, device="ublkb7"),
        Situation("6.1.158", {"nr_requests": "64"}, device="dm-3", files={"dm/uuid": "mpath-36"},
                  harmless={"make": path_of_multipath("running")}),
        Situation("6.1.158", {"nr_requests": "64"}, device="dm-3", files={"dm/uuid": "mpath-36"},
                  make=path_of_multipath("transport-offline"), harmless={"files": {"dm/uuid": "LVM-36"}}),
        Situation("6.18.44", {"wbt_lat_usec": "0"}, files=IN_FLIGHT,
                  harmless={"files": {"stat": "9 0 9 9 9 0 9 9 0 9 9 0 0 0 0 0 0"}}),
        Situation("7.0", {"write_cache": "write through"}, files=IN_FLIGHT, harmless={"wanted": {"read_ahead_kb": "64"}}),
        Situation("7.0", {"async_depth": "64"}, files=IN_FLIGHT, harmless={"files": {}}),
    ],
    ("S1", "refuse", "queue/read_ahead_kb"): [
        Situation("6.12.57", {name: value}, files={"dm/suspended": "1"}, harmless={"files": {}})
        for name, value in (("read_ahead_kb", "64"), ("nomerges", "2"), ("rq_affinity", "2"))
    ],
    ("S1", "refuse", "queue/add_random"): [
        Situation("7.0", {"add_random": "1"}, files={"dm/suspended": "1", "queue/add_random": "0"},
                  harmless={"files": {"queue/add_random": "0"}})
    ],
    ("S2", "done-always", "queue/scheduler"): [Situation("6.19.7", BFQ)],
    ("S2", "udev", "queue/scheduler"): [
        Situation("7.0", {name: value}, make=two_disks, harmless={"make": None})
        for name, value in (("scheduler", "bfq"), ("nr_requests", "64"))
    ],
    ("S3", "refuse", "queue/scheduler"): [Situation("6.11.2", BFQ, "none", harmless={"scheduler": "mq-deadline"})],
    ("S4", "done-always", "queue/scheduler"): [Situation("6.18.44", BFQ)],
    ("S5", "wait", "queue/scheduler"): [
        Situation("6.1.158", BFQ, device="nvme0n1", files={"device/state": "resetting"},
                  harmless={"files": {"device/state": "live"}})
    ],
    ("S6", "wait", "queue/scheduler"): [
        Situation("6.16.3", BFQ, device="nvme0n1", files={"device/state": "resetting"},
                  harmless={"files": {"device/state": "live"}})
    ],
    ("S7", "done-always", "queue/nr_requests"): [Situation("6.18.44", {"nr_requests": "64"})],
    ("S8", "wait", "queue/scheduler"): [Situation("6.12.95", BFQ, files=SHORT, harmless={"files": ENOUGH})],
    ("S8", "refuse", "queue/scheduler"): [
        Situation("6.12.95", BFQ, files=SHORT, make=swap_on("sda"), harmless={"make": swap_on("sdz")}),
        Situation("6.1.158", BFQ, files=SHORT, make=swap_on("sda"), harmless={"files": ENOUGH}),
    ],
    ("S11", "refuse", "queue/scheduler"): [
        Situation(release, BFQ, files=PANICS, harmless={"files": {PROC + "sys/kernel/panic_on_warn": "0"}})
        for release in ("4.19.300", "6.18.44")
    ],
    ("S13", "refuse", "queue/scheduler"): [
        Situation("6.3.5", {name: value}, harmless={"wanted": {"read_ahead_kb": "64"}})
        for name, value in (("scheduler", "none"), ("nr_requests", "64"))
    ],
    ("S14", "refuse", "queue/scheduler"): [Situation("4.15", BFQ, harmless={"wanted": {"scheduler": "kyber"}})],
    ("S15", "refuse", "queue/scheduler"): [
        Situation("6.9.12", {"scheduler": "none"}, files=ZONED, harmless={"files": {"queue/zoned": "none"}}),
        Situation("6.1.158", {"scheduler": "bfq"}, files=ZONED, harmless={"wanted": {"nr_requests": "64"}}),
    ],
    ("S16", "refuse", "queue/scheduler"): [
        Situation("6.12.57", {name: value}, files=ZONED, harmless={"files": {}})
        for name, value in (("scheduler", "none"), ("nr_requests", "64"), ("max_sectors_kb", "64"), ("wbt_lat_usec", "0"))
    ],
    ("L1", "leave-out", "queue/max_sectors_kb"): [
        Situation("6.12.95", {name: value}, files={"device/scsi_disk/1/cache_type": "write back", f"queue/{name}": before},
                  harmless={"files": {f"queue/{name}": before}})
        for name, value, before in
        (("max_sectors_kb", "64", "1280"), ("add_random", "1", "0"), ("write_cache", "write through", "write back"))
    ],
    ("L2", "refuse", "queue/read_ahead_kb"): [
        Situation("6.12.57", {name: value}, device="dm-3", files={"dm/uuid": "mpath-36"},
                  make=path_of_multipath("running"), harmless={"files": {"dm/uuid": "LVM-36"}})
        for name, value in (("read_ahead_kb", "64"), ("nomerges", "2"), ("rq_affinity", "2"))
    ],
    ("M1", "refuse", "md/group_thread_cnt"): [
        Situation(release, {"md/group_thread_cnt": "4"}, device="md0", files=ARRAY,
                  harmless={"files": {**ARRAY, "md/sync_action": "idle"}})
        for release in ("6.6.120", "6.12.3")
    ],
    ("M1", "warn", "md/group_thread_cnt"): [
        Situation("6.18.44", {"md/group_thread_cnt": "4"}, device="md0", files={**ARRAY, "md/sync_action": "check"},
                  harmless={"files": {**ARRAY, "md/sync_action": "idle"}})
    ],
    ("M2", "leave-out", "queue/scheduler"): [
        Situation(release, {name: value}, files={f"{below}holders/{above}md0/md/sync_action": "reshape"},
                  harmless={"files": {f"{below}holders/{above}md0/md/sync_action": "resync"}})
        for release, name, value, below, above in (
            ("6.1.158", "scheduler", "kyber", "", ""), ("6.18.44", "nr_requests", "64", "sda1/", ""),
            ("7.0", "scheduler", "none", "sda1/", "dm-0/holders/"),
        )
    ],
    ("K2", "leave-out", "queue/scheduler"): [
        Situation("5.4.66", {"scheduler": "kyber"}, files={"device/scsi_disk/1/cache_type": "write back"},
                  harmless={"files": {}})
    ],
    ("M6", "leave-out", "queue/nr_requests"): [
        Situation("6.18.44", {"nr_requests": "64"}, "none", device="nbd3", files={"pid": "9"},
                  harmless={"scheduler": "mq-deadline"}),
        Situation("5.10.250", {"nr_requests": "64"}, "none", device="nbd3", files={"pid": "9"},
                  harmless={"device": "sda"}),
    ],
    ("K1", "leave-out", "queue/scheduler"): [
        Situation("5.10.37", {"scheduler": "kyber"}, files={"mq/1/nr_tags": "128"}, harmless={"files": {}}),
        Situation("5.10.37", {"scheduler": "kyber"}, files={"mq/1/nr_tags": "128"}, harmless={"wanted": BFQ}),
    ],
    **{
        (name, "leave-out", "queue/scheduler"): [Situation(release, BFQ, harmless={"wanted": {"scheduler": "kyber"}})
                                                 for release in releases.split()]
        for name, releases in (
            ("B1", "5.15.45 5.10.120"), ("B2", "5.15.32"), ("B3", "6.1.10 5.15.92"), ("B4", "6.12.1 6.1.129"),
            ("B5", "6.12.9 6.1.124"), ("B6", "5.10.250"), ("B7", "5.14.9"),
        )
    },
}  # fmt: skip


def test_every_row_has_a_situation_that_meets_it():
    assert {(fault.id, fault.instead, fault.writes[0]) for fault in kernel_faults.table()} == SITUATIONS.keys()


@pytest.fixture
def impatient(monkeypatch, nothing_accepted):
    monkeypatch.setattr(kernel_faults, "WAIT_S", 0.15)
    monkeypatch.setattr(kernel_faults, "STUCK_S", 0.02)
    monkeypatch.setattr(control_settings.notice, "warn", lambda sentence: kernel_faults_said.append(sentence or ""))
    kernel_faults_said.clear()
    kernel_faults._warn_once.cache_clear()


kernel_faults_said: list[str] = []
CASES = [(*key, place) for key, situations in SITUATIONS.items() for place in range(len(situations))]


def fake(folder: Path, monkeypatch, case: Situation) -> tuple[FakeKernel, dict[str, str]]:
    kernel = FakeKernel(folder, case.release)
    monkeypatch.setattr(sysfs, "write", kernel.write)
    limits = {"queue/max_sectors_kb": "1280", "queue/max_hw_sectors_kb": "1280"}
    place = kernel.add_disk(case.device, case.scheduler, **limits | case.files)
    if case.make:
        case.make(kernel, place)
    return kernel, normalised({case.device: case.wanted})[case.device]


def rows_met(kernel: FakeKernel, case: Situation, wanted: dict[str, str], *instead: str) -> set[tuple[str, str, str]]:
    found = list(kernel_faults.met(kernel.root / "sys/block" / case.device, wanted, *instead))
    if "udev" in instead:
        found += kernel_faults.met(kernel.root / "sys/block" / case.device, wanted, "udev", at_start=True)
    return {(fault.id, fault.instead, fault.writes[0]) for fault, _ in found}


ALL = ("refuse", "leave-out", "wait", "warn", "two-steps", "throttling-off", "done-always", "udev")


@pytest.mark.parametrize(("name", "instead", "first", "place"), CASES)
def test_each_row_does_what_it_says_on_its_kernels_and_on_no_others(
    tmp_path, monkeypatch, impatient, name, instead, first, place
):
    """Through the fake block layer: what is set, what is refused, what is said, in which order it is written."""
    row = (name, instead, first)
    case = SITUATIONS[row][place]
    kernel, wanted = fake(tmp_path / "with", monkeypatch, case)
    journal = Journal(tmp_path / "state")
    before = read_settings(case.device, kernel.root)
    assert row in rows_met(kernel, case, wanted, *ALL)
    refusing = {met[0] for met in rows_met(kernel, case, wanted, "refuse")}
    begun = time.monotonic()
    if refusing:
        with pytest.raises(RefusedError) as refused, changed({case.device: case.wanted}, kernel.root, journal):
            pytest.fail("must not be entered")
        assert any(f"({known})" in refused.value.message for known in refusing)
        assert not kernel.written
    else:
        with changed({case.device: case.wanted}, kernel.root, journal) as seen:
            for key, value in wanted.items():
                assert attributes.same(key, value, seen[case.device][key])
        said = [sentence for sentence in kernel_faults_said if f"({name})" in sentence]
        assert len(said) == (instead in ("wait", "warn", "leave-out")), kernel_faults_said
    if instead == "refuse":
        assert name in refusing
    if instead == "wait":
        assert time.monotonic() - begun >= kernel_faults.WAIT_S
    if instead == "two-steps":
        asked = int(wanted["queue/nr_requests"])
        assert [int(value) for key, value in kernel.written if key == "queue/nr_requests"][:2] == [asked - 1, asked]
    if row[:2] == ("W4", "wait"):
        before["queue/wbt_lat_usec"] = "0"  # not throttled, as before
    assert read_settings(case.device, kernel.root) == before and journal.is_empty()
    assert not kernel.broken
    if case.harmless:
        other = replace(case, **case.harmless)
        kernel, wanted = fake(tmp_path / "harmless", monkeypatch, other)
        assert row not in rows_met(kernel, other, wanted, *ALL)
    fault = next(fault for fault in kernel_faults.table() if (fault.id, fault.instead, fault.writes[0]) == row)
    for release in fault.repaired:
        if name == "S2" or (release == "6.17" and name == "W2"):
            continue
        other = replace(case, release=release)
        kernel, wanted = fake(tmp_path / release, monkeypatch, other)
        if (
            "queue/iosched/async_depth" in wanted
            and not (kernel.root / "sys/block/sda/queue/iosched/async_depth").exists()
        ):
            continue
        assert row not in rows_met(kernel, other, wanted, *ALL), release


DUE = {
    "6.1.158": {"leave-out": {"N6"}, "two-steps": {"N4"}},
    "6.12.57": {"leave-out": set(), "two-steps": {"N4"}},
    "6.12.95": {"leave-out": set(), "two-steps": {"N4"}},
    "6.18.44": {"leave-out": set(), "two-steps": set()},
}


@pytest.mark.parametrize("release", DUE)
@pytest.mark.parametrize("scheduler", ["none", "mq-deadline", "kyber", "bfq"])
def test_on_kernels_in_use_exactly_what_is_due_is_left_out(tmp_path, monkeypatch, impatient, release, scheduler):
    """Each value that `tune` and `apply` can name, on an ordinary drive without anything unusual around it."""
    files = {
        "device/queue_depth": "32",
        "device/state": "running",
        **ENOUGH,
        "stat": IN_FLIGHT["stat"].replace(" 2 ", " 0 "),
    }
    case = Situation(release, {}, scheduler, files)
    kernel, _ = fake(tmp_path / "root", monkeypatch, case)
    values = {**ORDINARY, "iosched/async_depth": ("64",), "add_random": ("1",)}
    met = {instead: set() for instead in ALL}
    for name, texts in values.items():
        for text in texts:
            wanted = normalised({"sda": {name: text}})["sda"]
            for row, instead, _ in rows_met(kernel, case, wanted, *ALL):
                met[instead].add(row)
    scheduled = scheduler != "none"
    assert met["refuse"] == met["wait"] == met["warn"] == set()
    assert met["leave-out"] == DUE[release]["leave-out"]
    assert met["two-steps"] == (DUE[release]["two-steps"] if scheduled else set())


def test_what_passes_is_waited_for_before_it_is_refused(tmp_path, monkeypatch, nothing_accepted):
    """A controller that resets, a device whose table is exchanged: suspended for a moment."""
    kernel = machine(tmp_path, monkeypatch, "6.18.44", "none", **{"dm/suspended": "1"})
    place = kernel.root / "sys/block/sda/dm/suspended"
    timer = threading.Timer(0.3, lambda: place.write_text("0\n"))
    timer.start()
    with changed({"sda": {"scheduler": "bfq"}}, kernel.root, Journal(tmp_path / "state")) as seen:
        assert seen["sda"]["queue/scheduler"] == "bfq" and place.read_text() == "0\n"
    timer.join()


def test_a_drive_that_stops_answering_under_a_run_is_not_written_any_more(tmp_path, monkeypatch, impatient):
    kernel = machine(tmp_path, monkeypatch, "6.18.44", "none", **{"dm/suspended": "0"})
    journal = Journal(tmp_path / "state")
    candidates = [{"sda": {"scheduler": name}} for name in ("bfq", "kyber")]
    with switching(candidates, kernel.root, journal) as switch:
        switch.to(candidates[0])
        (kernel.root / "sys/block/sda/dm/suspended").write_text("1\n")
        written = len(kernel.written)
        with pytest.raises(RefusedError, match="S1"):
            switch.to(candidates[1])
        assert len(kernel.written) == written
        (kernel.root / "sys/block/sda/dm/suspended").write_text("0\n")
    assert journal.is_empty()


@pytest.mark.parametrize("served", [True, False])
def test_a_ublk_drive_answers_while_its_server_lives(tmp_path, monkeypatch, impatient, served):
    """A program that has the character device open; another one of its name elsewhere is none."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    kernel, wanted = fake(tmp_path / "root", monkeypatch, Situation("6.18.44", BFQ, "none", device="ublkb7"))
    server = kernel.root / "sys/class/ublk-char/ublkc7"
    server.mkdir(parents=True)
    number = os.stat("/dev/null" if served else "/dev/full").st_rdev
    (server / "dev").write_text(f"{os.major(number)}:{os.minor(number)}\n")
    with open("/dev/null", "rb"):
        met = list(kernel_faults.met(kernel.root / "sys/block/ublkb7", wanted, "refuse"))
    assert [fault.id for fault, _ in met] == ([] if served else ["S1"])


@pytest.mark.parametrize(("place", "refused"), [("/srv", True), ("/", False)])
def test_the_journal_on_the_drive_counts_like_swap_while_memory_is_short(
    tmp_path, monkeypatch, impatient, place, refused
):
    kernel, wanted = fake(
        tmp_path / "root", monkeypatch, Situation("6.12.95", BFQ, "none", files=SHORT, make=swap_on("sdz"))
    )
    monkeypatch.setattr(kernel_faults, "state_folder", lambda: Path(place))
    (kernel.root / "proc/self").mkdir()
    (kernel.root / "proc/self/mountinfo").write_text(
        "20 1 8:129 / / rw - ext4 /dev/sdz1 rw\n21 20 8:1 / /srv rw - ext4 /dev/sda1 rw\n"
    )
    met = list(kernel_faults.met(kernel.root / "sys/block/sda", wanted, "refuse"))
    assert [fault.id for fault, _ in met] == (["S8"] if refused else [])


def test_a_value_raised_before_us_is_not_restored_where_that_breaks_the_kernel(tmp_path, monkeypatch, nothing_accepted):
    kernel = machine(tmp_path, monkeypatch, "6.16.7", "mq-deadline")
    (kernel.root / "sys/block/sda/queue/nr_requests").write_text("1024\n")
    with (
        pytest.raises(SeekwiseError, match="frees memory twice"),
        changed({"sda": {"nr_requests": "64"}}, kernel.root, Journal(tmp_path / "state")),
    ):
        pass
    assert not kernel.broken


@pytest.mark.parametrize("scheduler", ["none", "bfq"])
@pytest.mark.parametrize("way", ["live", "apply", "killed"])
def test_bfq_is_left_with_throttling_off_and_the_kernel_s_default_is_on_afterwards(
    tmp_path, monkeypatch, nothing_accepted, scheduler, way
):
    """W1: where the program itself leaves bfq, in whichever way; no candidate runs without what the kernel would have
    started."""
    kernel = machine(tmp_path, monkeypatch, "6.17.9", scheduler)
    journal, before = Journal(tmp_path / "state"), read_settings("sda", kernel.root)
    kernel_faults.accept(["W1"] if scheduler == "bfq" else [])
    candidates = [{"sda": {"scheduler": name}} for name in ("bfq", "mq-deadline", "none")]
    if way == "live":
        with switching(candidates, kernel.root, journal) as switch:
            for candidate in (*candidates, *reversed(candidates), {}):
                switch.to(candidate)
                seen = read_settings("sda", kernel.root)
                assert (seen["queue/wbt_lat_usec"] == "0") == (seen["queue/scheduler"] == "bfq")
    elif way == "apply":
        apply.apply(candidates[scheduler == "bfq"], kernel.root, journal)
        assert [outcome.state for outcome in recovery.revert_all(journal)] == ["restored"]
    else:
        killed = changed(candidates[scheduler == "bfq"], kernel.root, journal)
        killed.__enter__()
        killed._left = True
        killed._locks.close()
        journal._let_go(journal._path(journal.entries()[0].id))
        monkeypatch.setattr("seekwise.control.process.ProcessIdentity.alive", False)
        assert [outcome.state for outcome in recovery.restore_left_behind(journal)] == ["restored"]
    assert not kernel.broken and read_settings("sda", kernel.root) == before and journal.is_empty()


def test_throttling_that_was_not_there_is_off_again_afterwards_and_under_what_does_not_ask_for_it(
    tmp_path, monkeypatch
):
    kernel = machine(tmp_path, monkeypatch, "6.18.44", "mq-deadline")
    without_throttling(kernel, kernel.root / "sys/block/sda")
    journal, shown = Journal(tmp_path / "state"), kernel.root / "sys/block/sda/queue/wbt_lat_usec"
    wanted = {"sda": {"wbt_lat_usec": "9000"}}
    with switching([wanted, {"sda": {"nr_requests": "64"}}], kernel.root, journal) as switch:
        for candidate, value in (({}, "0"), (wanted, "9000"), ({"sda": {"nr_requests": "64"}}, "0"), ({}, "0")):
            switch.to(candidate)
            assert shown.read_bytes().decode("latin-1").strip() == value
    assert journal.is_empty()
    shown.write_bytes(b"\xff")
    kernel.refuse["queue/wbt_lat_usec"] = errno.EOPNOTSUPP
    with pytest.raises(SeekwiseError, match="refused"):
        apply.apply(wanted, kernel.root, journal)
    assert shown.read_bytes() == b"\xff" and journal.is_empty()
    kernel.refuse.clear()
    apply.apply(wanted, kernel.root, journal)
    assert [outcome.state for outcome in recovery.revert_all(journal)] == ["restored"]
    assert shown.read_text() == "0\n" and journal.is_empty()


KEPT = {"queue/nr_requests": "1024"}


@pytest.mark.parametrize("form", [name for name in FORMS if name != "tw_cli"])
def test_no_file_sets_at_every_start_what_the_kernel_breaks_on(tmp_path, monkeypatch, nothing_accepted, form):
    """Printed or installed, also where the value is in force already; whatever passes until a start is no reason."""
    faulty = {"6.16.7": "N1", "6.17": "N1", "6.16.11": None, "6.18.44": None, "6.12.57": None, "6.1.158": None}
    for release, row in faulty.items():
        kernel = machine(
            tmp_path / release, monkeypatch, release, "mq-deadline", **{"device/state": "blocked"}, **SHORT
        )
        stack = read_stack(kernel.root)
        make = functools.partial(
            FORMS[form], {"sda": {**KEPT, **({"queue/scheduler": "bfq"} if form == "boot" else {})}}
        )
        for shown in ("256", "1024"):
            (kernel.root / "sys/block/sda/queue/nr_requests").write_text(shown + "\n")
            if row is None:
                assert make(stack).text
                continue
            with pytest.raises(RefusedError, match=rf"frees memory twice.*\({row}\)"):
                make(stack)
            kernel_faults.accept([row])
            assert make(stack).text
            kernel_faults.accepted.clear()


@pytest.mark.parametrize("release", ["6.19.7", "7.0.0"])
def test_a_device_that_is_busy_is_asked_again(tmp_path, monkeypatch, release):
    kernel = machine(tmp_path, monkeypatch, release)
    before = read_settings("sda", kernel.root)
    kernel.busy = 3
    with changed({"sda": {"scheduler": "bfq", "nr_requests": "64"}}, kernel.root, Journal(tmp_path / "state")) as seen:
        assert seen["sda"]["queue/scheduler"] == "bfq" and kernel.busy == 0
        kernel.busy = 3
    assert read_settings("sda", kernel.root) == before


def test_every_way_of_writing_asks_a_busy_device_again_and_drives_follow_one_another(tmp_path, monkeypatch):
    """Setting, live switching, `apply`, `revert`, and what the next command restores after a kill."""
    kernel = machine(tmp_path, monkeypatch, "7.0.0", "mq-deadline")
    kernel.add_disk("sdb", "mq-deadline")
    journal, drives, busy = Journal(tmp_path / "state"), [], iter(())

    def write(path, value):
        if path.name in ("scheduler", "nr_requests"):
            drives.append(path.relative_to(kernel.root / "sys/block").parts[0])
            kernel.busy = next(busy, 0)
        kernel.write(path, value)

    def seen():
        return [read_settings(name, kernel.root) for name in ("sda", "sdb")]

    def refusing():
        """Every other write of the drives' schedulers and requests answers EBUSY from here on."""
        nonlocal busy
        busy, drives[:] = itertools.cycle((1, 0)), []

    def is_in_turn():
        return drives and len(list(itertools.groupby(drives))) == len(set(drives)) == 2 and len(drives) >= 4

    monkeypatch.setattr(sysfs, "write", write)
    before = seen()
    wanted = {name: {"scheduler": "kyber", "nr_requests": "64"} for name in ("sda", "sdb")}
    switch = switching([wanted], kernel.root, journal)
    for step in (switch.__enter__, lambda: switch.to(wanted), switch.to_original, lambda: switch.to(wanted)):
        refusing()
        step()
        assert step == switch.__enter__ or is_in_turn()
    refusing()
    switch.__exit__(None, None, None)
    assert is_in_turn() and seen() == before
    refusing()
    apply.apply(wanted, kernel.root, journal)
    assert is_in_turn() and seen()[1]["queue/scheduler"] == "kyber"
    refusing()
    assert [outcome.state for outcome in recovery.revert_all(journal)] == ["restored"]
    assert is_in_turn() and seen() == before
    killed = changed(wanted, kernel.root, journal)
    killed.__enter__()
    killed._left = True
    killed._locks.close()
    journal._let_go(journal._path(journal.entries()[0].id))
    monkeypatch.setattr("seekwise.control.process.ProcessIdentity.alive", False)
    refusing()
    assert [outcome.state for outcome in recovery.restore_left_behind(journal)] == ["restored"]
    assert is_in_turn() and seen() == before and journal.is_empty()


def test_a_device_that_stays_busy_is_refused_in_time_and_restored_later(tmp_path, monkeypatch):
    kernel = machine(tmp_path, monkeypatch, "7.0.0", "mq-deadline")
    monkeypatch.setattr(control_settings, "BUSY_WAIT_S", 0.2)
    before, journal = read_settings("sda", kernel.root), Journal(tmp_path / "state")
    kernel.busy = 10**6
    with pytest.raises(SeekwiseError, match="EBUSY"):
        apply.apply({"sda": {"scheduler": "kyber"}}, kernel.root, journal)
    assert read_settings("sda", kernel.root) == before and journal.is_empty()
    kernel.busy = 0
    apply.apply({"sda": {"scheduler": "kyber"}}, kernel.root, journal)
    kernel.busy = 10**6
    (outcome,) = recovery.revert_all(journal)
    for entry in journal.entries():
        journal._let_go(journal._path(entry.id))  # that `revert` has ended
    assert outcome.state == "failed" and "Device or resource busy" in outcome.sentences[0] and not journal.is_empty()
    kernel.busy = 0
    assert [outcome.state for outcome in recovery.revert_all(journal)] == ["restored"]
    assert read_settings("sda", kernel.root) == before and journal.is_empty()


def test_a_udev_rule_says_where_udev_would_not_try_again(tmp_path, monkeypatch):
    for release, disks in (("7.0.0", two_disks), ("6.18.44", two_disks), ("7.0.0", lambda *_: None)):
        kernel = machine(tmp_path / f"{release}-{disks.__name__}", monkeypatch, release)
        disks(kernel, kernel.root / "sys/block/sda")
        stack = replace(read_stack(Path("/")), root=kernel.root, devices={})
        for wanted in ({"sda": {"queue/nr_requests": "128"}}, {"sda": {"queue/read_ahead_kb": "64"}}):
            notes = " ".join(udev.rules_only(wanted, stack).notes)
            due = release == "7.0.0" and disks is two_disks and "queue/nr_requests" in wanted["sda"]
            assert ("udev does not try again" in notes) == due


def test_a_switch_that_fails_is_read_back_and_undone(tmp_path, monkeypatch):
    kernel = machine(tmp_path, monkeypatch, "6.18.44", "mq-deadline")
    before = read_settings("sda", kernel.root)
    kernel.failing_switches = 2
    journal = Journal(tmp_path / "state")
    with pytest.raises(SeekwiseError, match="it is none"), changed({"sda": {"scheduler": "bfq"}}, kernel.root, journal):
        pytest.fail("must not be entered")
    assert read_settings("sda", kernel.root) == before and journal.is_empty()


WRITES = (
    {"scheduler": "none"},
    {"scheduler": "none", "nr_requests": "8"},
    {"scheduler": "mq-deadline", "nr_requests": "64"},
    {"scheduler": "kyber"},
    {"nr_requests": "100"},
    {"max_sectors_kb": "64"},
    {"scheduler": "mq-deadline", "read_ahead_kb": "0"},
)
KERNELS = ("4.19.300", "5.10.250", "6.1.158", "6.12.57", "6.17.9", "6.18.44", "6.19.8", "7.0.0")


class Killed(BaseException):
    pass


@pytest.mark.parametrize("scheduler", ["none", "mq-deadline"])
@pytest.mark.parametrize("release", KERNELS)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_every_order_of_three_writes_and_a_kill_between_each_two(monkeypatch, memory, release, scheduler, every):
    limits = {"queue/max_sectors_kb": "1280", "queue/max_hw_sectors_kb": "1280"}
    kernel = FakeKernel(memory / "root", release)
    kernel.add_disk("sda", scheduler, **limits)
    journal, left = Journal(memory / "state"), [0]

    def write(path, value):
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        kernel.write(path, value)

    monkeypatch.setattr(sysfs, "write", write)

    def state():
        return read_settings("sda", kernel.root), kernel.tags["sda"], kernel.user_limit["sda"]

    before = state()
    orders = list(itertools.permutations(WRITES, 3))
    for order in orders if every else random.Random(1).sample(orders, 8):
        for writes in range(0, 14, 1 if every else 4):
            left[0] = writes
            switch = switching([{"sda": values} for values in order], kernel.root, journal)
            try:
                switch.__enter__()
                for values in order:
                    switch.to({"sda": values})
                left[0] = 10**6
                switch.__exit__(None, None, None)
            except Killed:
                left[0] = 10**6
                switch._left = True
                switch._locks.close()
                (entry,) = journal.entries()
                journal._let_go(journal._path(entry.id))
                monkeypatch.setattr("seekwise.control.process.ProcessIdentity.alive", False)
                outcomes = recovery.restore_left_behind(journal)
                assert [outcome.state for outcome in outcomes] == ["restored"]
            assert state() == before, (order, writes)
            assert journal.is_empty() and not kernel.broken


def test_a_fault_says_what_it_is(nothing_accepted):
    fault = Fault("X1", "refuse", "breaks", "here", ("queue/*",), since=("6.1",))
    assert fault.sentence(base_of("6.1.5")) == "Linux 6.1.5 breaks"
