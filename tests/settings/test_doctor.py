"""These tests will make each check of `seekwise doctor` speak on a machine that has the fault, and keep silent on one that has not."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from seekwise.cli import doctor
from seekwise.cli.main import cli
from seekwise.linux import diskstats
from seekwise.linux.block_device import Stack
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import FolderTree, open_tree
from seekwise.settings import special
from seekwise.settings.controllers import State
from seekwise.settings.doctor import CHECKS, examine, gather
from seekwise.settings.doctor.check import Activity, Machine
from settings.machine import Files, machine_names, machine_path, two_disks

from .test_apply import seekwise

SDA = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
SCSI = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0"
NVME = "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1"
ALL = "none mq-deadline kyber bfq"


def scheduler(name: str) -> str:
    return " ".join(f"[{each}]" if each == name else each for each in ALL.split()) + "\n"


def identify(ncq: bool = True) -> str:
    words = [0] * 256
    words[75], words[76] = 31, (1 << 8 if ncq else 0) | 6
    words[217] = 7200
    return "\n".join(" ".join(f"{word:04x}" for word in words[at : at + 8]) for at in range(0, 256, 8)) + "\n"


MD = {
    "/sys/devices/virtual/block/md0/dev": "9:0\n",
    "/sys/devices/virtual/block/md0/size": "1000000\n",
    "/sys/devices/virtual/block/md0/queue/read_ahead_kb": "512\n",
    "/sys/devices/virtual/block/md0/md/level": "raid0\n",
    "/sys/devices/virtual/block/md0/md/chunk_size": "65536\n",
    "/sys/devices/virtual/block/md0/md/raid_disks": "2\n",
    "/sys/devices/virtual/block/md0/md/array_state": "clean\n",
}
MOUNT = "22 1 {number} / {place} rw,{options} - ext4 {source} rw\n"
IDENTIFY = {"/sys/class/ata_device/dev1.0/id": identify()}


def with_second_disk(files):
    """sdb beside sda, and md0 over both."""
    second = SCSI.replace("ata1/host0/target0:0:0/0:0:0:0", "ata2/host1/target1:0:0/1:0:0:0")
    for path in (files.root / SDA.lstrip("/") / "queue").iterdir():
        files.add({f"{second}/block/sdb/queue/{path.name}": path.read_text()})
    files.add(
        {f"{second}/block/sdb/dev": "8:16\n", f"{second}/block/sdb/size": "1953525168\n", f"{second}/vendor": "ATA\n"}
    )
    files.add({f"{second}/queue_depth": "32\n", f"{second}/block/sdb/mq/0/cpu_list": "0\n", **MD})
    files.link("/sys/block/sdb", f"..{second.removeprefix('/sys')}/block/sdb")
    files.link(f"{second}/block/sdb/device", "../..")
    files.link("/sys/block/md0", "../devices/virtual/block/md0")
    for name, folder in (("sda", SDA), ("sdb", f"{second}/block/sdb")):
        files.link(f"/sys/devices/virtual/block/md0/slaves/{name}", f"../../../../..{folder.removeprefix('/sys')}")
    return files


def plain(files):
    return files


# check, builder, files that make the fault, device that is named, severity
FAULTS = [
    ("kernel-fault", plain, {"/proc/sys/kernel/osrelease": "6.16.7\n"}, "nvme0n1", "look"),
    ("array-state", with_second_disk, {"/sys/devices/virtual/block/md0/md/degraded": "1\n"}, "md0", "wrong"),
    ("array-state", with_second_disk, {"/sys/devices/virtual/block/md0/md/sync_action": "resync\n"}, "md0", "look"),
    ("device-state", plain, {f"{SCSI}/state": "offline\n"}, "sda", "wrong"),
    ("alignment", plain, {f"{SDA}/sda1/start": "63\n", f"{SDA}/sda1/partition": "1\n", f"{SDA}/sda1/size": "9\n"}, "sda1", "wrong"),
    (
        "alignment",
        with_second_disk,
        {f"/sys/devices/virtual/block/md0/md0p1/{name}": text for name, text in (("start", "8\n"), ("partition", "1\n"), ("size", "9\n"))},
        "md0p1",
        "wrong",
    ),
    ("alignment", plain, {f"{NVME}/nvme0n1p1/start": "63\n", f"{NVME}/nvme0n1p1/partition": "1\n", f"{NVME}/nvme0n1p1/size": "9\n", f"{NVME}/queue/physical_block_size": "512\n"}, "nvme0n1p1", "look"),
    ("alignment", with_second_disk, {"/sys/devices/virtual/block/md0/md/chunk_size": "2048\n"}, "md0", "wrong"),
    ("alignment", with_second_disk, {"/sys/devices/virtual/block/md0/md/dev-sdb/offset": "2047\n"}, "md0", "wrong"),
    ("alignment", with_second_disk, {"/sys/devices/virtual/block/md0/alignment_offset": "-1\n"}, "md0", "wrong"),
    ("array-state", with_second_disk, {"/sys/devices/virtual/block/md0/md/array_state": "inactive\n"}, "md0", "wrong"),
    ("write-cache", plain, {f"{SDA}/queue/write_cache": "write through\n", f"{SCSI}/scsi_disk/0:0:0:0/cache_type": "write back\n"}, "sda", "wrong"),
    ("write-cache", plain, {f"{SDA}/queue/write_cache": "write through\n", f"{SCSI}/scsi_disk/0:0:0:0/cache_type": "write through\n"}, "sda", "look"),
    ("mount-options", plain, {"/proc/self/mountinfo": MOUNT.format(number="8:0", place="/", options="sync", source="/dev/sda")}, "sda", "look"),
    ("mount-options", plain, {"/proc/self/mountinfo": MOUNT.format(number="8:0", place="/", options="nobarrier", source="/dev/sda")}, "sda", "wrong"),
    ("members-differ", with_second_disk, {f"{SDA}/queue/scheduler": scheduler("bfq")}, "md0", "wrong"),
    ("members-differ", with_second_disk, {f"{SCSI}/queue_depth": "1\n"}, "md0", "wrong"),
    ("none-on-hard-disk", plain, {f"{SDA}/queue/scheduler": scheduler("none")}, "sda", "wrong"),
    ("no-effect", plain, {"/etc/udev/rules.d/60-x.rules": 'KERNEL=="sda", ATTR{queue/scheduler}="noop"\n'}, "sda", "look"),
    ("zoned-without-order", plain, {f"{SDA}/queue/zoned": "host-managed\n", f"{SDA}/queue/scheduler": scheduler("bfq")}, "sda", "wrong"),
    ("bfq-on-nvme", plain, {f"{NVME}/queue/scheduler": scheduler("bfq")}, "nvme0n1", "wrong"),
    ("throttling-beside-bfq", plain, {f"{SDA}/queue/scheduler": scheduler("bfq"), "/sys/kernel/debug/block/sda/rqos/wbt/enabled": "2\n"}, "sda", "wrong"),
    ("ncq-off", plain, {**IDENTIFY, f"{SCSI}/queue_depth": "1\n", "/proc/cmdline": "quiet libata.force=1:noncq\n"}, "sda", "wrong"),
    ("queue-depth-1", plain, {**IDENTIFY, f"{SCSI}/queue_depth": "1\n"}, "sda", "look"),
    (
        "read-ahead-lost",
        with_second_disk,
        {
            "/proc/self/mountinfo": MOUNT.format(number="9:0", place="/srv", options="relatime", source="/dev/md0"),
            "/sys/devices/virtual/block/md0/queue/read_ahead_kb": "128\n",
            f"{SDA}/queue/read_ahead_kb": "4096\n",
        },
        "md0",
        "wrong",
    ),
    ("large-requests", plain, {f"{SDA}/queue/rotational": "0\n", f"{SDA}/queue/max_sectors_kb": "4096\n", "/proc/sys/kernel/osrelease": "6.17.0\n"}, "sda", "look"),
    (
        "read-ahead-small",
        plain,
        {
            "/proc/self/mountinfo": MOUNT.format(number="8:0", place="/srv", options="relatime", source="/dev/sda"),
            f"{SDA}/queue/read_ahead_kb": "128\n",
            f"{SDA}/queue/max_sectors_kb": "4096\n",
            "/proc/sys/kernel/osrelease": "6.18.3\n",
        },
        "sda",
        "look",
    ),
    (
        "read-ahead-absurd",
        plain,
        {f"{SDA}/queue/read_ahead_kb": "65534\n", f"{SDA}/queue/optimal_io_size": "33553920\n"},
        "sda",
        "look",
    ),
    ("request-flags", plain, {f"{SDA}/queue/nomerges": "2\n"}, "sda", "wrong"),
    (
        "dirty-limits",
        plain,
        {
            "/proc/self/mountinfo": MOUNT.format(number="8:0", place="/", options="relatime", source="/dev/sda"),
            "/proc/meminfo": "MemTotal: 33554432 kB\nMemAvailable: 25165824 kB\n",
            "/proc/sys/vm/dirty_ratio": "20\n",
            "/proc/sys/vm/dirty_bytes": "0\n",
        },
        "sda",
        "look",
    ),
    (
        "swap-beside-files",
        plain,
        {
            "/proc/self/mountinfo": MOUNT.format(number="8:0", place="/", options="relatime", source="/dev/sda"),
            "/proc/swaps": "Filename Type Size Used Priority\n/dev/sda partition 8388604 1048576 -2\n",
        },
        "sda",
        "look",
    ),
    ("throttling-off", plain, {f"{SDA}/queue/wbt_lat_usec": "0\n"}, "sda", "look"),
    ("io-limits", plain, {"/sys/fs/cgroup/io.cost.qos": "8:0 enable=1 ctrl=user rpct=95.00 min=1.00 max=100.00\n"}, "sda", "look"),
    ("request-flags", plain, {f"{SDA}/queue/rq_affinity": "0\n", "/sys/devices/system/cpu/online": "0-7\n"}, "sda", "look"),
    (
        "firmware-raid",
        plain,
        {"/run/udev/data/b8:0": "E:ID_SERIAL_SHORT=X\nE:ID_BUS=ata\nE:ID_FS_TYPE=isw_raid_member\n"},
        "sda",
        "wrong",
    ),
    (
        "temperature",
        plain,
        {"/sys/class/hwmon/hwmon0/temp1_input": "71000\n", "/sys/class/hwmon/hwmon0/temp1_max": "70000\n"},
        "nvme0n1",
        "wrong",
    ),
]  # fmt: skip


def machine(files, **more) -> Machine:
    tree = files.tree()
    return Machine(read_stack(tree), tree, **more)


def linked(files):
    """The sensor of the NVMe drive, where a test wrote one."""
    if (files.root / "sys/class/hwmon/hwmon0").is_dir():
        files.link("/sys/class/hwmon/hwmon0/device", "../../../devices/pci0000:00/0000:00:04.0/nvme/nvme0")
    return files


@pytest.mark.parametrize(("check", "build", "fault", "device", "severity"), FAULTS)
def test_a_machine_with_the_fault_is_told_and_one_without_is_not(tmp_path, check, build, fault, device, severity):
    healthy = build(two_disks(tmp_path / "healthy"))
    assert examine(machine(healthy)) == ()
    ill = linked(build(two_disks(tmp_path / "ill")).add(fault))
    found = [finding for finding in examine(machine(ill)) if finding.check == check]
    assert [(finding.devices[0], finding.severity) for finding in found] == [(device, severity)]
    assert found[0].evidence and found[0].mend and found[0].text


def captured(name: str, folder):
    """A captured machine as a folder that can be changed."""
    with tarfile.open(machine_path(name)) as archive:
        archive.extractall(folder, filter="data")
    tree = open_tree(folder)
    top = folder if (folder / "sys").is_dir() else next(folder.iterdir())

    def write(path: str, text: str) -> None:
        file = top / tree.resolve(path).lstrip("/")
        file.write_text(text)

    return top, write


def test_a_disk_of_a_zfs_pool_needs_no_scheduler(tmp_path):
    """Case 18 of the issue on files and answers: ZFS sorts and limits requests itself."""
    top, write = captured("sata-ncq-off", tmp_path)
    write("/sys/block/sda/queue/scheduler", "[none] mq-deadline bfq\n")
    before = {each.devices for each in examine(machine(Files(top))) if each.check == "none-on-hard-disk"}
    assert ("sda",) in before
    with (top / "run/udev/data/b8:1").open("a") as database:
        database.write("E:ID_FS_TYPE=zfs_member\n")
    assert {each.devices for each in examine(machine(Files(top))) if each.check == "none-on-hard-disk"} == before - {
        ("sda",)
    }


@pytest.mark.parametrize("own", [32768, 65536])
def test_the_read_ahead_of_a_multipath_map_acts_and_its_paths_are_one_drive(tmp_path, own):
    """Case 19: an array that states 16 MiB as its optimum, behind two paths."""
    top, write = captured("multipath", tmp_path)
    for device in ("dm-0", "sda", "sdb"):
        write(f"/sys/block/{device}/queue/read_ahead_kb", f"{own}\n")
        write(f"/sys/block/{device}/queue/optimal_io_size", "16777216\n")
    (finding,) = examine(machine(Files(top)))
    assert (finding.check, finding.devices) == ("read-ahead-absurd", ("dm-0",))
    assert int(finding.mend[0].rpartition("=")[2]) <= 16384


def test_a_tree_without_queues_is_not_called_well(tmp_path):
    files = two_disks(tmp_path)
    for disk in (SDA, NVME):
        shutil.rmtree(files.root / disk.lstrip("/") / "queue")
    done = seekwise("doctor", "--root", str(files.root), state=tmp_path / "state")
    assert "Nothing wrong" not in done.stdout and "no device here shows its queue" in done.stdout
    assert "no device has a folder queue/" in done.stderr
    assert done.returncode == 2, "neither 0 nor `something is wrong`: there was nothing to examine"


@pytest.mark.parametrize(("lost", "answer"), [("queue", "Nothing can be said"), ("proc", "In what could be read")])
def test_what_could_not_be_read_is_said_and_is_not_called_right(lost, answer, tmp_path, monkeypatch):
    """As for a user without permission: `os.listdir`, `os.lstat` and `open` fail, which root never sees."""
    files = two_disks(tmp_path)
    denied = (
        (str(files.root / lost),)
        if lost == "proc"
        else tuple(str(files.root / d.lstrip("/") / lost) for d in (SDA, NVME))
    )

    def failing(called):
        def call(path, *more, **others):
            if str(path).startswith(denied):
                raise PermissionError(13, "Permission denied", str(path))
            return called(path, *more, **others)

        return call

    for name in ("listdir", "lstat"):
        monkeypatch.setattr(os, name, failing(getattr(os, name)))
    for words in ((), (SDA.rpartition("/")[2],)):
        done = CliRunner().invoke(cli, ["doctor", *words, "--root", str(files.root)])
        assert done.exit_code == 4 and answer in done.stdout and "Nothing wrong" not in done.stdout
        assert f"no permission to read {'/proc' if lost == 'proc' else NVME}" in done.stderr
    assert any(
        "no permission" in said
        for said in json.loads(CliRunner().invoke(cli, ["doctor", "--root", str(files.root), "--json"]).stdout)[
            "not_examined"
        ]
    )


def test_a_sas_drive_speaks_by_its_own_pages(tmp_path):
    """Keys of `smartctl --json` 7.3 for a SCSI drive."""
    document = {
        "scsi_grown_defect_list": 12,
        "scsi_error_counter_log": {"read": {"total_uncorrected_errors": 3}, "write": {"total_uncorrected_errors": 0}},
        "scsi_percentage_used_endurance_indicator": 101,
    }
    files = two_disks(tmp_path)
    found = [each for each in examine(replace(machine(files), smart={"sda": document})) if each.check == "drive-health"]
    assert {(each.severity, each.evidence[0]) for each in found} == {
        ("look", "scsi_grown_defect_list = 12"),
        ("wrong", "scsi_error_counter_log.read.total_uncorrected_errors = 3"),
        ("look", "scsi_percentage_used_endurance_indicator = 101"),
    }
    for odd in (
        {"scsi_error_counter_log": []},
        {"scsi_error_counter_log": {"read": 5}},
        {"scsi_grown_defect_list": "x"},
    ):
        assert not [
            each for each in examine(replace(machine(files), smart={"sda": odd})) if each.check == "drive-health"
        ]


# Near misses: what looks like the fault and is none.

HARMLESS = [
    {f"{SDA}/sda1/start": "2048\n", f"{SDA}/sda1/partition": "1\n", f"{SDA}/sda1/size": "9\n"},
    {f"{NVME}/nvme0n1p1/start": "8\n", f"{NVME}/nvme0n1p1/partition": "1\n", f"{NVME}/nvme0n1p1/size": "9\n"},
    # A drive whose physical sectors begin one logical sector later, for systems that begin partitions at 63.
    {f"{SDA}/sda1/start": "63\n", f"{SDA}/sda1/partition": "1\n", f"{SDA}/sda1/size": "9\n", f"{SDA}/alignment_offset": "3584\n"},
    {f"{NVME}/queue/scheduler": scheduler("none")},
    {f"{SDA}/queue/scheduler": scheduler("bfq")},  # wbt_lat_usec goes on showing 75000 before 6.12 although bfq keeps it off
    {"/sys/class/ata_device/dev1.0/id": identify(ncq=False), f"{SCSI}/queue_depth": "1\n"},
    {"/proc/cmdline": "libata.force=2:noncq\n"},
    {f"{NVME}/queue/nomerges": "2\n"},
    {f"{SDA}/queue/wbt_lat_usec": "0\n", f"{SDA}/queue/scheduler": scheduler("bfq")},
    {"/sys/fs/cgroup/io.cost.qos": "8:0 enable=0 ctrl=auto\n"},
    {
        "/proc/self/mountinfo": MOUNT.format(number="8:0", place="/", options="relatime", source="/dev/sda"),
        "/proc/meminfo": "MemAvailable: 25165824 kB\n",
        "/proc/sys/vm/dirty_ratio": "20\n",
        "/proc/sys/vm/dirty_bytes": "268435456\n",
        "/proc/swaps": "Filename Type Size Used Priority\n/dev/sda partition 8388604 1024 -2\n",
    },
    {"/proc/self/mountinfo": MOUNT.format(number="8:0", place="/", options="noatime,barrier=1", source="/dev/sda")},
    {"/sys/class/hwmon/hwmon0/temp1_input": "69000\n", "/sys/class/hwmon/hwmon0/temp1_max": "70000\n"},
    {f"{SDA}/queue/scheduler": scheduler("none"), f"{SDA}/queue/rotational": "0\n"},
]  # fmt: skip


@pytest.mark.parametrize("files", HARMLESS)
def test_what_only_looks_like_a_fault_is_passed_over(tmp_path, files):
    assert examine(machine(linked(two_disks(tmp_path).add(files)))) == ()


def volume(files, number: int, name: str, *below: str):
    """A logical volume of LVM on other devices, each given by its folder."""
    folder = f"/sys/devices/virtual/block/dm-{number}"
    files.add({
        f"{folder}/dev": f"253:{number}\n", f"{folder}/size": "100000\n", f"{folder}/queue/read_ahead_kb": "256\n",
        f"{folder}/dm/name": f"{name}\n", f"{folder}/dm/uuid": f"LVM-{number:032d}\n",
    })  # fmt: skip
    files.link(f"/sys/block/dm-{number}", f"../devices/virtual/block/dm-{number}")
    for each in below:
        files.link(f"{folder}/slaves/{each.rpartition('/')[2]}", f"../../../../..{each.removeprefix('/sys')}")
    return folder


@pytest.mark.parametrize(("parts", "told"), [("vg-lv_rimage_{}", True), ("vg-part{}", False)])
def test_members_of_an_lvm_raid_are_compared_and_those_of_a_linear_volume_are_not(tmp_path, parts, told):
    files = with_second_disk(two_disks(tmp_path))
    second = SDA.replace("ata1/host0/target0:0:0/0:0:0:0/block/sda", "ata2/host1/target1:0:0/1:0:0:0/block/sdb")
    below = [volume(files, 1, parts.format(0), SDA), volume(files, 2, parts.format(1), second)]
    volume(files, 0, "vg-lv", *below)
    assert examine(machine(files)) == ()
    files.add({f"{SCSI}/queue_depth": "1\n"})
    found = {each.devices[0] for each in examine(machine(files)) if each.check == "members-differ"}
    assert found == ({"dm-0", "md0"} if told else {"md0"})


@pytest.mark.parametrize(("kernel", "told"), [("write through", True), ("write back", False)])
def test_a_virtio_disk_that_caches_and_is_not_flushed(tmp_path, kernel, told):
    files = two_disks(tmp_path)
    folder = "/sys/devices/pci0000:00/0000:00:05.0/virtio0/block/vda"
    files.add({
        f"{folder}/dev": "252:0\n", f"{folder}/size": "100000\n", f"{folder}/cache_type": "write back\n",
        f"{folder}/queue/write_cache": f"{kernel}\n", f"{folder}/queue/scheduler": "[none] mq-deadline\n",
    })  # fmt: skip
    files.link("/sys/block/vda", f"..{folder.removeprefix('/sys')}").link(f"{folder}/device", "../..")
    found = [(each.check, each.devices, each.severity) for each in examine(machine(files))]
    assert found == ([("write-cache", ("vda",), "wrong")] if told else [])


def test_members_of_a_btrfs_are_compared_like_those_of_md(tmp_path):
    mounts = MOUNT.format(number="0:40", place="/my\\040data", options="relatime", source="/dev/sda").replace(
        "ext4", "btrfs"
    )
    files = with_second_disk(two_disks(tmp_path / "btrfs")).add({"/proc/self/mountinfo": mounts})
    for name in ("sda", "sdb"):
        files.add({f"/sys/fs/btrfs/3f9c0a3e-0000-4000-8000-000000000001/devices/{name}/size": "1\n"})
    same = examine(machine(files))
    files.add({f"{SCSI}/queue_depth": "1\n"})
    found = [each for each in examine(machine(files)) if each.check == "members-differ"]
    assert not same
    assert ("md0" in {each.devices[0] for each in found}) and any(
        each.devices[0] == "btrfs on /my data" for each in found
    )
    assert any("--device sda" in line or "--device sdb" in line for each in found for line in each.mend)


@pytest.mark.parametrize(
    ("status", "severity"),
    [("OK", None), ("Optl", None), ("Optimal", None), (None, None), ("DEGRADED", "wrong"), ("Dgrd", "wrong"), ("REBUILDING", "wrong"),
     ("Ready for Rebuild", "wrong"), ("Interim Recovery Mode", "wrong"), ("VERIFYING", "look"), ("Migrating", "look")],
)  # fmt: skip
def test_what_a_raid_controller_says_of_its_unit(tmp_path, status, severity):
    units = {"sda": State(status=status, evidence={"status": f"/c0/u0 status = {status}"})}
    found = examine(machine(two_disks(tmp_path), units=units))
    assert [(each.check, each.severity) for each in found] == ([("array-state", severity)] if severity else [])
    assert not severity or status in found[0].text and status in found[0].evidence[0]


def test_a_place_with_a_space_is_quoted_in_the_command_that_mends_it(tmp_path):
    mounts = MOUNT.format(number="8:0", place="/my\\040data", options="sync", source="/dev/sda")
    (found,) = examine(machine(two_disks(tmp_path).add({"/proc/self/mountinfo": mounts})))
    assert found.mend == ("mount -o remount,async '/my data'",)


def test_a_report_that_holds_something_else_stops_no_check(tmp_path):
    reports = {
        "nvme0n1": {"nvme_smart_health_information_log": {"media_errors": "many", "warning_temp_time": None}, "power_on_time": None},
        "sda": {"ata_smart_attributes": {"table": [{"id": 197, "raw": {"value": "0x"}}, {"id": 5, "raw": None}]}},
    }  # fmt: skip
    assert examine(machine(two_disks(tmp_path), smart=reports)) == ()


def smart(**log) -> dict:
    return {"nvme0n1": {"nvme_smart_health_information_log": log, "power_on_time": {"hours": 1000}}}


def ata(number: int, raw: int, name: str = "A") -> dict:
    row = {"id": number, "name": name, "when_failed": "", "raw": {"value": raw, "string": str(raw)}}
    return {"sda": {"smart_status": {"passed": True}, "ata_smart_attributes": {"table": [row]}}}


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        (smart(critical_warning=4), ["drive-health"]),
        (smart(critical_warning=0, percentage_used=12, media_errors=0, warning_temp_time=3), []),
        (smart(media_errors=2), ["drive-health"]),
        (smart(percentage_used=104), ["drive-health"]),
        (smart(warning_temp_time=300), ["temperature"]),
        ({"sda": {"smart_status": {"passed": False}}}, ["drive-health"]),
        (ata(197, 8), ["drive-health"]),
        (ata(197, 0), []),
        (ata(199, 5), []),
        (ata(199, 5000), ["drive-health"]),
        (ata(9, 40000), []),
    ],
)
def test_what_drives_report_of_themselves(tmp_path, reports, expected):
    found = examine(machine(two_disks(tmp_path), smart=reports))
    assert [finding.check for finding in found] == expected


@pytest.mark.parametrize(
    ("moved", "told"),
    [
        (Activity(5, 1000, 5000, 10**9, 4000), True),
        (Activity(5, 100, 0, 0, 0), False),
        (Activity(5, 100, 2, 10**6, 5), False),
        (Activity(5, 10**6, 1000, 10**9, 50), False),
        (Activity(5, 10, 40, 10**10, 3000), True),
    ],
)
def test_a_storm_of_discards_is_told_by_rate_and_time(tmp_path, moved, told):
    mounts = MOUNT.format(number="259:0", place="/", options="discard", source="/dev/nvme0n1")
    files = two_disks(tmp_path).add({"/proc/self/mountinfo": mounts})
    found = examine(machine(files, activity={"nvme0n1": moved}, later={"nvme0n1": moved}))
    assert [(finding.check, finding.severity) for finding in found] == ([("discard-storm", "wrong")] if told else [])
    assert not told or "mount -o remount,nodiscard /" in found[0].mend


def test_a_deletion_during_the_first_look_is_not_wrong_and_remounts_nothing(tmp_path, monkeypatch):
    line = " 259       0 nvme0n1 10 0 80 5 20 0 160 7 0 12 12 {} 0 {} {} 0 0\n"
    files = two_disks(tmp_path)

    def severities(*counted: int) -> list[str]:
        """Of discards counted before and after each look."""
        readings = iter(counted)

        def read(_):
            number = next(readings)
            files.add({"/proc/diskstats": line.format(number, 8 * number, number // 2)})
            return read_counters(files.tree())

        monkeypatch.setattr(gather.diskstats, "read", read)
        live = SimpleNamespace(live=True)
        monkeypatch.setattr(gather, "read_stack", lambda _: read_stack(files.tree()))
        monkeypatch.setattr(gather, "PAUSE_S", 0.0)
        seen = gather.machine(live, 0.01)
        found = examine(replace(seen, tree=files.tree()))
        assert next(readings, None) is None
        return [each.severity for each in found if each.check == "discard-storm"]

    read_counters = diskstats.read
    assert severities(0, 0) == []
    assert severities(0, 5000, 5000, 5001) == ["look"]
    assert severities(0, 5000, 9000, 14000) == ["wrong"]


def test_counters_of_discards_are_read_from_the_fields_of_the_kernel(tmp_path):
    line = "   8       0 sda 10 0 80 5 20 0 160 7 0 12 12 {} 0 {} {} 0 0\n"
    files = two_disks(tmp_path).add({"/proc/diskstats": line.format(3, 4096, 9)})
    before = diskstats.read(files.tree())
    sda = before["sda"]
    assert (sda.ios, sda.discards, sda.discard_bytes, sda.discard_ms) == (30, 3, 4096 * 512, 9)
    files.add({"/proc/diskstats": line.format(13, 8192, 19)})
    assert gather.activity(before, diskstats.read(files.tree()), 2.0)["sda"] == Activity(2.0, 0, 10, 4096 * 512, 10)


# What the captured machines really have: everything else would be a false alarm.

TRUE = {
    "imsm": {("firmware-raid", "md126", "look")},
    "md-raid10-degraded": {("array-state", "md127", "wrong")},
    "md-raid5": {("array-state", "md0", "look")},
    "sata-ncq-off": {("none-on-hard-disk", "sdb", "wrong"), ("queue-depth-1", "sdb", "look")},
}


@pytest.mark.parametrize("name", machine_names())
def test_no_false_alarm_on_a_captured_machine(name):
    tree = open_tree(machine_path(name))
    found = examine(Machine(read_stack(tree), tree))
    assert {(finding.check, finding.devices[0], finding.severity) for finding in found} == TRUE.get(name, set())


def test_every_check_has_a_fault_that_triggers_it():
    covered = {row[0] for row in FAULTS} | {"drive-health", "discard-storm"}
    assert {each.NAME for each in CHECKS} == covered


def test_the_command_tells_by_its_exit_status_and_fits_80_columns(tmp_path):
    done = seekwise("doctor", "--root", str(machine_path("sata-ncq-off")), state=tmp_path)
    assert done.returncode == 5
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if not line.lstrip().startswith("$"))
    well = seekwise("doctor", "--root", str(machine_path("nvme")), "--json", state=tmp_path)
    assert well.returncode == 0 and json.loads(well.stdout)["findings"] == []
    assert "watching" not in well.stderr
    assert seekwise("doctor", "--root", str(tmp_path / "none"), state=tmp_path).returncode == 2


def test_the_command_says_how_long_it_watches_this_machine(tmp_path):
    assert "watching the drives' counters for 0.1 s" in seekwise("doctor", "--watch", "100ms", state=tmp_path).stderr


def test_what_bounds_a_usb_bridge_and_a_guest_is_said_though_nothing_is_wrong():
    tree = open_tree(machine_path("usb-zram-null"))
    drives = list(Machine(read_stack(tree), tree).drives())
    guest, usb = special.unseen(drives, tree)
    assert guest.startswith("the drives behind vda: the host") and "schedules these requests once more" in guest
    assert usb.startswith("whether sda could be faster: USB without UAS: one command at a time")
    tree = open_tree(machine_path("sata-ncq"))
    assert special.unseen(list(Machine(read_stack(tree), tree).drives()), tree) == []


def test_checks_that_could_not_look_are_not_counted_as_having_found_nothing(monkeypatch, capsys, tmp_path):
    from seekwise.cli import doctor

    monkeypatch.setattr(doctor.os, "geteuid", lambda: 0)
    monkeypatch.setattr(doctor.shutil, "which", lambda *_, **__: None)
    captured = machine(two_disks(tmp_path))
    running = Machine(captured.stack, FolderTree(Path("/")))
    for looked_at, could_not, why in ((running, 1, "smartmontools"), (captured, 3, "capture")):
        doctor._print((), doctor._not_examined(looked_at), has_queues=True, machine=looked_at)
        said = " ".join(capsys.readouterr().out.split())
        assert said.startswith(
            f"Nothing wrong: {len(CHECKS) - could_not} checks found nothing, {could_not} could not look: "
        )
        assert why in said
    doctor._print((), {}, has_queues=True, machine=captured)
    assert capsys.readouterr().out == f"Nothing wrong: {len(CHECKS)} checks found nothing.\n"


@pytest.mark.parametrize(("user", "is_installed"), [(0, True), (0, False), (1000, True), (1000, False)])
def test_everything_that_drive_health_lacks_is_said_at_once(monkeypatch, user, is_installed):
    monkeypatch.setattr(doctor.os, "geteuid", lambda: user)
    monkeypatch.setattr(doctor.shutil, "which", lambda *_, **__: "/usr/sbin/smartctl" if is_installed else None)
    said = " ".join(doctor._not_examined(Machine(Stack({}, ()), FolderTree(Path("/")))).values())
    assert (bool(said), "smartmontools" in said, "sudo" in said) == (
        user != 0 or not is_installed,
        not is_installed,
        user != 0,
    )


def test_a_degraded_array_of_a_sos_report_is_said_by_proc_mdstat(tmp_path):
    """Its folders hold queues only: what is missing, what fills it and what was read are as /proc/mdstat has them."""
    sos = tmp_path / "sosreport-db01"
    Files(sos).add(
        {
            "/sos_commands/kernel/uname_-a": "Linux db01 6.1.0-18-amd64 #1 SMP x86_64 GNU/Linux\n",
            "/sys/block/sda/queue/scheduler": "none [mq-deadline] bfq\n",
            "/sys/block/sda/queue/rotational": "1\n",
            "/sys/block/md0/queue/read_ahead_kb": "6144\n",
            "/proc/mdstat": "Personalities : [raid5]\nmd0 : active raid5 sdb1[4] sdd1[3] sdc1[2] sda1[0]\n"
            "      11720658432 blocks super 1.2 level 5, 512k chunk, algorithm 2 [4/3] [U_UU]\n"
            "      [==>....]  recovery = 12.6% (493234560/3906886144) finish=512.3min speed=111030K/sec\n",
        }
    )
    answer = CliRunner().invoke(cli, ["doctor", "--root", str(sos)])
    said = " ".join(answer.output.split())
    assert answer.exit_code == 5
    assert "md0 is degraded: 1 of 4 members is missing /proc/mdstat cost:" in said
    assert "mdadm --detail /dev/md0" in said and "--add" not in said
    assert "states of drives" in said and "states of arrays" not in said
