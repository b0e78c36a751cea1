"""The sections of the page that only a live-switched run has: values by setting, and each use by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from seekwise.judge.decision.periods import AGAIN
from seekwise.judge.decision.records import job_of, prior_of, without_control
from seekwise.judge.decision.verdicts import CandidateVerdict, Judged
from seekwise.judge.outcome import LiveOutcome
from seekwise.number_text import one_line
from seekwise.report import answered, close_up, latencies, next_programs, stages, tested, tune_answer
from seekwise.report.charts import files, live_svg
from seekwise.report.charts import panels as panels_svg
from seekwise.report.charts.live_svg import Distance, Value, distances
from seekwise.report.content import ReportContent
from seekwise.report.layout import sentence
from seekwise.report.looks import Look, Looks
from seekwise.report.losses import LossBlock
from seekwise.report.metric_words import metric_name, subject, value_text
from seekwise.store.percentiles import merged
from seekwise.store.record import Record
from seekwise.trace import excerpt
from seekwise.workload.study import load_words
from seekwise.workload.study.quantity import time_text
from seekwise.workload.study.uses import Use

USES_IN_FULL = 3
"""With more uses the first screen has one row for each, with what decides there."""
BANDS_MAX = 48
"""Periods shown of each use: what a screen holds."""


def of(content: ReportContent, looks: Looks) -> dict[str, Any]:
    """What only such a page shows, and what it shows of the sections of every page, by the names in the template."""
    assert content.live is not None
    outcome, plan = content.live, content.live.plan
    known = looks.by_label([candidate.label for candidate in plan.candidates])
    blocks = {use.name: _blocks(outcome, use, known) for use in plan.uses}
    measured = [use for use in plan.uses if blocks[use.name]]
    # What differs first, as in the answer.
    measured.sort(key=lambda use: min(_place(block) for block in blocks[use.name]))
    uses = [_use(outcome, use, known, blocks[use.name]) for use in (measured or plan.uses)]
    deciding = [use.deciding for use in uses if use.deciding is not None]
    kernel = content.environment.get("kernel")
    on = [tested.devices(content)] if content.environment.get("devices") else []
    on += [f"Linux {one_line(kernel)}"] if kernel else []
    on.append(f"seekwise {outcome.run.seekwise_version}")
    why, missing = _why(outcome, measured, blocks, looks), excerpt.missing_text(plan.extra)
    return {
        "labels": known,
        "reasons": [sentence(one_line(text)) for text in stages.sentences(outcome)],
        "reasons_first": len(plan.stages),
        "cautions": [text for text in (tune_answer.open_text(outcome),) if text],
        "foretold": next_programs.drawn(tune_answer.next_cells(outcome)),
        "foretold_title": f"{next(iter(answered.opponents(tune_answer.question(outcome))), '')}: {next_programs.TITLE}",
        "panels": (panels := panels_of(outcome, known)),
        "panels_first": PANELS_FIRST,
        "bars": "simulated" if plan.provenance == "simulated" else "measured",
        "answered_later": bool(panels),
        "next_command": "" if outcome.lines.set else tune_answer.next_command(outcome, outcome.run.run_id),
        "tested": f"{tested.line_of_tune(outcome)}. {'; '.join(on)}",
        "contents": [
            *((f"use-{use.use.name}", use.use.name) for use in uses),
            ("run", "what was run"),
            ("terms", "terms"),
        ],
        "loss_blocks": [block for use in uses for block in use.blocks],
        "loss_note": LOSS_NOTE,
        "overview": deciding if len(measured) > USES_IN_FULL else [],
        "overview_keys": panels_svg.keys(list(known.values())),
        "overview_of": "Use",
        "has_chosen": any(row.chosen for block in deciding for row in block.rows),
        "uses": uses,
        "looks_of_uses": list(known.values()),
        "bands_most": BANDS_MAX,
        "why_of_use": why,
        "why_note": WHY_NOTE.get(plan.provenance, ""),
        "told": [
            f"Budget: {time_text(plan.budget_s)}",
            *content.notes,
            *([f"The page shows no single requests: {missing}"] if missing else []),
            *plan.warnings,
        ],
        "discarded_of": "period",
        "discarded": [
            (record.trial + 1, record.setting, record.factors.get("use", ""), record.invalid_reason)
            for record in content.discarded
        ],
        "foot": HOW.format(prior=prior_of(plan).source),
    }


LOSS_NOTE = (
    "Distance to the best setting of each use, with its 90 % interval; left is better. Shaded: equal within the threshold. "
    "The thick line is what is recommended to those whom a figure is about."
)
HOW = (
    "How it works: the load keeps running, the settings are switched under it in random order, and each period is one observation. "
    "What is expected beforehand: {prior}. `seekwise explain verdict` tells the rule."
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


def panels_of(outcome: LiveOutcome, looks: dict[str, Look]) -> list[Panel]:
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


def _why(
    outcome: LiveOutcome, uses: Sequence[Use], blocks: dict[str, list[LossBlock]], looks: Looks
) -> tuple[str, close_up.CloseUpSection] | None:
    """(use, why its settings differ): of a simulated run the first in which one is shown to lose, of a measured one the
    first of which requests were recorded."""
    chosen = outcome.choice.setting if outcome.choice is not None else None
    for use in uses:
        made = None
        if outcome.plan.provenance == "measured":
            traced = excerpt.stretches(outcome.plan.extra, use.name)
            made = close_up.of_traced(traced, looks, use.title, _capacity(outcome))
        elif outcome.plan.provenance == "simulated" and any(
            standing.verdict == "worse" for b in blocks[use.name] if b.judged for standing in b.judged.standings
        ):
            mine = [record for record in outcome.records if record.valid and record.factors.get("use") == use.name]
            made = close_up.of_use(mine, looks, use.title, chosen)
        if made is not None:
            return use.name, made
    return None


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
    """The figure in which settings differ most."""
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
        min((block for block in blocks if block.judged is not None), key=_place, default=None),
        _timeline(mine, use, looks, [block.judged for block in blocks if block.judged is not None]),
        _nines(mine, use, looks),
        _figures(mine, use, looks),
        len(mine),
    )


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
    words = (
        f"{chosen}: {answered.statement(judged, standing)}"
        if chosen is not None and (standing := judged.standing(chosen))
        else ""
    )
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
    phases = [(record.setting, phase) for record in mine for phase in record.phases if job_of(phase) == job]
    bins = {name: merged(phase.latency_bins for setting, phase in phases if setting == name) for name in looks}
    return latencies.picture(bins, looks, f"Latency of {job}")


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
