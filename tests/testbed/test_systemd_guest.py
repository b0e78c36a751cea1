"""These tests will boot a Debian with its own udev, systemd and TuneD, twice, and read back what our files made of the disks.

The guest is built once (tests/testbed/systemd_guest/build.sh, needs root, mmdebstrap and the mirror) below `$SEEKWISE_LAB`, and sees this
repository read-only over 9p, so what runs in it is what is here. First boot: set, persist, conflicts, real TuneD, `udevadm verify`.
NOT YET RUN TO ITS END: the guest is built (five minutes) and boots under TCG to systemd and udev 254 within a minute, with the disk found and this
repository mounted; the first command in it had not ended when pytest's own limit of 300 s did (now raised). Judge the rest by its first whole run.

Second boot, with what the first one kept: values at boot, after hotplug, drift, and the guard over a served drive.
"""

from __future__ import annotations

import base64
import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from seekwise.errors import MissingError
from seekwise.testbed import debian, machine

# Each boot has a limit of its own; pytest's is above both.
pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(
        not os.environ.get("SEEKWISE_TEST_SYSTEMD"),
        reason="boots a whole Debian under emulation, twenty minutes and more each time: set SEEKWISE_TEST_SYSTEMD=1",
    ),
]

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent / "systemd_guest"
BOOT_TIMEOUT_S = 1200
DRIVE = "samsung_850_evo"


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder with the guest's kernel and files; skips, with the reason, where it cannot be built."""
    if os.geteuid() != 0:
        pytest.skip("needs root: builds a Debian for the guest")
    for program in ("mmdebstrap", "cpio"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (apt-get install {program})")
    try:
        machine.qemu()
    except MissingError as error:
        pytest.skip(error.message)
    folder = debian.cache() / "systemd-guest"
    if not (folder / "root.cpio").exists():
        done = subprocess.run(["sh", HERE / "build.sh", folder], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"the guest cannot be built: {done.stderr.strip().splitlines()[-1]}")
    return folder


def boot(built: Path, work: Path, script: str, kept: bytes | None = None) -> dict[str, str]:
    """Boots the guest with `script`; the values that it says."""
    extra = {
        "common.sh": f"REPOSITORY={REPOSITORY}\nDRIVE={DRIVE}\n" + (HERE / "common.sh").read_text(),
        "proof.sh": (HERE / script).read_text(),
        "usr/lib/systemd/system/proof.service": (HERE / "proof.service").read_text(),
    }
    files: dict = {name: text.encode() for name, text in extra.items()}
    if kept:
        with tarfile.open(fileobj=io.BytesIO(kept)) as archive:
            files |= {each.name: archive.extractfile(each).read() for each in archive if each.isfile()}
    overlay = work / "overlay"
    for name, content in files.items():
        (overlay / name).parent.mkdir(parents=True, exist_ok=True)
        (overlay / name).write_bytes(content)
    wants = overlay / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True)
    (wants / "proof.service").symlink_to("/usr/lib/systemd/system/proof.service")
    listed = subprocess.run(["find", ".", "-print0"], cwd=overlay, check=True, capture_output=True).stdout
    with (work / "initrd").open("wb") as initrd:
        initrd.write((built / "root.cpio").read_bytes())
        initrd.flush()
        command = ["cpio", "--null", "--create", "--format=newc", "--quiet", "--owner=0:0"]
        initrd.write(subprocess.run(command, cwd=overlay, input=listed, stdout=subprocess.PIPE, check=True).stdout)
    for name in ("sata", "nvme"):
        with (work / name).open("wb") as image:
            image.truncate(1 << 30)
    # /dev/kvm may be there and not work (nested): qemu aborts then, so nobody asks for it. TCG is enough.
    accelerator = ["-accel", "tcg,thread=multi", "-cpu", "max"]
    command = [
        machine.qemu(), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-M", "q35", *accelerator,
        "-smp", "2", "-m", "4096", "-serial", f"file:{work / 'console'}", "-serial", f"file:{work / 'said'}",
        "-kernel", str(built / "vmlinuz"), "-initrd", str(work / "initrd"),
        "-append", "console=ttyS0 quiet panic=-1 rdinit=/sbin/init systemd.journald.forward_to_console=0",
        "-virtfs", f"local,path={REPOSITORY},mount_tag=repository,security_model=none,readonly=on",
        "-drive", f"file={work / 'sata'},if=none,id=sata,format=raw,cache=unsafe",
        "-device", "ide-hd,drive=sata,bus=ide.0,model=PROOF_DISK,serial=SATA0001,rotation_rate=7200",
        "-drive", f"file={work / 'nvme'},if=none,id=nvme,format=raw,cache=unsafe",
        "-device", "nvme,drive=nvme,serial=NVME0001",
    ]  # fmt: skip
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, timeout=BOOT_TIMEOUT_S, check=True, capture_output=True)
    except subprocess.TimeoutExpired:
        pass  # what it said until then is in the message of the first value that is missing
    said = (work / "said").read_text(errors="replace").splitlines() if (work / "said").exists() else []
    values = dict(line.strip().split("=", 1) for line in said if "=" in line)
    assert values.get("finished") == "1", (work / "console").read_text(errors="replace")[-3000:]
    values["console"] = (work / "console").read_text(errors="replace")
    return values


@pytest.fixture(scope="session")
def first(built, tmp_path_factory) -> dict[str, str]:
    return boot(built, tmp_path_factory.mktemp("first"), "first.sh")


@pytest.fixture(scope="session")
def second(built, first, tmp_path_factory) -> dict[str, str]:
    return boot(built, tmp_path_factory.mktemp("second"), "second.sh", base64.b64decode(first["kept"]))


def test_a_later_rule_and_a_tuned_profile_are_named_before_anything_is_written(first):
    assert (first["refused_status"], first["refused"]) == ("3", "1"), first["console"][-3000:]
    assert (first["tuned_sets"], first["status_names_tuned"], first["refused_tuned_status"]) == ("none", "1", "3")


def test_the_real_tuned_sets_our_values_above_a_profile_that_takes_every_disk(first):
    seen = {name: first[f"tuned_{name}"] for name in ("status", "scheduler", "read_ahead", "nr_requests", "other")}
    assert seen == {
        "status": "0",
        "scheduler": "mq-deadline",
        "read_ahead": "4096",
        "nr_requests": "32",
        "other": "none",
    }, first["console"][-3000:]
    assert first["reverted"] == "0"


def test_udevadm_verify_accepts_the_rules_of_every_captured_machine(first):
    assert first["not_verified"] == "0" and int(first["verified"]) == 19, first["console"][-3000:]


def test_a_real_udev_sets_the_values_at_boot_and_at_hotplug(second):
    assert (second["boot_scheduler"], second["boot_read_ahead"], second["boot_depth"]) == ("bfq", "1024", "8")
    assert second["boot_status"] == "0", second["console"][-3000:]
    assert (second["gone"], second["hotplug_scheduler"], second["hotplug_depth"]) == ("0", "bfq", "8")


def test_a_rule_that_overrides_ours_is_drift_with_file_and_line(second):
    assert (second["overridden"], second["drift_status"], second["drift_names"]) == ("mq-deadline", "5", "1")


def test_the_guard_rolls_back_under_an_injected_slowdown_and_not_without_one(second):
    assert second["guard_plain_unit"] == second["guard_slow_unit"] == "1", second["console"][-3000:]
    assert (second["guard_plain_status"], second["guard_plain_after"]) == ("0", "64"), second["console"][-3000:]
    assert second["guard_slow_status"] == "5" and second["guard_slow_after"] == second["guard_slow_before"]
