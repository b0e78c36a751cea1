"""Rate and instructions of a request where more tasks than tags share one hardware queue, in the VM testbed.

    .venv/bin/python benches/one_queue.py [SERIES…]        6.1 without

null_blk with one queue, 1 ms a request, without scheduler; psync, so each task has one request. Instructions are what fio says of processor time: the guest's clock counts them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from md_instructions import boot

from seekwise_proof.testbed import image, kernels, programs

IOS = 300
CASES = ((64, 32), (16, 32), (64, 16), (16, 16), (8, 32))


def main(series: Sequence[str]) -> None:
    programs.drive = lambda say: b""  # null_blk needs no server
    for name in series:
        made = image.build(kernels.find(name), lambda text: print(text, file=sys.stderr))
        for tags, tasks in CASES:
            options = f"gb=2 queue_mode=2 irqmode=2 completion_nsec=1000000 submit_queues=1 hw_queue_depth={tags}"
            job = f"--name=job --filename=/dev/nullb0 --direct=1 --rw=randread --bs=4k --number_ios={IOS} --size=1g --norandommap"
            lines = [
                "mkdir -p /out",
                f"OPTIONS_null_blk='{options}'",
                "modules null_blk",
                "put none /sys/block/nullb0/queue/scheduler",
                f"fio {job} --ioengine=psync --thread --numjobs={tasks} --group_reporting --output-format=json --output=/out/job --eta=never",
            ]
            job = json.loads(boot(made, lines).text("job"))["jobs"][0]
            ios = job["read"]["total_ios"]
            busy_ns = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] * 1e6
            print(
                f"{name}\t{tags}\t{tasks}\t{job['read']['iops']:.0f}\t{busy_ns / ios:.0f}\t{job['ctx'] / ios:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:] or ["6.1"])
