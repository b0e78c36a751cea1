"""A study as plain, checked data: systems × settings × workloads, and how it is carried out.

The TOML of a study maps one to one onto these models; `seekwise.workload.study.parse` turns what they refuse into
sentences.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from seekwise.store.operations import PureOperation
from seekwise.workload.study.quantity import parse_bytes, parse_seconds

Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(ge=1)]
Seconds = Annotated[float, BeforeValidator(parse_seconds), Field(ge=0)]
BackendName = Literal["kernel", "simulated", "lab"]


def as_list(value: object) -> object:
    """One value stands for a list of one."""
    return value if isinstance(value, list | tuple) else [value]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


ARRAY_OPTIONS = (
    "missing",
    "resync_kib_s",
    "sync_action",
    "sync_speed_max",
    "stripe_cache_size",
    "rmw_level",
    "bitmap",
    "bitmap_chunk_kib",
)
"""What else describes an array; a study may write them beside `raid_level` or among `options`."""


class System(Part):
    """What is measured: a folder or block device of this machine, or a drive (array of drives) that is modelled."""

    name: str = Field(min_length=1)
    target: str | None = None
    """Folder or block device for the kernel backend; `.` is where the command runs; `--target` replaces it."""
    drive: str | None = None
    """Name of a drive model, for the simulated and lab backends."""
    drives: int = Field(default=1, ge=1, le=1024)
    raid_level: str | None = None
    chunk_kib: Annotated[list[int], BeforeValidator(as_list)] = []
    layout: str | None = None
    """Layout of RAID 5, 6 or 10 as mdadm names it: `left-symmetric`, `f2` …"""
    controller: str | None = None
    kernel: str | None = None
    """Kernel generation of the simulated host, e.g. `2.6.24` or `6.12`."""
    options: dict[str, str | int | float | bool] = {}
    """Further parameters of the model by its own names."""

    @model_validator(mode="before")
    @classmethod
    def array_options_beside_the_level(cls, given: object) -> object:
        """Moves them to the options, where they are kept. ValueError where both places have one, or one has several."""
        if not isinstance(given, dict) or not isinstance(options := given.get("options", {}), dict):
            return given
        beside = {name: value for name, value in given.items() if name in ARRAY_OPTIONS}
        if twice := sorted(beside.keys() & options.keys()):
            raise ValueError(f"`{twice[0]}` stands here and under `options`")
        if several := [name for name, value in beside.items() if isinstance(value, list)]:
            raise ValueError(f"`{several[0]}` takes one value here; several go under `[settings]`")
        rest = {name: value for name, value in given.items() if name not in beside}
        return {**rest, "options": {**options, **beside}} if beside else given


IoClass = Literal["realtime", "best-effort", "idle"]
IoPriority = Annotated[int, Field(ge=0, le=7)]
Arrivals = Literal["even", "poisson"]


def _check_pace(part: BackgroundLoad | Workload, threads: int, runtime: float | None, delay: float = 0.0) -> None:
    """`runtime` is that of a phase, in seconds."""
    if part.arrivals == "poisson" and part.rate_limit is None:
        raise ValueError('`arrivals = "poisson"` needs a `rate_limit`, the mean that the arrivals keep')
    last = delay + (threads - 1) * part.start_stagger
    if runtime is not None and last >= runtime:
        raise ValueError(
            f"the last of {threads} threads would start after {last:g} s, and the phase ends after {runtime:g} s"
        )


class BackgroundLoad(Part):
    """Threads that work beside a workload, for as long as each of its phases: a log writer beside a web server."""

    name: str = Field(min_length=1)
    operation: PureOperation
    threads: int = Field(default=1, ge=1, le=4096)
    block_bytes: Bytes = 4096
    iodepth: int = Field(default=1, ge=1, le=65536)
    direct: bool = True
    size: Bytes = 64 * 2**20
    """Bytes of each thread's own file, behind those of the workload."""
    io_class: IoClass | None = None
    io_priority: IoPriority | None = None
    think_time: Seconds = 0.0
    rate_limit: Bytes | None = None
    arrivals: Arrivals = "even"
    start_delay: Seconds = 0.0
    """From the start of a phase until its first thread starts."""
    start_stagger: Seconds = 0.0

    @model_validator(mode="after")
    def block_fits(self) -> BackgroundLoad:
        """ValueError where a request is larger than its file."""
        if self.block_bytes > self.size:
            raise ValueError(f"`size` ({self.size} bytes) is smaller than a block ({self.block_bytes} bytes)")
        return self


class Workload(Part):
    """What the load does. Exactly one source: `profile`, `job` (a fio job file), `use` or `operations`."""

    name: str | None = None
    profile: str | None = None
    job: Path | None = None
    use: str | None = None
    """A use of `tune` whose programs are played by the simulator; the times of its units of work come out."""
    operations: Annotated[list[PureOperation], BeforeValidator(as_list)] = []
    threads: Annotated[list[Annotated[int, Field(ge=1, le=4096)]], BeforeValidator(as_list)] = [1]
    block_bytes: Annotated[list[Bytes], BeforeValidator(as_list)] = [4096]
    iodepth: Annotated[list[Annotated[int, Field(ge=1, le=65536)]], BeforeValidator(as_list)] = [1]
    program: Literal["fio", "tiotest", "gnome-disks"] = "fio"
    """Who makes the load. tiotest, where installed, does its own four phases only. gnome-disks is simulated: samples of
    the request size at even distances over the whole volume; what it measured itself is imported."""
    engine: Literal["psync", "sync", "libaio", "io_uring", "posixaio"] | None = None
    """fio's engine; by default psync at depth 1, libaio beyond."""
    direct: bool = True
    sync: bool = False
    """O_SYNC: a write returns when it is on the drive."""
    end_fsync: bool = True
    """A write phase ends with fsync, inside the time."""
    size: Bytes = 64 * 2**20
    """Bytes of each thread's own file."""
    reach: Annotated[float, Field(gt=0, le=1)] | None = None
    """Instead of `size`: random requests of all threads go over this share of the smallest array or drive that is compared."""
    runtime: Seconds | None = None
    """Time of each phase; without it a phase ends after `size` (sequential) or `random_ios` (random)."""
    random_ios: Annotated[int, Field(ge=1)] | None = None
    """Requests of each thread in a random phase without `runtime`."""
    memory_limit: Annotated[list[Bytes], BeforeValidator(as_list)] = []
    """Memory (page cache included) that a buffered load may use; each value is a combination."""
    rate_limit: Bytes | None = None
    arrivals: Arrivals = "even"
    """Gaps between the requests of a thread with `rate_limit`: equal, or random about their mean (exponential)."""
    start_stagger: Seconds = 0.0
    """From the start of a thread to that of the next one."""
    think_time: Seconds = 0.0
    """Pause of a thread after each of its requests."""
    io_class: IoClass | None = None
    """I/O scheduling class of the threads, as ionice sets it."""
    io_priority: IoPriority | None = None
    """Level within the class: 0 is served first."""
    beside: Annotated[list[BackgroundLoad], BeforeValidator(as_list)] = []

    @model_validator(mode="after")
    def others_can_work_in_the_background(self) -> Workload:
        """ValueError for background jobs without `runtime`, buffered ones without a buffered workload, or an operation
        named twice."""
        if self.beside and self.runtime is None:
            raise ValueError("`beside` needs a `runtime`, for which all of them work")
        if any(not job.direct for job in self.beside) and self.direct:
            raise ValueError(
                "`beside` jobs with `direct = false` need a buffered workload, whose `memory_limit` they share"
            )
        named = [*self.operations, *(job.operation for job in self.beside)]
        double = next((name for name in named if named.count(name) > 1), None)
        if self.beside and double is not None:
            raise ValueError(f"`{double}` is named twice; results tell jobs apart by their operation")
        return self

    @model_validator(mode="after")
    def program_can_do_it(self) -> Workload:
        """ValueError where gnome-disks is asked for more than one thread, queued or buffered requests, or random
        operations."""
        sampled = self.program == "gnome-disks"
        if sampled and (self.threads != [1] or self.iodepth != [1] or not self.direct):
            raise ValueError("gnome-disks reads and writes with one thread, one request at a time and direct I/O")
        if sampled and not (self.operations and set(self.operations) <= {"seq_read", "seq_write"}):
            raise ValueError("gnome-disks takes samples in order: `operations` of `seq_read` and `seq_write`")
        return self

    @model_validator(mode="after")
    def reach_is_of_random_requests(self) -> Workload:
        """ValueError for `reach` with requests in order, through the page cache, or beside others: these have files."""
        in_order = any(name.startswith("seq") for name in self.operations)
        if self.reach is not None and (in_order or not self.direct or self.beside or self.use):
            raise ValueError("`reach` is for direct `operations` of `rand_read` and `rand_write`, without `beside`")
        return self

    @model_validator(mode="after")
    def pace_is_possible(self) -> Workload:
        """ValueError where pace and start delays of threads do not fit the run time."""
        _check_pace(self, max(self.threads), self.runtime)
        for job in self.beside:
            _check_pace(job, job.threads, self.runtime, job.start_delay)
        return self

    @model_validator(mode="after")
    def one_source(self) -> Workload:
        """ValueError unless exactly one of `profile`, `job` and `operations` is set."""
        sources = [name for name in ("profile", "job", "use", "operations") if getattr(self, name)]
        if len(sources) != 1:
            named = "none of them" if not sources else " and ".join(f"`{name}`" for name in sources)
            raise ValueError(f"must have exactly one of `profile`, `job`, `use` and `operations`, but has {named}")
        return self

    @model_validator(mode="after")
    def caches_are_excluded(self) -> Workload:
        """ValueError for a memory limit on direct I/O, which has no page cache to limit."""
        if self.direct and self.memory_limit:
            raise ValueError("`memory_limit` is for buffered loads: set `direct = false` or leave it out")
        return self

    @model_validator(mode="after")
    def blocks_fit(self) -> Workload:
        """ValueError where a request is larger than a thread's file."""
        if max(self.block_bytes) > self.size:
            raise ValueError(f"`size` ({self.size} bytes) is smaller than a block ({max(self.block_bytes)} bytes)")
        return self


class Design(Part):
    """How trials are laid out in time."""

    blocks: int = Field(default=5, ge=1, le=1000)
    """Repetitions: in each, every setting runs in every combination."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    control: bool = True
    """A/A control: the reference setting runs under a second label."""
    sentinel: bool = True
    """The reference combination runs at both ends of each repetition and shows drift."""
    reference: str | None = None
    """Label of the reference setting; by default the one in force, else the first."""
    compare: Annotated[list[str], BeforeValidator(as_list)] = []
    """Factors whose values compete; others become part of the combination. By default all of them compete."""
    wait: Seconds = 0.0
    """Pause before each trial."""
    settle: Seconds = 0.0
    """Time that the devices must be quiet before a trial starts; 0 does not look."""
    trim: bool = False
    """Free the unused blocks (fstrim) before each trial."""
    attempts: int = Field(default=3, ge=1, le=20)
    """How often an invalid trial is tried in all."""


class Answer(Part):
    """How a study ends: beside the choice for each system, which uses it advises for, and whether by number of
    threads."""

    uses: Annotated[list[str], BeforeValidator(as_list)] = []
    by_threads: bool = False


Settings = dict[str, list[str | int | float | bool]]


class Study(Part):
    name: str = Field(min_length=1)
    question: str = ""
    backend: BackendName = "kernel"
    system: list[System] = Field(min_length=1)
    settings: Settings = {}
    candidate: list[dict[str, str | int | float | bool]] = []
    """Settings written out one by one, instead of the product of `settings`."""
    workload: list[Workload] = Field(min_length=1)
    design: Design = Design()
    answer: Answer | None = None
    """How the study ends in words."""

    @field_validator("settings", mode="before")
    @classmethod
    def settings_are_lists(cls, value: object) -> object:
        """A single value becomes a list of one; nested tables become dotted names."""
        return {name: as_list(given) for name, given in flat(value).items()} if isinstance(value, dict) else value

    @field_validator("candidate", mode="before")
    @classmethod
    def candidates_are_flat(cls, value: object) -> object:
        """Nested tables become dotted names; no values are multiplied out."""
        return [flat(item) if isinstance(item, dict) else item for item in value] if isinstance(value, list) else value

    @model_validator(mode="after")
    def names_are_unique(self) -> Study:
        """ValueError for a name used twice, or both `[settings]` and `[[candidate]]`."""
        for what, given in (("system", [s.name for s in self.system]), ("workload", [w.name for w in self.workload])):
            named = [name for name in given if name is not None]
            double = next((name for name in named if named.count(name) > 1), None)
            if double is not None:
                raise ValueError(f"two of `[[{what}]]` have the name {double!r}")
        if self.settings and self.candidate:
            raise ValueError("has `[settings]` and `[[candidate]]`; write one of them")
        return self

    def factor_names(self) -> list[str]:
        """Every setting that varies or is set, in the order of the file."""
        if self.candidate:
            return list(dict.fromkeys(name for values in self.candidate for name in values))
        return list(self.settings)


def flat(table: dict[str, object], prefix: str = "") -> dict[str, object]:
    """`{"iosched": {"read_expire": 5}}` as `{"iosched.read_expire": 5}`: how TOML reads a dotted key."""
    values: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            values.update(flat(value, f"{prefix}{name}."))
        else:
            values[f"{prefix}{name}"] = value
    return values
