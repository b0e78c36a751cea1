"""From a system's set-up to cells of the compiled simulator, and back to numbers.

Two kinds: direct requests on one drive behind the multi-queue layer (`simulate_cells`), and whole storage - several drives
under a volume, read through the page cache or directly - behind the single queue of the older kernels (`simulate_storage`).
"""

from __future__ import annotations

import json
import re

from seekwise import _core
from seekwise.study.parameters import of_model
from seekwise.world.setup import MIB, Setup, drive_model
from seekwise.world.value import NotModelled

# What the texts' programs print as MB: tiotest and tiobench count MiB (tiotest.c, tiobench.pl), and so does fio before 3.0.
PRINTED_MB = MIB
METRICS = ("rate", "access", "access_max")
SINGLE_QUEUE_UNTIL = (5, 0)
# Length of a simulated run. A disk's rate is steady to a few percent over this many seconds of reading and this many random requests.
SEQUENTIAL_S = 20
RANDOM_S = 60
# Where the data lie on a logical volume: after the volume's own metadata (1 MiB, the default of LVM2 since 2.02.75) and past the first
# block group of the file system; a bare partition starts at its first block.
VOLUME_OFFSET_BYTES = 129 * MIB


def version(kernel: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in re.findall(r"\d{1,9}", kernel)[:3])
    if not numbers or not re.fullmatch(r"\d{1,9}(\.\d{1,9}){1,3}", kernel):
        raise NotModelled(f"kernel `{kernel[:40]}` is not understood")
    return numbers


def spec(setup: Setup, operation: str, scheduler: str, threads: int, seed: int) -> str:
    """The cell as text, also its key. Raises NotModelled."""
    if not drive_model(setup.drive):
        raise NotModelled(f"there is no model of the drive {setup.drive}")
    single_queue = version(setup.kernel) < SINGLE_QUEUE_UNTIL
    if setup.direct and not single_queue and setup.level is None and setup.controller is None:
        return json.dumps({"cell": _direct_cell(setup, operation, scheduler, threads, seed)}, sort_keys=True)
    if not single_queue:
        raise NotModelled(f"kernel {setup.kernel} over several drives or through the page cache is not modelled")
    return json.dumps({"storage": _storage(setup, operation, scheduler, threads, seed)}, sort_keys=True)


def _direct_cell(setup: Setup, operation: str, scheduler: str, threads: int, seed: int) -> dict:
    random = operation.startswith("rand")
    ios = (setup.random_ios or 1000) if random else max(1, setup.file_bytes // setup.block_bytes)
    device: dict[str, object] = {"model": setup.drive}
    if not setup.ncq:
        device["depth"] = 1
    if of_drive := of_model(setup.parameters, setup.drive):
        device["parameters"] = of_drive
    job = {
        "threads": threads,
        "pattern": "random" if random else "sequential",
        "read_percent": 100.0 if operation.endswith("read") else 0.0,
        "block_bytes": setup.block_bytes,
        "own_regions": True,
        "region_bytes": threads * setup.file_bytes,
        "ios": ios,
    }
    return {
        "seed": seed,
        "device": device,
        "queue": {"scheduler": scheduler, "kernel": setup.kernel},
        "phases": [{"operation": operation, "jobs": [job]}],
    }


def _storage(setup: Setup, operation: str, scheduler: str, threads: int, seed: int) -> dict:
    write = operation.endswith("write")
    if not setup.direct:
        if write:
            raise NotModelled("writing through the page cache is not modelled")
        if setup.memory_bytes is not None and setup.file_bytes < 4 * setup.memory_bytes:
            raise NotModelled("files that fit into memory in part are not modelled")
    rotational = drive_model(setup.drive)["kind"] == "hdd"
    return {
        "seed": seed,
        "kernel": setup.kernel,
        "scheduler": scheduler,
        "hz": setup.hz,
        "drive": setup.drive,
        "drives": setup.drives,
        "level": setup.level,
        "chunk_kib": setup.chunk_kib,
        # Behind a controller NCQ is the controller's to switch; the host keeps as many commands on its unit either way.
        "depth": None if setup.ncq or setup.controller else 1,
        "controller": setup.controller,
        "controller_choices": {"ncq": setup.ncq} if setup.controller else {},
        "drive_parameters": of_model(setup.parameters, setup.drive),
        "controller_parameters": of_model(setup.parameters, setup.controller),
        "member_bytes": setup.partition_bytes,
        "modern_host": not rotational,
        "load": {
            "buffered": not setup.direct,
            "random": operation.startswith("rand"),
            "write": write,
            "threads": threads,
            "block_bytes": setup.block_bytes,
            "start_bytes": VOLUME_OFFSET_BYTES if setup.on_volume else 0,
            "file_bytes": setup.file_bytes,
            "span_ns": (RANDOM_S if operation.startswith("rand") else SEQUENTIAL_S) * 10**9,
        },
    }


def run(texts: list[str], workers: int) -> list[dict[str, float] | str]:
    """Metrics of each cell, or why there are none."""
    return [
        str(result["error"]) if "error" in result else (_of_cell if "cell" in json.loads(text) else _of_storage)(result)
        for text, result in zip(texts, raw(texts, workers), strict=True)
    ]


def raw(texts: list[str], workers: int) -> list[dict]:
    """What the compiled simulator says of each cell: its result, or `{"error": sentence}`."""
    documents = [json.loads(text) for text in texts]
    outcomes: list[dict] = [{}] * len(texts)
    for kind, function in (("cell", _core.simulate_cells), ("storage", _core.simulate_storage)):
        places = [place for place, document in enumerate(documents) if kind in document]
        if places:
            results = json.loads(function(json.dumps([documents[place][kind] for place in places]), workers))
            for place, result in zip(places, results, strict=True):
                outcomes[place] = result
    return outcomes


def _of_cell(result: dict) -> dict[str, float]:
    (phase,) = result["phases"]
    return {
        "rate": phase["bytes"] / PRINTED_MB / (phase["elapsed_ns"] / 1e9),
        "access": phase["latency_mean_ns"] / 1e6,
        "access_max": phase["latency_max_ns"] / 1e6,
    }


def _of_storage(result: dict) -> dict[str, float]:
    return {
        "rate": result["bytes"] / PRINTED_MB / (result["elapsed_ns"] / 1e9),
        "access": result["latency_mean_ns"] / 1e6,
        "access_max": result["latency_max_ns"] / 1e6,
    }
