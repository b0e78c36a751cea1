"""What real kernels make of `device/queue_depth`: tests/reference/tags.json, recorded in the VM testbed over scsi_debug.

    .venv/bin/python tools/record_tags.py [KERNEL…] > tests/reference/tags.json

A SCSI host with 32 tags, as a port of AHCI has; 32 readers, each waiting for its read of 4 KiB at a random place, which takes 2 ms. For each
scheduler and `queue_depth`: `nr_requests` when the scheduler was chosen, after the depth was set, and when it was chosen anew; the limits on
asynchronous requests that debugfs shows; the most requests that were in the drive at once; and how far apart requests in a row lie, as a
share of the span (a third where nobody sorts): in all, and in each quarter of the run, because bfq merges queues some time after they began.
`shared`: two such disks on one host, both read.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys

from seekwise_proof.testbed import cpio, debian, image, kernels, machine, modules, vectors
from seekwise_proof.testbed.cpio import CpioEntry
from seekwise_proof.testbed.modules import of_scheduler

TAGS = 32
SERVICE_NS = 2_000_000
READERS, READS, SPAN = 32, 48, 1 << 27
PARTS = 4
DEPTHS = (1, 2, 4, 31)
SCHEDULERS = ("none", "mq-deadline", "bfq", "kyber")
ROW = re.compile(r"(block_rq_issue|block_rq_complete): (\d+,\d+) R\w* .*?\(.*?\) (\d+) \+ 8 ")


def guest(kernel: kernels.Kernel) -> image.Image:
    """The testbed's guest without fio and our drives, which are not needed here."""
    package = debian.fetch(kernel.package, say)
    release = package.name.removeprefix("linux-image-").split("_")[0]
    vmlinuz, base = image._fixed(kernel, package, say)
    own = {"init": CpioEntry.file((image.GUEST / "init").read_bytes(), executable=True)}
    own["lab/functions.sh"] = CpioEntry.file((image.GUEST / "functions.sh").read_bytes())
    # The driver of disks, which scsi_debug's are, is a module of its own.
    of_package = {name: get for name, entry, get in debian.files(package) if entry.isfile() and "lib/modules/" in name}
    found = modules.of_package(of_package)
    order = found.ordered(("sd_mod",))
    own["lab/modules/sd_mod.order"] = CpioEntry.file("\n".join(order).encode() + b"\n")
    own |= {f"lab/modules/{each}.ko": CpioEntry.file(found.content(each)) for each in order}
    data = base.read_bytes() + cpio.pack(own)
    made = debian.cache() / f"tags-{kernel.series}.cpio"
    made.write_bytes(data)
    return image.Image(vmlinuz, made, release, hashlib.sha256(data).hexdigest()[:16])


def plan() -> bytes:
    chance = random.Random(1)
    rows = [f"P {proc} 0 0 0" for proc in range(READERS)]
    for _ in range(READS):
        rows += [f"Q {proc} after 0 R {chance.randrange(SPAN) // 8 * 8} 8 own" for proc in range(READERS)]
    return ("\n".join(rows) + "\n").encode()


def script() -> str:
    wanted = [module for name in SCHEDULERS for module in of_scheduler(name)]
    lines = [
        f"OPTIONS_scsi_debug='max_queue={TAGS} ndelay={SERVICE_NS} fake_rw=1 virtual_gb=100 dev_size_mb=8 max_luns=2 submit_queues=1'",
        f"modules sd_mod scsi_debug {' '.join(wanted)}",
        "for again in $(seq 100); do [ -b /dev/sda ] && [ -b /dev/sdb ] && break; sleep 0.1; done; [ -b /dev/sdb ]",
        "mount -t tracefs tracefs /sys/kernel/tracing",
        "mount -t debugfs debugfs /sys/kernel/debug",
        "put 16384 /sys/kernel/tracing/buffer_size_kb",
        "put 1 /sys/kernel/tracing/events/block/block_rq_issue/enable",
        "put 1 /sys/kernel/tracing/events/block/block_rq_complete/enable",
        # scsi_debug calls itself non-rotating; bfq then merges the queues of readers that begin together, as it does not on a disk.
        "for disk in sda sdb; do put 1 /sys/block/$disk/queue/rotational; done",
        'nr() { echo "$1 $(cat /sys/block/sda/queue/nr_requests)" >> $2; }',
    ]
    for scheduler in SCHEDULERS:
        for depth in DEPTHS:
            out, queue = f"/out/{scheduler}.{depth}", "/sys/block/sda/queue"
            lines += [
                f"put none {queue}/scheduler; put {TAGS - 1} /sys/block/sda/device/queue_depth; put {scheduler} {queue}/scheduler",
                f"nr chosen {out}.nr",
                f"put {depth} /sys/block/sda/device/queue_depth; nr depth {out}.nr",
                f"put none {queue}/scheduler; put {scheduler} {queue}/scheduler; nr again {out}.nr",
                f"cat {queue}/iosched/async_depth > {out}.async 2>/dev/null || true",
                f"cat /sys/kernel/debug/block/sda/sched/async_depth > {out}.kyber 2>/dev/null || true",
                f"cat /sys/kernel/debug/block/sda/hctx0/sched_tags > {out}.sched_tags 2>/dev/null || true",
                "put 0 /sys/kernel/tracing/tracing_on; echo > /sys/kernel/tracing/trace; put 1 /sys/kernel/tracing/tracing_on",
                "/cell/submit /dev/sda < /cell/plan > /dev/null",
                f"put 0 /sys/kernel/tracing/tracing_on; cat /sys/kernel/tracing/trace > {out}.trace",
            ]
    lines += [
        "for disk in sda sdb; do put none /sys/block/$disk/queue/scheduler; put 32 /sys/block/$disk/device/queue_depth; done",
        "echo > /sys/kernel/tracing/trace; put 1 /sys/kernel/tracing/tracing_on",
        "/cell/submit /dev/sda < /cell/plan > /dev/null & other=$!",
        "/cell/submit /dev/sdb < /cell/plan > /dev/null; wait $other",
        "put 0 /sys/kernel/tracing/tracing_on; cat /sys/kernel/tracing/trace > /out/shared.trace",
    ]
    return "\n".join(lines) + "\n"


def run_of(trace: str) -> dict[str, dict[str, float]]:
    """By device: the most requests in it at once, and the mean distance of requests in a row."""
    inside: dict[str, int] = {}
    most: dict[str, int] = {}
    at: dict[str, list[int]] = {}
    for line in trace.splitlines():
        if (found := ROW.search(line)) is None:
            continue
        event, device, sector = found.groups()
        inside[device] = inside.get(device, 0) + (1 if event == "block_rq_issue" else -1)
        most[device] = max(most.get(device, 0), inside[device])
        if event == "block_rq_issue":
            at.setdefault(device, []).append(int(sector))
    return {
        device: {
            "in_drive_most": most[device],
            "distance": apart(row),
            "distance_quarters": [
                apart(row[len(row) * n // PARTS : len(row) * (n + 1) // PARTS]) for n in range(PARTS)
            ],
            "issued": len(row),
        }
        for device, row in at.items()
    }


def apart(row: list[int]) -> float:
    """Mean distance of requests in a row, as a share of the span."""
    return round(sum(abs(b - a) for a, b in zip(row, row[1:], strict=False)) / (len(row) - 1) / SPAN, 3)


def number(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None


def record(series: str) -> dict:
    made = guest(kernels.find(series))
    files = {
        "cell/run.sh": CpioEntry.file(script().encode()),
        "cell/plan": CpioEntry.file(plan()),
        "cell/submit": CpioEntry.file(vectors._submit(), executable=True),
    }
    result = machine.boot(machine.Boot(made, files, 1800.0))
    rows = []
    for scheduler in SCHEDULERS:
        for depth in DEPTHS:
            name = f"{scheduler}.{depth}"
            requests = dict(line.split() for line in result.text(f"{name}.nr").splitlines())
            tags = dict(re.findall(r"(\w+)=(\d+)", result.text(f"{name}.sched_tags")))
            limits = {
                "async_depth": number(result.text(f"{name}.async")) or number(result.text(f"{name}.kyber")),
                "min_shallow_depth": number(tags.get("min_shallow_depth", "")),
            }
            (seen,) = run_of(result.text(f"{name}.trace")).values()
            rows.append({"scheduler": scheduler, "queue_depth": depth, **{f"nr_requests_{k}": int(v) for k, v in requests.items()},
                         **{k: v for k, v in limits.items() if v is not None}, **seen})  # fmt: skip
    shared = [each["in_drive_most"] for each in run_of(result.text("shared.trace")).values()]
    return {"kernel": made.release, "rows": rows, "shared": shared}


def say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(kernels.KERNELS)
    about = {
        "made_by": "tools/record_tags.py",
        "tags": TAGS,
        "rotational": 1,
        "readers": READERS,
        "reads_each": READS,
        "service_ns": SERVICE_NS,
    }
    print(json.dumps({**about, "kernels": [record(series) for series in wanted]}, indent=1))
