"""fio's normal output, for people: figures of three to four digits.

    name: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) …, ioengine=libaio, iodepth=32
    name: (groupid=0, jobs=4): err= 0: pid=…
      read: IOPS=37.1k, BW=145MiB/s (152MB/s)(145MiB/1001msec)
         lat (usec): min=179, max=11195, avg=860.68, stdev=1452.81
        clat percentiles (usec):
         | 99.00th=[ 7701], …
      fsync/fdatasync/sync_file_range:
        sync (usec): min=155, max=12045, avg=3889.95, stdev=2324.66
      cpu          : usr=2.59%, sys=19.86%, ctx=9661, …
         issued rwts: total=9672,0,0,0 short=…

Requests are counted exactly (`issued`), amounts and rates as printed. Where a request size is said, amounts are
requests × size. JSON (`--output-format=json+`) holds all digits and the distribution. Source: fio 3.33 stat.c
(`show_thread_status_normal`).
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field

from seekwise.grouping import grouped
from seekwise.importing.fio_documents import NO_LATENCIES, SUM_OF_CLIENTS, depth_of
from seekwise.importing.result import Format, Given, Latency, Result, Source, as_one, headings, is_rare, phase, times
from seekwise.store.operations import Operation, pure
from seekwise.store.record import CpuSeconds, Phase
from seekwise.workload.study.quantity import parse_bytes

OPENING = re.compile(
    r"^\s*(?:<\S+>\s+)?(?P<name>.+?): \(g=(?P<group>\d+)\): rw=(?P<rw>\w+), bs=(?P<bs>.*?), ioengine=(?P<engine>\w+), iodepth=(?P<depth>\d+)"
)
JOB = re.compile(
    r"^\s*(?:<\S+>\s+)?(?P<name>.+?): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err=\s*(?P<error>\d+).*?(?:pid=(?P<pid>\d+)|$)"
)
SIDE = re.compile(
    r"^\s*(?P<side>read|write|trim|mixed)\s*: IOPS=(?P<iops>[\d.]+)(?P<times>[kMG]?), BW=\S+ \([^)]*\)"
    r"\((?P<amount>[\d.]+)(?P<unit>[KMGTP]?i?B)/(?P<time>\d+)msec\)"
)
SUM = re.compile(r"^\s*(?P<side>READ|WRITE): bw=.*?, io=(?P<amount>[\d.]+[KMGTP]?i?B) \(.*?, run=\d+-(?P<time>\d+)msec")
"""Of a group, in fio's last lines."""
OPTION = re.compile(r"(?:--|^[ \t]*)(rw|readwrite|bs|blocksize|ioengine|iodepth|numjobs|name)[= ]([\w.,]+)", re.M)
OLD_SIDE = re.compile(r"^\s*(?:(?:read|write)\s*: io=[\d.]+\s*\w+, bw=|(?:READ|WRITE): io=[\d.]+\w+, aggrb=)")
LATENCY = re.compile(
    r"^\s*(?P<kind>slat|clat|lat|sync) \((?P<unit>[nmu]?sec)\): min=\s*(?P<min>\S+), max=\s*(?P<max>\S+), avg=\s*(?P<avg>[^,]+),"
)
PERCENTILES = re.compile(r"^\s*(?P<kind>clat|lat|slat|sync|fsync) percentiles \((?P<unit>[nmu]?sec)\):")
LEVEL = re.compile(r"([\d.]+)th=\[\s*(\d+)\]")
CPU = re.compile(r"^\s*cpu\s+: usr=([\d.]+)%, sys=([\d.]+)%")
ISSUED = re.compile(r"^\s*issued rwts?:\s*total=\s*(?:r=)?(\d+),(?:w=)?(\d+)(?:,(?:t=)?\d+,(\d+))?")
NS = {"nsec": 1.0, "usec": 1e3, "msec": 1e6, "sec": 1e9}
BYTES = {
    "B": 1,
    **{f"{letter}iB": 1 << 10 * power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}B": 10 ** (3 * power) for power, letter in enumerate("KMGT", 1)},
}
VERSION = re.compile(r"^(?:<\S+>\s+)?fio-[\d.]+\S*$")
GROUP = re.compile(r"^Run status group \d+")
"""What fio prints before the sums of a group: they are of no job."""
SIZES = re.compile(r"(?:\(([RWT])\) )?([\d.]+[KMG]?i?B-[\d.]+[KMG]?i?B)")
JOBS_MOST = 10_000
TYPED = re.compile(r"(?:.{0,200}?[\s$#/])?fio\s+(?:-|\S+\.(?:fio|job|ini)\b)")
"""The command in a session that was pasted."""
COMMAND = "fio … --output-format=json+ --output=NAME.json"


@dataclass
class PrintedSide:
    amount_bytes: float
    iops: float
    elapsed_s: float
    mean_ns: dict[str, float] = field(default_factory=dict)
    max_ns: dict[str, float] = field(default_factory=dict)
    percentiles: dict[str, dict[str, int]] = field(default_factory=dict)

    def timed(self, *kinds: str) -> dict[str, int]:
        """The percentiles of the first kind that has any; fio prints zeros where it did not time requests."""
        return next((levels for kind in kinds if any((levels := self.percentiles.get(kind, {})).values())), {})


@dataclass
class PrintedJob:
    name: str
    group: int
    threads: int
    error: int
    key: tuple[int, int, str, str]
    """Run within the file, group, name, process: printed again with `--status-interval`."""
    openings: dict[str, re.Match[str]] = field(default_factory=dict)
    """{job: the line that says what it does}, of its run."""
    sides: dict[str, PrintedSide] = field(default_factory=dict)
    sync: PrintedSide | None = None
    cpu: tuple[float, float] = (0.0, 0.0)
    issued: tuple[int, int] | None = None
    title: str = ""
    """What names the set-up of its run."""
    syncs: int = 0
    """Syncs that it did; 0 where they are not counted."""

    @property
    def opening(self) -> re.Match[str] | None:
        """Of this job."""
        return self.openings.get(self.name)

    @property
    def group_loads(self) -> set[str]:
        """What the jobs of its group do."""
        group = (line for line in self.openings.values() if int(line["group"]) == self.group)
        return {_load(line) for line in group}

    @property
    def timed_syncs(self) -> PrintedSide | None:
        """None where writes do not wait for them."""
        if self.sync is None or "sync" not in self.sync.mean_ns:
            return None
        elapsed_s = max((side.elapsed_s for side in self.sides.values()), default=0.0) * self.threads
        rare = is_rare(self.syncs, self.sync.mean_ns["sync"], (self.issued or (0, 0))[1], elapsed_s)
        return None if rare else self.sync

    @property
    def load(self) -> str:
        """Jobs of a group that do the same are one load of several threads, whatever their names."""
        return _load(self.opening) if self.opening else self.name


def _load(opening: re.Match[str]) -> str:
    return opening[0].partition("rw=")[2]


def _name(jobs: list[PrintedJob]) -> str:
    return ", ".join(dict.fromkeys(job.name for job in jobs))


BEGINNINGS = re.compile(
    r": \(g=\d+\): rw=(?!.*iodepth=)|^\s*(?:read|write|trim|mixed)\s*: IOPS=(?!.*msec\))|: \(groupid=\d+, (?!.*jobs=\d+\))"
)
WRAPPED_MOST = 3


def _unwrapped(lines: list[str]) -> list[str]:
    """Lines that a mail has wrapped, in one."""
    whole: list[str] = []
    wrapped = 0
    for line in lines:
        wrapped = wrapped + 1 if whole and wrapped < WRAPPED_MOST and BEGINNINGS.search(whole[-1]) else 0
        if wrapped:
            whole[-1] = f"{whole[-1].rstrip()} {line.strip()}"
        else:
            whole.append(line)
    return whole


def _recognises(source: Source) -> bool:
    return any(JOB.match(line) or SIDE.match(line) or SUM.match(line) or OLD_SIDE.match(line) for line in source.lines)


def _with_job(lines: list[str]) -> list[str]:
    """Figures that stand without their job's line, with one: what it did is in the command or the job file, if that is
    there and of one job. fio's last lines are sums of a group, and count where nothing else does."""
    said: dict[str, set[str]] = {}
    for name, value in OPTION.findall("\n".join(lines)):
        said.setdefault({"readwrite": "rw", "blocksize": "bs"}.get(name, name), set()).add(value)
    one = {name: values.pop() for name, values in said.items() if len(values) == 1}
    # fio's defaults, where the job is there and leaves something out.
    size = one.get("bs", "" if "bs" in said else "4k").upper()
    size = f"{size}B-{size}B" if size.isdecimal() else f"{size}iB-{size}iB"
    name, count = one.get("name", "fio"), one.get("numjobs", "1")
    rest = f"bs=(R) {size}, (W) {size}, ioengine={one.get('ioengine', 'psync')}, iodepth={one.get('iodepth', '1')}"
    opening = [f"{name}: (g=0): rw={one['rw']}, {rest}"] if "rw" in one else []
    whole: list[str] = []
    sums, group, begun = not any(map(SIDE.match, lines)), 0, -1
    for line in lines:
        group += bool(sums and GROUP.match(line))
        match = SUM.match(line) if sums else SIDE.match(line)
        if match and begun < group:
            jobs = count if count.isdecimal() else 1
            whole += [*opening, f"{name}: (groupid={group}, jobs={jobs}): err= 0: pid=0"]
            opening, begun = [], group
        if match and sums:
            line = f"{match['side'].lower()}: IOPS=0, BW=0 ()({match['amount']}/{match['time']}msec)"
        whole.append(line)
    return whole


def _with_jobs(lines: list[str]) -> list[str]:
    """Of each command that was typed in a session, which is a run of its own."""
    typed = [number for number, line in enumerate(lines) if TYPED.match(line)]
    pieces = itertools.pairwise([0, *typed[1:], len(lines)])
    return [line for at, end in pieces for line in (*["fio-0"] * bool(at), *_with_job(lines[at:end]))]


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    if any(OLD_SIDE.match(line) for line in source.lines):
        raise source.error(
            "is normal output of fio 2, which is not read", hint=f"with fio 3 write what can be read: {COMMAND}"
        )
    last = {job.key: job for job in _jobs(source)}
    together = grouped(
        ((*job.key[:2], job.load), job) for job in last.values() if any(name != "trim" for name in job.sides)
    )
    results = []
    for (run, group, load), jobs in together.items():
        beside = [
            _name(others)
            for (at, its, other), others in together.items()
            if (at, its) == (run, group) and other != load
        ]
        # `group_reporting` prints one job for all of a group, with the name of the first.
        several = len(jobs) == 1 < jobs[0].threads and not beside and len(jobs[0].group_loads) > 1
        results.append(_result(source, jobs, given, beside, several=several))
    if not results:
        if source.text.lstrip().startswith("{"):
            raise source.error("is JSON, not fio's normal output", hint="leave out `--format`, or `--format fio-json`")
        raise source.error("fio's output has no rates", hint=f"was it cut off? What is read best: {COMMAND}")
    return results


def _jobs(source: Source) -> list[PrintedJob]:
    jobs: list[PrintedJob] = []
    side: PrintedSide | None = None
    levels: tuple[PrintedSide, str, float] | None = None
    # Of the run that is printed: a later one may have jobs of the same names.
    run, openings, is_over, is_sum = 0, dict[str, re.Match[str]](), False, False
    starts: list[int] = []
    lines = _unwrapped(source.lines)
    lines = lines if any(map(JOB.match, lines)) else _with_jobs(lines)
    for number, line in enumerate(lines, 1):
        is_start = OPENING.match(line) or VERSION.match(line)
        if is_over and is_start:
            run, openings, is_over = run + 1, {}, False
        if is_start and len(starts) <= run:
            starts.append(number - 1)
        if match := OPENING.match(line):
            openings[match["name"]] = match
        elif match := JOB.match(line):
            key = (run, int(match["group"]), match["name"], match["pid"] or "")
            if len(jobs) >= JOBS_MOST:
                raise source.error(f"prints more than {JOBS_MOST:,} jobs", hint="split the file")
            jobs.append(
                PrintedJob(match["name"], int(match["group"]), int(match["jobs"]), int(match["error"]), key, openings)
            )
            side, levels, is_over = None, None, True
            # Figures below it are of all clients, not of the job before.
            if is_sum := match["name"] == SUM_OF_CLIENTS:
                jobs.pop()
        elif not jobs or is_sum or GROUP.match(line):
            side = levels = None
        elif match := SIDE.match(line):
            side = jobs[-1].sides[match["side"]] = _side(source, match, number)
        elif line.strip().startswith("fsync/fdatasync/sync_file_range"):
            side = jobs[-1].sync = PrintedSide(0.0, 0.0, 0.0)
        elif side is not None and (match := PERCENTILES.match(line)):
            levels = (side, match["kind"].replace("fsync", "sync"), NS[match["unit"]])
            side.percentiles[levels[1]] = {}
        elif levels is not None and "th=[" in line:
            for level, value in LEVEL.findall(line):
                levels[0].percentiles[levels[1]][f"{source.number(level, f'line {number}: a percentile'):g}"] = int(
                    int(value) * levels[2]
                )
        elif side is not None and (match := LATENCY.match(line)):
            side.mean_ns[match["kind"]] = _scaled(source, match["avg"], number) * NS[match["unit"]]
            side.max_ns[match["kind"]] = _scaled(source, match["max"], number) * NS[match["unit"]]
        elif match := CPU.match(line):
            jobs[-1].cpu, side = (float(match[1]), float(match[2])), None
        elif match := ISSUED.match(line):
            jobs[-1].issued, jobs[-1].syncs = (int(match[1]), int(match[2])), int(match[3] or 0)
    titles = headings(lines, starts, TYPED)
    for job in jobs:
        job.title = titles[job.key[0]] if titles else ""
    return jobs


def _side(source: Source, match: re.Match[str], number: int) -> PrintedSide:
    elapsed_s = int(match["time"]) / 1e3
    unit = BYTES.get(match["unit"])
    if unit is None or elapsed_s <= 0:
        raise source.error(f"line {number}: {match[0].strip()[:60]!r} is no amount over a time")
    times = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}[match["times"]]
    return PrintedSide(
        source.number(match["amount"], f"line {number}: amount") * unit,
        source.number(match["iops"], f"line {number}: IOPS") * times,
        elapsed_s,
    )


def _scaled(source: Source, text: str, number: int) -> float:
    """`14080k` as 14,080,000."""
    times = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text.strip()[-1:], 1.0)
    return source.number(text.strip().rstrip("kMG"), f"line {number}: a latency") * times


def _result(
    source: Source, jobs: list[PrintedJob], given: Given, beside: list[str], *, several: bool = False
) -> Result:
    """Of jobs that ran together: each thread is printed on its own without `group_reporting`. `several`: of different
    loads."""
    opening = None if several else jobs[0].opening
    patterns = {load.partition(",")[0] for load in jobs[0].group_loads} if several else set[str]()
    pattern = opening["rw"] if opening else patterns.pop() if len(patterns) == 1 else ""
    # A job that writes reads only to verify.
    wanted = ("write", "mixed") if pattern in ("write", "randwrite") else ("read", "write", "mixed")
    sides = [(job, name, side) for job in jobs for name, side in job.sides.items() if name in wanted]
    # `unified_rw_reporting=both` prints a sum beside the sides, with a distribution over both.
    sums = [side for _, name, side in sides if name == "mixed"]
    sides = [row for row in sides if row[1] != "mixed"] or sides
    names = {name for _, name, _ in sides}
    if not sides:
        raise source.error(f"job {jobs[0].name!r} of pattern {pattern} has no such rate")
    block = given.block_bytes or block_of(opening, names)
    ios = [_ios(job, name, side) or round(side.amount_bytes / block if block else 0) for job, name, side in sides]
    # The printed amount has four digits; requests are counted.
    if block and any(
        abs(n * block - side.amount_bytes) > 0.02 * side.amount_bytes for n, (*_, side) in zip(ios, sides, strict=True)
    ):
        block = None
    written = [n for n, (_, name, _) in zip(ios, sides, strict=True) if name == "write"]
    elapsed_s, total = max(side.elapsed_s for *_, side in sides), sum(ios)
    means = [side.mean_ns.get("lat", side.mean_ns.get("clat", 0.0)) for *_, side in sides]
    one = sides[0][2] if len(sides) == 1 else sums[0] if len(sums) == len(jobs) == 1 else None
    made = phase(
        (given.operation or "mixed") if patterns else _operation(source, jobs[0], pattern, names, given),
        elapsed_s=elapsed_s,
        total_bytes=total * block if block else sum(side.amount_bytes for *_, side in sides),
        ios=total,
        latency=Latency(
            mean_ns=sum(mean * n for mean, n in zip(means, ios, strict=True)) / total if total else 0.0,
            max_ns=max(side.max_ns.get("lat", side.max_ns.get("clat", 0.0)) for *_, side in sides),
            percentiles_ns=one.timed("lat", "clat") if one else {},
        ),
        cpu=CpuSeconds(
            sum(job.cpu[0] / 100 * job.threads for job in jobs) * elapsed_s,
            sum(job.cpu[1] / 100 * job.threads for job in jobs) * elapsed_s,
        ),
    )
    failed = [job for job in jobs if job.error]
    depth, depth_note = depth_in(opening, given)
    return Result(
        phases=(*_synced(jobs, made, made.bytes * sum(written) // total if any(written) else made.bytes), made),
        tool=next((line.strip() for line in source.lines if VERSION.match(line)), "fio, version unknown"),
        threads=given.threads or sum(job.threads for job in jobs),
        block_bytes=block,
        iodepth=depth,
        more=({"ioengine": opening["engine"]} if opening else {}) | ({"beside": "; ".join(beside)} if beside else {}),
        options={"job": jobs[0].name},
        leads=_of_syncs(jobs),
        notes=(
            f"fio's normal output has three to four digits and no histogram; what is read best: {COMMAND}",
            *([depth_note] if depth_note else []),
            *([as_one(_name(jobs))] if several else []),
            *(("p99 is absent: reads and writes, or threads, were reported apart",) if one is None else ()),
            *((NO_LATENCIES,) if made.latency_mean_ns == 0 else ()),
        ),
        invalid_reason=f"fio reports error {failed[0].error} in job {failed[0].name}" if failed else None,
        job=_name(jobs),
        setting=jobs[0].title or None,
        document=jobs[0].key[0],
        # Whether it was direct is not printed: a flush at the end may be part of the time.
        keeps_depth=not several and made.operation in ("seq_read", "rand_read"),
    )


def _ios(job: PrintedJob, name: str, side: PrintedSide) -> int:
    """As counted; of several directions reported as one, by the printed rate."""
    if job.issued and name in ("read", "write"):
        return job.issued[name == "write"]
    if job.issued and name == "mixed":
        return sum(job.issued)
    return round(side.iops * side.elapsed_s)


def _operation(source: Source, job: PrintedJob, pattern: str, names: set[str], given: Given) -> Operation:
    if given.operation:
        return given.operation
    direction = next(iter(names)) if len(names) == 1 else "mixed"
    if names == {"mixed"}:
        direction = {"randread": "read", "read": "read", "randwrite": "write", "write": "write"}.get(pattern, "mixed")
    if direction == "mixed":
        return "mixed"
    if not pattern:
        raise source.error(
            f"the line that says what job {job.name!r} did (`rw=…`) is missing",
            hint=f"say it: `--given operation=rand_{direction}` or `--given operation=seq_{direction}`",
        )
    return pure(is_random=pattern.startswith("rand"), is_write=direction == "write")


def depth_in(opening: re.Match[str] | None, given: Given) -> tuple[int | None, str]:
    """As `depth_of`, from the line that says what a job does."""
    if opening is None:
        return given.iodepth, ""
    return depth_of({"ioengine": opening["engine"], "iodepth": opening["depth"]}, given)


def block_of(opening: re.Match[str] | None, names: set[str]) -> int | None:
    """`(R) 4096B-4096B, (W) …`, before fio 2.18 without letters, of the directions that were used; None where sizes vary."""
    if opening is None:
        return None
    sizes = SIZES.findall(opening["bs"])
    found = {letter or "RWT"[min(at, 2)]: size for at, (letter, size) in enumerate(sizes)}
    used = {found.get(letter) for letter, name in (("R", "read"), ("W", "write")) if name in names or "mixed" in names}
    text = used.pop() if len(used) == 1 else None
    low, _, high = (text or "").partition("-")
    return parse_bytes(low) if text and low == high else None


def _synced(jobs: list[PrintedJob], made: Phase, written_bytes: int) -> tuple[Phase, ...]:
    """Of one thread; several threads' percentiles cannot be merged."""
    sync = jobs[0].timed_syncs if len(jobs) == 1 else None
    if sync is None:
        return ()
    return (
        phase(
            "sync",
            elapsed_s=made.elapsed_s,
            total_bytes=written_bytes,
            ios=jobs[0].syncs,
            latency=Latency(
                mean_ns=sync.mean_ns["sync"],
                max_ns=sync.max_ns["sync"],
                percentiles_ns=sync.percentiles.get("sync", {}),
            ),
            syncs=True,
        ),
    )


def _of_syncs(jobs: list[PrintedJob]) -> str:
    said = []
    for sync in (job.timed_syncs for job in jobs):
        if sync is not None:
            said.append(times(sync.mean_ns["sync"], sync.percentiles.get("sync", {}), sync.max_ns["sync"]))
    return f"durable writes of {jobs[0].name}: each sync took {'; '.join(said)}" if said else ""


FORMAT = Format(
    "fio-text", "fio's normal output", _recognises, _read, takes=("operation", "threads", "block", "iodepth")
)
