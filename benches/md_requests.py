"""Requests that RAID 5 and 6 make of direct writes: a real kernel in the VM testbed against the simulator, by counts.

    .venv/bin/python benches/md_requests.py [SERIES…]        6.1 and 6.12 without

Members take the same time for every request: null_blk in the guest, `null` in the simulator. The guest's processor does 5.1 times less in a
nanosecond than the simulator's (`benches/md_instructions.py`), so its members take 5.1 times as long. A guest has one processor.
Printed of each: KiB read and written per KiB of the program's, and KiB of a member's request.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from md_instructions import MD, boot, member

from seekwise import _core
from seekwise_proof.testbed import image, kernels, programs

MEMBER_NS = 100_000
GUEST_FACTOR = 5.1
MEMBER_KIB = 1 << 20
STRIPES = 256
RAID = (("raid5", 4), ("raid5", 5), ("raid5", 8), ("raid6", 6))
CHUNKS_KIB = (64, 512)
SEQUENTIAL_KIB, DEPTHS = (4, 64, 0, 1024, 10240), (1, 2, 8, 32)
RANDOM_KIB, RANDOM_DEPTHS = (4, 64), (1, 4, 32)
"""0: a full stripe."""
MIN_IOS, MAX_IOS, KIB = 48, 1500, 48 << 10


@dataclass(frozen=True)
class Case:
    level: str
    members: int
    chunk_kib: int
    pattern: str
    kib: int
    depth: int

    @property
    def ios(self) -> int:
        return max(MIN_IOS, 4 * self.depth, min(MAX_IOS, KIB // self.kib))

    @property
    def data(self) -> int:
        return self.members - (1 if self.level == "raid5" else 2)


@dataclass(frozen=True)
class Counts:
    read: float
    written: float
    kib: float

    def __str__(self) -> str:
        return f"{self.read:.3f}\t{self.written:.3f}\t{self.kib:.1f}"


def cases() -> Iterator[list[Case]]:
    """Those of an array together: one guest."""
    for level, members in RAID:
        for chunk in CHUNKS_KIB:
            stripe = chunk * (members - (1 if level == "raid5" else 2))
            sequential = [
                Case(level, members, chunk, "write", kib or stripe, depth) for kib in SEQUENTIAL_KIB for depth in DEPTHS
            ]
            yield sequential + [
                Case(level, members, chunk, "randwrite", kib, depth) for kib in RANDOM_KIB for depth in RANDOM_DEPTHS
            ]


def guest(made: image.Image, of_array: Sequence[Case]) -> list[Counts]:
    first = of_array[0]
    latency = int(MEMBER_NS * GUEST_FACTOR)
    options = f"nr_devices={first.members} gb=2 queue_mode=2 irqmode=2 completion_nsec={latency} submit_queues=1 hw_queue_depth=64 max_sectors=2560"
    settings = {
        "metadata_version": "none",
        "level": first.level,
        "raid_disks": first.members,
        "chunk_size": first.chunk_kib << 10,
        "layout": 2,
    }
    lines = ["mkdir -p /out", f"OPTIONS_null_blk='{options}'", "modules null_blk raid456"]
    lines += [f"put none /sys/block/nullb{number}/queue/scheduler" for number in range(first.members)]
    lines += ["echo md0 > /sys/module/md_mod/parameters/new_array"]
    lines += [f"put {value} {MD}/{name}" for name, value in settings.items()]
    lines += [line for number in range(first.members) for line in member(number, MEMBER_KIB)]
    lines += [
        f"put {MEMBER_KIB} {MD}/component_size",
        f"put none {MD}/resync_start || true",
        f"put active {MD}/array_state",
        "cat /sys/block/md0/queue/max_sectors_kb /sys/block/nullb0/queue/max_sectors_kb > /out/limits",
    ]
    for number, case in enumerate(of_array):
        job = f"--name=writer --filename=/dev/md0 --direct=1 --rw={case.pattern} --bs={case.kib}k --ioengine=libaio --iodepth={case.depth}"
        seen = f"cat /sys/block/nullb*/stat >> /out/{number}.stat"
        lines += [
            # No row of the case before stays in the cache.
            f"put 17 {MD}/stripe_cache_size",
            f"put {STRIPES} {MD}/stripe_cache_size",
            seen,
            f"chrt -f 10 fio {job} --number_ios={case.ios} --norandommap --output-format=json --output=/out/{number}.json --eta=never",
            "sleep 0.2",
            seen,
        ]
    found = boot(made, lines)
    print(found.text("limits").split(), file=sys.stderr)
    counts = []
    for number, _ in enumerate(of_array):
        rows = [[int(word) for word in line.split()] for line in found.text(f"{number}.stat").splitlines()]
        half = len(rows) // 2
        total = [sum(row[place] for row in rows[half:]) - sum(row[place] for row in rows[:half]) for place in range(7)]
        asked = json.loads(found.text(f"{number}.json"))["jobs"][0]["write"]["io_kbytes"]
        requests = total[0] + total[4]
        counts.append(Counts(total[2] / 2 / asked, total[6] / 2 / asked, (total[2] + total[6]) / 2 / max(requests, 1)))
    return counts


def simulated(series: str, of_array: Sequence[Case]) -> list[Counts]:
    specs = []
    for case in of_array:
        array = {
            "level": case.level,
            "members": case.members,
            "chunk_kib": case.chunk_kib,
            "member_bytes": MEMBER_KIB << 10,
            "stripe_cache_size": STRIPES,
        }
        job = {
            "threads": 1,
            "depth": case.depth,
            "pattern": "random" if case.pattern == "randwrite" else "sequential",
            "read_percent": 0.0,
            "block_bytes": case.kib << 10,
            "ios": case.ios,
        }
        specs.append(
            {
                "name": "counts",
                "seed": 1,
                "device": {"model": "null", "parameters": {"latency_us": MEMBER_NS / 1e3}, "array": array},
                "queue": {"scheduler": "none", "kernel": series},
                "phases": [{"operation": "write", "jobs": [job]}],
            }
        )
    counts = []
    for case, answer in zip(of_array, json.loads(_core.simulate_cells(json.dumps(specs), 1)), strict=True):
        phase = answer["phases"][0]
        parts = phase["members"]
        asked = case.ios * case.kib
        read, written, commands = (
            sum(part[key] for part in parts) for key in ("bytes_read", "bytes_written", "commands")
        )
        counts.append(Counts(read / 1024 / asked, written / 1024 / asked, (read + written) / 1024 / max(commands, 1)))
    return counts


def main(series: Sequence[str]) -> None:
    programs.drive = lambda say: b""  # null_blk needs no server
    print("kernel\tarray\tchunk\tpattern\tKiB\tdepth\tread\twritten\tsize\tsim read\tsim written\tsim size")
    for name in series:
        made = image.build(kernels.find(name), lambda text: print(text, file=sys.stderr))
        for of_array in cases():
            for case, real, model in zip(of_array, guest(made, of_array), simulated(name, of_array), strict=True):
                array = f"{case.level} of {case.members}"
                print(
                    f"{name}\t{array}\t{case.chunk_kib}\t{case.pattern}\t{case.kib}\t{case.depth}\t{real}\t{model}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:] or ["6.1", "6.12"])
