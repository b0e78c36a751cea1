"""tiotest as the load generator beside fio, where it is installed: one call does the four phases of a trial.

Source of the options: github.com/mkuoppal/tiobench (tiotest.c): `-t` threads, `-f` MiB of each thread's file, `-b`
bytes of a request, `-r` random requests of each thread, `-d` folder. It goes through the page cache, always does all
four phases in its order and cannot be stopped by a time. Its table is read by `importing.tiotest`, which knows and
repairs the faults of its versions.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from seekwise.control import child
from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.importing.fio_result import FioPhase
from seekwise.importing.result import MIB, Given, Source
from seekwise.importing.tiotest import FORMAT
from seekwise.measure.kernel import memory
from seekwise.store.record import Phase
from seekwise.workload.study.plan import Combination, Load

NAME = "tiotest"
ORDER = ("seq_write", "rand_write", "seq_read", "rand_read")
RANDOM_IOS = 1000
"""Of each thread: tiotest's default."""
ROUNDING_MIB = 0.51


def find() -> str:
    """Path of tiotest; MissingError without it."""
    path = shutil.which(NAME)
    if path is None:
        raise MissingError(
            "tiotest is not installed",
            hint="build github.com/mkuoppal/tiobench, or leave out `--program`: fio does the same",
        )
    return path


def check(combinations: Iterable[Combination]) -> None:
    """UsageError for a load that tiotest cannot do."""
    for combination in combinations:
        if combination.load.program == NAME and (reason := _cannot(combination.load)):
            raise UsageError(
                f"{combination.key}: tiotest {reason}",
                hint='it does what `profile = "tiotest"` with `direct = false` asks for',
            )


def _cannot(load: Load) -> str | None:
    if load.job is not None:
        return "runs no fio job file"
    if tuple(phase.operation for phase in load.phases) != ORDER:
        return f"always does {', '.join(ORDER)}"
    if any(phase.runtime_s is not None for phase in load.phases):
        return "cannot be stopped by a `runtime`"
    if load.direct:
        return "has no direct I/O"
    if load.iodepth > 1:
        return "keeps one request of each thread in flight"
    if load.beside or load.think_s or load.rate_limit_bytes or load.start_stagger_s or load.io_class:
        return "knows no pace, priority or job beside it"
    return None


def words(program: str, load: Load, folder: Path) -> list[str]:
    """tiotest's command line for a load."""
    random_ios = next((phase.ios_per_thread for phase in load.phases if phase.ios_per_thread), RANDOM_IOS)
    size_mib = max(1, round(load.size_bytes / 2**20))
    sizes = ["-f", str(size_mib), "-b", str(load.block_bytes), "-r", str(random_ios)]
    return [program, "-t", str(load.threads), *sizes, "-d", str(folder)]


def run(program: str, load: Load, folder: Path, group: memory.MemoryGroup | None, timeout_s: float) -> list[Phase]:
    """One call: its four phases. The caches are emptied before it, and never within."""
    if not memory.drop_caches():
        raise MissingError(
            "dropping the caches before a buffered load needs root", hint="use sudo, or fio with `direct`"
        )
    command = words(program, load, folder)
    done = child.run(
        command, timeout_s=timeout_s, cwd=folder, cgroup_files=(group.processes_file,) if group is not None else ()
    )
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[:300]
        raise SeekwiseError(f"tiotest ended with status {done.returncode}" + (f": {said}" if said else ""))
    random_ios = int(command[command.index("-r") + 1])
    given = Given(threads=load.threads, block_bytes=load.block_bytes, random_operations=random_ios)
    (result,) = FORMAT.read([Source(Path(NAME), done.stdout.encode())], given)
    missing = [name for name in ORDER if name not in {phase.operation for phase in result.phases}]
    if missing:
        raise SeekwiseError(f"tiotest printed nothing of {', '.join(missing)}", "run it by hand to see why")
    return [_exact(phase, load, random_ios) for phase in result.phases]


def _exact(phase: Phase, load: Load, random_ios: int) -> Phase:
    """tiotest prints whole MiB and tenths of seconds; what was asked is known, so amount and rate give the time."""
    per_process = random_ios * load.block_bytes if phase.operation.startswith("rand") else load.size_bytes // MIB * MIB
    moved = load.threads * per_process
    printed = phase.details["as_printed"]
    if abs(printed["mib"] - moved / MIB) > ROUNDING_MIB:
        return phase  # a version that prints another amount than it moved: repaired by its reader, as far as can be
    elapsed_s = moved / (printed["rate_mib_per_s"] * MIB)
    return replace(phase, bytes=moved, ios=moved // load.block_bytes, elapsed_s=elapsed_s)


def as_one(phases: list[Phase]) -> FioPhase:
    """The whole call as one phase, for checks from outside, where the end of a phase is not visible."""
    read = sum(phase.bytes for phase in phases if phase.operation.endswith("read"))
    written = sum(phase.bytes for phase in phases) - read
    return FioPhase(
        operation="mixed",
        elapsed_s=sum(phase.elapsed_s for phase in phases),
        bytes=read + written,
        read_bytes=read,
        write_bytes=written,
        ios=sum(phase.ios for phase in phases),
        latency_bins={},
        latency_mean_ns=0.0,
        latency_max_ns=0,
        submitter_user_s=0.0,
        submitter_system_s=0.0,
        errors=(),
        short_ios=0,
        depth_share={},
    )
