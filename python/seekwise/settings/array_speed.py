"""Why is an md array no faster than one drive? What level, chunk, requests, the md thread and the members allow, and
which of them binds.

Without load: five usual loads on one member and on the array, both simulated with a drive model of the members' class.
While it works: what md and its members did between two readings of the kernel's counters. Either way the bound is read
off who was busy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from seekwise import _core, drive_names, invocation
from seekwise.control import lines
from seekwise.errors import UsageError
from seekwise.linux.block_device import BlockDevice
from seekwise.linux.diskstats import DiskCounters
from seekwise.linux.resolve import ResolvedPath
from seekwise.number_text import three
from seekwise.report.layout import wrapped
from seekwise.settings.drive_class import class_of
from seekwise.simulate import trial_spec
from seekwise.simulate.spec import PhaseAnswer, Spec
from seekwise.workload.study import quantity
from seekwise.workload.study.quantity import bytes_text

BUSY = 0.9
"""Share of the time from which a member or thread is called busy, simulated and measured alike."""
MOSTLY = 0.3
"""The same of a processor that cuts requests: their pieces are sent at the end, so drives and processor work by turns."""
PIECES = 4
"""From so many pieces of a request on, cutting is named."""
ALONE = 1.5
"""Requests at a time up to which a load is called one after the other."""
GAIN = 1.25
"""An array that is faster than one drive by less is called no faster."""
MIB = 2**20
PARITY = ("raid4", "raid5", "raid6")
SECONDS = {True: 4.0, False: 0.25}
"""Simulated, by whether members rotate."""
KNOWN_LEVELS = ("raid0", "raid1", "raid5", "raid6", "raid10")


@dataclass(frozen=True)
class LoadBound:
    """One load: what one drive gives, what the array gives, and what binds there."""

    load: str
    unit: str
    """`MB/s` or `requests/s`."""
    drive: float
    array: float
    binds: str

    @property
    def gain(self) -> float:
        """Times one drive."""
        return self.array / self.drive if self.drive else 0.0


@dataclass(frozen=True)
class ArrayBounds:
    """`doctor ARRAY --json`."""

    SCHEMA: ClassVar = "seekwise.array-speed/1"

    headline: str
    array: str
    what: str
    """Level, members, chunk, bitmap."""
    loads: tuple[LoadBound, ...]
    drive_model: str
    measured: str = ""
    """With --watch: what it did, and what bound it."""
    provenance: str = "simulated"


@dataclass(frozen=True)
class Seen:
    """Who was busy while an array worked, all as shares of the time: simulated or counted."""

    members: Mapping[str, float]
    thread: float
    """Of one processor, by md's thread."""
    task: float
    at_once: float
    """Requests of the array under way, on average."""
    request_bytes: float
    write_share: float


def array_of(path: ResolvedPath) -> BlockDevice | None:
    """The first md array with a level that is modelled, from the top down."""
    return next(
        (device for device in path.chain() if device.kind == "md" and device.details.get("level") in KNOWN_LEVELS),
        None,
    )


def spec_of(device: BlockDevice) -> Spec:
    """The array as the simulator takes it."""
    details = device.details
    level = str(details["level"])
    spec: Spec = {"level": level, "members": int(details.get("raid_disks") or len(device.below))}
    if level != "raid1" and details.get("chunk_bytes"):
        spec["chunk_kib"] = int(details["chunk_bytes"]) // 1024
    layout = str(details.get("layout_name", ""))
    if level == "raid10" and "," not in layout and "=" in layout:
        kind, copies = layout.split("=")
        spec["layout"] = f"{kind[0]}{copies}"
    if level in PARITY and details.get("stripe_cache_size"):
        spec["stripe_cache_size"] = int(details["stripe_cache_size"])
    if details.get("bitmap") not in (None, "", "none") and level != "raid0":
        spec["bitmap"] = "internal"
    missing = int(details.get("degraded") or 0)
    if missing:
        spec["missing"] = sorted(place * int(spec["members"]) // missing for place in range(missing))
    return spec


def model_of(members: Sequence[BlockDevice]) -> str:
    """The drive model of the first member that is known by name, else what stands for its class."""
    for member in members:
        try:
            return drive_names.find(member.model or "")
        except UsageError:
            continue
    rotational = any(member.rotational for member in members)
    name = next(filter(None, map(class_of, members)), "hard disk" if rotational else "SATA SSD")
    return drive_names.TYPICAL[name]


def bounds(path: ResolvedPath, device: BlockDevice, kernel: str | None, measured: str = "") -> ArrayBounds:
    """Simulates the usual loads on one member and on the array. UsageError for an array that cannot be modelled."""
    model = model_of(path.leaves)
    rotational = bool(path.leaves and path.leaves[0].rotational)
    array = spec_of(device)
    version = kernel_of(kernel)
    loads = []
    for title, unit, job in LOADS:
        alone = _simulated(model, None, job, version, rotational)
        whole = _simulated(model, array, job, version, rotational)
        rates = [_rate(phase, unit) for phase in (alone, whole)]
        phrase = binds(seen_in(whole, job), array, are_alike=True)
        for without, words in STATES:
            # What binds for as long as the array is in this state: without it the same load is faster.
            if without in array and not (without == "bitmap" and job["read_percent"]):
                healthy = {name: value for name, value in array.items() if name != without}
                if _rate(_simulated(model, healthy, job, version, rotational), unit) > GAIN * rates[1]:
                    phrase = words
        loads.append(LoadBound(title, unit, rates[0], rates[1], phrase))
    return ArrayBounds(
        _headline(device.name, loads, array), device.name, words_of(array), tuple(loads), model, measured
    )


STATES = (
    ("bitmap", "the bitmap: its page is written and flushed before the data"),
    ("missing", "the missing member: what it held is computed from the others"),
)
LOADS: tuple[tuple[str, str, Spec], ...] = (
    ("read 1 MiB at a time", "MB/s", {"pattern": "sequential", "block_bytes": MIB, "read_percent": 100.0}),
    ("write 1 MiB at a time", "MB/s", {"pattern": "sequential", "block_bytes": MIB, "read_percent": 0.0}),
    ("read 4 KiB, one at a time", "requests/s", {"pattern": "random", "block_bytes": 4096, "read_percent": 100.0}),
    ("read 4 KiB, 32 at a time", "requests/s", {"pattern": "random", "block_bytes": 4096, "read_percent": 100.0, "depth": 32}),
    ("write 4 KiB, one at a time", "requests/s", {"pattern": "random", "block_bytes": 4096, "read_percent": 0.0}),
)  # fmt: skip


def kernel_of(release: str | None) -> str:
    """`6.1` of `6.1.0-18-amd64`; what is modelled by default where it is not known."""
    parts = (release or "").split(".")
    return (
        ".".join(parts[:2])
        if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit()
        else trial_spec.KERNEL_DEFAULT
    )


def _rate(phase: PhaseAnswer, unit: str) -> float:
    amount: float = phase["bytes"] / 1e6 if unit == "MB/s" else phase["ios"]
    return amount * 1e9 / float(phase["elapsed_ns"])


def _simulated(model: str, array: Spec | None, job: Spec, kernel: str, rotational: bool) -> PhaseAnswer:
    device: dict[str, object] = {"model": model} if array is None else {"model": model, "array": array}
    phase = {"operation": "load", "runtime_ns": round(SECONDS[rotational] * 1e9), "jobs": [{"direct": True, **job}]}
    queue = {"scheduler": trial_spec.default_scheduler(kernel, model), "kernel": kernel}
    (result,) = json.loads(
        _core.simulate_cells(json.dumps([{"seed": 1, "device": device, "queue": queue, "phases": [phase]}]), 1)
    )
    if "error" in result:
        raise UsageError(f"this array cannot be modelled: {result['error']}", hint="--watch 30s shows what it does")
    phase_of_load: PhaseAnswer = result["phases"][-1]
    return phase_of_load


def seen_in(phase: PhaseAnswer, job: Spec) -> Seen:
    """Of a simulated phase."""
    elapsed = phase["elapsed_ns"]
    cpu = phase["cpu"]
    members = {f"member {place}": member["busy_ns"] / elapsed for place, member in enumerate(phase["members"])}
    # The completions of one program run where it runs.
    task = (cpu["user_s"] + cpu["system_s"] + cpu["irq_s"]) * 1e9 / elapsed
    return Seen(
        members, cpu["thread_s"] * 1e9 / elapsed, task, float(job.get("depth", 1)), float(job["block_bytes"]),
        1.0 - float(job["read_percent"]) / 100,
    )  # fmt: skip


def counted(
    device: str, members: Sequence[str], moved: Mapping[str, DiskCounters], thread_s: float, seconds: float
) -> Seen | None:
    """Of two readings of /proc/diskstats; None where the array did nothing."""
    own = moved.get(device, DiskCounters())
    if own.ios == 0 or seconds <= 0:
        return None
    busy = {name: moved[name].busy_ms / 1e3 / seconds for name in members if name in moved}
    at_once = (own.read_ms + own.write_ms) / 1e3 / seconds
    # Kernels before 5.18 keep no times for md: then the members' requests stand for them.
    if not at_once:
        at_once = sum(moved[name].read_ms + moved[name].write_ms for name in busy) / 1e3 / seconds
    return Seen(busy, thread_s / seconds, 0.0, at_once, own.bytes / own.ios, own.write_bytes / max(own.bytes, 1))


def binds(seen: Seen, array: Spec, *, are_alike: bool = False) -> str:
    """What keeps it from being faster, as a phrase. `are_alike`: members cannot differ in speed, as in a simulation."""
    level, chunk = str(array["level"]), int(str(array.get("chunk_kib", 0))) * 1024
    shares = sorted(seen.members.values())
    if seen.thread >= BUSY:
        return f"md's one thread, {100 * min(seen.thread, 1.0):.0f} % of a processor"
    pieces = seen.request_bytes / chunk if chunk and level in ("raid0", "raid10") else 0
    cut = f": each request is cut into {pieces:.0f} pieces" if pieces >= PIECES else ""
    # A fast drive counts as busy with one request and takes many more: the processor comes first.
    if seen.task >= BUSY or (cut and seen.task >= MOSTLY):
        return f"the program's processor{cut}"
    if shares and shares[0] >= BUSY:
        if level in PARITY and seen.write_share > 0.5 and not fills_stripes(seen.request_bytes, array):
            return "all drives: each write reads and writes data and parity"
        if level in ("raid1", "raid10") and seen.write_share > 0.5:
            return "all drives: every block is written twice"
        return "all drives are busy"
    if not are_alike and len(shares) > 1 and shares[-1] >= BUSY and shares[0] < 0.5 * shares[-1]:
        slow = max(seen.members, key=lambda name: seen.members[name])
        return f"{slow} is busy {100 * shares[-1]:.0f} % of the time, others wait for it"
    if seen.at_once <= ALONE:
        if level in PARITY and seen.write_share > 0.5 and not fills_stripes(seen.request_bytes, array):
            return "one at a time: old data and parity are read, then both written"
        if seen.write_share > 0.5 and level in ("raid1", "raid10"):
            return "one at a time, and the slower of two copies ends it"
        # An average of counted requests says nothing of what is left over of a stripe.
        if are_alike and level in PARITY and seen.write_share > 0.5 and seen.request_bytes % row_bytes(array):
            row = row_bytes(array) // 1024
            return f"one at a time: each ends inside a stripe of {row} KiB, so md reads the rest"
        if chunk and seen.request_bytes > chunk:
            return "one at a time: drives wait between requests"
        return "one at a time, so one drive works and the others wait"
    return "requests under way are too few to keep all drives busy"


def row_bytes(array: Spec) -> int:
    """Data of a row of chunks."""
    parities = {"raid6": 2}.get(str(array["level"]), 1)
    return int(array.get("chunk_kib", 512)) * 1024 * (int(array["members"]) - parities)


def fills_stripes(request_bytes: float, array: Spec) -> bool:
    """Whether a request covers at least one row of data chunks, so that parity needs no reads."""
    return request_bytes >= row_bytes(array)


def words_of(array: Spec) -> str:
    """`RAID 5 of 4, chunk 512 KiB, bitmap internal`."""
    parts = [f"RAID {str(array['level']).removeprefix('raid')} of {array['members']}"]
    parts += [f"chunk {array['chunk_kib']} KiB"] if "chunk_kib" in array else []
    parts += [f"layout {array['layout']}"] if "layout" in array else []
    parts += ["internal bitmap"] if "bitmap" in array else []
    parts += [f"{len(array['missing'])} missing"] if "missing" in array else []
    return ", ".join(parts)


def _headline(name: str, loads: Sequence[LoadBound], array: Spec) -> str:
    slow = [load for load in loads if load.gain < GAIN]
    if not slow:
        best = max(loads, key=lambda load: load.gain)
        return f"{name} should be faster than one drive under each of these loads, {best.gain:.1f} times where it gains most ({best.load})."
    named = " or ".join(f"{load.load} ({load.binds})" for load in slow[:2])
    more = f", or under {quantity.counted(len(slow) - 2, 'more load')} below" if len(slow) > 2 else ""
    return f"{name} is no faster than one drive when programs {named}{more}."


def advice_of(limits: ArrayBounds, array: Spec) -> str:
    """One change worth making, by what binds; empty where none of the array's own settings would help."""
    text = " ".join(load.binds for load in limits.loads)
    name = limits.array
    if "md's one thread" in text:
        return f"{lines.echo('4', f'/sys/block/{name}/md/group_thread_cnt')}   # more threads for stripes"
    if "pieces" in text:
        line = f"seekwise run raid-levels --vary raid_level={array['level']} --vary chunk_kib=64,128,512"
        return f"{invocation.line(line)}   # a larger chunk"
    if "one at a time" in text:
        return f"{invocation.line(f'sudo seekwise doctor {name} --watch 30s')}   # what it does under your load; more requests at a time use more drives"
    return ""


def table(limits: ArrayBounds) -> list[str]:
    """Rows of at most 80 columns."""
    rows = [f"{'One program':28}{'One drive':>12}{'Array':>12}  What binds"]
    for load in limits.loads:
        values = [f"{three(v)} MB/s" if load.unit == "MB/s" else f"{v:,.0f}/s" for v in (load.drive, load.array)]
        head = f"{load.load:28}{values[0]:>12}{values[1]:>12}  "
        rows += wrapped(load.binds, 80, head, " " * len(head))
    return rows


def measured_line(name: str, own: DiskCounters, seen: Seen, array: Spec, seconds: float) -> str:
    """What an array did while it was watched, and what bound it."""
    shares = ", ".join(f"{member} {100 * share:.0f} %" for member, share in seen.members.items())
    return (
        f"{name} moved {three(own.bytes / 1e6 / seconds)} MB/s in {own.ios / seconds:,.0f} requests/s of {bytes_text(round(seen.request_bytes / 512) * 512)} on "
        f"average, {seen.at_once:.1f} at a time; busy: {shares or 'no member'}, md's thread {100 * seen.thread:.0f} %. Bound: {binds(seen, array)}."
    )
