"""From a system's set-up to cells of the compiled simulator, and back to numbers.

Two kinds: direct requests on one drive behind the multi-queue layer (`simulate_cells`), and whole storage - several drives
under a volume, files of a file system, page cache - behind either kind of queue (`simulate_storage`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from seekwise import _core, controllers
from seekwise.simulate.setups.setup import MIB, Setup, drive_model
from seekwise.simulate.setups.value import NotModelled
from seekwise.workload.study.parameters import of_model

# What the texts' programs print as MB: tiotest and tiobench count MiB (tiotest.c, tiobench.pl), and so does fio before 3.0.
PRINTED_MB = MIB
PAGE_BYTES = 4096
# gnome-disks prints decimal units (g_format_size).
GNOME_DISKS_MB = 10**6
METRICS = ("rate", "access", "access_max", "syscpu", "cpu", "cpueff")
SINGLE_QUEUE_UNTIL = (5, 0)
# Length of a simulated run. A disk's rate is steady to a few percent over this many seconds of reading and this many random requests.
SEQUENTIAL_S = 20
RANDOM_S = 60
# Where the data lie on a logical volume: after the volume's own metadata (1 MiB, the default of LVM2 since 2.02.75) and past the first
# block group of the file system; a bare partition starts at its first block.
VOLUME_OFFSET_BYTES = 129 * MIB
# The volume's own metadata alone, below a file system that is simulated.
VOLUME_METADATA_BYTES = MIB
# Memory of a machine about which nothing is said (range 0.5 to 4 GiB; what matters is how much smaller than the files it is).
MEMORY_BYTES = 2**30
# Sequential phases go through this many times the memory - the machine's, or a card's if that is larger - in all rather than through
# whole files: rates are steady by then, and what one phase leaves in memory is gone before the next comes to it, as in a whole pass.
SPAN_OF_MEMORY = 3
# Order of tiotest; each phase finds page cache and drives as the one before left them (tiotest.c, no -F).
TIOTEST_ORDER = ("seq_write", "rand_write", "seq_read", "rand_read")


def version(kernel: str) -> tuple[int, ...]:
    """Numbers of a kernel version; NotModelled for what is none."""
    numbers = tuple(int(part) for part in re.findall(r"\d{1,9}", kernel)[:3])
    if not numbers or not re.fullmatch(r"\d{1,9}(\.\d{1,9}){1,3}", kernel):
        raise NotModelled(f"kernel `{kernel[:40]}` is not understood")
    return numbers


def spec(setup: Setup, operation: str, scheduler: str, threads: int, seed: int) -> str:
    """The cell as text, also its key. Raises NotModelled."""
    if not drive_model(setup.drive):
        raise NotModelled(f"there is no model of the drive {setup.drive}")
    single_queue = version(setup.kernel) < SINGLE_QUEUE_UNTIL
    if setup.samples is not None and (operation.startswith("rand") or threads != 1 or not single_queue):
        raise NotModelled("gnome-disks reads and writes in order, one request at a time, on a kernel up to 4.20 here")
    alone = setup.level is None and setup.controller is None and setup.filesystem is None
    if setup.direct and not single_queue and alone:
        return json.dumps({"cell": _direct_cell(setup, operation, scheduler, threads, seed)}, sort_keys=True)
    return json.dumps(
        shortened(_storage(setup, operation, scheduler, threads, seed), _span_bytes(setup, threads)), sort_keys=True
    )


def _direct_cell(setup: Setup, operation: str, scheduler: str, threads: int, seed: int) -> dict:
    random = operation.startswith("rand")
    ios = (setup.random_ios or 1000) if random else max(1, setup.file_bytes // setup.block_bytes)
    job = {
        "threads": threads,
        "pattern": "random" if random else "sequential",
        "read_percent": 100.0 if operation.endswith("read") else 0.0,
        "block_bytes": setup.block_bytes,
        "own_regions": True,
        "region_start_bytes": _start_bytes(setup),
        "region_bytes": threads * setup.file_bytes,
        "ios": ios,
    }
    return {
        "seed": seed,
        "device": _device(setup),
        "queue": {**setup.queue, "scheduler": scheduler, "kernel": setup.kernel, "hz": setup.hz},
        "host": _host(setup),
        "phases": [{"operation": operation, "jobs": [job]}],
    }


def _storage(setup: Setup, operation: str, scheduler: str, threads: int, seed: int) -> dict:
    on_files = not setup.direct or setup.filesystem is not None
    return {
        "seed": seed,
        "device": _device(setup),
        "queue": {**setup.queue, "scheduler": scheduler, "kernel": setup.kernel, "hz": setup.hz},
        "host": _host(setup),
        "read_ahead_kib": setup.read_ahead_kib,
        "load": {
            "buffered": not setup.direct,
            "random": operation.startswith("rand"),
            "write": operation.endswith("write"),
            "threads": threads,
            "block_bytes": setup.block_bytes,
            "start_bytes": _start_bytes(setup),
            "file_bytes": setup.file_bytes,
            "span_ns": (RANDOM_S if operation.startswith("rand") else SEQUENTIAL_S) * 10**9,
            "spread": None if setup.samples is None else _gnome_disks(setup, operation),
            "files": _files(setup, operation, threads) if on_files else None,
        },
    }


def _host(setup: Setup) -> dict:
    if setup.host is not None:
        return {"model": setup.host, "parameters": of_model(setup.parameters, setup.host)}
    # A host model has its own number of them.
    return {} if setup.processors is None else {"processors": setup.processors}


def _device(setup: Setup) -> dict:
    """A drive alone, under md, or behind a controller."""
    device: dict[str, object] = {
        "model": setup.drive,
        "parameters": of_model(setup.parameters, setup.drive),
        # Behind a controller NCQ is the controller's to switch; the host keeps as many commands on its unit either way.
        "depth": setup.queue_depth if setup.ncq or setup.controller else 1,
    }
    part = {"level": setup.level, "member_bytes": setup.partition_bytes}
    if setup.controller is not None:
        unit = {**part, "model": setup.controller, "drives": setup.drives}
        unit["choices"] = {"ncq": setup.ncq, **({"chunk_kib": setup.chunk_kib} if setup.chunk_kib else {})}
        unit["parameters"] = of_model(setup.parameters, setup.controller)
        return {**device, "controller": unit}
    if setup.level is not None:
        # RAID 1 has no chunks.
        chunk_kib = None if setup.level == "raid1" else setup.chunk_kib
        return {**device, "array": {**part, "members": setup.drives, "chunk_kib": chunk_kib}}
    if setup.drives != 1:
        raise NotModelled(f"{setup.drives} drives without a RAID level")
    return {**device, "bytes": setup.partition_bytes}


def _gnome_disks(setup: Setup, operation: str) -> dict:
    """What gnome-disks does for each sample (benchmark dialog of gnome-disk-utility 3.x, and the tests of udisks' OpenForBenchmark).

    The device is open with O_DIRECT and O_SYNC. One page is read at the sample's place, then the sample is read and timed. A test with writing then
    reads the page again and writes the sample back; its time includes two flushes, of O_SYNC and of the fsync behind it.
    """
    page = {"call": "read", "bytes": PAGE_BYTES}
    steps = [page, {"call": "read", "bytes": setup.block_bytes, "starts_clock": True}]
    if operation.endswith("write"):
        written = {"call": "write", "bytes": setup.block_bytes, "starts_clock": True}
        steps += [page, written, {"call": "flush"}, {"call": "flush"}]
    return {"calls": setup.samples, "steps": steps}


def _start_bytes(setup: Setup) -> int:
    if not setup.on_volume:
        return 0
    return VOLUME_OFFSET_BYTES if setup.direct and setup.filesystem is None else VOLUME_METADATA_BYTES


def _files(setup: Setup, operation: str, threads: int) -> dict:
    """tiotest's four phases over the same files, or the one of a fio job over files that lie there already."""
    if setup.direct or version(setup.kernel) >= SINGLE_QUEUE_UNTIL:
        return _files_of_fio(setup, operation, threads)
    order = TIOTEST_ORDER if setup.engine is None else (operation,)
    memory = setup.memory_bytes or MEMORY_BYTES
    return {
        "filesystem": setup.filesystem or ("ext4" if setup.on_volume else "raw"),
        "memory_bytes": memory,
        "written": order[0] != "seq_write",
        "phases": [
            {
                "write": phase.endswith("write"),
                "random": phase.startswith("rand"),
                "calls": (setup.random_ios or 1000) if phase.startswith("rand") else None,
                "fsync": phase.endswith("write"),
                **({"o_sync": True} if setup.sync and phase.endswith("write") else {}),
            }
            for phase in order
        ],
        "report": order.index(operation),
    }


def _files_of_fio(setup: Setup, operation: str, threads: int) -> dict:
    """One phase over files that fio has laid out; caches are dropped before it, as every backend does."""
    random, write = operation.startswith("rand"), operation.endswith("write")
    memory = setup.memory_bytes or MEMORY_BYTES
    phase = {
        "write": write,
        "random": random,
        "calls": setup.random_ios if random else None,
        "depth": setup.iodepth,
        "runtime_ns": round(setup.runtime_s * 1e9) if setup.runtime_s is not None else None,
        "fsync": write and setup.end_fsync,
        "o_sync": write and setup.sync,
    }
    return {
        "filesystem": setup.filesystem or ("ext4" if setup.on_volume else "raw"),
        "memory_bytes": memory,
        "written": True,
        "phases": [phase],
        "report": 0,
    }


def _span_bytes(setup: Setup, threads: int) -> int | None:
    """How much of each file sequential phases go through; None for all of it."""
    if setup.direct or setup.runtime_s is not None:
        return None
    memory = setup.memory_bytes or MEMORY_BYTES
    if version(setup.kernel) < SINGLE_QUEUE_UNTIL:
        memory = max(memory, _memory_of_card(setup))
    return max(64 * MIB, SPAN_OF_MEMORY * memory // threads)


def shortened(storage: dict, span_bytes: int | None) -> dict:
    """A document of the storage whose sequential phases go through a part of each file; `whole`: how many times as long the whole pass is.

    Reading a part stands for the end of a pass: what the writing pass left in a controller has gone to the drives meanwhile. So the machine is
    idle before it, for as long as the rest of a pass takes, of which the writing pass gives the length.
    """
    document: dict = {"storage": storage}
    load = storage["load"]
    if load["files"] is None or span_bytes is None:
        return document
    pages, file_pages = (load[name] // PAGE_BYTES for name in ("block_bytes", "file_bytes"))
    span = min(max(span_bytes // PAGE_BYTES, pages), file_pages)
    if span == file_pages:
        return document
    whole = file_pages / span
    files = load["files"]
    written = None
    for place, phase in enumerate(files["phases"]):
        if phase["random"] or phase["calls"] is not None:
            continue
        phase["calls"] = max(1, span // max(1, pages))
        if phase["write"]:
            written = place if written is None else written
        elif written is not None:
            phase["idle"] = {"phase": written, "times": whole - 1}
        if place == files["report"]:
            document["whole"] = whole
    return document


def _of_whole_pass(result: dict, whole: float) -> dict:
    """Part of a pass takes too little time when a controller's memory still holds much of it at the end: of the whole pass it would hold no
    more. The times are those that the part takes at the pace of the whole."""
    part, held = float(result["bytes"]), float(result.get("held_bytes", 0))
    if held >= part or held == 0:
        return result
    longer = part / (part - held) * (part * whole - held) / (part * whole)
    return {
        **result,
        "elapsed_ns": round(result["elapsed_ns"] * longer),
        "latency_mean_ns": result["latency_mean_ns"] * longer,
    }


def _memory_of_card(setup: Setup) -> int:
    card = controllers.known(setup.controller) if setup.controller is not None else None
    return 0 if card is None else int(card["parameters"]["cache_mib"]["value"]) * MIB


Tell = Callable[[int, int], None]
"""Told after each run: how many cells are done, and of how many."""


def run(texts: list[str], workers: int, tell: Tell | None = None) -> list[dict[str, float] | str]:
    """Metrics of each cell, or why there are none."""
    return [
        str(result["error"]) if "error" in result else _metrics(json.loads(text), result)
        for text, result in zip(texts, raw(texts, workers, tell), strict=True)
    ]


def raw(texts: list[str], workers: int, tell: Tell | None = None) -> list[dict]:
    """What the compiled simulator says of each cell: its result, or `{"error": sentence}`. Runs go side by side."""
    documents = [json.loads(text) for text in texts]
    outcomes: list[dict] = [{}] * len(texts)
    before = 0
    for kind, function in (("cell", _core.simulate_cells), ("storage", _core.simulate_storage)):
        places = [place for place, document in enumerate(documents) if kind in document]
        specs = json.dumps([documents[place][kind] for place in places])
        for place, result in zip(
            places, json.loads(function(specs, workers, _after(before, len(texts), tell))), strict=True
        ):
            document = documents[place]
            outcomes[place] = (
                _of_whole_pass(result, document["whole"]) if "whole" in document and "bytes" in result else result
            )
        before += len(places)
    return outcomes


def _after(before: int, of: int, tell: Tell | None) -> Tell | None:
    """Tells of a part of the work as of the whole."""
    return None if tell is None else lambda done, _: tell(before + done, of)


def _metrics(document: dict, result: dict) -> dict[str, float]:
    if "cell" in document:
        return _of_cell(result)
    load = document["storage"]["load"]
    return {**_of_storage(result), **(cpu_metrics(result, load["threads"]) if "cpu" in result else {})}


def prints_ticks(kernel: str) -> bool:
    """Whether a program is told the ticks that fell on it. From 2.6.33 on its time is what the scheduler measured, and ticks only divide it
    into user and system time (Linux v2.6.33 kernel/sys.c, k_getrusage, and kernel/sched.c, thread_group_times): who always sleeps when a
    tick comes, as held-back writers do, would otherwise seem to cost nothing."""
    return version(kernel) < (2, 6, 33)


def cpu_metrics(result: dict, threads: int, *, ticks: bool = False) -> dict[str, float]:
    """CPU use as tiotest 0.3.3 works it out, and the data moved per second of system time, which its fault leaves alone.

    Each thread takes the time of the whole process (RUSAGE_SELF on NPTL) and the threads are added up: N times too much for N
    threads. `ticks`: what one run prints, from the kernel's ticks, which scatters by whole ticks; otherwise the exact time. The mean of many
    printed runs is the exact time only where work does not begin with a tick itself: what a timer wakes is seen too rarely, to 0.76 of it
    for md RAID 5 under cfq with eight readers, writers that several wait for 1.07 times. How much of that a machine shows hangs on how the
    ticks of its processors lie, so the exact time is judged. `cpueff_error`: the standard error that the ticks leave.
    """
    cpu, seconds = result["cpu"], result["elapsed_ns"] / 1e9
    if ticks:
        user, system = (cpu[name] / cpu["hz"] for name in ("user_ticks", "system_ticks"))
        system_seen = max(system, 1 / cpu["hz"])
        # n ticks are off by the square root of n.
        scatter = (system_seen * cpu["hz"]) ** -0.5
    else:
        user, system = cpu["user_s"], cpu["system_s"]
        system_seen, scatter = system, 0.0
    efficiency = result["bytes"] / PRINTED_MB / system_seen
    return {
        "syscpu": 100 * threads * system / seconds,
        "cpu": 100 * threads * (user + system) / seconds,
        "cpueff": efficiency,
        "cpueff_error": efficiency * scatter,
    }


def _of_cell(result: dict) -> dict[str, float]:
    (phase,) = result["phases"]
    return {
        "rate": phase["bytes"] / PRINTED_MB / (phase["elapsed_ns"] / 1e9),
        "access": phase["latency_mean_ns"] / 1e6,
        "access_max": phase["latency_max_ns"] / 1e6,
    }


def _of_storage(result: dict) -> dict[str, float]:
    samples = result.get("call_rate_mean")
    return {
        "rate": samples / GNOME_DISKS_MB if samples else result["bytes"] / PRINTED_MB / (result["elapsed_ns"] / 1e9),
        "access": result["latency_mean_ns"] / 1e6,
        "access_max": result["latency_max_ns"] / 1e6,
    }
