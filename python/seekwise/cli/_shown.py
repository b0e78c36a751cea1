"""How the outcome of a run is printed, as tables or as one JSON document, and where its report goes."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise.cli import _output
from seekwise.document import printed
from seekwise.errors import SeekwiseError, reason
from seekwise.number_text import some
from seekwise.workload.study.quantity import bytes_text, counted, time_text

if TYPE_CHECKING:
    from rich.console import Console

    from seekwise.report.of_run import Report
    from seekwise.workload.study.plan import Combination, Plan, SystemFacts, Trial

# Drawing and judging load half a second of libraries: imported where they are used, so that `--help` and errors are
# prompt.
SYSTEMS_NAMED = 6


def out(width_most: int | None = None) -> Console:
    """Standard output; not wrapped where it is no terminal. `width_most`: of an answer, which 80 columns hold
    anywhere."""
    console = _output.console(width=None if sys.stdout.isatty() else 120)
    if width_most is not None and console.width > width_most:
        console.width = width_most
    return console


def stack_lines(facts: SystemFacts, plan: Plan) -> tuple[str, ...]:
    """The storage of a system, a line per device; with its name where a study has several, whose devices may be
    alike."""
    if len(plan.systems) == 1 or not facts.stack or facts.stack[0].startswith(f"{facts.name}: "):
        return facts.stack
    return f"{facts.name}: {facts.stack[0]}", *facts.stack[1:]


def print_stack(plan: Plan) -> None:
    """The storage, a line per device; of several systems their names, as the page and `--dry-run` have the rest.
    Warnings go to standard error."""
    if len(plan.systems) > 1:
        names = [facts.name for facts in plan.systems]
        text = f"{len(names)} systems: {some(names, SYSTEMS_NAMED)}"
        click.echo("\n".join(textwrap.wrap(text, 80, break_on_hyphens=False)) + "\n")
    else:
        for line in plan.systems[0].stack:
            indent = " " * (len(line) - len(line.lstrip()) + 2)
            click.echo("\n".join(textwrap.wrap(line, 80, subsequent_indent=indent, break_on_hyphens=False)) or line)
        if plan.systems[0].stack:
            click.echo()
    for facts in plan.systems:
        for warning in facts.warnings:
            click.echo(f"warning: {warning}", err=True)


def echo_json(document: object) -> None:
    """One JSON document on standard output, see `seekwise.document`."""
    click.echo(json.dumps(printed(document), indent=1, allow_nan=False, default=str))


def page_name(run_id: str) -> str:
    """The file of a run's page."""
    return f"seekwise-{run_id}.html"


def write_page(report: Report, path: Path) -> Path:
    """Writes the page of a run; SeekwiseError where that fails."""
    try:
        return report.write(path)
    except OSError as error:
        raise SeekwiseError(
            f"cannot write report {path}: {reason(error)}",
            hint=f"`{report.run.typed(f'seekwise report {report.run.run_id} --output FOLDER')}` writes it elsewhere",
        ) from error


def plan_text(plan: Plan) -> list[str]:
    """The plan in lines: what, in which order, how long, how much, what is touched."""
    lines = [f"study {plan.study}, backend {plan.backend}, seed {plan.seed}"]
    for facts in plan.systems:
        lines += ["", *(stack_lines(facts, plan) or (f"system {facts.name}: {facts.target}",))]
        lines += [f"warning: {warning}" for warning in facts.warnings]
    names = ", ".join(setting.label for setting in plan.settings)
    lines += ["", f"settings ({len(plan.settings)}): {names}", f"workloads ({len(plan.combinations)}):"]
    lines += [f"  {combination.key}  {_load_text(combination)}" for combination in plan.combinations]
    lines += [
        "",
        f"order: {counted(plan.repetitions, 'repetition')}, {len(plan.trials)} trials, reference {plan.reference}",
    ]
    for repetition in range(1, plan.repetitions + 1):
        trials = [trial for trial in plan.trials if trial.repetition == repetition]
        if repetition > 2 and repetition < plan.repetitions:
            if repetition == 3:
                lines.append("  …")
            continue
        shown = [_trial_text(plan, trial) for trial in trials[:8]]
        more = f" … {len(trials) - 8} more" if len(trials) > 8 else ""
        lines.append(f"  repetition {repetition}: {' | '.join(shown)}{more}")
    if plan.backend == "simulated":
        # How long a model takes shows once each setting was played.
        lines += ["", "Simulated: nothing on this machine changes. The time left is told while it runs."]
        return [*lines, *(f"note: {note}" for note in plan.notes)]
    lines += ["", "changed, and restored afterwards:" if plan.touched else "changed: no setting"]
    lines += [
        f"  /sys/block/{touch.device}/{touch.attribute}  now {touch.now or 'absent'}, will be {', '.join(touch.values)}"
        for touch in plan.touched
    ]
    lines += ["", f"time: about {time_text(plan.estimated_s)}", f"written: about {bytes_text(plan.bytes_written)}"]
    lines += [f"note: {note}" for note in plan.notes]
    return lines


def _load_text(combination: Combination) -> str:
    load = combination.load
    if load.job is not None:
        return f"fio job {load.job}"
    phases = ", ".join(phase.operation for phase in load.phases)
    bound = f"{time_text(load.phases[0].runtime_s)} each" if load.phases[0].runtime_s else "by amount"
    caches = "direct" if load.direct else f"buffered in {bytes_text(load.memory_limit_bytes or 0)} of memory"
    return f"{phases}; {bound}; {load.extent_text}; {caches}"


def _trial_text(plan: Plan, trial: Trial) -> str:
    combination = plan.combinations[trial.combination].key.removeprefix(
        f"system={plan.combinations[trial.combination].system} "
    )
    sentinel = " (drift check)" if trial.role == "sentinel" else ""
    return f"{plan.settings[trial.setting].label}{sentinel} {combination}"
