"""These tests will apply settings that stay after the process has ended, and take them back."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests import preloaded

from control.conftest import needs_root, tree
from control.test_recovery import rewrite
from seekwise.control import exact, persisted, recovery
from seekwise.control.journal import SUFFIX, _line
from seekwise.control.settings import changed, read_settings
from seekwise.errors import SeekwiseError, UsageError
from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.settings import merge, persist
from seekwise.settings.apply import apply, preview
from seekwise.settings.persist import File


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


def test_what_moved_without_being_asked_for_is_told_and_comes_back(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline", **{"queue/of_next_year": "7"})
    before = tree(folder)

    def follow(name, value):
        if name == "queue/nr_requests":
            kernel.real_write(folder / "queue/of_next_year", "3")

    kernel.before_write = follow
    done = apply({"sda": {"nr_requests": 64}}, kernel.root, journal)
    assert "queue/of_next_year" in done.moved("sda")
    assert (done.before["sda"]["queue/of_next_year"], done.seen["sda"]["queue/of_next_year"]) == ("7", "3")
    kernel.before_write = None
    recovery.revert_all(journal)
    assert tree(folder) == before


def test_after_a_reboot_an_applied_entry_is_closed_without_writing(kernel, journal):
    folder = kernel.add_disk("sda", **{"device/serial": "S1"})
    apply({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    rewrite(journal, boot_id="another")
    now = tree(folder)
    recovery.restore_left_behind(journal)
    assert tree(folder) == now
    assert journal.is_empty()


def _restarted(journal) -> None:
    """As if the machine had been restarted: every entry is of another boot."""
    for path in journal.folder.glob(f"*{SUFFIX}"):
        first, *rest = path.read_text().splitlines(keepends=True)
        document = json.loads(first.partition(" ")[2]) | {"boot_id": "another", "start_ticks": 1}
        path.write_text("".join([_line(document), *rest]))


@pytest.mark.parametrize("named", [{"device/serial": "S1"}, {"dm/uuid": "LVM-x"}, {}, {"loop/backing_file": "/srv/a"}])
def test_after_a_restart_revert_restores_what_a_file_has_set_again(kernel, journal, named):
    """The udev rule sets bfq at each start: taking back the rule alone would leave bfq until the next one."""
    folder = kernel.add_disk("sda", "mq-deadline", **named)
    before = tree(folder)
    rule = File(Path("/etc/udev/rules.d/65-seekwise.rules"), "# rule\n")
    apply({"sda": {"scheduler": "bfq"}}, kernel.root, journal, [rule])
    _restarted(journal)
    assert recovery.restore_left_behind(journal) == [] and "[bfq]" in (folder / "queue/scheduler").read_text()
    said = [sentence for outcome in recovery.revert_all(journal) for sentence in outcome.sentences]
    assert tree(folder) == before and not (kernel.root / "etc/udev").exists(), said
    assert journal.is_empty()


def test_after_a_restart_revert_leaves_what_the_file_has_not_set(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline", **{"device/serial": "S1"})
    rule = File(Path("/etc/udev/rules.d/65-seekwise.rules"), "# rule\n")
    apply({"sda": {"scheduler": "bfq", "nomerges": 2}}, kernel.root, journal, [rule])
    _restarted(journal)
    (folder / "queue/nomerges").write_text("1\n")
    (settings, _) = recovery.revert_all(journal)
    assert "queue/nomerges has been set to 1 since: it stays" in settings.sentences[-1]
    assert "[mq-deadline]" in (folder / "queue/scheduler").read_text() and journal.is_empty()


@pytest.mark.parametrize("name", ["device/serial", "dm/uuid", "loop/backing_file"])
def test_after_a_restart_another_drive_of_that_name_is_left_alone(kernel, journal, name):
    folder = kernel.add_disk("sda", "mq-deadline", **{name: "S1"})
    rule = File(Path("/etc/udev/rules.d/65-seekwise.rules"), "# rule\n")
    apply({"sda": {"scheduler": "bfq"}}, kernel.root, journal, [rule])
    _restarted(journal)
    (folder / name).write_text("S2\n")
    now = tree(folder)
    recovery.revert_all(journal)
    assert tree(folder) == now and journal.is_empty()


def test_what_somebody_else_sets_after_apply_is_not_touched_by_revert(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    apply({"sda": {"nomerges": 2}}, kernel.root, journal)
    (folder / "queue/read_ahead_kb").write_text("4096\n")
    (outcome,) = recovery.revert_all(journal)
    assert outcome.state == "restored"
    assert (folder / "queue/nomerges").read_text() == "0\n"
    assert (folder / "queue/read_ahead_kb").read_text() == "4096\n"


def test_what_was_applied_and_then_set_by_somebody_else_stays_and_is_said(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    apply({"sda": {"nomerges": 2, "scheduler": "bfq"}}, kernel.root, journal)
    (folder / "queue/nomerges").write_text("1\n")
    (outcome,) = recovery.revert_all(journal)
    assert "queue/nomerges has been set to 1 since: it stays" in outcome.sentences[-1]
    assert (folder / "queue/nomerges").read_text() == "1\n"
    assert "[mq-deadline]" in (folder / "queue/scheduler").read_text()


def test_a_scheduler_that_somebody_else_chose_stays_with_its_tunables(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    apply({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    kernel.write(folder / "queue/scheduler", "kyber")
    now = tree(folder)
    (outcome,) = recovery.revert_all(journal)
    assert "queue/scheduler has been set to kyber since: it stays" in outcome.sentences[-1]
    assert {**now, "queue/wbt_lat_usec": tree(folder)["queue/wbt_lat_usec"]} == tree(folder)


@pytest.mark.parametrize("name", ["max_sectors_kb", "write_cache", "add_random"])
def test_read_ahead_stays_where_the_kernel_would_move_it(kernel, journal, name):
    files = {"queue/max_sectors_kb": "1280", "queue/add_random": "0", "queue/read_ahead_kb": "512"}
    folder = kernel.add_disk("sda", **files)
    before = tree(folder)
    value = {"max_sectors_kb": "64", "write_cache": "write through", "add_random": "1"}[name]
    with changed({"sda": {name: value}}, root=kernel.root, journal=journal) as seen:
        assert seen["sda"]["queue/read_ahead_kb"] == "512"
    assert tree(folder) == before
    done = apply({"sda": {name: value}}, kernel.root, journal)
    assert done.seen["sda"]["queue/read_ahead_kb"] == "512"
    assert any("512" in line and "read_ahead_kb" in line for line in done.lines.undo)
    assert any("512" in line and "read_ahead_kb" in line for line in done.lines.set)
    recovery.revert_all(journal)
    assert tree(folder) == before


def test_both_at_once_have_the_values_that_were_asked_for(kernel, journal):
    folder = kernel.add_disk("sda", **{"queue/max_sectors_kb": "1280"})
    apply({"sda": {"read_ahead_kb": "64", "max_sectors_kb": "256"}}, kernel.root, journal)
    assert (folder / "queue/read_ahead_kb").read_text() == "64\n"


def test_every_value_that_the_kernel_moved_is_told(kernel, journal):
    kernel.add_disk("sda", "mq-deadline")
    done = apply({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    assert done.moved("sda") == ("queue/wbt_lat_usec",)


def test_minus_one_asks_for_the_default_of_write_back_throttling_and_is_written(kernel, journal):
    folder = kernel.add_disk("sda")
    done = apply({"sda": {"wbt_lat_usec": "-1"}}, kernel.root, journal)
    assert done.entry is not None and (folder / "queue/wbt_lat_usec").read_text() == "75000\n"
    recovery.revert_all(journal)
    assert (folder / "queue/wbt_lat_usec").read_text() == "2000\n"


def test_a_value_that_cannot_be_read_is_an_error_and_not_forgotten(kernel, journal, monkeypatch):
    kernel.add_disk("sda")
    real = Path.read_text

    def failing(self, *words, **named):
        if self.name == "nomerges":
            raise OSError(errno.EIO, "Input/output error")
        return real(self, *words, **named)

    monkeypatch.setattr(Path, "read_text", failing)
    with pytest.raises(SeekwiseError, match="could not be restored"):
        apply({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
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


def written(files, journal, root):
    entry = persist.open_entry(files, journal, root)
    persisted.write_items(entry)
    return journal.update(entry, pending=None)


def test_written_files_are_journalled_and_taken_back(stack, journal, tmp_path):
    root = tmp_path / "machine"
    other = root / "etc/sysfs.d/seekwise.conf"
    other.parent.mkdir(parents=True)
    other.write_text("block/sda/queue/scheduler = kyber\n")
    files = [persist.file_for(way, WANTED, stack) for way in ("udev", "sysfs.conf")]
    written(files, journal, root)
    assert (root / "etc/udev/rules.d/65-seekwise.rules").read_text() == files[0].text
    assert other.read_text() == files[1].text
    assert recovery.restore_left_behind(journal) == []
    recovery.revert_all(journal)
    assert not (root / "etc/udev/rules.d/65-seekwise.rules").exists()
    assert other.read_text() == "block/sda/queue/scheduler = kyber\n"


def test_a_file_that_somebody_edited_stays(stack, journal, tmp_path):
    written([persist.file_for("udev", WANTED, stack)], journal, tmp_path)
    rules = tmp_path / "etc/udev/rules.d/65-seekwise.rules"
    rules.write_text("# mine now\n")
    (outcome,) = recovery.revert_all(journal)
    assert "edited since" in outcome.sentences[0]
    assert rules.read_text() == "# mine now\n"


@pytest.mark.parametrize("way", ["udev", "sysfs.conf", "tuned"])
def test_a_later_device_does_not_drop_the_values_of_an_earlier_one(stack, journal, way):
    first = written([persist.file_for(way, {"sda": {"scheduler": "bfq"}}, stack)], journal, stack.root)
    path = Path(first.items[0]["file"])
    alone = path.read_bytes()
    written([persist.file_for(way, {"loop0": {"scheduler": "kyber"}}, stack)], journal, stack.root)
    text = path.read_text()
    assert "bfq" in text and "kyber" in text
    written([persist.file_for(way, {"sda": {"nr_requests": "64"}}, stack)], journal, stack.root)
    assert all(word in path.read_text() for word in ("bfq", "kyber", "64"))
    written([persist.file_for(way, {"sda": {"scheduler": "none"}}, stack)], journal, stack.root)
    assert "bfq" not in path.read_text() and "kyber" in path.read_text()
    assert len(recovery.revert_all(journal)) == 4
    assert not path.exists() and alone


def test_a_rule_that_acts_at_another_time_takes_the_place_of_the_earlier_one():
    device = 'SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL_SHORT}=="A,B"'
    first = f'# head\nACTION=="add|change", {device}, ATTR{{queue/scheduler}}="bfq", ATTR{{queue/nr_requests}}="64"\n'
    second = f'# head\nACTION=="add", {device}, ATTR{{queue/scheduler}}="none"\n'
    assert merge.udev(first, second) == (
        f'# head\nACTION=="add", {device}, ATTR{{queue/scheduler}}="none", ATTR{{queue/nr_requests}}="64"\n'
    )


def test_a_rule_keeps_lines_that_are_not_ours(stack, journal):
    path = stack.root / "etc/udev/rules.d/65-seekwise.rules"
    path.parent.mkdir(parents=True)
    path.write_text('# mine\nACTION=="add", KERNEL=="sr0", SYMLINK+="cd"\n')
    written([persist.file_for("udev", WANTED, stack)], journal, stack.root)
    assert 'KERNEL=="sr0", SYMLINK+="cd"' in path.read_text()
    recovery.revert_all(journal)
    assert path.read_text() == '# mine\nACTION=="add", KERNEL=="sr0", SYMLINK+="cd"\n'


def test_the_tunables_of_an_earlier_scheduler_go_with_it(stack, journal):
    earlier = {"sda": {"scheduler": "mq-deadline", "iosched/fifo_batch": "8"}}
    for way in ("udev", "sysfs.conf", "tuned"):
        written([persist.file_for(way, earlier, stack)], journal, stack.root)
        written([persist.file_for(way, {"sda": {"scheduler": "bfq"}}, stack)], journal, stack.root)
    for file in (stack.root / "etc").rglob("*"):
        assert not file.is_file() or "fifo_batch" not in file.read_text()


@pytest.mark.parametrize(
    "serial", ['W"D, RUN+="/bin/sh', "W\nD", "W*", "$env{X}", "%k", "W\\", "W{a}", "é", "W\x1b[2J"]
)
def test_a_serial_that_a_rule_would_misread_is_not_written_to_it(stack, serial):
    hostile = Stack({"sda": replace(stack.devices["sda"], serial=serial)}, (), stack.root, kernel="6.1.0")
    text = persist.file_for("udev", {"sda": {"scheduler": "bfq"}}, hostile).text
    # Either the kernel name, or the property as udev writes it, with what it does not take replaced.
    assert re.fullmatch(r'[^"]*(?:"[A-Za-z0-9_|,. ?+:=/#@-]*"[^"]*)*', text.splitlines()[1])
    assert ' RUN+="' not in text and len(text.splitlines()) == 2
    volume = replace(stack.devices["sda"], name="dm-0", kind="lvm", details={"dm_uuid": serial})
    text = persist.file_for("udev", {"dm-0": {"read_ahead_kb": "4"}}, Stack({"dm-0": volume}, (), stack.root)).text
    assert re.fullmatch(r'[^"]*(?:"[A-Za-z0-9_|,. ?+:=/#@-]*"[^"]*)*', text.splitlines()[1])
    assert ' RUN+="' not in text and len(text.splitlines()) == 2


@pytest.mark.parametrize("value", ['bfq", RUN+="/bin/sh', "$env{X}", "a\nb", "%k"])
def test_a_value_that_a_rule_would_misread_is_refused(stack, value):
    for way in ("udev", "sysfs.conf", "tuned"):
        with pytest.raises(UsageError):
            persist.file_for(way, {"sda": {"nomerges": value}}, stack)


@needs_root
@pytest.mark.parametrize("kind", ["plain", "link", "crlf", "not text", "dangling"])
def test_a_file_is_as_it_was_to_the_byte_mode_owner_and_attributes(stack, journal, kind):
    path = stack.root / "etc/sysfs.d/seekwise.conf"
    path.parent.mkdir(parents=True)
    if kind == "link":
        (path.parent / "real").write_text("block/sdz/queue/nomerges = 1\n")
        path.symlink_to("real")
    elif kind == "dangling":
        path.symlink_to("nowhere")
    else:
        path.write_bytes({"plain": b"# x", "crlf": b"# one\r\n# two\r\n\r\n", "not text": b"\xff\xfe\r"}[kind])
        path.chmod(0o600)
        os.chown(path, 4242, 4243)
        os.setxattr(path, "user.seekwise", b"\x00x")
    before, there = exact.state(path), sorted(os.listdir(path.parent))
    made = File(Path("/etc/sysfs.d/seekwise.conf"), "block/sda/queue/scheduler = bfq\n")
    written([made], journal, stack.root)
    assert path.read_text() == made.text and not path.is_symlink()
    assert exact.state(path).get("mode") == before.get("mode", 0o644)
    recovery.revert_all(journal)
    assert exact.state(path) == before
    assert sorted(os.listdir(path.parent)) == there


def test_folders_that_were_made_go_unless_somebody_uses_them(stack, journal):
    (stack.root / "etc").mkdir()
    made = [persist.file_for(way, WANTED, stack) for way in ("udev", "tuned")]
    written(made, journal, stack.root)
    (stack.root / "etc/udev/rules.d/other.rules").write_text("x")
    recovery.revert_all(journal)
    left = sorted(str(each.relative_to(stack.root)) for each in stack.root.rglob("*") if "state" not in str(each))
    assert left == ["etc", "etc/udev", "etc/udev/rules.d", "etc/udev/rules.d/other.rules"]


def test_a_file_that_is_no_text_is_refused_before_anything_is_changed(stack):
    path = stack.root / "etc/udev/rules.d/65-seekwise.rules"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SeekwiseError, match="not UTF-8"):
        persist.file_for("udev", WANTED, stack)


@pytest.mark.parametrize("fault", ["write", "second file", "settings"])
def test_settings_and_files_are_applied_as_one_or_not_at_all(kernel, journal, stack, monkeypatch, fault):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    root = kernel.root
    (root / "etc/udev/rules.d").mkdir(parents=True)
    made = [
        persist.file_for(way, {"sda": {"scheduler": "bfq", "nomerges": "2"}}, stack) for way in ("udev", "sysfs.conf")
    ]
    if fault == "settings":
        kernel.refuse["queue/nomerges"] = errno.EIO
    else:
        real, calls = persisted.files.write_whole, []

        def failing(path, *words, **named):
            if path.suffix in (".rules", ".conf"):
                calls.append(path)
                if len(calls) == (1 if fault == "write" else 2):
                    raise OSError(errno.ENOSPC, "No space left on device")
            return real(path, *words, **named)

        monkeypatch.setattr(persisted.files, "write_whole", failing)
    with pytest.raises(SeekwiseError):
        apply({"sda": {"scheduler": "bfq", "nomerges": 2}}, root, journal, made)
    assert tree(folder) == before
    assert not list((root / "etc").rglob("*seekwise*"))
    assert journal.is_empty()


# The commands


def seekwise(*words: str, state) -> subprocess.CompletedProcess:
    return preloaded.run(words, {**os.environ, "SEEKWISE_STATE": str(state)})


@needs_root
@pytest.mark.root
def test_apply_and_revert_as_commands_on_a_real_device(loop, tmp_path):
    before = read_settings(loop)
    wanted = ("--device", f"/dev/{loop}", "--set", "scheduler=kyber", "--set", "read_ahead_kb=64")
    shown = seekwise("apply", *wanted, "--dry-run", state=tmp_path)
    assert shown.returncode == 0 and f"echo kyber > /sys/block/{loop}/queue/scheduler" in shown.stdout
    assert read_settings(loop) == before
    kept = seekwise(
        "apply", *wanted[:2], "--set", f"read_ahead_kb={before['queue/read_ahead_kb']}", "--dry-run", state=tmp_path
    )
    assert "is set already" in kept.stdout and "would be set" not in kept.stdout
    done = seekwise("apply", *wanted, "--json", state=tmp_path)
    assert json.loads(done.stdout)["seen"][loop]["queue/scheduler"] == "kyber"
    assert read_settings(loop)["queue/read_ahead_kb"] == "64"
    listed = json.loads(seekwise("revert", "--dry-run", "--json", state=tmp_path).stdout)
    assert listed["entries"][0]["items"][0]["old"]["queue/scheduler"] == before["queue/scheduler"]
    back = seekwise("revert", state=tmp_path)
    assert f"{loop} restored" in back.stdout
    # A scheduler brings its tunables along: they are no change of their own.
    assert "iosched" not in back.stdout and "None" not in back.stdout
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
