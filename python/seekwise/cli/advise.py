"""`seekwise advise RUN [--for …]`: which setting for which work, and what following it costs."""

from __future__ import annotations

import math
import textwrap
from dataclasses import replace
from pathlib import Path

import click
from rich.table import Table

from seekwise.advise import recommend, workloads
from seekwise.analysis import outcome
from seekwise.cli import _options, _shown
from seekwise.report import terminal
from seekwise.report.content import Advice
from seekwise.store.database import Store
from seekwise.study.plan import Plan

SCHEMA = "seekwise.advice/1"


@click.command("advise")
@click.argument("run", default="last", metavar="[RUN]")
@click.option(
    "--for",
    "purpose",
    metavar="WORK",
    help="file-server, database, web-server, desktop, backup, virtual-machines, or a TOML file.",
)
@click.option("--list", "listing", is_flag=True, help="Show the workloads and their weights.")
@_options.common
def command(run: str, purpose: str | None, listing: bool, db: Path | None, as_json: bool) -> None:
    """Say what to set according to RUN (the last one if not named), for the work this machine does."""
    if listing:
        _list(as_json)
        return
    workload = workloads.find(purpose) if purpose else None
    with Store.open(db, create=False) as store:
        found = outcome.of(store, store.run(run))
    # A study that compares systems answers which system; drives of one machine are each told what suits them.
    systems = found.plan.systems
    each_own = len(systems) > 1 and found.plan.backend == "kernel" and not found.content.printed.summary
    answers = recommend.per_system(found, workload) if each_own or len(systems) == 1 else ()
    advised = recommend.for_workload(found, workload) if workload and not answers else None
    if as_json:
        first = advised or (answers[0].advised if answers else None)
        advice = answers[0].advice if len(answers) == 1 else advised.advice if advised else found.content.advice
        document = _document(found, advice, first.weighed if first else None)
        document["systems"] = [_system(answer) for answer in answers]
        _shown.echo_json(document)
        return
    click.echo(f"run {found.run.run_id}, study {found.run.name}, {found.content.badge}\n")
    if workload is not None:
        click.echo(f"for {workload.name}: {workload.meaning}\n")
    if not answers:
        if advised is not None:
            _print_weighed(advised.weighed, found.plan)
        shown = advised.advice if advised else found.content.advice
        terminal.print_advice(replace(found.content, advice=shown), _shown.out())
        return
    for answer in answers:
        if len(answers) > 1:
            click.echo(f"\n{answer.system} ({', '.join(answer.devices)})")
        if answer.advised is not None:
            _print_weighed(answer.advised.weighed, answer.plan)
        terminal.print_advice(replace(found.content, advice=answer.advice), _shown.out())
    # Without anything to change `apply` would only say so.
    if any(answer.setting is not None for answer in answers) and found.plan.backend == "kernel":
        words = f" --for {purpose}" if purpose else ""
        click.echo(f"\nnext: sudo seekwise apply {found.run.run_id}{words}")


def _print_weighed(weighed: workloads.Weighed, plan: Plan) -> None:
    _shown.out().print(_table(weighed))
    click.echo()
    for standing in weighed.standings:
        if standing.regret > 0.005:
            where = recommend.cell_text(standing.regret_cell, plan)
            _paragraph(
                f"{standing.setting} loses most in {where}: {100 * standing.regret:.0f} % of the best rate there"
            )
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
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("Setting", "Rate", "p99", "CPU eff.", "Front", "At worst"):
        if title == "Setting":
            table.add_column(title, overflow="fold", max_width=28)
        else:
            table.add_column(title, no_wrap=True)
    for standing in weighed.standings:
        is_reference = standing.setting == weighed.reference
        others = [_estimate(standing.ratios.get(metric)) for metric in ("p99", "cpu_efficiency")]
        regret = f"-{100 * standing.regret:.0f} %" if standing.regret > 0.005 else ""
        rate = "1" if is_reference else _interval(standing.ratios.get("rate"))
        table.add_row(standing.setting, rate, *others, "yes" if standing.on_front else "", regret)
    return table


def _estimate(value: tuple[float, float, float] | None) -> str:
    return "" if value is None else f"{value[0]:.3g}"


def _interval(value: tuple[float, float, float] | None) -> str:
    if value is None or not all(map(math.isfinite, value)):
        return "too few repeats"
    return f"{value[1]:.3g} to {value[2]:.3g} times"


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
