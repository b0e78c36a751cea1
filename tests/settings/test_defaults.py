"""Values that are the kernel's own default are called so; only where that cannot be known is it "the default, or set by hand"."""

from __future__ import annotations

import pytest

from seekwise.settings import status
from settings.machine import two_disks

SDA = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
KNOWN, BY_HAND, EITHER = "the kernel's default", "set by hand or by a program", "the default, or set by hand"


def value(root, name, files):
    made = two_disks(root, kernel="6.12.1").add({f"{SDA}/{key}": text for key, text in files.items()})
    device = next(each for each in status.read(made.tree(), made.stack()).devices if each.name == "sda")
    return next(each for each in device.settings if each.attribute == name)


@pytest.mark.parametrize(
    ("scheduler", "tags", "now", "said"),
    [
        ("none [mq-deadline] bfq", "32", "64", KNOWN),
        ("none [mq-deadline] bfq", "128", "256", KNOWN),
        ("none [mq-deadline] bfq", "1024", "256", KNOWN),
        ("none [mq-deadline] bfq", "32", "256", BY_HAND),
        ("[none] mq-deadline bfq", "32", "32", KNOWN),
        ("[none] mq-deadline bfq", "32", "16", BY_HAND),
    ],
)
def test_nr_requests_follows_from_the_tags(tmp_path, scheduler, tags, now, said):
    files = {"queue/scheduler": scheduler, "queue/nr_requests": now, "mq/0/nr_tags": tags, "mq/0/cpu_list": "0, 1"}
    assert value(tmp_path, "queue/nr_requests", files).set_by.startswith(said)


@pytest.mark.parametrize(
    ("reported", "now", "said"),
    [("write back", "write back", KNOWN), ("write back", "write through", BY_HAND), ("none", "write back", EITHER)],
)
def test_the_write_cache_is_as_the_drive_reports_it(tmp_path, reported, now, said):
    files = {"queue/write_cache": now, "../../scsi_disk/0:0:0:0/cache_type": reported}
    assert value(tmp_path, "queue/write_cache", files).set_by.startswith(said)
