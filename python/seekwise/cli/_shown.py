"""How the outcome of a run is printed, as tables or as one JSON document, and where its report goes."""

from __future__ import annotations

import json
import math
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise.cli import _output
from seekwise.errors import SeekwiseError
from seekwise.workload.study.quantity import bytes_text, size_word, time_text

if TYPE_CHECKING:
    from seekwise.judge.early import Noise
    from seekwise.report.answered import Question
    from seekwise.report.content import ReportContent
    from seekwise.report.of_run import Reading
    from seekwise.report.outcome import Outcome
    from seekwise.workload.study.plan import Plan

# Drawing and judging load half a second of libraries: imported where they are used, so that `--help` and errors are prompt.

RESULTS_SCHEMA = "seekwise.results/1"


def out(width_most: int | None = None):
    """Standard output; not wrapped where nobody's terminal is. `width_most`: of an answer, which 80 columns hold anywhere."""
    console = _output.console(width=None if sys.stdout.isatty() else 120)
    if width_most is not None and console.width > width_most:
        console.width = width_most
    return console


def print_stack(plan: Plan) -> None:
    for facts in plan.systems:
        for line in facts.stack:
            indent = " " * (len(line) - len(line.lstrip()) + 2)
            click.echo("\n".join(textwrap.wrap(line, 80, subsequent_indent=indent, break_on_hyphens=False)) or line)
        for warning in facts.warnings:
            click.echo(f"warning: {warning}", err=True)
    if any(facts.stack for facts in plan.systems):
        click.echo()


def print_outcome(outcome: Outcome, *, everything: bool = False) -> None:
    """The answer first; `everything`: also every table of winners, insight, outlier and the self-check."""
    from seekwise.report import terminal

    console, content = out(), outcome.content
    terminal.print_answer(content, console, everything=everything)
    if content.printed:
        click.echo()
        terminal.print_printed(content, console)
    elif everything and content.winners:
        click.echo()
        terminal.print_winners(content, console)
    elif not content.winners:
        click.echo()
        print_figures(outcome, everything=everything)
    if everything:
        terminal.print_findings(content, console)
    notes = [note for note in content.notes if everything or note not in content.remarks]
    if notes:
        click.echo()
        terminal.print_lines([f"note: {note}" for note in notes], console)


def print_figures(outcome: Outcome, *, everything: bool = False) -> None:
    """What was measured, a line per operation, threads and setting, means over repetitions. `everything`: intervals and CPU time, too."""
    from rich.table import Table

    from seekwise.report.rows import OPERATION_NAMES, SHARES, apart, summary_rows, trial_rows

    records = outcome.content.records
    dimensions = apart(records)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in dimensions:
        table.add_column(DIMENSION_TITLES.get(name, name), overflow="fold")
    waits = any(record.valid and phase.cpu.iowait is not None for record in records for phase in record.phases)
    shares = ("SYS-CPU", "CPU-WAIT") if waits else ("SYS-CPU",)
    more = ("", "MB per CPU second", *shares) if everything else ()
    words = ("Operation", "Setting", "")
    for title in ("Operation", "Threads", "Setting", "MB/s", "Mean latency", *more, "Trials"):
        table.add_column(title, justify="left" if title in words else "right", overflow="fold")
    rows = summary_rows(trial_rows(records), by=(*dimensions, "operation", "setting", "threads"))
    for row in rows:
        low, high = row["rate_mb_s_low"], row["rate_mb_s_high"]
        extra = (
            f"{figure(low)} to {figure(high)} MB/s" if low is not None else "",
            figure(row["cpu_efficiency"]),
            *(f"{row[name]:.3g} %" if row[name] is not None else "–" for name in SHARES[: len(shares)]),
        )
        table.add_row(
            *(size_word(int(row[name])) if name.endswith("bytes") else str(row[name]) for name in dimensions),
            OPERATION_NAMES.get(str(row["operation"]), str(row["operation"])),
            str(row["threads"]),
            str(row["setting"]),
            figure(row["rate_mb_s"]),
            "–" if row["access_ms"] is None else f"{figure(row['access_ms'])} ms",
            *(extra if everything else ()),
            str(row["n"]),
        )
    out(80 if not everything else None).print(table)


DIMENSION_TITLES = {
    "system": "System",
    "load": "Load",
    "block_bytes": "Request size",
    "iodepth": "Depth",
    "memory_bytes": "Memory",
}


def figure(value: object) -> str:
    """Three digits."""
    return f"{value:.3g}" if isinstance(value, float) and value < 1000 else ("–" if value is None else f"{value:.0f}")


def results_document(outcome: Outcome, report: Path | None = None) -> dict[str, object]:
    from seekwise.judge.document import document
    from seekwise.store import codec

    content = outcome.content
    return {
        "schema": RESULTS_SCHEMA,
        "run_id": outcome.run.run_id,
        "study": outcome.run.study_name,
        "backend": outcome.run.backend,
        "badge": content.badge,
        "target": outcome.run.target,
        "seed": outcome.run.seed,
        "outcome": outcome.run.outcome,
        "created_at": outcome.run.created_at,
        "ended_at": outcome.run.ended_at,
        "plan": outcome.plan.to_document(),
        "winners": [asdict(row) for row in content.winners],
        "arrays": [asdict(row) for row in content.arrays],
        "printed": _printed(content),
        "findings": [asdict(finding) for finding in content.findings],
        "advice": asdict(content.advice),
        "control": content.control,
        "rule": content.rule,
        **_decision(content.question),
        "notes": list(content.notes),
        "verdicts": [document(verdict) for verdict in outcome.verdicts],
        "records": [codec.to_document(record) for record in outcome.records],
        "report": str(report) if report is not None else None,
    }


def _decision(asked: Question | None) -> dict[str, object]:
    """In the shape of `tune --json`."""
    from seekwise.judge.decision import document as made

    if asked is None:
        return {"decision": None, "purposes": [], "uses": []}
    return {
        "decision": made.decision_document(asked.choice),
        "purposes": made.purpose_documents(asked.by_purpose, None),
        "uses": made.use_documents(asked.judged),
    }


def _printed(content: ReportContent) -> dict[str, object] | None:
    """Tables in the form of a text, or None."""
    if not content.printed:
        return None
    shown = content.printed
    tables = [
        {
            **asdict(table),
            "blocks": [
                {
                    "title": block.title,
                    "rows": {
                        name: [{**asdict(c), "agrees": c.agrees} for c in row] for name, row in block.rows.items()
                    },
                }
                for block in table.blocks
            ],
        }
        for table in shown.tables
    ]
    return {
        "style": asdict(shown.style),
        "summary": shown.summary,
        "tables": tables,
        "grids": [asdict(grid) for grid in shown.grids],
    }


def echo_json(document: dict[str, object]) -> None:
    click.echo(json.dumps(finite(document), indent=1, allow_nan=False, default=str))


def finite(value: object) -> object:
    """The same data with null for what is no finite number: JSON has no word for it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return value


def write_report(outcome: Outcome, folder: Path = Path()) -> Path:
    from seekwise.report.of_run import OfStudy

    return write_page(OfStudy(outcome), folder / f"seekwise-{outcome.run.run_id}.html")


def write_page(found: Reading, path: Path) -> Path:
    """Writes the page of a run; SeekwiseError where that fails."""
    try:
        return found.write(path)
    except OSError as error:
        raise SeekwiseError(
            f"cannot write report {path}: {error.strerror}",
            hint=f"`seekwise report {found.run.run_id} --output FOLDER` writes it elsewhere",
        ) from error


def plan_text(plan: Plan, noise: Noise | None = None) -> list[str]:
    """The plan in lines: what, in which order, how long, how much, what is touched."""
    from seekwise.judge import early

    lines = [f"study {plan.study}, backend {plan.backend}, seed {plan.seed}"]
    for facts in plan.systems:
        lines += ["", *(facts.stack or (f"system {facts.name}: {facts.target}",))]
        lines += [f"warning: {warning}" for warning in facts.warnings]
    names = ", ".join(setting.label for setting in plan.settings)
    lines += ["", f"settings ({len(plan.settings)}): {names}", f"workloads ({len(plan.cells)}):"]
    lines += [f"  {cell.key}  {_load_text(cell)}" for cell in plan.cells]
    lines += ["", f"order: {plan.blocks} repetitions, {len(plan.trials)} trials, reference {plan.reference}"]
    for block in range(1, plan.blocks + 1):
        trials = [trial for trial in plan.trials if trial.block == block]
        if block > 2 and block < plan.blocks:
            if block == 3:
                lines.append("  …")
            continue
        shown = [_trial_text(plan, trial) for trial in trials[:8]]
        more = f" … {len(trials) - 8} more" if len(trials) > 8 else ""
        lines.append(f"  repetition {block}: {' | '.join(shown)}{more}")
    lines += ["", "changed, and restored afterwards:" if plan.touched else "changed: no setting"]
    lines += [
        f"  /sys/block/{touch.device}/{touch.attribute}  now {touch.now or 'absent'}, will be {', '.join(touch.values)}"
        for touch in plan.touched
    ]
    lines += ["", f"time: about {time_text(plan.estimated_s)}", f"written: about {bytes_text(plan.bytes_written)}"]
    lines.append(f"to decide: {early.expected(plan, noise).text}")
    lines += [f"note: {note}" for note in plan.notes]
    return lines


def _load_text(cell) -> str:
    load = cell.load
    if load.job is not None:
        return f"fio job {load.job}"
    phases = ", ".join(phase.operation for phase in load.phases)
    bound = f"{time_text(load.phases[0].runtime_s)} each" if load.phases[0].runtime_s else "by amount"
    caches = "direct" if load.direct else f"buffered in {bytes_text(load.memory_limit_bytes or 0)} of memory"
    return f"{phases}; {bound}; {bytes_text(load.size_bytes)} per thread; {caches}"


def _trial_text(plan: Plan, trial) -> str:
    cell = plan.cells[trial.cell].key.removeprefix(f"system={plan.cells[trial.cell].system} ")
    sentinel = " (drift check)" if trial.role == "sentinel" else ""
    return f"{plan.settings[trial.setting].label}{sentinel} {cell}"
