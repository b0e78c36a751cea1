"""A fio job file that a study names: taken apart, checked against what a study may say, and placed onto our target.

A study may come from a stranger, and fio can run programs (`exec_prerun`, `ioengine=exec`), load libraries
(`ioengine=external:…`), write any file (`write_*_log`, `mem=mmaphuge:…`), change the machine (`ioscheduler`, `cgroup`),
and passes values with `$` to a shell (fio 3.33 parse.c bc_calc). So every option is refused that is not in the table
below, with values of plain characters and, where they choose among programs or files, from a list. Where the load works
is ours to say, and said last in every section.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from seekwise.errors import RefusedError, UsageError, reason
from seekwise.files import read_regular
from seekwise.measure.kernel.fio_job import FioTarget, directory, escaped

JOB_BYTES_MAX = 1 << 20
SECTIONS_MAX = 256
NUMJOBS_MAX = 4096

PLACE_OPTIONS = frozenset(
    {"directory", "filename", "filename_format", "unique_filename", "opendir", "offset", "size", "name"}
)
"""Ours to say. Of `size` the amount is kept, within the target."""
SEED_OPTIONS = frozenset({"randseed", "randrepeat", "allrandrepeat", "group_reporting", "create_only", "description"})

# Options of fio 3.33 that shape requests, their order and their rate, and nothing else.
ALLOWED = frozenset(
    """rw readwrite bs blocksize bsrange blocksize_range bssplit ba blockalign
    ioengine iodepth iodepth_batch iodepth_batch_submit iodepth_batch_complete iodepth_batch_complete_min
    iodepth_batch_complete_max iodepth_low serialize_overlap io_submit_mode hipri fixedbufs registerfiles sqthread_poll nonvectored
    io_size io_limit filesize nrfiles openfiles file_service_type number_ios
    norandommap random_generator random_distribution percentage_random softrandommap
    fallocate fadvise_hint fsync fdatasync sync direct buffered overwrite invalidate end_fsync fsync_on_close
    create_serialize create_fsync create_on_open pre_read
    loops numjobs startdelay start_delay runtime timeout time_based ramp_time thread mem iomem rwmixread rwmixwrite rwmixcycle
    rw_sequencer nice prio prioclass cpus_allowed cpus_allowed_policy
    thinktime thinktime_spin thinktime_blocks thinktime_blocks_type thinktime_iotime
    rate rate_min rate_process rate_cycle rate_ignore_thinktime rate_iops rate_iops_min max_latency latency_target latency_window
    latency_percentile latency_run exitall stonewall wait_for_previous new_group
    zero_buffers refill_buffers scramble_buffers buffer_compress_percentage buffer_compress_chunk dedupe_percentage
    clocksource lat_percentiles clat_percentiles slat_percentiles percentile_list""".split()  # noqa: SIM905 (a hundred quoted words are worse)
)
BLOCK_OPTIONS = frozenset({"bs", "blocksize", "bsrange", "blocksize_range", "bssplit", "ba", "blockalign"})
DEVICE_REFUSED = frozenset({"nrfiles", "filesize", "openfiles", "file_service_type"})
"""Of a device there is one region."""

ENGINES = ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap")
PATTERNS = ("read", "write", "randread", "randwrite", "rw", "readwrite", "randrw")
CHOICES = {
    "ioengine": ENGINES,
    "mem": ("malloc", "mmap"),
    "iomem": ("malloc", "mmap"),
    "clocksource": ("gettimeofday", "clock_gettime", "cpu"),
}
_PLAIN = re.compile(r"[A-Za-z0-9_.,:%/+\- ]{0,200}", re.ASCII)
_SIZE = re.compile(r"(\d{1,18})\s*([kmgtp]?)(?:i?b)?", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[^A-Za-z0-9_.\- ]", re.ASCII)

Lines = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class UserJob:
    """`[global]` and the groups of sections that run together; `stonewall` starts a new group. Only what is allowed."""

    global_lines: Lines
    groups: tuple[tuple[tuple[str, Lines], ...], ...]

    @property
    def writes(self) -> bool:
        """True for every `rw` but `read` and `randread`: trims write, too."""
        return any(
            value is not None and value.split(":")[0].split(",")[0] not in ("read", "randread")
            for name, value in self._options()
            if name in ("rw", "readwrite")
        )

    def _options(self) -> list[tuple[str, str | None]]:
        return [*self.global_lines, *(line for group in self.groups for _, own in group for line in own)]

    def size_bytes(self, own: Lines, room: int) -> int:
        """What one process of a section may use: what it asks for, at most `room`."""
        asked = next((value for name, value in reversed([*self.global_lines, *own]) if name == "size"), None)
        if asked is None:
            return room
        if asked.endswith("%"):
            return room * min(100, int(asked[:-1])) // 100
        return min(room, _bytes(asked) or room)

    def needs_bytes(self, region: int) -> int:
        """Room that its files take in a folder: sections of a group and of the next ones use the same files again."""
        most = 0
        for group in self.groups:
            for _, own in group:
                said = dict([*self.global_lines, *own])
                each = self.size_bytes(own, 1 << 62) if "size" in said else region
                files = int(said.get("nrfiles") or 1) * max(_range(said.get("filesize") or "0") or [0])
                most = max(most, int(said.get("numjobs") or 1) * max(each, files))
        return most


def read(path: Path) -> UserJob:
    """Reads a job file; every option that a study may not use is refused with its line."""
    try:
        text = read_regular(path, JOB_BYTES_MAX).decode()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read fio job {path}: {reason(error)}") from error
    global_lines: list[tuple[str, str | None]] = []
    groups: list[list[tuple[str, list[tuple[str, str | None]]]]] = []
    section: list[tuple[str, str | None]] | None = None
    # Only a line feed ends a line for fio; what else Python takes for one is no plain character.
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        heading = re.fullmatch(r"\[([^\]]+)\]", line)
        if heading is not None:
            if heading[1] == "global":
                section = global_lines
                continue
            section = []
            if not groups:
                groups.append([])
            groups[-1].append((_NAME.sub("_", heading[1])[:64], section))
            if sum(map(len, groups)) > SECTIONS_MAX:
                raise UsageError(f"{path} has more than {SECTIONS_MAX} sections")
            continue
        where = f"{path}:{number}"
        if section is None:
            raise UsageError(f"{where}: `{line[:80]}` stands before any [section]")
        key, value = _option(line)
        if key in ("stonewall", "wait_for_previous") and section is not global_lines:
            last = groups[-1].pop()
            if groups[-1]:
                groups.append([])
            groups[-1].append(last)
            continue
        if key in SEED_OPTIONS or (key in PLACE_OPTIONS and key != "size"):
            continue
        _check(key, value, where)
        section.append((key, value))
    if not groups:
        raise UsageError(f"{path} has no job section besides [global]")
    return UserJob(tuple(global_lines), tuple(tuple((name, tuple(own)) for name, own in group) for group in groups))


def _option(line: str) -> tuple[str, str | None]:
    key, sign, value = line.partition("=")
    return key.strip().lower(), value.strip() if sign else None


def _check(key: str, value: str | None, where: str) -> None:
    if key not in ALLOWED and key != "size":
        raise RefusedError(
            f"{where}: a study may not use fio's option `{key[:60]}`",
            hint="it may run programs, write outside the target or change the machine; take it out of the job",
        )
    if value is None:
        return
    if not _PLAIN.fullmatch(value):
        raise RefusedError(
            f"{where}: `{key}` has a value that is not plain", hint="fio passes some characters to a shell"
        )
    if key in CHOICES and value not in CHOICES[key]:
        raise RefusedError(f"{where}: a study may not use `{key}={value}`", hint=f"allowed: {', '.join(CHOICES[key])}")
    if key in ("rw", "readwrite") and value.split(":")[0] not in PATTERNS:
        raise RefusedError(f"{where}: a study may not use `{key}={value}`", hint=f"allowed: {', '.join(PATTERNS)}")
    if key == "size" and not re.fullmatch(r"\d{1,3}%", value) and _bytes(value) is None:
        raise UsageError(f"{where}: `size={value}` is no size", hint="for example 64m, or 50%")
    if key == "filesize" and _range(value) is None:
        raise UsageError(f"{where}: `filesize={value}` is no size", hint="for example 64m, or 4k-64k")
    if key in ("numjobs", "nrfiles") and not (value.isdecimal() and 1 <= int(value[:9]) <= NUMJOBS_MAX):
        raise UsageError(f"{where}: `{key}={value}` is not a number from 1 to {NUMJOBS_MAX}")


def _bytes(text: str) -> int | None:
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) << 10 * " kmgtp".index(match[2].lower() or " ") if match else None


def _range(text: str) -> list[int] | None:
    """The sizes of `4k`, `4k-64k` or `4k:64k` (fio's `str_to_range`); None for what is none."""
    sizes = [_bytes(part) for part in re.split(r"[-:,]", text)]
    return [size for size in sizes if size is not None] if None not in sizes else None


def group_text(
    job: UserJob, index: int, place: FioTarget, seed: int, *, direct: bool = True, create_only: bool = False
) -> str:
    """One group of a user's job, placed onto the target and seeded; direct unless the job or the study says otherwise.

    `create_only`: makes its files and does nothing else.
    """
    lines = ["[global]", f"direct={int(direct)}", *_lines(job.global_lines, place)]
    for name, own in job.groups[index]:
        # The last word in every section is ours, whatever stands before it.
        size = job.size_bytes(own, _room(place, job, own))
        lines += ["", f"[{name}]", *_lines(own, place), *_placed(place, size)]
        lines += [f"randseed={seed}", "randrepeat=0", "allrandrepeat=0", "group_reporting=0"]
        lines += ["lat_percentiles=1", "clat_percentiles=0"]
        lines += ["create_only=1"] if create_only else []
    return "\n".join(lines) + "\n"


def _room(place: FioTarget, job: UserJob, own: Lines) -> int:
    """Bytes for a section. fio begins a block before the end and writes all of it: a device needs room for one more."""
    if place.whole_bytes is None:
        return place.region_bytes
    said = [value or "" for name, value in [*job.global_lines, *own] if name in BLOCK_OPTIONS]
    largest = max([_bytes(word) or 0 for value in said for word in re.split(r"[,:/\-]", value)], default=0)
    room = place.whole_bytes - max(largest, 4096)
    if room < largest:
        raise UsageError(f"a fio job has blocks of {largest} bytes, too large for the device")
    return room


def _lines(own: Lines, place: FioTarget) -> list[str]:
    dropped = {"size"} if place.folder is not None else {"size", *DEVICE_REFUSED}
    return [name if value is None else f"{name}={value}" for name, value in own if name not in dropped]


def _placed(place: FioTarget, size: int) -> list[str]:
    if place.folder is not None:
        return [
            f"directory={directory(place.folder)}",
            "filename_format=u.$jobnum.$filenum",
            "offset=0",
            f"size={size}",
        ]
    return [
        f"filename={escaped(str(place.device))}",
        f"offset={place.offset_bytes}",
        "offset_increment=0",
        "nrfiles=1",
        f"size={size}",
        "allow_mounted_write=0",
    ]
