"""These tests will kill runs, damage their journal, and expect `seekwise revert` to put back whatever can be put back."""

from __future__ import annotations

import json
import os
import signal

import pytest

from seekwise.control import recovery
from seekwise.control.journal import SUFFIX, Journal, _line
from seekwise.control.settings import changed, has_another_file
from seekwise.control.switching import switching
from seekwise.errors import RefusedError, SeekwiseError

from .conftest import needs_root, tree


def killed_inside(wanted: dict, root, journal: Journal) -> int:
    """Changes settings in a child process and kills it there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with changed(wanted, root=root, journal=journal):
            os.write(writer, b"x")
            signal.pause()
        os._exit(1)
    os.read(reader, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    return child


def rewrite(journal: Journal, **header: object) -> None:
    """Changes fields of the only entry's header, checksum included."""
    (path,) = journal.folder.glob(f"*{SUFFIX}")
    first, *rest = path.read_text().splitlines(keepends=True)
    document = json.loads(first.partition(" ")[2]) | header
    path.write_text("".join([_line(document), *rest]))


def test_after_sigkill_the_old_values_are_put_back(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    (folder / "queue/iosched/fifo_batch").write_text("3\n")
    before = tree(folder)
    killed_inside({"sda": {"scheduler": "bfq", "nr_requests": 9}}, kernel.root, journal)
    assert tree(folder) != before
    (outcome,) = recovery.restore_left_behind(journal)
    assert outcome.state == "restored"
    assert "queue/scheduler bfq → mq-deadline" in outcome.sentences[0]
    assert tree(folder) == before
    assert journal.is_empty()


def test_a_living_run_is_not_disturbed(kernel, journal):
    folder = kernel.add_disk("sda")
    with changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal):
        inside = tree(folder)
        assert recovery.restore_left_behind(journal) == []
        (outcome,) = recovery.revert_all(journal)
        assert outcome.state == "busy"
        assert tree(folder) == inside


def test_a_reused_pid_is_not_taken_for_the_run(kernel, journal):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    rewrite(journal, pid=os.getpid())
    recovery.restore_left_behind(journal)
    assert tree(folder) == before


def test_after_a_reboot_the_kernel_s_view_follows_the_write_cache_that_is_restored(kernel, journal):
    """The drive has kept its cache off, so the kernel found it off: once it is on again, the kernel must flush it."""
    cache = "device/scsi_disk/0:0:0:0/cache_type"
    folder = kernel.add_disk("sda", **{cache: "write back", "device/wwid": "naa.5"})
    killed_inside({"sda": {"cache_type": "write through"}}, kernel.root, journal)
    rewrite(journal, boot_id="another")
    kernel.write(folder / cache, "write through")
    recovery.restore_left_behind(journal)
    assert (folder / cache).read_text().strip() == "write back"
    assert (folder / "queue/write_cache").read_text().strip() == "write back"


def test_after_a_reboot_nothing_is_written_and_the_entry_is_closed_with_a_sentence(kernel, journal):
    folder = kernel.add_disk("sda", **{"device/serial": "S1"})
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    rewrite(journal, boot_id="another")
    now = tree(folder)
    (outcome,) = recovery.restore_left_behind(journal)
    assert outcome.sentences == ("sda has been set up anew by the kernel since: nothing to restore",)
    assert tree(folder) == now
    assert journal.is_empty()


def test_after_a_reboot_a_drives_own_cache_setting_is_put_back(kernel, journal):
    cache = "device/scsi_disk/0:0:0:0/cache_type"
    folder = kernel.add_disk("sda", **{cache: "write back", "device/serial": "S1"})
    killed_inside({"sda": {"write_cache": "write through", "scheduler": "bfq"}}, kernel.root, journal)
    rewrite(journal, boot_id="another")
    recovery.restore_left_behind(journal)
    assert (folder / cache).read_text() == "write back\n"
    assert "[bfq]" in (folder / "queue/scheduler").read_text()


def test_after_a_reboot_another_drive_of_the_same_name_is_left_alone(kernel, journal):
    cache = "device/scsi_disk/0:0:0:0/cache_type"
    folder = kernel.add_disk("sda", **{cache: "write back", "device/serial": "S1"})
    killed_inside({"sda": {"write_cache": "write through"}}, kernel.root, journal)
    rewrite(journal, boot_id="another")
    (folder / "device/serial").write_text("S2\n")
    recovery.restore_left_behind(journal)
    assert (folder / cache).read_text() == "write through\n"


def test_a_device_that_was_replaced_in_the_same_boot_is_left_alone(kernel, journal):
    folder = kernel.add_disk("sda")
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    folder.rename(kernel.root / "old")
    kernel.add_disk("sda", "kyber")
    now = tree(folder)
    recovery.restore_left_behind(journal)
    assert tree(folder) == now
    assert journal.is_empty()


ATTACHED = {"loop/backing_file": "/srv/a.img", "diskseq": "7"}


def attach(folder, file: str | None, diskseq: str | None) -> None:
    for name, text in (("loop/backing_file", file), ("diskseq", diskseq)):
        (folder / name).unlink(missing_ok=True)
        if text is not None:
            (folder / name).write_text(f"{text}\n")


@pytest.mark.parametrize(
    ("file", "diskseq", "restored"),
    [
        ("/srv/b.img", "9", False),
        ("/srv/b.img", None, False),  # before Linux 5.15
        ("/srv/a.img", "9", True),  # attached again
        ("/srv/a.img (deleted)", "7", True),
        ("/srv/moved.img", "7", True),
        (None, "8", True),  # detached: the next file must not find our values
    ],
)
def test_a_loop_device_with_another_file_keeps_that_file_s_settings(kernel, journal, file, diskseq, restored):
    folder = kernel.add_disk("loop3", **ATTACHED)
    killed_inside({"loop3": {"scheduler": "bfq", "read_ahead_kb": 64}}, kernel.root, journal)
    attach(folder, file, diskseq)
    (outcome,) = recovery.restore_left_behind(journal)
    assert ("[none]" in (folder / "queue/scheduler").read_text()) == restored
    assert (folder / "queue/read_ahead_kb").read_text() == ("128\n" if restored else "64\n")
    assert ("has another file than /srv/a.img" in outcome.sentences[0]) != restored
    assert outcome.state == "restored" and journal.is_empty()


@pytest.mark.parametrize("switched", [False, True])
def test_a_living_run_leaves_a_loop_device_alone_that_got_another_file(kernel, journal, capfd, switched):
    folder = kernel.add_disk("loop3", **ATTACHED)
    wanted = {"loop3": {"scheduler": "bfq"}}
    if switched:
        with switching([wanted], kernel.root, journal) as switch:
            switch.to(wanted)
            attach(folder, "/srv/b.img", "9")
            kernel.write(folder / "queue/scheduler", "kyber")
            with pytest.raises(SeekwiseError, match="another drive"):
                switch.to(wanted)
            switch.to_original()
    else:
        with changed(wanted, root=kernel.root, journal=journal):
            attach(folder, "/srv/b.img", "9")
            kernel.write(folder / "queue/scheduler", "kyber")
    assert "[kyber]" in (folder / "queue/scheduler").read_text()
    assert "loop3 has become another drive" in capfd.readouterr().err and journal.is_empty()


def test_a_drive_that_was_replaced_meanwhile_gets_nothing_of_the_one_before(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    with changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal):
        folder.rename(kernel.root / "old")
        now = tree(kernel.add_disk("sda", "kyber"))
    assert tree(folder) == now


@pytest.mark.parametrize("old", [False, True])
def test_an_entry_from_before_files_were_noted_restores_as_then(kernel, journal, old):
    folder = kernel.add_disk("loop3", **ATTACHED)
    before = tree(folder)
    killed_inside({"loop3": {"scheduler": "bfq"}}, kernel.root, journal)
    (path,) = journal.folder.glob(f"*{SUFFIX}")
    first, line, last = path.read_text().splitlines(keepends=True)
    item = json.loads(line.partition(" ")[2])
    assert item["identity"].pop("file") == "/srv/a.img" and item["identity"].pop("attachment").endswith(" 7")
    if old:
        path.write_text("".join([first, _line(item), last]))
    recovery.restore_left_behind(journal)
    assert tree(folder) == before


def test_after_a_reboot_the_number_of_an_attachment_says_nothing(kernel, journal):
    """Diskseq starts again with each boot: the same number there is no sign of the same file."""
    folder = kernel.add_disk("loop3", **ATTACHED)
    killed_inside({"loop3": {"scheduler": "bfq"}}, kernel.root, journal)
    (entry,) = journal.entries()
    then = entry.items[0]["identity"]
    now = {**then, "file": "/srv/b.img"}
    assert not has_another_file(then, now)
    assert has_another_file({**then, "attachment": "another-boot 7"}, now)
    assert not has_another_file({**then, "attachment": "another-boot 7"}, {**now, "file": "/srv/a.img"})
    kernel.write(folder / "queue/scheduler", "none")
    rewrite(journal, boot_id="another")
    assert recovery.restore_left_behind(journal)[0].state == "restored" and journal.is_empty()


def test_a_vanished_device_closes_its_entry(kernel, journal):
    folder = kernel.add_disk("sda")
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    folder.rename(kernel.root / "old")
    (outcome,) = recovery.restore_left_behind(journal)
    assert outcome.sentences == ("sda is gone, and its settings with it",)
    assert journal.is_empty()


def test_a_journal_cut_at_any_byte_restores_what_it_still_holds_and_never_raises(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    before = tree(folder)
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    left = tree(folder)
    (path,) = journal.folder.glob(f"*{SUFFIX}")
    whole = path.read_bytes()
    end_of_item = len(b"\n".join(whole.split(b"\n")[:2]))
    for length in range(0, len(whole), 7):
        for file, text in left.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
        for file in set(tree(folder)) - set(left):
            (folder / file).unlink()
        path.write_bytes(whole[:length])
        (outcome,) = recovery.restore_left_behind(journal)
        assert journal.is_empty()
        if length >= end_of_item:
            assert tree(folder) == before
        else:
            assert tree(folder) == left
        assert path.with_suffix(".damaged").exists() == (length < len(whole) - 1)
        path.with_suffix(".damaged").unlink(missing_ok=True)
        assert outcome.sentences


def test_a_flipped_bit_is_noticed(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    killed_inside({"sda": {"nr_requests": 32}}, kernel.root, journal)
    left = tree(folder)
    (path,) = journal.folder.glob(f"*{SUFFIX}")
    path.write_text(path.read_text().replace('"queue/nr_requests": "256"', '"queue/nr_requests": "257"'))
    (outcome,) = recovery.restore_left_behind(journal)
    assert "damaged" in outcome.sentences[-1]
    assert tree(folder) == left


def test_a_newer_entry_stands_alone_and_nothing_more_is_changed_until_it_is_gone(kernel, journal):
    folder = kernel.add_disk("sda")
    kernel.add_disk("sdb")
    before = tree(folder)
    killed_inside({"sdb": {"scheduler": "bfq"}}, kernel.root, journal)
    rewrite(journal, schema="seekwise.journal/99")
    killed_inside_checked({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    states = {outcome.entry.kind: outcome for outcome in recovery.revert_all(journal)}
    assert states["changed"].state == "restored" and tree(folder) == before
    assert states["newer"].state == "failed" and "seekwise.journal/99" in states["newer"].sentences[0]
    with pytest.raises(RefusedError, match="seekwise.journal/99") as raised:
        changed({"sda": {"scheduler": "kyber"}}, root=kernel.root, journal=journal).__enter__()
    assert raised.value.exit_status == 3


def killed_inside_checked(wanted, root, journal) -> None:
    """As a seekwise would that started before the newer one left its entry."""
    check, Journal.check = Journal.check, lambda *_: None
    try:
        killed_inside(wanted, root, journal)
    finally:
        Journal.check = check


@pytest.mark.parametrize("make", ["folder", "pipe", "link", "writable by all"])
def test_what_is_no_entry_of_ours_blocks_no_other_entry_and_is_said(kernel, journal, tmp_path, make):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    odd = journal.folder / f"x{SUFFIX}"
    if make == "folder":
        odd.mkdir()
    elif make == "pipe":
        os.mkfifo(odd)
    elif make == "link":
        odd.symlink_to("/etc/passwd")
    else:
        odd.write_text("x")
        odd.chmod(0o666)
    outcomes = recovery.revert_all(journal)
    assert tree(folder) == before
    assert {outcome.entry.kind: outcome.state for outcome in outcomes} == {"untrusted": "failed", "changed": "restored"}
    assert os.path.lexists(odd)


@pytest.mark.timeout(60)
def test_a_pipe_that_is_called_like_a_draft_keeps_no_command_waiting(kernel, journal):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    os.mkfifo(journal.folder / f".x{SUFFIX}.123", 0o600)
    journal.remove_drafts()
    assert not list(journal.folder.glob(".x*"))
    assert [outcome.state for outcome in recovery.revert_all(journal)] == ["restored"] and tree(folder) == before


def test_a_damaged_line_is_a_failure_although_the_rest_is_restored(kernel, journal):
    first, second = kernel.add_disk("sda"), kernel.add_disk("sdb")
    before = tree(first), tree(second)
    killed_inside({"sda": {"scheduler": "bfq"}, "sdb": {"scheduler": "bfq"}}, kernel.root, journal)
    (path,) = journal.folder.glob(f"*{SUFFIX}")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[1].replace("bfq", "xxx"), *lines[2:]]))
    (outcome,) = recovery.revert_all(journal)
    assert outcome.state == "failed" and "damaged" in outcome.sentences[-1]
    assert tree(first) != before[0] and tree(second) == before[1]
    assert path.with_suffix(".damaged").exists() and journal.is_empty()


def test_a_run_in_another_pid_namespace_is_alive_as_long_as_it_holds_its_entry(kernel, journal):
    folder = kernel.add_disk("sda")
    with changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal):
        inside = tree(folder)
        (entry,) = journal.entries()
        # A pid and a boot that mean nothing here, as through a shared home or a container.
        (path,) = journal.folder.glob(f"*{SUFFIX}")
        original = path.read_bytes()
        first, _, rest = original.partition(b"\n")
        header = json.loads(first.partition(b" ")[2]) | {
            "pid": 999999,
            "start_ticks": 1,
            "boot_id": "other",
            "namespace": "pid:[1]",
        }
        with path.open("r+b") as file:
            file.write(_line(header).encode() + rest)
            file.truncate()
        assert recovery.restore_left_behind(journal) == []
        assert [outcome.state for outcome in recovery.revert_all(journal)] == ["busy"]
        assert tree(folder) == inside
        assert entry.alive


def test_an_entry_of_another_machine_is_left_to_that_machine(kernel, journal):
    folder = kernel.add_disk("sda")
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    rewrite(journal, machine="0123 elsewhere", boot_id="another")
    left = tree(folder)
    assert recovery.restore_left_behind(journal) == []
    (outcome,) = recovery.revert_all(journal)
    assert outcome.state == "busy" and "elsewhere" in outcome.sentences[0]
    assert tree(folder) == left and not journal.is_empty()


def test_folder_and_entries_are_for_their_owner_alone_whatever_the_umask(kernel, tmp_path):
    kernel.add_disk("sda")
    old = os.umask(0)
    try:
        journal = Journal(tmp_path / "a/b")
        killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    finally:
        os.umask(old)
    assert journal.folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in journal.folder.iterdir())
    assert not any(parent.stat().st_mode & 0o022 for parent in (journal.folder.parent, journal.folder.parent.parent))


def test_a_folder_in_which_others_can_write_is_refused(kernel, journal):
    folder = kernel.add_disk("sda")
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    left = tree(folder)
    journal.folder.chmod(0o777)
    with pytest.raises(RefusedError, match="forged"):
        recovery.revert_all(journal)
    assert tree(folder) == left


@needs_root
def test_an_entry_that_another_user_made_is_not_executed(kernel, journal, tmp_path):
    victim = tmp_path / "cron.d"
    entry = journal.open("persisted", [{"file": str(victim), "before": "* * * * * root id\n", "written": ""}])
    (path,) = journal.folder.glob(f"*{SUFFIX}")
    os.chown(path, 4242, -1)
    outcomes = recovery.revert_all(journal)
    assert [outcome.state for outcome in outcomes] == ["failed"] and "belongs to user 4242" in outcomes[0].sentences[0]
    assert not victim.exists()
    journal.close(entry)


def test_what_was_killed_last_is_undone_first(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    before = tree(folder)
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    killed_inside({"sda": {"scheduler": "kyber"}}, kernel.root, journal)
    outcomes = recovery.restore_left_behind(journal)
    assert len(outcomes) == 2
    assert tree(folder) == before


def test_the_start_of_a_command_restores_and_says_so(kernel, journal, monkeypatch):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    monkeypatch.setenv("SEEKWISE_STATE", str(journal.folder.parent))
    said: list[str] = []
    recovery.at_start(said.append)
    assert tree(folder) == before
    assert len(said) == 1 and "queue/scheduler bfq → none" in said[0]
    recovery.at_start(said.append)
    assert len(said) == 1


def test_a_write_that_fails_keeps_the_entry_for_another_try(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    before = tree(folder)
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    kernel.refuse["queue/scheduler"] = 5
    (outcome,) = recovery.restore_left_behind(journal)
    assert outcome.state == "failed" and "mq-deadline" in outcome.sentences[0]
    kernel.refuse.clear()
    recovery.restore_left_behind(journal)
    assert tree(folder) == before


@needs_root
def test_a_journal_of_somebody_else_is_refused(kernel, journal):
    folder = kernel.add_disk("sda")
    killed_inside({"sda": {"scheduler": "bfq"}}, kernel.root, journal)
    left = tree(folder)
    os.chown(journal.folder, 4242, -1)
    with pytest.raises(RefusedError, match="belongs to user 4242"):
        recovery.revert_all(journal)
    assert tree(folder) == left
