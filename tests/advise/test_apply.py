"""These tests will apply settings that stay after the process has ended, and take them back."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import pytest

from control.conftest import needs_root, tree
from control.test_recovery import rewrite
from seekwise.advise import persist
from seekwise.advise.apply import apply, preview
from seekwise.control import recovery
from seekwise.control.settings import changed, read_settings
from seekwise.errors import SeekwiseError, UsageError
from seekwise.linux.model import BlockDevice, Stack


def test_applied_values_stay_until_reverted(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    (folder / "queue/iosched/fifo_batch").write_text("3\n")
    before = tree(folder)
    done = apply({"sda": {"scheduler": "bfq"}}, kernel.root, journal, reason="test")
    assert done.seen["sda"]["queue/scheduler"] == "bfq"
    rewrite(journal, start_ticks=1)  # as if the process had ended
    recovery.restore_left_behind(journal)
    assert "[bfq]" in (folder / "queue/scheduler").read_text()
    (outcome,) = recovery.revert_all(journal)
    assert outcome.state == "restored"
    assert tree(folder) == before
    assert journal.is_empty()


def test_a_run_on_top_of_applied_values_brings_the_applied_ones_back(kernel, journal):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    apply({"sda": {"scheduler": "bfq", "nr_requests": 9}}, kernel.root, journal)
    applied = tree(folder)
    with changed({"sda": {"scheduler": "kyber"}}, root=kernel.root, journal=journal):
        pass
    assert tree(folder) == applied
    apply({"sda": {"scheduler": "mq-deadline"}}, kernel.root, journal)
    recovery.revert_all(journal)
    assert tree(folder) == before


def test_one_refusal_puts_everything_of_the_call_back(kernel, journal):
    first, second = kernel.add_disk("sda"), kernel.add_disk("sdb")
    before = tree(first), tree(second)
    kernel.refuse["queue/read_ahead_kb"] = errno.EINVAL
    with pytest.raises(SeekwiseError, match="refused queue/read_ahead_kb"):
        apply({"sda": {"scheduler": "bfq"}, "sdb": {"read_ahead_kb": 4}}, kernel.root, journal)
    assert (tree(first), tree(second)) == before
    assert journal.is_empty()


def test_what_is_set_already_needs_no_entry(kernel, journal):
    kernel.add_disk("sda", "bfq")
    assert apply({"sda": {"scheduler": "bfq"}}, kernel.root, journal).entry is None
    assert journal.is_empty()


def test_a_preview_writes_nothing_but_refuses_what_is_not_there(kernel, journal):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    assert preview({"sda": {"scheduler": "bfq"}}, kernel.root).lines.set[0].startswith("echo bfq")
    with pytest.raises(UsageError):
        preview({"sda": {"scheduler": "zippy"}}, kernel.root)
    assert tree(folder) == before


def test_after_a_reboot_an_applied_entry_is_closed_without_writing(kernel, journal):
    folder = kernel.add_disk("sda", **{"device/serial": "S1"})
    apply({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    rewrite(journal, boot_id="another")
    now = tree(folder)
    recovery.restore_left_behind(journal)
    assert tree(folder) == now
    assert journal.is_empty()


# Over a reboot


@pytest.fixture
def stack(tmp_path) -> Stack:
    disk = BlockDevice("sda", "disk", 1 << 30, "8:0", serial="WD-1", transport="sata")
    nvme = BlockDevice("nvme0n1", "nvme", 1 << 30, "259:0", serial="N 1", transport="nvme")
    loop0 = BlockDevice("loop0", "loop", 1 << 30, "7:0")
    return Stack({device.name: device for device in (disk, nvme, loop0)}, (), tmp_path, kernel="6.1.0")


WANTED = {"sda": {"nr_requests": "64", "scheduler": "bfq"}, "nvme0n1": {"scheduler": "none"}}


def test_the_udev_rule_finds_the_drive_by_serial_and_sets_in_order(stack):
    text = persist.file_for("udev", WANTED, stack).text
    assert 'ENV{ID_SERIAL_SHORT}=="WD-1", ATTR{queue/scheduler}="bfq", ATTR{queue/nr_requests}="64"\n' in text
    assert 'ENV{ID_SERIAL_SHORT}=="N 1", ATTR{queue/scheduler}="none"' in text


def test_a_device_without_serial_is_matched_by_name_and_that_is_said(stack):
    found = persist.file_for("udev", {"loop0": {"scheduler": "bfq"}}, stack)
    assert 'KERNEL=="loop0"' in found.text
    assert "kernel name" in found.notes[0]


def test_sysfs_conf_has_a_line_per_value(stack):
    text = persist.file_for("sysfs.conf", WANTED, stack).text
    assert "block/sda/queue/scheduler = bfq\nblock/sda/queue/nr_requests = 64\n" in text


def test_the_module_of_the_scheduler_is_loaded_at_boot(stack):
    assert persist.file_for("boot", WANTED, stack).text.splitlines()[1:] == ["bfq"]
    assert persist.file_for("boot", {"sda": {"scheduler": "kyber"}}, stack).text.splitlines()[1:] == ["kyber-iosched"]
    with pytest.raises(UsageError, match="no module is needed"):
        persist.file_for("boot", {"sda": {"scheduler": "none"}}, stack)


def test_written_files_are_journalled_and_taken_back(stack, journal, tmp_path):
    root = tmp_path / "machine"
    other = root / "etc/sysfs.d/seekwise.conf"
    other.parent.mkdir(parents=True)
    other.write_text("block/sda/queue/scheduler = kyber\n")
    files = [persist.file_for(way, WANTED, stack) for way in ("udev", "sysfs.conf")]
    persist.write(files, journal, root)
    assert (root / "etc/udev/rules.d/65-seekwise.rules").read_text() == files[0].text
    assert other.read_text() == files[1].text
    assert recovery.restore_left_behind(journal) == []
    recovery.revert_all(journal)
    assert not (root / "etc/udev/rules.d/65-seekwise.rules").exists()
    assert other.read_text() == "block/sda/queue/scheduler = kyber\n"


def test_a_file_that_somebody_edited_stays(stack, journal, tmp_path):
    persist.write([persist.file_for("udev", WANTED, stack)], journal, tmp_path)
    rules = tmp_path / "etc/udev/rules.d/65-seekwise.rules"
    rules.write_text("# mine now\n")
    (outcome,) = recovery.revert_all(journal)
    assert "edited since" in outcome.sentences[0]
    assert rules.read_text() == "# mine now\n"


# The commands


def seekwise(*words: str, state) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "seekwise.cli.main", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "SEEKWISE_STATE": str(state)},
        check=False,
    )


@needs_root
@pytest.mark.root
def test_apply_and_revert_as_commands_on_a_real_device(loop, tmp_path):
    before = read_settings(loop)
    wanted = ("--device", f"/dev/{loop}", "--set", "scheduler=kyber", "--set", "read_ahead_kb=64")
    shown = seekwise("apply", *wanted, "--dry-run", state=tmp_path)
    assert shown.returncode == 0 and f"echo kyber > /sys/block/{loop}/queue/scheduler" in shown.stdout
    assert read_settings(loop) == before
    done = seekwise("apply", *wanted, "--json", state=tmp_path)
    assert json.loads(done.stdout)["seen"][loop]["queue/scheduler"] == "kyber"
    assert read_settings(loop)["queue/read_ahead_kb"] == "64"
    listed = json.loads(seekwise("revert", "--dry-run", "--json", state=tmp_path).stdout)
    assert listed["entries"][0]["items"][0]["old"]["queue/scheduler"] == before["queue/scheduler"]
    back = seekwise("revert", state=tmp_path)
    assert f"{loop} is as before" in back.stdout
    assert read_settings(loop) == before


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 2),
        (("--device", "/"), 2),
        (("--set", "scheduler=bfq"), 2),
        (("--device", "no-such-disk", "--set", "scheduler=bfq"), 2),
        (("--device", "/proc", "--set", "scheduler=bfq"), 3),
    ],
)
def test_wrong_words_end_with_one_error_and_the_right_status(tmp_path, words, status):
    done = seekwise("apply", *words, state=tmp_path)
    assert done.returncode == status
    assert done.stderr.startswith("error: ") and done.stderr.count("error: ") == 1
