"""Uses: what a storage system is for. A foreground whose rate and latency are judged, and a background that competes
with it.

A use is one TOML file. Those that ship with the program are `seekwise/uses/NAME.toml`; `tune --for FILE.toml` takes
one's own.

    title = "Database: queries and commits"
    group = "database"                  # `--for database` takes every use of the group
    priority = 3                        # which uses a short budget keeps: lower numbers first

    [[job]]
    name = "queries"
    role = "foreground"                 # or "background"
    pattern = "random read/write"       # random|sequential, read|write|read/write
    read_share = 70                     # per cent of the requests that are reads
    block = "8k"                        # or "4k:60 64k:40": sizes with their share in per cent
    depth = 16                          # requests under way per process
    judge = ["rate", "p99"]             # rate, p50, p99, p999, mean, cpu (per operation), fairness (of equal jobs)

Programs do units of work (a start, a transaction, a file) and are judged by `time` (mean time of a unit), `tail` (its
slow tail, as far out as there are enough units for) and `done` (units per second; MB/s with `counts = "bytes"`). `unit`
of the use says what one of its first job is called, `unit` of another job what one of that is.

A job that runs a program names it, with the program's own parameters as keys (`seekwise explain use` lists the
programs):

    [[job]]
    name = "copy"
    role = "background"
    program = "copy"
    judge = ["done"]

A job may be a fio job file of one's own instead: `fio = "my.fio"`, with `name`, `role` and `judge`.

Studies measure operations apart from each other. How they count for the use is said in shares of time (they need not
add up to 100):

    [requests]
    threads = "many"                    # few: n threads weigh 1/n; many: n; all: equally
    operations = { rand_read = 57, rand_write = 28, seq_write = 15 }

`advise RUN --for NAME` and `apply RUN --for NAME` weigh a study's records by them. A file of one's own may have jobs,
requests, or both.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from seekwise import bounds, suggestion
from seekwise.errors import MissingError, UsageError, reason
from seekwise.files import read_text
from seekwise.store.operations import Operation
from seekwise.workload import programs
from seekwise.workload.program import Program
from seekwise.workload.purpose import HOW, OPTION, PURPOSES, Purpose
from seekwise.workload.study.quantity import parse_bytes, parse_seconds

Judged = Literal["time", "tail", "done", "rate", "p50", "p99", "p999", "mean", "cpu", "fairness", "number", "cost"]
"""`number` and `cost`: what a command of the user's prints, of which more, or less, is better."""
LIMITS = "limits"
"""Group of synthetic uses that show the extremes of device and scheduler: no real work, measured for those who ask. They decide nothing."""
NOT_OURS = "live"
"""Group of a load that was there already, or of a command: what it asks for is not known."""
Pattern = Literal[
    "random read", "random write", "random read/write", "sequential read", "sequential write", "sequential read/write"
]
WEIGHT_LEAST, WEIGHT_MOST = 0.1, 100.0
PERCENT = 100
PROCESSORS = "processors"
PROCESSORS_MOST = 16
"""Of a job with a process on each processor: more of them wait no longer for one lock, and log no more."""
UNIT_KINDS = ("time", "tail", "done", "cpu", "fairness")
"""What a program is judged by."""


def _sizes(value: object) -> object:
    """{size in bytes: share in per cent} of `8k` or `4k:60 64k:40`."""
    if isinstance(value, dict):
        return value
    words = str(value).split()
    parts = [word.partition(":") for word in words]
    if len(parts) == 1 and not parts[0][1]:
        return {parse_bytes(parts[0][0]): PERCENT}
    shares: dict[int, int] = {}
    for size, _, share in parts:
        if not re.fullmatch(r"\d{1,3}", share):
            raise ValueError("must be a size such as 8k, or sizes with shares in per cent: `4k:60 64k:40`")
        shares[parse_bytes(size)] = int(share)
    if sum(shares.values()) != PERCENT:
        raise ValueError(f"has shares that add up to {sum(shares.values())} per cent instead of 100")
    return shares


def _processes(value: object) -> object:
    """`processors`: one on each processor of this machine, PROCESSORS_MOST at most."""
    return min(os.cpu_count() or 1, PROCESSORS_MOST) if value == PROCESSORS else value


class Job(BaseModel):
    """One kind of process within a use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$")]
    role: Literal["foreground", "background"]
    pattern: Pattern | None = None
    read_share: Annotated[int, Field(ge=1, le=99)] = 50
    block: Annotated[dict[int, int], BeforeValidator(_sizes)] = {4096: PERCENT}
    depth: Annotated[int, Field(ge=1, le=4096)] = 1
    jobs: Annotated[int, BeforeValidator(_processes), Field(ge=1, le=256)] = 1
    think_time: Annotated[float, BeforeValidator(parse_seconds), Field(ge=0, le=60)] = 0.0
    direct: bool = True
    """Past the page cache. Buffered jobs run in a memory control group, so that dirty pages stay bounded."""
    sync_every: Annotated[int, Field(ge=0)] = 0
    """fdatasync after so many writes; 0: never."""
    fio: Path | None = None
    program: str | None = None
    """One of `workload/programs/`; its parameters stand beside it as keys of the job."""
    parameters: dict[str, bool | int | float | str] = {}
    judge: tuple[Judged, ...] = ()
    unit: str = ""
    """What one unit of work is called, of any but the first foreground job: `stored file`. Empty: as the job is."""
    counts: Literal["units", "bytes"] = "units"
    """What `done` counts. Bytes where one unit is longer than a period, as the copy of a large file is."""

    @model_validator(mode="before")
    @classmethod
    def with_parameters(cls, table: object) -> object:
        """Keys that are none of a job's own are its program's."""
        if not isinstance(table, dict) or not isinstance(table.get("program"), str):
            return table
        given = {key: value for key, value in table.items() if key not in cls.model_fields}
        rest = {key: value for key, value in table.items() if key in cls.model_fields}
        return {**rest, "parameters": {**table.get("parameters", {}), **given}}

    @model_validator(mode="after")
    def is_one_thing(self) -> Job:
        """ValueError unless exactly one of `program`, `pattern` and `fio` is set, or for requests that no drive or page
        cache would take as meant."""
        if sum(way is not None for way in (self.program, self.pattern, self.fio)) != 1:
            raise ValueError("must have exactly one of `program`, `pattern` and `fio`")
        if self.program is not None:
            self.check_program()
        if min(self.block) < 512:
            raise ValueError("has a block below 512 bytes, which no disk takes")
        if not self.direct and self.depth > 1:
            raise ValueError("is buffered, and the page cache takes one request at a time: leave `depth` out")
        if not self.direct and self.reads and self.pattern != "sequential read":
            raise ValueError(
                "reads at random through the page cache, which would answer for the storage: leave `direct` out"
            )
        return self

    def check_program(self) -> None:
        """Raises ValueError for a program that is not known, parameters that it has not, and figures that units have
        not."""
        programs.program_named(str(self.program), self.parameters)
        wrong = next((kind for kind in self.judge if kind not in UNIT_KINDS), None)
        if wrong is not None:
            raise ValueError(f"has no metric {wrong!r} for a program; it has: {', '.join(UNIT_KINDS)}")

    @property
    def runs(self) -> Program | None:
        """The program with its parameters; None for loads of fio."""
        return None if self.program is None else programs.program_named(self.program, self.parameters)

    @property
    def reads(self) -> bool:
        """False for a fio job file, which is not looked into."""
        program = self.runs
        return program.reads if program is not None else self.pattern is not None and "read" in self.pattern

    @property
    def uses_read_ahead(self) -> bool:
        """Only reads through the page cache are read ahead."""
        return self.reads and (not self.direct or self.program is not None)

    @property
    def is_buffered(self) -> bool:
        """Whether it goes through the page cache."""
        return self.program is not None or not self.direct

    @property
    def writes(self) -> bool:
        """True for a fio job file, which is not looked into."""
        program = self.runs
        if program is not None:
            return program.writes
        return self.fio is not None or (self.pattern is not None and "write" in self.pattern)


class Requests(BaseModel):
    """The work of a use as shares of the operations that studies measure one by one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    threads: Literal["few", "many", "all"] = "all"
    operations: dict[Operation, Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]]

    @model_validator(mode="after")
    def holds_something(self) -> Requests:
        """ValueError where every share is zero."""
        if not any(self.operations.values()):
            raise ValueError("has no share above zero")
        return self


class Use(BaseModel):
    """A foreground and what competes with it, the shares of its requests, or both."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    title: Annotated[str, Field(min_length=1, max_length=80)]
    group: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")] = "own"
    priority: Annotated[int, Field(ge=1, le=1000)] = 100
    why: str = ""
    unit: str = ""
    """What one unit of work of the first foreground job is called, as `start` or `transaction`; empty for requests of
    fio."""
    drives: Literal["nvme"] | None = None
    """It tells only of such drives, on a machine with several processors."""
    job: Annotated[list[Job], Field(max_length=16)] = []
    in_turn: bool = False
    """The foreground's jobs do their units one after the other, each as if it were the only one."""
    weight: Annotated[float, Field(ge=WEIGHT_LEAST, le=WEIGHT_MOST)] = 1.0
    """How much it counts next to the other uses of a run: `--for desktop=3,database`."""
    price: bool = False
    """Without `--for` it is measured of the setting alone that would be advised: what that costs, or where it no longer
    matters."""
    requests: Requests | None = None

    @model_validator(mode="after")
    def has_something_to_judge(self) -> Use:
        """ValueError for two jobs of one name, or a use whose foreground has no metric under `judge`."""
        names = [job.name for job in self.job]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise ValueError(f"has two jobs named {double!r}")
        if not self.job and self.requests is not None:
            return self
        if not any(job.judge for job in self.job if job.role == "foreground"):
            raise ValueError('judges nothing: a foreground job needs `judge`, e.g. `judge = ["rate", "p99"]`')
        return self

    @property
    def foreground(self) -> list[Job]:
        """Jobs whose throughput and latency decide; the first one gives the unit of work."""
        return [job for job in self.job if job.role == "foreground"]

    @property
    def background(self) -> str:
        """What the foreground competes with: `copy`, `4 readers`; empty where nothing else runs."""
        others = [job for job in self.job if job.role == "background"]
        return ", ".join(f"{job.jobs} {job.name}" if job.jobs > 1 else job.name for job in others)

    @property
    def processes_beside(self) -> int:
        """Of the background."""
        return sum(job.jobs for job in self.job if job.role == "background")

    @property
    def runs_programs(self) -> bool:
        """Programs need a file system, and a kernel that runs them."""
        return any(job.program is not None for job in self.job)

    @property
    def metrics(self) -> tuple[UseMetric, ...]:
        """What is judged of this use, the first foreground job's first."""
        first = self.foreground[0].name
        metrics = []
        for job in sorted(self.job, key=lambda job: (job.role != "foreground", job.name != first)):
            for kind in job.judge:
                if job.role == "background":
                    name = f"background_{kind}"
                else:
                    name = kind if job.name == first else f"{job.name}_{kind}"
                purpose = _purpose(kind, job, alone=len(self.job) == 1)
                own = job.unit or (job.name if job.program is not None else "")
                work = self.unit if job.name == first else own
                metrics.append(UseMetric(name, job.name, kind, job.role, purpose, job.counts, work))
        return tuple(metrics)


def _purpose(kind: Judged, job: Job, *, alone: bool) -> Purpose:
    """Times and slow tails count where something else competes; of a job that runs alone they say how much gets
    done."""
    waits = kind in ("time", "mean", "p50", "tail", "p99", "p999") and job.role == "foreground"
    return "responsive" if waits and not alone else "throughput"


@dataclass(frozen=True)
class UseMetric:
    """One judged figure of a use. `name` is unique within the use and stands in `tune --json`."""

    name: str
    job: str
    kind: Judged
    role: Literal["foreground", "background"]
    purpose: Purpose = "throughput"
    counts: Literal["units", "bytes"] = "units"
    work: str = ""
    """What one unit of work of its job is called; empty for requests of fio."""

    @property
    def figure(self) -> str:
        """The figure that is merged over periods: work that is counted in bytes is a rate."""
        if self.kind in ("number", "cost"):
            return "mean"
        return "rate" if self.kind == "done" and self.counts == "bytes" else self.kind

    @property
    def unit(self) -> str:
        """Unit of its values: times in milliseconds, rates in MB/s (10^6 bytes) or units per second, processor time in
        µs per operation."""
        if self.kind in ("number", "cost"):
            return ""
        return {"rate": "MB/s", "done": "/s", "cpu": "µs", "fairness": "of 1"}.get(self.figure, "ms")

    @property
    def more_is_better(self) -> bool:
        """True for throughput, units done, fairness and a command's number; False for times and costs."""
        return self.kind in ("rate", "done", "fairness", "number")


def shipped() -> list[Use]:
    """Every use that ships with the program, the most telling first."""
    return sorted(_shipped().values(), key=lambda use: use.priority)


@cache
def _shipped() -> dict[str, Use]:
    folder = files("seekwise") / "uses"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return {name.removesuffix(".toml"): loads((folder / name).read_text(encoding="utf-8"), name) for name in names}


EVERYDAY = {"nas": "file-server", "mail": "file-server", "vm-host": "virtual-machines", "vm": "virtual-machines"}
"""What people call a machine: the group that is measured for it. Mail, like files of a server, is safe before the answer."""


def groups() -> list[str]:
    """Groups of the shipped uses, the most telling first."""
    return list(dict.fromkeys(use.group for use in shipped()))


def chosen(words: str | None, *, on_device: bool = False) -> list[Use]:
    """The uses that `--for desktop,database,my.toml` names, in the order of their priority.

    None: all that run programs, as loads of requests that wait for nothing exaggerate what a scheduler does; on a bare
    device, where no program can run, those of requests, too. The limits only by name. `desktop=3` counts three times.
    """
    if words is None:
        return [use for use in shipped() if use.group != LIMITS and (use.runs_programs or on_device)]
    uses: dict[str, Use] = {}
    for word in (part.strip() for part in words.split(",")):
        if not word:
            rest = ",".join(part.strip() for part in words.split(",") if part.strip())
            raise UsageError(f"a comma without a use: `{words}`", hint=rest and f"`--for {rest}`")
        name, weight = weighed(word)
        if name.endswith(".toml"):
            use = load(Path(name))
            if not use.job:
                raise UsageError(
                    f"{name} has no `[[job]]` to measure", hint="it weighs studies: `seekwise advise RUN --for FILE`"
                )
            found = [use]
        else:
            found = named(name)
        uses |= {use.name: use.model_copy(update={"weight": weight}) if weight else use for use in found}
    return sorted(uses.values(), key=lambda use: use.priority)


def weighed(word: str) -> tuple[str, float | None]:
    """(use or group, how much it counts) of `desktop=3`; None where that is not said."""
    name, sign, text = word.rpartition("=")
    if not sign or word.endswith(".toml"):  # a file may be called `a=b.toml`
        return word, None
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not WEIGHT_LEAST <= weight <= WEIGHT_MOST:
        least, most = f"{WEIGHT_LEAST:g}", f"{WEIGHT_MOST:g}"
        raise UsageError(f"`{word}`: a weight lies between {least} and {most}", hint="`--for desktop=3,database`")
    return name, weight


def one(word: str) -> Use:
    """The shipped use of that name, or the first of that group."""
    uses = named(word)
    return next((use for use in uses if use.name == word), uses[0])


def named(word: str) -> list[Use]:
    """The shipped uses of that name or group, in the order of their priority."""
    word = EVERYDAY.get(word, word)
    uses = [use for use in shipped() if word in (use.name, use.group)]
    if word in PURPOSES:
        raise UsageError(f"`{word}` is a purpose, which runs of `tune` answer for, and no use", hint=HOW)
    if not uses:
        known = list(dict.fromkeys([*groups(), *EVERYDAY, *(use.name for use in shipped())]))
        listed = (
            f"`seekwise explain uses` lists them; or a TOML file of your own; purposes, of a run of `tune`: {OPTION}"
        )
        raise UsageError(f"no use is called `{word}`", hint=suggestion.hint(word, [*PURPOSES, *known], listed))
    return uses


def by_name(words: str | None) -> frozenset[str]:
    """Uses that `--for` names themselves: one of these that cannot run is refused, one of a named group is left out."""
    typed = [weighed(part.strip())[0] for part in words.split(",")] if words else []
    return frozenset(use.name for word in typed if EVERYDAY.get(word, word) not in groups() for use in chosen(word))


def without_programs(uses: Sequence[Use], where: str, *, named: bool) -> tuple[list[Use], list[str]]:
    """(uses that fio alone can run, what is said of the others), for `where` no program can run. UsageError when one
    was asked for."""
    left = [use for use in uses if not use.runs_programs]
    out = [use.name for use in uses if use.runs_programs]
    if out and (named or not left):
        raise UsageError(
            f"{out[0]} runs programs, and {where}",
            hint=f"--for {LIMITS} measures what device and scheduler can do at the extreme, without programs",
        )
    few = ", ".join(out[:4]) + (f" and {len(out) - 4} more" if len(out) > 4 else "")
    return left, [f"Left out, for {where}: {few}"] if out else []


def for_drives(uses: Sequence[Use], kinds: Sequence[str]) -> tuple[list[Use], list[str]]:
    """(uses that tell something of drives of these kinds, what is said of the others). UsageError when none is left."""
    several = (os.cpu_count() or 1) > 1
    left = [use for use in uses if use.drives is None or (several and set(kinds) == {use.drives})]
    out = ", ".join(use.name for use in uses if use not in left)
    where = "NVMe drives on a machine with several processors"
    if not left:
        raise UsageError(f"not to be measured here: {out}", hint=f"it is for {where}")
    return left, [f"Left out, for {where}: {out}"] if out else []


def needs_fio(uses: Sequence[Use]) -> bool:
    """Whether any of their jobs is fio's."""
    return any(job.program is None for use in uses for job in use.job)


def installed(
    uses: Sequence[Use], *, asked: Collection[str] = (), without_fio: MissingError | None = None
) -> tuple[list[Use], list[str]]:
    """(uses whose programs are on this machine, what is said of the others). MissingError when one of `asked` is not,
    or none is left.

    `without_fio`: why fio cannot run here; None when it can.
    """
    left, said = [], []
    first: MissingError | None = None
    for use in uses:
        if without_fio is not None and needs_fio([use]):
            if use.name in asked:
                raise without_fio
            first = first or without_fio
            said.append(f"{use.name} is left out: {without_fio.message}")
            continue
        missing = next(
            (reason for job in use.job if (program := job.runs) is not None and (reason := program.missing())), None
        )
        if missing is None:
            left.append(use)
            continue
        error = MissingError(
            f"{use.name} cannot be measured: {missing}", hint="install it, or choose other uses with --for"
        )
        if use.name in asked:
            raise error
        first = first or error
        said += [] if is_extra(use) else [f"{use.name} is left out: {missing}"]
    if not left and first is not None:
        raise first
    return left, said


def is_extra(use: Use) -> bool:
    """Whether it runs what a machine happens to have, as a server of databases: nothing is missing where it is not."""
    return any(program.is_extra for job in use.job if (program := job.runs) is not None)


def load(path: Path) -> Use:
    """The use in a file; fio job files in it are looked for beside it."""
    try:
        text = read_text(path)
    except FileNotFoundError as error:
        raise UsageError(f"no use at {path}", hint=f"uses that ship with the program: {', '.join(groups())}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read use {path}: {reason(error)}") from error
    use = loads(text, str(path))
    jobs = [
        job if job.fio is None or job.fio.is_absolute() else job.model_copy(update={"fio": path.parent / job.fio})
        for job in use.job
    ]
    return use.model_copy(update={"job": jobs})


def loads(text: str, source: str) -> Use:
    """The use in a text; `source` is its name in messages."""
    try:
        table = bounds.toml(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not TOML: {error}") from error
    table.setdefault("name", Path(source).name.removesuffix(".toml"))
    try:
        return Use.model_validate(table)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        # A word that is misspelt is both unknown and missing: the unknown one tells more.
        first = next((error for error in problems if error["type"] == "extra_forbidden"), problems[0])
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise UsageError(
                f"{source}: unknown key `{where}`", hint="the format of a use: `seekwise explain use`"
            ) from None
        said = str(first.get("ctx", {}).get("error", first["msg"]))
        raise UsageError(
            f"{source}: {f'`{where}` ' if where else ''}{said[:1].lower()}{said[1:]}",
            hint="the format of a use, with an example: `seekwise explain use`",
        ) from None
