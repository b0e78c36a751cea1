"""Small facts that a record keeps: kernel, counters, temperature, PCI driver."""

from __future__ import annotations

from seekwise.linux import diskstats
from seekwise.linux.facts import kernel_release, kernel_version, temperature_celsius
from seekwise.linux.tree import open_tree

from .conftest import reconstruct

PORT = "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0"


def test_kernel_release_and_version(builder):
    tree = open_tree(builder.root)
    assert kernel_release(tree) == "6.1.0"
    assert kernel_version("2.6.32-71.el6") == (2, 6, 32)
    assert kernel_version(None) == ()


def test_kernel_release_from_proc_version(builder):
    (builder.root / "proc/sys/kernel/osrelease").unlink()
    builder.file("proc/version", "Linux version 2.6.18-8.el5 (mock@x) (gcc) #1 SMP")
    assert kernel_release(open_tree(builder.root)) == "2.6.18-8.el5"


def test_counters_of_old_and_new_kernels(builder):
    builder.file(
        "proc/diskstats",
        "   8       0 sda 10 1 80 5 20 2 160 9 0 12 14\n"
        "   8      16 sdb 10 1 80 5 20 2 160 9 0 12 14 7 0 16 2 3 1\n"
        "   8      32 sdc 10 1 80 5 20 2 160 9 0 12 14 7 0\n"
        "   8      48 sdd 10 1 80 5 20 2 160 9 0 12 14 7 x 16 2\n"
        "   8       1 sda1 5 40 6 48\n"
        " 104       0 cciss/c0d0 1 0 8 1 0 0 0 0 0 1 1\n",
    )
    counters = diskstats.read(open_tree(builder.root))
    assert set(counters) == {"sda", "sdb", "sdc", "sdd", "cciss!c0d0"}
    assert (counters["sda"].discards, counters["sdb"].discards, counters["sdb"].discard_bytes) == (0, 7, 16 * 512)
    assert counters["sdc"].discards == counters["sdd"].discards == 0, "a line that is cut off or garbled"
    assert (counters["sda"].read_bytes, counters["sdb"].write_bytes) == (80 * 512, 160 * 512)


def test_temperature_of_a_drive_and_of_its_partition(builder):
    place = builder.disk("sda", PORT, "8:0", 1000, reconstruct.QUEUE_MQ)
    builder.partition(place, "sda1", 1, "8:1", 63, 900)
    builder.file(f"sys/devices/{PORT}/hwmon/hwmon2/temp1_input", "34000")
    builder.link(f"sys/devices/{PORT}/hwmon/hwmon2/device", f"sys/devices/{PORT}")
    builder.link("sys/class/hwmon/hwmon2", f"sys/devices/{PORT}/hwmon/hwmon2")
    builder.file("sys/class/hwmon/hwmon0/temp1_input", "70000")
    tree = open_tree(builder.root)
    assert temperature_celsius(tree, "sda") == 34.0
    assert temperature_celsius(tree, "sda1") == 34.0
    assert temperature_celsius(tree, "sdz") is None
