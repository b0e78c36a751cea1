"""Runs of studies: records, verdicts, advice, comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from seekwise.cli._progress import Progress
from seekwise.cli.schemas.base import Map, Number, Part, part_of
from seekwise.cli.schemas.decision import Decision, PurposeDecision, Use
from seekwise.judge import compare, observation, quantiles, raid_kind, workloads
from seekwise.report.arrays import ArrayRow
from seekwise.report.content import Advice, WinnerRow
from seekwise.report.insights.choices import Choice
from seekwise.report.insights.finding import Finding
from seekwise.store import database, record

Provenance = Literal["measured", "virtual", "simulated"]


class Derived(Part):
    """Figures computed from the phase, for readers without this program."""

    rate_bytes_per_s: float
    iops: float
    cpu_efficiency_mb_per_system_cpu_s: Number
    latency_percentiles_ns: dict[str, Number]
    """{percent: nanoseconds}."""


class Phase(Part):
    """One operation within a trial."""

    operation: str
    """seq_read, seq_write, rand_read, rand_write or mixed."""
    elapsed_s: float
    bytes: int
    ios: int
    """Requests completed; 0 where an imported result does not say."""
    latency_bins: dict[str, int]
    """Latency histogram: {upper bound of the bin in ns: requests}."""
    latency_mean_ns: float
    latency_max_ns: int
    cpu: record.CpuSeconds
    device_bytes: int | None
    """Bytes that the physical devices moved meanwhile."""
    windows: list[tuple[float, float]]
    """[rate in bytes/s, mean latency in ns] over equal windows of time."""
    details: Map
    reported_percentiles_ns: dict[str, int]
    """{percent: latency in ns} as another tool reports them."""
    derived: Derived


class Record(Part):
    """What one trial, or one period of a live-switched run, measured."""

    schema_: Literal["seekwise.record/1"]
    run_id: str
    trial: int
    block: int
    """Repetition, from 1."""
    cell: str
    """The combination of workload and configuration without the compared setting."""
    setting: str
    factors: Map
    """Every factor by name: scheduler, threads, block_bytes …"""
    badge: Provenance
    """Provenance."""
    seed: int
    started_at: str
    phases: list[Phase]
    settings_seen: dict[str, dict[str, str | None]]
    """{device: {attribute: value as read back}}."""
    environment: Map
    load: Map
    """What made the load: fio's version and job, or the simulator's models and versions."""
    conditions: Map
    valid: bool
    invalid_reason: str | None
    attempt: int


class Results(Part):
    """`results RUN --json`, `run --json`, `demo --json`, `lab --json`, `import --json`: verdicts and records of a study's run."""

    schema_: Literal["seekwise.results/1"]
    run_id: str
    study: str
    backend: str
    badge: Provenance
    """Provenance."""
    target: str | None
    seed: int
    outcome: str | None
    """complete, or why not."""
    created_at: str
    ended_at: str | None
    plan: Map
    """What was planned, schema seekwise.plan/1."""
    winners: list[WinnerRow]
    arrays: list[ArrayRow]
    printed: Map | None
    """Tables in the form of the publication that the study repeats."""
    findings: list[Finding]
    """Insights, strongest first."""
    advice: Advice
    control: str
    """Result of the A/A check, a sentence."""
    rule: str
    decision: Decision | None
    """Of a study whose settings compete on one system; else null, and `advice.choices` or `arrays` answer."""
    purposes: list[PurposeDecision]
    uses: list[Use]
    """Operations, in the shape of `tune --json`."""
    notes: list[str]
    verdicts: list[observation.Verdict]
    records: list[Record]
    report: str | None
    """Path of the page that was written."""


class Run(Part):
    """A run in the results database."""

    run_id: str
    created_at: str
    study: str
    backend: str
    target: str | None
    records: int
    valid: int
    outcome: str | None


class Runs(Part):
    """`results --json`: the runs in the results database."""

    schema_: Literal["seekwise.runs/1"]
    runs: list[Run]


class Recorded(Part):
    """`run --json` of the collector, which measures and leaves verdicts to the whole package."""

    schema_: Literal["seekwise.recorded/1"]
    run_id: str
    records: int
    db: str


class Export(Part):
    """`export RUN --format json`: everything that is kept of a run."""

    schema_: Literal["seekwise.export/1"]
    run: database.Run
    records: list[Record]


class Report(Part):
    """`report --json`: the files that were written."""

    schema_: Literal["seekwise.report/1"]
    run_id: str | None
    """Null for a page of several runs."""
    runs: list[str]
    """All that the page shows."""
    report: str
    pictures: list[str]
    opened: bool
    """Whether a browser was started (`--open`)."""


class UseStanding(Part):
    """How one metric of one use stands."""

    where: str
    standing: str


class Watch(part_of(Progress)):
    """`watch --json`: one look at a run."""

    schema_: Literal["seekwise.watch/1"]
    standings: list[UseStanding]


class WeightedSetting(Part):
    """A setting, weighted for a use."""

    setting: str
    ratios: dict[str, tuple[Number, Number, Number]]
    """{metric: [estimate, low, high]} against the reference."""
    on_pareto_front: bool
    """No other setting is as good in rate, p99 and CPU efficiency."""
    regret: Number
    """Largest loss: share of the best rate lost where the setting is worst."""
    regret_cell: str


class Weighted(Part):
    """The records weighted for a use."""

    name: str
    operations: dict[str, float]
    threads: str
    reference: str
    blocks: int
    not_covered: float
    """Share of this use that no trial represents."""
    best: list[str]
    settings: list[WeightedSetting]


class RunAdvice(Part):
    """`advise RUN --json`."""

    schema_: Literal["seekwise.advice/1"]
    run_id: str
    badge: Provenance
    """Provenance."""
    headline: str
    reasons: list[str]
    caution: list[str]
    set_lines: list[str]
    undo_lines: list[str]
    workload: Weighted | None
    """Null without --for."""


@dataclass(frozen=True)
class SystemChoice(Choice):
    """A choice and the sentence that says it."""

    text: str = field()


class SystemsAdvice(Part):
    """`advise RUN --json` of a study with several systems."""

    schema_: Literal["seekwise.advice.systems/1"]
    run_id: str
    badge: Provenance
    """Provenance."""
    systems: list[SystemChoice]


class Workloads(Part):
    """`advise --list --json`."""

    schema_: Literal["seekwise.workloads/1"]
    workloads: list[workloads.Workload]


class Side(Part):
    """One of two compared runs."""

    run_id: str
    badge: Provenance
    """Provenance."""


@dataclass(frozen=True, kw_only=True)
class Change(observation.Verdict):
    """The second run against the first, for one setting in one combination by one metric."""

    setting: str
    outcome: str
    """regression, improvement, unconfirmed (shown by some pairs of runs only), small, tie or undecided."""
    pair: str


class Quantiles(Part):
    """Access time by percentile, second run over first."""

    cell: str
    setting: str
    operation: str
    access_time: list[quantiles.QuantileRatio]


@dataclass(frozen=True)
class Pair(compare.Pair):
    """Two values of one combination."""

    error: float = field()


class Compare(Part):
    """`compare RUN RUN --json`. `mode` is judged (one backend; `changes`) or agreement (two backends; `agreement`)."""

    schema_: Literal["seekwise.compare/1"]
    mode: Literal["judged", "agreement"]
    headline: str = ""
    base: Side
    new: Side
    rule: str = ""
    counts: dict[str, int] = Field(default_factory=dict)
    changes: list[Change] = Field(default_factory=list)
    quantiles: list[Quantiles] = Field(default_factory=list)
    agreement: list[compare.Agreement] = Field(default_factory=list)
    pairs: list[Pair] = Field(default_factory=list)
    notes: list[str]
    pairs_of_runs: int = 1
    """Pairs of runs with these names that a judged comparison rests on; `base` and `new` are the newest."""


class RaidKind(part_of(raid_kind.RaidKind)):
    """`compare MD CONTROLLER --raid-kind --json`."""

    schema_: Literal["seekwise.raid-kind/1"]
    md: str
    """Run of the md array."""
    controller: str


class Changed(Part):
    """An outcome at one value of a parameter."""

    value: float
    outcome: str


class Flip(Part):
    """A conclusion that depends on a parameter."""

    conclusion: str
    usual: str
    changed: list[Changed]
    within_stated_range: bool
    by_chance: bool


class Varied(Part):
    """One parameter and what depends on it."""

    parameter: Map
    effect: Literal["some", "not asked", "same results"]
    values: list[float]
    left_out: list[Map]
    conclusions: list[Map]
    flips: list[Flip]
    mean_rates: list[Map]


class Sensitivity(Part):
    """`run STUDY --vary PARAM --json`."""

    schema_: Literal["seekwise.sensitivity/1"]
    study: str
    seed: int
    parameters: list[Varied]
    holding: int
    """Conclusions that hold at every value within a stated range."""


class Plan(Part):
    """`plan STUDY --json`."""

    schema_: Literal["seekwise.plan/1"]
    study: str
    backend: str
    seed: int
    blocks: int
    """Repetitions."""
    compare: list[str]
    reference: str
    cells: list[Map]
    """Combinations: key, system, load, and what is fixed."""
    settings: list[Map]
    trials: list[Map]
    """In order: index, block, cell, setting, role, seed."""
    systems: list[Map]
    touched: list[Map]
    """Attributes that are changed: device, attribute, value now, values to come."""
    wait_s: float
    settle_s: float
    trim: bool
    attempts: int
    prepare_s: float
    trial_s: list[float]
    bytes_per_trial: list[int]
    bytes_prepared: int
    notes: list[str]
    until: str | None
    budget_s: Number
    estimated_s: float
    bytes_written: int
    forecast: Map = Field(default_factory=dict)
    """How long deciding will probably take, at the noise of an earlier run or at what is usual."""


class Setup(Part):
    """`plan STUDY --setup --json`: lines that build the systems of a study."""

    schema_: Literal["seekwise.setup/1"]
    study: str
    lines: list[str]
