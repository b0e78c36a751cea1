"""Seekwise for programs and notebooks: `run` a study on the simulator, `analyse` its records, `plot` what came out.

    import seekwise

    simulation = seekwise.run("queue-depth", seed=1)    # a study that ships with the program, a TOML file, or TOML text
    analysis = seekwise.analyse(simulation)
    print(analysis.answer)
    seekwise.plot(analysis)[0]                          # an SVG that notebooks show

The functions do what `seekwise run` and `seekwise results` do, with the same records and verdicts for the same study
and seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seekwise import temporary
from seekwise.errors import UsageError

if TYPE_CHECKING:
    from seekwise.judge.decision.document import UseVerdict
    from seekwise.report.of_run import Report
    from seekwise.store.database import Run, Store
    from seekwise.store.record import Record

__all__ = ["Analysis", "Picture", "Simulation", "analyse", "load", "plot", "run"]


@dataclass(frozen=True)
class Simulation:
    """A run and its records, in the order of its trials."""

    run: Run
    records: tuple[Record, ...]

    def rows(self) -> list[dict[str, object]]:
        """A row per operation of each trial, as `pandas.DataFrame` takes them: every factor, `setting`, `repetition`,
        `operation`, `rate_mb_s` (10⁶ bytes/s), `iops`, `latency_mean_us`, `latency_p99_us` (None where too few requests
        tell) and `cpu_mb_per_s` (MB moved per second of system CPU, or None)."""
        rows: list[dict[str, object]] = []
        for record in self.records:
            for phase in record.phases:
                p99_ns = phase.percentiles_ns.get("99")
                rows.append(
                    {
                        **record.factors,
                        "setting": record.setting,
                        "repetition": record.repetition,
                        "valid": record.valid,
                        "operation": phase.operation,
                        "rate_mb_s": phase.rate_bytes_per_s / 1e6,
                        "iops": phase.iops,
                        "latency_mean_us": phase.latency_mean_ns / 1e3,
                        "latency_p99_us": None if p99_ns is None else p99_ns / 1e3,
                        "cpu_mb_per_s": phase.cpu_efficiency,
                    }
                )
        return rows


@dataclass(frozen=True)
class Analysis:
    """What a run's records say: the same as `seekwise results` shows."""

    report: Report

    @property
    def answer(self) -> str:
        """The recommendation in a sentence."""
        return self.report.headline()

    @property
    def reasons(self) -> tuple[str, ...]:
        """What stands behind it."""
        return tuple(self.report.reasons())

    @property
    def verdicts(self) -> tuple[UseVerdict, ...]:
        """Every figure of every combination, or use, with its settings against the one in force: `uses` of `--json`."""
        return tuple(self.report.verdicts)

    @property
    def findings(self) -> tuple[str, ...]:
        """Insights, the strongest first."""
        return tuple(self.report.findings())


@dataclass(frozen=True)
class Picture:
    """A chart as SVG; notebooks show it by itself."""

    name: str
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Writes it as SVG. Raises OSError."""
        from seekwise.files import write_product

        return write_product(Path(path), self.svg.encode())


def run(
    study: str | Path,
    *,
    seed: int | None = None,
    drive: str | None = None,
    workers: int | None = None,
    on: str | None = None,
    db: str | Path | None = None,
) -> Simulation:
    """Carries out a study on the simulated backend, as `seekwise run STUDY --backend simulated`.

    `study`: path of a TOML file, name of a study that ships with the program, or TOML text (with a line break). `seed`:
    of order and trials, the study's own by default. `drive`: a drive model instead of the study's. `workers`, `on`: as
    `--workers` and `--on`. `db`: results database to keep the run in; by default it is kept nowhere.

    Raises UsageError for a study that cannot be simulated, and what `seekwise run` ends with otherwise.
    """
    from seekwise.measure import execute, spread
    from seekwise.simulate.protocol import Options
    from seekwise.simulate.simulated import SimulatedBackend
    from seekwise.workload.study import parse, planning, starters

    if seed is not None and not 0 <= seed < 2**63:
        raise UsageError(f"seed {seed} is not from 0 to 2^63 - 1")
    if workers is not None and workers < 1:
        raise UsageError(f"{workers} workers can do nothing")
    text = str(study)
    if "\n" in text:
        chosen = parse.loads(text, "study")
    else:
        chosen, text = starters.open_study(text)
    chosen = chosen.model_copy(update={"backend": "simulated"})
    backend: Any = SimulatedBackend(Options(drive))
    planned = planning.make(chosen, backend.describe(chosen), seed=seed)
    backend = spread.over(backend, "simulated", spread.parse(on), workers)
    backend.check(planned)
    with _store(db) as store:
        begun = execute.new_run(planned, text, drive)
        execute.carry_out(store, begun, planned, backend)
        return Simulation(store.run(begun.run_id), tuple(store.records(begun.run_id)))


def load(run: str = "last", *, db: str | Path | None = None) -> Simulation:
    """A run of a results database by its id, its name or `last`: measured ones, too. Raises UsageError for one that is
    not there."""
    from seekwise.store.database import Store

    with Store.open(None if db is None else Path(db), create=False) as store:
        stored = store.run(run)
        return Simulation(stored, tuple(store.records(stored.run_id)))


def analyse(run: Simulation) -> Analysis:
    """Verdicts, insights and recommendation of a run, by the rule of `seekwise results`."""
    from seekwise.judge import outcome
    from seekwise.report import of_run

    return Analysis(of_run.Report(outcome.from_records(run.run, list(run.records))))


def plot(analysis: Analysis, name: str | None = None) -> list[Picture]:
    """The charts of the report, or only that of this name. Raises UsageError for a name that none has."""
    pictures = [Picture(title, svg) for title, svg in analysis.report.pictures()]
    if name is None:
        return pictures
    chosen = [picture for picture in pictures if picture.name == name]
    if not chosen:
        raise UsageError(
            f"no chart is called {name!r}", hint="charts: " + ", ".join(picture.name for picture in pictures)
        )
    return chosen


@contextmanager
def _store(db: str | Path | None) -> Iterator[Store]:
    from seekwise.store.database import Store

    with temporary.private("library") as folder, Store.open(Path(db or Path(folder) / "run.db")) as store:
        yield store
