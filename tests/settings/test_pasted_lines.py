"""Lines of public configurations that do not act, each with the reason; and programs that keep settings in files of their own.

Made after public reports, cases 35 to 46 and 51 of the issue on what people paste; nothing is copied.
"""

from __future__ import annotations

import tarfile

import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.linux.setters import survey
from seekwise.settings import status
from seekwise.settings.doctor import Machine, examine
from settings.machine import Files, machine_path
from settings.test_who_set_it import NVME, RULE, SDA, machine, set_by

DISK = 'ACTION=="add|change", KERNEL=="sd[a-z]"'


def ineffective(made) -> dict[str, tuple[str, str]]:
    """{attribute: (reason, place)} of lines that do not act."""
    found = survey(made.tree(), made.stack()).ineffective
    return {line.attribute.removeprefix("queue/"): (line.reason, line.place) for line in found}


def unpacked(name: str, folder) -> Files:
    with tarfile.open(machine_path(name)) as archive:
        archive.extractall(folder, filter="fully_trusted")
    return Files(folder)


COMPARED = {
    f'{DISK}, ATTR{{queue/rotational}}=="1", ATTR{{queue/read_ahead_kb}}=="2048"': ("read_ahead_kb", "every part of it compares"),
    f'{DISK}, ATTR{{queue/nr_requests}}=="512"': ("nr_requests", "every part of it compares"),
    f'{DISK}, ATTR{{queue/scheduler}}="bfq", ATTR{{queue/read_ahead_kb}}=="2048"': ("scheduler", "acts only where queue/read_ahead_kb is 2048 already"),
    f'{DISK}, ATTR{{bdi/read_ahead_kb}}=="2048"': ("bdi/read_ahead_kb", "every part of it compares"),
}  # fmt: skip


@pytest.mark.parametrize("rule", COMPARED)
def test_a_rule_that_compares_where_it_means_to_assign_is_called_so(rule, tmp_path):
    attribute, reason = COMPARED[rule]
    found = ineffective(machine(tmp_path, {RULE: f"{rule}\n"}))
    assert reason in found[attribute][0] and "`=` assigns" in found[attribute][0]


def test_a_rule_that_asks_whether_a_drive_rotates_compares_as_it_means(tmp_path):
    rules = f'{DISK}, ATTR{{queue/rotational}}=="0", GOTO="end"\n{DISK}, ATTR{{queue/scheduler}}="bfq"\nLABEL="end"\n'
    assert ineffective(machine(tmp_path, {RULE: rules}, scheduler="bfq")) == {}


def test_a_tunable_before_the_line_that_switches_the_scheduler_is_lost(tmp_path):
    lines = [f'{DISK}, ATTR{{queue/iosched/low_latency}}="0"', f'{DISK}, ATTR{{queue/scheduler}}="bfq"']
    tunable = {f"{SDA}/queue/iosched/low_latency": "1\n"}
    before = machine(tmp_path / "a", {RULE: "\n".join(lines) + "\n", **tunable}, scheduler="bfq")
    reason, place = ineffective(before)["iosched/low_latency"]
    assert (reason.partition(",")[0], place) == ("line 2 switches the scheduler afterwards", f"{RULE}:1")
    behind = machine(tmp_path / "b", {RULE: "\n".join(reversed(lines)) + "\n", **tunable}, scheduler="bfq")
    assert ineffective(behind) == {}
    in_force = machine(tmp_path / "c", {RULE: "\n".join(lines) + "\n", f"{SDA}/queue/iosched/low_latency": "0\n"}, scheduler="bfq")  # fmt: skip
    assert ineffective(in_force) == {}


def test_requests_set_before_the_scheduler_are_lost_too(tmp_path):
    lines = f'{DISK}, ATTR{{queue/nr_requests}}="512"\n{DISK}, ATTR{{queue/scheduler}}="bfq"\n'
    assert "line 2 switches" in ineffective(machine(tmp_path, {RULE: lines}, scheduler="bfq"))["nr_requests"][0]


def test_under_none_there_are_no_tunables_and_no_more_requests_than_tags(tmp_path):
    rules = [f'KERNEL=="nvme0n1", ATTR{{queue/{name}}}="{value}"' for name, value in (("iosched/low_latency", "1"), ("nr_requests", "2048"), ("read_ahead_kb", "256"))]  # fmt: skip
    made = machine(tmp_path, {RULE: "\n".join(rules) + "\n", f"{NVME}/queue/nr_requests": "1023\n", f"{NVME}/mq/0/nr_tags": "1023\n"}, scheduler="none")  # fmt: skip
    found = ineffective(made)
    assert found["iosched/low_latency"] == ("under none there is no iosched/low_latency", f"{RULE}:1")
    assert found["nr_requests"] == (
        "without a scheduler the kernel takes at most the driver's tags, 1023 here",
        f"{RULE}:2",
    )
    assert "read_ahead_kb" not in found
    shown = status.read(made.tree(), made.stack(), frozenset({"nvme0n1"})).devices[0]
    named = {value.attribute: [line.place for line in value.ineffective] for value in shown.settings}
    # The tunable has no row of its own.
    assert named["queue/scheduler"] == [f"{RULE}:1"] and named["queue/nr_requests"] == [f"{RULE}:2"]


def test_the_most_requests_of_a_scheduler_are_2048(tmp_path):
    made = machine(tmp_path, {RULE: f'{DISK}, ATTR{{queue/nr_requests}}="4096"\n'})
    assert ineffective(made)["nr_requests"][0] == "the kernel takes at most 2048"
    assert ineffective(machine(tmp_path / "b", {RULE: f'{DISK}, ATTR{{queue/nr_requests}}="2048"\n'})) == {}


def test_what_acts_on_requests_does_nothing_on_an_array(tmp_path):
    made = unpacked("md-raid5", tmp_path)
    names = {"md/sync_speed_max": "2000000", "md/stripe_cache_size": "8192", "queue/nomerges": "2", "queue/nr_requests": "1023", "queue/scheduler": "none"}  # fmt: skip
    rule = ", ".join(f'ATTR{{{name}}}="{value}"' for name, value in names.items())
    made.add({RULE: f'SUBSYSTEM=="block", ACTION=="add|change", KERNEL=="md*", {rule}\n'})
    folder = next(tmp_path.glob("sys/devices/virtual/block/md0")).relative_to(tmp_path)
    made.add({f"/{folder}/md/sync_speed_max": "2000000 (local)\n", f"/{folder}/md/stripe_cache_size": "8192\n"})
    found = ineffective(made)
    assert set(found) == {"nomerges", "nr_requests", "scheduler"}
    assert "passes its I/O on" in found["nomerges"][0]
    assert set_by(made, "md0", "md/sync_speed_max") == f"udev rule {RULE}:1"


def test_limits_of_a_rebuild_come_from_sysctl(tmp_path):
    made = unpacked("md-raid5", tmp_path)
    folder = next(tmp_path.glob("sys/devices/virtual/block/md0")).relative_to(tmp_path)
    made.add({f"/{folder}/md/sync_speed_max": "500000 (system)\n", f"/{folder}/md/sync_speed_min": "1000 (system)\n"})
    made.add({"/etc/sysctl.d/90-raid.conf": "# rebuild\ndev.raid.speed_limit_max = 500000\n"})
    assert set_by(made, "md0", "md/sync_speed_max") == "sysctl /etc/sysctl.d/90-raid.conf:2"
    assert set_by(made, "md0", "md/sync_speed_min") == "the kernel's default"


def test_a_module_that_the_kernel_loads_by_itself_is_no_reason(tmp_path):
    made = machine(tmp_path, {RULE: f'{DISK}, ATTR{{queue/scheduler}}="kyber"\n'}, offered=("none", "mq-deadline"))
    (line,) = survey(made.tree(), made.stack()).ineffective
    assert "it has not run since it was written, or this kernel has no such module" in line.reason
    assert "udevadm trigger" in line.instead and "kyber-iosched.ko" in line.instead


REDPANDA = "redpanda:\n    data_directory: /var/lib/redpanda/data\nrpk:\n    tune_disk_scheduler: true\n    tune_disk_nomerges: true\n"


def test_tuners_of_databases_are_named_with_their_file(tmp_path):
    made = unpacked("nvme", tmp_path)
    made.add({"/etc/redpanda/redpanda.yaml": REDPANDA}).link("/etc/systemd/system/multi-user.target.wants/redpanda-tuner.service", "/usr/lib/systemd/system/redpanda-tuner.service")  # fmt: skip
    folder = next(tmp_path.glob("sys/devices/**/nvme0n1/queue")).relative_to(tmp_path)
    made.add({f"/{folder}/nomerges": "2\n", f"/{folder}/scheduler": "[none] mq-deadline\n"})
    assert set_by(made, "nvme0n1") == "redpanda-tuner.service, /etc/redpanda/redpanda.yaml:4"
    assert set_by(made, "nvme0n1", "queue/nomerges") == "redpanda-tuner.service, /etc/redpanda/redpanda.yaml:5"


MULTIPATH = 'defaults {\n\tfind_multipaths no\n}\ndevices {\n\tdevice {\n\t\tvendor "%s"\n\t\tproduct "%s"\n\t\tmax_sectors_kb 512\n\t}\n}\n'


@pytest.mark.parametrize(
    ("vendor", "product", "acts"), [(".*", ".*", True), ("NETAPP", "LUN.*", True), ("DellEMC", ".*", False)]
)
def test_the_largest_request_of_paths_comes_from_multipath_conf(vendor, product, acts, tmp_path):
    made = unpacked("multipath", tmp_path)
    made.add({"/etc/multipath.conf": MULTIPATH % (vendor, product)})
    found = {(s.device, s.attribute, s.place) for s in survey(made.tree(), made.stack()).setters}
    wanted = {(name, "queue/max_sectors_kb", "/etc/multipath.conf:8") for name in ("dm-0", "sda", "sdb")}
    assert found == (wanted if acts else set())


def test_the_kernel_gives_a_request_based_map_mq_deadline(tmp_path):
    assert set_by(unpacked("multipath", tmp_path), "dm-0") == "the kernel's default"


QUIRKS = {
    "boot": ({"/proc/cmdline": "quiet usb-storage.quirks=152d:0578:u\n", "/boot/firmware/cmdline.txt": "quiet usb-storage.quirks=152d:0578:u\n"}, "boot line /boot/firmware/cmdline.txt:1"),
    "modprobe": ({"/etc/modprobe.d/usb.conf": "options usb-storage quirks=0bc2:ab38:u,152d:0578:u\n"}, "module option /etc/modprobe.d/usb.conf:1"),
    "blacklist": ({"/etc/modprobe.d/no-uas.conf": "# slow drive\nblacklist uas\n"}, "module option /etc/modprobe.d/no-uas.conf:2"),
    "another drive": ({"/etc/modprobe.d/usb.conf": "options usb-storage quirks=0bc2:ab38:u\n"}, "the default, or set by hand"),
    "another flag": ({"/etc/modprobe.d/usb.conf": "options usb-storage quirks=152d:0578:r\n"}, "the default, or set by hand"),
}  # fmt: skip


@pytest.mark.parametrize("name", QUIRKS)
def test_what_keeps_uas_away_is_named(name, tmp_path):
    files, said = QUIRKS[name]
    made = unpacked("usb-zram-null", tmp_path)
    folder = next(tmp_path.glob("sys/devices/**/usb2/2-1")).relative_to(tmp_path)
    made.add({f"/{folder}/idVendor": "152d\n", f"/{folder}/idProduct": "0578\n", **files})
    assert set_by(made, "sda", "device/queue_depth") == said
    note = CliRunner().invoke(cli, ["doctor", "--root", str(tmp_path)]).stderr
    assert ("dmesg | grep -i uas" in note) == ("default" in said)


GROUP = "/sys/fs/cgroup/system.slice/postgresql.service"
LIMITS = {
    "version 2": ({f"{GROUP}/io.max": "8:0 rbps=10485760 wbps=max riops=max wiops=200\n"}, "postgresql.service may read 10 MiB/s and write 200 times a second from and to sda (io.max)"),
    "reads alone": ({"/sys/fs/cgroup/system.slice/docker-1a2b.scope/io.max": "8:0 rbps=1048576 wbps=max riops=max wiops=max\n"}, "docker-1a2b.scope may read 1 MiB/s from sda (io.max)"),
    "version 1": ({"/sys/fs/cgroup/blkio/docker/1a2b/blkio.throttle.write_iops_device": "8:0 50\n"}, "1a2b may write 50 times a second to sda (blkio.throttle.write_iops_device)"),
    "latency": ({f"{GROUP}/io.latency": "8:0 target=10000\n"}, "postgresql.service may hold the others back until its requests take 10000 µs on sda (io.latency)"),
    "no limit": ({f"{GROUP}/io.max": "8:0 rbps=max wbps=max riops=max wiops=max\n"}, ""),
    "another disk": ({f"{GROUP}/io.max": "9:9 rbps=1\n"}, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_limits_of_control_groups_are_found(name, tmp_path):
    files, said = LIMITS[name]
    drop_in = "/etc/systemd/system.control/postgresql.service.d/50-IOReadBandwidthMax.conf"
    made = machine(tmp_path, {**files, drop_in: "[Service]\nIOReadBandwidthMax=/dev/sda 10M\n"})
    found = [each for each in examine(Machine(made.stack(), made.tree())) if each.check == "io-limits"]
    assert [each.text.partition(", since")[0] for each in found] == ([said] if said else [])
    assert not found or ("postgresql" in said) == (f"{drop_in}:2" in found[0].text)


def test_of_a_sos_report_everything_is_shown_and_nothing_is_called_right(tmp_path):
    report = str(machine_path("sosreport.tar.xz"))
    shown = CliRunner().invoke(cli, ["status", "--root", report]).stdout
    assert "bfq  udev rule /etc/udev/rules.d/60-x.rules:1" in shown and "sdb" in shown
    done = CliRunner().invoke(cli, ["doctor", "--root", report])
    assert "In what a sos report holds" in done.stdout and "seekwise capture" in done.stdout
    assert "Nothing wrong" not in done.stdout
    made = Files(tmp_path).add({
        "/sys/block/sda/queue/scheduler": "[mq-deadline] none\n",
        "/proc/diskstats": " 8 0 sda 1 2 3\n 8 16 sdb 1 2 3\n 8 17 sdb1 1 2 3\n 7 0 loop0 1 2 3\n",
        "/proc/partitions": "major minor  #blocks  name\n\n 259        0  976762584 nvme0n1\n",
    })  # fmt: skip
    said = " ".join(CliRunner().invoke(cli, ["doctor", "--root", str(made.root)]).stdout.split())
    assert "nor the settings of nvme0n1 and sdb, which it names" in said
    assert "Nothing wrong" not in CliRunner().invoke(cli, ["doctor", "--root", str(made.root)]).stdout


def test_a_sos_report_of_an_older_sos_has_sizes_mounts_and_a_status_of_its_own(tmp_path):
    """Its `lsblk -O -P` has no --bytes, and its partitions are in /proc/mounts alone (hotsos keeps one as test data)."""
    made = Files(tmp_path).add({
        "/sys/block/vda/queue/scheduler": "[mq-deadline] none\n",
        "/sys/block/dm-0/queue/read_ahead_kb": "128\n",
        "/proc/mounts": "/dev/vda1 / ext4 rw 0 0\n/dev/mapper/vg-srv /srv ext4 rw 0 0\n",
        "/proc/partitions": "major minor  #blocks  name\n",
        "/sos_commands/block/lsblk_-O_-P": 'NAME="vda" KNAME="vda" SIZE="40.5G" MODEL="1234" TYPE="disk"\n'
        'NAME="vg-srv" KNAME="dm-0" SIZE="61.9M" TYPE="lvm"\n',
    })  # fmt: skip
    shown = CliRunner().invoke(cli, ["devices", "--root", str(made.root)])
    assert (
        "/  ext4, rw\n└── vda  virtio disk, 43.5 GB" in shown.stdout
        and "disk 1234" in shown.stdout
        and "/srv  ext4, rw\n└── dm-0" in shown.stdout
    )
    done = CliRunner().invoke(cli, ["doctor", "--root", str(made.root)])
    assert done.exit_code == 2, "most checks could not look"


def test_a_rule_for_scsi_disks_says_nothing_of_maps_and_virtual_disks(tmp_path):
    """Of a map over LUNs the read-ahead stays, whatever a rule for the array's paths says (Nutanix, NetApp, Pure)."""
    made = unpacked("multipath", tmp_path)
    rules = 'ACTION=="add|change", SUBSYSTEM=="block", SUBSYSTEMS=="scsi", ATTRS{vendor}=="NETAPP  ", ATTR{bdi/read_ahead_kb}="32768"\n'
    rules += 'ACTION=="add|change", KERNEL=="sd*|dm-*", ATTRS{vendor}=="NETAPP", ATTR{queue/max_sectors_kb}="512"\n'
    made.add({"/etc/udev/rules.d/99-paths.rules": rules})
    shown = CliRunner().invoke(cli, ["status", "--all", "--root", str(tmp_path)]).stdout
    said = {
        text.split()[0]: "paths.rules:" in text
        for text in shown.split("\n\n")
        if text.startswith(("dm-0", "vda", "sda"))
    }
    assert said == {"dm-0": False, "sda": True, "vda": False}


KERNELS = {"4.18.0-305.el8.x86_64": "none", "4.18.0-348.el8.x86_64": "mq-deadline", "4.18.0-240.el8.x86_64": "mq-deadline", "5.14.0-70.el9.x86_64": "mq-deadline"}  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_default_that_a_kernel_changed_is_the_kernels(kernel, tmp_path):
    made = unpacked("megaraid", tmp_path)
    made.add({"/proc/sys/kernel/osrelease": f"{kernel}\n"})
    for folder in tmp_path.glob("sys/devices/**/block/sd?/queue"):
        offered = " ".join(f"[{name}]" if name == KERNELS[kernel] else name for name in ("none", "mq-deadline", "kyber", "bfq"))  # fmt: skip
        (folder / "scheduler").write_text(f"{offered}\n")
    assert set_by(made, "sda") == "the kernel's default"


def test_compare_names_the_kernel_that_changed_its_default(tmp_path):
    for name, kernel, scheduler in (("a", "4.18.0-305.el8.x86_64", "[none] mq-deadline"), ("b", "4.18.0-348.el8.x86_64", "none [mq-deadline]")):  # fmt: skip
        made = unpacked("megaraid", tmp_path / name)
        made.add({"/proc/sys/kernel/osrelease": f"{kernel}\n"})
        for folder in (tmp_path / name).glob("sys/devices/**/block/sd?/queue"):
            (folder / "scheduler").write_text(f"{scheduler} kyber bfq\n")
    said = CliRunner().invoke(cli, ["compare", str(tmp_path / "a"), str(tmp_path / "b")]).stdout
    assert "the kernel's own default changed" in said


def test_what_a_drive_hangs_on_has_no_queue(tmp_path):
    """A capture lacks most of what the folders above a drive hold; of a queue there is nothing to lack."""
    rule = 'ACTION=="add|change", KERNEL=="sd[a-z]", ATTRS{queue/zoned}=="host-managed", ATTR{queue/scheduler}="deadline"\n'
    made = unpacked("sata-ncq", tmp_path)
    made.add({RULE: rule})
    assert set_by(made, "sda", "queue/scheduler") == "the kernel's default"
