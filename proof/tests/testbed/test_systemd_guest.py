"""A Debian with its own udev, systemd and TuneD is booted: what do they make of the files that we write for them?

The guest is built once (systemd_guest/build.sh: root, mmdebstrap and the mirror; five minutes), below `$SEEKWISE_LAB`. Each boot takes half a
minute under emulation. First boot: set, persist, conflicts, real TuneD, `udevadm verify`, and a run that dies with a write cache off.
Second boot, with what the first one kept: values at boot, after hotplug of a SATA and an NVMe drive, what the restore unit and the weekly
timer did, drift, and nothing left after `revert` and the removal of the units. Beside them, as it mostly waits, a third one: the guard over a
served drive. Not proved here: `elevator=`, which kernels from 5.0 on ignore.
"""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from seekwise.errors import MissingError
from seekwise_proof.testbed import cpio, debian, machine, programs
from seekwise_proof.testbed.cpio import CpioEntry

from . import systemd_guest_package

# Each boot has a limit of its own; pytest's is above both and the building.
pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(2400)]

HERE = Path(__file__).parent / "systemd_guest"
BOOT_TIMEOUT_S = 900
MODEL = "wd2500ys"
NASTY = 'N"$k%k*[a]é2'
"""Serial of the drive that is plugged in: nothing of it may be read as part of a rule, and the rule must still find the drive."""
DISK_BYTES = 1 << 30
PROGRAM = """\
#!/usr/bin/python3
import sys
from seekwise.cli.main import main
sys.exit(main())
"""
Boot = Callable[..., dict[str, str]]


@pytest.fixture(scope="session")
def boot(tmp_path_factory) -> Iterator[Boot]:
    """Boots the guest with a script and returns what it says; skips, with the reason, where the guest cannot be built."""
    if os.geteuid() != 0:
        pytest.skip("needs root: builds a Debian for the guest")
    if sys.version_info[:2] != systemd_guest_package.PYTHON:
        pytest.skip(
            "the guest's Python is 3.11, as Debian 12 has it: libraries built for another one cannot be loaded there"
        )
    for program, package in (
        ("cpio", "cpio"),
        ("mke2fs", "e2fsprogs"),
        ("strip", "binutils"),
        ("mmdebstrap", "mmdebstrap"),
    ):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (apt-get install {package})")
    built = debian.cache() / "systemd-guest"
    try:
        machine.qemu()
        fio = programs.fio(print)
    except MissingError as error:
        pytest.skip(error.message)
    if not (built / "guest.cpio").exists():
        done = subprocess.run(["sh", HERE / "build.sh", built], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"the guest cannot be built: {(done.stderr.strip().splitlines() or ['no reason said'])[-1]}")
    package = tmp_path_factory.mktemp("package")
    systemd_guest_package.make(package / "image", package)

    def run(script: str, kept: bytes | None = None) -> dict[str, str]:
        work = tmp_path_factory.mktemp(script.removesuffix(".sh"))
        with (work / "initrd").open("wb") as initrd:
            with (built / "guest.cpio").open("rb") as root:
                shutil.copyfileobj(root, initrd)
            initrd.write(cpio.pack({**_given(script, fio), **_unpacked(kept)}))
        return _run(work, built / "vmlinuz", package / "image")

    yield run
    shutil.rmtree(package)


def _given(script: str, fio: bytes) -> dict[str, CpioEntry]:
    """What the guest gets beside its own files."""
    texts = {name: (HERE / name).read_bytes() for name in ("package.sh", "crash.py")}
    texts["common.sh"] = (HERE / "common.sh").read_bytes() + f"MODEL={MODEL}\n".encode()
    texts["proof.sh"] = (HERE / script).read_bytes()
    # The journal knows its machine by this, and an empty one would be filled anew at each boot.
    texts["etc/machine-id"] = b"5ee4115e" * 4 + b"\n"
    texts["usr/lib/python3/dist-packages/seekwise.pth"] = b"/opt/seekwise\n"
    given = {name: CpioEntry.file(data) for name, data in texts.items()}
    given |= {"out": CpioEntry.folder(), "opt/seekwise": CpioEntry.folder()}
    given |= {
        "usr/bin/seekwise": CpioEntry.file(PROGRAM.encode(), executable=True),
        "usr/bin/fio": CpioEntry.file(fio, executable=True),
    }
    for unit, target in (("proof", "multi-user"), ("package", "sysinit")):
        path = f"usr/lib/systemd/system/{unit}.service"
        given[path] = CpioEntry.file((HERE / f"{unit}.service").read_bytes())
        given[f"etc/systemd/system/{target}.target.wants/{unit}.service"] = CpioEntry.link(f"/{path}")
    return given


def _unpacked(kept: bytes | None) -> dict[str, CpioEntry]:
    """What the first boot kept, each with its mode: a journal that others could write is not trusted."""
    if kept is None:
        return {}
    found = {"cache-off": CpioEntry.file(b"")}
    with tarfile.open(fileobj=io.BytesIO(kept)) as archive:
        for member in archive:
            if member.issym():
                found[member.name] = CpioEntry.link(member.linkname)
            elif member.isdir():
                found[member.name] = CpioEntry(stat.S_IFDIR | member.mode)
            elif member.isfile():
                found[member.name] = CpioEntry(stat.S_IFREG | member.mode, archive.extractfile(member).read())
    return found


def _run(work: Path, kernel: Path, package: Path) -> dict[str, str]:
    for name in ("sata", "other", "nvme", "later"):
        with (work / name).open("wb") as image:
            image.truncate(DISK_BYTES)
    # /dev/kvm may be there and not work (nested): qemu aborts then, so nobody asks for it. TCG is enough.
    command = [
        machine.qemu(), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-M", "q35", "-accel", "tcg,thread=multi",
        "-cpu", "max", "-smp", "2", "-m", "2560", "-serial", f"file:{work / 'console'}", "-serial", f"file:{work / 'said'}",
        "-kernel", str(kernel), "-initrd", str(work / "initrd"), "-append", "console=ttyS0 quiet panic=-1 rdinit=/sbin/init mitigations=off",
        "-drive", f"file={package},if=none,id=package,format=raw,readonly=on", "-device", "virtio-blk-pci,drive=package",
        "-drive", f"file={work / 'sata'},if=none,id=sata,format=raw,cache=unsafe",
        "-device", "ide-hd,drive=sata,bus=ide.0,model=PROOF_DISK,serial=SATA0001,rotation_rate=7200",
        "-drive", f"file={work / 'other'},if=none,id=other,format=raw,cache=unsafe",
        "-device", "ide-hd,drive=other,bus=ide.1,model=PROOF_DISK,serial=SATA0002,rotation_rate=7200",
        "-drive", f"file={work / 'nvme'},if=none,id=nvme,format=raw,cache=unsafe",
        "-device", "nvme,drive=nvme,serial=NVME0001",
        "-device", "pcie-root-port,id=empty0,chassis=1,slot=1", "-drive", f"file={work / 'later'},if=none,id=later,format=raw,cache=unsafe",
        "-qmp", f"unix:{work / 'qmp'},server=on,wait=off",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as guest:
        try:
            _attend(guest, work)
            assert guest.returncode in (0, None), guest.stderr.read()
        finally:
            guest.kill()
            (work / "initrd").unlink()
    said = (work / "said").read_text(errors="replace").splitlines() if (work / "said").exists() else []
    values = dict(line.strip().split("=", 1) for line in said if "=" in line)
    values["console"] = (work / "console").read_text(errors="replace")
    assert values.get("finished") == "success", (list(values), values["console"][-5000:])
    return values


def _attend(guest: subprocess.Popen, work: Path) -> None:
    """Waits for the guest's end or its time-out, and plugs the second NVMe drive in when it asks for it."""
    end, plugged = time.monotonic() + BOOT_TIMEOUT_S, False
    while guest.poll() is None and time.monotonic() < end:
        said = work / "said"
        if not plugged and said.exists() and "plug=nvme" in said.read_text(errors="replace"):
            with socket.socket(socket.AF_UNIX) as monitor:
                monitor.connect(str(work / "qmp"))
                answers = monitor.makefile("rw")
                drive = {"driver": "nvme", "id": "plugged", "drive": "later", "serial": NASTY, "bus": "empty0"}
                for line in ({"execute": "qmp_capabilities"}, {"execute": "device_add", "arguments": drive}):
                    answers.write(json.dumps(line) + "\n")
                    answers.flush()
                    while not {"return", "error"} & (answer := json.loads(answers.readline())).keys():
                        pass  # the greeting, and events
                    assert "return" in answer, answer
            plugged = True
        time.sleep(0.3)


@pytest.fixture(scope="session")
def judging(boot) -> Iterator[Future[dict[str, str]]]:
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(boot, "guard.sh")


@pytest.fixture(scope="session")
def first(boot, judging) -> dict[str, str]:
    return boot("first.sh")


@pytest.fixture(scope="session")
def second(boot, first) -> dict[str, str]:
    return boot("second.sh", base64.b64decode(first["kept"]))


def taken(values: dict[str, str], *names: str) -> tuple[str, ...]:
    return tuple(values[name] for name in names)


def test_a_later_rule_is_named_before_anything_is_written(first):
    assert taken(first, "refused_status", "refused", "refused_left") == ("3", "1", "mq-deadline"), first["console"][
        -5000:
    ]


def test_a_tuned_profile_is_named_before_anything_is_written(first):
    names = ("tuned_sets", "status_names_tuned", "refused_tuned_status")
    assert taken(first, *names) == ("none", "1", "3"), first["console"][-5000:]


def test_the_real_tuned_sets_our_values_above_a_profile_that_takes_every_disk(first):
    seen = {
        name: first[f"tuned_{name}"] for name in ("status", "active", "scheduler", "read_ahead", "nr_requests", "other")
    }
    assert seen == {
        "status": "0",
        "active": "seekwise",
        "scheduler": "mq-deadline",
        "read_ahead": "4096",
        "nr_requests": "32",
        "other": "none",
    }, first["console"][-5000:]
    assert first["reverted"] == "0"


def test_udevadm_verify_accepts_the_rules_of_every_captured_machine(first):
    machines = len(list(systemd_guest_package.FORMS.glob("*/udev")))
    # One more file is ours for drives with hostile serials.
    assert machines >= 19 and taken(first, "verified", "not_verified", "own_verified") == (str(machines + 1), "0", "0")


def test_a_real_udev_sets_the_values_at_boot_and_at_hotplug(first, second):
    assert first["apply_status"] == "0", first["console"][-5000:]
    assert taken(second, "boot_scheduler", "boot_read_ahead", "boot_depth") == ("bfq", "1024", "8")
    assert taken(second, "gone", "hotplug_scheduler", "hotplug_read_ahead", "hotplug_depth") == (
        "0",
        "bfq",
        "1024",
        "8",
    )


def test_a_real_udev_sets_the_values_of_an_nvme_drive_with_a_hostile_serial_when_it_is_plugged_in(first, second):
    assert first["apply_nvme_status"] == "0", first["console"][-5000:]
    assert second["plugged"] == "mq-deadline 256 32", second["console"][-5000:]


def test_sysfsutils_sets_the_values_at_boot(first, second):
    assert (first["apply_sysfs_status"], second["boot_sysfs"]) == ("0", "512 kyber"), first["console"][-5000:]


def test_systemd_loads_the_module_of_the_scheduler_at_boot(first, second):
    assert second["boot_module"] == "1", second["console"][-5000:]


def test_the_restore_unit_restores_what_a_killed_run_left_on_a_drive(first, second):
    assert taken(first, "install_status", "crashed", "crashed_cache") == ("0", "137", "write through")
    assert first["own_complaints"] == "0", first["console"][-5000:]
    # With our unit in a cycle of dependencies, systemd starts the machine without udev.
    assert second["cycles"] == "0"
    names = ("restore_found", "restored", "restore_unit")
    assert taken(second, *names) == ("write through", "write back, write back", "success"), second["console"][-5000:]


def test_the_weekly_timer_runs_status_and_a_failed_unit_means_drift(first, second):
    assert (first["timer"], second["timer"]) == ("active", "active")
    ended, status = second["timer_after"].split()
    assert (status, second["no_drift"]) == ("0", "1") and int(ended) > 0, second["console"][-5000:]
    assert taken(second, "drift_status", "drift_unit") == ("5", "failed")


def test_revert_after_a_restart_restores_what_our_rule_has_set_and_removal_leaves_no_trace(second):
    assert taken(second, "reverted", "uninstalled") == ("0 128 32", "0"), second["console"][-5000:]
    assert taken(second, "trace", "units_left") == ("0", "0"), second["console"][-5000:]


def test_a_rule_that_overrides_ours_is_drift_with_file_and_line(second):
    names = ("overridden", "drift_status", "drift_names")
    assert taken(second, *names) == ("mq-deadline", "5", "1"), second["console"][-5000:]


def test_the_guard_keeps_what_does_no_harm_and_rolls_back_under_an_injected_slowdown(judging):
    seen = judging.result()
    assert taken(seen, "guard_plain_unit", "guard_slow_unit") == ("1", "1"), seen["console"][-5000:]
    assert taken(seen, "guard_plain_status", "guard_plain_after") == ("0", "64"), seen["console"][-5000:]
    # The guest's kernel has block trace events, so requests were watched one by one as well.
    assert int(seen["guard_slow_watched"]) > 100, seen["console"][-5000:]
    assert seen["guard_slow_before"] != "64"
    assert taken(seen, "guard_slow_status", "guard_slow_after") == ("5", seen["guard_slow_before"]), seen["console"][
        -5000:
    ]
