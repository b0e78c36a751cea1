"""Instructions of md's RAID 5 in the task that writes and in md's thread, counted in the VM testbed.

    .venv/bin/python benches/md_instructions.py [SERIES…]        6.1 without

The guest's clock counts instructions. One task writes in order past the page cache at depth 1, on null_blk without memory, ahead of every other thread:
what fio calls the time of a submission is what its call takes. `alone` is null_blk itself. md's thread is read from /proc/PID/schedstat; null_blk's requests
end in it. `rebuild` is a new drive of four. What a nanosecond holds of instructions follows from a rebuild that was timed (`crates/sim/src/cost/md.rs`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from seekwise_proof.testbed import image, kernels, machine, programs
from seekwise_proof.testbed.cpio import CpioEntry

IOS = 60
MEMBER_KIB, REBUILT_KIB = 1 << 20, 40 << 10
CHUNK_KIB = 64
MD = "/sys/block/md0/md"
MEMBERS = (4, 8)
REBUILT_OF = 4
TIMEOUT_S = 900.0


def main(series: Sequence[str]) -> None:
    programs.drive = lambda say: b""  # null_blk needs no server
    for name in series:
        made = image.build(kernels.find(name), lambda text: print(text, file=sys.stderr))
        for members in (1, *MEMBERS):
            stripe_kib = CHUNK_KIB * (members - 1) or CHUNK_KIB * (MEMBERS[-1] - 1)
            sizes_kib = (4, CHUNK_KIB, stripe_kib)
            found = boot(
                made, [*drives(members), *(array(members) if members > 1 else []), *writes(members, sizes_kib)]
            )
            for size_kib in sizes_kib:
                submit = json.loads(found.text(f"{size_kib}.json"))["jobs"][0]["write"]["slat_ns"]["mean"]
                of_thread = [int(line.split()[0]) for line in found.text(f"{size_kib}.thread").splitlines()]
                thread = (of_thread[1] - of_thread[0]) / IOS if of_thread else 0.0
                what = f"RAID 5 of {members}" if members > 1 else "alone"
                print(f"{name}\t{what}\t{size_kib} KiB\tsubmit {submit:.0f}\tthread {thread:.0f}", flush=True)
        found = boot(made, [*drives(REBUILT_OF), *array(REBUILT_OF, REBUILT_KIB, missing=1), *rebuild(REBUILT_OF - 1)])
        before, after = (int(found.text(file).split()[0]) for file in ("before", "after"))
        print(f"{name}\trebuild of {REBUILT_OF}\ta stripe\tthread {4 * (after - before) / REBUILT_KIB:.0f}", flush=True)


def boot(made: image.Image, lines: Sequence[str]) -> machine.Output:
    script = CpioEntry.file(("\n".join(lines) + "\n").encode())
    return machine.boot(machine.Boot(made, {"cell/run.sh": script}, TIMEOUT_S))


def drives(count: int) -> list[str]:
    options = f"nr_devices={count} gb=2 queue_mode=2 irqmode=0 completion_nsec=0 submit_queues=1 hw_queue_depth=128"
    schedulers = [f"put none /sys/block/nullb{number}/queue/scheduler" for number in range(count)]
    return ["mkdir -p /out", f"OPTIONS_null_blk='{options}'", "modules null_blk raid456", *schedulers]


def array(members: int, member_kib: int = MEMBER_KIB, missing: int = 0) -> list[str]:
    """Without superblocks: null_blk would not keep them."""
    settings = {
        "metadata_version": "none",
        "level": "raid5",
        "raid_disks": members,
        "chunk_size": CHUNK_KIB << 10,
        "layout": 2,
    }
    lines = ["echo md0 > /sys/module/md_mod/parameters/new_array"]
    lines += [f"put {value} {MD}/{name}" for name, value in settings.items()]
    lines += [line for number in range(members - missing) for line in member(number, member_kib)]
    lines += [
        f"put {member_kib} {MD}/component_size",
        f"put none {MD}/resync_start || true",
        f"put active {MD}/array_state",
    ]
    return [*lines, f"put 4096 {MD}/stripe_cache_size", "THREAD=$(pidof md0_raid5)"]


def member(number: int, member_kib: int) -> list[str]:
    own = f"{MD}/dev-nullb{number}"
    added = f"cat /sys/block/nullb{number}/dev > {MD}/new_dev"
    return [added, f"put {member_kib} {own}/size", f"put {number} {own}/slot"]


def writes(members: int, sizes_kib: Sequence[int]) -> list[str]:
    device, lines = "/dev/md0" if members > 1 else "/dev/nullb0", []
    job = f"--name=writer --filename={device} --direct=1 --rw=write --ioengine=libaio --iodepth=1 --number_ios={IOS} --size=1g"
    for size_kib in sizes_kib:
        kept = f"cat /proc/$THREAD/schedstat >> /out/{size_kib}.thread" if members > 1 else "true"
        output = f"--bs={size_kib}k --output-format=json --output=/out/{size_kib}.json --eta=never"
        lines += [kept, f"chrt -f 10 fio {job} {output}", kept]
    return lines


def rebuild(number: int) -> list[str]:
    return [
        *(f"put 10000000 {MD}/sync_speed_{end}" for end in ("max", "min")),
        "cat /proc/$THREAD/schedstat > /out/before",
        *(f"{line} || true" for line in member(number, REBUILT_KIB)),
        f"put recover {MD}/sync_action || true",
        "sleep 0.02",
        "while grep -q recovery /proc/mdstat; do sleep 0.01; done",
        "cat /proc/$THREAD/schedstat > /out/after",
    ]


if __name__ == "__main__":
    main(sys.argv[1:] or ["6.1"])
