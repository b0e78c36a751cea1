"""Explanations, the simulator's speed, drives and traces."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seekwise.cli.schemas.base import Map, Number, Part
from seekwise.measure.probe.measure import Figure
from seekwise.trace.depend import Process


class Tunable(Part):
    """A tunable of a scheduler."""

    name: str
    unit: str
    meaning: str
    defaults: dict[str, int | float | str]
    """{kernel: default}."""


class Parameter(Part):
    """A number of a model."""

    name: str
    value: int | float
    unit: str
    low: Number
    high: Number
    confidence: str
    source: str


class Fact(Part):
    """A fact of a controller."""

    name: str
    value: str
    source: str


class Explain(Part):
    """`explain WORD --json`; without WORD only `words`."""

    schema_: Literal["seekwise.explain/1"]
    words: list[str] = Field(default_factory=list)
    word: str = ""
    kind: Literal["term", "scheduler", "model", "program", ""] = ""
    title: str = ""
    text: str = ""
    see: list[str] = Field(default_factory=list)
    tunables: list[Tunable] = Field(default_factory=list)
    parameters: list[Parameter] = Field(default_factory=list)
    facts: list[Fact] = Field(default_factory=list)


class Case(Part):
    """One case of the benchmark."""

    name: str
    ios: int
    cpu_seconds: float
    ios_per_cpu_second: float
    """Simulated I/Os per CPU second of one core."""
    start_cpu_seconds: float
    """CPU seconds before the first request: reading and building."""
    member_requests: int | None = None
    cost_against_one_drive: Number = None


class Bench(Part):
    """`bench --json`."""

    schema_: Literal["seekwise.bench/1"]
    seed: int
    cases: list[Case]


class Zone(Part):
    """Sequential rate at a place."""

    place: float
    """0 at the start of the drive, 1 at its end."""
    rate: Figure


class Seek(Part):
    """Time of a seek."""

    stroke: float
    """Share of the full stroke."""
    time: Figure


class Latency(Part):
    """Median latency."""

    kib: int
    depth: int
    median: Figure


class Iops(Part):
    """Random reads of 4 KiB at a queue depth."""

    depth: int
    rate: Figure


class Characterize(Part):
    """`characterize DEVICE --json`."""

    schema_: Literal["seekwise.characterize/1"]
    device: str
    capacity_sectors: int
    rotational: bool
    turn_ms: Figure
    rpm: Number
    zones: list[Zone]
    seek: list[Seek]
    read_ahead: Figure | None
    cache_segments: Figure | None
    latency: list[Latency]
    iops: list[Iops]
    unseen: list[str]
    doubts: list[str] = Field(default_factory=list)
    """What of it cannot be."""
    """What reading cannot show."""


class Recording(Part):
    """`record DEVICE --json`."""

    schema_: Literal["seekwise.recording/1"]
    file: str
    device: str
    seconds: float
    requests: int
    dropped_events: int
    cpu_share: float
    """Share of all processors that recording took."""
    notes: list[str]


class Trace(Part):
    """`trace show FILE --json`."""

    schema_: Literal["seekwise.trace/1"]
    file: str
    source: str
    devices: list[str]
    dropped_events: int
    truncated: str | None
    anonymous: bool
    notes: list[str]
    requests: int
    seconds: float
    reads: int
    writes: int
    flushes: int
    discards: int
    bytes_read: int
    bytes_written: int
    sequential_share: float
    latency_ms: dict[str, dict[str, Number]]
    """{kind: {percentile: ms}}."""
    processes: dict[str, dict[str, int]]
    """{process: requests, reads, writes, bytes}."""
    dependencies: list[Process]


class Predicted(Part):
    """What a group of programs would see."""

    p50_ms: float
    p99_ms: float
    mean_ms: float
    rate_mb_per_s: float
    iops: float
    elapsed_s: float


class PredictedProgram(Predicted):
    """The same of the programs of one name."""

    program: str


class WhatIfSetting(Part):
    """One storage that was asked for."""

    setting: str
    values: Map
    """As asked for, by the names of a study."""
    in_force: Map
    """Settings of its queues, after defaults."""
    foreground: Predicted
    programs: list[PredictedProgram]
    open: Predicted | None
    """The foreground with every request sent at its recorded time; only with `--open`."""


class WhatIfProgram(Part):
    """Programs of one name in the trace."""

    program: str
    role: str
    processes: int
    requests: int
    bytes: int
    how: dict[str, int]
    """Requests that wait for all earlier ones (`replies`), for one of them (`slots`), for the queue (`admitted`), for nothing (`open`)."""


class WhatIf(Part):
    """`whatif TRACE --json`."""

    schema_: Literal["seekwise.whatif/1"]
    run_id: str
    trace: str
    requests: int
    device: str
    repeats: int
    best: list[str]
    """Settings within 5 % of the best one's p99 and rate."""
    answer: str
    recorded: dict[str, Number]
    """p50_ms and p99_ms of the foreground in the trace."""
    settings: list[WhatIfSetting]
    """The best one first."""
    programs: list[WhatIfProgram]
    notes: list[str]
    assumed: list[str]
    hangs_on: list[str]
    """Whether the answer stays with the other assumption."""


class ImportedDrive(Part):
    """A drive model made from DiskSim's parameters."""

    file: str
    id: str
    name: str
    notes: list[str]
    model: str
    """Path of the model file."""


class ImportDrives(Part):
    """`import FILE.parv --json`."""

    schema_: Literal["seekwise.import.drives/1"]
    drives: list[ImportedDrive]


class Drive(Part):
    """`drive MODEL --json`, first line: the drives are ready."""

    schema_: Literal["seekwise.drive/1"]
    model: str
    name: str
    bytes: int
    sockets: list[str]
    control: str
    store: str | None
    transport: Map | None
    """Time between client and drive, in ns: `request_ns`, `answer_ns`."""
    devices: list[str]


class Served(Part):
    """What one drive did."""

    drive: int
    state: str
    reads: int
    writes: int
    flushes: int
    trims: int
    bytes_read: int
    bytes_written: int
    invalid: int
    no_space: int
    medium_errors: int
    power_cuts: int
    overruns: int
    overrun_limit_us: float
    late_us_p50: float
    late_us_p99: float
    late_us_max: float


class DriveReport(Part):
    """`drive MODEL --json`, last line: what the drives did."""

    schema_: Literal["seekwise.drive-report/1"]
    model: str
    seconds: float
    valid: bool
    """No answer was late."""
    overruns: int
    drives: list[Served]
