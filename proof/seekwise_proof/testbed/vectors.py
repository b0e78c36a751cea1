"""A request list on a real kernel, recorded in the published format: `python -m seekwise_proof.testbed.vectors`, or
`make vectors`.

A bug report becomes a test: write down what was submitted, record what the kernel made of it, and `seekwise verify
vectors` holds the models against it. The device is null_blk, one queue: every request takes the same time, wherever it
lies. What is written beside NAME.csv is NAME.conf, the settings in force.

LIST is `lists/NAME.list` (`time_us,proc,op,sector,sectors`) or `requests/NAME.requests.csv` with NAME.processes.csv
beside it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import click

from seekwise import schedulers, temporary
from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.files import make_folders, write_product
from seekwise_proof.testbed import image, kernels, machine
from seekwise_proof.testbed.cpio import CpioEntry
from seekwise_proof.testbed.debian import Say
from seekwise_proof.testbed.modules import of_scheduler

SCHEDULERS = tuple(row.name for row in schedulers.registry().values() if row.multi_queue)
NR_REQUESTS = 256
TIMEOUT_S = 1800.0
HEADER = "time_ns,event,op,sector,sectors,proc"
EVENTS = {
    "block_rq_insert": "insert",
    "block_rq_issue": "issue",
    "block_rq_complete": "complete",
    "block_bio_backmerge": "backmerge",
    "block_bio_frontmerge": "frontmerge",
    "block_rq_merge": "merge",
}
# Linux v6.1 include/trace/events/block.h: `major,minor rwbs [bytes (command)] sector + sectors [process]`, 6.12 with
# the priority.
ROW = re.compile(r"\s(\d+): (block_\w+): (\d+,\d+) (\w+) (?:\d+ )?(?:\(.*?\) )?(\d+) \+ (\d+) ")
KEPT = ("scheduler", "nr_requests", "rotational", "max_sectors_kb", "nomerges", "rq_affinity")


@dataclass(frozen=True)
class ListedRequest:
    """One request of a list; times in ns."""

    proc: int
    at: bool
    ns: int
    op: str
    sector: int
    sectors: int
    wait: str


@dataclass(frozen=True)
class RequestList:
    processes: dict[int, tuple[int, int, int]]
    """By number: priority class, level, start in ns."""
    rows: tuple[ListedRequest, ...]

    def plan(self) -> str:
        """What `submit.c` reads."""
        lines = [f"P {proc} {klass} {level} {start}" for proc, (klass, level, start) in sorted(self.processes.items())]
        lines += [
            f"Q {r.proc} {'at' if r.at else 'after'} {r.ns} {r.op} {r.sector} {r.sectors} {r.wait}" for r in self.rows
        ]
        return "\n".join(lines) + "\n"

    @property
    def end_sector(self) -> int:
        """First sector behind all requests, so the least size of the drive; 512-byte sectors."""
        return max((row.sector + row.sectors for row in self.rows), default=0)


def read(path: Path) -> RequestList:
    """A list in either of the published formats; a line that cannot be read is named."""
    try:
        text = path.read_text(encoding="utf-8")
        companion = path.with_name(path.name.replace(".requests.csv", ".processes.csv"))
        processes = companion.read_text(encoding="utf-8") if companion != path else None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the request list {path} cannot be read: {error}") from None
    rows = [_row(line, number, path, processes is not None) for number, line in _lines(text)]
    if not rows:
        raise UsageError(f"{path} lists no request")
    known = {row.proc: (0, 0, 0) for row in rows}
    for number, line in _lines(processes or ""):
        try:
            proc, io_class, io_level, start_ns = (int(part.removeprefix("p")) for part in line.split(","))
            known[proc] = (io_class, io_level, start_ns)
        except ValueError:
            raise UsageError(f"{companion}:{number}: `{line}` is not proc,ioprio_class,ioprio_level,start_ns") from None
    return RequestList(known, tuple(rows))


def _lines(text: str) -> list[tuple[int, str]]:
    """Lines with their numbers, without comments and header."""
    kept = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    return [(n, line) for n, line in kept if line and not line.startswith(("#", "time_us", "proc,"))]


def _row(line: str, number: int, path: Path, long: bool) -> ListedRequest:
    parts = line.split(",")
    try:
        if long:
            proc, _, after, at, op, sector, sectors, wait = parts
            timed = at != ""
            request = ListedRequest(
                int(proc.removeprefix("p")), timed, int(at or after or 0), op, int(sector or 0), int(sectors or 0), wait
            )
        else:
            time_us, proc, op, sector, sectors = parts
            closed = op in "rw"
            wait = "own" if closed else "no"
            request = ListedRequest(
                int(proc), not closed, int(time_us) * 1000, op.upper(), int(sector), int(sectors), wait
            )
        if request.wait == "all":
            return request
        if (
            request.op not in ("R", "W", "A")
            or request.wait not in ("own", "no")
            or request.sectors < 1
            or request.sector < 0
        ):
            raise ValueError(line)
    except ValueError:
        raise UsageError(f"{path}:{number}: `{line}` is no request", hint="formats: tests/vectors/README.md") from None
    return request


def record(
    requests: RequestList, kernel: str, scheduler: str, tunables: dict[str, int], service_ns: int, depth: int, say: Say
) -> tuple[str, str]:
    """(csv, conf) of the list on that kernel and scheduler."""
    made = image.build(kernels.find(kernel), say)
    files = {
        "cell/run.sh": CpioEntry.file(_script(requests, scheduler, tunables, service_ns, depth).encode()),
        "cell/plan": CpioEntry.file(requests.plan().encode()),
        "cell/submit": CpioEntry.file(_submit(), executable=True),
    }
    say(f"recording under {scheduler} on {made.release}")
    result = machine.boot(machine.Boot(made, files, TIMEOUT_S))
    start = re.search(r"start (\d+)", result.text("start"))
    if start is None:
        raise SeekwiseError("the guest did not say when the list started")
    return parse(result.text("trace"), int(start[1]), requests), result.text("conf")


def _script(requests: RequestList, scheduler: str, tunables: dict[str, int], service_ns: int, depth: int) -> str:
    gib = max(250, requests.end_sector * 512 // 2**30 + 1)
    queue = "/sys/block/nullb0/queue"
    return "\n".join([
        f"OPTIONS_null_blk='queue_mode=2 irqmode=2 completion_nsec={service_ns} hw_queue_depth={depth} submit_queues=1 nr_devices=1 gb={gib} bs=512'",
        f"modules null_blk {' '.join(of_scheduler(scheduler))}",
        f"put 1 {queue}/rotational",
        f"put {scheduler} {queue}/scheduler",
        # Twice: Linux 6.1's mq-deadline takes its limit of asynchronous requests from the number before.
        *([f"put {NR_REQUESTS - 1} {queue}/nr_requests", f"put {NR_REQUESTS} {queue}/nr_requests"] if scheduler != "none" else []),
        *(f"put {value} {queue}/iosched/{name}" for name, value in tunables.items()),
        f"for each in {' '.join(KEPT)}; do echo \"$each=$(cat {queue}/$each)\"; done > /out/conf",
        f"for each in {queue}/iosched/*; do [ -r $each ] && echo \"iosched/${{each##*/}}=$(cat $each)\"; done >> /out/conf || true",
        f"echo hw_queue_depth={depth} >> /out/conf; echo completion_nsec={service_ns} >> /out/conf",
        "mount -t tracefs tracefs /sys/kernel/tracing",
        "cd /sys/kernel/tracing",
        "put 32768 buffer_size_kb; put x86-tsc trace_clock",
        *(f"put 1 events/block/{event}/enable" for event in EVENTS),
        "put 1 tracing_on",
        "/cell/submit /dev/nullb0 < /cell/plan > /out/start",
        # What was written through the page cache may still be on its way.
        "sync",
        "put 0 tracing_on",
        "cat trace > /out/trace",
        "cat per_cpu/cpu0/stats > /out/stats",
        "grep -q '^overrun: 0' /out/stats",
    ]) + "\n"  # fmt: skip


def _submit() -> bytes:
    if shutil.which("gcc") is None:
        raise MissingError(
            "the program that submits the list is compiled, and gcc is not installed", hint="apt-get install gcc"
        )
    with temporary.private("submit") as folder:
        source, program = Path(folder) / "submit.c", Path(folder) / "submit"
        source.write_bytes((image.GUEST / "submit.c").read_bytes())
        done = subprocess.run(
            ["gcc", "-O2", "-static", "-o", program, source], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SeekwiseError(f"submit.c cannot be compiled: {done.stderr.strip().splitlines()[0]}")
        return program.read_bytes()


def parse(trace: str, start: int, requests: RequestList) -> str:
    """ftrace's text as rows of the published format. A request belongs to the process whose list has its first
    sector."""
    owner: dict[int, int] = {}
    for row in requests.rows:
        for sector in range(row.sector, row.sector + row.sectors, 8):
            owner.setdefault(sector, row.proc)
    rows = [HEADER]
    devices = set()
    for line in trace.splitlines():
        match = ROW.search(line)
        if match is None or match[2] not in EVENTS:
            continue
        ticks, event, device, rwbs, first, sectors = match.groups()
        if not int(sectors):
            # A flush without data: `sync` at the end.
            continue
        devices.add(device)
        letters = rwbs.replace("F", "") if rwbs.startswith("F") else rwbs
        proc = owner.get(int(first), owner.get(int(first) // 8 * 8))
        name = f"p{proc}" if proc is not None else ""
        rows.append(f"{int(ticks) - start},{EVENTS[event]},{letters},{first},{sectors},{name}")
    if len(devices) != 1:
        raise SeekwiseError(f"the trace tells of {len(devices)} devices instead of one")
    return "\n".join(rows) + "\n"


def folder_of(out: Path, kernel: str, scheduler: str, depth: int, tunables: dict[str, int]) -> Path:
    """`SCHEDULER[-lowlat0][-qdN]`, below `other-kernels/KERNEL` unless it is the one of the published files."""
    low = "-lowlat0" if tunables.get("low_latency") == 0 else ""
    name = f"{scheduler}{low}" + (f"-qd{depth}" if depth > 1 else "")
    return (out if kernel == kernels.DEFAULT else out / "other-kernels" / kernel) / name


@click.command()
@click.argument("lists", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--kernel", "series", multiple=True, type=click.Choice(list(kernels.KERNELS)), help="Default: every one.")
@click.option(
    "--scheduler", "schedulers", multiple=True, type=click.Choice(SCHEDULERS), help="Default: every one but none."
)
@click.option("--set", "tunables", multiple=True, metavar="NAME=NUMBER", help="A tunable of the scheduler.")
@click.option(
    "--service-us", default=2000.0, show_default=True, type=click.FloatRange(1), help="Time that a request takes."
)
@click.option("--depth", default=1, show_default=True, type=click.IntRange(1, 1024), help="Requests at a time.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder of the recordings."
)
def command(
    lists: tuple[Path, ...],
    series: tuple[str, ...],
    schedulers: tuple[str, ...],
    tunables: tuple[str, ...],
    service_us: float,
    depth: int,
    out: Path,
) -> None:
    """Record request LISTS on real kernels and schedulers, in the format of tests/vectors."""
    values = {name: int(value) for name, _, value in (tunable.partition("=") for tunable in tunables)}
    for path in lists:
        requests = read(path)
        name = path.name.removesuffix(".list").removesuffix(".requests.csv")
        for kernel in series or kernels.KERNELS:
            for scheduler in schedulers or SCHEDULERS[1:]:
                rows, conf = record(
                    requests,
                    kernel,
                    scheduler,
                    values,
                    round(service_us * 1000),
                    depth,
                    lambda s: click.echo(s, err=True),
                )
                folder = folder_of(out, kernel, scheduler, depth, values)
                make_folders(folder)
                write_product(folder / f"{name}.csv", rows)
                write_product(folder / f"{name}.conf", conf)
                click.echo(folder / f"{name}.csv")


def main() -> None:
    """The command, with errors as sentences and exit statuses."""
    try:
        command(standalone_mode=False)
    except SeekwiseError as error:
        click.echo(f"error: {error.message}" + (f"\n\nhint: {error.hint}" if error.hint else ""), err=True)
        raise SystemExit(int(error.exit_status)) from None
    except click.ClickException as error:
        error.show()
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
