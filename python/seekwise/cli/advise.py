"""`seekwise advise RUN [--for …]`: which setting for which work, and what following it costs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click
from rich.table import Table

from seekwise.cli import _live_runs, _options, _shown
from seekwise.errors import UsageError
from seekwise.judge import workloads
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack
from seekwise.report import answer, outcome, terminal
from seekwise.report.content import Advice
from seekwise.report.insights.answer import OVERALL
from seekwise.report.number_text import three
from seekwise.report.rows import OPERATION_NAMES, trial_rows
from seekwise.settings import drive_class, recommend
from seekwise.store.database import Store
from seekwise.store.record import Record
from seekwise.workload.study.plan import Plan

SCHEMA = "seekwise.advice/1"
SYSTEMS_SCHEMA = "seekwise.advice.systems/1"
REGRET_SHOWN = 0.005
METRIC_TITLES = {"p99": "p99", "cpu_efficiency": "CPU eff."}


@click.command("advise")
@click.argument("run", default="last", metavar="[RUN]")
@click.option(
    "--for",
    "purpose",
    metavar="USE",
    help="Use or group to advise for, as in `tune --for` (see --list), or a TOML file.",
)
@click.option("--system", metavar="NAME", help="Advise for this system of a study with several.")
@click.option(
    "--device", metavar="PATH|DEVICE", help="Say what suits the class of the drives below, without measuring."
)
@click.option("--list", "listing", is_flag=True, help="Show the uses that can weigh a study, and their weights.")
@_options.common
def command(
    run: str, purpose: str | None, system: str | None, device: str | None, listing: bool, db: Path | None, as_json: bool
) -> None:
    """Say what to set according to RUN (default: the last).

    With --device: what suits the class of drive, without measuring.
    """
    if listing:
        _list(as_json)
        return
    if device is not None:
        _class(device, as_json)
        return
    with Store.open(db, create=False) as store:
        named = store.run(run)
        if _live_runs.is_live(named.plan):
            if system is not None:
                raise UsageError(f"run {named.run_id} of `tune` has one target, so it takes no `--system`")
            _live_runs.advise(store, named, purpose, as_json=as_json)
            return
        workload = workloads.find(purpose) if purpose else None
        found = outcome.of(store, named)
    if drives := recommend.per_drive(found, workload, system):
        _drives(found, drives, workload, purpose, system, as_json)
        return
    chosen, known = recommend.competition(found, system)
    if system is None and len(known) > 1:
        _each_system(found, workload, as_json)
        return
    if workload is None and chosen is not None:
        # One of several systems, and nothing said about its work: all operations alike.
        workload = OVERALL
    advised = recommend.for_workload(found, workload, chosen) if workload else None
    advice = advised.advice if advised else found.content.advice
    weighed = advised.weighed if advised else None
    if as_json:
        _shown.echo_json(_document(found, advice, weighed))
        return
    on = f", system {system}" if system else ""
    click.echo(f"run {found.run.run_id}, study {found.run.study_name}{on}, {found.content.badge}\n")
    if weighed is None:
        terminal.print_answer(found.content, _shown.out())
        return
    terminal.print_advice(replace(found.content, advice=advice), _shown.out())
    click.echo(f"\n{weighed.workload.name}: {weighed.workload.meaning}")
    _print_rates(found.content.records, weighed)
    _print_weighed(weighed, found.plan)


def _class(target: str, as_json: bool) -> None:
    """A sentence for each drive of another class below the target."""
    found = resolve_path(read_stack(), target)
    drives = {(drive_class.class_of(each), each.scheduler): each for each in reversed(found.leaves)}
    if as_json:
        documents = [drive_class.document(each, target) for each in drives.values()]
        _shown.echo_json({"schema": "seekwise.advice-class/1", "drives": documents})
        return
    said = [
        line for each in drives.values() for line in (drive_class.sentence(each, target), *drive_class.lock_caps(each))
    ]
    terminal.print_lines(list(dict.fromkeys(said)), _shown.out())


def _drives(
    found: outcome.Outcome,
    answers: tuple[recommend.ForSystem, ...],
    workload: workloads.Workload | None,
    purpose: str | None,
    system: str | None,
    as_json: bool,
) -> None:
    """What was measured on this machine: each of its systems is told what suits it, and `apply` sets it."""
    if as_json:
        first = answers[0]
        document = _document(found, first.advice, first.advised.weighed if first.advised else None)
        document["systems"] = [_system(answer) for answer in answers]
        _shown.echo_json(document)
        return
    click.echo(f"run {found.run.run_id}, study {found.run.study_name}, {found.content.badge}\n")
    many = len(found.plan.systems) > 1
    for each in answers:
        if many:
            click.echo(f"{each.system} ({', '.join(each.devices)})")
        if workload is None and not many:
            terminal.print_answer(found.content, _shown.out())
        else:
            terminal.print_advice(replace(found.content, advice=each.advice), _shown.out())
        if each.advised is not None:
            click.echo()
            _print_rates(
                [r for r in found.content.records if not many or r.factors.get("system") == each.system],
                each.advised.weighed,
            )
            _print_weighed(each.advised.weighed, each.plan)
    if workload is not None:
        click.echo(f"\n{workload.name}: {workload.meaning}")
    # With nothing to change, `apply` would only say so.
    if any(each.setting is not None for each in answers):
        words = (f" --for {purpose}" if purpose else "") + (f" --system {system}" if system else "")
        click.echo(f"\nnext: sudo seekwise apply {found.run.run_id}{words}")


def _print_rates(records: Sequence[Record], weighed: workloads.Weighed) -> None:
    """What each setting delivered, in values: means over loads and repetitions."""
    wanted = [name for name, share in weighed.workload.operations.items() if share]
    rates: dict[str, dict[str, list[float]]] = {}
    for row in trial_rows(records):
        rates.setdefault(str(row["setting"]), {}).setdefault(str(row["operation"]), []).append(float(row["rate_mb_s"]))
    shown = [name for name in wanted if any(name in each for each in rates.values())]
    heads = ["Setting", *(f"{OPERATION_NAMES.get(name, name)} [MB/s]" for name in shown)]
    body = [
        [each.setting, *(_mean_text(rates.get(each.setting, {}).get(name)) for name in shown)]
        for each in weighed.standings
    ]
    for line in (line for block in answer.columns(heads, body, 80, numbers_from=1) for line in block):
        click.echo(line)
    click.echo()


def _mean_text(values: list[float] | None) -> str:
    return three(sum(values) / len(values)) if values else "–"


def _print_weighed(weighed: workloads.Weighed, plan: Plan) -> None:
    _shown.out(80).print(_table(weighed))
    click.echo()
    for standing in weighed.standings:
        if standing.regret > REGRET_SHOWN:
            where = recommend.cell_text(standing.regret_cell, plan)
            _paragraph(f"{standing.setting} is at its worst in {where}: {100 * standing.regret:.0f} % below the best")
    _paragraph(
        f"Ratios to {weighed.reference}: rate as a 95 % interval over {weighed.blocks} repetitions, the others as estimates. "
        "Front: no other setting is as good in all three."
    )


def _paragraph(text: str) -> None:
    click.echo("\n".join(textwrap.wrap(text, 80, subsequent_indent="  ")))


def _system(answer: recommend.ForSystem) -> dict[str, object]:
    return {
        "system": answer.system,
        "devices": list(answer.devices),
        "headline": answer.advice.headline,
        "reasons": list(answer.advice.reasons),
        "setting": answer.setting.label if answer.setting else None,
        "set_lines": list(answer.advice.set_lines),
        "undo_lines": list(answer.advice.undo_lines),
    }


def _each_system(found: outcome.Outcome, workload: workloads.Workload | None, as_json: bool) -> None:
    """A row for each system: what to set for one use, or for all that the study asks about."""
    choices = recommend.choices(found, workload)
    if as_json:
        _shown.echo_json({
            "schema": SYSTEMS_SCHEMA,
            "run_id": found.run.run_id,
            "badge": found.content.badge,
            "systems": [{**asdict(choice), "text": choice.text} for choice in choices],
        })  # fmt: skip
        return
    click.echo(f"run {found.run.run_id}, study {found.run.study_name}, {found.content.badge}\n")
    uses = list(dict.fromkeys(choice.use for choice in choices))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("System")
    for use in uses:
        table.add_column(use.replace("-", " ").capitalize())
    for name in dict.fromkeys(choice.system for choice in choices):
        row = {choice.use: choice.text for choice in choices if choice.system == name}
        table.add_row(name, *(row.get(use, "–") for use in uses))
    _shown.out().print(table)
    click.echo(
        "\n`best so far`: not beaten, but others are not proved worse; `inconclusive`: no setting proved better.\n"
        f"next: seekwise advise {found.run.run_id} --system NAME"
    )


def _list(as_json: bool) -> None:
    known = workloads.shipped()
    if as_json:
        _shown.echo_json({
            "schema": "seekwise.workloads/1",
            "workloads": [
                {"name": each.name, "meaning": each.meaning, "threads": each.threads, "operations": dict(each.operations)}
                for each in known.values()
            ],
        })  # fmt: skip
        return
    for each in known.values():
        shares = ", ".join(f"{name} {share:g}" for name, share in each.operations.items())
        click.echo(f"{each.name}: {each.meaning}\n  {shares}; threads: {each.threads}")


def _table(weighed: workloads.Weighed) -> Table:
    """At most 80 columns wide, whatever the settings are called: a long name is folded, a number never."""
    others = [standing for standing in weighed.standings if standing.setting != weighed.reference]
    # What was not measured has no column: the reference alone would stand in it with its 1.
    metrics = [name for name in ("p99", "cpu_efficiency") if any(name in each.ratios for each in others)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Setting", overflow="fold", max_width=28)
    for title in ("Rate", *(METRIC_TITLES[name] for name in metrics), "Front", "At worst"):
        table.add_column(title, no_wrap=True)
    for standing in weighed.standings:
        is_reference = standing.setting == weighed.reference
        estimates = [_estimate(standing.ratios.get(metric)) for metric in metrics]
        worst = f"-{100 * standing.regret:.0f} %" if standing.regret > REGRET_SHOWN else ""
        rate = "1" if is_reference else _interval(standing.ratios.get("rate"))
        table.add_row(standing.setting, rate, *estimates, "yes" if standing.on_front else "", worst)
    return table


def _estimate(value: tuple[float, float, float] | None) -> str:
    return "" if value is None else f"{value[0]:.3g}"


def _interval(value: tuple[float, float, float] | None) -> str:
    if value is None or not all(map(math.isfinite, value)):
        return "too few repetitions"
    return outcome.times(value[1], value[2], more_is_better=True)


def _document(found: outcome.Outcome, advice: Advice, weighed: workloads.Weighed | None) -> dict[str, object]:
    document: dict[str, object] = {
        "schema": SCHEMA,
        "run_id": found.run.run_id,
        "badge": found.content.badge,
        "headline": advice.headline,
        "reasons": list(advice.reasons),
        "caution": list(advice.caution),
        "set_lines": list(advice.set_lines),
        "undo_lines": list(advice.undo_lines),
        "workload": None,
    }
    if weighed is not None:
        document["workload"] = {
            "name": weighed.workload.name,
            "operations": dict(weighed.workload.operations),
            "threads": weighed.workload.threads,
            "reference": weighed.reference,
            "blocks": weighed.blocks,
            "not_covered": weighed.not_covered,
            "best": list(weighed.best),
            "settings": [
                {
                    "setting": standing.setting,
                    "ratios": {
                        metric: [each if math.isfinite(each) else None for each in values]
                        for metric, values in standing.ratios.items()
                    },
                    "on_pareto_front": standing.on_front,
                    "regret": standing.regret,
                    "regret_cell": standing.regret_cell,
                }
                for standing in weighed.standings
            ],
        }
    return document
