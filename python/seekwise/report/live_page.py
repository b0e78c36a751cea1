"""The page of a live-switched run: one self-contained HTML file, the answer first. No network, no script."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from seekwise.analysis.decision.periods import dense, quantile_ns
from seekwise.analysis.decision.records import job_of, period_of
from seekwise.analysis.decision.verdicts import Judged, Standing
from seekwise.analysis.live import LiveOutcome, notes
from seekwise.report import answer, load_words, stages
from seekwise.report.charts import live_svg
from seekwise.report.charts.style import style_of
from seekwise.store.record import Record
from seekwise.study.quantity import time_text

BANDS_MAX = 48
"""Periods shown of each use: what a screen holds."""
DARK_LIFT = 0.45
"""Share of white that a colour gets on a dark page."""


@dataclass(frozen=True)
class Look:
    """How one candidate looks everywhere on the page."""

    setting: str
    css: str
    colour: str
    dark: str
    mark: str
    dash: str


@dataclass(frozen=True)
class Row:
    """One candidate by one metric: words, numbers and its picture."""

    look: Look
    standing: Standing
    words: str
    picture: Markup
    chosen: bool
    in_force: bool


@dataclass(frozen=True)
class Block:
    """One metric of one use."""

    judged: Judged
    name: str
    rows: tuple[Row, ...]
    best: str


def write(path: Path, found: LiveOutcome) -> Path:
    """Writes the page beside its name first, so that a reader never sees half of it; the path that was written."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(html(found), encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def html(found: LiveOutcome) -> str:
    """The whole page as text."""
    environment = Environment(
        loader=PackageLoader("seekwise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["three"] = live_svg.three
    looks = looks_of([each.label for each in found.plan.candidates])
    environment_seen = next((dict(record.environment) for record in found.records if record.environment), {})
    return environment.get_template("live.html").render(
        found=found,
        headline=answer.headline(found),
        alternatives=answer.alternatives(found),
        open_text=answer.open_text(found),
        notes=[*stages.sentences(found), *notes(found)],
        looks=looks,
        uses=[_use(found, use, looks) for use in found.plan.uses],
        axis=live_svg.loss_axis(),
        provenance=PROVENANCE[found.plan.provenance],
        tested=_tested(found),
        environment=environment_seen,
        rows=answer.rows(found),
        percent=answer.percent,
        time_text=time_text,
    )


PROVENANCE = {
    "measured": "Measured on this machine, with real requests to the real device.",
    "virtual": "Measured with the real kernel on virtual drives.",
    "simulated": "Simulated: a model of host and drive, no request reached a device.",
}


def looks_of(settings: Sequence[str]) -> dict[str, Look]:
    """A look per candidate; two that share a scheduler share its colour and differ in their mark."""
    marks = list(live_svg.MARKS)
    made: dict[str, Look] = {}
    for number, setting in enumerate(settings):
        colour, dash, mark = style_of(setting)
        taken = {each.mark for each in made.values()}
        if mark not in live_svg.MARKS or mark in taken:
            mark = next((each for each in marks if each not in taken), marks[number % len(marks)])
        made[setting] = Look(setting, f"s{number}", colour, _lighter(colour), mark, " ".join(map(str, dash)))
    return made


def _lighter(colour: str) -> str:
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(
        f"{round(part + (255 - part) * max(DARK_LIFT, 0.9 if sum(parts) < 60 else 0)):02x}" for part in parts
    )


def _tested(found: LiveOutcome) -> str:
    """What was tested, on what, for how long, in one line."""
    names = ", ".join(each.label for each in found.plan.candidates)
    where = f"{found.plan.target} on {', '.join(found.plan.leaves)}"
    return (
        f"{len(found.plan.candidates)} settings ({names}) under {len(found.plan.uses)} uses on {where}, "
        f"{len(found.records)} periods in {time_text(found.seconds)}"
    )


def _use(found: LiveOutcome, use, looks: dict[str, Look]) -> dict[str, object]:
    mine = [record for record in found.records if record.factors.get("use") == use.name]
    judged = [each for each in found.found.judged if each.use == use.name]
    return {
        "use": use,
        "load": load_words.use_rows(use),
        "blocks": [_block(found, each, looks) for each in judged],
        "timeline": _timeline(mine, use, looks),
        "nines": _nines(mine, use, looks),
        "figures": _figures(mine, use, looks),
        "periods": len(mine),
    }


def _block(found: LiveOutcome, judged: Judged, looks: dict[str, Look]) -> Block:
    choice = found.choice
    chosen = choice.setting if choice is not None else None
    limit = live_svg.factor_of(judged.threshold, judged.more_is_better)
    rows = []
    for standing in sorted(judged.standings, key=lambda each: each.loss if each.loss is not None else math.inf):
        look = looks[standing.setting]
        middle = None if standing.loss is None else live_svg.factor_of(standing.loss, judged.more_is_better)
        words = answer.loss_text(standing, judged)
        rows.append(
            Row(
                look,
                standing,
                words,
                live_svg.loss_interval(
                    live_svg.factor_of(standing.low, judged.more_is_better),
                    middle,
                    live_svg.factor_of(standing.high, judged.more_is_better),
                    limit,
                    look.mark,
                    look.css,
                    f"{standing.setting}: {words}",
                    strong=standing.setting == chosen,
                ),
                standing.setting == chosen,
                standing.setting == found.plan.in_force.label,
            )
        )
    return Block(judged, answer.metric_name(judged), tuple(rows), answer.best_text(judged))


def _timeline(mine: Sequence[Record], use, looks: dict[str, Look]) -> Markup | None:
    """Throughput of the first foreground job over time, the periods shaded, the cut parts hatched."""
    job = use.foreground[0].name
    shown = sorted(mine, key=lambda record: float(record.conditions["start_s"]))[:BANDS_MAX]
    if not shown:
        return None
    origin = float(shown[0].conditions["start_s"])
    numbers = {setting: number + 1 for number, setting in enumerate(looks)}
    bands = []
    for record in shown:
        phase = next((each for each in record.phases if job_of(each) == job), None)
        if phase is None:
            continue
        start = float(record.conditions["start_s"]) - origin
        bands.append(
            live_svg.Band(
                start,
                start + float(record.conditions["length_s"]),
                float(record.conditions["cut_s"]),
                looks[record.setting].css,
                numbers[record.setting],
                f"{record.setting}, period of {record.conditions['length_s']} s, first {record.conditions['cut_s']} s not counted",
                tuple(rate / 1e6 for rate, _ in phase.windows),
                float(phase.details.get("profile_bin_s", 0.1)),
            )
        )
    if not any(band.values for band in bands):
        return None
    return live_svg.timeline(bands, "MB/s", f"Throughput of {job} over time, period by period")


def _nines(mine: Sequence[Record], use, looks: dict[str, Look]) -> Markup | None:
    """Latency over the share of requests that are faster."""
    job = use.foreground[0].name
    curves = []
    for setting, look in looks.items():
        counts = sum(
            (
                dense(period_of(phase).bins)
                for r in mine
                if r.setting == setting
                for phase in r.phases
                if job_of(phase) == job
            ),
            start=dense({}),
        )
        total = counts.sum()
        if total < 20:
            continue
        most = min(4.0, math.log10(total))
        points = [(step / 20, quantile_ns(counts, 1 - 10 ** (-step / 20)) / 1e6) for step in range(int(20 * most) + 1)]
        curves.append((look.css, look.dash, points))
    return live_svg.nines(curves, f"Latency of {job} by the share of faster requests") if curves else None


def _figures(mine: Sequence[Record], use, looks: dict[str, Look]) -> list[dict[str, object]]:
    """MB/s, IOPS, CPU time per request and evenness per candidate, over all counted time."""
    found = []
    for setting, look in looks.items():
        own = [record for record in mine if record.setting == setting]
        for job in use.job:
            phases = [phase for record in own for phase in record.phases if job_of(phase) == job.name]
            seconds = sum(phase.elapsed_s for phase in phases)
            if not seconds:
                continue
            ios = sum(phase.ios for phase in phases)
            each = [phase.details.get("per_process_bytes_per_s") for phase in phases]
            even = [min(rates) / max(rates) for rates in each if rates and max(rates) > 0]
            found.append(
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
    return found


def _cpu_us_per_request(records: Sequence[Record]) -> float | None:
    """System CPU time of the whole machine per request of the devices, in microseconds."""
    busy = requests = 0.0
    for record in records:
        cpu = record.phases[0].cpu
        busy += (cpu.system or 0.0) + (cpu.irq or 0.0) + (cpu.softirq or 0.0)
        requests += sum(each["reads"] + each["writes"] for each in record.conditions.get("device", {}).values())
    return 1e6 * busy / requests if requests else None
