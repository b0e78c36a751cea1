"""`seekwise explain` knows every term of the publications."""

from __future__ import annotations

import pytest

from seekwise.report.explain import explain

# Every term that the checklist of the publications names (tests/seeds/README.md), row by row, and those of fio and the kernel beside them.
TERMS = """noop; deadline; anticipatory; cfq; mq-deadline; bfq; bfq-mq; none; kyber; multi-queue; single-queue; starvation; nice level; ionice; default scheduler;
elevator; CPU cost; serpentine; locality assumption; zone-bit recording; ZBR; platter; access time; seek; settling; rotational latency; track-to-track; data sheet;
block density; tested area; NCQ; TCQ; double scheduling; wd2500ys; ST3250620NS; st31000340sv; samsung 850 evo; 970 evo plus; t430s; ST-225; SSD; NVMe; flash; DDR3;
RAID 1; RAID 5; RAID 10; RAID 0; hardware RAID; software RAID; chunk; fake RAID; LVM; LVM2; SAN; NAS; 9550SXU-8LP; 9650-2LP; 9650-4LP; PCI-X; performance mode; sata_nv; SWNCQ;
Z170; SATA 2; Opteron; opteron_2212; i7_6700k; i7_1165g7; Core i5; kernel; ext3; ext4; Debian Etch; Gentoo; openSUSE Leap; Ubuntu; sequential read; random write; threads; page cache;
direct I/O; file server; database; web server; desktop; database-inserts; tiotest; tiobench; Phoronix; pts/tiobench; fio; gnome-disks; mdadm; fstrim; tw_cli; dmesg; GRUB; sysfsutils; udev;
rate; latency; average latency; SYS-CPU; CPU-WAIT; CPU efficiency; CPU load; jiffy; CPU time quantum; scenario; pause; memory limit; cache drop; drop_caches; trim; single-user mode; repeats; application benchmark;
elevator=; mem=; sysfs; sysfs.conf; modules-load.d; queue_depth; permission denied; qpolicy; mdadm --create; job file; bitmap; mean; scatter; slope; spread; winner; tie; acceptable;
upper branch; CFQ's aim; fairness; card maker; what to buy; many open files; Fedora; Arch; anticipation; parity; read-ahead; write cache; flush; IOPS; p99; noise; confidence interval; A/A check; replicate; drift check"""


@pytest.mark.parametrize("term", [term.strip() for term in TERMS.replace("\n", " ").split(";")])
def test_every_term_of_the_publications_is_explained(term):
    explanation = explain(term)
    assert explanation.text.strip() or explanation.tunables, term
