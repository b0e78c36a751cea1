"""These tests will print settings in every form for every captured machine, and compare with the golden files beside them.

SEEKWISE_ACCEPT=1 pytest tests/settings/test_forms.py      writes them anew: read the difference before you accept it
"""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seekwise.errors import SeekwiseError, UsageError
from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.resolve import has_setting
from seekwise.linux.setters import find_setters, udev_rules, udev_syntax
from seekwise.linux.setters.pattern import matches
from seekwise.linux.setters.reading import Reading
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import open_tree
from seekwise.settings import persist
from seekwise.settings.asked import by_hand, check
from seekwise.settings.forms import FORMS, udev
from settings.machine import machine_names, machine_path, two_disks
from udev_verify import verified

from .test_apply import seekwise

GOLDEN = Path(__file__).parent / "forms"


def wanted_of(stack: Stack) -> dict[str, dict[str, str]]:
    """For every drive another scheduler than the present one, and read-ahead where it acts."""
    wanted: dict[str, dict[str, str]] = {}
    for device in stack.devices.values():
        if device.kind in ("disk", "nvme", "virtio") and not device.below and device.size_bytes:
            others = [name for name in device.schedulers_offered if name != device.scheduler]
            if others:
                wanted.setdefault(device.name, {})["queue/scheduler"] = others[0]
            if device.queue_depth and device.queue_depth > 8:
                wanted.setdefault(device.name, {})["device/queue_depth"] = "8"
        if device.kind in ("md", "lvm", "disk", "nvme") and has_setting(device, "read_ahead_kb"):
            wanted.setdefault(device.name, {})["queue/read_ahead_kb"] = "1024"
    return wanted


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("name", machine_names())
def test_every_form_of_every_machine_is_as_before(name, form):
    stack = read_stack(machine_path(name))
    wanted = wanted_of(stack)
    assert wanted
    check(wanted, stack)
    try:
        file = FORMS[form](wanted, stack)
        text = file.text + "".join(f"# note: {note}\n" for note in file.notes)
    except UsageError as error:
        text = f"# error: {error.message}\n"
    golden = GOLDEN / name / form
    if os.environ.get("SEEKWISE_ACCEPT"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("name", machine_names())
def test_the_udev_rule_of_each_machine_sets_exactly_what_was_asked_on_that_machine(name, tmp_path):
    """Our own evaluation of udev's rules, on the captured machine with the printed file added to it."""
    tree = open_tree(machine_path(name))
    stack = read_stack(tree)
    wanted = wanted_of(stack)
    rules = udev_syntax.lines(FORMS["udev"](wanted, stack).text, "65-seekwise.rules")
    reading = Reading(tree, stack)
    seen: dict[str, dict[str, str]] = {}
    for device in stack.devices.values():
        if device.kind == "partition":
            continue
        (view,) = [each for each in udev_rules._views(reading, device) if each.subsystem == "block"]
        for rule, certain in udev_rules.matching(rules, view):
            assert certain
            for found, attribute, value, sure in udev_rules.assignments(rule, view):
                assert found == device.name and sure
                seen.setdefault(device.name, {})[attribute] = value
    assert seen == {
        name: values for name, values in wanted.items() if not stack.devices[name].details.get("hidden_path")
    }


@pytest.mark.parametrize("name", machine_names())
def test_udevadm_accepts_every_rule(name, tmp_path):
    stack = read_stack(machine_path(name))
    rules = tmp_path / "65-seekwise.rules"
    rules.write_text(FORMS["udev"](wanted_of(stack), stack).text)
    verified(rules)


# Serials are text from a drive: nothing in them may end a string or start a pattern.

RULE = re.compile(
    r'ACTION=="(?:add|change|\|)+", SUBSYSTEM=="block", ENV\{DEVTYPE\}=="disk", [A-Z]+(?:\{[A-Z_]+\})?=="[A-Za-z0-9 #+.:=@_/,?*!-]+"'
    r'(?:, ATTR\{[a-z_/*]+\}="[A-Za-z0-9_ .,:+-]+")+'
)
NASTY = st.text(st.sampled_from(list("ab19 \"\n\r\\$%*?[]|'`;{}éß漢\0\t,=")), min_size=0, max_size=20)


@settings(max_examples=300, deadline=None)
@given(serial=NASTY | st.text(max_size=20), kind=st.sampled_from(["disk", "nvme", "virtio", "mmc"]))
def test_no_serial_reaches_a_rule_unescaped(serial, kind, tmp_path_factory):
    device = BlockDevice("sda", kind, 1 << 30, "8:0", serial=serial, transport="sata")
    stack = Stack({"sda": device}, (), Path("/nonexistent"), kernel="6.1.0")
    text = udev.file({"sda": {"queue/scheduler": "bfq"}}, stack).text
    _, *rules = text.splitlines()
    assert len(rules) == 1 and RULE.fullmatch(rules[0]), text


@settings(max_examples=200, deadline=None)
@given(serial=NASTY.filter(lambda text: any(each.isalnum() and each.isascii() for each in text)))
def test_the_rule_still_matches_the_drive_whose_serial_it_was_made_from(serial):
    recorded = udev.replaced(serial.strip("\0 \t\r\n"), "/ $%?,")
    assert matches(udev.escaped(recorded), recorded)


@settings(max_examples=100, deadline=None)
@given(value=NASTY)
def test_no_value_reaches_a_file_unchecked(value):
    stack = Stack(
        {"sda": BlockDevice("sda", "disk", 1 << 30, "8:0", transport="sata")}, (), Path("/nonexistent"), kernel="6.1"
    )
    for form in ("udev", "sysfs.conf", "tuned", "sysfs", "ansible"):
        try:
            text = FORMS[form]({"sda": {"queue/iosched/x": value}}, stack).text
        except UsageError:
            continue
        assert re.search(r"(?m)(=|\"|'| )" + re.escape(value), text)
        assert not set(value) & set("\"\n\r\\$%*?[]|'`;{}\0")


def test_two_namespaces_of_one_nvme_share_a_serial_and_so_are_matched_otherwise(tmp_path):
    files = two_disks(tmp_path)
    folder = "/sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n2"
    files.add({f"{folder}/dev": "259:5\n", f"{folder}/size": "100000\n", f"{folder}/queue/scheduler": "[none] bfq\n"})
    files.link("/sys/block/nvme0n2", f"..{folder.removeprefix('/sys')}").link(f"{folder}/device", "..")
    files.add({
        "/run/udev/data/b259:5": "E:ID_SERIAL_SHORT=N 1\nE:ID_WWN=nvme.2\n",
        "/run/udev/data/b259:0": "E:ID_SERIAL_SHORT=N 1\nE:ID_WWN=nvme.1\n",
    })  # fmt: skip
    text = FORMS["udev"]({"nvme0n2": {"queue/scheduler": "bfq"}}, files.stack()).text
    assert 'ENV{ID_WWN}=="nvme.2"' in text


@pytest.mark.parametrize(
    ("setting", "shown"), [("wbt_lat_usec", "75000"), ("read_ahead_kb", "256"), ("scheduler", "x [bfq] y")]
)
def test_a_second_run_of_the_playbook_s_script_changes_nothing(tmp_path, setting, shown):
    """The script as the shell runs it, on files in place of sysfs: the first run writes and says so, the second does neither."""
    value = {"wbt_lat_usec": "-1", "read_ahead_kb": "256", "scheduler": "bfq"}[setting]
    text = FORMS["ansible"]({"sda": {f"queue/{setting}": value}}, two_disks(tmp_path / "m").stack()).text
    script = textwrap.dedent(text.partition("        cmd: |\n")[2].partition("      register:")[0])
    file = tmp_path / setting
    file.write_text("5\n")
    script = script.replace(f"/sys/block/sda/queue/{setting}", str(file))
    assert str(file) in script
    first = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert (first.stdout, file.read_text()) == ("changed\n", f"{value}\n")
    file.write_text(f"{shown}\n")  # as the kernel shows it from now on
    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout == ""


# TuneD


def applied_by_tuned(files, wanted) -> dict[tuple[str, str], str]:
    """What TuneD sets once our profile is active, by our reading of it."""
    text = FORMS["tuned"](wanted, files.stack()).text
    files.add({"/etc/tuned/seekwise/tuned.conf": text, "/etc/tuned/active_profile": "seekwise\n"})
    setters = find_setters(files.tree(), files.stack())
    return {(each.device, each.attribute): each.value for each in setters if each.kind == "tuned"}


def test_the_profile_wins_over_a_disk_section_of_the_profile_that_it_includes(tmp_path):
    files = two_disks(tmp_path).add({
        "/etc/tuned/active_profile": "throughput-performance\n",
        "/usr/lib/tuned/throughput-performance/tuned.conf": "[disk]\nreadahead=>4096\n\n[sysfs]\n/sys/block/sd*/queue/nomerges=1\n",
    })  # fmt: skip
    wanted = {"sda": {"queue/scheduler": "bfq", "queue/nr_requests": "32"}}
    assert applied_by_tuned(files, wanted) == {
        ("sda", "queue/scheduler"): "bfq",
        ("sda", "queue/read_ahead_kb"): "4096",
        ("nvme0n1", "queue/read_ahead_kb"): "4096",
        ("sda", "queue/nomerges"): "1",
        ("sda", "queue/nr_requests"): "32",
    }


def test_read_ahead_is_written_in_kib(tmp_path):
    files = two_disks(tmp_path)
    text = FORMS["tuned"]({"sda": {"queue/read_ahead_kb": "4096"}}, files.stack()).text
    assert "readahead=4096\n" in text


def test_the_boot_line_of_an_old_kernel_is_a_file_beside_the_boot_loaders_own(tmp_path):
    """As grub-mkconfig reads it: the words of /etc/default/grub, then ours; `status` names our file as who sets it."""
    files = two_disks(tmp_path, kernel="4.15.0-20-generic").add({
        "/sys/block/sda/queue/scheduler": "noop [deadline] cfq\n",
        "/etc/default/grub": 'GRUB_CMDLINE_LINUX="quiet elevator=noop"\n',
        "/etc/default/grub.d/other.cfg": "",
    })  # fmt: skip
    made = persist.file_for("boot", {"sda": {"scheduler": "deadline"}}, files.stack())
    assert made.path == Path("/etc/default/grub.d/seekwise.cfg")
    files.add({str(made.path): made.text, "/proc/cmdline": "quiet elevator=noop elevator=deadline\n"})
    read = ". ./etc/default/grub; . ./etc/default/grub.d/seekwise.cfg; echo $GRUB_CMDLINE_LINUX"
    line = subprocess.run(["sh", "-c", read], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert line == "quiet elevator=noop elevator=deadline\n"
    (setter, *_) = [each for each in find_setters(files.tree(), files.stack()) if each.device == "sda"]
    assert (setter.value, setter.place, setter.is_ours) == ("deadline", "/etc/default/grub.d/seekwise.cfg:2", True)
    again = persist.file_for("boot", {"sda": {"scheduler": "cfq"}}, files.stack())
    assert again.text.count("elevator=") == 1 and "elevator=cfq" in again.text


def test_the_profile_is_the_same_when_it_is_written_over_itself(tmp_path):
    files = two_disks(tmp_path).add({
        "/etc/tuned/active_profile": "base\n",
        "/etc/tuned/base/tuned.conf": "[disk]\nelevator=none\n",
    })  # fmt: skip
    wanted = {"sda": {"queue/scheduler": "bfq"}}
    first = FORMS["tuned"](wanted, files.stack()).text
    files.add({"/etc/tuned/seekwise/tuned.conf": first, "/etc/tuned/active_profile": "seekwise\n"})
    assert FORMS["tuned"](wanted, files.stack()).text == first


def test_a_disk_that_tuned_s_plugin_does_not_take_is_set_through_sysfs(tmp_path):
    files = two_disks(tmp_path)
    files.add({"/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda/removable": "1\n"})
    text = FORMS["tuned"]({"sda": {"queue/scheduler": "bfq"}}, files.stack()).text
    assert "[disk_sda]" not in text and "/sys/block/sda/queue/scheduler=bfq" in text


# Asking


def test_ncq_off_is_depth_one_and_on_is_what_the_drive_and_the_kernel_have(tmp_path):
    files = two_disks(tmp_path)
    assert by_hand(("sda",), ("ncq=off",), files.stack()).wanted == {"sda": {"device/queue_depth": "1"}}
    assert by_hand(("sda",), ("ncq=on",), files.stack()).wanted == {"sda": {"device/queue_depth": "32"}}
    old = two_disks(tmp_path / "old", kernel="4.9.0")
    assert by_hand(("sda",), ("ncq=on",), old.stack()).wanted == {"sda": {"device/queue_depth": "31"}}
    with pytest.raises(SeekwiseError, match="neither on nor off"):
        by_hand(("sda",), ("ncq=7",), files.stack())


def test_a_scheduler_that_the_other_machine_does_not_offer_is_refused():
    stack = read_stack(machine_path("3ware-9650se"))
    with pytest.raises(UsageError, match="offered: noop, anticipatory, deadline, cfq"):
        check({"sdb": {"queue/scheduler": "bfq"}}, stack)


@pytest.mark.parametrize(
    ("setting", "takes"),
    [
        ("nr_requests=abc", "4 or more"),
        ("nr_requests=-5", "4 or more"),
        ("read_ahead_kb=1e3", "0 or more"),
        ("read_ahead_kb=130", "a multiple of 4"),
        ("read_ahead_kb=99999999999999999996", "at most 4294967295"),
        ("nr_requests=4294967296", "at most 4294967295"),
        ("queue_depth=33", "1 to 32"),
        ("queue_depth=0", "1 to 32"),
        ("nomerges=7", "0 to 2"),
        ("write_cache=on", "'write back' or 'write through'"),
        ("wbt_lat_usec=-2", "-1 or more"),
        ("iosched/fifo_batch=many", "a whole number"),
        ("max_sectors_kb=99999999", "4 to"),
    ],
)
def test_a_value_that_the_other_machine_s_kernel_would_refuse_is_refused(tmp_path, setting, takes):
    words = ("--for-capture", str(machine_path("sata-ncq")), "--device", "sda", "--set", setting)
    done = seekwise("apply", "--print", "udev", *words, state=tmp_path)
    assert done.returncode == 2 and f" takes {takes}" in done.stderr, done.stderr
    assert done.stdout == ""


def test_a_setting_that_is_named_twice_with_two_values_is_refused(tmp_path):
    files = two_disks(tmp_path)
    with pytest.raises(UsageError, match="asked to be bfq and none"):
        by_hand(("sda",), ("scheduler=bfq", "queue/scheduler=none"), files.stack())
    with pytest.raises(UsageError, match="asked to be 1 and 32"):
        by_hand(("sda",), ("ncq=off", "queue_depth=32"), files.stack())
    assert by_hand(("sda", "sda"), ("scheduler=bfq",), files.stack()).wanted == {"sda": {"queue/scheduler": "bfq"}}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--for-capture", str(machine_path("nvme")), "--device", "/", "--set", "scheduler=none"), 2),
        (("--print", "udev", "--persist", "udev", "--device", "/", "--set", "scheduler=none"), 2),
        (("--print", "udev", "--for-capture", "/etc/hostname", "--device", "/", "--set", "scheduler=none"), 2),
        (
            (
                "--print",
                "tw_cli",
                "--for-capture",
                str(machine_path("nvme")),
                "--device",
                "/",
                "--set",
                "queue_depth=1",
            ),
            2,
        ),
        (("--print", "yaml", "--device", "/", "--set", "scheduler=none"), 2),
    ],
)
def test_wrong_words_for_print_end_with_one_error(tmp_path, words, status):
    done = seekwise("apply", *words, state=tmp_path)
    assert done.returncode == status and done.stderr.count("error: ") == 1


def test_an_archive_whose_kernel_cannot_be_asked_is_said(tmp_path):
    archive, folder = machine_path("sata-ncq"), tmp_path / "machine"
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="fully_trusted")
    words = ("apply", "--print", "udev", "--device", "sda", "--set", "scheduler=none", "--for-capture")
    for capture, is_said in ((archive, True), (folder, False)):
        done = seekwise(*words, str(capture), state=tmp_path)
        assert done.returncode == 0 and ("unpack it" in done.stderr) == is_said


def test_a_printed_file_needs_no_root_and_changes_nothing(tmp_path):
    done = seekwise(
        "apply", "--print", "udev", "--for-capture", str(machine_path("sata-ncq")), "--device", "/", "--set", "scheduler=none",
        state=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0
    assert 'ENV{ID_SERIAL_SHORT}=="Z1X0QEM0", ATTR{queue/scheduler}="none"' in done.stdout
    # Nothing was written, so nothing can be taken back; and the rules act on `add`, as the trigger has to.
    assert done.stdout.splitlines()[0].endswith("save it as /etc/udev/rules.d/65-seekwise.rules.")
    assert "revert" not in done.stdout
    assert 'ACTION=="add", ' in done.stdout
    assert re.search(r"udevadm control --reload && udevadm trigger --action=add .*--sysname-match=sd[a-z]", done.stderr)
    assert not (tmp_path / "history.jsonl").exists()
