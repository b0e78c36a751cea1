"""From a system's set-up to trials of the compiled simulator, and back to numbers.

Direct requests on one drive behind the multi-queue layer are jobs on regions; everything else - several drives under a
volume, files of a file system, page cache, either kind of queue - are jobs on files. Questions about phases of one
trial share its run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import cast

from seekwise import _core, controllers
from seekwise.simulate.setups.setup import MIB, NotModelled, Setup, drive_model
from seekwise.simulate.spec import Answer, PhaseAnswer, Reported, Spec

# What load generators print as MB: tiotest and tiobench count MiB (tiotest.c, tiobench.pl), and so does fio before 3.0.
PRINTED_MB = MIB
PAGE_BYTES = 4096
SINGLE_QUEUE_UNTIL = (5, 0)
# Length of a simulated run. A disk's rate is steady to a few percent over this many seconds of reading and this many
# random requests.
SEQUENTIAL_S = 20
RANDOM_S = 60
# Where the data lie on a logical volume: after the volume's own metadata (1 MiB, the default of LVM2 since 2.02.75) and
# past the first block group of the file system; a bare partition starts at its first block.
VOLUME_OFFSET_BYTES = 129 * MIB
# The volume's own metadata alone, below a file system that is simulated.
VOLUME_METADATA_BYTES = MIB
# Memory of a machine about which nothing is said (range 0.5 to 4 GiB; what matters is how much smaller than the files
# it is).
MEMORY_BYTES = 2**30
# Sequential phases go through this many times the memory - the machine's, or a card's if that is larger - in all rather
# than through whole files: rates are steady by then, and what one phase leaves in memory is gone before the next comes
# to it, as in a whole pass.
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
    """The trial as text, also its key. Raises NotModelled."""
    if not drive_model(setup.drive):
        raise NotModelled(f"there is no model of the drive {setup.drive}")
    single_queue = version(setup.kernel) < SINGLE_QUEUE_UNTIL
    if setup.samples is not None and (operation.startswith("rand") or threads != 1 or not single_queue):
        raise NotModelled("gnome-disks reads and writes in order, one request at a time, on a kernel up to 4.20 here")
    alone = setup.level is None and setup.controller is None and setup.filesystem is None
    if setup.direct and not single_queue and alone:
        return json.dumps({"cell": _direct_trial(setup, operation, scheduler, threads, seed)}, sort_keys=True)
    asked = _on_files(setup, operation, scheduler, threads, seed)
    return json.dumps(shortened(asked, setup, _span_bytes(setup, threads)), sort_keys=True)


def _direct_trial(setup: Setup, operation: str, scheduler: str, threads: int, seed: int) -> Spec:
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
    return {**_machine(setup, scheduler, seed), "phases": [{"operation": operation, "jobs": [job]}]}


def _machine(setup: Setup, scheduler: str, seed: int) -> dict[str, object]:
    return {
        "seed": seed,
        "device": _device(setup),
        "queue": {**setup.queue, "scheduler": scheduler, "kernel": setup.kernel, "hz": setup.hz},
        "host": _host(setup),
    }


def _on_files(setup: Setup, operation: str, scheduler: str, threads: int, seed: int) -> Spec:
    """The trial, and which of its phases is asked for."""
    order = _order(setup, operation)
    on_files = not setup.direct or setup.filesystem is not None
    trial: dict[str, object] = {
        **_machine(setup, scheduler, seed),
        "files": {
            "filesystem": (setup.filesystem or ("ext4" if setup.on_volume else "raw")) if on_files else "raw",
            "start_bytes": _start_bytes(setup),
            # tiotest's first phase makes the files; fio has laid them out.
            "written": setup.direct or version(setup.kernel) >= SINGLE_QUEUE_UNTIL or order[0] != "seq_write",
        },
        "phases": [_phase(setup, name, threads, on_files) for name in order],
    }
    if on_files:
        trial["cache"] = {
            "limit_bytes": setup.memory_bytes or MEMORY_BYTES,
            "read_ahead_kib": setup.read_ahead_kib,
        }
    return {"cell": trial, "report": order.index(operation)}


def _order(setup: Setup, operation: str) -> tuple[str, ...]:
    """tiotest's four phases over the same files, or the one of a fio job over files that lie there already."""
    tiotest = not setup.direct and version(setup.kernel) < SINGLE_QUEUE_UNTIL and setup.engine is None
    return TIOTEST_ORDER if tiotest else (operation,)


def _phase(setup: Setup, operation: str, threads: int, on_files: bool) -> Spec:
    random, write = operation.startswith("rand"), operation.endswith("write")
    old = version(setup.kernel) < SINGLE_QUEUE_UNTIL
    job: dict[str, object] = {
        "threads": threads,
        "pattern": "random" if random else "sequential",
        "read_percent": 0.0 if write else 100.0,
        "block_bytes": setup.block_bytes,
        "direct": setup.direct,
        "own_regions": True,
        "region_bytes": threads * (setup.file_bytes // PAGE_BYTES * PAGE_BYTES),
        **setup.job,
    }
    calls = max(1, setup.file_bytes // PAGE_BYTES // max(1, setup.block_bytes // PAGE_BYTES))
    phase: dict[str, object] = {"operation": operation, "jobs": [job, *setup.background]}
    if not on_files:
        phase["runtime_ns"] = (RANDOM_S if random else SEQUENTIAL_S) * 10**9
        job["ios"] = calls
        if setup.samples is not None:
            job |= {"ios": setup.samples, "steps": _gnome_disks(setup, operation)}
            del job["region_bytes"]
        return phase
    if old and not setup.direct:
        job["fsync"], job["o_sync"] = write, write and setup.sync
        job["ios"] = (setup.random_ios or 1000) if random else calls
        return phase
    job |= {"depth": setup.iodepth, "fsync": write and setup.end_fsync, "o_sync": write and setup.sync}
    if setup.runtime_s is not None:
        phase["runtime_ns"] = round(setup.runtime_s * 1e9)
    else:
        job["ios"] = setup.random_ios if random and setup.random_ios else calls
    return phase


def _host(setup: Setup) -> Spec:
    if setup.host is not None:
        return {"model": setup.host}
    # A host model has its own number of them.
    return {} if setup.processors is None else {"processors": setup.processors}


def _device(setup: Setup) -> Spec:
    """A drive alone, under md, or behind a controller."""
    device: dict[str, object] = {
        "model": setup.drive,
        "parameters": dict(setup.drive_parameters),
        # Behind a controller NCQ is the controller's to switch; the host keeps as many commands on its unit either way.
        "depth": setup.queue_depth if setup.ncq or setup.controller else 1,
    }
    part = {"level": setup.level, "member_bytes": setup.partition_bytes}
    if setup.controller is not None:
        unit: Spec = {**part, "model": setup.controller, "drives": setup.drives}
        unit["choices"] = {"ncq": setup.ncq, **({"chunk_kib": setup.chunk_kib} if setup.chunk_kib else {})}
        return {**device, "controller": unit}
    if setup.level is not None:
        # RAID 1 has no chunks.
        chunk_kib = None if setup.level == "raid1" else setup.chunk_kib
        return {**device, "array": {**part, "members": setup.drives, "chunk_kib": chunk_kib, **setup.array}}
    if setup.drives != 1:
        raise NotModelled(f"{setup.drives} drives without a RAID level")
    return {**device, "bytes": setup.partition_bytes}


def _gnome_disks(setup: Setup, operation: str) -> list[Spec]:
    """What gnome-disks does for each sample (benchmark dialog of gnome-disk-utility 3.x, and the tests of udisks'
    OpenForBenchmark).

    The device is open with O_DIRECT and O_SYNC. One page is read at the sample's place, then the sample is read and
    timed. A test with writing then reads the page again and writes the sample back; its time includes two flushes, of
    O_SYNC and of the fsync behind it.
    """
    page = {"call": "read", "bytes": PAGE_BYTES}
    steps = [page, {"call": "read", "bytes": setup.block_bytes, "starts_clock": True}]
    if operation.endswith("write"):
        written = {"call": "write", "bytes": setup.block_bytes, "starts_clock": True}
        steps += [page, written, {"call": "flush"}, {"call": "flush"}]
    return steps


def _start_bytes(setup: Setup) -> int:
    if not setup.on_volume:
        return 0
    return VOLUME_OFFSET_BYTES if setup.direct and setup.filesystem is None else VOLUME_METADATA_BYTES


def _span_bytes(setup: Setup, threads: int) -> int | None:
    """How much of each file sequential phases go through; None for all of it."""
    if setup.direct or setup.runtime_s is not None:
        return None
    memory = setup.memory_bytes or MEMORY_BYTES
    if version(setup.kernel) < SINGLE_QUEUE_UNTIL:
        memory = max(memory, _memory_of_card(setup))
    return max(64 * MIB, SPAN_OF_MEMORY * memory // threads)


def shortened(document: Spec, setup: Setup, span_bytes: int | None) -> Spec:
    """A document whose sequential phases go through a part of each file; `whole`: how many times as long the whole pass
    is.

    Reading a part stands for the end of a pass: what the writing pass left in a controller has gone to the drives
    meanwhile. So the machine is idle before it, for as long as the rest of a pass takes, of which the writing pass
    gives the length.
    """
    if span_bytes is None:
        return document
    pages, file_pages = (size // PAGE_BYTES for size in (setup.block_bytes, setup.file_bytes))
    span = min(max(span_bytes // PAGE_BYTES, pages), file_pages)
    if span == file_pages:
        return document
    whole = file_pages / span
    written = None
    for place, phase in enumerate(document["cell"]["phases"]):
        job = phase["jobs"][0]
        if job["pattern"] == "random":
            continue
        job["ios"] = max(1, span // max(1, pages))
        if job["read_percent"] == 0.0:
            written = place if written is None else written
        elif written is not None:
            phase["idle"] = {"phase": written, "times": whole - 1}
        if place == document["report"]:
            document["whole"] = whole
    return document


def _of_whole_pass(result: Reported, whole: float) -> Reported:
    """Part of a pass takes too little time when a controller's memory still holds much of it at the end: of the whole
    pass it would hold no more. The times are those that the part takes at the pace of the whole."""
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
    card = controllers.model_of(setup.controller) if setup.controller is not None else None
    return 0 if card is None else int(card["parameters"]["cache_mib"]["value"]) * MIB


Tell = Callable[[int, int], None]
"""Told after each run: how many trials are done, and of how many."""


def raw(texts: list[str], workers: int, tell: Tell | None = None) -> list[Reported]:
    """What the compiled simulator says of each trial: its result, or `{"error": sentence}`. Runs go side by side, one
    for all its phases."""
    documents = [json.loads(text) for text in texts]
    keys = [json.dumps(document["cell"], sort_keys=True) for document in documents]
    trials = {key: document["cell"] for key, document in zip(keys, documents, strict=True)}
    # Many threads take longest: they go first, so that no processor is left waiting for the last run.
    order = sorted(trials, key=lambda key: (-trials[key]["phases"][0]["jobs"][0]["threads"], key))

    def told(done: int, of: int) -> None:
        if tell is not None:
            tell(done * len(texts) // of, len(texts))

    results = json.loads(_core.simulate_cells(json.dumps([trials[key] for key in order]), workers, told))
    runs = dict(zip(order, results, strict=True))
    return [_answer_of(document, runs[key]) for key, document in zip(keys, documents, strict=True)]


def _answer_of(document: Spec, result: Answer) -> Reported:
    """Of a run what its document asks for."""
    if "error" in result or "report" not in document:
        return cast("Reported", result)
    phase = cast("Reported", {**result["phases"][document["report"]], "run": result})
    if phase["ios"] == 0:
        return cast("Reported", {"error": "no call was done in the time given"})
    return _of_whole_pass(phase, document["whole"]) if "whole" in document else phase


def prints_ticks(kernel: str) -> bool:
    """Whether a program is told the ticks that fell on it. From 2.6.33 on its time is what the scheduler measured, and
    ticks only divide it into user and system time (Linux v2.6.33 kernel/sys.c, k_getrusage, and kernel/sched.c,
    thread_group_times): who always sleeps when a tick comes, as held-back writers do, would otherwise seem to cost
    nothing."""
    return version(kernel) < (2, 6, 33)


def cpu_metrics(result: PhaseAnswer, threads: int, *, ticks: bool = False) -> dict[str, float]:
    """CPU use as tiotest 0.3.3 works it out, and the data moved per second of system time, which its fault leaves
    alone.

    Each thread takes the time of the whole process (RUSAGE_SELF on NPTL) and the threads are added up: N times too much
    for N threads. `ticks`: what one run prints, from the kernel's ticks, which scatters by whole ticks; otherwise the
    exact time. The mean of many printed runs is the exact time only where work does not begin with a tick itself: what
    a timer wakes is seen too rarely, to 0.76 of it for md RAID 5 under cfq with eight readers, writers that several
    wait for 1.07 times. How much of that a machine shows hangs on how the ticks of its processors lie, so the exact
    time is judged. `cpueff_error`: the standard error that the ticks leave.
    """
    cpu, seconds = result["cpu"], result["elapsed_ns"] / 1e9
    if ticks:
        user, system = cpu["user_ticks"] / cpu["hz"], cpu["system_ticks"] / cpu["hz"]
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
