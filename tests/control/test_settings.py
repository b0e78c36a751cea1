"""These tests will change settings of a device made of files and expect every value back, whatever happens in between."""

from __future__ import annotations

import errno
import os
import signal

import pytest

from seekwise.control import interrupt, settings
from seekwise.control.settings import changed, read_settings
from seekwise.errors import MissingError, RefusedError, SeekwiseError, UsageError

from .conftest import tree


def test_seen_is_what_the_kernel_reports_and_everything_comes_back(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline", **{"device/queue_depth": "32"})
    before = tree(folder)
    wanted = {"sda": {"queue/scheduler": "kyber", "queue/nr_requests": 64, "device/queue_depth": 31}}
    with changed(wanted, root=kernel.root, journal=journal) as seen:
        assert seen["sda"]["queue/scheduler"] == "kyber"
        assert seen["sda"]["queue/nr_requests"] == "64"
        assert seen["sda"]["device/queue_depth"] == "31"
        assert seen["sda"]["queue/iosched/read_lat_nsec"] == "2000000"
        assert not journal.is_empty()
    assert tree(folder) == before
    assert journal.is_empty()


def test_values_that_a_scheduler_switch_resets_are_captured_and_restored(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline")
    (folder / "queue/nr_requests").write_text("77\n")
    (folder / "queue/iosched/fifo_batch").write_text("3\n")
    (folder / "queue/iosched/async_depth").write_text("12\n")
    (folder / "queue/wbt_lat_usec").write_text("5555\n")
    before = tree(folder)
    with changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal) as seen:
        assert seen["sda"]["queue/wbt_lat_usec"] == "0"
    assert tree(folder) == before


def test_two_names_of_one_value_both_come_back(kernel, journal):
    folder = kernel.add_disk("sda", "bfq")
    (folder / "queue/iosched/slice_idle_us").write_text("8500\n")
    before = tree(folder)
    with changed({"sda": {"iosched/slice_idle": 0}}, root=kernel.root, journal=journal):
        assert tree(folder) != before
    assert tree(folder) == before


def test_tunables_of_the_scheduler_asked_for_are_written_after_it(kernel, journal):
    kernel.add_disk("sda", "none")
    wanted = {"iosched/async_depth": 9, "iosched/fifo_batch": 4, "nr_requests": 32, "scheduler": "mq-deadline"}
    with changed({"sda": wanted}, root=kernel.root, journal=journal) as seen:
        assert seen["sda"]["queue/iosched/async_depth"] == "9"
    assert [name for name, _ in kernel.written[:4]] == [
        "queue/scheduler",
        "queue/nr_requests",
        "queue/iosched/async_depth",
        "queue/iosched/fifo_batch",
    ]


def test_the_journal_is_on_disk_before_the_first_write(kernel, journal):
    kernel.add_disk("sda")
    seen_before_write = []
    kernel.before_write = lambda *_: seen_before_write.append(
        [item["old"] for entry in journal.entries() for item in entry.items]
    )
    with changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal):
        pass
    assert seen_before_write[0][0]["queue/scheduler"] == "none"
    assert seen_before_write[0][0]["queue/nr_requests"] == "128"


def test_an_unwritable_journal_stops_before_anything_changes(kernel, journal):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    journal.folder.parent.mkdir()
    journal.folder.write_text("a file where a folder should be")
    with (
        pytest.raises(MissingError, match="journal"),
        changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal),
    ):
        pytest.fail("must not be entered")
    assert kernel.written == []
    assert tree(folder) == before


def test_asking_for_what_is_set_already_writes_nothing(kernel, journal):
    kernel.add_disk("sda", "bfq")
    with changed({"sda": {"scheduler": "bfq", "nr_requests": 256}}, root=kernel.root, journal=journal):
        assert journal.is_empty()
    assert kernel.written == []


@pytest.mark.parametrize("error", [RuntimeError("fio died"), KeyboardInterrupt(), SystemExit(1)])
def test_an_exception_inside_restores_and_goes_on(kernel, journal, error):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    with pytest.raises(type(error)), changed({"sda": {"scheduler": "kyber"}}, root=kernel.root, journal=journal):
        raise error
    assert tree(folder) == before
    assert journal.is_empty()


@pytest.mark.parametrize("number", interrupt.SIGNALS)
def test_a_signal_inside_restores(kernel, journal, number):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    handler = signal.getsignal(number)
    with (
        pytest.raises(interrupt.Stopped) as stopped,
        changed({"sda": {"scheduler": "kyber"}}, root=kernel.root, journal=journal),
    ):
        os.kill(os.getpid(), number)
    assert stopped.value.signal_number == number
    assert tree(folder) == before
    assert signal.getsignal(number) is handler


def test_a_signal_before_any_single_write_restores(kernel, journal):
    """Also one that arrives in the middle of setting or of putting back."""
    folder = kernel.add_disk("sda", "mq-deadline")
    (folder / "queue/iosched/fifo_batch").write_text("3\n")
    before = tree(folder)
    wanted = {"sda": {"scheduler": "bfq", "nr_requests": 8, "read_ahead_kb": 4}}
    with changed(wanted, root=kernel.root, journal=journal):
        pass
    writes = len(kernel.written)
    assert writes >= 6
    for stop_at in range(writes):
        kernel.written.clear()

        def stop(*_, stop_at=stop_at):
            if len(kernel.written) == stop_at:
                os.kill(os.getpid(), signal.SIGTERM)

        kernel.before_write = stop
        with pytest.raises(interrupt.Stopped), changed(wanted, root=kernel.root, journal=journal):
            pass
        kernel.before_write = None
        assert tree(folder) == before
        assert journal.is_empty()


def test_a_refusal_names_device_attribute_asked_and_found_and_leaves_nothing(kernel, journal):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    kernel.refuse["queue/nr_requests"] = errno.EINVAL
    with (
        pytest.raises(SeekwiseError) as raised,
        changed({"sda": {"read_ahead_kb": 256, "nr_requests": 100000}}, root=kernel.root, journal=journal),
    ):
        pytest.fail("must not be entered")
    assert all(word in raised.value.message for word in ("sda", "queue/nr_requests", '"100000"', "128", "EINVAL"))
    assert "depth" in raised.value.hint
    assert tree(folder) == before
    assert journal.is_empty()


def test_a_silently_altered_value_is_an_error(kernel, journal):
    folder = kernel.add_disk("sda", **{"device/queue_depth": "31"})
    before = tree(folder)
    kernel.alter["device/queue_depth"] = "31"
    with (
        pytest.raises(SeekwiseError) as raised,
        changed({"sda": {"queue_depth": 32}}, root=kernel.root, journal=journal),
    ):
        pytest.fail("must not be entered")
    assert raised.value.message == "sda device/queue_depth is 31 after writing 32"
    assert "libata.force=noncq" in raised.value.hint and "explain ncq" in raised.value.hint
    assert tree(folder) == before


def test_a_later_device_that_refuses_brings_the_earlier_ones_back(kernel, journal):
    first, second = kernel.add_disk("sda"), kernel.add_disk("sdb")
    before = tree(first), tree(second)
    calls = []
    kernel.before_write = lambda name, value: calls.append(name)

    def refuse_second(name, value):
        calls.append(name)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")

    kernel.before_write = refuse_second
    with (
        pytest.raises(SeekwiseError, match="sdb refused"),
        changed({"sda": {"scheduler": "bfq"}, "sdb": {"scheduler": "bfq"}}, root=kernel.root, journal=journal),
    ):
        pytest.fail("must not be entered")
    assert (tree(first), tree(second)) == before


def test_a_scheduler_that_is_not_offered_says_which_module_to_load(kernel, journal):
    folder = kernel.add_disk("sda")
    (folder / "queue/scheduler").write_text("[none] mq-deadline\n")
    with (
        pytest.raises(MissingError) as raised,
        changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal),
    ):
        pytest.fail("must not be entered")
    assert 'scheduler "bfq" (offered: none, mq-deadline' in raised.value.message
    assert raised.value.hint == "load the module first: `modprobe bfq`"
    assert kernel.written == []


def test_an_array_is_sent_to_the_drives_below_it(kernel, journal):
    folder = kernel.add_disk("md0")
    (folder / "queue/scheduler").write_text("none\n")
    (folder / "slaves/sda").mkdir(parents=True)
    with (
        pytest.raises(MissingError) as raised,
        changed({"md0": {"scheduler": "bfq"}}, root=kernel.root, journal=journal),
    ):
        pytest.fail("must not be entered")
    assert "set it on the drives below" in raised.value.hint


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ({"sda": {"scheduler": "zippy"}}, 2),
        ({"sda": {"scheduler": "cfq"}}, 4),
        ({"sda": {"queue/shedular": "bfq"}}, 2),
        ({"sda": {"../../etc/passwd": "x"}}, 2),
        ({"sda": {"iosched/../nr_requests": "x"}}, 2),
        ({"sda": {"device/queue_depth": 4}}, 4),
        ({"sda": {"stripe_cache_size": 4}}, 4),
        ({"sda": {"iosched/fifo_batch": 4}}, 4),
        ({"sdz": {"scheduler": "none"}}, 2),
        ({"sda": {"nr_requests": ""}}, 2),
    ],
)
def test_what_can_be_known_to_fail_is_refused_before_any_write(kernel, journal, wanted, status):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    with pytest.raises(SeekwiseError) as raised, changed(wanted, root=kernel.root, journal=journal):
        pytest.fail("must not be entered")
    assert raised.value.exit_status == status
    assert kernel.written == []
    assert tree(folder) == before
    assert journal.is_empty()


def test_a_partition_is_sent_to_its_disk(kernel, journal):
    kernel.add_disk("sda")
    partition = kernel.root / "sys/class/block/sda1"
    partition.mkdir(parents=True)
    (partition / "partition").write_text("1\n")
    with pytest.raises(UsageError, match="sda1 is a partition"):
        read_settings("sda1", kernel.root)


def test_write_cache_is_switched_at_the_drive_where_it_can_be(kernel, journal):
    folder = kernel.add_disk("sda", **{"device/scsi_disk/0:0:0:0/cache_type": "write back"})
    before = tree(folder)
    with changed({"sda": {"write_cache": "write through"}}, root=kernel.root, journal=journal) as seen:
        assert seen["sda"]["queue/write_cache"] == "write through"
        assert seen["sda"]["cache_type"] == "write through"
    assert kernel.written[0][0] == "device/scsi_disk/0:0:0:0/cache_type"
    assert tree(folder) == before


def test_a_value_that_cannot_be_put_back_is_an_error_and_stays_in_the_journal(kernel, journal, monkeypatch):
    monkeypatch.setattr(settings, "BUSY_WAIT_S", 0.2)
    kernel.add_disk("sda", "mq-deadline")
    with (
        pytest.raises(SeekwiseError, match='queue/scheduler should be "mq-deadline" and is bfq'),
        changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal),
    ):
        kernel.refuse["queue/scheduler"] = errno.EBUSY
    assert len(journal.entries()) == 1
    kernel.refuse.clear()


def test_a_device_that_disappears_meanwhile_is_no_failure(kernel, journal):
    folder = kernel.add_disk("sda")
    with changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal):
        folder.rename(kernel.root / "gone")
    assert journal.is_empty()


def test_a_second_run_on_the_same_device_is_refused_with_status_3(kernel, journal):
    kernel.add_disk("sda")
    reader, writer = os.pipe()
    back_reader, back_writer = os.pipe()
    child = os.fork()
    if child == 0:
        with changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal):
            os.write(writer, b"x")
            os.read(back_reader, 1)
        os._exit(0)
    os.read(reader, 1)
    with (
        pytest.raises(RefusedError, match=f"sda is in use by another seekwise run .process {child}.") as raised,
        changed({"sda": {"scheduler": "kyber"}}, root=kernel.root, journal=journal),
    ):
        pytest.fail("must not be entered")
    assert raised.value.exit_status == 3
    os.write(back_writer, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with changed({"sda": {"scheduler": "kyber"}}, root=kernel.root, journal=journal):
        pass
    for descriptor in (reader, writer, back_reader, back_writer):
        os.close(descriptor)


def test_a_run_may_hold_the_device_and_change_it_trial_by_trial(kernel, journal):
    from seekwise.control.lock import devices_locked

    kernel.add_disk("sda")
    with devices_locked(["sda"], kernel.root):
        for scheduler in ("bfq", "kyber"):
            with changed({"sda": {"scheduler": scheduler}}, root=kernel.root, journal=journal) as seen:
                assert seen["sda"]["queue/scheduler"] == scheduler


def test_nested_changes_of_one_process_come_back_inside_out(kernel, journal):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    with changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal):
        inner = tree(folder)
        with changed({"sda": {"scheduler": "kyber", "read_ahead_kb": 8}}, root=kernel.root, journal=journal):
            assert len(journal.entries()) == 2
        assert tree(folder) == inner
    assert tree(folder) == before


def test_the_net_at_exit_restores_what_is_still_active(kernel, journal):
    folder = kernel.add_disk("sda")
    before = tree(folder)
    change = changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal)
    change.__enter__()
    try:
        settings._restore_at_exit()
        assert tree(folder) == before
    finally:
        change.__exit__(None, None, None)


@pytest.mark.parametrize("what", ["removed", "read-only"])
def test_a_state_folder_that_is_lost_meanwhile_keeps_nothing_from_being_restored(
    kernel, journal, monkeypatch, what, capsys
):
    folder = kernel.add_disk("sda", "mq-deadline")
    before = tree(folder)
    with changed({"sda": {"scheduler": "bfq"}}, root=kernel.root, journal=journal):
        if what == "removed":
            for path in journal.folder.iterdir():
                path.unlink()
            journal.folder.rmdir()
        else:
            real = type(journal.folder).unlink

            def refuses(self, *words, **more):
                if self.parent == journal.folder:
                    raise OSError(errno.EROFS, "Read-only file system")
                real(self, *words, **more)  # the kernel that is played removes files, too

            monkeypatch.setattr(type(journal.folder), "unlink", refuses)
    assert tree(folder) == before
    assert ("cannot be removed (Read-only file system)" in capsys.readouterr().err) == (what == "read-only")


def test_an_attribute_that_nobody_knows_comes_back_where_our_switch_moved_it(kernel, journal, capsys):
    folder = kernel.add_disk("sda", "mq-deadline", **{"queue/of_next_year": "7", "queue/other": "1"})

    def follow(name, value):
        if name == "queue/scheduler" and value == "kyber":
            kernel.real_write(folder / "queue/of_next_year", "3")

    kernel.before_write = follow
    with changed({"sda": {"scheduler": "kyber"}}, root=kernel.root, journal=journal) as seen:
        assert "queue/of_next_year" not in seen["sda"]
        assert (folder / "queue/of_next_year").read_text() == "3\n"
        assert "queue/of_next_year moved with it: 7 → 3" in capsys.readouterr().err
    assert (folder / "queue/of_next_year").read_text() == "7\n"


def test_an_attribute_that_nobody_knows_comes_back_after_a_kill(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline", **{"queue/of_next_year": "7"})
    item = settings.item_for("sda", folder, kernel.root, {"queue/scheduler": "kyber"})
    kernel.real_write(folder / "queue/of_next_year", "3")
    assert settings.restore_item(item, settings.touched(item, None)) == []
    assert (folder / "queue/of_next_year").read_text() == "7\n"


def test_an_attribute_that_nobody_knows_stays_as_another_program_set_it(kernel, journal):
    folder = kernel.add_disk("sda", "mq-deadline", **{"queue/of_next_year": "7"})
    with changed({"sda": {"read_ahead_kb": "64"}}, root=kernel.root, journal=journal):
        kernel.real_write(folder / "queue/of_next_year", "3")
    assert (folder / "queue/of_next_year").read_text() == "3\n"


def test_a_figure_that_nobody_knows_and_that_moves_by_itself_keeps_no_entry_open(kernel, journal, capsys):
    folder = kernel.add_disk("sda", "mq-deadline", **{"queue/of_next_year": "7"})

    def count(name, value):
        kernel.real_write(folder / "queue/of_next_year", "8")
        if name == "queue/of_next_year":
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    kernel.before_write = count
    with changed({"sda": {"scheduler": "kyber"}}, root=kernel.root, journal=journal):
        pass
    assert "queue/of_next_year does not come back; it is 8" in capsys.readouterr().err
    assert journal.is_empty()
