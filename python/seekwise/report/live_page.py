"""The page of a live-switched run: one self-contained HTML file, the answer first. No network, no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from seekwise.judge.decision.periods import AGAIN, dense, quantile_ns
from seekwise.judge.decision.records import bins_of, job_of, prior_of, without_control
from seekwise.judge.decision.verdicts import CandidateVerdict, Judged
from seekwise.judge.outcome import LiveOutcome, notes
from seekwise.number_text import percent
from seekwise.report import answered, close_up, site, stages, terms, tested, tune_answer
from seekwise.report.charts import files, live_svg, panels
from seekwise.report.charts.live_svg import Distance, Value, distances
from seekwise.report.looks import Look, Looks
from seekwise.report.losses import LossBlock
from seekwise.report.metric_words import metric_name, subject, value_text
from seekwise.store.record import Record, environment_of
from seekwise.trace import excerpt
from seekwise.workload.study import load_words
from seekwise.workload.study.quantity import time_text
from seekwise.workload.study.uses import Use

USES_IN_FULL = 3
"""With more uses the first screen has one row for each, with what decides there."""
BANDS_MAX = 48
"""Periods shown of each use: what a screen holds."""


STRETCHES_MOST = 3
"""Uses of which a stretch is drawn request by request: 60 kB each."""


def write(path: Path, outcome: LiveOutcome) -> Path:
    """Writes the page whole or not at all; the path that was written."""
    site.write(path, html(outcome))
    return path


def html(outcome: LiveOutcome) -> str:
    """The whole page as text."""
    looks = Looks()
    known = looks.by_label([candidate.label for candidate in outcome.plan.candidates])
    environment_seen = environment_of(outcome.records)
    blocks = {use.name: _blocks(outcome, use, known) for use in outcome.plan.uses}
    measured = [use for use in outcome.plan.uses if blocks[use.name]]
    # What differs first, as in the answer.
    measured.sort(key=lambda use: min(_place(block) for block in blocks[use.name]))
    invalid = [record for record in outcome.records if not record.valid]
    words = terms.terms(known, terms.ALWAYS[:-1])
    return site.render(
        "live.html",
        outcome=outcome,
        headline=tune_answer.headline(outcome),
        answered=tune_answer.rows(outcome),
        open_text=tune_answer.open_text(outcome),
        next_command=tune_answer.next_command(outcome, outcome.run.run_id),
        bars="simulated" if outcome.plan.provenance == "simulated" else "measured",
        staged=stages.sentences(outcome),
        notes=notes(outcome),
        looks=looks,
        shown=known,
        panels=_panels(outcome, known),
        panels_first=PANELS_FIRST,
        uses=[_use(outcome, use, known, blocks[use.name]) for use in (measured or outcome.plan.uses)],
        stretches=_stretches(outcome, measured, blocks, looks),
        why_note=WHY_NOTE.get(outcome.plan.provenance, ""),
        why_missing=excerpt.missing_text(outcome.plan.extra),
        compact=len(measured) > USES_IN_FULL,
        axis=live_svg.loss_axis(),
        provenance=tested.PROVENANCE[outcome.plan.provenance],
        tested=tested.line_of_tune(outcome),
        devices=tested.devices_of_tune(outcome),
        facts=tested.facts(environment_seen),
        swatch=panels.swatch,
        distribution=panels.distribution,
        percent=percent,
        time_text=time_text,
        prior=prior_of(outcome.plan).source,
        invalid=invalid,
        terms=words,
        term_anchors=terms.anchors(words, known),
    )


PANELS_FIRST = 6
"""Figures in the first picture; the others are behind a click."""


@dataclass(frozen=True)
class Panel:
    """Values of one figure by setting, and the value at the right edge."""

    use: str
    what: str
    better: str
    """Which way is better, in words."""
    rows: tuple[Value, ...]
    end: float


def _panels(outcome: LiveOutcome, looks: dict[str, Look]) -> list[Panel]:
    """What was measured, by figure; what differs first, the setting in force above the others. Slow tails come after
    the times that they are of."""
    in_force = outcome.plan.in_force.label
    asked = tune_answer.question(outcome)
    panels = []
    for judged in outcome.decided.judged:
        base, chosen = judged.standing(in_force), asked.chosen(judged)
        if base is None or not base.value or not judged.rounds:
            continue
        others = [standing for standing in judged.standings if standing.setting != in_force and standing.value]
        rows = []
        for entry in (base, *others):
            assert entry.value is not None
            known = entry.setting != in_force and entry.ratio is not None
            expected = (
                tuple(base.value * (part or 1.0) for part in (entry.ratio, entry.low, entry.high)) if known else None
            )
            rows.append(
                Value(
                    looks[entry.setting],
                    entry.value,
                    expected,  # type: ignore[arg-type]
                    value_text(entry.value, judged.unit),
                    answered.statement(judged, entry),
                    entry.setting == in_force,
                    entry.setting == chosen != in_force,
                )
            )
        if others:
            better = "more is better" if judged.more_is_better else "less is better"
            panel = Panel(judged.use, subject(judged), better, tuple(rows), live_svg.values_end(rows))
            order = min(answered.order(other) for other in others)
            panels.append(((judged.kind in answered.TAILS, *order), panel))
    return [panel for _, panel in sorted(panels, key=lambda pair: pair[0])]


def _stretches(
    outcome: LiveOutcome, uses: Sequence[Use], blocks: dict[str, list[LossBlock]], looks: Looks
) -> dict[str, close_up.CloseUpSection]:
    """By use, why the settings differ: of a simulated run where a setting is shown to lose, of a measured one where
    requests were recorded."""
    if outcome.plan.provenance == "measured":
        return {
            use.name: stretch
            for use in uses
            if (
                stretch := close_up.of_traced(
                    excerpt.stretches(outcome.plan.extra, use.name), looks, use.title, _capacity(outcome)
                )
            )
        }
    if outcome.plan.provenance != "simulated":
        return {}
    chosen = outcome.choice.setting if outcome.choice is not None else None
    made: dict[str, close_up.CloseUpSection] = {}
    for use in uses:
        if len(made) == STRETCHES_MOST or not any(
            standing.verdict == "worse" for b in blocks[use.name] if b.judged for standing in b.judged.standings
        ):
            continue
        mine = [record for record in outcome.records if record.valid and record.factors.get("use") == use.name]
        stretch = close_up.of_use(mine, looks, use.title, chosen)
        if stretch is not None:
            made[use.name] = stretch
    return made


def _capacity(outcome: LiveOutcome) -> int | None:
    """Bytes of the one disk, where the record says."""
    devices = next((record.environment.get("devices") for record in outcome.records if record.environment), None)
    sizes = (
        [device.get("size_bytes") for device in devices if device.get("name") in outcome.plan.leaves]
        if isinstance(devices, list)
        else []
    )
    return int(sizes[0]) if len(sizes) == 1 and sizes[0] else None


WHY_NOTE = {
    "measured": "Recorded by the kernel's block events, a short stretch of each setting after the measuring. It scatters: verdicts rest on the periods above.",
    "simulated": "Simulated again from this run's model and seed: always the same picture.",
}


def pictures(outcome: LiveOutcome) -> list[tuple[str, str]]:
    """(name, SVG) of losses, time series and latencies of each use; their text and colours stand inside."""
    looks = Looks()
    known = looks.by_label([candidate.label for candidate in outcome.plan.candidates])
    made = []
    for use in outcome.plan.uses:
        drawn = _use(outcome, use, known, _blocks(outcome, use, known))
        deciding, over = drawn.deciding, drawn.timeline
        parts = [
            *([("time-series", f"{use.title}: {over.title}", over.picture, "")] if over is not None else []),
            ("latency", f"{use.title}: latency by the share of faster requests", drawn.nines, ""),
        ]
        if deciding is not None:
            axis = str(live_svg.loss_axis())
            parts.append(("losses", f"{use.title}: {deciding.metric}, distance to the best", deciding.picture, axis))
        made += [
            (f"{use.name}-{name}", files.framed(str(picture), title, list(known.values()), below))
            for name, title, picture, below in parts
            if picture
        ]
    return made


def _blocks(outcome: LiveOutcome, use: Use, looks: dict[str, Look]) -> list[LossBlock]:
    """Of the figures that the setting in force and another one have."""
    mine = [entry for entry in outcome.decided.judged if entry.use == use.name and len(entry.standings) > 1]
    return [_block(outcome, entry, looks) for entry in mine if entry.base == outcome.plan.in_force.label]


@dataclass(frozen=True)
class UseDrawn:
    """Everything that the page shows of one use."""

    use: Use
    load: list[tuple[str, str, str]]
    blocks: list[LossBlock]
    deciding: LossBlock | None
    timeline: Timeline | None
    nines: Markup | None
    figures: list[dict[str, Any]]
    periods: int


def _use(outcome: LiveOutcome, use: Use, looks: dict[str, Look], blocks: list[LossBlock]) -> UseDrawn:
    mine = [record for record in outcome.records if record.factors.get("use") == use.name]
    return UseDrawn(
        use,
        load_words.use_rows(use),
        blocks,
        _deciding(outcome, blocks),
        _timeline(mine, use, looks, [block.judged for block in blocks if block.judged is not None]),
        _nines(mine, use, looks),
        _figures(mine, use, looks),
        len(mine),
    )


def _deciding(outcome: LiveOutcome, blocks: Sequence[LossBlock]) -> LossBlock | None:
    """The figure of a use in which settings differ most."""
    return min((block for block in blocks if block.judged is not None), key=_place, default=None)


def _place(block: LossBlock) -> tuple[int, float]:
    """What differs most comes first."""
    assert block.judged is not None
    others = [standing for standing in block.judged.standings if standing.setting != block.judged.base]
    return min((answered.order(other) for other in others), default=(3, 0.0))


def _block(outcome: LiveOutcome, judged: Judged, looks: dict[str, Look]) -> LossBlock:
    chosen = tune_answer.question(outcome).chosen(judged)
    rows = [
        _row(standing, judged, looks[standing.setting], chosen, outcome.plan.in_force.label)
        for standing in judged.standings
    ]
    rows.sort(key=lambda row: row.factor if row.factor is not None else math.inf)
    name = metric_name(judged)
    picture = distances(sorted(rows, key=lambda row: row.look.css), name)
    words = answered.statement(judged, standing) if chosen is not None and (standing := judged.standing(chosen)) else ""
    return LossBlock(judged.use, name, tune_answer.best_text(judged), tuple(rows), picture, words, judged=judged)


def _row(standing: CandidateVerdict, judged: Judged, look: Look, chosen: str | None, in_force: str) -> Distance:
    known = judged.behind_best(standing.setting)
    middle, low, high = known if known is not None else (None, 1.0, math.inf)
    return Distance(
        look, middle, low, high, answered.statement(judged, standing), math.exp(judged.limit_log),
        chosen=standing.setting == chosen, in_force=standing.setting == in_force,
    )  # fmt: skip


WINDOWS_LEAST = 0.5
"""Share of the bins of a job that must have ended something, for its throughput to be drawn bin by bin; units of
programs are longer than a bin."""


@dataclass(frozen=True)
class Timeline:
    """One figure of a use over time, the periods shaded."""

    title: str
    picture: Markup


def _timeline(mine: Sequence[Record], use: Use, looks: dict[str, Look], judged: Sequence[Judged]) -> Timeline | None:
    """Throughput of the first foreground job in bins, or where its units are longer than those, its own figure period
    by period."""
    job = use.foreground[0].name
    shown = sorted(mine, key=lambda record: float(record.conditions["start_s"]))[:BANDS_MAX]
    phases = [next((candidate for candidate in record.phases if job_of(candidate) == job), None) for record in shown]
    bins = [value for phase in phases if phase is not None for value, _ in phase.windows]
    is_fine = bool(bins) and sum(value > 0 for value in bins) >= WINDOWS_LEAST * len(bins)
    figure = next((entry for entry in judged if entry.job == job), None)
    if not is_fine and figure is None:
        return None
    numbers = {setting: number + 1 for number, setting in enumerate(looks)}
    bands: list[live_svg.Band] = []
    ended = 0.0
    for record, phase in zip(shown, phases, strict=True):
        level = None if is_fine or figure is None else _of_period(figure, record)
        if phase is None or (not is_fine and level is None):
            continue
        setting, conditions = without_control(record.setting), record.conditions
        length, cut = float(conditions["length_s"]), float(conditions.get("cut_s", 0.0))
        pause = float(conditions["start_s"]) - ended if bands else 0.0
        # What other uses and stages took is cut out: their time says nothing here.
        start = (bands[-1].end_s if bands else 0.0) + min(max(pause, 0.0), length)
        ended = float(conditions["start_s"]) + length
        bands.append(
            live_svg.Band(
                start,
                start + length,
                cut,
                looks[setting].css,
                numbers[setting],
                f"{setting}, period of {length:.3g} s, first {cut:.3g} s not counted",
                tuple(throughput / 1e6 for throughput, _ in phase.windows) if is_fine else (),
                float(phase.details.get("profile_bin_s", 0.1)),
                level,
            )
        )
    if not bands:
        return None
    if is_fine:
        return Timeline(
            "Throughput over time", live_svg.timeline(bands, "MB/s", f"Throughput of {job} over time, period by period")
        )
    assert figure is not None
    name = subject(figure)
    title = f"{name[:1].upper()}{name[1:]}, period by period"
    return Timeline(title, live_svg.timeline(bands, figure.unit, title))


def _of_period(judged: Judged, record: Record) -> float | None:
    """The value of one period; None where it has none of its own."""
    setting = without_control(record.setting)
    number = record.repetition if setting == record.setting else record.repetition + AGAIN
    if not record.valid or setting not in judged.figures.settings or number not in judged.figures.rounds(setting):
        return None
    value = judged.figures.log_value(setting, (number,))
    return math.exp(value) if math.isfinite(value) else None


def _nines(mine: Sequence[Record], use: Use, looks: dict[str, Look]) -> Markup | None:
    """Latency over the share of requests that are faster."""
    job = use.foreground[0].name
    curves, names = [], []
    for setting, look in looks.items():
        counts = sum(
            (dense(bins_of(phase)) for r in mine if r.setting == setting for phase in r.phases if job_of(phase) == job),
            start=dense({}),
        )
        total = counts.sum()
        if total < 20:
            continue
        most = min(4.0, math.log10(total))
        points = [(step / 20, quantile_ns(counts, 1 - 10 ** (-step / 20)) / 1e6) for step in range(int(20 * most) + 1)]
        curves.append((f"series {look.css}", look.dash, points))
        names.append(setting)
    return live_svg.nines(curves, f"Latency of {job} by the share of faster requests", names) if curves else None


def _figures(mine: Sequence[Record], use: Use, looks: dict[str, Look]) -> list[dict[str, Any]]:
    """MB/s, IOPS, CPU time per request and evenness per candidate, over all counted time."""
    figures = []
    for setting, look in looks.items():
        own = [record for record in mine if record.setting == setting]
        for job in use.job:
            phases = [phase for record in own for phase in record.phases if job_of(phase) == job.name]
            seconds = sum(phase.elapsed_s for phase in phases)
            if not seconds:
                continue
            ios = sum(phase.ios for phase in phases)
            each = [phase.details.get("per_process_bytes_per_s") for phase in phases]
            even = [min(throughputs) / max(throughputs) for throughputs in each if throughputs and max(throughputs) > 0]
            figures.append(
                {
                    "look": look,
                    "job": job.name,
                    "mb_s": sum(phase.bytes for phase in phases) / seconds / 1e6,
                    "iops": ios / seconds,
                    "even": sum(even) / len(even) if even else None,
                    "cpu_us": _cpu_us_per_request(own) if job is use.job[0] else None,
                    "n": len(phases),
                }
            )
    return figures


def _cpu_us_per_request(records: Sequence[Record]) -> float | None:
    """System CPU time of the whole machine per request of the devices, in microseconds."""
    busy = requests = 0.0
    for record in records:
        cpu = record.phases[0].cpu
        busy += (cpu.system or 0.0) + (cpu.irq or 0.0) + (cpu.softirq or 0.0)
        requests += sum(
            counters["reads"] + counters["writes"] for counters in record.conditions.get("device", {}).values()
        )
    return 1e6 * busy / requests if requests else None
