"""Instructions of a direct request on a block device with and without a scheduler, and how often its process is switched from, counted in the VM testbed.

    .venv/bin/python benches/worker_instructions.py [SERIES…]        6.1 without

The guest's clock counts instructions. A request that kblockd's worker dispatches costs a switch to it: `ctx` of fio. At depth 128 the processor never idles,
so the time of a request is its instructions; at depth 1 null_blk's 20 us are in it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import product

from md_instructions import boot

from seekwise_proof.testbed import image, kernels, programs

IOS = 2000
LOADS = (("psync", 1), ("libaio", 128), ("io_uring", 128))


def main(series: Sequence[str]) -> None:
    programs.drive = lambda say: b""  # null_blk needs no server
    cases = list(product(("none", "mq-deadline"), LOADS, ("randread", "randwrite")))
    for name in series:
        made = image.build(kernels.find(name), lambda text: print(text, file=sys.stderr))
        options = "gb=2 queue_mode=2 irqmode=2 completion_nsec=20000 submit_queues=1 hw_queue_depth=128"
        lines = ["mkdir -p /out", f"OPTIONS_null_blk='{options}'", "modules null_blk"]
        for number, (scheduler, (engine, depth), operation) in enumerate(cases):
            job = f"--name=job --filename=/dev/nullb0 --direct=1 --rw={operation} --bs=4k --number_ios={IOS} --size=1g"
            queue = f"--ioengine={engine} --iodepth={depth}"
            lines += [
                f"put {scheduler} /sys/block/nullb0/queue/scheduler",
                f"fio {job} {queue} --output-format=json --output=/out/{number}.json --eta=never",
            ]
        found = boot(made, lines)
        for number, (scheduler, (engine, depth), operation) in enumerate(cases):
            job = json.loads(found.text(f"{number}.json"))["jobs"][0]
            each = 1e9 / job[operation.removeprefix("rand")]["iops"]
            print(
                f"{name}\t{scheduler}\t{engine}\t{depth}\t{operation}\t{each:.0f}\t{job['ctx'] / IOS:.2f}", flush=True
            )


if __name__ == "__main__":
    main(sys.argv[1:] or ["6.1"])
