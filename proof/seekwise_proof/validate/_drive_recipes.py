"""What a published figure means: the requests that measure it on a drive's model, and how their answers become one
number."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KIB, MIB = 1024, 1 << 20
# Host time between a completion and the next command: a synchronous reader on SATA needs 5 us, an interrupt-driven one
# on NVMe 1.8 us, a polled one 0.39 us on one core (devices.toml, host.modern_x86_linux_5_15_plus); disks have slow
# hosts.
TURNAROUND_NS = {"hdd": 20_000, "sata": 5_000, "mmc": 5_000, "nvme": 1_800, "none": 0}
POLLED_NS = 390
NVME_WORKERS = 4  # Data sheets of NVMe drives quote "QD32" for four workers.
CHAIN = "chain"
"""Of `measure`: the proof's own (`_proof.measure_chain`); all others are the product's (`core.measure_drives`)."""
MAXIMUM_DEPTH = 512


@dataclass(frozen=True)
class Recipe:
    """How a figure is measured: requests to the core, and how their answers become one number."""

    requests: Sequence[dict[str, Any]]
    value: Callable[[Sequence[Mapping[str, Any]]], float]
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Drive:
    """A model and what a measurement needs to know of it."""

    name: str
    document: Mapping[str, Any]
    parameters: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_disk(self) -> bool:
        """Hard disk, as against flash."""
        return bool(self.document["kind"] == "hdd")

    @property
    def attachment(self) -> str:
        """`sata`, `nvme`, `mmc` or `none`."""
        return str(self.document["attachment"])

    @property
    def turnaround_ns(self) -> int:
        """Host time from a completion to the next command; sources at TURNAROUND_NS."""
        return TURNAROUND_NS["hdd" if self.is_disk else self.attachment]

    def number(self, key: str) -> float:
        """The model's value, else the parameter's default, else 0; in the unit of the parameter."""
        if key in self.document["parameters"]:
            return float(self.document["parameters"][key]["value"])
        default = next((known["default"] for known in self.document["known_parameters"] if known["key"] == key), None)
        return float(default or 0)

    def depth(self, queue: int) -> int:
        """Commands outstanding for a quoted queue depth."""
        return queue * NVME_WORKERS if self.attachment == "nvme" and queue > 1 else queue

    def loop(self, **load: Any) -> dict[str, Any]:
        """A request to the compiled simulator: 4 KiB random reads at depth 1, unless `load` says otherwise."""
        request = {
            "model": self.name,
            "measure": "loop",
            "sequential": False,
            "write": False,
            "block_bytes": 4 * KIB,
            "depth": 1,
            "turnaround_ns": self.turnaround_ns,
            "warm_up": 200 if self.is_disk else 20_000,
            "commands": 20_000 if self.is_disk else 100_000,
            "parameters": dict(self.parameters),
        }
        return {**request, **load}

    def stream(self, write: bool, **load: Any) -> dict[str, Any]:
        """As `loop`, but sequential: 128 KiB at depth 32."""
        return self.loop(
            sequential=True,
            write=write,
            **{"block_bytes": 128 * KIB, "depth": 32, "warm_up": 1000, "commands": 8000, **load},
        )


def _first(key: str) -> Callable[[Sequence[Mapping[str, float]]], float]:
    return lambda answers: float(answers[0][key])


def _mean(key: str) -> Callable[[Sequence[Mapping[str, float]]], float]:
    return lambda answers: sum(answer[key] for answer in answers) / len(answers)


def is_write(word: str) -> bool:
    """Of `read` or `write`, as keys of figures have them."""
    return word == "write"


def _stream_rate(drive: Drive, write: bool) -> Recipe:
    if drive.is_disk:
        return _edge(drive, 0.0)
    # A queue of large commands, in the fast cache where the drive has one.
    return Recipe([drive.stream(write)], _first("mb_per_s"))


def _rate_after_cache(drive: Drive) -> Recipe:
    cache_bytes = drive.number("slc_cache_gb") * 1e9
    warm_up = int(cache_bytes * 1.05 / MIB) + 1000
    return Recipe([drive.stream(True, block_bytes=MIB, warm_up=warm_up, commands=8000)], _first("mb_per_s"))


def _edge(drive: Drive, place: float) -> Recipe:
    # 256 MiB at one place of the disk: enough to cross hundreds of tracks.
    share = 256 * MIB / (drive.number("capacity_sectors") * 512)
    start = place * (1 - share)
    request = drive.stream(False, depth=1, warm_up=20, commands=1900)
    return Recipe([{**request, "from": start, "to": start + share}], _first("mb_per_s"))


def _whole_disk(drive: Drive) -> Recipe:
    """Mean of the rates at forty places, as drive benchmarks draw their curve."""
    requests = []
    for part in range(40):
        start = part / 40
        requests.append({**drive.stream(False, depth=1, warm_up=20, commands=200), "from": start, "to": start + 0.01})
    return Recipe(requests, _mean("mb_per_s"))


def random_load(drive: Drive, write: bool, depth: int, key: str = "iops", **load: Any) -> Recipe:
    """4 KiB at random, commands outstanding: `depth`. `key`: `iops`, or `latency_us` for the mean latency."""
    if drive.is_disk and write:
        # Published for disks with the cache on: in the long run its destaging decides.
        load = {"warm_up": 2000, **load}
    return Recipe([drive.loop(write=write, depth=depth, **load)], _first(key))


def _steady_writes(drive: Drive) -> Recipe:
    aged = {**drive.parameters, "aged": 1.0}
    request = drive.loop(write=True, depth=128, warm_up=200_000, commands=400_000, parameters=aged)
    return Recipe([request], _first("iops"))


def _arm_overhead_us(drive: Drive) -> float:
    """What a read costs besides seek and rotation."""
    tail = 4096 / drive.number("interface_mb_s") + drive.number("link_per_command_us")
    return (drive.number("command_overhead_ms") + drive.number("arm_setup_ms")) * 1000 + tail


def _full_stroke_ms(drive: Drive) -> Recipe:
    request = {
        "model": drive.name,
        "parameters": dict(drive.parameters),
        "measure": "next",
        "from": 0,
        "moments": 400,
        "sectors": [int(drive.number("capacity_sectors")) - 64],
    }
    return Recipe([request], lambda answers: answers[0]["ms"][0] - _arm_overhead_us(drive) / 1000)


def _mean_seek_ms(drive: Drive, write: bool) -> Recipe:
    parameters = {**drive.parameters, "write_cache": 0.0}
    half_turn_us = 30e6 / drive.number("rpm")
    return Recipe(
        [drive.loop(write=write, parameters=parameters)],
        lambda answers: (answers[0]["latency_us"] - half_turn_us - _arm_overhead_us(drive)) / 1000,
    )


def _chain_us(drive: Drive, steps: list[str], block_bytes: int, key: str = "latency_us") -> Recipe:
    request = {
        "model": drive.name,
        "parameters": dict(drive.parameters),
        "measure": CHAIN,
        "steps": steps,
        "block_bytes": block_bytes,
        "turnaround_ns": drive.turnaround_ns,
    }
    return Recipe([request], _first(key))


def packets(drive: Drive, random: bool, write: bool, kib: float, command_kib: float = 1280) -> Recipe:
    """A synchronous program moving packets; what is larger than a command is split, and its parts are out together."""
    parts = max(1, -(-int(kib) // int(command_kib)))
    load = {
        "sequential": not random,
        "write": write,
        "block_bytes": int(min(kib, command_kib)) * KIB,
        "depth": parts,
        "warm_up": 500,
        "commands": 8000,
    }
    # fio of that time printed MB/s for MiB/s; see devices.md, section 4.
    return Recipe([drive.loop(**load)], lambda answers: answers[0]["mb_per_s"] * 1e6 / MIB)


def _maximum_depth(drive: Drive) -> int:
    return int(min(MAXIMUM_DEPTH, drive.number("queue_depth") or drive.number("ncq_depth")))


def _minimum(recipe: Recipe, published: float) -> Recipe:
    return Recipe(recipe.requests, recipe.value, low=published, high=float("inf"))


# A figure's key, without the edition it belongs to, and its measurement. The first that matches counts.
Rule = tuple[str, Callable[[Drive, re.Match[str], float], Recipe]]
RULES: Sequence[Rule] = (
    # disks
    (r"(datasheet_)?sustained_outer_mb_s", lambda d, m, v: _edge(d, 0.0)),
    (r"(datasheet_)?sustained_inner_mb_s", lambda d, m, v: _edge(d, 1.0)),
    (r"\w*avg\w*_mb_s", lambda d, m, v: _whole_disk(d)),
    (r"(quiet_mode_|quiet_)?(seek_)?full_stroke_ms", lambda d, m, v: _full_stroke_ms(d)),
    (r"(quiet_)?seek_avg(_(?P<op>read|write))?_ms", lambda d, m, v: _mean_seek_ms(d, is_write(m["op"] or "read"))),
    (r"access_time(_random)?(_(?P<op>read|write))?_ms", lambda d, m, v: _milliseconds(_random_latency(d, m["op"]))),
    (r"(vendor_)?iops_qd(?P<qd>\d+)_(?P<op>read|write)", lambda d, m, v: _queued(d, m)),
    (r"iops_random_(?P<op>read|write)_4k_qd(?P<qd>\d+)", lambda d, m, v: _queued(d, m)),
    # solid state
    (r"seq_(?P<op>read|write)(_min)?_mb_s", lambda d, m, v: _or_minimum(m, v, _stream_rate(d, is_write(m["op"])))),
    (r"seq_write_after_slc_mb_s", lambda d, m, v: _rate_after_cache(d)),
    (
        r"iops_(?P<op>read|write)_4k_qd(?P<qd>\d+)",
        lambda d, m, v: random_load(d, is_write(m["op"]), d.depth(int(m["qd"]))),
    ),
    (
        r"iops_(?P<op>read|write)_4k_min",
        lambda d, m, v: _minimum(random_load(d, is_write(m["op"]), _maximum_depth(d)), v),
    ),
    (r"iops_(?P<op>read|write)_4k(_max)?", lambda d, m, v: random_load(d, is_write(m["op"]), _maximum_depth(d))),
    (r"iops_write_4k_steady", lambda d, m, v: _steady_writes(d)),
    (r"iops_(?P<bytes>512b|4k)_qd(?P<qd>\d+)_polled(_one_core)?", lambda d, m, v: _polled(d, m)),
    (
        r"lat_(?P<op>read|write)_4k(_qd1)?_us",
        lambda d, m, v: _with_host(d, random_load(d, is_write(m["op"]), 1, "latency_us")),
    ),
    (r"lat_seq_(?P<op>read|write)_4k_us", lambda d, m, v: _with_host(d, _small_stream(d, is_write(m["op"])))),
    (r"o_dsync_8k_us", lambda d, m, v: _chain_us(d, ["forced_write"], 8 * KIB)),
    # XFS writes the data, flushes, and forces its log.
    (r"fsync_8k_us", lambda d, m, v: _chain_us(d, ["write", "flush", "forced_write"], 8 * KIB)),
    (r"flush(_cache)?_us", lambda d, m, v: _chain_us(d, ["write", "flush"], 8 * KIB)),
    # points of comparison
    (r"qd1_us", lambda d, m, v: _with_host(d, random_load(d, False, 1, "latency_us"))),
    (r"qd(?P<qd>\d+)_us", lambda d, m, v: _with_host(d, random_load(d, False, int(m["qd"]), "latency_us"))),
    (r"qd(?P<qd>\d+)_iops", lambda d, m, v: random_load(d, False, int(m["qd"]))),
    (r"fsync_us", lambda d, m, v: _chain_us(d, ["write", "flush"], 4 * KIB)),
    (r"write_fsync_iops", lambda d, m, v: _chain_us(d, ["write", "flush"], 4 * KIB, "iops")),
)


def _queued(drive: Drive, match: re.Match[str]) -> Recipe:
    return random_load(drive, is_write(match["op"]), int(match["qd"]))


def _or_minimum(match: re.Match[str], published: float, recipe: Recipe) -> Recipe:
    return _minimum(recipe, published) if "_min_" in match.string else recipe


def _random_latency(drive: Drive, op: str | None) -> Recipe:
    return random_load(drive, is_write(op or "read"), 1, "latency_us")


def _milliseconds(recipe: Recipe) -> Recipe:
    return Recipe(recipe.requests, lambda answers: recipe.value(answers) / 1000)


def _with_host(drive: Drive, recipe: Recipe) -> Recipe:
    """Latencies are published as a program sees them."""
    return Recipe(recipe.requests, lambda answers: recipe.value(answers) + drive.turnaround_ns / 1000)


def _small_stream(drive: Drive, write: bool) -> Recipe:
    return Recipe([drive.loop(sequential=True, write=write, block_bytes=4 * KIB)], _first("latency_us"))


def _polled(drive: Drive, match: re.Match[str]) -> Recipe:
    """One core that polls: its time per command is in the way of everything else it does."""
    block_bytes = 512 if match["bytes"] == "512b" else 4 * KIB
    return random_load(drive, False, int(match["qd"]), block_bytes=block_bytes, turnaround_ns=0, core_ns=POLLED_NS)


def recipe_of(drive: Drive, figure: str, published: float) -> Recipe | None:
    """The first rule that matches; None where nothing measures the figure."""
    for pattern, recipe in RULES:
        if match := re.fullmatch(pattern, figure):
            return recipe(drive, match, published)
    return None
