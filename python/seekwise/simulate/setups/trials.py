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
from seekwise.simulate.setups.setup import GNOME_DISKS_SAMPLES, MIB, NotModelled, Setup, drive_model
from seekwise.simulate.spec import Answer, PhaseAnswer, Reported, Spec
from seekwise.simulate.trial_spec import background_jobs, cache_spec, job_spec, phase_spec, spec_of_trial
from seekwise.workload.study.plan import Load, PlannedPhase

SAMPLED = "gnome-disks"

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


def spec(setup: Setup, operation: str, seed: int) -> str:
    """The trial as text, also its key. Raises NotModelled."""
    system, load = setup.system, setup.load
    if not drive_model(str(system.drive)):
        raise NotModelled(f"there is no model of the drive {system.drive}")
    single_queue = _is_single_queue(setup)
    if load.program == SAMPLED and (operation.startswith("rand") or load.threads != 1 or not single_queue):
        raise NotModelled("gnome-disks reads and writes in order, one request at a time, on a kernel up to 4.20 here")
    alone = setup.level is None and system.controller is None and setup.filesystem is None
    if load.direct and not single_queue and alone:
        step = PlannedPhase(operation, setup.runtime_s, _random_ios(setup) if operation.startswith("rand") else None)
        phase = phase_spec(load, {"region_start_bytes": _start_bytes(setup)}, step)
        return json.dumps({"cell": _machine(setup, seed, [phase])}, sort_keys=True)
    return json.dumps(shortened(on_files(setup, operation, seed), setup, _span_bytes(setup)), sort_keys=True)


def _is_single_queue(setup: Setup) -> bool:
    return version(str(setup.system.kernel)) < SINGLE_QUEUE_UNTIL


def _random_ios(setup: Setup) -> int:
    return setup.random_ios or 1000


def _machine(setup: Setup, seed: int, phases: list[Spec]) -> Spec:
    system, values = setup.system, dict(setup.values)
    options = dict(system.options)
    if "host" in options:
        # A host model has its own number of them.
        options.pop("processors", None)
    if system.controller is not None:
        # NCQ is the controller's to switch; the host keeps as many commands on its unit either way.
        depth = values.pop("queue_depth", None)
        if depth not in (None, 1):
            raise NotModelled(f"queue_depth {depth} behind a controller, other than 1 (NCQ off)")
        options["ncq"] = options.get("ncq", "on") if depth is None else "off"
    return spec_of_trial(system.model_copy(update={"options": options}), values, seed=seed, phases=phases)


def on_files(setup: Setup, operation: str, seed: int) -> Spec:
    """The trial, and which of its phases is asked for."""
    load, order = setup.load, _order(setup, operation)
    in_files = not load.direct or setup.filesystem is not None
    trial = _machine(setup, seed, [_phase(setup, name, in_files) for name in order])
    trial["files"] = {
        "filesystem": (setup.filesystem or ("ext4" if setup.is_on_volume else "raw")) if in_files else "raw",
        "start_bytes": _start_bytes(setup),
        # tiotest's first phase makes the files; fio has laid them out.
        "written": load.direct or not _is_single_queue(setup) or order[0] != "seq_write",
    }
    if in_files:
        trial["cache"] = cache_spec(setup.memory_bytes, setup.values)
    return {"cell": trial, "report": order.index(operation)}


def _order(setup: Setup, operation: str) -> tuple[str, ...]:
    """tiotest's four phases over the same files, or the one of a fio job over files that lie there already."""
    is_tiotest = not setup.load.direct and _is_single_queue(setup) and setup.workload.engine is None
    return TIOTEST_ORDER if is_tiotest else (operation,)


def _phase(setup: Setup, operation: str, in_files: bool) -> Spec:
    load = setup.load
    is_random, write = operation.startswith("rand"), operation.endswith("write")
    job = job_spec("", operation, load)
    calls = max(1, load.size_bytes // PAGE_BYTES // max(1, load.block_bytes // PAGE_BYTES))
    phase: Spec = {"operation": operation, "jobs": [job, *background_jobs(load)]}
    if load.program == SAMPLED and not in_files:
        job |= {"own_regions": True, "ios": GNOME_DISKS_SAMPLES, "steps": _gnome_disks(load, operation)}
    else:
        region_bytes = load.threads * (load.size_bytes // PAGE_BYTES * PAGE_BYTES)
        job |= {"own_regions": True, "region_bytes": region_bytes, "ios": calls}
    if not in_files:
        phase["runtime_ns"] = (RANDOM_S if is_random else SEQUENTIAL_S) * 10**9
        return phase
    job["o_sync"] = write and load.sync
    if _is_single_queue(setup) and not load.direct:
        job |= {"fsync": write, "ios": _random_ios(setup) if is_random else calls}
        return phase
    job["fsync"] = write and load.end_fsync
    if setup.runtime_s is not None:
        del job["ios"]
        phase["runtime_ns"] = round(setup.runtime_s * 1e9)
    elif is_random:
        job["ios"] = setup.random_ios or calls
    return phase


def _gnome_disks(load: Load, operation: str) -> list[Spec]:
    """What gnome-disks does for each sample (benchmark dialog of gnome-disk-utility 3.x, and the tests of udisks'
    OpenForBenchmark).

    The device is open with O_DIRECT and O_SYNC. One page is read at the sample's place, then the sample is read and
    timed. A test with writing then reads the page again and writes the sample back; its time includes two flushes, of
    O_SYNC and of the fsync behind it.
    """
    page = {"call": "read", "bytes": PAGE_BYTES}
    steps = [page, {"call": "read", "bytes": load.block_bytes, "starts_clock": True}]
    if operation.endswith("write"):
        written = {"call": "write", "bytes": load.block_bytes, "starts_clock": True}
        steps += [page, written, {"call": "flush"}, {"call": "flush"}]
    return steps


def _start_bytes(setup: Setup) -> int:
    if not setup.is_on_volume:
        return 0
    return VOLUME_OFFSET_BYTES if setup.load.direct and setup.filesystem is None else VOLUME_METADATA_BYTES


def _span_bytes(setup: Setup) -> int | None:
    """How much of each file sequential phases go through; None for all of it."""
    if setup.load.direct or setup.runtime_s is not None:
        return None
    memory = setup.memory_bytes
    if _is_single_queue(setup):
        memory = max(memory, _memory_of_card(setup.system.controller))
    return max(64 * MIB, SPAN_OF_MEMORY * memory // setup.load.threads)


def shortened(document: Spec, setup: Setup, span_bytes: int | None) -> Spec:
    """A document whose sequential phases go through a part of each file; `whole`: how many times as long the whole pass
    is.

    Reading a part stands for the end of a pass: what the writing pass left in a controller has gone to the drives
    meanwhile. So the machine is idle before it, for as long as the rest of a pass takes, of which the writing pass
    gives the length.
    """
    if span_bytes is None:
        return document
    pages, file_pages = (size // PAGE_BYTES for size in (setup.load.block_bytes, setup.load.size_bytes))
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


def _memory_of_card(controller: str | None) -> int:
    card = controllers.model_of(controller) if controller is not None else None
    return 0 if card is None else int(card["parameters"]["cache_mib"]["value"]) * MIB


Tell = Callable[[int, int], None]
"""Told after each run: how many trials are done, and of how many."""


def raw(texts: list[str], workers: int, tell: Tell | None = None) -> list[Reported]:
    """What the compiled simulator says of each trial: its result, or `{"error": sentence}`. Runs go side by side, one
    for all its phases."""
    documents = [json.loads(text) for text in texts]
    keys = [json.dumps(document["cell"], sort_keys=True) for document in documents]
    trials = {key: document["cell"] for key, document in zip(keys, documents, strict=True)}
    # Many threads take longest: some of each number in turn, so that the first runs foretell the rest.
    order = sorted(trials, key=lambda key: (-trials[key]["phases"][0]["jobs"][0]["threads"], key))
    step = max(1, len(order) // 8)
    order = [key for first in range(step) for key in order[first::step]]

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
