"""Requests a second of two classes of priority under mq-deadline, as a real kernel in the VM testbed serves them.

    .venv/bin/python benches/class_rates.py [SERIES…]        6.1 without

scsi_debug: 1 ms a command, 16 commands at once. One job in class realtime and one in best-effort, reads of 4 KiB through libaio.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import product

from md_instructions import boot

from seekwise_proof.testbed import image, kernels, programs

CASES = (
    *product((("randread", "randread"),), ((32, 32), (16, 32), (32, 256)), (100_000, 0)),
    *product((("read", "read"), ("read", "randread")), ((32, 32),), (100_000, 0)),
)
QUEUE = "/sys/block/sda/queue"
SECONDS = 1


def main(series: Sequence[str]) -> None:
    programs.drive = lambda say: b""  # scsi_debug needs no server
    image.MODULES = (*image.MODULES, "sd_mod")
    for name in series:
        made = image.build(kernels.find(name), lambda text: print(text, file=sys.stderr))
        options = "ndelay=1000000 max_queue=16 dev_size_mb=64"
        lines = ["mkdir -p /out", f"OPTIONS_scsi_debug='{options}'", "modules sd_mod scsi_debug"]
        lines += ["for i in 1 2 3 4 5 6 7 8 9; do [ -e /dev/sda ] && break; sleep 0.2; done", "ls /sys/block"]
        for number, (operations, (depth, tags), aging_ms) in enumerate(CASES):
            job = "--filename=/dev/sda --direct=1 --bs=4k --ioengine=libaio --time_based --norandommap"
            lines += [
                f"put mq-deadline {QUEUE}/scheduler",
                f"put {tags} {QUEUE}/nr_requests",
                f"put {aging_ms} {QUEUE}/iosched/prio_aging_expire",
                f"fio {job} --iodepth={depth} --runtime={SECONDS} --rw={operations[0]} --name=rt --prioclass=1 --prio=4 --output-format=json --output=/out/{number}.rt --eta=never &",
                f"fio {job} --iodepth={depth} --runtime={SECONDS} --rw={operations[1]} --name=be --prioclass=2 --prio=4 --output-format=json --output=/out/{number}.be --eta=never",
                "wait",
            ]
        found = boot(made, lines)
        for number, (operations, (depth, tags), aging_ms) in enumerate(CASES):
            jobs = [json.loads(found.text(f"{number}.{of}"))["jobs"][0] for of in ("rt", "be")]
            rates = "\t".join(f"{job['read']['iops']:.0f}" for job in jobs)
            print(f"{name}\t{'+'.join(operations)}\t{depth}\t{tags}\t{aging_ms}\t{rates}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["6.1"])
