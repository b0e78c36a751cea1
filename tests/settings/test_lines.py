"""These tests will print shell lines and run them: what they set is set, and what they take back is as before."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from control.conftest import FakeKernel, loop, needs_root  # noqa: F401
from seekwise.control import attributes
from seekwise.control.lines import shell_lines
from seekwise.control.settings import changed, read_settings


def test_a_line_per_value_in_the_order_the_kernel_needs_with_sudo():
    found = shell_lines(
        {"sda": {"queue/nr_requests": 64, "queue/scheduler": "bfq"}, "sdb": {"queue/scheduler": "bfq"}},
        {
            "sda": {"queue/scheduler": "mq-deadline", "queue/nr_requests": "256"},
            "sdb": {"queue/scheduler": "none", "queue/nr_requests": "32"},
        },
        sudo=True,
    )
    assert found.set == (
        "echo bfq | sudo tee /sys/block/sda/queue/scheduler",
        "echo 64 | sudo tee /sys/block/sda/queue/nr_requests",
        "echo bfq | sudo tee /sys/block/sdb/queue/scheduler",
    )
    assert found.undo == (
        "echo mq-deadline | sudo tee /sys/block/sda/queue/scheduler",
        "echo 256 | sudo tee /sys/block/sda/queue/nr_requests",
        "echo none | sudo tee /sys/block/sdb/queue/scheduler",
        "echo 32 | sudo tee /sys/block/sdb/queue/nr_requests",
    )


def test_root_needs_no_sudo_and_words_are_quoted():
    found = shell_lines(
        {"sda": {"write_cache": "write through"}}, {"sda": {"queue/write_cache": "write back"}}, sudo=False
    )
    assert found.set == ("echo 'write through' > /sys/block/sda/queue/write_cache",)
    assert found.undo == ("echo 'write back' > /sys/block/sda/queue/write_cache",)


def test_tunables_that_were_not_the_default_are_taken_back_too():
    old = {
        "queue/scheduler": "mq-deadline",
        "queue/nr_requests": "256",
        "queue/iosched/fifo_batch": "3",
        "queue/iosched/read_expire": "500",
        "queue/iosched/async_depth": "192",
        "queue/wbt_lat_usec": "75000",
        "queue/read_ahead_kb": "128",
    }
    undone = shell_lines({"sda": {"scheduler": "bfq"}}, {"sda": old}, sudo=False).undo
    assert [line.rpartition("/")[2] for line in undone] == ["scheduler", "nr_requests", "fifo_batch"]


@pytest.mark.parametrize(
    ("scheduler", "tags", "requests", "undone"),
    [
        ("mq-deadline", "128", "256", ["scheduler"]),
        ("mq-deadline", "32", "64", ["scheduler"]),
        ("mq-deadline", "1023", "256", ["scheduler"]),
        ("none", "32", "32", ["scheduler"]),
        # Set by hand, or not known.
        ("mq-deadline", "128", "64", ["scheduler", "nr_requests"]),
        ("none", "32", "64", ["scheduler", "nr_requests"]),
        (None, None, "256", ["scheduler", "nr_requests"]),
    ],
)
def test_requests_that_the_kernel_brings_back_by_itself_are_not_taken_back(tmp_path, scheduler, tags, requests, undone):
    disk = FakeKernel(tmp_path).add_disk("sda", **({"mq/0/nr_tags": tags} if tags else {}))
    if not tags:
        (disk / "mq/0/nr_tags").unlink()
    old = {"queue/scheduler": scheduler or "mq-deadline", "queue/nr_requests": requests}
    found = shell_lines({"sda": {"scheduler": "bfq"}}, {"sda": old}, sudo=False, root=tmp_path)
    assert [line.rpartition("/")[2] for line in found.undo] == undone
    # What was asked to be something else is taken back whatever it was.
    asked = shell_lines({"sda": {"scheduler": "bfq", "nr_requests": 512}}, {"sda": old}, sudo=False, root=tmp_path)
    assert [line.rpartition("/")[2] for line in asked.undo] == ["scheduler", "nr_requests"]


def test_throttling_that_bfq_switches_off_is_taken_back_if_it_was_set_by_hand():
    old = {"queue/scheduler": "none", "queue/wbt_lat_usec": "5000"}
    assert (
        "echo 5000 > /sys/block/sda/queue/wbt_lat_usec"
        in shell_lines({"sda": {"scheduler": "bfq"}}, {"sda": old}, sudo=False).undo
    )
    assert len(shell_lines({"sda": {"scheduler": "kyber"}}, {"sda": old}, sudo=False).undo) == 1


def test_facts_that_are_no_settings_are_passed_over():
    assert shell_lines({"sda": {"scheduler": "bfq"}}, {"sda": {"queue/rotational": "1"}}, sudo=False).undo == ()


def test_the_write_cache_is_switched_at_the_drive(tmp_path):
    kernel = FakeKernel(tmp_path)
    kernel.add_disk("sda", **{"device/scsi_disk/0:0:0:0/cache_type": "write back"})
    found = shell_lines({"sda": {"write_cache": "write through"}}, {}, sudo=False, root=tmp_path)
    assert found.set == ("echo 'write through' > /sys/block/sda/device/scsi_disk/0:0:0:0/cache_type",)


@needs_root
@pytest.mark.root
def test_run_by_a_shell_the_lines_set_and_take_back_everything(loop, journal):  # noqa: F811
    folder = Path("/sys/block") / loop
    for first in attributes.schedulers_offered(folder):
        own = {"scheduler": first, "nr_requests": 47}
        if first == "mq-deadline":
            own |= {"iosched/fifo_batch": 5, "iosched/async_depth": 7}
        with changed({loop: own}, journal=journal):
            before = read_settings(loop)
            for second in attributes.schedulers_offered(folder):
                found = shell_lines({loop: {"scheduler": second, "read_ahead_kb": 64}}, {loop: before}, sudo=False)
                subprocess.run(["sh", "-e", "-c", "\n".join(found.set)], check=True)
                after = read_settings(loop)
                assert (after["queue/scheduler"], after["queue/read_ahead_kb"]) == (second, "64")
                subprocess.run(["sh", "-e", "-c", "\n".join(found.undo)], check=True)
                assert read_settings(loop) == before
